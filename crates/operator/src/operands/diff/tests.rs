use super::*;
use rstest::rstest;

fn deployment() -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "name": "ccm", "namespace": "ns", "labels": { "app": "ccm" } },
        "spec": {
            "replicas": 2,
            "selector": { "matchLabels": { "app": "ccm" } },
            "template": {
                "metadata": { "labels": { "app": "ccm" } },
                "spec": {
                    "hostNetwork": false,
                    "nodeSelector": { "node-role.kubernetes.io/master": "" },
                    "containers": [{
                        "name": "ccm",
                        "command": ["/bin/ccm", "--v=2"],
                        "env": [{ "name": "A", "value": "1" }, { "name": "B", "value": "2" }],
                        "ports": [{ "containerPort": 10258, "name": "https" }],
                        "resources": { "requests": { "cpu": "1000m", "memory": "50Mi" } },
                    }],
                    "tolerations": [{ "key": "a", "operator": "Exists" }],
                    "volumes": [{ "name": "empty", "emptyDir": {} }],
                },
            },
        },
    })
}

fn config_map() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": "ccm", "namespace": "ns" },
        "data": { "cloud.conf": "[Global]", "empty": "" },
    })
}

fn service() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": { "name": "ccm", "namespace": "ns" },
        "spec": { "ports": [{ "name": "https", "port": 10258, "protocol": "TCP" }], "selector": { "app": "ccm" } },
    })
}

fn binding() -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": { "name": "ccm", "namespace": "ns" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "ccm" },
        "subjects": [{ "kind": "ServiceAccount", "name": "ccm" }],
    })
}

/// The set of all fields of an object, in the server's notation.
fn fields_of(value: &Value) -> Value {
    let keys = |item: &Value| match item {
        item if item.get("containerPort").is_some() => {
            json!({ "containerPort": item["containerPort"], "protocol": "TCP" })
        }
        item if item.get("port").is_some() => json!({ "port": item["port"], "protocol": item["protocol"] }),
        item => json!({ "name": item["name"] }),
    };
    let keyed = |items: &[Value]| {
        items
            .iter()
            .all(|item| item.get("name").is_some() && item.get("kind").is_none())
    };
    let set: Map<String, Value> = match value {
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, _)| !["apiVersion", "kind"].contains(&name.as_str()) || value.get("metadata").is_none())
            .map(|(name, value)| (format!("f:{name}"), fields_of(value)))
            .collect(),
        Value::Array(items) if keyed(items) => {
            let item = |item: &Value| {
                let mut set = fields_of(item);
                set["."] = json!({});
                (format!("k:{}", keys(item)), set)
            };
            items.iter().map(item).collect()
        }
        _ => Map::new(),
    };
    Value::Object(set)
}

/// The object after it was applied, with what the server adds, these changes (`null` removes), and these entries of
/// `managedFields` beside ours.
fn live(applied: &Value, changes: &[(&str, Value)], others: &[Value]) -> Value {
    let mut owned = fields_of(applied);
    if let Some(metadata) = owned["f:metadata"].as_object_mut() {
        metadata.retain(|name, _| name != "f:name" && name != "f:namespace");
    }
    let mut live = applied.clone();
    for (pointer, value) in changes {
        set(&mut live, pointer, value);
    }
    let ours = json!({ "manager": "outrigger-operator", "operation": "Apply", "apiVersion": applied["apiVersion"], "fieldsV1": owned });
    live["metadata"]["managedFields"] = json!(std::iter::once(&ours).chain(others).collect::<Vec<_>>());
    live
}

fn set(object: &mut Value, pointer: &str, value: &Value) {
    let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
    let name = name.replace("~1", "/");
    match object.pointer_mut(parent) {
        Some(Value::Object(fields)) if value.is_null() => drop(fields.remove(&name)),
        Some(Value::Object(fields)) => drop(fields.insert(name, value.clone())),
        Some(Value::Array(items)) if name == "-" => items.push(value.clone()),
        Some(Value::Array(items)) => items[name.parse::<usize>().expect("an index")] = value.clone(),
        other => panic!("{pointer} in {other:?}"),
    }
}

