//! Members of a pool.

use super::{Octavia, delete, get, nullable, post, put};
use crate::api::{Deleted, Listed};
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
    /// The port that is asked whether it is well; its own port if there is none.
    pub monitor_port: Option<u16>,
}

impl Listed for Member {
    const KEY: &'static str = "members";
}

/// A member to be.
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
    /// The port that is asked whether it is well; the inner `None` is its own port for one that was asked at another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub monitor_port: Option<Option<u16>>,
    /// Where else its host is reached: one that is there already may have any of these addresses.
    #[serde(skip)]
    pub aliases: Vec<String>,
}

#[derive(Serialize)]
struct Members<'a> {
    members: &'a [NewMember],
}

#[derive(Serialize)]
struct Asked {
    monitor_port: Option<u16>,
}

#[derive(Serialize, Deserialize)]
struct Body<T> {
    member: T,
}

impl Octavia {
    /// The members of a pool.
    pub async fn members(&self, pool: &str) -> Result<Vec<Member>> {
        let call = get("loadbalancer_member_list", ["pools", pool, "members"]).about(format!("pool {pool}"));
        self.0.list(call).await
    }

    /// Makes these the members of a pool, and nobody else.
    pub async fn set_members(&self, pool: &str, members: &[NewMember]) -> Result<()> {
        let call = put("loadbalancer_members_update", ["pools", pool, "members"])
            .json(&Members { members })
            .about(format!("pool {pool}"));
        self.0.send(call).await.map(|_| ())
    }

    /// Adds a member to a pool.
    pub async fn create_member(&self, pool: &str, new: &NewMember) -> Result<Member> {
        let call = post("loadbalancer_member_create", ["pools", pool, "members"])
            .json(&Body { member: new })
            .about(format!("pool {pool}"));
        let body: Body<Member> = self.0.json(call).await?;
        Ok(body.member)
    }

    /// Has a member asked at this port whether it is well; at its own if there is none.
    pub async fn ask_member(&self, pool: &str, id: &str, monitor_port: Option<u16>) -> Result<()> {
        let call = put("loadbalancer_member_update", ["pools", pool, "members", id])
            .json(&Body {
                member: Asked { monitor_port },
            })
            .about(format!("member {id}"));
        self.0.send(call).await.map(|_| ())
    }

    /// Takes a member out of a pool.
    pub async fn delete_member(&self, pool: &str, id: &str) -> Result<Deleted> {
        let call = delete("loadbalancer_member_delete", ["pools", pool, "members", id]).about(format!("member {id}"));
        self.0.delete(call).await
    }
}
