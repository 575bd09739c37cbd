//! With exactly what the release manifests grant: everything works, nothing is denied; with one verb less it is said which.

use crate::{
    health::told,
    repair::vcenter,
    rig::{Entry, Manager, Mark},
    world::{OPERATOR_NAMESPACE, World, config_map, images, kind},
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, time::Duration};

/// Where the configuration is that other operators read.
pub const MANAGED: &str = "openshift-config-managed";
/// The namespace that the manifests are about.
pub const OPERANDS: &str = "openshift-cloud-controller-manager";
const MANIFESTS: [&str; 3] = [
    include_str!("../../../deploy/openshift/0000_26_cloud-controller-manager-operator_02_rbac_operator.yaml"),
    include_str!("../../../deploy/openshift/0000_26_cloud-controller-manager-operator_03_rbac_provider.yaml"),
    include_str!("../../../deploy/openshift/0000_26_cloud-controller-manager-operator_04_rbac_provider_openstack.yaml"),
];

/// Applies the manifests, after something has been done to them, and starts the operator with what they grant.
pub async fn release(world: &World, change: impl FnMut(&mut Value)) -> Manager {
    apply(world, &MANIFESTS, change).await;
    start(world)
}

/// Applies the objects of these files, after something has been done to them.
async fn apply(world: &World, manifests: &[&str], mut change: impl FnMut(&mut Value)) {
    for manifest in manifests {
        for mut object in serde_saphyr::from_multiple::<Value>(manifest).unwrap() {
            change(&mut object);
            let text = |pointer: &str| {
                object
                    .pointer(pointer)
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned()
            };
            let (kind_, name, namespace) = (text("/kind"), text("/metadata/name"), text("/metadata/namespace"));
            let api_version = text("/apiVersion");
            let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
            let resource = kind(group, version, &kind_, &format!("{}s", kind_.to_lowercase()));
            world.apply(&resource, &namespace, &name, object.clone()).await;
        }
    }
}

/// Starts the operator as its own account.
pub fn start(world: &World) -> Manager {
    world.common(world.operator()).flag(&as_itself(world)).start()
}

/// The flag by which it is its own account.
pub fn as_itself(world: &World) -> String {
    let group = format!("system:serviceaccounts:{OPERATOR_NAMESPACE}");
    let kubeconfig = world
        .plane()
        .kubeconfig_for(&user(), &["system:serviceaccounts", &group]);
    format!("--kubeconfig={}", kubeconfig.display())
}

/// The operator's account.
pub fn user() -> String {
    format!("system:serviceaccount:{OPERATOR_NAMESPACE}:cluster-cloud-controller-manager")
}

/// What the operator's account asked.
fn asked(world: &World, mark: Mark) -> Vec<Entry> {
    let all = mark.read(&world.plane().audit_log()).into_iter();
    all.filter(|entry| entry.user == user()).collect()
}

async fn world(platform: &str) -> World {
    let world = World::in_namespace(OPERANDS).await;
    world.set_platform(platform).await;
    world
}

fn without_images(names: &[&str]) -> String {
    let mut images = images();
    for name in names {
        images.as_object_mut().unwrap().remove(*name);
    }
    images.to_string()
}

/// Every platform after the other, with the rights of the release: nothing is denied.
#[tokio::test]
async fn nothing_is_denied() {
    let world = world("AWS").await;
    // OpenStack by our own manager, with certificates.
    world
        .folder
        .write("images.json", &without_images(&["cloudControllerManagerOpenStack"]));
    let mark = world.mark();
    let operator = release(&world, |_| {}).await;
    let platforms = [
        ("AWS", "aws"),
        ("Azure", "azure"),
        ("GCP", "gcp"),
        ("VSphere", "vsphere"),
        ("Nutanix", "nutanix"),
        ("OpenStack", "openstack"),
        ("IBMCloud", "ibm"),
        ("PowerVS", "powervs"),
    ];
    for (platform, name) in platforms {
        world.set_platform(platform).await;
        world
            .roll_out_until(&operator, &format!("Deployment {name}-cloud-controller-manager"))
            .await;
        let denied = denied(&world, mark);
        assert!(denied.is_empty(), "{platform}: {denied:#?}{}", operator.told());
    }
    world.set_gates(&["VSphereMultiVCenterDay2"]).await;
    world.set_platform("VSphere").await;
    world
        .roll_out_until(&operator, "Deployment vsphere-cloud-controller-manager")
        .await;
    // The managed configuration is as immutable as what it is made from, and is replaced together with it.
    for server in ["vc2.lab", "vc3.lab"] {
        seal_source(&world, server).await;
        managed(&world, &operator, server).await;
    }
    world
        .roll_out_until(&operator, "Deployment vsphere-cloud-controller-manager")
        .await;
    // Why nothing runs is asked of the Pods.
    world.roll_out(0).await;
    world.says(&operator, &["Available=False NothingRuns"]).await;
    world.set_platform("None").await;
    world.gone(&operator, "vsphere").await;
    world.says(&operator, &["Available=True", "Progressing=False"]).await;
    let standby = release(&world, |_| {}).await;
    hand_over(operator, &standby, || asked(&world, mark)).await;
    world.settled().await;
    assert!(denied(&world, mark).is_empty(), "{:#?}", denied(&world, mark));
    let unused = unused(MANIFESTS[0], &asked(&world, mark), &REASONS, is_passed_on);
    assert!(unused.is_empty(), "granted and never used: {unused:#?}");
}

