use super::*;
use operator_api::cloud_controller_manager::OWN_FLAGS;
use provider::{Changes, ClusterName, Config, Needs};
use rstest::rstest;

const CONTEXT: Context<'_> = Context {
    namespace: "outrigger-system",
    image: "example.com/outrigger:1",
    providers: PROVIDERS,
    flags: &[],
};

const PROVIDERS: &[Provider] = &[
    Provider {
        name: "memory",
        needs: Needs {
            config: Config::Optional,
            credentials: Credentials::None,
            changes: Changes::Unseen,
            cluster_name: ClusterName::Describes,
        },
    },
    Provider {
        name: "openstack",
        needs: Needs {
            config: Config::Needed,
            credentials: Credentials::File {
                variable: "OS_CLIENT_CONFIG_FILE",
                key: "clouds.yaml",
            },
            changes: Changes::Followed,
            cluster_name: ClusterName::Owns,
        },
    },
];

fn manager(name: &str, spec: Value) -> CloudControllerManager {
    let mut manager = CloudControllerManager::new(name, serde_json::from_value(spec).unwrap());
    manager.metadata.uid = Some("0".to_owned());
    manager
}

fn made(spec: Value) -> Vec<Object> {
    resources(&manager("west", spec), &CONTEXT).unwrap()
}

fn pod(objects: &[Object]) -> &Value {
    let deployment = objects.iter().find(|object| object.key().kind == "Deployment").unwrap();
    &deployment.value()["spec"]["template"]["spec"]
}

fn args(spec: Value) -> Vec<String> {
    serde_json::from_value(pod(&made(spec))["containers"][0]["args"].clone()).unwrap()
}

/// A spec that sets every field.
fn full() -> Value {
    json!({
        "provider": "openstack", "image": "example.com/other:2",
        "cloudConfig": {"configMap": {"name": "cloud", "key": "conf"}}, "credentials": {"secret": {"name": "keys"}},
        "clusterName": "prod", "clusterCIDRs": ["10.244.0.0/16", "fd00:1::/48"], "routes": "Enabled",
        "scope": {"nodeSelector": {"matchLabels": {"cloud": "a"},
                                   "matchExpressions": [{"key": "edge", "operator": "DoesNotExist"},
                                                        {"key": "gpu", "operator": "Exists"},
                                                        {"key": "pool", "operator": "In", "values": ["x", "y"]},
                                                        {"key": "old", "operator": "NotIn", "values": ["yes"]}]},
                  "providerIDSchemes": ["openstack"], "loadBalancerClasses": ["example.com/fast"]},
        "controllers": ["*", "-cloud-node-lifecycle"], "replicas": 3, "securePort": 10268, "logVerbosity": 4,
        "extraArgs": ["--node-monitor-period=10s"], "env": [{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}],
        "placement": {"nodeSelector": {"role": "infra"}, "tolerations": [{"key": "infra", "operator": "Exists"}]},
        "resources": {"limits": {"memory": "128Mi"}}, "imagePullSecrets": [{"name": "registry"}],
    })
}

#[rstest]
#[case::several(
    2,
    "ServiceAccount outrigger-system/west-cloud-controller-manager
     ClusterRoleBinding outrigger:west-cloud-controller-manager
     Role outrigger-system/west-cloud-controller-manager
     RoleBinding outrigger-system/west-cloud-controller-manager
     RoleBinding kube-system/outrigger:west-cloud-controller-manager:authentication-reader
     Service outrigger-system/west-cloud-controller-manager
     PodDisruptionBudget outrigger-system/west-cloud-controller-manager
     Deployment outrigger-system/west-cloud-controller-manager"
)]
#[case::one(
    1,
    "ServiceAccount outrigger-system/west-cloud-controller-manager
     ClusterRoleBinding outrigger:west-cloud-controller-manager
     Role outrigger-system/west-cloud-controller-manager
     RoleBinding outrigger-system/west-cloud-controller-manager
     RoleBinding kube-system/outrigger:west-cloud-controller-manager:authentication-reader
     Service outrigger-system/west-cloud-controller-manager
     Deployment outrigger-system/west-cloud-controller-manager"
)]
fn makes(#[case] replicas: i32, #[case] expected: &str) {
    let made: Vec<String> = made(json!({"provider": "memory", "replicas": replicas}))
        .iter()
        .map(|object| object.key().to_string())
        .collect();
    let expected: Vec<&str> = expected.lines().map(str::trim).collect();
    assert_eq!(made, expected);
}

