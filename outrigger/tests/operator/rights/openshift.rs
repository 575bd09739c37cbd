//! The permissions of the release manifests on `OpenShift`, and the report if one is missing.

use super::{Account, Rule, Scenario, apply};
use crate::{
    health::event_message,
    process_fixture::{Entry, Manager},
    repair::vcenter,
    standalone::cluster::{definition, managers},
    world::{OPERATOR_NAMESPACE, World, config_map, name_on},
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, time::Duration};

/// The namespace of the configuration for other operators.
pub const MANAGED: &str = "openshift-config-managed";
/// The namespace of the operands in the manifests.
pub const OPERANDS: &str = "openshift-cloud-controller-manager";
/// The name of the operator's account.
const NAME: &str = "cluster-cloud-controller-manager";
const PLATFORMS: [&str; 8] = [
    "AWS",
    "Azure",
    "GCP",
    "VSphere",
    "Nutanix",
    "OpenStack",
    "IBMCloud",
    "PowerVS",
];
const MANIFESTS: [&str; 3] = [
    include_str!(
        "../../../../deploy/openshift/manifests/0000_26_cloud-controller-manager-operator_02_rbac_operator.yaml"
    ),
    include_str!(
        "../../../../deploy/openshift/manifests/0000_26_cloud-controller-manager-operator_03_rbac_provider.yaml"
    ),
    include_str!(
        "../../../../deploy/openshift/manifests/0000_26_cloud-controller-manager-operator_04_rbac_provider_openstack.yaml"
    ),
];

/// Applies the manifests, each after a change, and starts the operator with their permissions.
pub async fn release(world: &World, change: impl FnMut(&mut Value)) -> Manager {
    apply(world, &MANIFESTS, change).await;
    start(world)
}

/// Starts the operator with its own account.
pub fn start(world: &World) -> Manager {
    world.common(world.operator()).flag(&as_itself(world)).start()
}

/// The flag with its own account.
pub fn as_itself(world: &World) -> String {
    format!("--kubeconfig={}", world.account().kubeconfig().display())
}

/// The operator's account.
pub fn user() -> String {
    format!("system:serviceaccount:{OPERATOR_NAMESPACE}:{NAME}")
}

async fn world(platform: &str) -> World {
    let world = World::in_namespace(OPERANDS).await;
    world.set_platform(platform).await;
    world
}

impl Scenario for World {
    const EXPECTED: &[&str] = &[];
    const REASONS: &[(&str, &str)] = &[
        ("tokenreviews", "used for clients that read the metrics"),
        ("subjectaccessreviews", "used for clients that read the metrics"),
        (
            "-dry-run",
            "tried before a binding is replaced, which happens only if another client has replaced it",
        ),
        ("hostaccess", "the machine's network"),
    ];

    fn is_passed_on(rule: &Rule) -> bool {
        let Rule {
            namespace,
            names,
            verbs,
            ..
        } = rule;
        match namespace.as_str() {
            "" => {
                rule.is_about(&["nodes", "services", "nodes/status", "services/status", "endpointslices"])
                    || (rule.is_about(&["events"]) && verbs == &["update"])
            }
            "kube-system" => rule.is_about(&["leases"]),
            OPERANDS => rule.is_about(&["leases"]) && (names.is_empty() || names == &["cloud-controller-manager"]),
            _ => false,
        }
    }

    fn manifest(&self) -> String {
        MANIFESTS[0].to_owned()
    }

    async fn grant(&self) {
        self.set_platform("AWS").await;
        // OpenStack by our own manager, with certificates.
        self.prefer_our_own();
        apply(self, &MANIFESTS, |_| {}).await;
    }

    fn account(&self) -> Account<'_> {
        Account {
            fixture: self,
            namespace: OPERATOR_NAMESPACE,
            name: NAME,
        }
    }

    fn start(&self) -> Manager {
        start(self)
    }

    /// Every platform in turn.
    async fn live(&self, operator: &Manager) {
        for platform in PLATFORMS {
            self.set_platform(platform).await;
            self.runs(operator, name_on(platform)).await;
        }
        self.set_gates(&["VSphereMultiVCenterDay2"]).await;
        self.set_platform("VSphere").await;
        self.runs(operator, "vsphere").await;
        // The managed configuration is as immutable as its source, and is recreated together with it.
        for server in ["vc2.lab", "vc3.lab"] {
            seal_source(self, server).await;
            managed(self, operator, server).await;
        }
        self.runs(operator, "vsphere").await;
        // The operator reads the Pods to report why none runs.
        self.roll_out(0).await;
        self.reports(operator, &["Available=False NothingRuns"]).await;
    }

    async fn remove(&self, operator: &Manager) {
        self.set_platform("None").await;
        self.gone(operator, "vsphere").await;
        self.reports(operator, &["Available=True", "Progressing=False"]).await;
    }
}

