//! Security groups.

use super::{
    Context, Neutron, Rule, Standard, body, error,
    list::{List, select},
    standard::Resource,
};
use crate::{
    exchange::{Answer, Outcome, unknown},
    keystone::Caller,
};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::sync::Arc;
use uuid::Uuid;

#[derive(Debug, Clone)]
pub(crate) struct Group {
    pub(crate) id: Uuid,
    pub(crate) standard: Standard,
}

impl Resource for Group {
    const MANY: &'static str = "security_groups";
    const FILTERS: &'static [&'static str] = &["stateful", "shared"];

    fn id(&self) -> Uuid {
        self.id
    }

    fn standard(&self) -> &Standard {
        &self.standard
    }

    fn standard_mut(&mut self) -> &mut Standard {
        &mut self.standard
    }

    fn missing(id: &str) -> Answer {
        error(
            404,
            "SecurityGroupNotFound",
            &format!("Security group {id} does not exist"),
        )
    }
}

pub(super) fn answer(neutron: &mut Neutron, context: &Context<'_>, method: &str, path: &[&str]) -> Outcome {
    match (method, path) {
        ("GET", []) => list(neutron, context),
        ("GET", [id]) => show(neutron, context, id),
        ("POST", []) => create(neutron, context),
        ("PUT", [id]) => update(neutron, context, id),
        ("DELETE", [id]) => delete(neutron, context, id),
        _ => Err(unknown(context.ask)),
    }
}

/// The default group of a project; there is always one.
pub(super) fn default_group(neutron: &mut Neutron, project: &Arc<str>, now: Timestamp) -> Uuid {
    let is_it = |group: &&Group| group.standard.project == *project && &*group.standard.name == "default";
    if let Some(group) = neutron.groups.values().find(is_it) {
        return group.id;
    }
    let mut standard = Standard::new(project, "default", now);
    standard.description = "Default security group".into();
    let id = neutron.create_group(standard, now);
    for ethertype in ["IPv4", "IPv6"] {
        let mut rule = Rule::new(id, project, now);
        rule.direction = "ingress".into();
        rule.ethertype = ethertype.into();
        rule.remote_group = Some(id);
        neutron.rules.insert(rule.id, rule);
    }
    id
}

impl Neutron {
    pub(super) fn group(&self, id: &str, caller: &Caller) -> Result<&Group, Answer> {
        let found = Uuid::parse_str(id).ok().and_then(|id| self.groups.get(&id));
        found
            .filter(|group| group.visible(caller))
            .ok_or_else(|| Group::missing(id))
    }

    /// Makes a group that lets everything out.
    pub(crate) fn create_group(&mut self, standard: Standard, now: Timestamp) -> Uuid {
        let (id, project) = (Uuid::new_v4(), Arc::clone(&standard.project));
        for ethertype in ["IPv4", "IPv6"] {
            let mut rule = Rule::new(id, &project, now);
            rule.direction = "egress".into();
            rule.ethertype = ethertype.into();
            rule.description = None;
            self.rules.insert(rule.id, rule);
        }
        self.groups.insert(id, Group { id, standard });
        id
    }

    /// Removes a group and its rules.
    pub(crate) fn drop_group(&mut self, id: Uuid) {
        self.groups.remove(&id);
        self.rules.retain(|_, rule| rule.group != id);
    }

    fn group_view(&self, group: &Group) -> Value {
        let rules: Vec<Value> = self
            .rules
            .values()
            .filter(|rule| rule.group == group.id)
            .map(Rule::inner_view)
            .collect();
        group.standard.complete(json!({
            "id": group.id, "stateful": true, "shared": false, "security_group_rules": rules,
        }))
    }
}

fn list(neutron: &mut Neutron, context: &Context<'_>) -> Outcome {
    default_group(neutron, &context.ask.caller.project, context.now.wall);
    let list = List {
        rows: neutron.groups.values().collect(),
        passed: &[],
        limit: context.settings.neutron_page,
    };
    // A list does not look into it.
    let view = |group: &Group| {
        let mut view = neutron.group_view(group);
        for rule in view["security_group_rules"].as_array_mut().into_iter().flatten() {
            rule["belongs_to_default_sg"] = Value::Null;
        }
        view
    };
    list.answer(context.ask, view)
}

fn show(neutron: &Neutron, context: &Context<'_>, id: &str) -> Outcome {
    let group = neutron.group(id, &context.ask.caller)?;
    let fields: Vec<&str> = context.ask.query.all("fields").collect();
    Ok(Answer::ok(
        json!({"security_group": select(neutron.group_view(group), &fields)}),
    ))
}

const KNOWN: &[&str] = &["name", "description", "stateful", "project_id", "tenant_id"];

fn create(neutron: &mut Neutron, context: &Context<'_>) -> Outcome {
    let fields = body::resource(context.ask, "security_group", KNOWN)?;
    context.quota(
        "security_group",
        neutron.groups.values().map(|group| &group.standard),
        1,
    )?;
    context.quota(
        "security_group_rule",
        neutron.rules.values().map(|rule| &rule.standard),
        2,
    )?;
    let mut standard = Standard::new(
        &context.ask.caller.project,
        body::text(&fields, "name").unwrap_or_default(),
        context.now.wall,
    );
    standard.description = body::text(&fields, "description").unwrap_or_default().into();
    let id = neutron.create_group(standard, context.now.wall);
    let view = neutron.group_view(&neutron.groups[&id]);
    Ok(Answer::json(201, json!({"security_group": view})))
}

fn update(neutron: &mut Neutron, context: &Context<'_>, id: &str) -> Outcome {
    let fields = body::resource(context.ask, "security_group", KNOWN)?;
    let id = neutron.group(id, &context.ask.caller)?.id;
    if let Some(group) = neutron.groups.get_mut(&id) {
        context.guard(&group.standard)?;
        if let Some(name) = body::text(&fields, "name") {
            group.standard.name = name.into();
        }
        if let Some(description) = body::text(&fields, "description") {
            group.standard.description = description.into();
        }
        group.standard.touch(context.now.wall);
    }
    show(neutron, context, &id.to_string())
}

fn delete(neutron: &mut Neutron, context: &Context<'_>, id: &str) -> Outcome {
    let group = neutron.group(id, &context.ask.caller)?;
    context.guard(&group.standard)?;
    let id = group.id;
    if neutron.ports.values().any(|port| port.groups.contains(&id)) {
        return Err(error(
            409,
            "SecurityGroupInUse",
            &format!("Security Group {id} in use."),
        ));
    }
    neutron.drop_group(id);
    Ok(Answer::empty(204))
}
