//! Pools: where the traffic of a listener goes.

use super::{Id, NewMember, NewMonitor, Octavia, delete, get, nullable, post, put};
use crate::api::{Deleted, Listed};
use cloud::Result;
use serde::{Deserialize, Serialize};

/// A pool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
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
    /// How clients stay with their members.
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

impl Listed for Pool {
    const KEY: &'static str = "pools";
}

/// How clients stay with their members.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Persistence {
    /// `SOURCE_IP`, ….
    #[serde(rename = "type")]
    pub kind: String,
}

/// A pool to be made, on its own or with its load balancer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct NewPool {
    /// The listener; none if it is made together with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listener_id: Option<String>,
    /// Its name.
    pub name: String,
    /// `TCP`, `PROXY`, ….
    pub protocol: &'static str,
    /// `ROUND_ROBIN`, ….
    pub lb_algorithm: String,
    /// How clients stay with their members.
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

/// What is to be changed about a pool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PoolChange {
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// `ROUND_ROBIN`, ….
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lb_algorithm: Option<String>,
    /// How clients stay with their members; the inner `None` is not at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_persistence: Option<Option<Persistence>>,
    /// All of its tags.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
}

#[derive(Serialize, Deserialize)]
struct Body<T> {
    pool: T,
}

impl Octavia {
    /// All pools of the project.
    pub async fn pools(&self) -> Result<Vec<Pool>> {
        self.0.list(get("loadbalancer_pool_list", ["pools"])).await
    }

    /// The pools of a load balancer.
    pub async fn pools_of(&self, load_balancer: &str) -> Result<Vec<Pool>> {
        let call = get("loadbalancer_pool_list", ["pools"]).query([("loadbalancer_id", load_balancer)]);
        self.0.list(call).await
    }

    /// Makes a pool.
    pub async fn create_pool(&self, new: &NewPool) -> Result<Pool> {
        let call = post("loadbalancer_pool_create", ["pools"])
            .json(&Body { pool: new })
            .about(format!("pool {}", new.name));
        let body: Body<Pool> = self.0.json(call).await?;
        Ok(body.pool)
    }

    /// Changes a pool.
    pub async fn update_pool(&self, id: &str, change: &PoolChange) -> Result<()> {
        let call = put("loadbalancer_pool_update", ["pools", id])
            .json(&Body { pool: change })
            .about(format!("pool {id}"));
        self.0.send(call).await.map(|_| ())
    }

    /// Deletes a pool with its members and its monitor.
    pub async fn delete_pool(&self, id: &str) -> Result<Deleted> {
        let call = delete("loadbalancer_pool_delete", ["pools", id]).about(format!("pool {id}"));
        self.0.delete(call).await
    }
}