/// Replaces the user's configuration of vSphere by an immutable one.
pub async fn seal_source(world: &World, server: &str) {
    let (namespace, name) = ("openshift-config", "cloud-provider-config");
    world.delete(&config_map(), namespace, name).await;
    let immutable = json!({"data": {"cloud.conf": vcenter(server)}, "immutable": true});
    world.apply(&config_map(), namespace, name, immutable).await;
}

/// Waits until the managed configuration names a server, and is immutable.
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

/// Removes the permission to change workloads.
fn without_patch(object: &mut Value) {
    let rules = object.get_mut("rules").and_then(Value::as_array_mut);
    let rules = rules.into_iter().flatten();
    let of_workloads = rules.filter(|rule| rule["resources"].to_string().contains("\"deployments\""));
    for rule in of_workloads {
        rule["verbs"] = json!(["get", "list", "watch", "create", "delete"]);
    }
}

/// If a verb is missing, the failure is reported with the verb; everything else is created; and with the verb everything recovers.
#[tokio::test]
async fn one_verb_short() {
    let world = world("AWS").await;
    let operator = release(&world, without_patch).await;
    let message = event_message(&world, &operator, OPERANDS, "ResourceCreateFailed").await;
    for part in ["cannot patch resource", "deployments", "aws-cloud-controller-manager"] {
        assert!(message.contains(part), "{message}");
    }
    let line = operator.logged("not everything could be written").await;
    assert!(line.contains("cannot patch resource"), "{line}");
    world.installed(&operator, 6).await;
    release_again(&world).await;
    world.runs(&operator, "aws").await;
}

/// A failure that lasts for two minutes and a half is reported in the conditions, with the verb, until it ends.
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
    world.runs(&operator, "aws").await;
    world.reports(&operator, &["Degraded=False", "Upgradeable=True"]).await;
}

async fn release_again(world: &World) {
    let second = release(world, |_| {}).await;
    drop(second);
}

/// A kind that may not be watched is named, and no operands are written meanwhile.
#[tokio::test]
async fn reads_are_forbidden() {
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
    world.runs(&operator, "aws").await;
}

const ON_OPENSHIFT: &str = include_str!("../../../../deploy/kubernetes/on-openshift.yaml");
const STANDALONE: &str = include_str!("../../../../deploy/kubernetes/operator.yaml");

/// On `OpenShift` our own kind is served as soon as the permissions for it exist; without them the cluster's own manager still
/// works, and the missing permissions are logged once.
#[tokio::test]
async fn our_own_kind_on_openshift() {
    let world = World::apart(OPERANDS).await;
    world.plane().install_crds(&[definition()]).await.unwrap();
    world.set_platform("AWS").await;
    let operator = release(&world, |_| {}).await;
    world.runs(&operator, "aws").await;
    let line = operator.logged("cannot watch").await;
    assert!(line.contains("cloudcontrollermanagers"), "{line}");

    let mark = world.mark();
    apply(&world, &[ON_OPENSHIFT], |_| {}).await;
    let watched = |entry: &Entry| entry.what() == "list cloudcontrollermanagers" && entry.code == 200;
    let look = async || {
        let watch = world.account().requests(mark).into_iter().find(watched);
        watch.map(drop).ok_or_else(|| "it is not looked at".to_owned())
    };
    operator.until("our own kind", look).await;
    let mark = world.mark();
    let managers = managers();
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
    // The platform's own manager has precedence: neither its scope nor the names of its objects are given to another one.
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
    world.delete(&managers, "", "aws").await;
    world.apply(&managers, "", "lab", spec).await;
    says("lab", "Available=True").await;
    assert_eq!(operator.lines_with("cannot watch").len(), 1);
    world.delete(&managers, "", "lab").await;
    world.settled().await;
    assert_eq!(world.account().denied(mark, &[]), BTreeSet::new());
    world.reports(&operator, &["Available=True", "Degraded=False"]).await;
}

/// A manager has the same permissions wherever it runs, and so has the operator for it.
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
