//! Security groups and their rules.

use crate::api::{Call, Deleted, Resource, Service, Session};
use cloud::Result;
use serde::{Deserialize, Serialize};

/// A security group with its rules.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct SecurityGroup {
    /// Its ID.
    pub id: String,
    /// Its name, which others may have, too.
    pub name: String,
    /// Its rules.
    #[serde(default, rename = "security_group_rules")]
    pub rules: Vec<SecurityGroupRule>,
}

impl Resource for SecurityGroup {
    const ONE: &'static str = "security_group";
    const ALL: &'static str = "security_groups";
}

/// A rule of a security group.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct SecurityGroupRule {
    /// Its ID.
    pub id: String,
    /// `ingress` or `egress`.
    pub direction: String,
    /// `IPv4` or `IPv6`.
    pub ethertype: String,
    /// The protocol; any if `None`.
    #[serde(default)]
    pub protocol: Option<String>,
    /// The first port; any if `None`.
    #[serde(default)]
    pub port_range_min: Option<u16>,
    /// The last port; any if `None`.
    #[serde(default)]
    pub port_range_max: Option<u16>,
    /// Clients that may connect; all if `None`.
    #[serde(default)]
    pub remote_ip_prefix: Option<String>,
    /// The group whose members may connect.
    #[serde(default)]
    pub remote_group_id: Option<String>,
    /// The group of addresses that may connect.
    #[serde(default)]
    pub remote_address_group_id: Option<String>,
}

/// A new rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NewSecurityGroupRule {
    /// Of which group.
    pub security_group_id: String,
    /// `ingress` or `egress`.
    pub direction: &'static str,
    /// `IPv4` or `IPv6`.
    pub ethertype: &'static str,
    /// The protocol, in lower case.
    pub protocol: &'static str,
    /// The first port.
    pub port_range_min: u16,
    /// The last port.
    pub port_range_max: u16,
    /// Clients that may connect.
    pub remote_ip_prefix: String,
}

/// `GET /security-groups` with one of these names, with their rules.
pub async fn security_groups(session: &Session, names: &[&str]) -> Result<Vec<SecurityGroup>> {
    listed(session, names.iter().map(|name| ("name", *name))).await
}

/// `GET /security-groups` of the own project, with their rules: an administrator sees those of all projects.
pub async fn of_project(session: &Session) -> Result<Vec<SecurityGroup>> {
    let project = session.project_id().await?;
    listed(session, [("project_id", project.as_str())].into_iter()).await
}

async fn listed<'a>(
    session: &Session,
    filters: impl Iterator<Item = (&'a str, &'a str)>,
) -> Result<Vec<SecurityGroup>> {
    let fields = ["id", "name", "security_group_rules"].map(|field| ("fields", field));
    let call = Call::get(Service::Network, "security_group_list", ["security-groups"]);
    session.list(call.query(filters.chain(fields))).await
}

/// `POST /security-groups`; the new group has rules that allow all egress.
pub async fn create(session: &Session, name: &str, description: &str) -> Result<SecurityGroup> {
    #[derive(Serialize)]
    struct New<'a> {
        name: &'a str,
        description: &'a str,
    }
    let new = New { name, description };
    let call = Call::post(Service::Network, "security_group_create", ["security-groups"]);
    session.object(call.object::<SecurityGroup>(&new)).await
}

/// `DELETE /security-groups/{id}`; a group on a port is kept, and the answer is 409.
pub async fn delete(session: &Session, id: &str) -> Result<Deleted> {
    let call = Call::delete(Service::Network, "security_group_delete", ["security-groups", id]);
    session.delete(call.about(format!("security group {id}"))).await
}

/// `POST /security-group-rules`: all or none; the answer is 409 if one of them exists.
pub async fn create_rules(session: &Session, rules: &[NewSecurityGroupRule]) -> Result<()> {
    #[derive(Serialize)]
    struct Body<'a> {
        security_group_rules: &'a [NewSecurityGroupRule],
    }
    let body = Body {
        security_group_rules: rules,
    };
    let call = Call::post(Service::Network, "security_group_rule_create", ["security-group-rules"]);
    session.send(call.json(&body)).await.map(drop)
}

/// `DELETE /security-group-rules/{id}`
pub async fn delete_rule(session: &Session, id: &str) -> Result<Deleted> {
    let call = Call::delete(
        Service::Network,
        "security_group_rule_delete",
        ["security-group-rules", id],
    );
    session.delete(call.about(format!("security group rule {id}"))).await
}
