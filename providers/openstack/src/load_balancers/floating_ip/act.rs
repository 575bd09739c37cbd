//! Taking the steps.

use super::{
    Reserved, Seen, Step, Want, asks, description, free, has, plan,
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

/// The balancer's own address, where a floating IP leads to.
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
    /// The floating IP, or the balancer's own address.
    pub ip: String,
    /// What the user should know.
    pub events: Vec<Event>,
}

/// The floating IPs that lead to a port.
pub(crate) async fn observe(api: &Session, port: &str) -> Result<Vec<FloatingIp>> {
    let query = FloatingIpQuery {
        ports: vec![port.to_owned()],
        ..FloatingIpQuery::default()
    };
    floating_ips::floating_ips(api, &query).await
}

/// Makes the floating IPs of a balancer match; `attached` is what [`observe`] saw.
///
/// # Errors
/// As [`plan`]; [`Error::Quota`]; [`Error::Unavailable`] where no address can be had, with what Neutron says;
/// [`Halt::Pending`] if something changed in the meantime.
pub(crate) async fn ensure(
    api: &Session,
    networks: &Networks,
    reserved: &Reserved,
    want: &Want<'_>,
    target: Target<'_>,
    floating: Option<&Floating>,
    attached: Vec<FloatingIp>,
) -> Result<Address, Halt> {
    if family_of(target.address) == Some(IpFamily::V6) {
        return Ok(skipped(want, target));
    }
    let others = others(api, &asks(want, &attached)).await?;
    let seen = Seen { attached, others };
    let steps = plan(want, &seen)?;
    let act = Act {
        api,
        networks,
        reserved,
        want,
        target,
        floating,
    };
    let unchanged = current(want, &seen.attached, target);
    let ending = act.take(steps).await?;
    Ok(ending.address(want, target, unchanged))
}

/// Sees to it, before a balancer is built, that its floating IP can be had: one that is asked for by address is made if it
/// does not exist, and the subnet that is asked for must be there. What leads to the balancer's `port`, where that is there
/// before the balancer, is the one it gets. Says what was made: it is to be given back if the balancer cannot be made, for
/// nobody knows of it once another one is asked for.
///
/// # Errors
/// As [`ensure`].
pub(crate) async fn reserve(
    api: &Session,
    networks: &Networks,
    reserved: &Reserved,
    want: &Want<'_>,
    floating: Option<&Floating>,
    port: Option<&str>,
) -> Result<Option<FloatingIp>, Halt> {
    let (Exposure::External, Ownership::Owner, Some(floating)) = (want.exposure, want.ownership, floating) else {
        return Ok(None);
    };
    if let Some(port) = port
        && !observe(api, port).await?.is_empty()
    {
        return Ok(None);
    }
    let Some(ip) = want.ip else {
        return match (&floating.subnet, network(api, networks, floating).await?) {
            (FloatingSubnet::Any, _) | (_, None) => Ok(None),
            (subnet, Some(network)) => Ok(subnets(api, networks, subnet, &network).await.map(|_| None)?),
        };
    };
    let found = others(api, &[ip]).await?;
    if free(ip, &found)?.is_some() {
        return Ok(None);
    }
    let act = Act {
        api,
        networks,
        reserved,
        want,
        target: Target { port: "", address: "" },
        floating: Some(floating),
    };
    match act.create(Some(ip), None).await? {
        Some(made) => Ok(Some(made)),
        None => Err(Error::unusable(
            format!("floating IP {ip}"),
            "it does not exist, and no external network was found to create it in: set floating-network-id",
        )
        .into()),
    }
}

/// How the steps ended.
#[derive(Debug, Default)]
struct Ending {
    /// What was attached.
    attached: Option<FloatingIp>,
    /// No external network was found.
    homeless: bool,
}

impl Ending {
    fn address(self, want: &Want<'_>, target: Target<'_>, unchanged: Option<String>) -> Address {
        let made = self.attached.map(|fip| fip.floating_ip_address);
        let events = if self.homeless { homeless(want) } else { Vec::new() };
        Address {
            ip: made.or(unchanged).unwrap_or_else(|| target.address.to_owned()),
            events,
        }
    }
}

struct Act<'a> {
    api: &'a Session,
    networks: &'a Networks,
    reserved: &'a Reserved,
    want: &'a Want<'a>,
    target: Target<'a>,
    floating: Option<&'a Floating>,
}

