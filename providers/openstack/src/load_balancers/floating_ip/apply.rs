//! Applies the steps.

use super::{
    DesiredFloatingIp, FloatingIpStep, ObservedFloatingIps, Reservations, addresses_to_find, description, free, has,
    plan,
    refusal::{is_of_the_subnet, raced, soon},
    reserved::{reservation, reserved_for},
    source::{network, subnets},
};
use crate::{
    api::{
        Session,
        neutron::floating_ips::{self, FloatingIp, FloatingIpQuery, NewFloatingIp},
    },
    load_balancers::{
        network::{Floating, FloatingSubnet, Networks},
        node_address::family_of,
        settings::Exposure,
    },
};
use cloud::{Error, Event, IpFamily, Result};
use provider_kit::load_balancer::{Halt, Ownership};
use tracing::{debug, info};

/// The load balancer's own address, which a floating IP is attached to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target<'a> {
    /// Its port.
    pub port: &'a str,
    /// Its address.
    pub address: &'a str,
}

/// Where a Service can be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    /// The floating IP, or the load balancer's own address.
    pub ip: String,
    /// What the user should know.
    pub events: Vec<Event>,
}

/// The floating IPs of a port.
pub(crate) async fn observe(api: &Session, port: &str) -> Result<Vec<FloatingIp>> {
    let query = FloatingIpQuery {
        ports: vec![port.to_owned()],
        ..FloatingIpQuery::default()
    };
    floating_ips::floating_ips(api, &query).await
}

/// Makes the floating IPs of a load balancer match; `attached` is what [`observe`] returned.
///
/// # Errors
/// As [`plan`]; [`Error::Quota`]; [`Error::Unavailable`] with Neutron's reason if no address is available; [`Halt::Pending`] if something
/// changed in the meantime.
pub(crate) async fn ensure(
    api: &Session,
    networks: &Networks,
    reserved: &Reservations,
    desired: &DesiredFloatingIp<'_>,
    target: Target<'_>,
    floating: Option<&Floating>,
    attached: Vec<FloatingIp>,
) -> Result<Address, Halt> {
    if family_of(target.address) == Some(IpFamily::V6) {
        return Ok(skipped(desired, target));
    }
    let others = find_by_address(api, &addresses_to_find(desired, &attached)).await?;
    let observed = ObservedFloatingIps { attached, others };
    let steps = plan(desired, &observed)?;
    let applier = Applier {
        api,
        networks,
        reserved,
        desired,
        target,
        floating,
    };
    let unchanged = current(desired, &observed.attached, target);
    let outcome = applier.apply(steps).await?;
    Ok(outcome.address(desired, target, unchanged))
}

/// Checks, before a load balancer is created, that its floating IP is available: a requested address is reserved if it does not exist, and a
/// requested subnet must exist. A load balancer with an existing `port` gets the floating IP of that port. Answers what was created: it has to
/// be deleted if the load balancer cannot be created.
///
/// # Errors
/// As [`ensure`].
pub(crate) async fn reserve(
    api: &Session,
    networks: &Networks,
    reserved: &Reservations,
    desired: &DesiredFloatingIp<'_>,
    floating: Option<&Floating>,
    port: Option<&str>,
) -> Result<Option<FloatingIp>, Halt> {
    let (Exposure::External, Ownership::Owner, Some(floating)) = (desired.exposure, desired.ownership, floating) else {
        return Ok(None);
    };
    if let Some(port) = port
        && !observe(api, port).await?.is_empty()
    {
        return Ok(None);
    }
    let Some(ip) = desired.ip else {
        return match (&floating.subnet, network(api, networks, floating).await?) {
            (FloatingSubnet::Any, _) | (_, None) => Ok(None),
            (subnet, Some(network)) => Ok(subnets(api, networks, subnet, &network).await.map(|_| None)?),
        };
    };
    let found = find_by_address(api, &[ip]).await?;
    if free(ip, &found)?.is_some() {
        return Ok(None);
    }
    let applier = Applier {
        api,
        networks,
        reserved,
        desired,
        target: Target { port: "", address: "" },
        floating: Some(floating),
    };
    match applier.create(Some(ip), None).await? {
        Some(made) => Ok(Some(made)),
        None => Err(Error::unusable(
            format!("floating IP {ip}"),
            "it does not exist, and no external network was found to create it in: set floating-network-id",
        )
        .into()),
    }
}

