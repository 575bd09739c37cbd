//! One change of a load balancer.

use super::desired::Key;
use crate::api::octavia::{
    ListenerChange, LoadBalancerChange, MonitorChange, NewListener, NewMember, NewMonitor, NewPool, PoolChange,
};
use std::fmt;

/// One change. What hangs on something that is yet to be made has no ID: it is planned again once that is there.
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
    /// Whether the same members are there before and after it.
    pub fn keeps_members(&self) -> bool {
        match self {
            Self::SetMembers { differences, .. } => differences.iter().all(|difference| difference.starts_with('~')),
            Self::AskMember { .. } => true,
            _ => false,
        }
    }
}

impl provider_kit::load_balancer::Step for Step {
    /// The pool whose members are changed in their places, or come and go, and the member if it is only one.
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
            Self::UpdateListener { key, change, .. } => write!(f, "~listener {key}: {}", listener_words(change)),
            Self::DeleteListener { key, .. } => write!(f, "-listener {key}"),
            Self::CreatePool { key, new } => write!(f, "+pool {key} {}", new.protocol),
            Self::UpdatePool { key, change, .. } => write!(f, "~pool {key}: {}", pool_words(change)),
            Self::DeletePool { name, .. } => write!(f, "-pool {name}"),
            Self::SetMembers { key, differences, .. } => write!(f, "members {key}: {}", differences.join(" ")),
            Self::AddMember { key, new, .. } => write!(f, "+member {key} {}", new.name),
            Self::AskMember { key, name, .. } => write!(f, "~member {key} {name}"),
            Self::RemoveMember { key, name, .. } => write!(f, "-member {key} {name}"),
            Self::CreateMonitor { key, new } => write!(f, "+monitor {key} {}", new.kind),
            Self::UpdateMonitor { key, change, .. } => write!(f, "~monitor {key}: {}", monitor_words(change)),
            Self::DeleteMonitor { key, .. } => write!(f, "-monitor {key}"),
            Self::UpdateLoadBalancer { change, added } => load_balancer_words(f, change, added),
        }
    }
}

fn words(all: &[(bool, &'static str)]) -> String {
    let said: Vec<_> = all.iter().filter(|(said, _)| *said).map(|(_, word)| *word).collect();
    said.join(", ")
}

fn listener_words(change: &ListenerChange) -> String {
    let ListenerChange {
        name,
        connection_limit,
        default_tls_container_ref,
        insert_headers,
        timeout_client_data,
        timeout_member_connect,
        timeout_member_data,
        timeout_tcp_inspect,
        tags,
        allowed_cidrs,
    } = change;
    let timeouts = [
        timeout_client_data,
        timeout_member_connect,
        timeout_member_data,
        timeout_tcp_inspect,
    ];
    words(&[
        (name.is_some(), "name"),
        (connection_limit.is_some(), "connection limit"),
        (default_tls_container_ref.is_some(), "certificate"),
        (insert_headers.is_some(), "headers"),
        (timeouts.into_iter().any(Option::is_some), "timeouts"),
        (tags.is_some(), "tags"),
        (allowed_cidrs.is_some(), "source ranges"),
    ])
}

fn pool_words(change: &PoolChange) -> String {
    let PoolChange {
        name,
        lb_algorithm,
        session_persistence,
        tags,
    } = change;
    words(&[
        (name.is_some(), "name"),
        (lb_algorithm.is_some(), "algorithm"),
        (session_persistence.is_some(), "session persistence"),
        (tags.is_some(), "tags"),
    ])
}

fn monitor_words(change: &MonitorChange) -> String {
    let MonitorChange {
        name,
        delay,
        timeout,
        max_retries,
        max_retries_down,
    } = change;
    words(&[
        (name.is_some(), "name"),
        (delay.is_some(), "delay"),
        (timeout.is_some(), "timeout"),
        (max_retries.is_some(), "retries"),
        (max_retries_down.is_some(), "retries down"),
    ])
}

fn load_balancer_words(f: &mut fmt::Formatter<'_>, change: &LoadBalancerChange, added: &[String]) -> fmt::Result {
    match &change.name {
        Some(name) => write!(f, "~load balancer: name {name}"),
        None => write!(f, "~load balancer: tags +{}", added.join(" +")),
    }
}
