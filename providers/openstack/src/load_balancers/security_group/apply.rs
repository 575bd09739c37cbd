//! Applies the steps.

use super::{GroupStep, SecurityGroups, port_edits::Edit, rules};
use crate::api::{
    Session, fault,
    neutron::{
        ports,
        security_groups::{self, NewSecurityGroupRule, SecurityGroup, SecurityGroupRule},
    },
};
use cloud::{Error, Result, ServiceRef, Spec};
use cloud_http::Failure;
use futures::{StreamExt, stream};
use provider_kit::load_balancer::Halt;
use tracing::{debug, info};

/// How many ports are changed at the same time.
const AT_ONCE: usize = 8;

/// The longest description that Neutron accepts.
const LONGEST: usize = 255;

impl SecurityGroups {
    pub(super) async fn create(&self, api: &Session, spec: &Spec, name: &str) -> Result<SecurityGroup> {
        let ServiceRef {
            namespace,
            name: service,
            ..
        } = &spec.service;
        let cluster = &spec.cluster;
        let mut text = format!("Security Group for {namespace}/{service} Service LoadBalancer in cluster {cluster}");
        text.truncate(text.floor_char_boundary(LONGEST));
        let created = security_groups::create(api, name, &text).await;
        self.lists.changed(name);
        let group = created?;
        info!(group = name, id = group.id, "created security group");
        Ok(group)
    }

    /// Applies all steps, those of ports concurrently, and answers the first error.
    pub(super) async fn apply(&self, api: &Session, group: &SecurityGroup, steps: Vec<GroupStep>) -> Result<(), Halt> {
        if steps.is_empty() {
            return Ok(());
        }
        let (mut allow, mut revoke, mut edits) = (Vec::new(), Vec::new(), Vec::new());
        for step in steps {
            debug!(%step, group = group.name, "security group");
            match step {
                GroupStep::Allow(rule) => allow.push(rules::body(&group.id, &rule)),
                GroupStep::Revoke(rule) => revoke.push(rule),
                GroupStep::Attach(port) => edits.push((port, Edit::Attach(group.id.clone()))),
                GroupStep::Detach(port) => edits.push((port, Edit::Detach(group.id.clone()))),
            }
        }
        let allowed = create_rules(api, &allow).await;
        let revoked = delete_rules(api, &revoke).await;
        let edited = stream::iter(edits)
            .map(|(port, edit)| self.edit(api, group, port, edit))
            .buffer_unordered(AT_ONCE)
            .fold(Ok(()), async |all: Result<(), Halt>, one| all.and(one))
            .await;
        self.lists.changed(&group.name);
        allowed.and(revoked).map_err(Halt::from).and(edited)
    }

    async fn edit(&self, api: &Session, group: &SecurityGroup, port: ports::Port, edit: Edit) -> Result<(), Halt> {
        // Old versions of occm tagged ports with their groups.
        let tagged = matches!(edit, Edit::Detach(_)) && port.tags.contains(&group.id);
        self.edits.apply(api, &port, edit).await?;
        if tagged {
            ports::delete_tag(api, &port.id, &group.id).await?;
        }
        Ok(())
    }
}

/// Creates rules in one call; if one of them exists, one by one.
async fn create_rules(api: &Session, new: &[NewSecurityGroupRule]) -> Result<()> {
    if new.is_empty() {
        return Ok(());
    }
    match security_groups::create_rules(api, new).await {
        Err(error) if exists(&error) => {}
        done => return done,
    }
    let mut all = Ok(());
    for rule in new {
        match security_groups::create_rules(api, std::slice::from_ref(rule)).await {
            Err(error) if !exists(&error) => all = all.and(Err(error)),
            _ => {}
        }
    }
    all
}

async fn delete_rules(api: &Session, rules: &[SecurityGroupRule]) -> Result<()> {
    let mut all = Ok(());
    for rule in rules {
        let deleted = security_groups::delete_rule(api, &rule.id).await;
        all = all.and(deleted.map(drop));
    }
    all
}

/// A quota that is exceeded is a 409, too.
fn exists(error: &Error) -> bool {
    let kind = Failure::of(error).and_then(fault::neutron_type);
    kind.as_deref() == Some("SecurityGroupRuleExists")
}
