//! The security groups around a network load balancer: its own, and those of the nodes.

use super::{Balancer, Network, desired::Asked, name_in};
use crate::{
    api::{
        ec2::security_groups::SecurityGroup,
        elbv2::{LoadBalancer, target_groups::TargetGroup},
    },
    config::{NlbSecurityGroups, NodeRules as NodeRulesMode},
    load_balancers::{annotations as key, health::TRAFFIC_PORT, names, tags},
    security_groups::{
        self, NodeMark, NodeRules, Others, OwnGroup,
        rules::{self, Rules},
    },
};
use async_trait::async_trait;
use cloud::{Result, Spec, default_name};
use provider_kit::load_balancer::{Halt, Scope};
use std::collections::BTreeMap;
use tokio::time::Instant;
use tracing::{debug, info};

/// The security groups that a load balancer should have.
enum Groups {
    /// Those that it has: none are managed.
    Unmanaged,
    /// Those that the user names. Their rules are not changed.
    Given(Vec<String>),
    /// One of its own.
    Own,
}

impl Network {
    /// The security groups of a new load balancer.
    pub(super) async fn groups_at_creation(&self, spec: &Spec) -> Result<Vec<String>, Halt> {
        match self.groups_for(spec) {
            Groups::Unmanaged => Ok(Vec::new()),
            Groups::Given(ids) => Ok(ids),
            Groups::Own => {
                let name = default_name(&spec.service.uid);
                Ok(vec![self.shared.groups.ensure_own(&own(spec, &name)).await?])
            }
        }
    }

    /// Makes the security groups match.
    pub(super) async fn guard(
        &self,
        spec: &Spec,
        asked: &Asked,
        balancer: &Balancer,
        scope: Scope,
    ) -> Result<(), Halt> {
        if scope == Scope::All {
            self.guard_load_balancer(spec, asked, balancer).await?;
        }
        self.guard_nodes(spec, asked, balancer).await
    }

    /// A load balancer that was created without security groups cannot get any.
    async fn guard_load_balancer(&self, spec: &Spec, asked: &Asked, balancer: &Balancer) -> Result<(), Halt> {
        let lb = &balancer.lb;
        if lb.security_groups.is_empty() {
            return Ok(());
        }
        let (name, groups) = (lb.load_balancer_name.as_str(), &self.shared.groups);
        let wanted = match self.groups_for(spec) {
            Groups::Unmanaged => return Ok(()),
            Groups::Given(ids) => ids,
            Groups::Own => {
                let id = groups.ensure_own(&own(spec, name)).await?;
                let ports = asked.mappings.iter().map(|mapping| mapping.port);
                let transport = asked.transport().to_lowercase();
                let wanted = rules::of_load_balancer(&transport, ports, &spec.source_ranges);
                groups.set_own(name, &id, &wanted).await?;
                vec![id]
            }
        };
        let (mut current, mut sorted) = (lb.security_groups.0.clone(), wanted.clone());
        current.sort_unstable();
        sorted.sort_unstable();
        if current == sorted {
            return Ok(());
        }
        self.shared
            .api
            .set_security_groups(&lb.load_balancer_arn, &wanted)
            .await?;
        info!(
            id = lb.load_balancer_arn,
            groups = wanted.join(" "),
            "changed the security groups"
        );
        self.state.invalidate(&lb.load_balancer_arn);
        self.remove_unused(spec, lb, &wanted).await
    }

    /// Deletes the groups of its own that a load balancer does not use any more. One that was created under another `--cluster-name` has
    /// another name. What cannot be deleted now is kept.
    async fn remove_unused(&self, spec: &Spec, lb: &LoadBalancer, wanted: &[String]) -> Result<(), Halt> {
        let (name, groups) = (lb.load_balancer_name.as_str(), &self.shared.groups);
        let (cluster, prefix) = (
            self.shared.api.cluster().await?,
            names::target_group_prefix(&spec.service),
        );
        let is_unused = |group: &&SecurityGroup| {
            let is_own = group.group_name.starts_with(&prefix)
                && group.group_description == names::NETWORK_GROUP_DESCRIPTION
                && cluster.owns(&group.tag_set);
            is_own && lb.security_groups.contains(&group.group_id) && !wanted.contains(&group.group_id)
        };
        for group in groups.list(name).await?.iter().filter(is_unused) {
            if let Err(halt) = groups.delete_own(name, &group.group_id).await {
                let (group, reason) = (&group.group_id, halt.report());
                debug!(group, reason, "security group is kept for now");
            }
        }
        Ok(())
    }

