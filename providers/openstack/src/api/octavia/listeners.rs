//! Listeners: the ports of a load balancer.

use super::{Calls, Child, Id, NewPool, Object, nullable};
use crate::api::Resource;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A listener.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listener {
    /// Its ID.
    pub id: String,
    /// Its name.
    #[serde(default, deserialize_with = "nullable")]
    pub name: String,
    /// `TCP`, `HTTP`, ….
    pub protocol: String,
    /// Its port.
    pub protocol_port: u16,
    /// The most connections; -1 is no limit.
    #[serde(default, deserialize_with = "nullable")]
    pub connection_limit: i64,
    /// The certificate.
    #[serde(default, deserialize_with = "nullable")]
    pub default_tls_container_ref: String,
    /// The pool that gets its traffic.
    pub default_pool_id: Option<String>,
    /// Headers that it adds, by name: the text `true`.
    #[serde(default, deserialize_with = "nullable")]
    pub insert_headers: BTreeMap<String, String>,
    /// The load balancer it is on.
    #[serde(default, deserialize_with = "nullable")]
    pub loadbalancers: Vec<Id>,
    /// In milliseconds.
    pub timeout_client_data: Option<i64>,
    /// In milliseconds.
    pub timeout_member_connect: Option<i64>,
    /// In milliseconds.
    pub timeout_member_data: Option<i64>,
    /// In milliseconds.
    pub timeout_tcp_inspect: Option<i64>,
    /// Its tags.
    #[serde(default, deserialize_with = "nullable")]
    pub tags: Vec<String>,
    /// Clients that may connect; all clients if it is empty.
    #[serde(default, deserialize_with = "nullable")]
    pub allowed_cidrs: Vec<String>,
}

impl Resource for Listener {
    const ONE: &'static str = "listener";
    const ALL: &'static str = "listeners";
}

/// A new listener, by itself or together with its load balancer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct NewListener {
    /// The load balancer; none if it is created together with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loadbalancer_id: Option<String>,
    /// Its name.
    pub name: String,
    /// `TCP`, `HTTP`, ….
    pub protocol: &'static str,
    /// Its port.
    pub protocol_port: u16,
    /// The most connections.
    pub connection_limit: i64,
    /// The certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_tls_container_ref: Option<String>,
    /// Headers that it adds.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub insert_headers: BTreeMap<String, String>,
    /// In milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_client_data: Option<i64>,
    /// In milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_member_connect: Option<i64>,
    /// In milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_member_data: Option<i64>,
    /// In milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_tcp_inspect: Option<i64>,
    /// Its tags.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Clients that may connect.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_cidrs: Vec<String>,
    /// The pool that gets its traffic; only together with its load balancer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_pool: Option<NewPool>,
}

/// A change of a listener.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ListenerChange {
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The most connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection_limit: Option<i64>,
    /// The certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_tls_container_ref: Option<String>,
    /// All of the headers that it adds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insert_headers: Option<BTreeMap<String, String>>,
    /// In milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_client_data: Option<i64>,
    /// In milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_member_connect: Option<i64>,
    /// In milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_member_data: Option<i64>,
    /// In milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_tcp_inspect: Option<i64>,
    /// All of its tags.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    /// Clients that may connect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_cidrs: Option<Vec<String>>,
}

impl Object for Listener {
    type New = NewListener;
    type Change = ListenerChange;
    const KIND: &'static str = "listener";
    const CALLS: Calls = Calls {
        list: "loadbalancer_listener_list",
        create: "loadbalancer_listener_create",
        update: "loadbalancer_listener_update",
        delete: "loadbalancer_listener_delete",
    };

    fn name(new: &NewListener) -> &str {
        &new.name
    }
}

impl Child for Listener {}
