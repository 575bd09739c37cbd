//! Sources and decisions.

use super::{Content, Desired, Error, Mutability, World, decide, transform};
use k8s_openapi::{ByteString, api::core::v1::ConfigMap};
use operator_api::{Infrastructure, Network};
use rstest::rstest;
use serde_json::{Value, json};

const YAML: &str = "global:\n  user: u\nvcenter:\n  v: {}\n";

/// A cluster in a few words.
#[derive(Default)]
struct Cluster {
    infrastructure: Infrastructure,
    network: Option<Network>,
    gates: Option<Vec<String>>,
    managed: Option<ConfigMap>,
    referenced: Option<ConfigMap>,
}

impl Cluster {
    fn on(platform: &str) -> Self {
        Self::with(&json!({ "platformStatus": { "type": platform } }))
    }

    fn with(status: &Value) -> Self {
        let infrastructure = serde_json::from_value(json!({ "status": status })).expect("Infrastructure");
        Self {
            infrastructure,
            gates: Some(Vec::new()),
            network: Some(Network::default()),
            ..Self::default()
        }
    }

    fn names(mut self, name: &str, key: &str) -> Self {
        name.clone_into(&mut self.infrastructure.spec.cloud_config.name);
        key.clone_into(&mut self.infrastructure.spec.cloud_config.key);
        self
    }

    fn managed(self, data: &Value) -> Self {
        Self {
            managed: Some(map(data)),
            ..self
        }
    }

    fn referenced(self, data: &Value) -> Self {
        Self {
            referenced: Some(map(data)),
            ..self
        }
    }

    fn gate(self, gate: &str) -> Self {
        Self {
            gates: Some(vec![gate.to_owned()]),
            ..self
        }
    }

    fn decide(&self) -> Result<Desired, Error> {
        decide(&self.world())
    }

    fn world(&self) -> World<'_> {
        World {
            infrastructure: &self.infrastructure,
            network: self.network.as_ref(),
            gates: self.gates.as_deref(),
            managed: self.managed.as_ref(),
            referenced: self.referenced.as_ref(),
        }
    }

    /// The keys of `cloud-conf` and their texts.
    fn data(&self) -> Value {
        json!(self.decide().expect("decision").cloud_conf.expect("cloud-conf").data)
    }

    fn problem(&self) -> String {
        let error = self.decide().expect_err("refused");
        assert!(matches!(error, Error::Terminal(_)), "{error:?}");
        error.to_string()
    }
}

fn map(data: &Value) -> ConfigMap {
    serde_json::from_value(json!({ "data": data })).expect("ConfigMap")
}

#[rstest]
#[case::named_key(Cluster::on("GCP").names("c", "config").referenced(&json!({ "config": "x" })), json!({ "cloud.conf": "x" }))]
#[case::no_key(Cluster::on("GCP").names("c", "").referenced(&json!({ "cloud.conf": "x" })), json!({ "cloud.conf": "x" }))]
#[case::no_cloud_conf(Cluster::on("GCP").names("c", "").referenced(&json!({ "a": "1" })), json!({ "a": "1", "cloud.conf": "" }))]
#[case::cloud_conf_beats_the_key(
    Cluster::on("GCP").names("c", "config").referenced(&json!({ "config": "x", "cloud.conf": "y" })),
    json!({ "config": "x", "cloud.conf": "y" })
)]
#[case::all_keys_stay(
    Cluster::on("IBMCloud").names("c", "config").referenced(&json!({ "config": "x", "ca-bundle.pem": "c", "endpoints": "e" })),
    json!({ "cloud.conf": "x", "ca-bundle.pem": "c", "endpoints": "e" })
)]
#[case::managed_is_not_for_everybody(
    Cluster::on("PowerVS").names("c", "k").managed(&json!({ "cloud.conf": "m" })).referenced(&json!({ "k": "x" })),
    json!({ "cloud.conf": "x" })
)]
#[case::no_reference(Cluster::on("Nutanix"), json!({ "cloud.conf": "" }))]
#[case::missing_without_a_key(Cluster::on("Nutanix").names("c", ""), json!({ "cloud.conf": "" }))]
#[case::not_named_is_not_read(Cluster::on("GCP").referenced(&json!({ "cloud.conf": "x" })), json!({ "cloud.conf": "" }))]
fn source(#[case] cluster: Cluster, #[case] expected: Value) {
    assert_eq!(cluster.data(), expected);
}

