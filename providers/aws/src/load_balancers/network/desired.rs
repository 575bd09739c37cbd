//! What a network load balancer should be like.

use crate::{
    api::{ec2::Tag, elbv2::target_groups::CheckSettings},
    cluster::Cluster,
    config::Config,
    load_balancers::{
        annotations as key,
        health::{self, GroupCheck, TRAFFIC_PORT},
        names,
        settings::{self, Kind},
        tags,
    },
};
use cloud::{Protocol, Result, Spec};
use provider_kit::annotations::Annotation;
use std::collections::BTreeMap;

/// What a Service asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    pub mappings: Vec<Mapping>,
    pub attributes: BTreeMap<String, String>,
    pub group_attributes: BTreeMap<String, String>,
    pub tags: Vec<Tag>,
}

/// A port of the load balancer, and the target group behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    pub port: u16,
    /// `TCP`, `UDP` or `TLS`.
    pub protocol: &'static str,
    pub tls: Option<Tls>,
    pub node_port: u16,
    pub target_protocol: &'static str,
    pub check: GroupCheck,
    pub group_name: String,
}

/// How a port uses TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    pub certificate: String,
    /// AWS's default, if not given.
    pub policy: Option<String>,
}

impl Asked {
    /// What a Service asks for. A port without a node port is left out.
    ///
    /// # Errors
    /// [`cloud::Error::Invalid`]
    pub fn of(spec: &Spec, config: &Config, cluster: &Cluster) -> Result<Self> {
        settings::check(spec, Kind::Network)?;
        let check = health::of_groups(spec, config)?;
        let mappings = spec.ports.iter().filter_map(|port| {
            let node_port = port.node_port?;
            let certificate = settings::certificate(spec, port, Kind::Network);
            let certificate = certificate.filter(|_| port.protocol != Protocol::Udp);
            let tls = certificate.map(|certificate| Tls {
                certificate: certificate.to_owned(),
                policy: key::SSL_NEGOTIATION_POLICY.non_empty(spec).map(str::to_owned),
            });
            let is_tls_behind = tls.is_some() && key::BACKEND_PROTOCOL.text(spec) == Some("ssl");
            let protocol = port.protocol.as_str();
            let target_protocol = if is_tls_behind { "TLS" } else { protocol };
            let group = names::TargetGroup {
                cluster: cluster.name.as_ref().map_or("", |name| &name.id),
                service: &spec.service,
                port: port.port,
                node_port,
                protocol: target_protocol,
                check_protocol: &check.protocol,
                check_interval: check.interval,
            };
            Some(Mapping {
                port: port.port,
                protocol: if tls.is_some() { "TLS" } else { protocol },
                tls,
                node_port,
                target_protocol,
                group_name: group.name(),
                check: check.clone(),
            })
        });
        Ok(Self {
            mappings: mappings.collect(),
            attributes: attributes(spec)?,
            group_attributes: settings::group_attributes(spec, Kind::Network)?,
            tags: tags::of(spec, cluster),
        })
    }

    /// The ports of the nodes that get traffic.
    pub fn node_ports(&self) -> Vec<u16> {
        self.mappings.iter().map(|mapping| mapping.node_port).collect()
    }

    /// The ports of the nodes that are checked.
    pub fn check_ports(&self) -> Vec<u16> {
        let port = |mapping: &Mapping| match mapping.check.port.as_str() {
            TRAFFIC_PORT => Some(mapping.node_port),
            port => port.parse().ok(),
        };
        self.mappings.iter().filter_map(port).collect()
    }

    /// The protocol of the traffic: all ports of a Service have the same.
    pub fn transport(&self) -> &'static str {
        match self.mappings.first() {
            Some(mapping) if mapping.protocol == "UDP" => "UDP",
            _ => "TCP",
        }
    }
}

impl Mapping {
    /// What can be changed about the check of the target group.
    pub fn check_settings(&self) -> CheckSettings {
        CheckSettings {
            health_check_port: self.check.port.clone(),
            health_check_path: self.check.path.clone(),
            health_check_timeout_seconds: self.check.timeout,
            healthy_threshold_count: self.check.healthy,
            unhealthy_threshold_count: self.check.unhealthy,
        }
    }

    /// Its name in the record, where it stands for the target group.
    pub fn target(&self) -> String {
        format!("{}:{}", self.target_protocol, self.node_port)
    }
}

/// The port in the name of a target.
pub fn port_of(target: &str) -> Option<u16> {
    target.rsplit(':').next()?.parse().ok()
}

