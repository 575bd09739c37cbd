//! `--cloud-provider=vsphere`.

use super::{Entry, Metrics, Page};
use manager::{Provide, Registration, Setup};
use operator::standalone::provider::{self, Changes, ClusterName, Credentials, Needs};
use runtime::flags::{Section, Strings};
use std::{collections::BTreeMap, sync::Arc};
use vsphere::{
    Start, VSphere,
    config::{self, Variables},
};

pub const ENTRY: Entry = Entry {
    registration: Registration {
        programs: &["vsphere-cloud-controller-manager"],
        ..Registration::new("vsphere", || Box::<Flags>::default())
    },
    needs: Needs {
        config: provider::Config::Needed,
        credentials: Credentials::None,
        changes: Changes::Followed,
        cluster_name: ClusterName::Describes,
    },
    pages,
    policies: Vec::new,
    metrics: Some(Metrics {
        title: "With vSphere",
        register: vsphere::register_metrics,
    }),
    events: &[],
};

#[derive(Default)]
struct Flags {
    node_labels: Strings,
}

impl Setup for Flags {
    fn sections(&mut self) -> Vec<Section<'_>> {
        let help = "Labels of every node, as key=value.";
        vec![Section::new("vSphere").flag("node-labels", &mut self.node_labels, help)]
    }

    fn provider(&self, start: &Provide<'_>) -> Result<Arc<dyn cloud::Provider>, String> {
        let provider = VSphere::new(Start {
            file: start.config_file(),
            variables: Variables::of_process(),
            node_labels: self.labels()?,
            gate: start.gate.clone(),
            registry: start.registry,
        });
        Ok(Arc::new(provider.map_err(|error| error.report())?))
    }
}

impl Flags {
    /// OpenShift's operator writes the value in quotes, which are part of it where no shell removes them.
    fn labels(&self) -> Result<BTreeMap<String, String>, String> {
        let pairs = self.node_labels.iter().map(|pair| pair.trim_matches('"'));
        let pairs = pairs.filter(|pair| !pair.is_empty());
        pairs
            .map(|pair| {
                let (key, value) = pair
                    .split_once('=')
                    .filter(|(key, _)| !key.is_empty())
                    .ok_or_else(|| format!("--node-labels: {pair:?} must be key=value"))?;
                Ok((key.to_owned(), value.to_owned()))
            })
            .collect()
    }
}

