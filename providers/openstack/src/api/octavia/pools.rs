//! Pools: the destinations of the traffic of a listener.

use super::{Calls, Child, Id, NewMember, NewMonitor, Object, nullable};
use crate::api::Resource;
use serde::{Deserialize, Serialize};

/// A pool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pool {
    /// Its ID.
    pub id: String,
    /// Its name.
    #[serde(default, deserialize_with = "nullable")]
    pub name: String,
    /// `TCP`, `PROXY`, ….
    pub protocol: String,
    /// `ROUND_ROBIN`, ….
    pub lb_algorithm: String,
    /// Session persistence.
    pub session_persistence: Option<Persistence>,
    /// The load balancer it is on.
    #[serde(default, deserialize_with = "nullable")]
    pub loadbalancers: Vec<Id>,
    /// The listeners whose traffic it gets.
    #[serde(default, deserialize_with = "nullable")]
    pub listeners: Vec<Id>,
    /// Its monitor.
    pub healthmonitor_id: Option<String>,
    /// Its tags.
    #[serde(default, deserialize_with = "nullable")]
    pub tags: Vec<String>,
}

impl Resource for Pool {
    const ONE: &'static str = "pool";
    const ALL: &'static str = "pools";
}

/// Session persistence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Persistence {
    /// `SOURCE_IP`, ….
    #[serde(rename = "type")]
    pub kind: String,
}

/// A new pool, by itself or together with its load balancer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct NewPool {
    /// The listener; none if it is created together with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listener_id: Option<String>,
    /// Its name.
    pub name: String,
    /// `TCP`, `PROXY`, ….
    pub protocol: &'static str,
    /// `ROUND_ROBIN`, ….
    pub lb_algorithm: String,
    /// Session persistence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_persistence: Option<Persistence>,
    /// Its tags.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Its members; only together with its load balancer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<NewMember>,
    /// Its monitor; only together with its load balancer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub healthmonitor: Option<NewMonitor>,
}

/// A change of a pool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PoolChange {
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// `ROUND_ROBIN`, ….
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lb_algorithm: Option<String>,
    /// Session persistence; the inner `None` turns it off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_persistence: Option<Option<Persistence>>,
    /// All of its tags.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
}

impl Object for Pool {
    type New = NewPool;
    type Change = PoolChange;
    const KIND: &'static str = "pool";
    const CALLS: Calls = Calls {
        list: "loadbalancer_pool_list",
        create: "loadbalancer_pool_create",
        update: "loadbalancer_pool_update",
        delete: "loadbalancer_pool_delete",
    };

    fn name(new: &NewPool) -> &str {
        &new.name
    }
}

impl Child for Pool {}
