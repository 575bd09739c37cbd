//! The rules of security groups.

use super::{
    Context, Group, Neutron, Standard, body, error,
    resource::{Resource, kept_in},
};
use crate::exchange::{Fields, Outcome, Response, unknown};
use ipnet::IpNet;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::{net::IpAddr, sync::Arc};
use uuid::Uuid;

#[derive(Debug, Clone)]
pub(crate) struct Rule {
    pub(crate) id: Uuid,
    pub(crate) group: Uuid,
    pub(crate) standard: Standard,
    /// `null` for the rules that a group is born with.
    pub(super) description: Option<String>,
    pub(crate) direction: String,
    pub(crate) ethertype: String,
    pub(crate) protocol: Option<String>,
    pub(crate) ports: (Option<u16>, Option<u16>),
    pub(crate) prefix: Option<IpNet>,
    pub(crate) remote_group: Option<Uuid>,
}

impl Resource for Rule {
    const ONE: &'static str = "security_group_rule";
    const MANY: &'static str = "security_group_rules";
    const FILTERS: &'static [&'static str] = &[
        "security_group_id",
        "direction",
        "ethertype",
        "protocol",
        "port_range_min",
        "port_range_max",
        "remote_ip_prefix",
        "remote_group_id",
        "normalized_cidr",
    ];
    const KNOWN: &'static [&'static str] = &[
        "security_group_id",
        "direction",
        "ethertype",
        "protocol",
        "port_range_min",
        "port_range_max",
        "remote_ip_prefix",
        "remote_group_id",
        "description",
        "project_id",
        "tenant_id",
    ];

    kept_in!(rules);

    fn missing(id: &str) -> Response {
        error(
            404,
            "SecurityGroupRuleNotFound",
            &format!("Security group rule {id} does not exist"),
        )
    }

    fn view(&self, _: &Neutron, _: &Context<'_>) -> Value {
        let mut view = self.inner_view();
        if let Value::Object(fields) = &mut view {
            fields.remove("tags");
            fields.remove("standard_attr_id");
        }
        view
    }

    fn create(neutron: &mut Neutron, context: &Context<'_>, fields: &Fields) -> Result<Uuid, Response> {
        let made = make(neutron, context, std::slice::from_ref(fields))?;
        Ok(made[0])
    }

    fn own(neutron: &mut Neutron, context: &Context<'_>, method: &str, path: &[&str]) -> Option<Outcome> {
        match (method, path) {
            ("POST", []) => several(neutron, context),
            ("PUT", _) => Some(Err(unknown(context.ask))),
            _ => None,
        }
    }
}

impl Rule {
    pub(super) fn new(group: Uuid, project: &Arc<str>, now: Timestamp) -> Self {
        Self {
            id: Uuid::new_v4(),
            group,
            standard: Standard::new(project, "", now).revision(0),
            description: Some(String::new()),
            direction: String::new(),
            ethertype: String::new(),
            protocol: None,
            ports: (None, None),
            prefix: None,
            remote_group: None,
        }
    }

    /// A rule as its group shows it.
    pub(super) fn inner_view(&self) -> Value {
        let mut view = self.standard.complete(json!({
            "id": self.id, "security_group_id": self.group, "ethertype": self.ethertype, "direction": self.direction,
            "protocol": self.protocol, "port_range_min": self.ports.0, "port_range_max": self.ports.1,
            "remote_ip_prefix": self.prefix, "normalized_cidr": self.prefix.map(|prefix| prefix.trunc()),
            "remote_address_group_id": null, "remote_group_id": self.remote_group, "belongs_to_default_sg": false,
            "standard_attr_id": 1,
        }));
        view["description"] = json!(self.description);
        if let Value::Object(fields) = &mut view {
            fields.remove("name");
        }
        view
    }

    /// What two rules may not have in common.
    fn key(&self) -> impl PartialEq {
        let anything = |prefix: &IpNet| prefix.prefix_len() == 0;
        (
            self.group,
            self.direction.clone(),
            self.ethertype.clone(),
            self.protocol.clone(),
            self.ports,
            self.prefix.filter(|prefix| !anything(prefix)),
            self.remote_group,
        )
    }
}

/// Several rules at once, if it is several: all or none.
fn several(neutron: &mut Neutron, context: &Context<'_>) -> Option<Outcome> {
    let body = context.ask.json()?;
    let many = body[Rule::MANY].as_array()?;
    let fields: Vec<Fields> = many.iter().filter_map(|one| one.as_object().cloned()).collect();
    let made = fields.iter().try_for_each(|fields| body::check(fields, Rule::KNOWN));
    let made = made.and_then(|()| make(neutron, context, &fields));
    Some(made.map(|ids| {
        let views: Vec<Value> = ids.iter().map(|id| neutron.rules[id].view(neutron, context)).collect();
        Response::json(201, json!({Rule::MANY: views}))
    }))
}

fn make(neutron: &mut Neutron, context: &Context<'_>, wanted: &[Fields]) -> Result<Vec<Uuid>, Response> {
    context.room_for::<Rule>(neutron, wanted.len())?;
    let mut made: Vec<Rule> = Vec::new();
    for fields in wanted {
        let rule = parse(neutron, context, fields)?;
        if let Some(other) = neutron
            .rules
            .values()
            .chain(&made)
            .find(|other| other.key() == rule.key())
        {
            let message = format!("Security group rule already exists. Rule id is {}.", other.id);
            return Err(error(409, "SecurityGroupRuleExists", &message));
        }
        made.push(rule);
    }
    let ids = made.iter().map(|rule| rule.id).collect();
    neutron.rules.extend(made.into_iter().map(|rule| (rule.id, rule)));
    Ok(ids)
}

fn parse(neutron: &Neutron, context: &Context<'_>, fields: &Fields) -> Result<Rule, Response> {
    let group = body::text(fields, "security_group_id").unwrap_or_default();
    let group = neutron.find::<Group>(group, &context.ask.caller)?;
    let mut rule = Rule::new(group.id, &group.standard.project, context.now.wall);
    let text = |name: &str, default: &str| body::text(fields, name).unwrap_or(default).to_owned();
    rule.description = Some(text("description", ""));
    rule.direction = text("direction", "");
    rule.ethertype = text("ethertype", "IPv4");
    rule.protocol = body::text(fields, "protocol").map(str::to_lowercase);
    let port = |name: &str| {
        fields
            .get(name)
            .and_then(Value::as_u64)
            .and_then(|port| u16::try_from(port).ok())
    };
    rule.ports = (port("port_range_min"), port("port_range_max"));
    rule.remote_group = body::id(fields, "remote_group_id")?;
    if let Some(text) = body::text(fields, "remote_ip_prefix") {
        let bad = || {
            super::bad_request(&format!(
                "Invalid input for remote_ip_prefix. Reason: '{text}' is not a valid IP subnet."
            ))
        };
        let single = || text.parse::<IpAddr>().map(IpNet::from).map_err(|_| bad());
        let prefix: IpNet = text.parse().or_else(|_| single())?;
        if prefix.addr().is_ipv4() != (rule.ethertype == "IPv4") {
            let message = format!("Conflicting value ethertype {} for CIDR {text}", rule.ethertype);
            return Err(error(400, "SecurityGroupRuleParameterConflict", &message));
        }
        rule.prefix = Some(prefix);
    }
    Ok(rule)
}
