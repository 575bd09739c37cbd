//! Listeners: the ports of a load balancer.

use super::{Id, NewPool, Octavia, delete, get, nullable, post, put};
use crate::api::{Deleted, Listed};
use cloud::Result;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A listener.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
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
    /// How many connections at most; -1: as many as there are.
    #[serde(default, deserialize_with = "nullable")]
    pub connection_limit: i64,
    /// The certificate.
    #[serde(default, deserialize_with = "nullable")]
    pub default_tls_container_ref: String,
    /// Where its traffic goes.
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
    /// Who may connect; everybody if there are none.
    #[serde(default, deserialize_with = "nullable")]
    pub allowed_cidrs: Vec<String>,
}

impl Listed for Listener {
    const KEY: &'static str = "listeners";
}

/// A listener to be made, on its own or with its load balancer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct NewListener {
    /// The load balancer; none if it is made together with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loadbalancer_id: Option<String>,
    /// Its name.
    pub name: String,
    /// `TCP`, `HTTP`, ….
    pub protocol: &'static str,
    /// Its port.
    pub protocol_port: u16,
    /// How many connections at most.
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
    /// Who may connect.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_cidrs: Vec<String>,
    /// Where its traffic goes; only together with its load balancer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_pool: Option<NewPool>,
}

/// What is to be changed about a listener.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ListenerChange {
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How many connections at most.
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
    /// Who may connect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_cidrs: Option<Vec<String>>,
}

#[derive(Serialize, Deserialize)]
struct Body<T> {
    listener: T,
}

impl Octavia {
    /// All listeners of the project.
    pub async fn listeners(&self) -> Result<Vec<Listener>> {
        self.0.list(get("loadbalancer_listener_list", ["listeners"])).await
    }

    /// The listeners of a load balancer.
    pub async fn listeners_of(&self, load_balancer: &str) -> Result<Vec<Listener>> {
        let call = get("loadbalancer_listener_list", ["listeners"]).query([("loadbalancer_id", load_balancer)]);
        self.0.list(call).await
    }

    /// Makes a listener.
    pub async fn create_listener(&self, new: &NewListener) -> Result<Listener> {
        let call = post("loadbalancer_listener_create", ["listeners"])
            .json(&Body { listener: new })
            .about(format!("listener {}", new.name));
        let body: Body<Listener> = self.0.json(call).await?;
        Ok(body.listener)
    }

    /// Changes a listener.
    pub async fn update_listener(&self, id: &str, change: &ListenerChange) -> Result<()> {
        let call = put("loadbalancer_listener_update", ["listeners", id])
            .json(&Body { listener: change })
            .about(format!("listener {id}"));
        self.0.send(call).await.map(|_| ())
    }

    /// Deletes a listener; its pool stays.
    pub async fn delete_listener(&self, id: &str) -> Result<Deleted> {
        let call = delete("loadbalancer_listener_delete", ["listeners", id]).about(format!("listener {id}"));
        self.0.delete(call).await
    }
}