fn attributes(spec: &Spec) -> Result<BTreeMap<String, String>> {
    let text = |value: Option<bool>| value.unwrap_or(false).to_string();
    let logs = key::ACCESS_LOG_ENABLED.given_boolean(spec)?;
    let mut attributes = BTreeMap::from([
        (
            "load_balancing.cross_zone.enabled",
            text(key::CROSS_ZONE.given_boolean(spec)?),
        ),
        ("access_logs.s3.enabled", text(logs)),
    ]);
    if logs == Some(true) {
        let rows = [
            ("access_logs.s3.bucket", key::ACCESS_LOG_S3_BUCKET_NAME),
            ("access_logs.s3.prefix", key::ACCESS_LOG_S3_BUCKET_PREFIX),
        ];
        // What is not given is empty: an annotation that was removed must not keep its effect.
        let text = |row: Annotation| row.text(spec).unwrap_or_default().to_owned();
        attributes.extend(rows.map(|(name, row)| (name, text(row))));
    }
    Ok(attributes
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load_balancers::fixture::{annotated, cluster, config, spec};
    use rstest::rstest;

    fn shown(spec: &Spec) -> String {
        let asked = match Asked::of(spec, &config(&[]), &cluster()) {
            Ok(asked) => asked,
            Err(error) => return error.to_string(),
        };
        let mapping = |mapping: &Mapping| {
            let tls = mapping.tls.as_ref().map_or(String::new(), |tls| {
                format!(" {} {}", tls.certificate, tls.policy.as_deref().unwrap_or("-"))
            });
            format!("{} {} -> {}{tls}", mapping.protocol, mapping.port, mapping.target())
        };
        asked.mappings.iter().map(mapping).collect::<Vec<_>>().join("; ")
    }

    #[rstest]
    #[case::plain(&[], "TCP 80 -> TCP:30080; TCP 443 -> TCP:30443")]
    #[case::certificate(&[(key::SSL_CERT, "arn")], "TLS 80 -> TCP:30080 arn -; TLS 443 -> TCP:30443 arn -")]
    #[case::one_port(&[(key::SSL_CERT, "arn"), (key::SSL_PORTS, "443"), (key::SSL_NEGOTIATION_POLICY, "p")], "TCP 80 -> TCP:30080; TLS 443 -> TCP:30443 arn p")]
    #[case::backend(&[(key::SSL_CERT, "arn"), (key::SSL_PORTS, "443"), (key::BACKEND_PROTOCOL, "ssl")], "TCP 80 -> TCP:30080; TLS 443 -> TLS:30443 arn -")]
    #[case::no_certificate(&[(key::BACKEND_PROTOCOL, "ssl")], "TCP 80 -> TCP:30080; TCP 443 -> TCP:30443")]
    fn mappings(#[case] annotations: &[(Annotation, &str)], #[case] expected: &str) {
        let mut spec = spec(&[80, 443]);
        spec.annotations
            .extend(annotations.iter().map(|(row, value)| (row.key.into(), (*value).into())));
        assert_eq!(shown(&spec), expected);
    }

    #[test]
    fn udp_has_no_tls_and_a_port_without_a_node_port_is_left_out() {
        let mut spec = annotated(&[53, 54], key::SSL_CERT, "arn");
        spec.ports.iter_mut().for_each(|port| port.protocol = Protocol::Udp);
        spec.ports[1].node_port = None;
        assert_eq!(shown(&spec), "UDP 53 -> UDP:30053");
    }

    #[rstest]
    #[case::defaults(&[], "access_logs.s3.enabled=false load_balancing.cross_zone.enabled=false")]
    #[case::logs(&[(key::ACCESS_LOG_ENABLED, "true"), (key::ACCESS_LOG_S3_BUCKET_NAME, "b"), (key::CROSS_ZONE, "1")], "access_logs.s3.bucket=b access_logs.s3.enabled=true access_logs.s3.prefix= load_balancing.cross_zone.enabled=true")]
    #[case::bucket_without_logs(&[(key::ACCESS_LOG_S3_BUCKET_NAME, "b")], "access_logs.s3.enabled=false load_balancing.cross_zone.enabled=false")]
    #[case::empty(&[(key::ACCESS_LOG_ENABLED, ""), (key::CROSS_ZONE, "")], "access_logs.s3.enabled=false load_balancing.cross_zone.enabled=false")]
    #[case::bad(&[(key::CROSS_ZONE, "yes")], "is not \"true\" or \"false\"")]
    fn attributes_of_load_balancers(#[case] annotations: &[(Annotation, &str)], #[case] expected: &str) {
        let mut spec = spec(&[80]);
        spec.annotations
            .extend(annotations.iter().map(|(row, value)| (row.key.into(), (*value).into())));
        let text = match attributes(&spec) {
            Ok(attributes) => attributes
                .iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect::<Vec<_>>()
                .join(" "),
            Err(error) => error.to_string(),
        };
        assert!(text.ends_with(expected), "{text}");
    }
}