/// Replaces the user's configuration of vSphere by one that cannot be changed.
pub async fn seal_source(world: &World, server: &str) {
    let (namespace, name) = ("openshift-config", "cloud-provider-config");
    let api = world.api(&config_map(), namespace);
    api.delete(name, &kube::api::DeleteParams::default()).await.unwrap();
    let sealed = json!({"data": {"cloud.conf": vcenter(server)}, "immutable": true});
    world.apply(&config_map(), namespace, name, sealed).await;
}

/// Waits until the managed configuration names a server, and cannot be changed.
pub async fn managed(world: &World, operator: &Manager, server: &str) {
    let look = async || {
        let found = world.get(&config_map(), MANAGED, "kube-cloud-config").await;
        let found = found.unwrap_or_default();
        let text = found["data"]["cloud.conf"].as_str().unwrap_or_default();
        if text.contains(server) && found["immutable"] == true {
            Ok(())
        } else {
            Err(format!("{found:#}"))
        }
    };
    operator.until(server, look).await;
}

fn denied(world: &World, mark: Mark) -> BTreeSet<String> {
    refused(asked(world, mark)).collect()
}

/// What was denied of this.
pub fn refused(asked: Vec<Entry>) -> impl Iterator<Item = String> {
    let denied = asked.into_iter().filter(|entry| matches!(entry.code, 401 | 403));
    denied.map(|entry| format!("{} {}/{}", entry.what(), entry.namespace, entry.name))
}

/// Ends an operator once another watches its lease, by what both have asked, and waits until that one leads.
pub async fn hand_over(operator: Manager, standby: &Manager, asked: impl Fn() -> Vec<Entry>) {
    let watches = |entry: &Entry| entry.what() == "watch leases";
    let look = async || {
        let watch = asked().into_iter().find(watches);
        watch.ok_or_else(|| "nobody watches the lease".to_owned())
    };
    standby.until("a watch of the lease", look).await;
    operator.signal("TERM");
    assert_eq!(operator.exited().await.code, 0);
    standby.leading().await;
}

/// What is granted for another reason than that the operator does it in this test.
const REASONS: [(&str, &str); 4] = [
    ("tokenreviews", "asked for whoever reads the metrics"),
    ("subjectaccessreviews", "asked for whoever reads the metrics"),
    (
        "-dry-run",
        "tried before a binding is replaced, which happens only if somebody has replaced it",
    ),
    ("hostaccess", "the machine's network"),
];

/// What the operator's own roles grant, one verb, resource and place at a time, that nobody has used. What operands' roles pass on
/// is not the operator's own: it is below the comment that says so.
pub fn unused(
    manifest: &str,
    asked: &[Entry],
    reasons: &[(&str, &str)],
    is_passed_on: impl Fn(&str, &[String], &[String], &[String]) -> bool,
) -> Vec<String> {
    let mut unused = Vec::new();
    for object in serde_saphyr::from_multiple::<Value>(manifest).unwrap() {
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
        for rule in object["rules"].as_array().into_iter().flatten() {
            let list = |key: &str| -> Vec<String> {
                let all = rule[key].as_array().into_iter().flatten();
                all.map(|each| each.as_str().unwrap().to_owned()).collect()
            };
            if is_passed_on(namespace, &list("resources"), &list("resourceNames"), &list("verbs")) {
                continue;
            }
            for (verb, resource) in product(&list("verbs"), &list("resources")) {
                let names = list("resourceNames");
                let has = |entry: &&Entry| {
                    // Server-side apply of something new is a "create" for the authorizer.
                    let verbs = entry.verb == verb || (verb == "create" && entry.verb == "patch" && entry.code == 201);
                    let place = namespace.is_empty() || entry.namespace == namespace;
                    let named = names.is_empty() || entry.name.is_empty() || names.contains(&entry.name);
                    verbs && entry.resource == resource && place && named
                };
                let line = format!("{verb} {resource} in {namespace:?} {names:?}");
                let excused = reasons.iter().any(|(part, _)| line.contains(part));
                if !excused && asked.iter().find(has).is_none() {
                    unused.push(line);
                }
            }
        }
    }
    unused
}