fn by(manager: &str, operation: &str, fields: &Value) -> Value {
    json!({ "manager": manager, "operation": operation, "apiVersion": "v1", "fieldsV1": fields })
}

fn edited(fields: &Value) -> Value {
    by("kubectl-edit", "Update", fields)
}

fn step(wanted: Value, live: Option<&Value>) -> String {
    compare(&Object::new(wanted).expect("an object"), live).to_string()
}

#[test]
fn missing_objects_are_created() {
    assert_eq!(step(deployment(), None), "create");
}

#[rstest]
#[case::as_applied(deployment(), &[], &[])]
#[case::defaults_of_the_server(
    deployment(),
    &[
        ("/spec/progressDeadlineSeconds", json!(600)),
        ("/spec/template/spec/dnsPolicy", json!("ClusterFirst")),
        ("/spec/template/spec/containers/0/ports/0/protocol", json!("TCP")),
        ("/spec/template/spec/tolerations/0/effect", json!("NoSchedule")),
    ],
    &[],
)]
#[case::quantity_in_other_words(deployment(), &[("/spec/template/spec/containers/0/resources/requests/cpu", json!("1"))], &[])]
#[case::dropped_because_it_is_false(deployment(), &[("/spec/template/spec/hostNetwork", Value::Null)], &[])]
#[case::label_of_a_user(
    deployment(),
    &[("/metadata/labels/team", json!("x"))],
    &[edited(&json!({ "f:metadata": { "f:labels": { "f:team": {} } } }))],
)]
#[case::restarted_by_kubectl(
    deployment(),
    &[("/spec/template/metadata/annotations", json!({ "kubectl.kubernetes.io/restartedAt": "now" }))],
    &[edited(&json!({ "f:spec": { "f:template": { "f:metadata": {
        "f:annotations": { ".": {}, "f:kubectl.kubernetes.io/restartedAt": {} } } } } }))],
)]
#[case::status_of_a_controller(
    deployment(),
    &[("/status", json!({ "replicas": 2 }))],
    &[json!({ "manager": "kube-controller-manager", "operation": "Update", "subresource": "status", "fieldsV1": {
        "f:metadata": { "f:annotations": { "f:deployment.kubernetes.io/revision": {} } }, "f:status": { "f:replicas": {} } } })],
)]
#[case::status_without_subresource(
    deployment(),
    &[("/status", json!({ "replicas": 2 }))],
    &[by("controller", "Update", &json!({ "f:status": { "f:replicas": {} } }))],
)]
#[case::same_value_also_by_another(deployment(), &[], &[by("gitops", "Apply", &json!({ "f:spec": { "f:replicas": {} } }))])]
#[case::address_asked_for_by_a_user(
    service(),
    &[("/spec/clusterIP", json!("10.0.0.7")), ("/spec/ports/0/nodePort", json!(30000))],
    &[edited(&json!({ "f:spec": { "f:clusterIP": {}, "f:clusterIPs": {}, "f:ports": {
        "k:{\"port\":10258,\"protocol\":\"TCP\"}": { "f:nodePort": {} } } } }))],
)]
#[case::finalizer_of_a_user(
    config_map(),
    &[("/metadata/finalizers", json!(["example.com/x"]))],
    &[edited(&json!({ "f:metadata": { "f:finalizers": { ".": {}, "v:\"example.com/x\"": {} } } }))],
)]
fn kept(#[case] wanted: Value, #[case] changes: &[(&str, Value)], #[case] others: &[Value]) {
    assert_eq!(step(wanted.clone(), Some(&live(&wanted, changes, others))), "keep");
}