#[rstest]
#[case::aws("AWS", "[Global]\nZone = managed\n", "[Global]\nZone = user\n", " = managed")]
#[case::azure(
    "Azure",
    r#"{"location":"managed"}"#,
    r#"{"location":"user"}"#,
    r#""location":"managed""#
)]
fn managed_wins(#[case] platform: &str, #[case] managed: &str, #[case] user: &str, #[case] expected: &str) {
    let cluster = Cluster::on(platform)
        .names("c", "k")
        .managed(&json!({ "cloud.conf": managed }))
        .referenced(&json!({ "k": user }));
    let text = cluster.data()["cloud.conf"].to_string().replace('\\', "");
    assert!(text.contains(expected), "{text}");
}

#[test]
fn without_managed_the_reference_is_taken() {
    let cluster = Cluster::on("AWS")
        .names("c", "k")
        .referenced(&json!({ "k": "[Global]\nZone = user\n" }));
    assert!(
        cluster.data()["cloud.conf"]
            .as_str()
            .expect("text")
            .contains(" = user\n")
    );
}

#[test]
fn aws_without_a_reference_gets_a_default() {
    let text = cluster_text(&Cluster::on("AWS"));
    assert!(
        text.starts_with("[Global]\n") && text.contains("HealthProbeMode       = Shared\n"),
        "{text}"
    );
}

fn cluster_text(cluster: &Cluster) -> String {
    cluster.data()["cloud.conf"].as_str().expect("text").to_owned()
}

// The Go operator says "… does not exist in source configmap /" .
#[rstest]
#[case::no_map(
    Cluster::on("AWS").names("c", "k"),
    "ConfigMap openshift-config/c does not exist, but spec.cloudConfig of the Infrastructure names it: create it with \
     the key \"k\", or remove the reference"
)]
#[case::no_key(
    Cluster::on("GCP").names("c", "k").referenced(&json!({ "a": "1", "b": "2" })),
    "ConfigMap openshift-config/c has no key \"k\", which spec.cloudConfig of the Infrastructure names: add it or \
     correct the reference; it has a, b"
)]
#[case::no_key_in_managed(
    Cluster::on("AWS").names("c", "k").managed(&json!({})),
    "ConfigMap openshift-config-managed/kube-cloud-config has no key \"k\", which spec.cloudConfig of the \
     Infrastructure names: add it or correct the reference; it has nothing"
)]
#[case::a_key_without_a_name(
    Cluster::on("GCP").names("", "k"),
    "spec.cloudConfig of the Infrastructure has the key \"k\" but no name: name a ConfigMap in openshift-config, or \
     remove the key"
)]
#[case::no_platform_status(Cluster::with(&json!({})), "the Infrastructure \"cluster\" has no status.platformStatus")]
#[case::malformed(
    Cluster::on("OpenStack").names("c", "k").referenced(&json!({ "k": "[Global]\nsecret-name = x\n" })),
    "ConfigMap openshift-config/c: cloud.conf:2:15: secret-name in [Global] is not supported with another value than \
     the installer's: remove the line or write \"openstack-credentials\""
)]
#[case::azure_without_a_source(
    Cluster::on("Azure"),
    "the cloud configuration, which spec.cloudConfig of the Infrastructure does not name: cloud.conf is empty: write \
     a JSON object"
)]
fn terminal(#[case] cluster: Cluster, #[case] problem: &str) {
    assert_eq!(cluster.problem(), problem);
}

