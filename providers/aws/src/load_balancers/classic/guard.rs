//! The security groups around a classic load balancer: its own, and those of the nodes.

use super::{Classic, desired::Asked};
use crate::{
    api::elb::ClassicLoadBalancer,
    config::NodeRules as NodeRulesMode,
    load_balancers::{annotations as key, names, tags},
    security_groups::{
        NodeMark, NodeRules, Others, OwnGroup,
        rules::{self, Rule, Rules, Source},
    },
};
use async_trait::async_trait;
use cloud::{Error, Result, Spec, default_name};
use provider_kit::load_balancer::{Halt, Scope};
use std::collections::{BTreeMap, BTreeSet};
use tokio::time::Instant;
use tracing::{debug, info};

impl Classic {
    /// The security groups that the load balancer should have; its own is created if need be.
    pub(super) async fn groups_for(&self, spec: &Spec) -> Result<Vec<String>, Halt> {
        let given = key::SECURITY_GROUPS.list(spec);
        let shared_group = self.shared.api.config.elb_security_group.clone();
        let mut groups = match (given.is_empty(), shared_group) {
            (false, _) => given,
            (true, Some(group)) => vec![group],
            (true, None) => vec![self.shared.groups.ensure_own(&own(spec)).await?],
        };
        for extra in key::EXTRA_SECURITY_GROUPS.list(spec) {
            if !groups.contains(&extra) {
                groups.push(extra);
            }
        }
        Ok(groups)
    }

    /// Makes the security groups match.
    pub(super) async fn guard(
        &self,
        spec: &Spec,
        asked: &Asked,
        lb: &ClassicLoadBalancer,
        scope: Scope,
    ) -> Result<(), Halt> {
        let groups = match scope {
            Scope::All => self.guard_load_balancer(spec, asked, lb).await?,
            Scope::Hosts | Scope::Deletion => lb.security_groups.0.clone(),
        };
        if self.shared.api.config.node_rules == NodeRulesMode::Untouched {
            return Ok(());
        }
        let Some(group) = self.first_group(spec, &groups).await? else {
            return Ok(());
        };
        let want = NodeRules {
            load_balancer: &lb.load_balancer_name,
            rules: [(Rule::members(&group), String::new())].into(),
            mark: NodeMark::Group(group),
            others: self,
        };
        let instances = self.shared.hosts.instances(spec).await?;
        Ok(self.shared.groups.open_nodes(&want, &instances).await?)
    }

    async fn guard_load_balancer(
        &self,
        spec: &Spec,
        asked: &Asked,
        lb: &ClassicLoadBalancer,
    ) -> Result<Vec<String>, Halt> {
        let (name, groups) = (lb.load_balancer_name.as_str(), &self.shared.groups);
        let wanted = self.groups_for(spec).await?;
        let own_group = groups.find_own(name, &names::classic_group(name)).await?;
        if let Some(own) = own_group.as_ref().filter(|own| wanted.contains(&own.group_id)) {
            let ports = asked.listeners.iter().map(|listener| listener.load_balancer_port);
            let rules = rules::of_load_balancer("tcp", ports, &spec.source_ranges);
            groups.set_own(name, &own.group_id, &rules).await?;
        }
        let set = |ids: &[String]| ids.iter().cloned().collect::<BTreeSet<String>>();
        if set(&wanted) != set(&lb.security_groups) {
            self.shared.api.apply_security_groups(name, &wanted).await?;
            info!(id = name, groups = wanted.join(" "), "changed the security groups");
            self.state.invalidate(name);
        }
        if let Some(unused) = own_group.filter(|own| !wanted.contains(&own.group_id)) {
            self.remove_unused(name, &unused.group_id).await?;
        }
        Ok(wanted)
    }

    /// A group of its own that the load balancer does not use any more. If it cannot be deleted now, it is when the Service is.
    async fn remove_unused(&self, name: &str, group: &str) -> Result<(), Halt> {
        if self.shared.api.config.node_rules == NodeRulesMode::Managed {
            self.shared
                .groups
                .close_nodes(name, NodeMark::Group(group.to_owned()), self)
                .await?;
        }
        if let Err(halt) = self.shared.groups.delete_own(name, group).await {
            debug!(group, reason = halt.report(), "security group is kept for now");
        }
        Ok(())
    }