// Spec, label and annotation changes, system label reverted, port edit reverted, added port removed.
#[rstest]
#[case::number(deployment(), &[("/spec/replicas", json!(3))], &[], "apply: spec.replicas")]
#[case::label(deployment(), &[("/metadata/labels/app", json!("x"))], &[], "apply: metadata.labels.app")]
#[case::label_removed(deployment(), &[("/metadata/labels/app", Value::Null)], &[], "apply: metadata.labels.app")]
#[case::empty_value_removed(config_map(), &[("/data/empty", Value::Null)], &[], "apply: data.empty")]
#[case::all_values_removed(config_map(), &[("/data", Value::Null)], &[], "apply: data")]
#[case::node_selector_removed(
    deployment(), &[("/spec/template/spec/nodeSelector/node-role.kubernetes.io~1master", Value::Null)], &[],
    "apply: spec.template.spec.nodeSelector.node-role.kubernetes.io/master",
)]
#[case::quantity(
    deployment(), &[("/spec/template/spec/containers/0/resources/requests/cpu", json!("1m"))], &[],
    "apply: spec.template.spec.containers[name=ccm].resources.requests.cpu",
)]
#[case::flag(
    deployment(), &[("/spec/template/spec/containers/0/command/1", json!("--v=9"))], &[],
    "apply: spec.template.spec.containers[name=ccm].command[1]",
)]
#[case::flag_added(
    deployment(), &[("/spec/template/spec/containers/0/command/-", json!("--x"))], &[],
    "apply: spec.template.spec.containers[name=ccm].command",
)]
#[case::variables_swapped(
    deployment(), &[("/spec/template/spec/containers/0/env", json!([{ "name": "B", "value": "2" }, { "name": "A", "value": "1" }]))], &[],
    "apply: spec.template.spec.containers[name=ccm].env",
)]
#[case::subject(binding(), &[("/subjects/0/name", json!("me"))], &[], "apply: subjects[0].name")]
#[case::service_port_moved(
    service(), &[("/spec/ports", json!([{ "name": "https", "port": 4444, "protocol": "TCP" }]))],
    &[edited(&json!({ "f:spec": { "f:ports": { "k:{\"port\":4444,\"protocol\":\"TCP\"}": { ".": {}, "f:port": {} } } } }))],
    "repair: spec.ports[port=10258,protocol=TCP], -spec.ports[port=4444,protocol=TCP]",
)]
#[case::service_port_added(
    service(), &[("/spec/ports/-", json!({ "name": "x", "port": 80, "protocol": "TCP" }))],
    &[edited(&json!({ "f:spec": { "f:ports": { "k:{\"port\":80,\"protocol\":\"TCP\"}": { ".": {}, "f:port": {} } } } }))],
    "repair: -spec.ports[port=80,protocol=TCP]",
)]
#[case::variable_added(
    deployment(), &[("/spec/template/spec/containers/0/env/-", json!({ "name": "X", "value": "1" }))],
    &[edited(&json!({ "f:spec": { "f:template": { "f:spec": { "f:containers": { "k:{\"name\":\"ccm\"}": { "f:env": {
        "k:{\"name\":\"X\"}": { ".": {}, "f:name": {}, "f:value": {} } } } } } } } }))],
    "repair: -spec.template.spec.containers[name=ccm].env[name=X]",
)]
#[case::sidecar(
    deployment(), &[("/spec/template/spec/containers/-", json!({ "name": "spy" }))],
    &[by("mesh", "Apply", &json!({ "f:spec": { "f:template": { "f:spec": { "f:containers": {
        "k:{\"name\":\"spy\"}": { ".": {}, "f:name": {} } } } } } }))],
    "repair: -spec.template.spec.containers[name=spy]",
)]
#[case::default_changed(
    deployment(), &[("/spec/template/spec/dnsPolicy", json!("Default"))],
    &[edited(&json!({ "f:spec": { "f:template": { "f:spec": { "f:dnsPolicy": {} } } } }))],
    "repair: -spec.template.spec.dnsPolicy",
)]
#[case::label_of_pods_added(
    deployment(), &[("/spec/template/metadata/labels/team", json!("x"))],
    &[edited(&json!({ "f:spec": { "f:template": { "f:metadata": { "f:labels": { "f:team": {} } } } } }))],
    "repair: -spec.template.metadata.labels.team",
)]
#[case::annotation_of_pods_beside_a_restart(
    deployment(), &[("/spec/template/metadata/annotations", json!({ "kubectl.kubernetes.io/restartedAt": "now", "x": "y" }))],
    &[edited(&json!({ "f:spec": { "f:template": { "f:metadata": {
        "f:annotations": { ".": {}, "f:kubectl.kubernetes.io/restartedAt": {}, "f:x": {} } } } } }))],
    "repair: -spec.template.metadata.annotations",
)]
#[case::key_added(
    config_map(), &[("/data/more", json!("x"))], &[edited(&json!({ "f:data": { "f:more": {} } }))],
    "repair: -data.more",
)]
#[case::made_by_the_go_operator(
    config_map(), &[], &[by("config-sync-controllers", "Update", &json!({ "f:data": { ".": {}, "f:cloud.conf": {} } }))],
    "repair: ",
)]
#[case::annotation_of_the_go_operator(
    deployment(), &[("/metadata/annotations", json!({ "operator.openshift.io/generation": "1" }))],
    &[by("cluster-controller-manager-operator", "Update", &json!({ "f:metadata": { "f:annotations": {
        ".": {}, "f:operator.openshift.io/generation": {} } } }))],
    "repair: -metadata.annotations",
)]
fn changed(#[case] wanted: Value, #[case] changes: &[(&str, Value)], #[case] others: &[Value], #[case] expected: &str) {
    assert_eq!(step(wanted.clone(), Some(&live(&wanted, changes, others))), expected);
}

