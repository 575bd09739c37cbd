//! Mistakes of administrators and installers: they are reported, nothing is installed in part, and a correction is enough.

use crate::world::{RELEASE, World, config_map, deployment, images, infrastructure, kind, name_on};
use rstest::rstest;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const AWS: &str = "aws-cloud-controller-manager";

/// W2, W5: a message and a handful of writes (the Go operator: 99 a second); correcting the input is enough.
#[rstest]
#[case::missing(None, "cannot read")]
#[case::nothing_in_it(Some(""), "images.json is not a JSON object (line 1, column 0)")]
#[case::broken(Some("{broken"), "images.json is not a JSON object (line 1, column 2)")]
#[case::partial(Some(r#"{"cloudControllerManagerGCP": "x"}"#), "cloudControllerManagerAWS")]
#[case::a_number(
    Some(r#"{"cloudControllerManagerAWS": 1}"#),
    "cloudControllerManagerAWS has to be a text"
)]
#[tokio::test]
async fn w2_images(#[case] text: Option<&str>, #[case] cause: &str) {
    let world = World::new("AWS").await;
    match text {
        Some(text) => drop(world.folder.write("images.json", text)),
        None => std::fs::remove_file(world.folder.path().join("images.json")).unwrap(),
    }
    let mark = world.mark();
    let operator = world.start();
    let degraded = format!("Degraded=True SyncingFailed Failed when progressing towards operator: {RELEASE} because ");
    let expected = [
        degraded.as_str(),
        "Available=False SyncingFailed ",
        "Upgradeable=False SyncingFailed an upgrade has to wait",
    ];
    let conditions = world.reports(&operator, &expected).await;
    assert!(conditions.contains(cause) && !conditions.contains('%'), "{conditions}");
    world.settled().await;
    assert!(world.reports_since(mark) <= 4, "{:#?}", world.writes_since(mark));
    assert_eq!(
        world.operands().await,
        ["ConfigMap ccm-trusted-ca", "ConfigMap cloud-conf"]
    );

    world.folder.write("images.json", &images().to_string());
    world.runs(&operator, "aws").await;
    world.reports(&operator, &["Degraded=False", "Upgradeable=True"]).await;
}

