//! The security group that opens a Service's node ports, for `manage-security-groups`.
//!
//! One group a Service, found by its name, on the ports of the nodes that traffic goes to. Other than the Go program this
//! takes it off the nodes that left, loses nobody's change of a port, goes on after a rule that was gone already, and does
//! not call a group deleted that is still in use.

mod act;
mod carriers;
mod edits;
mod observe;
mod rules;
#[cfg(test)]
mod scenarios;

use super::{network::Networks, node_address};
use crate::api::{
    Session,
    neutron::{
        ports::{self, Port},
        security_groups::{self, SecurityGroup, SecurityGroupRule},
    },
};
use carriers::{Changes, Member};
use cloud::{Error, Host, IpFamily, Result, ServiceRef, Spec};
use cloud_http::{Failure, http::StatusCode};
use edits::Edits;
use observe::Lists;
use provider_kit::load_balancer::Halt;
use std::{collections::BTreeSet, fmt, sync::Arc, time::Duration};
use tracing::info;

pub(crate) use rules::{Rule, Sources};

/// Begins the name of every group of ours.
const PREFIX: &str = "lb-sg-";

/// Neutron takes no longer name.
const LONGEST: usize = 255;

/// When to look again at a group that is still in use.
const SOON: Duration = Duration::from_secs(2);

/// What a Service wants.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Want<'a> {
    /// The Service.
    pub spec: &'a Spec,
    /// The nodes that traffic goes to.
    pub hosts: &'a [&'a Arc<Host>],
    /// The families that the balancer reaches them by; none: whichever they have.
    pub families: &'a [IpFamily],
    /// The families of the balancer's addresses, which clients connect to; none: it is not known.
    pub vips: &'a [IpFamily],
    /// The subnets of the members.
    pub subnets: &'a [String],
    /// From where traffic comes.
    pub sources: Sources,
}

/// One change of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// It gets a rule.
    Allow(Rule),
    /// It loses a rule.
    Revoke(SecurityGroupRule),
    /// A port gets it.
    Attach(Port),
    /// A port loses it.
    Detach(Port),
}

impl fmt::Display for Step {
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

/// Looks after the groups of all Services, and remembers for a moment what many of them ask for.
#[derive(Debug, Default)]
pub(crate) struct SecurityGroups {
    lists: Lists,
    edits: Edits,
}

impl SecurityGroups {
    /// Makes the group match, and puts it on the ports of these nodes and of no others. Every step is tried, whatever
    /// became of the one before.
    ///
    /// # Errors
    /// The first that a step met; [`Error::Unusable`] if two groups have the name; [`Error::Quota`].
    pub(crate) async fn ensure(&self, api: &Session, networks: &Networks, want: &Want<'_>) -> Result<(), Halt> {
        let mut subnets = Vec::new();
        for id in want.subnets {
            let subnet = networks.subnet(api, id).await?;
            let cidr = subnet.cidr.parse();
            subnets.push(cidr.map_err(|_| Error::unusable(format!("subnet {id}"), "its CIDR cannot be read"))?);
        }
        let group = self.group(api, want.spec).await?;
        let allowed = rules::wanted(want.spec, want.sources, want.vips, &subnets);
        let ruled = self.take(api, &group, plan_rules(&group, &allowed)).await;
        let steps = self.plan_ports(api, &group, want).await;
        let carried = match steps {
            Ok(steps) => self.take(api, &group, steps).await,
            Err(error) => Err(Halt::from(error)),
        };
        ruled.and(carried)
    }

    /// Removes the group of a Service from all ports, and deletes it. One that is not there is a success; a Service whose
    /// group is not managed any more has it removed, too.
    ///
    /// # Errors
    /// As Neutron answers.
    pub(crate) async fn remove(&self, api: &Session, service: &ServiceRef) -> Result<(), Halt> {
        let name = name(service);
        // The name has the Service's UID: if there are two, both are ours.
        for group in self.lists.named(api, &name).await? {
            // Not from a list that was read for others: whoever carries it keeps it from being deleted.
            let carriers = ports::ports(api, &[("security_groups", &group.id)]).await?;
            let steps = carriers.into_iter().map(Step::Detach);
            self.take(api, &group, steps.collect()).await?;
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

    /// The group of a Service; it is made if need be.
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

    async fn plan_ports(&self, api: &Session, group: &SecurityGroup, want: &Want<'_>) -> Result<Vec<Step>> {
        let members = members(want, api.region());
        let carriers = self.lists.carriers(api, group).await?;
        let ports = self.lists.ports(api, &carriers::unknown(&members, &carriers)).await?;
        let Changes { attach, detach } = carriers::changes(&group.id, &members, want.subnets, &carriers, &ports);
        let detach = detach.into_iter().map(Step::Detach);
        Ok(attach.into_iter().map(Step::Attach).chain(detach).collect())
    }
}

/// What has to change about the rules: new ones first, so that no traffic is refused that was let in and is to be.
fn plan_rules(group: &SecurityGroup, wanted: &BTreeSet<Rule>) -> Vec<Step> {
    let (missing, surplus) = rules::diff(wanted, &group.rules);
    let revoke = surplus.into_iter().cloned().map(Step::Revoke);
    missing.into_iter().map(Step::Allow).chain(revoke).collect()
}

/// The addresses by which the balancer reaches the servers of the nodes.
fn members(want: &Want<'_>, region: &str) -> Vec<Member> {
    let families: Vec<Option<IpFamily>> = match want.families {
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
        let member = move |address| Member {
            server: server.clone(),
            address,
        };
        Some(known.into_iter().map(member))
    };
    want.hosts.iter().filter_map(|host| of_host(host)).flatten().collect()
}

fn status(error: &Error) -> Option<StatusCode> {
    Failure::of(error).map(Failure::status)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const LONG: &str = "security-group-longer-test-service-name-with-more-than-255-byte-this-test-should-be-longer-than-255-i-need-that-ijiojohoo-afhwefkbfk-jwebfwbifwbewifobiu-efbiobfoiqwebi-the-end-e-end-pardon-the-long-string-i-really-apologize-if-this-is-a-bad-thing-to-do";

    // upstream: openstack 32
    #[rstest]
    #[case(
        "regular test security group name and length",
        ("12345", "security-group-namespace", "security-group-name"),
        "lb-sg-12345-security-group-namespace-security-group-name"
    )]
    #[case(
        "security group name longer than 255 byte",
        ("12345678-90ab-cdef-0123-456789abcdef", "security-group-longer-test-namespace", LONG),
        "lb-sg-12345678-90ab-cdef-0123-456789abcdef-security-group-longer-test-namespace-security-group-longer-test-service-name-with-more-than-255-byte-this-test-should-be-longer-than-255-i-need-that-ijiojohoo-afhwefkbfk-jwebfwbifwbewifobiu-efbiobfoiqwebi-the-end"
    )]
    #[case("test the security group name with all empty param", ("", "", ""), "lb-sg---")]
    fn names(#[case] row: &str, #[case] (uid, namespace, service): (&str, &str, &str), #[case] expected: &str) {
        let service = ServiceRef {
            uid: uid.to_owned(),
            namespace: namespace.to_owned(),
            name: service.to_owned(),
        };
        assert_eq!(name(&service), expected, "{row}");
    }
}
