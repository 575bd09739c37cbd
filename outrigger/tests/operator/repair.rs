//! A user changes objects that operands are rendered from, or replaces some of them.

use crate::{
    process_fixture::Manager,
    world::{World, api_server, config_map, deployment, kind, proxy},
};
use kube::api::{DeleteParams, PostParams};
use rstest::rstest;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// W17: a binding that another client recreated for another role is replaced, because its role is immutable.
#[rstest]
#[case::of_a_namespace("RoleBinding", "Role")]
#[case::of_the_cluster("ClusterRoleBinding", "ClusterRole")]
#[tokio::test]
async fn w17_role_ref(#[case] binding: &str, #[case] role: &str) {
    let world = World::left_behind("VSphere").await;
    let name = "vsphere-cloud-controller-manager:vsphere-cloud-controller-manager";
    let group = "rbac.authorization.k8s.io";
    let namespace = if role == "Role" { world.namespace.as_str() } else { "" };
    let api = world.api(&kind(binding), namespace);
    api.delete(name, &DeleteParams::default()).await.unwrap();
    let other = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": binding, "metadata": {"name": name},
        "roleRef": {"apiGroup": group, "kind": role, "name": "another"}, "subjects": [],
    });
    api.create(&PostParams::default(), &serde_json::from_value(other).unwrap())
        .await
        .unwrap();
    // Other operands are deleted at the same time: one that is difficult does not stop the others.
    let budget = "vsphere-cloud-controller-manager";
    world
        .delete(&kind("PodDisruptionBudget"), &world.namespace, budget)
        .await;

    let operator = world.start();
    let look = async || match api.get_opt(name).await.unwrap() {
        Some(binding) if binding.data["roleRef"]["name"] == "vsphere-cloud-controller-manager" => Ok(()),
        other => Err(format!("{other:?}")),
    };
    operator.until("the right role", look).await;
    world.installed(&operator, 11).await;
}

/// The script of the first container, and its environment.
async fn container(world: &World, name: &str) -> String {
    let live = world.get(&deployment(), &world.namespace, name).await.unwrap();
    live["spec"]["template"]["spec"]["containers"][0].to_string()
}

/// Waits until the manager of this name has all of this in its container.
pub async fn runs_with(world: &World, operator: &Manager, name: &str, parts: &[&str]) {
    let look = async || {
        let container = container(world, name).await;
        let missing: Vec<_> = parts.iter().filter(|part| !container.contains(**part)).collect();
        if missing.is_empty() {
            Ok(())
        } else {
            Err(format!("{missing:?} is not in {container}"))
        }
    };
    operator.until(&format!("{parts:?}"), look).await;
}

/// W10, W11: the proxy and the features of the cluster, and the TLS flags, are applied to the Pods at once.
#[tokio::test]
async fn w10_w11_proxy_gates_and_tls() {
    let (world, operator) = World::running("OpenStack").await;
    let name = "openstack-cloud-controller-manager";
    runs_with(&world, &operator, name, &["--tls-min-version=VersionTLS12"]).await;

    let status =
        json!({"httpProxy": "http://proxy.lab:3128", "httpsProxy": "http://proxy.lab:3129", "noProxy": ".lab"});
    world.set_status(&proxy(), "cluster", status).await;
    runs_with(
        &world,
        &operator,
        name,
        &["HTTP_PROXY", "HTTPS_PROXY", "http://proxy.lab:3129", "NO_PROXY"],
    )
    .await;

    world.set_gates(&["CloudControllerManagerWebhook", "Unheard"]).await;
    runs_with(
        &world,
        &operator,
        name,
        &["--feature-gates=CloudControllerManagerWebhook=true"],
    )
    .await;

    operator.signal("TERM");
    operator.exited().await;
    let launch = world.common(world.operator());
    let operator = launch.flag("--tls-min-version=VersionTLS13").start();
    runs_with(&world, &operator, name, &["--tls-min-version=VersionTLS13"]).await;
    assert!(!container(&world, name).await.contains("--tls-cipher-suites"));
    world.runs(&operator, "openstack").await;
}

/// W11: a feature gate of the cloud configuration is applied at once, and reverted at once.
#[tokio::test]
async fn w11_gate_of_the_configuration() {
    let (world, operator) = World::running("AWS").await;
    let mode = async |expected: bool| {
        let look = async || {
            let found = world.get(&config_map(), &world.namespace, "cloud-conf").await;
            let text = found.unwrap_or_default()["data"]["cloud.conf"].to_string();
            if text.contains("NLBSecurityGroupMode") == expected {
                Ok(())
            } else {
                Err(text)
            }
        };
        operator.until("NLBSecurityGroupMode", look).await;
    };
    mode(false).await;
    let changed = Instant::now();
    world.set_gates(&["AWSServiceLBNetworkSecurityGroup"]).await;
    mode(true).await;
    world.set_gates(&[]).await;
    mode(false).await;
    // Earlier than the resync after ten minutes.
    assert!(changed.elapsed() < Duration::from_mins(5), "{:?}", changed.elapsed());
}

