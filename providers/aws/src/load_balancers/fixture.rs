//! Values for tests.

use crate::{
    cluster::Cluster,
    config::{ClusterName, ClusterTags, Config, Variables},
};
use cloud::{Host, Port, Protocol, ProviderId, ServiceRef, Spec};
use provider_kit::annotations::Annotation;
use std::{fmt::Write, sync::Arc};

/// A Service in cluster `lab` with these ports, whose node ports are 30000 more, and the hosts `n1` and `n2`.
pub fn spec(ports: &[u16]) -> Spec {
    Spec {
        cluster: "kubernetes".into(),
        service: ServiceRef {
            namespace: "default".into(),
            name: "web".into(),
            uid: "8c4d4a2e-0b0c-4f5e-9a5d-2d9a6f1b7c3e".into(),
        },
        ports: ports.iter().map(|number| port(*number)).collect(),
        source_ranges: vec!["0.0.0.0/0".parse().unwrap()],
        hosts: ["1", "2"]
            .map(|number| Arc::new(host(&format!("n{number}"), &format!("i-{number}"))))
            .into(),
        ..Spec::default()
    }
}

/// A node on this instance.
pub fn host(name: &str, instance: &str) -> Host {
    Host {
        name: name.into(),
        provider_id: ProviderId::parse(format!("aws:///us-east-1a/{instance}")),
        ..Host::default()
    }
}

pub fn port(number: u16) -> Port {
    Port {
        name: String::new(),
        protocol: Protocol::Tcp,
        port: number,
        node_port: Some(30000 + number),
        app_protocol: None,
    }
}

pub fn annotated(ports: &[u16], row: Annotation, value: &str) -> Spec {
    let mut spec = spec(ports);
    spec.annotations.insert(row.key.into(), value.into());
    spec
}

/// The configuration with these keys of `[Global]`.
pub fn config(keys: &[(&str, &str)]) -> Config {
    let mut text = "[Global]\n".to_owned();
    for (key, value) in keys.iter().filter(|(_, value)| !value.is_empty()) {
        let _ = writeln!(text, "{key}={value}");
    }
    let variables = Variables::default();
    Config::new(Some(("cloud.conf", text.as_bytes())), variables, &mut Vec::new()).unwrap()
}

pub fn cluster() -> Cluster {
    Cluster {
        name: Some(ClusterName {
            id: "lab".into(),
            tags: ClusterTags::Current,
        }),
        vpc_id: "vpc-1".into(),
        subnet_id: Some("subnet-own".into()),
    }
}
