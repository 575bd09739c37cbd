//! The security group that opens a Service's node ports, for `manage-security-groups`.
//!
//! One group for each Service, found by its name, on the ports of the nodes that get traffic. Unlike occm, this removes it from nodes that left,
//! loses no change of a port by another client, continues after a rule that was already deleted, and does not report a group as deleted that is
//! still in use.

mod apply;
mod member_ports;
mod observe;
mod port_edits;
mod rules;
#[cfg(test)]
mod tests;

use super::{network::Networks, node_address};
use crate::api::{
    Session,
    neutron::{
        ports::{self, Port},
        security_groups::{self, SecurityGroup, SecurityGroupRule},
    },
};
use cloud::{Error, Host, IpFamily, Result, ServiceRef, Spec};
use cloud_http::{Failure, http::StatusCode};
use member_ports::{Changes, MemberAddress};
use observe::Lists;
use port_edits::PortEdits;
use provider_kit::load_balancer::Halt;
use std::{collections::BTreeSet, fmt, sync::Arc, time::Duration};
use tracing::info;

pub(crate) use rules::{Rule, Sources};

/// Begins the name of every group of ours.
const PREFIX: &str = "lb-sg-";

/// The longest name that Neutron accepts.
const LONGEST: usize = 255;

/// When to retry the deletion of a group that is still in use.
const SOON: Duration = Duration::from_secs(2);

/// The group that a Service asks for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DesiredGroup<'a> {
    /// The Service.
    pub spec: &'a Spec,
    /// The nodes that get traffic.
    pub hosts: &'a [&'a Arc<Host>],
    /// The IP families by which the load balancer reaches them; none: any.
    pub families: &'a [IpFamily],
    /// The IP families of the load balancer's addresses; none: not known.
    pub vips: &'a [IpFamily],
    /// The subnets of the members.
    pub subnets: &'a [String],
    /// From where traffic comes.
    pub sources: Sources,
}

/// One change of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum GroupStep {
    /// It gets a rule.
    Allow(Rule),
    /// It loses a rule.
    Revoke(SecurityGroupRule),
    /// A port gets it.
    Attach(Port),
    /// A port loses it.
    Detach(Port),
}

impl fmt::Display for GroupStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Allow(rule) => write!(f, "+{rule}"),
            Self::Revoke(rule) => write!(f, "-rule {}", rule.id),
            Self::Attach(port) => write!(f, "+port {}", port.id),
            Self::Detach(port) => write!(f, "-port {}", port.id),
        }
    }
}

/// The name of a Service's group.
pub(crate) fn name(service: &ServiceRef) -> String {
    let ServiceRef { namespace, name, uid } = service;
    let mut text = format!("{PREFIX}{uid}-{namespace}-{name}");
    text.truncate(text.floor_char_boundary(LONGEST));
    text
}

/// The groups of all Services, with short caches that they share.
#[derive(Debug, Default)]
pub(crate) struct SecurityGroups {
    lists: Lists,
    edits: PortEdits,
}

impl SecurityGroups {
    /// Makes the group match, and attaches it to the ports of these nodes and of no others. Every step is tried, whether or not the one before
    /// failed.
    ///
    /// # Errors
    /// The first error of a step; [`Error::Unusable`] if two groups have the name; [`Error::Quota`].
    pub(crate) async fn ensure(
        &self,
        api: &Session,
        networks: &Networks,
        desired: &DesiredGroup<'_>,
    ) -> Result<(), Halt> {
        let mut subnets = Vec::new();
        for id in desired.subnets {
            let subnet = networks.subnet(api, id).await?;
            let cidr = subnet.cidr.parse();
            subnets.push(cidr.map_err(|_| Error::unusable(format!("subnet {id}"), "its CIDR cannot be read"))?);
        }
        let group = self.group(api, desired.spec).await?;
        let allowed = rules::wanted(desired.spec, desired.sources, desired.vips, &subnets);
        let ruled = self.apply(api, &group, plan_rules(&group, &allowed)).await;
        let steps = self.plan_ports(api, &group, desired).await;
        let carried = match steps {
            Ok(steps) => self.apply(api, &group, steps).await,
            Err(error) => Err(Halt::from(error)),
        };
        ruled.and(carried)
    }

