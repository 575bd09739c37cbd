//! Security groups and their rules.

use super::{done, one, page, passes, tag_set, tags_in};
use crate::{
    Account,
    wire::{Answer, Params, Refusal},
};
use fakecloud::{Now, Value, json};

#[derive(Debug, Clone)]
pub struct Group {
    pub id: String,
    pub name: String,
    description: String,
    rules: Vec<Rule>,
}

/// One source of one range of ports. For EC2 two rules are the same if only their descriptions differ.
#[derive(Debug, Clone)]
pub struct Rule {
    pub protocol: String,
    pub ports: (String, String),
    pub source: Source,
    pub description: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    V4(String),
    V6(String),
    Group(String),
}

/// A kind of source in requests: the list, the field of its items, and what it is.
type SourceKind = (&'static str, &'static str, fn(String) -> Source);

const SOURCES: [SourceKind; 3] = [
    ("IpRanges", "CidrIp", Source::V4),
    ("Ipv6Ranges", "CidrIpv6", Source::V6),
    ("Groups", "GroupId", Source::Group),
];

impl Source {
    fn text(&self) -> &str {
        match self {
            Self::V4(text) | Self::V6(text) | Self::Group(text) => text,
        }
    }

    /// Its list in answers, and the field of the items.
    fn place(&self) -> (&'static str, &'static str) {
        match self {
            Self::V4(_) => ("ipRanges", "cidrIp"),
            Self::V6(_) => ("ipv6Ranges", "cidrIpv6"),
            Self::Group(_) => ("groups", "groupId"),
        }
    }
}

impl Rule {
    fn is(&self, other: &Self) -> bool {
        (&self.protocol, &self.ports, &self.source) == (&other.protocol, &other.ports, &other.source)
    }

    fn has_ports_of(&self, other: &Self) -> bool {
        (&self.protocol, &self.ports) == (&other.protocol, &other.ports)
    }
}

impl Group {
    pub fn new(id: String, name: &str, description: &str) -> Self {
        Self {
            id,
            name: name.to_owned(),
            description: description.to_owned(),
            rules: Vec::new(),
        }
    }

    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The other groups that its rules name.
    pub fn sources(&self) -> impl Iterator<Item = String> {
        let groups = self.rules.iter().filter_map(|rule| match &rule.source {
            Source::Group(id) if *id != self.id => Some(id.clone()),
            _ => None,
        });
        groups.collect::<Vec<_>>().into_iter()
    }

    /// Rules with the same ports are one permission.
    fn permissions(&self) -> Value {
        let mut permissions: Vec<(&Rule, Value)> = Vec::new();
        for rule in &self.rules {
            let at = permissions.iter().position(|(first, _)| first.has_ports_of(rule));
            let at = at.unwrap_or_else(|| {
                let (from, to) = &rule.ports;
                let port = |port: &String| Some(port.clone()).filter(|port| !port.is_empty());
                let empty = json!({
                    "ipProtocol": rule.protocol, "fromPort": port(from), "toPort": port(to),
                    "ipRanges": [], "ipv6Ranges": [], "groups": [], "prefixListIds": [],
                });
                permissions.push((rule, empty));
                permissions.len() - 1
            });
            let (list, field) = rule.source.place();
            let description = Some(&rule.description).filter(|text| !text.is_empty());
            if let Some(list) = permissions[at].1[list].as_array_mut() {
                list.push(json!({field: rule.source.text(), "description": description}));
            }
        }
        permissions.into_iter().map(|(_, permission)| permission).collect()
    }
}

pub fn describe(account: &mut Account, params: &Params, _: Now) -> Answer {
    let ids = params.texts("GroupId");
    if let Some(unknown) = ids.iter().find(|id| !account.groups.contains_key(**id)) {
        return Err(not_found(unknown));
    }
    let mut found = Vec::new();
    for group in account
        .groups
        .values()
        .filter(|group| ids.is_empty() || ids.contains(&&*group.id))
    {
        let sources = || {
            group
                .rules
                .iter()
                .filter(|rule| matches!(rule.source, Source::Group(_)))
        };
        let attributes = |name: &str| {
            Some(match name {
                "vpc-id" => one(&account.vpc),
                "group-name" => one(&group.name),
                "group-id" => one(&group.id),
                "ip-permission.group-id" => sources().map(|rule| rule.source.text().to_owned()).collect(),
                _ => return None,
            })
        };
        let tags = account.tags_of(&group.id);
        if passes(params, &tags, &attributes)? {
            found.push(json!({
                "groupId": group.id, "groupName": group.name, "groupDescription": group.description, "vpcId": account.vpc,
                "ownerId": "000000000001", "ipPermissions": group.permissions(), "ipPermissionsEgress": [],
                "tagSet": tag_set(&tags),
            }));
        }
    }
    Ok(page(params, "securityGroupInfo", found))
}

