//! The rules of Services in the security groups of the nodes.

use super::{
    SecurityGroups, lock,
    rules::{self, Rule, Rules, Source},
    store::RuleStore,
};
use crate::api::ec2::{instances::Instance, security_groups::SecurityGroup};
use async_trait::async_trait;
use cloud::{Error, Result};
use ipnet::IpNet;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use tracing::info;

/// How the descriptions of rules begin.
const CLIENT: &str = "kubernetes.io/rule/nlb/client=";
const HEALTH: &str = "kubernetes.io/rule/nlb/health=";
/// The description of rules that all network load balancers share.
const MTU: &str = "kubernetes.io/rule/nlb/mtu";

/// The rules that load balancers want.
#[derive(Default)]
pub(super) struct Registry {
    /// By the group and the load balancer.
    wants: BTreeMap<String, BTreeMap<String, Rules>>,
    /// The load balancers that this process has seen.
    seen: BTreeSet<String>,
}

/// Load balancers that this process has not seen since it started. They need the rules that they share with others, too.
#[async_trait]
pub trait Others: Send + Sync {
    /// Which of these rules each load balancer of the cluster needs, with its own descriptions.
    ///
    /// # Errors
    /// As AWS answers.
    async fn needing(&self, rules: &Rules) -> Result<BTreeMap<String, Rules>>;
}

/// How the rules of a load balancer are recognised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeMark {
    /// By their description, which has the name of the load balancer.
    Network(String),
    /// By the group of the load balancer.
    Group(String),
}

impl NodeMark {
    fn has(&self, rule: &Rule, description: &str) -> bool {
        match self {
            Self::Network(name) => {
                let marked = |prefix| description.strip_prefix(prefix) == Some(name.as_str());
                marked(CLIENT) || marked(HEALTH)
            }
            Self::Group(id) => *rule == Rule::members(id),
        }
    }
}

/// What the nodes have to let in for a load balancer.
#[derive(Clone)]
pub struct NodeRules<'a> {
    pub load_balancer: &'a str,
    pub mark: NodeMark,
    pub rules: Rules,
    pub others: &'a dyn Others,
}

/// Whether some of these rules are for health checks of a network load balancer.
pub fn has_health(rules: &Rules) -> bool {
    rules.values().any(|description| description.starts_with(HEALTH))
}

/// Of these rules, those for health checks of this port, as another network load balancer describes them.
pub fn health(rules: &Rules, port: u16, load_balancer: &str) -> Rules {
    let is_of_port = |rule: &Rule| rule.ports == Some((port.into(), port.into()));
    let of_port = rules
        .iter()
        .filter(|(rule, text)| text.starts_with(HEALTH) && is_of_port(rule));
    of_port
        .map(|(rule, _)| (rule.clone(), format!("{HEALTH}{load_balancer}")))
        .collect()
}

/// The rules of a network load balancer.
///
/// The health check needs no rules of its own if clients may connect from everywhere to the ports that are checked.
pub fn network(
    name: &str,
    protocol: &str,
    ports: &[u16],
    check_ports: &[u16],
    clients: &[IpNet],
    subnets: &[IpNet],
) -> Rules {
    let from = |protocol: &'static str, ports: &[u16], nets: &[IpNet], description: String| {
        let rules = ports
            .iter()
            .flat_map(|port| nets.iter().map(|net| Rule::port(protocol, *port, *net)));
        rules.map(|rule| (rule, description.clone())).collect::<Rules>()
    };
    let protocol = if protocol == "UDP" { "udp" } else { "tcp" };
    let clients_rules = from(protocol, ports, clients, format!("{CLIENT}{name}"));
    let everywhere = "0.0.0.0/0".parse().is_ok_and(|all: IpNet| clients == [all]);
    let set = |ports: &[u16]| ports.iter().copied().collect::<BTreeSet<u16>>();
    let covered = everywhere && protocol == "tcp" && set(ports) == set(check_ports);
    let mut rules = if covered {
        Rules::new()
    } else {
        from("tcp", check_ports, subnets, format!("{HEALTH}{name}"))
    };
    // A rule that serves both is one of the clients.
    rules.extend(clients_rules);
    rules
}