#[test]
fn everything_is_labelled_and_owned() {
    for object in made(json!({"provider": "memory"})) {
        let meta = &object.value()["metadata"];
        assert_eq!(meta["labels"]["app.kubernetes.io/instance"], "west", "{}", object.key());
        assert_eq!(
            meta["labels"]["app.kubernetes.io/managed-by"],
            "outrigger-operator",
            "{}",
            object.key()
        );
        let owner = json!([{"apiVersion": "outrigger.dev/v1alpha1", "kind": "CloudControllerManager", "name": "west",
                            "uid": "0", "controller": true}]);
        assert_eq!(meta["ownerReferences"], owner, "{}", object.key());
    }
}

#[test]
fn a_minimal_spec_has_few_flags() {
    let expected = [
        "ccm",
        "--cloud-provider=memory",
        "--controllers=*",
        "--leader-elect=true",
        "--leader-elect-resource-name=west-cloud-controller-manager",
        "--leader-elect-resource-namespace=outrigger-system",
        "--secure-port=10258",
        "--tls-cert-file=/etc/outrigger/serving-cert/tls.crt",
        "--tls-private-key-file=/etc/outrigger/serving-cert/tls.key",
        "--v=0",
        "--configure-cloud-routes=false",
    ];
    assert_eq!(args(json!({"provider": "memory"})), expected);
}

#[rstest]
#[case(json!({"provider": "memory", "clusterName": "a-$(HOME)-b"}), "--cluster-name=a-$$(HOME)-b")]
#[case(json!({"provider": "memory", "clusterCIDRs": ["10.0.0.0/8"], "routes": "Enabled"}), "--configure-cloud-routes=true")]
#[case(json!({"provider": "memory", "clusterCIDRs": ["10.0.0.0/8"]}), "--cluster-cidr=10.0.0.0/8")]
#[case(json!({"provider": "memory", "cloudConfig": {"secret": {"name": "c"}}}), "--cloud-config=/etc/outrigger/config/cloud.conf")]
#[case(full(), "--node-selector=cloud=a,!edge,gpu,pool in (x,y),old notin (yes)")]
#[case(full(), "--provider-id-scheme=openstack")]
#[case(full(), "--load-balancer-class=example.com/fast")]
#[case(full(), "--load-balancer-without-class=false")]
#[case(full(), "--controllers=*,-cloud-node-lifecycle")]
#[case(full(), "--cluster-cidr=10.244.0.0/16,fd00:1::/48")]
#[case(full(), "--secure-port=10268")]
#[case(full(), "--node-monitor-period=10s")]
fn says(#[case] spec: Value, #[case] flag: &str) {
    let args = args(spec);
    assert!(args.iter().any(|arg| arg == flag), "{args:#?}");
}

/// Otherwise `extraArgs` could contradict the operator.
#[rstest]
#[case(json!({"provider": "memory"}))]
#[case(full())]
fn every_flag_it_sets_is_refused_in_extra_args(#[case] mut spec: Value) {
    spec["extraArgs"] = json!([]);
    for arg in args(spec).iter().skip(1) {
        let (flag, _) = arg.split_once('=').unwrap();
        assert!(OWN_FLAGS.contains(&flag), "{flag}");
    }
}

/// Flags are not repeated, and the manager itself accepts them.
#[test]
fn the_manager_takes_the_flags() {
    let args = args(full());
    let options = match manager_options(&args[1..]) {
        Ok(options) => options,
        Err(problems) => panic!("{problems}"),
    };
    let ours = &options.outrigger;
    assert_eq!(
        ours.node_selector.written(),
        "cloud=a,!edge,gpu,pool in (x,y),old notin (yes)"
    );
    assert_eq!(ours.load_balancer_class.0, ["example.com/fast"]);
    assert!(!ours.load_balancer_without_class.is_on());
    let labels = |text: &str| {
        text.split(' ')
            .map(|pair| pair.split_once('=').unwrap())
            .map(own)
            .collect()
    };
    assert!(ours.node_selector.matches(&labels("cloud=a gpu=1 pool=y")));
    assert!(!ours.node_selector.matches(&labels("cloud=a gpu=1 pool=y old=yes")));
    assert!(!ours.node_selector.matches(&labels("cloud=a gpu=1 pool=y edge=")));
}

fn own((key, value): (&str, &str)) -> (String, String) {
    (key.to_owned(), value.to_owned())
}

fn manager_options(args: &[String]) -> Result<Box<::manager::Options>, String> {
    match ::manager::Options::parse("ccm", args.to_vec(), Vec::new(), |_| {
        runtime::flags::Problems::default()
    }) {
        Ok(::manager::options::Invocation::Run(options)) => Ok(options),
        Ok(::manager::options::Invocation::Print(text)) => Err(text),
        Err(problems) => Err(problems.iter().collect::<Vec<_>>().join("; ")),
    }
}