/// The result of the steps.
#[derive(Debug, Default)]
struct Outcome {
    /// What was attached.
    attached: Option<FloatingIp>,
    /// No external network was found.
    no_network: bool,
}

impl Outcome {
    fn address(self, desired: &DesiredFloatingIp<'_>, target: Target<'_>, unchanged: Option<String>) -> Address {
        let made = self.attached.map(|fip| fip.floating_ip_address);
        let events = if self.no_network {
            no_network(desired)
        } else {
            Vec::new()
        };
        Address {
            ip: made.or(unchanged).unwrap_or_else(|| target.address.to_owned()),
            events,
        }
    }
}

struct Applier<'a> {
    api: &'a Session,
    networks: &'a Networks,
    reserved: &'a Reservations,
    desired: &'a DesiredFloatingIp<'a>,
    target: Target<'a>,
    floating: Option<&'a Floating>,
}

impl Applier<'_> {
    async fn apply(&self, steps: Vec<FloatingIpStep>) -> Result<Outcome, Halt> {
        let mut outcome = Outcome::default();
        let mut reserved = None;
        for step in steps {
            debug!(%step, port = self.target.port, "floating IP");
            match step {
                FloatingIpStep::Attach(fip) => outcome.attached = Some(self.lead(&fip, Some(self.target.port)).await?),
                FloatingIpStep::Detach(fip) => drop(self.lead(&fip, None).await?),
                FloatingIpStep::Delete(fip) => delete(self.api, &fip).await?,
                FloatingIpStep::Create(address) => {
                    outcome.attached = self.create(address.as_deref(), Some(self.target.port)).await?;
                    outcome.no_network = outcome.attached.is_none();
                }
                FloatingIpStep::Reserve(address) => {
                    let none = || Error::unusable(format!("floating IP {address}"), "no external network was found");
                    reserved = Some(self.create(Some(&address), None).await?.ok_or_else(none)?);
                }
                FloatingIpStep::AttachReserved => {
                    if let Some(fip) = reserved.take() {
                        outcome.attached = Some(self.lead(&fip, Some(self.target.port)).await?);
                    }
                }
            }
        }
        Ok(outcome)
    }

    async fn lead(&self, fip: &FloatingIp, port: Option<&str>) -> Result<FloatingIp, Halt> {
        // It is not a reservation any more.
        let placed = port.and(reserved_for(fip)).map(|_| description(self.desired));
        let led = floating_ips::lead(self.api, fip, port, placed.as_deref())
            .await
            .map_err(|error| soon(fip, error))?;
        let address = &fip.floating_ip_address;
        if let Some(port) = port {
            self.reserved.forget(self.desired.service, address);
            info!(address, port, "attached floating IP");
        } else {
            info!(address, "detached floating IP");
        }
        Ok(led)
    }

    /// Creates a floating IP; `None` if there is no external network.
    async fn create(&self, address: Option<&str>, port: Option<&str>) -> Result<Option<FloatingIp>, Halt> {
        let Some(floating) = self.floating else {
            return Ok(None);
        };
        let Some(network) = network(self.api, self.networks, floating).await? else {
            return Ok(None);
        };
        let subnets = match (&floating.subnet, address) {
            // A requested address determines the subnet.
            (FloatingSubnet::Any, _) | (FloatingSubnet::Matching { .. }, Some(_)) => Vec::new(),
            (subnet, _) => subnets(self.api, self.networks, subnet, &network).await?,
        };
        let new = NewFloatingIp {
            floating_network_id: network,
            subnet_id: None,
            floating_ip_address: address.map(ToOwned::to_owned),
            port_id: port.map(ToOwned::to_owned),
            description: match port {
                Some(_) => description(self.desired),
                None => reservation(self.desired),
            },
        };
        if let (Some(address), None) = (address, port) {
            self.reserved.note(&self.desired.service.uid, address);
        }
        let made = self.create_in(new, subnets).await;
        if made.is_err() && floating.network.is_none() {
            self.networks.doubt_external();
        }
        let fip = made.map_err(|error| raced(self.target, error))?;
        info!(address = fip.floating_ip_address, port, "created floating IP");
        Ok(Some(fip))
    }

    /// In the first of these subnets that has a free address; without subnets in any.
    async fn create_in(&self, new: NewFloatingIp, subnets: Vec<String>) -> Result<FloatingIp> {
        let mut last = None;
        for subnet in subnets {
            let in_subnet = NewFloatingIp {
                subnet_id: Some(subnet.clone()),
                ..new.clone()
            };
            match floating_ips::create(self.api, &in_subnet).await {
                Err(error) if is_of_the_subnet(&error) => {
                    debug!(subnet, error = %error.report(), "no floating IP from here");
                    last = Some(error);
                }
                done => return done,
            }
        }
        match last {
            Some(error) => Err(error),
            None => floating_ips::create(self.api, &new).await,
        }
    }
}

