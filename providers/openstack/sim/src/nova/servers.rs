//! Servers, kept and listed.

use super::{
    Flavor, Nova, error,
    filter::Filter,
    version::Version,
    view::{self, Detail},
};
use crate::{
    exchange::{Ask, Outcome, Response},
    keystone::Caller,
    state::State,
};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, HashMap},
    net::{Ipv4Addr, Ipv6Addr},
    sync::Arc,
};
use uuid::Uuid;

#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub(crate) id: Uuid,
    pub(crate) name: Box<str>,
    pub(crate) project: Arc<str>,
    pub(crate) user: Arc<str>,
    pub(crate) status: ServerStatus,
    pub(crate) flavor: Arc<Flavor>,
    pub(crate) zone: Arc<str>,
    pub(crate) created: Timestamp,
    pub(crate) updated: Timestamp,
    pub(crate) launched: Timestamp,
    pub(crate) metadata: BTreeMap<String, String>,
    pub(crate) access_v4: Option<Ipv4Addr>,
    pub(crate) access_v6: Option<Ipv6Addr>,
}

/// The status of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerStatus {
    /// It runs.
    Active,
    /// It is being created.
    Build,
    /// It is switched off.
    Shutoff,
    /// It failed.
    Error,
    /// It is paused.
    Paused,
    /// It is suspended.
    Suspended,
    /// It is kept without a host.
    ShelvedOffloaded,
    /// It can still be restored.
    SoftDeleted,
    /// It is being rescued.
    Rescue,
    /// It is deleted, and listed only with `changes-since`.
    Deleted,
}

impl ServerStatus {
    /// `ACTIVE`, …
    pub fn as_str(self) -> &'static str {
        self.words().0
    }

    /// The status, the state of the machine, and its power.
    pub(super) fn words(self) -> (&'static str, &'static str, u8) {
        match self {
            Self::Active => ("ACTIVE", "active", 1),
            Self::Build => ("BUILD", "building", 0),
            Self::Shutoff => ("SHUTOFF", "stopped", 4),
            Self::Error => ("ERROR", "error", 0),
            Self::Paused => ("PAUSED", "paused", 3),
            Self::Suspended => ("SUSPENDED", "suspended", 4),
            Self::ShelvedOffloaded => ("SHELVED_OFFLOADED", "shelved_offloaded", 4),
            Self::SoftDeleted => ("SOFT_DELETED", "soft-delete", 4),
            Self::Rescue => ("RESCUE", "rescued", 1),
            Self::Deleted => ("DELETED", "deleted", 0),
        }
    }
}

/// The servers, in the order of their creation.
#[derive(Debug, Default)]
pub(crate) struct Servers {
    next: u64,
    by_age: BTreeMap<u64, Server>,
    ages: HashMap<Uuid, u64>,
}

impl Servers {
    pub(crate) fn insert(&mut self, server: Server) {
        self.ages.insert(server.id, self.next);
        self.by_age.insert(self.next, server);
        self.next += 1;
    }

    pub(crate) fn get(&self, id: Uuid) -> Option<&Server> {
        self.by_age
            .get(self.ages.get(&id)?)
            .filter(|server| server.status != ServerStatus::Deleted)
    }

    pub(crate) fn get_mut(&mut self, id: Uuid) -> Option<&mut Server> {
        self.by_age
            .get_mut(self.ages.get(&id)?)
            .filter(|server| server.status != ServerStatus::Deleted)
    }

    /// Those that are not deleted, oldest first.
    pub(crate) fn alive(&self) -> impl Iterator<Item = &Server> {
        self.by_age
            .values()
            .filter(|server| server.status != ServerStatus::Deleted)
    }

    /// All, also the deleted ones, newest first, from after this one.
    fn before(&self, marker: Option<Uuid>) -> Option<impl Iterator<Item = &Server>> {
        let end = match marker {
            Some(id) => *self.ages.get(&id)?,
            None => self.next,
        };
        Some(self.by_age.range(..end).rev().map(|(_, server)| server))
    }
}

impl Nova {
    pub(super) fn server(&self, id: &str, caller: &Caller) -> Result<&Server, Response> {
        let found = Uuid::parse_str(id).ok().and_then(|id| self.servers.get(id));
        let missing = || error(404, &format!("Instance {id} could not be found."));
        found.filter(|server| caller.sees(&server.project)).ok_or_else(missing)
    }
}

pub(super) fn show(state: &State, ask: &Ask, id: &str, version: Version) -> Outcome {
    let server = state.nova.server(id, &ask.caller)?;
    let mut view = view::full(server, &state.neutron, ask, version);
    if version >= Version(71) {
        view["server_groups"] = json!([]);
    }
    Ok(Response::ok(json!({"server": view})))
}

pub(super) fn list(state: &State, ask: &Ask, detail: Detail, version: Version) -> Outcome {
    let filter = Filter::parse(ask)?;
    let limit = filter
        .limit
        .unwrap_or(state.settings.nova_page)
        .min(state.settings.nova_page);
    let unknown_marker = || {
        error(
            400,
            &format!("marker [{}] not found", ask.query.get("marker").unwrap_or_default()),
        )
    };
    let from_marker = state.nova.servers.before(filter.marker).ok_or_else(unknown_marker)?;
    let page: Vec<&Server> = from_marker.filter(|server| filter.passes(server)).take(limit).collect();
    let views: Vec<Value> = page
        .iter()
        .map(|server| match detail {
            Detail::Brief => view::brief(server, ask),
            Detail::Full => view::full(server, &state.neutron, ask, version),
        })
        .collect();
    let mut body = json!({"servers": views});
    if page.len() == limit
        && let Some(last) = page.last()
    {
        body["servers_links"] = json!([{"rel": "next", "href": view::next(ask, &last.id.to_string())}]);
    }
    Ok(Response::ok(body))
}

pub(super) fn interfaces(state: &State, ask: &Ask, id: &str) -> Outcome {
    let server = state.nova.server(id, &ask.caller)?;
    let views: Vec<Value> = state
        .neutron
        .ports_of(&server.id.to_string())
        .map(|port| {
            let fixed: Vec<Value> =
                port.fixed.iter().map(|one| json!({"subnet_id": one.subnet, "ip_address": one.address})).collect();
            json!({
                "net_id": port.network, "port_id": port.id, "mac_addr": port.mac_text(), "port_state": port.status.as_str(),
                "fixed_ips": fixed,
            })
        })
        .collect();
    Ok(Response::ok(json!({"interfaceAttachments": views})))
}