    async fn guard_nodes(&self, spec: &Spec, asked: &Asked, balancer: &Balancer) -> Result<(), Halt> {
        if self.shared.api.config.node_rules == NodeRulesMode::Untouched || asked.mappings.is_empty() {
            return Ok(());
        }
        let name = &balancer.lb.load_balancer_name;
        let zones = balancer.lb.availability_zones.iter();
        let subnets: Vec<String> = zones.map(|zone| zone.subnet_id.clone()).collect();
        let subnets = self.shared.subnets.ranges(&subnets).await?;
        let rules = security_groups::network_rules(
            name,
            asked.transport(),
            &asked.node_ports(),
            &asked.check_ports(),
            &spec.source_ranges,
            &subnets,
        );
        let want = NodeRules {
            load_balancer: name,
            mark: NodeMark::Network(name.clone()),
            rules,
            others: self,
        };
        let instances = self.shared.hosts.instances(spec).await?;
        Ok(self.shared.groups.open_nodes(&want, &instances).await?)
    }

    /// Removes the rules and the security group of a load balancer that is gone.
    pub(super) async fn unguard(&self, spec: &Spec) -> Result<(), Halt> {
        let (name, groups) = (default_name(&spec.service.uid), &self.shared.groups);
        if self.shared.api.config.node_rules == NodeRulesMode::Managed {
            groups.close_nodes(&name, NodeMark::Network(name.clone()), self).await?;
        }
        let cluster = self.shared.api.cluster().await?;
        let given = key::SECURITY_GROUPS.list(spec);
        let listed = groups.list(&name).await?;
        let own_names = names::network_groups(&spec.cluster, &spec.service);
        let is_own = |group: &&SecurityGroup| {
            own_names.contains(&group.group_name) && cluster.owns(&group.tag_set) && !given.contains(&group.group_id)
        };
        for group in listed.iter().filter(is_own) {
            groups.delete_own(&name, &group.group_id).await?;
        }
        groups.forget(&name);
        Ok(())
    }

    fn groups_for(&self, spec: &Spec) -> Groups {
        let given = key::SECURITY_GROUPS.list(spec);
        match self.shared.api.config.nlb_security_groups {
            NlbSecurityGroups::None => Groups::Unmanaged,
            NlbSecurityGroups::Managed if given.is_empty() => Groups::Own,
            NlbSecurityGroups::Managed => Groups::Given(given),
        }
    }
}

/// Load balancers whose health checks need the same rules.
#[async_trait]
impl Others for Network {
    async fn needing(&self, rules: &Rules) -> Result<BTreeMap<String, Rules>> {
        let port = |group: &TargetGroup| match group.health_check_port.as_str() {
            TRAFFIC_PORT => Some(group.port),
            port => port.parse().ok(),
        };
        let needed = |group: &TargetGroup| {
            let name = name_in(group.load_balancer_arns.first()?)?;
            let rules = security_groups::health_rules(rules, port(group)?, name);
            (!rules.is_empty()).then(|| (group.target_group_arn.clone(), name.to_owned(), rules))
        };
        if !security_groups::has_health_rules(rules) {
            return Ok(BTreeMap::new());
        }
        let all = self.all_groups(Some(Instant::now())).await?;
        let all: Vec<_> = all.iter().filter_map(needed).collect();
        if all.is_empty() {
            return Ok(BTreeMap::new());
        }
        let arns: Vec<&str> = all.iter().map(|(arn, ..)| arn.as_str()).collect();
        let (cluster, known) = (self.shared.api.cluster().await?, self.readable_tags(&arns).await?);
        let is_ours = |arn: &String, name: &str| match &known {
            Some(known) => known.get(arn).is_some_and(|tags| cluster.has_tag(tags)),
            None => names::uid_of(name).is_some(),
        };
        let mut others: BTreeMap<String, Rules> = BTreeMap::new();
        for (_, name, rules) in all.into_iter().filter(|(arn, name, _)| is_ours(arn, name)) {
            others.entry(name).or_default().extend(rules);
        }
        Ok(others)
    }
}

fn own(spec: &Spec, load_balancer: &str) -> OwnGroup {
    OwnGroup {
        load_balancer: load_balancer.to_owned(),
        name: names::network_group(&spec.cluster, &spec.service),
        description: names::NETWORK_GROUP_DESCRIPTION.to_owned(),
        tags: tags::additional(spec),
    }
}