pub fn create(account: &mut Account, params: &Params, _: Now) -> Answer {
    let name = params.required("GroupName")?;
    if account.groups.values().any(|group| group.name == name) {
        let message = format!("The security group '{name}' already exists for VPC '{}'", account.vpc);
        return Err(Refusal::new("InvalidGroup.Duplicate", message));
    }
    let id = account.id("sg");
    let group = Group::new(id.clone(), name, params.text("GroupDescription"));
    account.groups.insert(id.clone(), group);
    let tags = params
        .list("TagSpecification")
        .iter()
        .filter_map(|one| one["Tag"].as_array())
        .flatten();
    account.tag(&id, tags_in(&tags.cloned().collect::<Vec<_>>()));
    Ok(json!({"return": true, "groupId": id}))
}

pub fn delete(account: &mut Account, params: &Params, now: Now) -> Answer {
    let id = params.required("GroupId")?;
    if !account.groups.contains_key(id) {
        return Err(not_found(id));
    }
    if account.used_groups(now).contains(id) {
        return Err(Refusal::new(
            "DependencyViolation",
            format!("resource {id} has a dependent object"),
        ));
    }
    account.groups.remove(id);
    account.tags.remove(id);
    Ok(done())
}

pub fn authorize(account: &mut Account, params: &Params, _: Now) -> Answer {
    let limit = account.settings.rules;
    let (group, new) = (group_mut(account, params)?, rules_in(params));
    for (at, rule) in new.iter().enumerate() {
        if group.rules.iter().chain(&new[..at]).any(|other| other.is(rule)) {
            let (from, to) = &rule.ports;
            let message = format!(
                "the specified rule \"peer: {}, {}, from port: {from}, to port: {to}, ALLOW\" already exists",
                rule.source.text(),
                rule.protocol
            );
            return Err(Refusal::new("InvalidPermission.Duplicate", message));
        }
    }
    if group.rules.len() + new.len() > limit {
        let message = "The maximum number of rules per security group has been reached.";
        return Err(Refusal::new("RulesPerSecurityGroupLimitExceeded", message));
    }
    group.rules.extend(new);
    Ok(done())
}

pub fn revoke(account: &mut Account, params: &Params, _: Now) -> Answer {
    let (group, gone) = (group_mut(account, params)?, rules_in(params));
    if !gone.iter().all(|rule| group.rules.iter().any(|other| other.is(rule))) {
        let message = "The specified rule does not exist in this security group.";
        return Err(Refusal::new("InvalidPermission.NotFound", message));
    }
    group.rules.retain(|rule| !gone.iter().any(|other| other.is(rule)));
    Ok(done())
}

fn rules_in(params: &Params) -> Vec<Rule> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut rules = Vec::new();
    for permission in params.list("IpPermissions") {
        for (list, field, source) in SOURCES {
            for one in permission[list].as_array().into_iter().flatten() {
                rules.push(Rule {
                    protocol: text(&permission["IpProtocol"]),
                    ports: (text(&permission["FromPort"]), text(&permission["ToPort"])),
                    source: source(text(&one[field])),
                    description: text(&one["Description"]),
                });
            }
        }
    }
    rules
}

fn group_mut<'a>(account: &'a mut Account, params: &Params) -> Result<&'a mut Group, Refusal> {
    let id = params.required("GroupId")?;
    account.groups.get_mut(id).ok_or_else(|| not_found(id))
}

fn not_found(id: &str) -> Refusal {
    Refusal::new(
        "InvalidGroup.NotFound",
        format!("The security group '{id}' does not exist"),
    )
}