/// The rules of a group after those of one load balancer are replaced by `wanted`. `others` are what other load balancers want: a rule that
/// two of them need has the description of one, and must not disappear with it.
fn edited(rules: &Rules, mark: &NodeMark, wanted: &Rules, others: &Rules) -> Rules {
    let mut edited = rules.clone();
    edited.retain(|rule, description| !mark.has(rule, description) || wanted.get(rule) == Some(description));
    for (rule, description) in wanted.iter().chain(others) {
        edited.entry(rule.clone()).or_insert_with(|| description.clone());
    }
    if edited == *rules {
        return edited;
    }
    let clients = edited.iter().filter(|(_, description)| description.starts_with(CLIENT));
    let mtu: BTreeSet<Rule> = clients
        .filter_map(|(rule, _)| match rule.source {
            Source::Range(net) => Some(Rule::mtu(net)),
            Source::Group(_) => None,
        })
        .collect();
    edited.retain(|rule, description| description != MTU || mtu.contains(rule));
    for rule in mtu {
        edited.entry(rule).or_insert_with(|| MTU.to_owned());
    }
    edited
}

/// The group of an instance that gets the rules: the one that has the tag of the cluster, or else its only one.
fn group_of<'a>(instance: &'a Instance, tagged: &BTreeSet<&str>) -> Result<Option<&'a str>> {
    let all: Vec<&str> = instance.group_set.iter().map(|group| group.group_id.as_str()).collect();
    let own: Vec<&str> = all.iter().filter(|id| tagged.contains(*id)).copied().collect();
    let several = |which: &str, ids: &[&str]| {
        let what = format!("instance {}", instance.instance_id);
        let reason = format!(
            "it has several security groups {which} the tag of the cluster ({}): exactly one must have it",
            ids.join(", ")
        );
        Err(Error::unusable(what, reason))
    };
    match (&own[..], &all[..]) {
        ([one], _) | ([], [one]) => Ok(Some(one)),
        ([], []) => Ok(None),
        ([], all) => several("without", all),
        (own, _) => several("with", own),
    }
}

impl Registry {
    /// Nothing is left of a load balancer.
    pub(super) fn forget(&mut self, load_balancer: &str) {
        self.seen.remove(load_balancer);
    }
}

impl SecurityGroups {
    /// Makes the groups of these instances let the load balancer in, and no others.
    ///
    /// # Errors
    /// [`Error::Unusable`] if it is not clear which group of an instance is meant; otherwise as EC2 answers.
    pub async fn open_nodes(&self, want: &NodeRules<'_>, instances: &[Arc<Instance>]) -> Result<()> {
        let groups = self.list(want.load_balancer).await?;
        let wanted = self.groups_of(instances, &groups).await?;
        let unknown: Vec<String> = {
            let is_known = |id: &&str| groups.iter().any(|group| group.group_id == **id);
            wanted
                .iter()
                .copied()
                .filter(|id| !is_known(id))
                .map(str::to_owned)
                .collect()
        };
        let groups = if unknown.is_empty() {
            groups
        } else {
            self.state().untagged.extend(unknown);
            self.edited(want.load_balancer);
            self.list(want.load_balancer).await?
        };
        self.register(want, &wanted);
        let none = Rules::new();
        for group in groups.iter() {
            let rules = if wanted.contains(group.group_id.as_str()) {
                &want.rules
            } else {
                &none
            };
            self.edit(group, want, rules).await?;
        }
        Ok(())
    }