    /// The group of the load balancer that the nodes let in: one with the tag of the cluster, and of those the first.
    async fn first_group(&self, spec: &Spec, groups: &[String]) -> Result<Option<String>> {
        let name = default_name(&spec.service.uid);
        let listed = self.shared.groups.list(&name).await?;
        let cluster = self.shared.api.cluster().await?;
        let is_tagged = |id: &String| {
            let group = listed.iter().find(|group| group.group_id == *id);
            group.is_some_and(|group| cluster.has_tag(&group.tag_set))
        };
        let (given, extra) = (key::SECURITY_GROUPS.list(spec), key::EXTRA_SECURITY_GROUPS.list(spec));
        let place = |list: &[String], id: &String| list.iter().position(|other| other == id);
        let rank = |id: &&String| {
            let order = match (place(&given, id), place(&extra, id)) {
                (Some(place), _) => (0, place),
                (None, None) => (1, 0),
                (None, Some(place)) => (2, place),
            };
            (!is_tagged(id), order)
        };
        Ok(groups.iter().min_by_key(rank).cloned())
    }

    /// Removes the rule that lets a load balancer in, while its groups are known.
    pub(super) async fn close(&self, spec: &Spec, lb: &ClassicLoadBalancer) -> Result<()> {
        if self.shared.api.config.node_rules == NodeRulesMode::Untouched {
            return Ok(());
        }
        match self.first_group(spec, &lb.security_groups).await? {
            Some(group) => {
                let mark = NodeMark::Group(group);
                let groups = &self.shared.groups;
                groups.close_nodes(&lb.load_balancer_name, mark, self).await
            }
            None => Ok(()),
        }
    }

    /// Removes the security group of a load balancer that is gone, and the rules that refer to it.
    pub(super) async fn unguard(&self, spec: &Spec) -> Result<(), Halt> {
        let (name, groups) = (default_name(&spec.service.uid), &self.shared.groups);
        let own = groups.find_own(&name, &names::classic_group(&name)).await?;
        let given = [key::SECURITY_GROUPS.list(spec), key::EXTRA_SECURITY_GROUPS.list(spec)].concat();
        let configured = self.shared.api.config.elb_security_group.as_ref();
        if let Some(group) = own.filter(|own| !given.contains(&own.group_id) && configured != Some(&own.group_id)) {
            if self.shared.api.config.node_rules == NodeRulesMode::Managed {
                groups
                    .close_nodes(&name, NodeMark::Group(group.group_id.clone()), self)
                    .await?;
            }
            groups.delete_own(&name, &group.group_id).await?;
        }
        groups.forget(&name);
        Ok(())
    }
}

/// Load balancers that have the same security group.
#[async_trait]
impl Others for Classic {
    async fn needing(&self, rules: &Rules) -> Result<BTreeMap<String, Rules>> {
        let listed = self.shared.groups.list("").await?;
        // A group of its own no other load balancer has.
        let is_own = |id: &String| {
            let mut listed = listed.iter();
            listed.any(|group| group.group_id == *id && names::is_classic_group(&group.group_name))
        };
        let given = rules.keys().filter_map(|rule| match &rule.source {
            Source::Group(id) if !is_own(id) => Some(id),
            _ => None,
        });
        let given: BTreeSet<&String> = given.collect();
        if given.is_empty() {
            return Ok(BTreeMap::new());
        }
        let all = self.list_all(Some(Instant::now())).await?;
        let using = all
            .iter()
            .filter(|lb| lb.security_groups.iter().any(|id| given.contains(id)));
        let using: Vec<&str> = using.map(|lb| lb.load_balancer_name.as_str()).collect();
        let cluster = self.shared.api.cluster().await?;
        let ours: BTreeSet<String> = match self.shared.api.classic_tags(&using).await {
            Err(Error::Denied { .. }) => using
                .into_iter()
                .filter(|name| names::uid_of(name).is_some())
                .map(str::to_owned)
                .collect(),
            tags => {
                let ours = tags?.into_iter().filter(|(_, tags)| cluster.has_tag(tags));
                ours.map(|(name, _)| name).collect()
            }
        };
        let needed = |lb: &ClassicLoadBalancer| {
            let uses = |rule: &Rule| matches!(&rule.source, Source::Group(id) if lb.security_groups.contains(id));
            let rules = rules.iter().filter(|(rule, _)| uses(rule));
            rules.map(|(rule, text)| (rule.clone(), text.clone())).collect()
        };
        let ours = all.iter().filter(|lb| ours.contains(&lb.load_balancer_name));
        Ok(ours.map(|lb| (lb.load_balancer_name.clone(), needed(lb))).collect())
    }
}

fn own(spec: &Spec) -> OwnGroup {
    let name = default_name(&spec.service.uid);
    OwnGroup {
        name: names::classic_group(&name),
        description: names::classic_group_description(&name, &spec.service),
        tags: tags::additional(spec),
        load_balancer: name,
    }
}
