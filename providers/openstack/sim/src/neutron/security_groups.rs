//! Security groups.

use super::{
    Context, Neutron, Rule, Standard, error,
    resource::{Resource, kept_in},
};
use crate::exchange::{Fields, Response};
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
    const ONE: &'static str = "security_group";
    const MANY: &'static str = "security_groups";
    const FILTERS: &'static [&'static str] = &["stateful", "shared"];
    const KNOWN: &'static [&'static str] = &["name", "description", "stateful", "project_id", "tenant_id"];

    kept_in!(groups);

    fn missing(id: &str) -> Response {
        error(
            404,
            "SecurityGroupNotFound",
            &format!("Security group {id} does not exist"),
        )
    }

    fn view(&self, neutron: &Neutron, _: &Context<'_>) -> Value {
        let rules = neutron.rules.values().filter(|rule| rule.group == self.id);
        let rules: Vec<Value> = rules.map(Rule::inner_view).collect();
        self.standard.complete(json!({
            "id": self.id, "stateful": true, "shared": false, "security_group_rules": rules,
        }))
    }

    /// A list does not check whether a rule belongs to the default group.
    fn row(&self, neutron: &Neutron, context: &Context<'_>) -> Value {
        let mut view = self.view(neutron, context);
        for rule in view["security_group_rules"].as_array_mut().into_iter().flatten() {
            rule["belongs_to_default_sg"] = Value::Null;
        }
        view
    }

    fn before_look(neutron: &mut Neutron, context: &Context<'_>, which: Option<Uuid>) {
        if which.is_none() {
            default_group(neutron, &context.ask.caller.project, context.now.wall);
        }
    }

    fn create(neutron: &mut Neutron, context: &Context<'_>, fields: &Fields) -> Result<Uuid, Response> {
        context.room_for::<Self>(neutron, 1)?;
        context.room_for::<Rule>(neutron, 2)?;
        let standard = Standard::of(&context.ask.caller.project, fields, context.now.wall);
        Ok(neutron.create_group(standard, context.now.wall))
    }

    fn delete(neutron: &mut Neutron, _: &Context<'_>, id: Uuid) -> Result<(), Response> {
        if neutron.ports.values().any(|port| port.groups.contains(&id)) {
            let message = format!("Security Group {id} in use.");
            return Err(error(409, "SecurityGroupInUse", &message));
        }
        neutron.drop_group(id);
        Ok(())
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
        rule.description = None;
        rule.remote_group = Some(id);
        neutron.rules.insert(rule.id, rule);
    }
    id
}

impl Neutron {
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
}