/// Of two keys that are the same the last one counts.
#[tokio::test]
async fn images_with_a_key_twice() {
    let world = World::new("AWS").await;
    let key = "cloudControllerManagerAWS";
    let text = format!(r#"{{"{key}": "first", "unknown": [1], "{key}": "last"}}"#);
    world.folder.write("images.json", &text);
    let operator = world.start();
    world.runs(&operator, "aws").await;
    assert_eq!(image(&world).await, "last");
}

/// Running operands are kept while the desired ones are unknown.
#[tokio::test]
async fn images_that_break_later() {
    let (world, operator) = World::running("AWS").await;
    let before = world.operands().await;
    world.folder.write("images.json", "[]");
    let conditions = world
        .reports(
            &operator,
            &["Degraded=True SyncingFailed Failed to resync", "Available=True"],
        )
        .await;
    assert!(conditions.contains("images.json"), "{conditions}");
    world.settled().await;
    assert_eq!(world.operands().await, before);

    let mut repaired = images();
    repaired["cloudControllerManagerAWS"] = json!("repaired");
    world.folder.write("images.json", &repaired.to_string());
    let look = async || match image(&world).await {
        image if image == "repaired" => Ok(()),
        image => Err(image),
    };
    operator.until("the new image", look).await;
    world.runs(&operator, "aws").await;
    world.reports(&operator, &["Degraded=False"]).await;
}

/// A cluster that never rests does not keep the operator from reading its own files.
#[tokio::test]
async fn images_change_while_the_cluster_is_busy() {
    let (world, operator) = World::running("AWS").await;
    let mut next = images();
    next["cloudControllerManagerAWS"] = json!("next");
    world.folder.write("images.json", &next.to_string());
    let asked = Instant::now();
    for running in [1, 2].into_iter().cycle() {
        world.roll_out(running).await;
        tokio::time::sleep(Duration::from_millis(200)).await;
        if image(&world).await == "next" {
            break;
        }
        assert!(asked.elapsed() < Duration::from_mins(4), "{}", operator.log_tail());
    }
}

async fn image(world: &World) -> String {
    let found = world.get(&deployment(), &world.namespace, AWS).await.unwrap();
    let image = &found["spec"]["template"]["spec"]["containers"][0]["image"];
    image.as_str().unwrap().to_owned()
}

#[tokio::test]
async fn no_infrastructure() {
    let world = World::without_infrastructure().await;
    let operator = world.start();
    let all = [
        "Available=True AsExpected",
        "Progressing=False",
        "Degraded=False",
        "Upgradeable=True",
    ];
    world.reports(&operator, &all).await;
    world.settled().await;
    assert_eq!(world.operands().await, ["ConfigMap ccm-trusted-ca"]);
    world.set_platform("AWS").await;
    world.runs(&operator, "aws").await;
}

/// An Infrastructure that is gone is no reason to take anything away.
#[tokio::test]
async fn the_infrastructure_is_deleted() {
    let (world, operator) = World::running("AWS").await;
    world.settled().await;
    let before = world.operands().await;
    world.delete(&infrastructure(), "", "cluster").await;
    world.settled().await;
    assert_eq!(world.operands().await, before);
    world.reports(&operator, &["Available=True", "Degraded=False"]).await;
}

/// A platform without operands, and one that is not set.
#[rstest]
#[case::not_set("")]
#[case::kubevirt("KubeVirt")]
#[case::alibaba("AlibabaCloud")]
#[case::ovirt("oVirt")]
#[case::equinix("EquinixMetal")]
#[tokio::test]
async fn nothing_for_platform(#[case] platform: &str) {
    let world = World::new(platform).await;
    let operator = world.start();
    world
        .reports(&operator, &["Available=True", "Progressing=False", "Degraded=False"])
        .await;
    world.settled().await;
    assert_eq!(world.operands().await, ["ConfigMap ccm-trusted-ca"]);
}

/// It is reported at once; existing operands are kept.
#[tokio::test]
async fn infrastructure_without_a_status() {
    let world = World::without_infrastructure().await;
    world
        .apply(
            &infrastructure(),
            "",
            "cluster",
            json!({"spec": {"cloudConfig": {"name": ""}}}),
        )
        .await;
    let operator = world.start();
    let degraded = "CloudConfigControllerDegraded=True SyncingFailed Cloud Config Controller failed to sync cloud config: \
                the Infrastructure \"cluster\" has no status.platformStatus";
    world.reports(&operator, &[degraded]).await;
    assert_eq!(world.operands().await, ["ConfigMap ccm-trusted-ca"]);

    world.set_platform("AWS").await;
    world.runs(&operator, "aws").await;
    let before = world.operands().await;
    world
        .set_status(
            &infrastructure(),
            "cluster",
            json!({"platformStatus": null, "platform": null}),
        )
        .await;
    world.reports(&operator, &[degraded, "Available=True"]).await;
    world.settled().await;
    assert_eq!(world.operands().await, before);
}

/// W6: the condition names the source, the place and the cause; nothing is installed; a repair is enough.
#[rstest]
#[case::aws_ini("AWS", "[Global\nZone = a\n", "", "cloud.conf:1:8: ")]
#[case::openstack_ini("OpenStack", "[Global]\nregion\n[Load", "", "cloud.conf:3:6: ")]
#[case::azure_json("Azure", "{\"cloud\": ", "", "cloud.conf:1:10: ")]
#[case::azure_cloud("Azure", r#"{"cloud": "AzureChinaCloud"}"#, "", "\"cloud\" is \"AzureChinaCloud\"")]
#[case::vsphere_yaml(
    "VSphere",
    "global:\n  user: [u\nvcenter: {}\n",
    "",
    "cloud.conf: global: user: not a text: "
)]
#[case::no_such_key("AWS", "", "config", "has no key \"config\"")]
#[case::no_such_key_untouched("GCP", "", "config", "has no key \"config\"")]
#[tokio::test]
async fn w6_cloud_config(#[case] platform: &str, #[case] text: &str, #[case] key: &str, #[case] cause: &str) {
    let world = World::new(platform).await;
    if key.is_empty() {
        world.set_source(text).await;
    } else {
        let map = json!({"data": {"other": "x"}});
        world
            .delete(&config_map(), "openshift-config", "cloud-provider-config")
            .await;
        world
            .apply(&config_map(), "openshift-config", "cloud-provider-config", map)
            .await;
        let spec = json!({"spec": {"cloudConfig": {"key": key}}});
        world.edit(&infrastructure(), "", "cluster", spec).await;
    }
    let mark = world.mark();
    let operator = world.start();
    let degraded = "CloudConfigControllerDegraded=True SyncingFailed Cloud Config Controller failed to sync cloud config: \
                ConfigMap openshift-config/cloud-provider-config";
    let conditions = world
        .reports(
            &operator,
            &[degraded, "CloudConfigControllerAvailable=False SyncingFailed"],
        )
        .await;
    assert!(conditions.contains(cause), "{conditions}");
    world.settled().await;
    // It may be corrected before an alert has to fire.
    let conditions = world.conditions().await;
    assert!(!conditions.contains("\nDegraded=True"), "{conditions}");
    assert!(world.reports_since(mark) <= 3, "{:#?}", world.writes_since(mark));
    assert_eq!(world.operands().await, ["ConfigMap ccm-trusted-ca"]);

    world
        .edit(
            &infrastructure(),
            "",
            "cluster",
            json!({"spec": {"cloudConfig": {"key": ""}}}),
        )
        .await;
    world.set_platform(platform).await;
    world.runs(&operator, name_on(platform)).await;
    world
        .reports(&operator, &["CloudConfigControllerDegraded=False AsExpected"])
        .await;
}

