//! The filters of a list of servers.

use super::{Server, ServerStatus, bad_query, error};
use crate::{
    exchange::{Ask, Response},
    keystone::{Caller, Rights},
};
use jiff::{Timestamp, civil::DateTime, tz::TimeZone};
use regex_lite::{Regex, RegexBuilder};
use uuid::Uuid;

/// What Nova knows and we do not.
const STRANGE: &[&str] = &[
    "changes-before",
    "sort_key",
    "sort_dir",
    "deleted",
    "ip",
    "ip6",
    "tags",
    "tags-any",
    "not-tags",
    "not-tags-any",
    "host",
    "image",
    "flavor",
    "availability_zone",
    "locked",
    "vm_state",
    "task_state",
    "power_state",
];

pub(super) struct Filter<'a> {
    caller: &'a Caller,
    all_projects: bool,
    name: Option<Regex>,
    status: Option<&'a str>,
    uuids: Vec<&'a str>,
    since: Option<Timestamp>,
    pub(super) limit: Option<usize>,
    pub(super) marker: Option<Uuid>,
}

impl<'a> Filter<'a> {
    pub(super) fn parse(ask: &'a Ask) -> Result<Self, Response> {
        let query = &ask.query;
        if let Some(strange) = STRANGE.iter().find(|name| query.get(name).is_some()) {
            let unknown = serde_json::json!({"openstack_sim": {"unknown": format!("servers?{strange}=")}});
            return Err(Response::json(501, unknown));
        }
        let admin = ask.caller.rights == Rights::Admin;
        if !admin && query.get("all_tenants").is_some() {
            let message = "Policy doesn't allow os_compute_api:servers:index:get_all_tenants to be performed.";
            return Err(error(403, message));
        }
        Ok(Self {
            caller: &ask.caller,
            all_projects: admin && matches!(query.get("all_tenants"), Some("1" | "true" | "True" | "")),
            name: query.get("name").map(name).transpose()?,
            status: query.get("status"),
            uuids: if admin { query.all("uuid").collect() } else { Vec::new() },
            since: query.get("changes-since").map(since).transpose()?,
            limit: query.get("limit").map(limit).transpose()?.filter(|limit| *limit > 0),
            marker: query
                .get("marker")
                .map(|text| Uuid::parse_str(text).unwrap_or_default()),
        })
    }

    pub(super) fn passes(&self, server: &Server) -> bool {
        (self.all_projects || server.project == self.caller.project)
            && (self.since.is_some() || server.status != ServerStatus::Deleted)
            && self.since.is_none_or(|since| server.updated >= since)
            && self
                .status
                .is_none_or(|status| server.status.as_str() == status.to_uppercase())
            && (self.uuids.is_empty() || self.uuids.contains(&server.id.to_string().as_str()))
            && self.name.as_ref().is_none_or(|name| name.is_match(&server.name))
    }
}

/// Nova's database takes names for expressions, without their case, but with every bar for a bar.
fn name(text: &str) -> Result<Regex, Response> {
    let bad = || bad_query("name", text, &format!("'{text}' is not a 'regex'"));
    RegexBuilder::new(&text.replace('|', "\\|"))
        .case_insensitive(true)
        .build()
        .map_err(|_| bad())
}

fn since(text: &str) -> Result<Timestamp, Response> {
    let bare = || {
        text.parse::<DateTime>()
            .ok()?
            .to_zoned(TimeZone::UTC)
            .ok()
            .map(|zoned| zoned.timestamp())
    };
    let found = text.parse::<Timestamp>().ok().or_else(bare);
    found.ok_or_else(|| bad_query("changes-since", text, &format!("'{text}' is not a 'date-time'")))
}

fn limit(text: &str) -> Result<usize, Response> {
    text.parse()
        .map_err(|_| bad_query("limit", text, &format!("'{text}' does not match '^[0-9]*$'")))
}