/// Lets a cluster require that all components use its TLS profile: a field that not all clusters have yet. Before the operator
/// starts, because a watch that is open shows objects as they were defined when it was opened.
pub async fn define_adherence(world: &World) {
    let variant = lab::openshift::Variant::TechPreviewNoUpgrade;
    let definition = lab::openshift::crd("apiservers", variant).unwrap();
    world.plane().install_crds(&[definition]).await.unwrap();
    let set = async || {
        let spec = json!({"spec": {"tlsAdherence": "StrictAllComponents"}});
        world.edit(&api_server(), "", "cluster", spec).await;
        let found = world.get(&api_server(), "", "cluster").await.unwrap();
        match found["spec"]["tlsAdherence"].as_str() {
            Some(_) => Ok(()),
            None => Err("the definition is not in force".to_owned()),
        }
    };
    testkit::wait::until("the field", set).await;
}

/// Sets a profile of TLS.
pub async fn set_profile(world: &World, profile: Value) {
    let spec = json!({"spec": {"tlsSecurityProfile": profile}});
    world.edit(&api_server(), "", "cluster", spec).await;
}

/// W10: a profile that is set while the operator runs is applied to the managers, without a restart of the operator; settings that
/// are not supported are logged once.
#[tokio::test]
async fn w10_tls_profile() {
    let world = World::apart(&lab::unique("ccm")).await;
    world.set_platform("OpenStack").await;
    define_adherence(&world).await;
    let operator = world.start();
    let name = "openstack-cloud-controller-manager";
    world.runs(&operator, "openstack").await;
    runs_with(&world, &operator, name, &["--tls-min-version=VersionTLS12"]).await;
    set_profile(&world, json!({"type": "Modern", "modern": {}})).await;
    runs_with(&world, &operator, name, &["--tls-min-version=VersionTLS13"]).await;
    assert!(!container(&world, name).await.contains("--tls-cipher-suites"));

    let ciphers = ["ECDHE-RSA-AES128-GCM-SHA256", "ROT13"];
    let custom =
        json!({"type": "Custom", "modern": null, "custom": {"minTLSVersion": "VersionTLS12", "ciphers": ciphers}});
    set_profile(&world, custom).await;
    let suites = "--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256";
    runs_with(&world, &operator, name, &[suites]).await;
    world.runs(&operator, "openstack").await;
    world.settled().await;
    let lines = operator.lines_with("ROT13");
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(operator.ended().is_none());
}

/// W16: credentials that are created, changed and deleted are applied to the Pods.
#[tokio::test]
async fn w16_credentials_roll_the_pods() {
    let (world, operator) = World::running("GCP").await;
    let name = "gcp-cloud-controller-manager";
    let hash = async || {
        let live = world.get(&deployment(), &world.namespace, name).await.unwrap();
        let template = &live["spec"]["template"]["metadata"]["annotations"];
        template["operator.openshift.io/config-hash"]
            .as_str()
            .map(str::to_owned)
    };
    let mut seen = vec![hash().await];
    assert!(seen[0].is_some(), "a hash although the Secret is missing");
    for content in ["one", "two"] {
        let secret = json!({"stringData": {"service_account.json": content}});
        let secrets = kind("Secret");
        world
            .apply(&secrets, &world.namespace, "gcp-ccm-cloud-credentials", secret)
            .await;
        let look = async || match hash().await {
            Some(new) if !seen.contains(&Some(new.clone())) => Ok(new),
            same => Err(format!("{same:?}")),
        };
        let new = operator.until("another hash", look).await;
        seen.push(Some(new));
    }
    world.runs(&operator, "gcp").await;
}

/// W14: the managed configuration has precedence, and every other key is copied.
#[tokio::test]
async fn configuration_changes() {
    let (world, operator) = World::running("AWS").await;
    let maps = config_map();
    let says = async |operator: &Manager, part: &str| {
        let look = async || {
            let found = world
                .get(&maps, &world.namespace, "cloud-conf")
                .await
                .unwrap_or_default();
            let text = found["data"].to_string();
            if text.contains(part) { Ok(()) } else { Err(text) }
        };
        operator.until(part, look).await;
    };
    world.set_source("[Global]\nZone = eu-lab-1b\nUnknown = kept\n").await;
    says(&operator, "eu-lab-1b").await;
    says(&operator, "Unknown").await;
    let managed = json!({"data": {"cloud.conf": "[Global]\nZone = managed\n", "more": "copied"}});
    world
        .apply(&maps, "openshift-config-managed", "kube-cloud-config", managed)
        .await;
    says(&operator, "managed").await;
    says(&operator, "copied").await;
}

/// A configuration that another client made immutable is replaced, and then not changed again.
#[tokio::test]
async fn made_immutable_by_another_client() {
    let (world, operator) = World::running("GCP").await;
    let maps = config_map();
    world
        .edit(&maps, &world.namespace, "cloud-conf", json!({"immutable": true}))
        .await;
    world.settled().await;
    world.set_source("[global]\nproject-id = another\n").await;
    let look = async || {
        let found = world
            .get(&maps, &world.namespace, "cloud-conf")
            .await
            .unwrap_or_default();
        let text = found["data"].to_string();
        if text.contains("another") {
            Ok(())
        } else {
            Err(found.to_string())
        }
    };
    operator.until("the new configuration", look).await;
    world.settled().await;
    let mark = world.mark();
    world.settled().await;
    assert_eq!(world.writes_since(mark), [""; 0]);
}