fn product(verbs: &[String], resources: &[String]) -> Vec<(String, String)> {
    let of = |verb: &String| {
        let verb = verb.clone();
        resources.iter().map(move |resource| (verb.clone(), resource.clone()))
    };
    verbs.iter().flat_map(of).collect()
}

/// Rules whose only reason is that operands' roles grant the same: nobody may give away what he does not have.
fn is_passed_on(namespace: &str, resources: &[String], names: &[String], verbs: &[String]) -> bool {
    let is = |list: &[&str]| resources.iter().all(|resource| list.contains(&resource.as_str()));
    match namespace {
        "" => {
            is(&["nodes", "services", "nodes/status", "services/status", "endpointslices"])
                || (is(&["events"]) && verbs == ["update"])
        }
        "kube-system" => is(&["leases"]),
        OPERANDS => is(&["leases"]) && (names.is_empty() || names == ["cloud-controller-manager"]),
        _ => false,
    }
}

/// Nobody may change workloads any more.
fn without_patch(object: &mut Value) {
    let rules = object.get_mut("rules").and_then(Value::as_array_mut);
    let rules = rules.into_iter().flatten();
    let of_workloads = rules.filter(|rule| rule["resources"].to_string().contains("\"deployments\""));
    for rule in of_workloads {
        rule["verbs"] = json!(["get", "list", "watch", "create", "delete"]);
    }
}

/// One verb short: what fails is named with its verb; everything else is made; and with the verb all is well.
#[tokio::test]
async fn one_verb_short() {
    let world = world("AWS").await;
    let operator = release(&world, without_patch).await;
    let said = told(&world, &operator, OPERANDS, "ResourceCreateFailed").await;
    for part in ["cannot patch resource", "deployments", "aws-cloud-controller-manager"] {
        assert!(said.contains(part), "{said}");
    }
    let line = operator.logged("not everything could be written").await;
    assert!(line.contains("cannot patch resource"), "{line}");
    world.installed(&operator, 6).await;
    release_again(&world).await;
    world
        .roll_out_until(&operator, "Deployment aws-cloud-controller-manager")
        .await;
}

/// operator.md §2.0: what lasts for two minutes and a half is told in the conditions, with the verb; not before, and not for ever.
#[tokio::test]
#[ignore = "takes three minutes: make test-full runs it"]
async fn one_verb_short_for_long() {
    let world = World::apart(OPERANDS).await;
    world.set_platform("AWS").await;
    let mark = world.mark();
    let operator = release(&world, without_patch).await;
    operator.logged("not everything could be written").await;
    let (after, conditions) = world.degraded(&operator).await;
    assert!(after > Duration::from_secs(140), "{after:?}");
    for part in [
        "cannot patch resource",
        "deployments",
        "Upgradeable=False SyncingFailed",
    ] {
        assert!(conditions.contains(part), "{conditions}");
    }
    assert!(world.reports_since(mark) <= 5, "{:#?}", world.writes_since(mark));
    release_again(&world).await;
    world
        .roll_out_until(&operator, "Deployment aws-cloud-controller-manager")
        .await;
    world.says(&operator, &["Degraded=False", "Upgradeable=True"]).await;
}

async fn release_again(world: &World) {
    let second = release(world, |_| {}).await;
    drop(second);
}

/// What may not be watched is named, and nothing is guessed meanwhile.
#[tokio::test]
async fn may_not_look() {
    let world = world("AWS").await;
    let without = |object: &mut Value| {
        let rules = object.get_mut("rules").and_then(Value::as_array_mut);
        let rules = rules.into_iter().flatten();
        for rule in rules.filter(|rule| rule["resources"].to_string().contains("\"proxies\"")) {
            rule["resources"] = json!(["apiservers", "featuregates", "infrastructures", "networks"]);
        }
    };
    let operator = release(&world, without).await;
    let line = operator.logged("cannot watch").await;
    assert!(line.contains("proxies"), "{line}");
    operator.leading().await;
    world.settled().await;
    let operands = world.operands().await;
    assert!(
        !operands.iter().any(|operand| operand.starts_with("Deployment")),
        "{operands:?}"
    );
    release_again(&world).await;
    world
        .roll_out_until(&operator, "Deployment aws-cloud-controller-manager")
        .await;
}

