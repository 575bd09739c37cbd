//! One change of a load balancer.

use super::desired::Key;
use crate::api::octavia::{
    ListenerChange, LoadBalancerChange, MonitorChange, NewListener, NewMember, NewMonitor, NewPool, PoolChange,
};
use serde::Serialize;
use std::{collections::BTreeSet, fmt};

/// One change. A step on an object that does not exist yet has no ID: it is planned again once the object exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    CreateListener {
        key: Key,
        new: Box<NewListener>,
    },
    UpdateListener {
        key: Key,
        id: String,
        change: Box<ListenerChange>,
    },
    DeleteListener {
        key: Key,
        id: String,
    },
    CreatePool {
        key: Key,
        new: Box<NewPool>,
    },
    UpdatePool {
        key: Key,
        id: String,
        change: PoolChange,
    },
    DeletePool {
        name: String,
        id: String,
    },
    SetMembers {
        key: Key,
        pool: Option<String>,
        members: Vec<NewMember>,
        differences: Vec<String>,
    },
    AddMember {
        key: Key,
        pool: Option<String>,
        new: NewMember,
    },
    AskMember {
        key: Key,
        pool: String,
        id: String,
        name: String,
        monitor_port: Option<u16>,
    },
    RemoveMember {
        key: Key,
        pool: String,
        id: String,
        name: String,
    },
    CreateMonitor {
        key: Key,
        new: NewMonitor,
    },
    UpdateMonitor {
        key: Key,
        id: String,
        change: MonitorChange,
    },
    DeleteMonitor {
        key: Key,
        id: String,
    },
    UpdateLoadBalancer {
        change: LoadBalancerChange,
        added: Vec<String>,
    },
}

impl Step {
    /// Whether the pool has the same members before and after it.
    pub fn keeps_members(&self) -> bool {
        match self {
            Self::SetMembers { differences, .. } => differences.iter().all(|difference| difference.starts_with('~')),
            Self::AskMember { .. } => true,
            _ => false,
        }
    }
}

impl provider_kit::load_balancer::Step for Step {
    /// The pool whose members change, and the member if it is only one.
    fn target(&self) -> Option<String> {
        match self {
            Self::SetMembers { pool, .. } => pool.clone(),
            Self::AskMember { pool, id, .. } => Some(format!("{pool}/{id}")),
            _ => None,
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CreateListener { key, new } => write!(f, "+listener {key} {}", new.protocol),
            Self::UpdateListener { key, change, .. } => write!(f, "~listener {key}: {}", fields(change)),
            Self::DeleteListener { key, .. } => write!(f, "-listener {key}"),
            Self::CreatePool { key, new } => write!(f, "+pool {key} {}", new.protocol),
            Self::UpdatePool { key, change, .. } => write!(f, "~pool {key}: {}", fields(change)),
            Self::DeletePool { name, .. } => write!(f, "-pool {name}"),
            Self::SetMembers { key, differences, .. } => write!(f, "members {key}: {}", differences.join(" ")),
            Self::AddMember { key, new, .. } => write!(f, "+member {key} {}", new.name),
            Self::AskMember { key, name, .. } => write!(f, "~member {key} {name}"),
            Self::RemoveMember { key, name, .. } => write!(f, "-member {key} {name}"),
            Self::CreateMonitor { key, new } => write!(f, "+monitor {key} {}", new.kind),
            Self::UpdateMonitor { key, change, .. } => write!(f, "~monitor {key}: {}", fields(change)),
            Self::DeleteMonitor { key, .. } => write!(f, "-monitor {key}"),
            Self::UpdateLoadBalancer { change, added } => write_balancer(f, change, added),
        }
    }
}

/// The fields of a change, as Octavia names them.
fn fields(change: &impl Serialize) -> String {
    let change = serde_json::to_value(change).unwrap_or_default();
    let fields: BTreeSet<&str> = change
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, _)| name.as_str())
        .collect();
    fields.into_iter().collect::<Vec<_>>().join(", ")
}

fn write_balancer(f: &mut fmt::Formatter<'_>, change: &LoadBalancerChange, added: &[String]) -> fmt::Result {
    match &change.name {
        Some(name) => write!(f, "~load balancer: name {name}"),
        None => write!(f, "~load balancer: tags +{}", added.join(" +")),
    }
}