fn pages() -> Vec<Page> {
    vec![Page {
        name: "vsphere-config",
        text: config::reference_page(),
    }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use operator::cloud_config::{World, transform};
    use provider_kit::live_config::{Disk, File, Sources};
    use serde_json::json;

    /// What an administrator wrote for the in-tree provider of an OpenShift cluster.
    const INI: &str = r#"
[Global]
secret-name = "vsphere-cloud-credentials"
secret-namespace = "openshift-cloud-controller-manager"
insecure-flag = "1"
port = "8443"
soap-roundtrip-count = "5"

[Workspace]
server = "vc1.example.com"
datacenter = "DC1"

[VirtualCenter "vc1.example.com"]
datacenters = "DC1"
thumbprint = "A9:99:3E:36:47:06:81:6A:BA:3E:25:71:78:50:C2:6C:9C:D0:D8:9D"
"#;

    /// OpenShift's operator rewrites the configuration: every key that it writes must be one that this provider reads.
    #[test]
    fn reads_what_the_operator_writes() {
        let infrastructure = json!({
            "apiVersion": "config.openshift.io/v1", "kind": "Infrastructure", "metadata": {"name": "cluster"},
            "spec": {"cloudConfig": {"name": "", "key": ""}, "platformSpec": {"type": "VSphere", "vsphere": {
                "vcenters": [
                    {"server": "vc1.example.com", "port": 443, "datacenters": ["DC1"]},
                    {"server": "vc2.example.com", "datacenters": ["DC2"]},
                ],
                "failureDomains": [
                    {"name": "a", "server": "vc1.example.com", "topology": {"datacenter": "DC1"}},
                    {"name": "b", "server": "vc2.example.com", "topology": {"datacenter": "DC3"}},
                ],
                "nodeNetworking": {
                    "internal": {"network": "inside", "networkSubnetCidr": ["10.0.0.0/16", "fd00::/64"]},
                    "external": {"excludeNetworkSubnetCidr": ["192.168.0.0/16"]},
                },
            }}},
            "status": {"platformStatus": {"type": "VSphere", "vsphere": {"apiServerInternalIPs": ["10.0.0.9"], "ingressIPs": []}}},
        });
        let network = json!({
            "apiVersion": "config.openshift.io/v1", "kind": "Network", "metadata": {"name": "cluster"},
            "spec": {"serviceNetwork": ["172.30.0.0/16", "fd02::/112"]},
        });
        let infrastructure = serde_json::from_value(infrastructure).unwrap();
        let network = serde_json::from_value(network).unwrap();
        let world = World {
            infrastructure: &infrastructure,
            network: Some(&network),
            gates: Some(&[]),
            managed: None,
            referenced: None,
        };
        let written = transform(&world, INI).unwrap();
        let variables = [("ENABLE_ALPHA_DUAL_STACK", "true")].into_iter().collect();
        let mut warnings = Vec::new();
        let sources = Sources {
            file: Some(File {
                name: "cloud.conf",
                content: written.as_bytes(),
            }),
            data: &cloud::LiveData::default(),
            files: &Disk,
        };
        let loaded = config::load(&sources, &variables, &mut warnings).unwrap_or_else(|why| panic!("{why}\n{written}"));
        assert_eq!(warnings, Vec::<String>::new(), "{written}");
        let config = loaded.config;
        let vcenters: Vec<_> = config
            .vcenters
            .iter()
            .map(|one| (one.server.as_str(), one.port, one.attempts))
            .collect();
        assert_eq!(vcenters, [("vc1.example.com", 443, 5), ("vc2.example.com", 8443, 5)]);
        let datacenters: Vec<String> = config.vcenters.iter().map(|one| one.datacenters.join(" ")).collect();
        assert_eq!(datacenters, ["DC1", "DC2 DC3"]);
        assert_eq!(config.vcenters[0].families, [config::Family::V4, config::Family::V6]);
        let zones = config.zones.unwrap();
        assert_eq!(
            (zones.zone.as_str(), zones.region.as_str()),
            ("openshift-zone", "openshift-region")
        );
        let networks = config.networks;
        assert_eq!(networks.internal.name.as_deref(), Some("inside"));
        assert_eq!(networks.internal.ranges.len(), 2);
        let excluded: Vec<String> = networks.external.excluded.iter().map(ToString::to_string).collect();
        assert_eq!(excluded, ["192.168.0.0/16", "10.0.0.9/32", "fd69::2/128"]);
        let secret = cloud::ObjectRef::new("openshift-cloud-controller-manager", "vsphere-cloud-credentials");
        assert_eq!(loaded.sources, [cloud::LiveSource::Secret(secret)]);
    }

    fn labels(pairs: &[&str]) -> Result<BTreeMap<String, String>, String> {
        let node_labels = Strings(pairs.iter().map(ToString::to_string).collect());
        Flags { node_labels }.labels()
    }

    #[test]
    fn labels_of_nodes() {
        let expected = BTreeMap::from([("a".to_owned(), "1".to_owned()), ("b".to_owned(), String::new())]);
        assert_eq!(labels(&["a=1", "b="]), Ok(expected.clone()));
        assert_eq!(labels(&["\"a=1", "b=\""]), Ok(expected));
        assert_eq!(labels(&["\"\""]), Ok(BTreeMap::new()));
        assert!(
            labels(&["a"])
                .unwrap_err()
                .contains("--node-labels: \"a\" must be key=value")
        );
        assert!(labels(&["=1"]).is_err());
    }
}