/// W23: with its feature gate vSphere's managed configuration is ours: it is created, changed with its source, and not written while
/// it is up to date, after any restart and whether or not it is immutable.
#[tokio::test]
async fn w23_managed_configuration() {
    const MANAGED: &str = "openshift-config-managed";
    let world = World::new("VSphere").await;
    let (maps, name) = (config_map(), "vsphere-cloud-controller-manager");
    let operator = world.start();
    world.runs(&operator, "vsphere").await;
    assert!(world.get(&maps, MANAGED, "kube-cloud-config").await.is_none());

    world.set_gates(&["VSphereMultiVCenterDay2"]).await;
    let holds = async |operator: &Manager, part: &str| {
        let look = async || {
            let found = world.get(&maps, MANAGED, "kube-cloud-config").await.unwrap_or_default();
            let copy = world
                .get(&maps, &world.namespace, "cloud-conf")
                .await
                .unwrap_or_default();
            let text = found["data"]["cloud.conf"].as_str().unwrap_or_default();
            if text.contains(part) && found["data"] == copy["data"] && found["immutable"] == copy["immutable"] {
                Ok(())
            } else {
                Err(format!("{found:#}\n{copy:#}"))
            }
        };
        operator.until(part, look).await;
    };
    holds(&operator, "vc.lab").await;
    world.set_source(&vcenter("vc2.lab")).await;
    holds(&operator, "vc2.lab").await;

    // The user's own one
    world.delete(&maps, "openshift-config", "cloud-provider-config").await;
    let immutable = json!({"data": {"cloud.conf": vcenter("vc3.lab")}, "immutable": true});
    world
        .apply(&maps, "openshift-config", "cloud-provider-config", immutable)
        .await;
    holds(&operator, "vc3.lab").await;
    world.runs(&operator, "vsphere").await;
    world.settled().await;
    let before = world.get(&maps, MANAGED, "kube-cloud-config").await.unwrap();
    assert_eq!(before["immutable"], true);

    operator.signal("TERM");
    operator.exited().await;
    let mark = world.mark();
    let operator = world.start();
    operator.leading().await;
    // It has completed a pass when a later change was applied.
    world
        .set_status(&proxy(), "cluster", json!({"httpProxy": "http://proxy.lab:3128"}))
        .await;
    runs_with(&world, &operator, name, &["http://proxy.lab:3128"]).await;
    world.settled().await;
    let writes = world.writes_since(mark);
    assert!(!writes.iter().any(|write| write.contains("configmaps")), "{writes:#?}");
    assert_eq!(world.get(&maps, MANAGED, "kube-cloud-config").await.unwrap(), before);
}

/// A configuration of vSphere.
pub fn vcenter(server: &str) -> String {
    format!("global:\n  user: u\nvcenter:\n  vc:\n    server: {server}\n    datacenters: [dc]\n")
}

/// W20: all objects of the operands' namespace are in the namespace of the flag, and refer to that one.
#[rstest]
#[case::vsphere("VSphere", "vsphere")]
#[case::nutanix("Nutanix", "nutanix")]
#[tokio::test]
async fn w20_namespace(#[case] platform: &str, #[case] name: &str) {
    let world = World::new(platform).await;
    let operator = world.start();
    world.runs(&operator, name).await;
    for (operand, object) in world.snapshot().await {
        let text = object.to_string();
        for literal in [
            "=openshift-cloud-controller-manager ",
            ":\"openshift-cloud-controller-manager\"",
        ] {
            assert!(!text.contains(literal), "{operand}: {text}");
        }
    }
}

/// Only objects that the operator has written are deleted, whatever the list contains.
#[tokio::test]
async fn foreign_objects_stay() {
    let world = World::left_behind("AWS").await;
    let services = kind("Service");
    world
        .apply(
            &services,
            &world.namespace,
            "foreign",
            json!({"spec": {"ports": [{"port": 1}]}}),
        )
        .await;
    let mut related = world.cluster_operator().await["status"]["relatedObjects"].clone();
    for (resource, name, namespace) in [
        ("services", "foreign", &world.namespace),
        ("namespaces", "openshift-config", &String::new()),
    ] {
        let reference = json!({"group": "", "resource": resource, "name": name, "namespace": namespace});
        related.as_array_mut().unwrap().push(reference);
    }
    world.set_related(related).await;
    let operator = world.start();
    world.set_platform("None").await;
    world.gone(&operator, "aws").await;
    world.reports(&operator, &["Available=True", "Progressing=False"]).await;
    world.settled().await;
    assert!(world.get(&services, &world.namespace, "foreign").await.is_some());
    let namespaces = kind("Namespace");
    let kept = world.get(&namespaces, "", "openshift-config").await.unwrap();
    assert_eq!(kept["metadata"]["deletionTimestamp"], Value::Null);
}