/// The message names a source that is missing.
#[tokio::test]
async fn source_that_is_missing() {
    let world = World::new("AWS").await;
    let spec = json!({"spec": {"cloudConfig": {"name": "elsewhere", "key": "config"}}});
    world.edit(&infrastructure(), "", "cluster", spec).await;
    let operator = world.start();
    let degraded = "CloudConfigControllerDegraded=True SyncingFailed Cloud Config Controller failed to sync cloud config: \
                ConfigMap openshift-config/elsewhere does not exist";
    world.reports(&operator, &[degraded]).await;
    let source = json!({"data": {"config": "[Global]\nZone = z\n"}});
    world
        .apply(&config_map(), "openshift-config", "elsewhere", source)
        .await;
    world.runs(&operator, "aws").await;
    let written = world.get(&config_map(), &world.namespace, "cloud-conf").await.unwrap();
    assert!(
        written["data"]["cloud.conf"].as_str().unwrap().contains("Zone"),
        "{written:#}"
    );
}

/// W3: no panic; Azure without details is the public one.
#[tokio::test]
async fn w3_azure_without_details() {
    let world = World::new("Azure").await;
    let status = json!({"platformStatus": {"azure": Value::Null}});
    world.set_status(&infrastructure(), "cluster", status).await;
    let operator = world.start();
    world.runs(&operator, "azure").await;
    let written = world.get(&config_map(), &world.namespace, "cloud-conf").await.unwrap();
    let text = written["data"]["cloud.conf"].as_str().unwrap();
    assert!(text.contains("AzurePublicCloud"), "{text}");
    assert!(!operator.log().contains("panic"), "{}", operator.log_tail());
}

/// W3: no panic, but a sentence that names the failure domain and the server.
#[tokio::test]
async fn w3_vsphere_failure_domain_in_an_unknown_vcenter() {
    let world = World::new("VSphere").await;
    let domain = json!({
        "name": "fd-1", "region": "r", "zone": "z", "server": "nowhere.lab",
        "topology": {"datacenter": "dc", "computeCluster": "/dc/host/c", "datastore": "/dc/datastore/d", "networks": ["n"]},
    });
    let vcenter = json!({"server": "vc.lab", "datacenters": ["dc"]});
    let spec = json!({"spec": {"platformSpec": {"type": "VSphere", "vsphere": {
        "vcenters": [vcenter], "failureDomains": [domain],
        "nodeNetworking": {"external": {}, "internal": {}}, "apiServerInternalIPs": [], "ingressIPs": [], "machineNetworks": [],
    }}}});
    world.edit(&infrastructure(), "", "cluster", spec).await;
    let operator = world.start();
    let conditions = world
        .reports(&operator, &["CloudConfigControllerDegraded=True SyncingFailed"])
        .await;
    assert!(
        conditions.contains("fd-1") && conditions.contains("nowhere.lab"),
        "{conditions}"
    );
    assert_eq!(world.operands().await, ["ConfigMap ccm-trusted-ca"]);
    assert!(!operator.log().contains("panic"), "{}", operator.log_tail());
}