#[test]
fn controllers_are_those_of_the_manager() {
    let known: Vec<[&str; 2]> = ::manager::controllers_flag::CONTROLLERS
        .iter()
        .map(|known| [known.name, known.alias])
        .collect();
    assert_eq!(known, controllers::Controller::ALL.map(controllers::Controller::names));
}

#[test]
fn the_pod_has_everything_of_the_spec() {
    let objects = made(full());
    let pod = pod(&objects);
    let container = &pod["containers"][0];
    assert_eq!(container["image"], "example.com/other:2");
    assert_eq!(pod["imagePullSecrets"], json!([{"name": "registry"}]));
    assert_eq!(container["ports"][0]["hostPort"], 10268);
    assert_eq!(container["resources"], json!({"limits": {"memory": "128Mi"}}));
    let env = json!([{"name": "HTTPS_PROXY", "value": "http://proxy:3128"},
                     {"name": "OS_CLIENT_CONFIG_FILE", "value": "/etc/outrigger/credentials/clouds.yaml"}]);
    assert_eq!(container["env"], env);
    assert_eq!(
        pod["nodeSelector"],
        json!({"kubernetes.io/os": "linux", "role": "infra"})
    );
    let tolerations = pod["tolerations"].as_array().unwrap();
    assert_eq!(
        tolerations.last().unwrap(),
        &json!({"key": "infra", "operator": "Exists"})
    );
    assert!(
        tolerations
            .iter()
            .any(|one| one["key"] == "node.cloudprovider.kubernetes.io/uninitialized")
    );
    let volumes: Vec<&str> = pod["volumes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(volumes, ["serving-cert", "config", "credentials"]);
    assert_eq!(
        pod["volumes"][0]["secret"]["secretName"],
        "west-cloud-controller-manager-serving-cert"
    );
    let items = json!([{"key": "conf", "path": "cloud.conf"}]);
    assert_eq!(pod["volumes"][1]["configMap"]["items"], items);
}

#[test]
fn a_user_s_variable_wins() {
    let mut spec = full();
    spec["env"] = json!([{"name": "OS_CLIENT_CONFIG_FILE", "value": "/elsewhere"}]);
    let objects = made(spec);
    assert_eq!(
        pod(&objects)["containers"][0]["env"],
        json!([{"name": "OS_CLIENT_CONFIG_FILE", "value": "/elsewhere"}])
    );
}

/// The provider reads the variable when it starts: the Pods are restarted if the Secret changes.
#[test]
fn credentials_can_be_a_variable() {
    let token = Credentials::Variable {
        variable: "NIMBUS_TOKEN",
        key: "token",
    };
    let needs = Needs {
        credentials: token,
        ..PROVIDERS[0].needs
    };
    let context = Context {
        providers: &[Provider { name: "nimbus", needs }],
        ..CONTEXT
    };
    let spec = json!({"provider": "nimbus", "credentials": {"secret": {"name": "keys"}}});
    let objects = resources(&manager("west", spec), &context).unwrap();
    assert_eq!(
        pod(&objects)["containers"][0]["env"],
        json!([{"name": "NIMBUS_TOKEN", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "token"}}}])
    );
    let read: Vec<String> = objects
        .iter()
        .flat_map(|object| crate::platforms::config_hash::references(object.value()))
        .map(|reference| reference.to_string())
        .collect();
    assert!(read.contains(&"Secret keys".to_owned()), "{read:?}");
}

#[test]
fn the_definition_names_the_providers() {
    let yaml = provider::crd_yaml(PROVIDERS);
    for text in [
        "by the name of its provider in --cloud-provider: memory, openstack.",
        "takes effect without a restart with these providers: openstack; with the others the Pods are restarted",
        "For openstack: the key clouds.yaml, whose file OS_CLIENT_CONFIG_FILE names.",
    ] {
        assert!(yaml.contains(text), "{text}");
    }
}