#[test]
fn a_key_among_the_bytes_is_named() {
    let mut cluster = Cluster::on("GCP").names("c", "k").referenced(&json!({}));
    let bytes = [("k".to_owned(), ByteString(vec![1]))].into();
    cluster.referenced.as_mut().expect("map").binary_data = Some(bytes);
    assert_eq!(
        cluster.problem(),
        "ConfigMap openshift-config/c has the key \"k\" in binaryData: put it into data, as text"
    );
}

#[test]
fn a_missing_map_without_a_key_is_reported() {
    let decision = Cluster::on("GCP").names("c", "").decide().expect("decision");
    let warning = "ConfigMap openshift-config/c does not exist, but spec.cloudConfig of the Infrastructure names it: \
                   an empty cloud configuration is used instead";
    assert_eq!(decision.warnings, [warning]);
}

#[rstest]
#[case::bare_metal("BareMetal")]
#[case::none("None")]
#[case::external("External")]
#[case::kubevirt("KubeVirt")]
#[case::alibaba("AlibabaCloud")]
#[case::unknown("Tomorrow")]
#[case::empty("")]
fn platforms_without_a_configuration(#[case] platform: &str) {
    let mut cluster = Cluster::on(platform).names("c", "k");
    // Nor do they wait for anything (W12)
    (cluster.network, cluster.gates) = (None, None);
    assert_eq!(cluster.decide(), Ok(Desired::default()));
    let refused = Error::Terminal("this platform has no cloud configuration".to_owned());
    assert_eq!(transform(&cluster.world(), "x"), Err(refused));
}

// The Go operator needs a Network for everything (W12).
#[rstest]
#[case::aws("AWS", "[Global]\n")]
#[case::azure("Azure", "{}")]
#[case::gcp("GCP", "")]
#[case::openstack("OpenStack", "")]
#[case::vsphere_without_a_spec("VSphere", YAML)]
fn w12_no_network_is_needed(#[case] platform: &str, #[case] text: &str) {
    let mut cluster = Cluster::on(platform)
        .names("c", "")
        .referenced(&json!({ "cloud.conf": text }));
    cluster.network = None;
    assert!(cluster.decide().is_ok());
}

#[test]
fn vsphere_waits_for_the_network() {
    let mut cluster = vsphere(&json!({}));
    cluster.network = None;
    let unseen = Error::Transient("the Network \"cluster\" has not been seen yet".to_owned());
    assert_eq!(cluster.decide(), Err(unseen));
}

#[rstest]
#[case::aws("AWS")]
#[case::vsphere("VSphere")]
fn gates_are_waited_for(#[case] platform: &str) {
    let mut cluster = Cluster::on(platform);
    cluster.gates = None;
    let unseen = Error::Transient("the feature gates have not been seen yet".to_owned());
    assert_eq!(cluster.decide(), Err(unseen));
}

#[rstest]
#[case::on("AWSServiceLBNetworkSecurityGroup", true)]
#[case::another("AnotherGate", false)]
fn the_gate_of_aws(#[case] gate: &str, #[case] managed: bool) {
    let text = cluster_text(&Cluster::on("AWS").gate(gate));
    assert_eq!(
        text.ends_with("\nNLBSecurityGroupMode                            = Managed\n"),
        managed,
        "{text}"
    );
}

fn vsphere(spec: &Value) -> Cluster {
    let mut cluster = Cluster::on("VSphere")
        .names("c", "k")
        .referenced(&json!({ "k": YAML, "ca-bundle.pem": "x" }));
    cluster.infrastructure.spec.platform_spec.vsphere = Some(serde_json::from_value(spec.clone()).expect("spec"));
    cluster
}

#[test]
fn vsphere_leaves_the_managed_map_alone_without_the_gate() {
    let decision = vsphere(&json!({})).decide().expect("decision");
    assert_eq!(decision.managed, None);
    assert_eq!(decision.cloud_conf.expect("cloud-conf").data["cloud.conf"], YAML);
}