#[rstest]
#[case::field("/spec/paused", json!(true), "apply: -spec.paused")]
#[case::label("/metadata/labels/old", json!("x"), "apply: -metadata.labels.old")]
#[case::container("/spec/template/spec/containers/-", json!({ "name": "old" }), "apply: -spec.template.spec.containers[name=old]")]
#[case::last_of_a_list("/spec/template/spec/imagePullSecrets", json!([{ "name": "x" }]), "apply: -spec.template.spec.imagePullSecrets")]
fn fields_that_are_not_desired_any_more_are_removed(
    #[case] pointer: &str,
    #[case] value: Value,
    #[case] expected: &str,
) {
    let mut before = deployment();
    set(&mut before, pointer, &value);
    assert_eq!(step(deployment(), Some(&live(&before, &[], &[]))), expected);
}

#[test]
fn a_field_that_is_not_ours_any_more_is_applied_although_it_has_our_value() {
    let mut there = live(
        &deployment(),
        &[],
        &[edited(&json!({ "f:spec": { "f:replicas": {} } }))],
    );
    let ours = there["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"].as_object_mut();
    ours.expect("fields of the spec").remove("f:replicas");
    assert_eq!(step(deployment(), Some(&there)), "apply: spec.replicas");
}

#[test]
fn fields_that_were_not_applied_are_taken_over() {
    let mut there = live(&config_map(), &[], &[]);
    there["metadata"]["managedFields"] = json!([edited(&json!({ "f:data": { ".": {}, "f:cloud.conf": {} } }))]);
    assert_eq!(step(config_map(), Some(&there)), "apply: never applied by us");
}

#[test]
fn null_and_status_are_not_desired() {
    let mut wanted = deployment();
    wanted["status"] = json!({});
    wanted["metadata"]["creationTimestamp"] = Value::Null;
    wanted["spec"]["paused"] = Value::Null;
    assert_eq!(step(wanted, Some(&live(&deployment(), &[], &[]))), "keep");
}