/// A value is data: whatever it contains, the structure of the manifest does not change.
#[test]
fn values_cannot_change_a_manifest() {
    let tricky = "a\": {b: 'c'}\n- d # ${name} $(X)";
    let spec = json!({"provider": "memory", "env": [{"name": "A", "value": tricky}], "clusterName": r#"a":{b:'c'}#${name}$(X)"#});
    let objects = made(spec.clone());
    assert_eq!(pod(&objects)["containers"][0]["env"][0]["value"], tricky);
    assert_eq!(objects, made(spec), "and it is the same each time");
}

#[test]
fn two_managers_share_nothing() {
    let keys = |name: &str| {
        let objects = resources(&manager(name, json!({"provider": "memory"})), &CONTEXT).unwrap();
        objects
            .iter()
            .map(|object| object.key().clone())
            .collect::<std::collections::BTreeSet<_>>()
    };
    assert!(keys("east").is_disjoint(&keys("west")));
}

#[rstest]
#[case::unknown_provider(
    json!({"provider": "opnstack"}),
    "spec.provider \"opnstack\" is not known: it is one of memory, openstack, unless spec.image names an image that has another"
)]
#[case::a_provider_of_another_image(json!({"provider": "moon", "image": "example.com/moon:1"}), "")]
#[case::no_config(
    json!({"provider": "openstack"}),
    "provider openstack needs a configuration: name a ConfigMap or a Secret in spec.cloudConfig"
)]
#[case::two_configs(
    json!({"provider": "memory", "cloudConfig": {"configMap": {"name": "a"}, "secret": {"name": "b"}}}),
    "spec.cloudConfig must name either a configMap or a secret"
)]
#[case::empty_config(
    json!({"provider": "memory", "cloudConfig": {}}),
    "spec.cloudConfig must name either a configMap or a secret"
)]
#[case::unknown_controller(
    json!({"provider": "memory", "controllers": ["*", "-servce"]}),
    "spec.controllers: \"servce\" is not one of cloud-node-controller, cloud-node-lifecycle-controller, do-firewall, node-ipam-controller, \
     node-route-controller, service-lb-controller, tagging"
)]
#[case::own_flag(
    json!({"provider": "memory", "extraArgs": ["--secure-port=1", "x"]}),
    "spec.extraArgs: --secure-port is set by the operator: use the other fields of spec; \
     spec.extraArgs: \"x\" is not of the form --flag=value"
)]
#[case::routes(
    json!({"provider": "memory", "routes": "Enabled"}),
    "spec.routes is Enabled but spec.clusterCIDRs is empty: name the networks of the pods"
)]
#[case::no_replicas(json!({"provider": "memory", "replicas": 0}), "spec.replicas must be at least 1, not 0")]
#[case::no_image(
    json!({"provider": "memory", "image": "UPPER case:::"}),
    "spec.image \"UPPER case:::\" is not an image: it has the form [registry/]repository[:tag][@digest]"
)]
#[case::an_image(json!({"provider": "memory", "image": "localhost:5000/a/outrigger:dev"}), "")]
#[case::a_cluster_name_with_blanks(
    json!({"provider": "memory", "clusterName": "a b"}),
    "spec.clusterName \"a b\" may not contain blanks: it becomes part of names in the cloud"
)]
#[case::a_label_that_is_none(
    json!({"provider": "memory", "scope": {"nodeSelector": {"matchLabels": {"a": "b,c"}}}}),
    "spec.scope.nodeSelector: \"b,c\" cannot be in a label"
)]
#[case::contradiction(
    json!({"provider": "memory", "scope": {"nodeSelector": {"matchLabels": {"a": "b"},
           "matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}}}),
    "spec.scope.nodeSelector contradicts itself: no node can have such labels"
)]
#[case::no_values(
    json!({"provider": "memory", "scope": {"nodeSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}}),
    "spec.scope.nodeSelector: In of a needs values"
)]
fn refuses(#[case] spec: Value, #[case] sentence: &str) {
    let result = resources(&manager("west", spec), &CONTEXT);
    assert_eq!(
        result.err().map(|error| error.to_string()).unwrap_or_default(),
        sentence
    );
}

#[test]
fn a_name_leaves_room_for_the_suffix() {
    let longest = "a".repeat(38);
    assert!(names::full(&longest).len() <= 63);
    assert!(resources(&manager(&longest, json!({"provider": "memory"})), &CONTEXT).is_ok());
    assert!(resources(&manager(&"a".repeat(39), json!({"provider": "memory"})), &CONTEXT).is_err());
}

/// The name of the platform's manager is reserved, also on other platforms.
#[rstest]
fn the_names_of_platforms_are_theirs(
    #[values(
        "aws",
        "azure",
        "gcp",
        "ibm",
        "ibmcloud",
        "nutanix",
        "openstack",
        "powervs",
        "vsphere"
    )]
    name: &str,
) {
    let platform = crate::openshift::candidates("ns");
    let taken = check::taken(name, &platform).unwrap();
    assert!(
        taken.contains(&format!("ns/{name}-cloud-controller-manager")),
        "{taken}"
    );
    assert_eq!(check::taken(name, &std::collections::BTreeSet::new()), None);
    assert_eq!(check::taken(&format!("{name}-2"), &platform), None);
}
