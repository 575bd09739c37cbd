//! A fingerprint of everything that a Service asks for.

use cloud::{Affinity, Host, IpFamily, Port, Spec, TrafficPolicy};
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::{collections::BTreeMap, fmt::Write as _};

/// Changes when the same input leads to another load balancer than in the version before.
const EDITION: u32 = 1;

/// Named values that a result depends on.
pub type Fields = BTreeMap<&'static str, Value>;

/// A fingerprint of everything that a Service asks for, in two parts.
///
/// It consists of named fields, so that renaming a field of a type does not change it: a digest that changes makes the manager read
/// every load balancer of the cluster again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digest {
    /// Of everything except the hosts.
    pub(super) settings: String,
    /// Of the hosts.
    pub(super) hosts: String,
}

impl Digest {
    /// Of a Service, with those of its annotations and hosts that the provider takes into account, and `more` that the result depends on: the
    /// provider's configuration, and what the cloud is able to do.
    pub fn new<'a>(
        spec: &Spec,
        is_relevant: impl Fn(&str) -> bool,
        hosts: impl IntoIterator<Item = &'a Host>,
        more: &Fields,
    ) -> Self {
        Self {
            settings: fingerprint(&(settings(spec, is_relevant), more)),
            hosts: fingerprint(&hosts.into_iter().map(host).collect::<BTreeMap<_, _>>()),
        }
    }
}

fn settings(spec: &Spec, is_relevant: impl Fn(&str) -> bool) -> Fields {
    // A new field of a Service has to be given a name here, or be left out on purpose.
    let Spec {
        cluster,
        service,
        annotations,
        class,
        ip,
        ports,
        source_ranges,
        ranges_from: _,
        bad_ranges: _,
        affinity,
        traffic,
        families,
        external_ips: _,
        hosts: _,
        status: _,
    } = spec;
    let annotations: Vec<_> = annotations.iter().filter(|(name, _)| is_relevant(name)).collect();
    let mut ranges: Vec<String> = source_ranges.iter().map(ToString::to_string).collect();
    ranges.sort_unstable();
    let affinity = match affinity {
        Affinity::None => None,
        Affinity::ClientIp { timeout_seconds } => Some(timeout_seconds),
    };
    let local = match traffic {
        TrafficPolicy::Cluster => None,
        TrafficPolicy::Local { health_check_port } => Some([health_check_port]),
    };
    let families = families.iter().map(|family| match family {
        IpFamily::V4 => 4,
        IpFamily::V6 => 6,
    });
    Fields::from([
        ("edition", json!(EDITION)),
        ("cluster", json!(cluster)),
        ("service", json!([service.namespace, service.name, service.uid])),
        ("annotations", json!(annotations)),
        ("class", json!(class)),
        ("ip", json!(ip)),
        ("ports", ports.iter().map(port).collect()),
        ("ranges", json!(ranges)),
        ("affinity", json!(affinity)),
        ("local", json!(local)),
        ("families", families.collect()),
    ])
}

fn port(port: &Port) -> Value {
    let Port {
        name,
        protocol,
        port,
        node_port,
        app_protocol,
    } = port;
    json!([name, protocol.as_str(), port, node_port, app_protocol])
}

/// A label that no annotation selects by does not count.
fn host(host: &Host) -> (String, Value) {
    let addresses = host.addresses.iter();
    let addresses = addresses.map(|address| json!([address.kind.as_str(), address.address]));
    (host.name.clone(), addresses.collect())
}

/// A short hash of fields that JSON can hold, the same in every version.
pub fn fingerprint(fields: &impl Serialize) -> String {
    let text = serde_json::to_string(fields).unwrap_or_default();
    let hash = Sha256::digest(text);
    hash.iter().take(16).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use cloud::{Address, AddressKind, Ingress, ServiceRef};
    use rstest::rstest;
    use std::sync::Arc;

    fn host(name: &str) -> Arc<Host> {
        Arc::new(Host {
            name: name.into(),
            addresses: vec![Address::new(AddressKind::InternalIP, "10.0.0.1")],
            ..Host::default()
        })
    }

    fn spec() -> Spec {
        Spec {
            cluster: "c".into(),
            service: ServiceRef {
                namespace: "n".into(),
                name: "s".into(),
                uid: "u".into(),
            },
            annotations: [("mine".into(), "1".into()), ("other".into(), "1".into())].into(),
            hosts: [host("a"), host("b")].into(),
            source_ranges: vec!["10.0.0.0/8".parse().unwrap(), "192.0.2.0/24".parse().unwrap()],
            ..Spec::default()
        }
    }

    fn digest(spec: &Spec) -> Digest {
        let hosts = spec.hosts.iter().map(Arc::as_ref);
        Digest::new(
            spec,
            |key| key == "mine",
            hosts,
            &Fields::from([("provider", json!("x"))]),
        )
    }

    /// Clusters hold these: a change makes every load balancer be read again after an upgrade.
    #[test]
    fn is_the_same_in_every_version() {
        let Digest { settings, hosts } = digest(&spec());
        assert_eq!(
            (settings.as_str(), hosts.as_str()),
            ("9a20af807a440b25f47e9004f2f2c350", "7d0ed439510c7a9e5cd07c0319560464")
        );
    }

    #[rstest]
    #[case::order_of_hosts(|spec: &mut Spec| { spec.hosts = spec.hosts.iter().rev().cloned().collect(); }, "")]
    #[case::order_of_ranges(|spec: &mut Spec| spec.source_ranges.reverse(), "")]
    #[case::status(|spec: &mut Spec| spec.status.ingress.push(Ingress::default()), "")]
    #[case::annotation_of_another(|spec: &mut Spec| { spec.annotations.insert("other".into(), "2".into()); }, "")]
    #[case::annotation(|spec: &mut Spec| { spec.annotations.insert("mine".into(), "2".into()); }, "settings")]
    #[case::host_gone(|spec: &mut Spec| { spec.hosts = spec.hosts[..1].into(); }, "hosts")]
    #[case::uid(|spec: &mut Spec| { spec.service.uid = "v".into(); }, "settings")]
    #[case::family(|spec: &mut Spec| { spec.families = vec![IpFamily::V6]; }, "settings")]
    #[case::affinity(|spec: &mut Spec| { spec.affinity = Affinity::ClientIp { timeout_seconds: 5 }; }, "settings")]
    #[case::local(|spec: &mut Spec| { spec.traffic = TrafficPolicy::Local { health_check_port: None }; }, "settings")]
    fn changes(#[case] change: fn(&mut Spec), #[case] expected: &str) {
        let (before, mut spec) = (digest(&spec()), spec());
        change(&mut spec);
        let after = digest(&spec);
        let mut changed = Vec::new();
        if before.settings != after.settings {
            changed.push("settings");
        }
        if before.hosts != after.hosts {
            changed.push("hosts");
        }
        assert_eq!(changed.join(" "), expected);
    }
}