impl Act<'_> {
    async fn take(&self, steps: Vec<Step>) -> Result<Ending, Halt> {
        let mut ending = Ending::default();
        let mut reserved = None;
        for step in steps {
            debug!(%step, port = self.target.port, "floating IP");
            match step {
                Step::Attach(fip) => ending.attached = Some(self.lead(&fip, Some(self.target.port)).await?),
                Step::Detach(fip) => drop(self.lead(&fip, None).await?),
                Step::Delete(fip) => delete(self.api, &fip).await?,
                Step::Create(address) => {
                    ending.attached = self.create(address.as_deref(), Some(self.target.port)).await?;
                    ending.homeless = ending.attached.is_none();
                }
                Step::Reserve(address) => {
                    let none = || Error::unusable(format!("floating IP {address}"), "no external network was found");
                    reserved = Some(self.create(Some(&address), None).await?.ok_or_else(none)?);
                }
                Step::AttachReserved => {
                    if let Some(fip) = reserved.take() {
                        ending.attached = Some(self.lead(&fip, Some(self.target.port)).await?);
                    }
                }
            }
        }
        Ok(ending)
    }

    async fn lead(&self, fip: &FloatingIp, port: Option<&str>) -> Result<FloatingIp, Halt> {
        // One that was reserved has found its place.
        let placed = port.and(reserved_for(fip)).map(|_| description(self.want));
        let led = floating_ips::lead(self.api, fip, port, placed.as_deref())
            .await
            .map_err(|error| soon(fip, error))?;
        let address = &fip.floating_ip_address;
        if let Some(port) = port {
            self.reserved.forget(self.want.service, address);
            info!(address, port, "attached floating IP");
        } else {
            info!(address, "detached floating IP");
        }
        Ok(led)
    }

    /// Makes a floating IP; `None` if there is no external network.
    async fn create(&self, address: Option<&str>, port: Option<&str>) -> Result<Option<FloatingIp>, Halt> {
        let Some(floating) = self.floating else {
            return Ok(None);
        };
        let Some(network) = network(self.api, self.networks, floating).await? else {
            return Ok(None);
        };
        let subnets = match (&floating.subnet, address) {
            // Whoever asks for an address has chosen its subnet with it.
            (FloatingSubnet::Any, _) | (FloatingSubnet::Matching { .. }, Some(_)) => Vec::new(),
            (subnet, _) => subnets(self.api, self.networks, subnet, &network).await?,
        };
        let new = NewFloatingIp {
            floating_network_id: network,
            subnet_id: None,
            floating_ip_address: address.map(ToOwned::to_owned),
            port_id: port.map(ToOwned::to_owned),
            description: match port {
                Some(_) => description(self.want),
                None => reservation(self.want),
            },
        };
        if let (Some(address), None) = (address, port) {
            self.reserved.note(&self.want.service.uid, address);
        }
        let made = self.create_in(new, subnets).await;
        if made.is_err() && floating.network.is_none() {
            self.networks.doubt_external();
        }
        let fip = made.map_err(|error| raced(self.target, error))?;
        info!(address = fip.floating_ip_address, port, "created floating IP");
        Ok(Some(fip))
    }

    /// In the first of these subnets that has a free address; in any, if none is given.
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

/// Deletes a floating IP; one that is gone is a success.
pub(super) async fn delete(api: &Session, fip: &FloatingIp) -> Result<(), Halt> {
    floating_ips::delete(api, fip).await.map_err(|error| soon(fip, error))?;
    info!(address = fip.floating_ip_address, "deleted floating IP");
    Ok(())
}

/// The floating IPs with these addresses.
pub(super) async fn others(api: &Session, addresses: &[&str]) -> Result<Vec<FloatingIp>> {
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

/// The address that is there already.
fn current(want: &Want<'_>, attached: &[FloatingIp], target: Target<'_>) -> Option<String> {
    if want.exposure == Exposure::Internal {
        return None;
    }
    let asked = want.ip.and_then(|ip| attached.iter().find(|fip| has(fip, ip)));
    let own = || {
        attached
            .iter()
            .find(|fip| fip.fixed_ip_address.as_deref() == Some(target.address))
    };
    let fip = asked.or_else(own).or_else(|| attached.first())?;
    Some(fip.floating_ip_address.clone())
}

fn skipped(want: &Want<'_>, target: Target<'_>) -> Address {
    let warning = Event::warning(
        "LoadBalancerFloatingIPSkipped",
        format!(
            "Floating IP not supported for IPv6 Service {}. Using IPv6 address instead {}.",
            named(want),
            target.address
        ),
    );
    Address {
        ip: target.address.to_owned(),
        events: vec![warning],
    }
}

fn homeless(want: &Want<'_>) -> Vec<Event> {
    let service = named(want);
    let search = format!("Failed to find floating-network-id for Service {service}: failed to find object");
    let forced = format!(
        "Floating network configuration not provided for Service {service}, forcing to ensure an internal load balancer service"
    );
    vec![
        Event::warning("LoadBalancerExternalNetworkSearchFailed", search),
        Event::warning("LoadBalancerForcedInternal", forced),
    ]
}

fn named(want: &Want<'_>) -> String {
    format!("{}/{}", want.service.namespace, want.service.name)
}