/// W12: only who needs the Network waits for it.
#[rstest]
#[case::none("None", 1)]
#[case::aws("AWS", 7)]
#[tokio::test]
async fn w12_without_a_network(#[case] platform: &str, #[case] operands: usize) {
    let world = World::new(platform).await;
    world.delete(&kind("Network"), "", "cluster").await;
    let operator = world.start();
    world.installed(&operator, operands).await;
    world
        .reports(
            &operator,
            &[
                "CloudConfigControllerAvailable=True",
                "CloudConfigControllerDegraded=False",
            ],
        )
        .await;
}

/// W3, W11: the operator waits for missing feature gates, without a panic and without a default; then it continues.
#[tokio::test]
async fn w11_gates_of_another_version() {
    let world = World::new("AWS").await;
    let status = json!({"featureGates": [{"version": "4.0.0-old", "enabled": [], "disabled": []}]});
    world.set_status(&kind("FeatureGate"), "cluster", status).await;
    let operator = world.start();
    let line = operator.logged("FeatureGate").await;
    assert!(line.contains(RELEASE) && line.contains("4.0.0-old"), "{line}");
    // It says so before it writes anything at all.
    world.installed(&operator, 1).await;
    world.settled().await;
    let conditions = world.conditions().await;
    assert!(!conditions.contains("Degraded=True"), "{conditions}");
    assert_eq!(world.operands().await, ["ConfigMap ccm-trusted-ca"]);
    world.set_gates(&[]).await;
    world.runs(&operator, "aws").await;
}

/// A sentence, and the original's exit code, before anything is asked of the cluster.
#[rstest]
#[case::unknown("--frobnicate", 2, "frobnicate")]
#[case::address("--metrics-bind-address=here", 1, "--metrics-bind-address=here: not an address")]
#[case::namespace("--namespace=", 1, "--namespace is empty")]
#[case::not_a_duration("--leader-elect-lease-duration=long", 2, "leader-elect-lease-duration")]
#[case::tls("--tls-min-version=VersionTLS99", 1, "VersionTLS99")]
#[case::ciphers("--tls-cipher-suites=ROT13", 1, "ROT13")]
#[case::kubeconfig("--kubeconfig=/nowhere/kubeconfig", 1, "/nowhere/kubeconfig")]
#[tokio::test]
async fn flags(#[case] flag: &str, #[case] code: i32, #[case] cause: &str) {
    let folder = crate::process_fixture::Folder::new(&lab::unique("flags"));
    let launch = crate::process_fixture::Launch::new(folder.path()).arg("operator");
    let kubeconfig = folder.write("kubeconfig", "{\"current-context\": \"\"}");
    let launch = launch
        .flag(&format!("--kubeconfig={}", kubeconfig.display()))
        .flag(flag);
    let exit = launch.start().exited().await;
    assert_eq!(exit.code, code, "{exit:#?}");
    assert!(exit.stderr.contains(cause), "{}", exit.stderr);
    assert!(!exit.stderr.contains("panicked"), "{}", exit.stderr);
}

/// A kubeconfig that is not one, and one that may not be read.
#[rstest]
#[case::garbage("- a\n- b\n")]
#[case::empty("")]
#[tokio::test]
async fn kubeconfig(#[case] text: &str) {
    let folder = crate::process_fixture::Folder::new(&lab::unique("kubeconfig"));
    let path = folder.write("kubeconfig", text).display().to_string();
    let launch = crate::process_fixture::Launch::new(folder.path())
        .arg("operator")
        .env("KUBECONFIG", &path);
    let exit = launch.start().exited().await;
    assert_eq!(exit.code, 1, "{exit:#?}");
    assert!(exit.stderr.contains(&path), "{}", exit.stderr);
}
