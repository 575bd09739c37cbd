//! What the owner of an account sees.

use crate::{
    Account,
    ec2::groups::{Rule, Source},
};
use fakecloud::Value;
use ipnet::IpNet;
use std::collections::BTreeSet;

/// The two kinds of load balancers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A network load balancer.
    Network,
    /// A classic load balancer.
    Classic,
}

/// A load balancer with what is behind it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoadBalancer {
    /// Its ports: the protocol in capitals, and the number.
    pub ports: BTreeSet<(String, u16)>,
    /// The IDs of the instances.
    pub instances: BTreeSet<String>,
    /// From where clients may connect.
    pub sources: BTreeSet<IpNet>,
}

impl Account {
    /// The names of the load balancers of a kind.
    pub fn load_balancers(&self, kind: Kind) -> Vec<String> {
        let network = self.network.values().map(|one| text(&one.fields["LoadBalancerName"]));
        match kind {
            Kind::Network => network.collect(),
            Kind::Classic => self.classic.keys().cloned().collect(),
        }
    }

    /// A load balancer, by its name.
    pub fn load_balancer(&self, kind: Kind, name: &str) -> Option<LoadBalancer> {
        match kind {
            Kind::Network => self.network_balancer(name),
            Kind::Classic => self.classic_balancer(name),
        }
    }

    fn network_balancer(&self, name: &str) -> Option<LoadBalancer> {
        let found = self
            .network
            .values()
            .find(|one| one.fields["LoadBalancerName"] == name)?;
        let groups = found.groups().filter_map(|arn| self.target_groups.get(arn));
        let targets = groups.flat_map(|group| group.targets.iter().filter(|(_, until)| until.is_none()));
        let client = format!("kubernetes.io/rule/nlb/client={name}");
        let rules = self
            .groups
            .get(&self.node_group())
            .map_or(&[][..], |group| group.rules());
        Some(LoadBalancer {
            ports: found
                .listeners
                .values()
                .map(|one| port(&one["Protocol"], &one["Port"]))
                .collect(),
            instances: targets.map(|((id, _), _)| id.clone()).collect(),
            sources: rules
                .iter()
                .filter(|rule| rule.description == client)
                .filter_map(range)
                .collect(),
        })
    }

    fn classic_balancer(&self, name: &str) -> Option<LoadBalancer> {
        let fields = &self.classic.get(name)?.fields;
        let listeners = items(&fields["ListenerDescriptions"]).map(|one| &one["Listener"]);
        let groups = items(&fields["SecurityGroups"]).filter_map(|id| self.groups.get(id.as_str()?));
        Some(LoadBalancer {
            ports: listeners
                .map(|one| port(&one["Protocol"], &one["LoadBalancerPort"]))
                .collect(),
            instances: items(&fields["Instances"])
                .map(|one| text(&one["InstanceId"]))
                .collect(),
            sources: groups
                .flat_map(|group| group.rules().iter().filter_map(range))
                .collect(),
        })
    }

    /// The names of the security groups that are not those of the nodes.
    pub fn load_balancer_groups(&self) -> Vec<String> {
        let names = self.groups.values().map(|group| group.name.clone());
        names.filter(|name| name != "nodes").collect()
    }

    /// How many target groups exist.
    pub fn count_target_groups(&self) -> usize {
        self.target_groups.len()
    }

    /// The destinations of the routes to instances, with the instances.
    pub fn routes(&self) -> Vec<(String, String)> {
        let routes = self.tables.iter().flat_map(|table| &table.routes);
        let to_instances = routes.filter(|route| route["instanceId"].is_string());
        let destination =
            |route: &Value| text(&route["destinationCidrBlock"]) + &text(&route["destinationIpv6CidrBlock"]);
        to_instances
            .map(|route| (destination(route), text(&route["instanceId"])))
            .collect()
    }
}

fn range(rule: &Rule) -> Option<IpNet> {
    match &rule.source {
        Source::V4(range) | Source::V6(range) => range.parse().ok(),
        Source::Group(_) => None,
    }
}

fn port(protocol: &Value, port: &Value) -> (String, u16) {
    (text(protocol), text(port).parse().unwrap_or_default())
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