#[test]
fn texts_of_secrets_are_their_data() {
    let secret = |fields: Value| {
        let mut secret =
            json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "s", "namespace": "ns" } });
        secret
            .as_object_mut()
            .expect("an object")
            .extend(fields.as_object().cloned().unwrap_or_default());
        secret
    };
    let there = live(
        &secret(json!({ "data": { "a": "eA==" } })),
        &[("/type", json!("Opaque"))],
        &[],
    );
    assert_eq!(
        step(secret(json!({ "stringData": { "a": "x" } })), Some(&there)),
        "keep"
    );
    assert_eq!(
        step(secret(json!({ "stringData": { "a": "y" } })), Some(&there)),
        "apply: data.a"
    );
}

/// Objects that controllers of the cluster complete; removing what they add would never end.
#[rstest]
#[case::service_account(
    json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "x", "namespace": "ns" } }),
    json!({ "f:secrets": { ".": {}, "k:{\"name\":\"x-dockercfg\"}": {} }, "f:imagePullSecrets": {} }),
)]
#[case::trusted_ca(
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "x", "namespace": "ns",
        "labels": { "config.openshift.io/inject-trusted-cabundle": "true" } } }),
    json!({ "f:data": { ".": {}, "f:ca-bundle.crt": {} } }),
)]
#[case::service_ca(
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "x", "namespace": "ns",
        "annotations": { "service.beta.openshift.io/inject-cabundle": "true" } } }),
    json!({ "f:data": { ".": {}, "f:service-ca.crt": {} } }),
)]
#[case::token(
    json!({ "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
        "metadata": { "name": "x", "namespace": "ns" } }),
    json!({ "f:data": { ".": {}, "f:token": {} } }),
)]
#[case::aggregated(
    json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": { "name": "x" },
        "aggregationRule": { "clusterRoleSelectors": [{ "matchLabels": { "a": "b" } }] } }),
    json!({ "f:rules": {} }),
)]
fn fields_of_controllers_are_kept(#[case] wanted: Value, #[case] fields: Value) {
    let there = live(&wanted, &[], &[by("controller", "Update", &fields)]);
    assert_eq!(step(wanted, Some(&there)), "keep");
}

// Operator.md W17: roleRef and selector.
#[rstest]
#[case::selector(deployment(), "/spec/selector/matchLabels/app", json!("x"), "recreate: spec.selector cannot be changed")]
#[case::role(binding(), "/roleRef/name", json!("other"), "recreate: roleRef.name cannot be changed")]
#[case::kind_of_role(binding(), "/roleRef/kind", json!("ClusterRole"), "recreate: roleRef.kind cannot be changed")]
#[case::immutable(config_map(), "/immutable", json!(true), "recreate: it is immutable")]
#[case::on_its_way_out(config_map(), "/metadata/deletionTimestamp", json!("2026-01-01T00:00:00Z"), "recreate: it is being deleted")]
fn immutable_objects_are_recreated(
    #[case] wanted: Value,
    #[case] pointer: &str,
    #[case] value: Value,
    #[case] expected: &str,
) {
    assert_eq!(
        step(wanted.clone(), Some(&live(&wanted, &[(pointer, value)], &[]))),
        expected
    );
}

#[rstest]
#[case::role_without_group(binding(), "/roleRef/apiGroup")]
#[case::immutable_and_the_same({ let mut map = config_map(); map["immutable"] = json!(true); map }, "/binaryData")]
fn changeable_objects_are_not_recreated(#[case] wanted: Value, #[case] left_out: &str) {
    let there = live(&wanted, &[], &[]);
    let mut wanted = wanted;
    set(&mut wanted, left_out, &Value::Null);
    assert!(!step(wanted, Some(&there)).starts_with("recreate"));
}

#[rstest]
#[case::headless("None", "10.0.0.7", "recreate: spec.clusterIP cannot be changed")]
#[case::headless_already("None", "None", "keep")]
fn addresses_cannot_be_changed(#[case] asked: &str, #[case] there: &str, #[case] expected: &str) {
    let mut wanted = service();
    wanted["spec"]["clusterIP"] = json!(asked);
    assert_eq!(
        step(
            wanted.clone(),
            Some(&live(&wanted, &[("/spec/clusterIP", json!(there))], &[]))
        ),
        expected
    );
}