#[test]
fn vsphere_owns_the_managed_map_with_the_gate() {
    let decision = vsphere(&json!({}))
        .gate("VSphereMultiVCenterDay2")
        .decide()
        .expect("decision");
    assert_eq!(decision.managed, decision.cloud_conf);
    assert_eq!(
        json!(decision.managed.expect("managed").data),
        json!({ "cloud.conf": YAML, "ca-bundle.pem": "x" })
    );
}

#[rstest]
#[case::no_map("c", "k")]
#[case::no_reference("", "")]
fn vsphere_is_seeded_with_the_gate(#[case] name: &str, #[case] key: &str) {
    let spec = json!({ "vcenters": [{ "server": "v", "datacenters": ["D"] }] });
    let mut cluster = vsphere(&spec).gate("VSphereMultiVCenterDay2").names(name, key);
    cluster.referenced = None;
    let expected = "global: {}\nvcenter:\n  v:\n    datacenters:\n    - D\n    server: v\n";
    assert_eq!(cluster.data(), json!({ "cloud.conf": expected }));
}

#[test]
fn vsphere_without_the_gate_is_not_seeded() {
    let mut cluster = vsphere(&json!({})).names("c", "");
    cluster.referenced = None;
    let problem = "ConfigMap openshift-config/c, which does not exist: cloud.conf is empty: write the vCenters into it";
    assert_eq!(cluster.problem(), problem);
}

#[test]
fn azure_stack_keeps_its_endpoints() {
    let status = json!({ "platformStatus": { "type": "Azure", "azure": { "cloudName": "AzureStackCloud" } } });
    let cluster = Cluster::with(&status).managed(&json!({ "cloud.conf": "{\"cloud\":\"x\"}", "endpoints": "e" }));
    assert_eq!(
        cluster.data(),
        json!({ "cloud.conf": r#"{"cloud":"x","vmType":"standard"}"#, "endpoints": "e" })
    );
}

#[test]
fn w3_azure_without_its_status_is_the_public_cloud() {
    let cluster = Cluster::on("Azure").managed(&json!({ "cloud.conf": "{}" }));
    assert!(cluster_text(&cluster).contains(r#""cloud":"AzurePublicCloud""#));
}

#[test]
fn bytes_and_immutability_pass_through() {
    let mut cluster = Cluster::on("GCP").names("c", "k").referenced(&json!({ "k": "x" }));
    let map = cluster.referenced.as_mut().expect("map");
    map.binary_data = Some([("b".to_owned(), ByteString(vec![0, 255]))].into());
    map.immutable = Some(true);
    let content = cluster.decide().expect("decision").cloud_conf.expect("cloud-conf");
    assert_eq!(content.mutability, Mutability::Immutable);
    let expected = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "namespace": "ns", "name": "cloud-conf" },
        "data": { "cloud.conf": "x" }, "binaryData": { "b": "AP8=" }, "immutable": true,
    });
    assert_eq!(content.object("ns", "cloud-conf").value(), &expected);
}

#[test]
fn nothing_of_a_configuration_is_printed() {
    let content = Content {
        data: [("cloud.conf".to_owned(), "hunter2".to_owned())].into(),
        ..Content::default()
    };
    let printed = format!("{content:?}");
    assert!(
        printed.contains("cloud.conf") && !printed.contains("hunter2"),
        "{printed}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_api_server_takes_the_object_and_gives_back_the_content() {
    let name = lab::unique("cloud-conf");
    let api: kube::Api<ConfigMap> = kube::Api::namespaced(lab::ControlPlane::shared().client(), "default");
    let content = Content {
        data: [("cloud.conf".to_owned(), "[Global]\n".to_owned())].into(),
        binary_data: [("bytes".to_owned(), ByteString(vec![0, 255]))].into(),
        mutability: Mutability::Immutable,
    };
    let patch = kube::api::Patch::Apply(content.object("default", &name).into_value());
    let params = kube::api::PatchParams::apply("outrigger-operator").force();
    let live = api.patch(&name, &params, &patch).await.expect("applied");
    assert_eq!(Content::from(&live), content);
    api.delete(&name, &kube::api::DeleteParams::default())
        .await
        .expect("deleted");
}
