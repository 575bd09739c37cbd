//! Members of a pool.

use super::{Octavia, delete, get, nullable, post, put};
use crate::api::{Deleted, Resource};
use cloud::Result;
use serde::{Deserialize, Serialize};

/// A member.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Member {
    /// Its ID.
    pub id: String,
    /// Its name.
    #[serde(default, deserialize_with = "nullable")]
    pub name: String,
    /// Its address.
    pub address: String,
    /// Its port.
    pub protocol_port: u16,
    /// Its subnet.
    pub subnet_id: Option<String>,
    /// The port that is probed; its own port if there is none.
    pub monitor_port: Option<u16>,
}

impl Resource for Member {
    const ONE: &'static str = "member";
    const ALL: &'static str = "members";
}

/// A new member.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct NewMember {
    /// Its name.
    pub name: String,
    /// Its address.
    pub address: String,
    /// Its port.
    pub protocol_port: u16,
    /// Its subnet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subnet_id: Option<String>,
    /// The port that is probed; the inner `None` is its own port, for a member that was probed at another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub monitor_port: Option<Option<u16>>,
    /// The other addresses of its host: an existing member may have any of these.
    #[serde(skip)]
    pub aliases: Vec<String>,
}

#[derive(Serialize)]
struct Members<'a> {
    members: &'a [NewMember],
}

#[derive(Serialize)]
struct MonitorPort {
    monitor_port: Option<u16>,
}

impl Octavia {
    /// The members of a pool.
    pub async fn members(&self, pool: &str) -> Result<Vec<Member>> {
        let call = get("loadbalancer_member_list", ["pools", pool, "members"]).about(format!("pool {pool}"));
        self.0.list(call).await
    }

    /// Replaces all members of a pool.
    pub async fn set_members(&self, pool: &str, members: &[NewMember]) -> Result<()> {
        let call = put("loadbalancer_members_update", ["pools", pool, "members"])
            .json(&Members { members })
            .about(format!("pool {pool}"));
        self.0.send(call).await.map(drop)
    }

    /// Adds a member to a pool.
    pub async fn create_member(&self, pool: &str, new: &NewMember) -> Result<Member> {
        let call = post("loadbalancer_member_create", ["pools", pool, "members"])
            .object::<Member>(new)
            .about(format!("pool {pool}"));
        self.0.object(call).await
    }

    /// Sets the port at which a member is probed; its own port if there is none.
    pub async fn set_monitor_port(&self, pool: &str, id: &str, monitor_port: Option<u16>) -> Result<()> {
        let call = put("loadbalancer_member_update", ["pools", pool, "members", id])
            .object::<Member>(&MonitorPort { monitor_port })
            .about(format!("member {id}"));
        self.0.send(call).await.map(drop)
    }

    /// Deletes a member.
    pub async fn delete_member(&self, pool: &str, id: &str) -> Result<Deleted> {
        let call = delete("loadbalancer_member_delete", ["pools", pool, "members", id]).about(format!("member {id}"));
        self.0.delete(call).await
    }
}