#[test]
fn a_takeover_leaves_others_their_metadata() {
    let theirs = json!({
        "f:metadata": { "f:labels": { "f:team": {} } },
        "f:spec": {
            "f:paused": {},
            "f:template": {
                "f:metadata": { "f:annotations": { "f:kubectl.kubernetes.io/restartedAt": {} } },
                "f:spec": { "f:dnsPolicy": {} },
            },
        },
    });
    let status =
        json!({ "manager": "kcm", "operation": "Update", "subresource": "status", "fieldsV1": { "f:status": {} } });
    let there = live(&deployment(), &[], &[edited(&theirs), status.clone()]);
    let Step::Repair { managed_fields, .. } = compare(&Object::new(deployment()).expect("an object"), Some(&there))
    else {
        panic!("no repair")
    };
    let [ours, user, controller] = managed_fields.as_array().expect("entries").as_slice() else {
        panic!("{managed_fields}")
    };
    assert_eq!(ours["manager"], "outrigger-operator");
    assert_eq!(ours["apiVersion"], "apps/v1");
    assert_eq!(ours.pointer("/fieldsV1/f:spec/f:paused"), Some(&json!({})));
    assert_eq!(ours.pointer("/fieldsV1/f:spec/f:replicas"), Some(&json!({})));
    assert_eq!(ours.pointer("/fieldsV1/f:metadata/f:labels/f:team"), None);
    assert_eq!(user["manager"], "kubectl-edit");
    assert_eq!(
        user["fieldsV1"],
        json!({
            "f:metadata": { "f:labels": { "f:team": {} } },
            "f:spec": { "f:template": { "f:metadata": { "f:annotations": { "f:kubectl.kubernetes.io/restartedAt": {} } } } },
        })
    );
    assert_eq!(*controller, status);
}

fn owned(kind: &str, name: &str, controller: bool) -> Value {
    let api_version = if kind == "ClusterVersion" {
        "config.openshift.io/v1"
    } else {
        "outrigger.dev/v1alpha1"
    };
    json!([{ "apiVersion": api_version, "kind": kind, "name": name, "uid": "u", "controller": controller }])
}

/// Whatever differs: another controller would revert it, or its Pods would be lost.
#[rstest]
#[case::another_and_none_is_desired(
    None,
    owned("CloudControllerManager", "a", true),
    "leave: it belongs to CloudControllerManager a"
)]
#[case::another_of_the_kind(
    Some("b"),
    owned("CloudControllerManager", "a", true),
    "leave: it belongs to CloudControllerManager a"
)]
#[case::another_kind(Some("a"), owned("Other", "a", true), "leave: it belongs to Other a")]
#[case::ours(
    Some("a"),
    owned("CloudControllerManager", "a", true),
    "recreate: spec.selector cannot be changed"
)]
#[case::without_an_owner(Some("a"), json!([]), "recreate: spec.selector cannot be changed")]
#[case::no_controller(None, owned("Other", "a", false), "recreate: spec.selector cannot be changed")]
#[case::of_the_release(
    None,
    owned("ClusterVersion", "version", true),
    "recreate: spec.selector cannot be changed"
)]
fn objects_of_another_controller_are_not_changed(
    #[case] wanted: Option<&str>,
    #[case] owners: Value,
    #[case] expected: &str,
) {
    let selector = ("/spec/selector/matchLabels/app", json!("other"));
    let mut there = live(&deployment(), &[("/metadata/ownerReferences", owners), selector], &[]);
    let mut asked = deployment();
    if let Some(name) = wanted {
        asked["metadata"]["ownerReferences"] = owned("CloudControllerManager", name, true);
        asked["metadata"]["ownerReferences"][0]["uid"] = json!("of the present one");
    }
    assert_eq!(step(asked.clone(), Some(&there)), expected);
    there["metadata"]["deletionTimestamp"] = json!("2026-11-16T05:00:00Z");
    assert_eq!(step(asked, Some(&there)), "recreate: it is being deleted");
}