const DEFINITION: &str = include_str!("../../../deploy/kubernetes/crd.yaml");
const ON_OPENSHIFT: &str = include_str!("../../../deploy/kubernetes/on-openshift.yaml");
const STANDALONE: &str = include_str!("../../../deploy/kubernetes/operator.yaml");

/// On `OpenShift` our own kind is served as soon as there are the rights for it; without them the cluster's own manager is none the
/// worse, and what is missing is said once.
#[tokio::test]
async fn our_own_kind_on_openshift() {
    let world = World::apart(OPERANDS).await;
    world.plane().install_crds(&[DEFINITION.to_owned()]).await.unwrap();
    world.set_platform("AWS").await;
    let operator = release(&world, |_| {}).await;
    world
        .roll_out_until(&operator, "Deployment aws-cloud-controller-manager")
        .await;
    let line = operator.logged("cannot watch").await;
    assert!(line.contains("cloudcontrollermanagers"), "{line}");

    let mark = world.mark();
    apply(&world, &[ON_OPENSHIFT], |_| {}).await;
    let watched = |entry: &Entry| entry.what() == "list cloudcontrollermanagers" && entry.code == 200;
    let look = async || {
        let watch = asked(&world, mark).into_iter().find(watched);
        watch.map(drop).ok_or_else(|| "it is not looked at".to_owned())
    };
    operator.until("our own kind", look).await;
    let mark = world.mark();
    let managers = kind(
        "outrigger.dev",
        "v1alpha1",
        "CloudControllerManager",
        "cloudcontrollermanagers",
    );
    let says = async |name: &str, expected: &str| {
        let look = async || {
            world.roll_out(9).await;
            let found = world.get(&managers, "", name).await.unwrap_or_default();
            match crate::objects::conditions(&found) {
                conditions if conditions.iter().any(|line| line.starts_with(expected)) => Ok(()),
                conditions => Err(format!("{conditions:#?}")),
            }
        };
        operator.until("a manager", look).await;
    };
    // What the platform's own has is not given to another: neither its scope nor the names of its objects.
    world
        .apply(&managers, "", "all", json!({"spec": {"provider": "memory"}}))
        .await;
    says(
        "all",
        "Degraded=True ScopeOverlap in conflict with the platform's own manager (AWS)",
    )
    .await;
    let scope = json!({"providerIDSchemes": ["memory"], "loadBalancerClasses": ["memory"]});
    let spec = json!({"spec": {"provider": "memory", "scope": scope, "securePort": 10300}});
    world.apply(&managers, "", "aws", spec.clone()).await;
    says(
        "aws",
        "Degraded=True InvalidSpec metadata.name \"aws\" is kept for a platform",
    )
    .await;
    let api = world.api(&managers, "");
    api.delete("aws", &kube::api::DeleteParams::default()).await.unwrap();
    world.apply(&managers, "", "lab", spec).await;
    says("lab", "Available=True").await;
    assert_eq!(operator.lines_with("cannot watch").len(), 1);
    api.delete("lab", &kube::api::DeleteParams::default()).await.unwrap();
    world.settled().await;
    assert!(denied(&world, mark).is_empty(), "{:#?}", denied(&world, mark));
    world.says(&operator, &["Available=True", "Degraded=False"]).await;
}

/// A manager may do the same wherever it runs, and so may the operator for it.
#[test]
fn the_same_rights_on_openshift_as_standalone() {
    let rules = |file: &str, kind: &str, name: &str, namespace: &str| -> BTreeSet<String> {
        let objects = serde_saphyr::from_multiple::<Value>(file).unwrap();
        let role = objects.into_iter().find(|object| {
            let metadata = &object["metadata"];
            object["kind"] == kind
                && metadata["name"] == name
                && metadata["namespace"].as_str().unwrap_or_default() == namespace
        });
        let role = role.unwrap_or_else(|| panic!("{kind} {namespace}/{name}"));
        let rules = role["rules"].as_array().unwrap().iter();
        rules.map(Value::to_string).collect()
    };
    let manager = ("ClusterRole", "outrigger:cloud-controller-manager", "");
    let system = ("Role", "outrigger-operator", "kube-system");
    for (kind, name, namespace) in [manager, system] {
        assert_eq!(
            rules(ON_OPENSHIFT, kind, name, namespace),
            rules(STANDALONE, kind, name, namespace)
        );
    }
    let here = rules(ON_OPENSHIFT, "ClusterRole", "outrigger-operator", "");
    assert!(here.is_subset(&rules(STANDALONE, "ClusterRole", "outrigger-operator", "")));
}