    /// Removes the rules of a load balancer from the groups of all nodes.
    ///
    /// # Errors
    /// As EC2 answers.
    pub async fn close_nodes(&self, load_balancer: &str, mark: NodeMark, others: &dyn Others) -> Result<()> {
        let mut groups = self.list(load_balancer).await?.to_vec();
        if let NodeMark::Group(id) = &mark {
            let more = self.api.security_groups_allowing(id).await?.into_iter();
            let is_new = |group: &SecurityGroup| !groups.iter().any(|known| known.group_id == group.group_id);
            let more: Vec<_> = more.filter(is_new).collect();
            groups.extend(more);
        }
        let want = NodeRules {
            load_balancer,
            mark,
            rules: Rules::new(),
            others,
        };
        self.register(&want, &BTreeSet::new());
        for group in &groups {
            self.edit(group, &want, &want.rules).await?;
        }
        Ok(())
    }

    async fn groups_of<'a>(
        &self,
        instances: &'a [Arc<Instance>],
        groups: &[SecurityGroup],
    ) -> Result<BTreeSet<&'a str>> {
        let cluster = self.api.cluster().await?;
        let tagged = groups.iter().filter(|group| cluster.has_tag(&group.tag_set));
        let tagged: BTreeSet<&str> = tagged.map(|group| group.group_id.as_str()).collect();
        let ids = instances.iter().map(|instance| group_of(instance, &tagged));
        ids.filter_map(Result::transpose).collect()
    }

    /// Remembers what a load balancer wants, and where.
    fn register(&self, want: &NodeRules<'_>, groups: &BTreeSet<&str>) {
        let mut registry = lock(&self.registry);
        registry.seen.insert(want.load_balancer.to_owned());
        for wants in registry.wants.values_mut() {
            wants.remove(want.load_balancer);
        }
        for group in groups {
            let wants = registry.wants.entry((*group).to_owned()).or_default();
            wants.insert(want.load_balancer.to_owned(), want.rules.clone());
        }
        registry.wants.retain(|_, wants| !wants.is_empty());
    }

    /// Until a load balancer is seen, it keeps the rules that it shares with others: after a start, the first Service that changes must not
    /// take them away.
    async fn assume(&self, group: &str, want: &NodeRules<'_>, lost: &Rules) -> Result<()> {
        let others = want.others.needing(lost).await?;
        let mut registry = lock(&self.registry);
        for (load_balancer, rules) in others {
            if !registry.seen.contains(&load_balancer) && load_balancer != want.load_balancer {
                let wants = registry.wants.entry(group.to_owned()).or_default();
                wants.insert(load_balancer, rules);
            }
        }
        Ok(())
    }

    /// Replaces the rules of one load balancer in a group. Nothing is read or written if the list shows that they are there.
    async fn edit(&self, group: &SecurityGroup, want: &NodeRules<'_>, wanted: &Rules) -> Result<()> {
        let (mark, wanted) = (want.mark.clone(), wanted.clone());
        let listed = rules::of(&group.ip_permissions);
        let after = edited(&listed, &mark, &wanted, &Rules::new());
        if after == listed {
            return Ok(());
        }
        let mut lost = listed;
        lost.retain(|rule, _| !after.contains_key(rule));
        if !lost.is_empty() {
            self.assume(&group.group_id, want, &lost).await?;
        }
        let (registry, id) = (Arc::clone(&self.registry), group.group_id.clone());
        let edit = move |rules: &mut Rules| {
            let registry = lock(&registry);
            let others = registry.wants.get(&id).into_iter().flat_map(BTreeMap::values);
            let others: Rules = others
                .flatten()
                .map(|(rule, text)| (rule.clone(), text.clone()))
                .collect();
            *rules = edited(rules, &mark, &wanted, &others);
            Ok(())
        };
        let result = self.lanes.edit(&RuleStore(&self.api), &group.group_id, edit).await;
        self.edited(want.load_balancer);
        info!(
            group = group.group_id,
            load_balancer = want.load_balancer,
            "changed the rules of the nodes"
        );
        result
    }
}

#[cfg(test)]
mod tests;