    /// Removes the group of a Service from all ports, and deletes it. A missing group is a success. Also for a Service whose group is not
    /// managed any more.
    ///
    /// # Errors
    /// As Neutron answers.
    pub(crate) async fn remove(&self, api: &Session, service: &ServiceRef) -> Result<(), Halt> {
        let name = name(service);
        // The name has the Service's UID: if two groups have it, both belong to the Service.
        for group in self.lists.named(api, &name).await? {
            // Not from a shared list: any port that still has the group prevents its deletion.
            let group_ports = ports::ports(api, &[("security_groups", &group.id)]).await?;
            let steps = group_ports.into_iter().map(GroupStep::Detach);
            self.apply(api, &group, steps.collect()).await?;
            let deleted = security_groups::delete(api, &group.id).await;
            self.lists.changed(&name);
            match deleted {
                Ok(_) => info!(group = name, "deleted security group"),
                Err(error) if status(&error) == Some(StatusCode::CONFLICT) => {
                    return Err(Halt::Pending {
                        poll_after: SOON,
                        waiting_for: format!("security group {name} to be removed from its last port"),
                    });
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// The group of a Service; it is created if it does not exist.
    async fn group(&self, api: &Session, spec: &Spec) -> Result<SecurityGroup> {
        let name = name(&spec.service);
        let mut groups = self.lists.named(api, &name).await?;
        if groups.len() > 1 {
            let ids: Vec<&str> = groups.iter().map(|group| group.id.as_str()).collect();
            return Err(Error::unusable(
                format!("security group {name}"),
                format!(
                    "there are {} of that name ({}): delete all but one",
                    ids.len(),
                    ids.join(", ")
                ),
            ));
        }
        match groups.pop() {
            Some(group) => Ok(group),
            None => self.create(api, spec, &name).await,
        }
    }

    async fn plan_ports(
        &self,
        api: &Session,
        group: &SecurityGroup,
        desired: &DesiredGroup<'_>,
    ) -> Result<Vec<GroupStep>> {
        let members = members(desired, api.region());
        let group_ports = self.lists.group_ports(api, group).await?;
        let ports = self
            .lists
            .ports(api, &member_ports::servers_without_port(&members, &group_ports))
            .await?;
        let Changes { attach, detach } =
            member_ports::changes(&group.id, &members, desired.subnets, &group_ports, &ports);
        let detach = detach.into_iter().map(GroupStep::Detach);
        Ok(attach.into_iter().map(GroupStep::Attach).chain(detach).collect())
    }
}

/// The changes of the rules: new ones first, so that traffic that was and will be allowed is never refused.
fn plan_rules(group: &SecurityGroup, wanted: &BTreeSet<Rule>) -> Vec<GroupStep> {
    let (missing, surplus) = rules::diff(wanted, &group.rules);
    let revoke = surplus.into_iter().cloned().map(GroupStep::Revoke);
    missing.into_iter().map(GroupStep::Allow).chain(revoke).collect()
}

/// The addresses by which the load balancer reaches the servers of the nodes.
fn members(desired: &DesiredGroup<'_>, region: &str) -> Vec<MemberAddress> {
    let families: Vec<Option<IpFamily>> = match desired.families {
        [] => vec![None],
        families => families.iter().copied().map(Some).collect(),
    };
    let of_host = |host: &Host| {
        let server = node_address::server(host, region)?.to_owned();
        let addresses = families.iter().map(|family| node_address::of(host, *family));
        let mut known: Vec<_> = addresses
            .filter_map(|address| address?.parse().ok())
            .map(Some)
            .collect();
        if known.is_empty() {
            known.push(None);
        }
        let member = move |address| MemberAddress {
            server: server.clone(),
            address,
        };
        Some(known.into_iter().map(member))
    };
    desired
        .hosts
        .iter()
        .filter_map(|host| of_host(host))
        .flatten()
        .collect()
}

fn status(error: &Error) -> Option<StatusCode> {
    Failure::of(error).map(Failure::status)
}
