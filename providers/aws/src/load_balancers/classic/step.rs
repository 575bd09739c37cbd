//! One change of a classic load balancer.

use super::desired::Proxy;
use crate::api::{
    ec2::Tag,
    elb::{ClassicAttributes, HealthCheck, Listener, NewPolicy},
};
use std::{collections::BTreeSet, fmt};

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    DetachSubnets(Vec<String>),
    AttachSubnets(Vec<String>),
    DeleteListeners(Vec<u16>),
    CreateListeners(Vec<Listener>),
    CreatePolicy(NewPolicy),
    SetProxy {
        port: u16,
        proxy: Proxy,
    },
    SetTlsPolicy {
        port: u16,
        policy: String,
    },
    SetAttributes(ClassicAttributes),
    ConfigureCheck(HealthCheck),
    AddTags(Vec<Tag>),
    SetInstances {
        wanted: BTreeSet<String>,
        /// As listed, if it is not known here.
        present: Option<BTreeSet<String>>,
    },
}

impl provider_kit::load_balancer::Step for Step {}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DetachSubnets(ids) => write!(f, "-subnets {}", ids.join(" ")),
            Self::AttachSubnets(ids) => write!(f, "+subnets {}", ids.join(" ")),
            Self::DeleteListeners(ports) => {
                let ports: Vec<String> = ports.iter().map(ToString::to_string).collect();
                write!(f, "-ports {}", ports.join(" "))
            }
            Self::CreateListeners(listeners) => {
                let port = |one: &Listener| {
                    let Listener {
                        protocol,
                        load_balancer_port,
                        instance_protocol,
                        instance_port,
                        ..
                    } = one;
                    format!("{protocol}:{load_balancer_port}->{instance_protocol}:{instance_port}")
                };
                write!(f, "+ports {}", listeners.iter().map(port).collect::<Vec<_>>().join(" "))
            }
            Self::CreatePolicy(policy) => write!(f, "+policy {}", policy.name),
            Self::SetProxy { port, proxy } => match proxy {
                Proxy::On => write!(f, "PROXY protocol on {port}"),
                Proxy::Off => write!(f, "no PROXY protocol on {port}"),
            },
            Self::SetTlsPolicy { port, policy } => write!(f, "policy {policy} on {port}"),
            Self::SetAttributes(_) => f.write_str("update attributes"),
            Self::ConfigureCheck(check) => write!(f, "check {}", check.target),
            Self::AddTags(tags) => write!(f, "add {} tags", tags.len()),
            Self::SetInstances { wanted, present: None } => write!(f, "set {} instances", wanted.len()),
            Self::SetInstances {
                wanted,
                present: Some(present),
            } => {
                let new = wanted.difference(present).map(|id| format!("+{id}"));
                let gone = present.difference(wanted).map(|id| format!("-{id}"));
                write!(f, "instances {}", new.chain(gone).collect::<Vec<_>>().join(" "))
            }
        }
    }
}