/// Deletes a floating IP; one that does not exist is a success.
pub(super) async fn delete(api: &Session, fip: &FloatingIp) -> Result<(), Halt> {
    floating_ips::delete(api, fip).await.map_err(|error| soon(fip, error))?;
    info!(address = fip.floating_ip_address, "deleted floating IP");
    Ok(())
}

/// The floating IPs with these addresses.
pub(super) async fn find_by_address(api: &Session, addresses: &[&str]) -> Result<Vec<FloatingIp>> {
    let mut found = Vec::new();
    for address in addresses
        .iter()
        .filter(|address| family_of(address) != Some(IpFamily::V6))
    {
        let query = FloatingIpQuery {
            address: Some((*address).to_owned()),
            ..FloatingIpQuery::default()
        };
        found.extend(floating_ips::floating_ips(api, &query).await?);
    }
    Ok(found)
}

/// The current address.
fn current(desired: &DesiredFloatingIp<'_>, attached: &[FloatingIp], target: Target<'_>) -> Option<String> {
    if desired.exposure == Exposure::Internal {
        return None;
    }
    let asked = desired.ip.and_then(|ip| attached.iter().find(|fip| has(fip, ip)));
    let own = || {
        attached
            .iter()
            .find(|fip| fip.fixed_ip_address.as_deref() == Some(target.address))
    };
    let fip = asked.or_else(own).or_else(|| attached.first())?;
    Some(fip.floating_ip_address.clone())
}

fn skipped(desired: &DesiredFloatingIp<'_>, target: Target<'_>) -> Address {
    let warning = Event::warning(
        "LoadBalancerFloatingIPSkipped",
        format!(
            "Floating IP not supported for IPv6 Service {}. Using IPv6 address instead {}.",
            named(desired),
            target.address
        ),
    );
    Address {
        ip: target.address.to_owned(),
        events: vec![warning],
    }
}

fn no_network(desired: &DesiredFloatingIp<'_>) -> Vec<Event> {
    let service = named(desired);
    let search = format!("Failed to find floating-network-id for Service {service}: failed to find object");
    let forced = format!(
        "Floating network configuration not provided for Service {service}, forcing to ensure an internal load balancer service"
    );
    vec![
        Event::warning("LoadBalancerExternalNetworkSearchFailed", search),
        Event::warning("LoadBalancerForcedInternal", forced),
    ]
}

fn named(desired: &DesiredFloatingIp<'_>) -> String {
    format!("{}/{}", desired.service.namespace, desired.service.name)
}
