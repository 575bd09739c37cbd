//! Creates a load balancer, with everything on it in one call.

use crate::{
    api::{
        neutron::floating_ips::FloatingIp,
        octavia::{LoadBalancer, NewLoadBalancer},
    },
    load_balancers::{
        Reconciler,
        balancer::desired::{self, Inputs},
        floating_ip, names, network, node_address,
        settings::{Exposure, Settings},
    },
};
use cloud::{Error, IpFamily, Result, Spec};
use cloud_http::{Failure, Fault, Reach, http::StatusCode};
use provider_kit::load_balancer::{Content, Created, Halt, Ownership};
use std::time::Duration;
use tokio::time::Instant;
use tracing::warn;

impl Reconciler {
    /// Creates the load balancer of a Service that has none. What can be found wrong is found before anything is created.
    pub(super) async fn create_for(&self, inputs: &Inputs<'_>) -> Result<Created, Halt> {
        self.check_certificate(inputs).await?;
        let choice = network::choose(inputs.spec, inputs.settings, inputs.config)?;
        let reserved = self.reserve(inputs, &choice).await?;
        let asked = Instant::now();
        let created = match self.make(inputs, &choice).await {
            Ok(balancer) => balancer,
            Err(error) => {
                if is_unanswered(&error) {
                    self.state.unanswered(inputs.spec, asked.elapsed());
                }
                if let Some(fip) = reserved {
                    floating_ip::give_back(self.session(), &fip).await;
                }
                return Err(self.without_address(inputs, error));
            }
        };
        self.learned.got_address(inputs.spec);
        if !inputs.config.load_balancer.manage_security_groups {
            self.learned.no_group(&inputs.spec.service.uid);
        }
        let content = if inputs.populates() {
            Content::Complete
        } else {
            Content::Partial
        };
        Ok(Created {
            id: created.id,
            content,
        })
    }

    /// Reserves the floating IP that the Service asks for before the load balancer is created, so that a refusal comes first. IPv6 addresses
    /// have no floating IP.
    async fn reserve(&self, inputs: &Inputs<'_>, choice: &network::Choice) -> Result<Option<FloatingIp>, Halt> {
        let known = previous_addresses(inputs.spec, inputs.settings);
        let desired = desired_floating_ip(inputs.spec, inputs.settings, Ownership::Owner, &known);
        let (session, reservations) = (self.session(), &self.lists.reserved);
        reservations.give_back(session, desired.service, desired.ip).await?;
        let floating = choice.floating.as_ref().filter(|_| !is_v6(inputs.spec));
        let port = choice.vip.port();
        floating_ip::reserve(session, &self.networks, reservations, &desired, floating, port).await
    }

    /// A load balancer that cannot have its previous address again gets another one. First it is read whether it was created nevertheless.
    fn without_address(&self, inputs: &Inputs<'_>, error: Error) -> Halt {
        let Some(address) = self.previous_address(inputs).filter(|_| is_unavailable(&error)) else {
            return error.into();
        };
        let name = names::load_balancer(&inputs.spec.cluster, &inputs.spec.service);
        warn!(name, address, error = error.report(), "the previous address is refused");
        self.learned.lost_address(inputs.spec);
        Halt::Pending {
            poll_after: Duration::from_secs(1),
            waiting_for: format!(
                "load balancer {name}, which cannot have the address {address} again and gets another one"
            ),
        }
    }

    /// Not every provider of Octavia supports more than one address: the first one alone is better than none.
    async fn make(&self, inputs: &Inputs<'_>, choice: &network::Choice) -> Result<LoadBalancer> {
        let Spec { families, .. } = inputs.spec;
        let first = &families[..families.len().min(1)];
        let possible = if inputs.features.additional_vips {
            families
        } else {
            first
        };
        let new = self.new_load_balancer(inputs, choice, possible).await?;
        match self.octavia.create::<LoadBalancer>(&new).await {
            Err(error) if !new.additional_vips.is_empty() && is_refused(&error) => {
                warn!(name = new.name, error = error.report(), "a second address is refused");
                let new = self.new_load_balancer(inputs, choice, first).await?;
                self.octavia.create::<LoadBalancer>(&new).await
            }
            made => made,
        }
    }

    async fn new_load_balancer(
        &self,
        inputs: &Inputs<'_>,
        choice: &network::Choice,
        possible: &[IpFamily],
    ) -> Result<NewLoadBalancer> {
        let (vip, member_network) = self.vip(inputs, choice, possible).await?;
        let wanted = inputs.desired(&member_network)?;
        Ok(inputs.new_load_balancer(&wanted, vip))
    }

    /// The addresses of the new load balancer, of the possible families, and the networks of its members.
    async fn vip(
        &self,
        inputs: &Inputs<'_>,
        choice: &network::Choice,
        possible: &[IpFamily],
    ) -> Result<(desired::NewVip, desired::MemberNetwork)> {
        let Spec { families, hosts, .. } = inputs.spec;
        let member_network = self
            .networks
            .vip_placement(self.session(), choice, hosts, possible)
            .await?;
        let first = families.first().copied();
        let member_subnet = self
            .networks
            .members(
                self.session(),
                choice,
                member_network.subnet.as_deref(),
                Ownership::Owner,
                hosts,
                first,
            )
            .await?;
        let second = possible
            .get(1)
            .copied()
            .filter(|_| !member_network.additional.is_empty());
        let second_subnet = member_network.additional.first().cloned();
        let asked = inputs.spec.ip.as_deref().filter(|ip| !ip.is_empty() && is_own(inputs));
        let address = asked.or_else(|| self.previous_address(inputs)).map(str::to_owned);
        let vip = desired::NewVip {
            port: member_network.port,
            subnet: member_network.subnet,
            network: member_network.network,
            address,
            additional: member_network.additional,
        };
        let member_network = desired::MemberNetwork {
            member_subnet,
            second_subnet,
            families: first.into_iter().chain(second).collect(),
        };
        Ok((vip, member_network))
    }

    /// The previous address of a load balancer that the Service owned, if a new one may get it. A floating IP is kept by other means.
    fn previous_address<'a>(&self, inputs: &'a Inputs<'_>) -> Option<&'a str> {
        let Inputs { spec, settings, .. } = inputs;
        let asks = spec.ip.as_deref().is_some_and(|ip| !ip.is_empty());
        let own = is_own(inputs) && inputs.record.is_none_or(|record| record.ownership == Ownership::Owner);
        if asks || !own || settings.port_id.is_some() || self.learned.has_lost_address(spec) {
            return None;
        }
        previous_address(spec, settings)
    }
}

/// The previous address of the Service, of its first family.
fn previous_address<'a>(spec: &'a Spec, settings: &'a Settings) -> Option<&'a str> {
    let family = spec.families.first().copied().unwrap_or(IpFamily::V4);
    let published = spec.status.ingress.iter().filter_map(|ingress| ingress.ip.as_deref());
    let mut all = settings.address.as_deref().into_iter().chain(published);
    all.find(|address| node_address::family_of(address) == Some(family))
}

/// Whether the cloud may still execute the request, directly or behind a proxy that gave up.
fn is_unanswered(error: &Error) -> bool {
    let proxy = [StatusCode::BAD_GATEWAY, StatusCode::GATEWAY_TIMEOUT];
    Fault::of(error).is_some_and(|fault| fault.reach() == Reach::Perhaps)
        || Failure::of(error).is_some_and(|failure| proxy.contains(&failure.status()))
}

/// Whether Octavia or its provider refuses the request.
fn is_refused(error: &Error) -> bool {
    let refusals = [StatusCode::BAD_REQUEST, StatusCode::NOT_IMPLEMENTED];
    matches!(error, Error::Invalid { .. })
        || Failure::of(error).is_some_and(|failure| refusals.contains(&failure.status()))
}

/// Whether another address may succeed. Octavia also answers 500 if Neutron refuses an address.
fn is_unavailable(error: &Error) -> bool {
    let refusals = [StatusCode::CONFLICT, StatusCode::INTERNAL_SERVER_ERROR];
    is_refused(error) || Failure::of(error).is_some_and(|failure| refusals.contains(&failure.status()))
}

/// Whether `spec.loadBalancerIP` is the load balancer's own address, and not that of a floating IP.
pub(super) fn is_own(inputs: &Inputs<'_>) -> bool {
    inputs.settings.exposure == Exposure::Internal || is_v6(inputs.spec)
}

/// Whether the load balancer is to have an address of IPv6.
fn is_v6(spec: &Spec) -> bool {
    spec.families.first() == Some(&IpFamily::V6)
}

/// The previous IPv4 addresses of the Service.
pub(super) fn previous_addresses<'a>(spec: &'a Spec, settings: &'a Settings) -> Vec<&'a str> {
    let published = spec.status.ingress.iter().filter_map(|ingress| ingress.ip.as_deref());
    let mut known: Vec<&str> = settings.address.as_deref().into_iter().chain(published).collect();
    known.retain(|address| address.parse::<std::net::Ipv4Addr>().is_ok());
    known.sort_unstable();
    known.dedup();
    known
}

/// The floating IP that a Service asks for.
pub(super) fn desired_floating_ip<'a>(
    spec: &'a Spec,
    settings: &Settings,
    ownership: Ownership,
    known: &'a [&'a str],
) -> floating_ip::DesiredFloatingIp<'a> {
    floating_ip::DesiredFloatingIp {
        cluster: &spec.cluster,
        service: &spec.service,
        exposure: settings.exposure,
        ownership,
        ip: spec.ip.as_deref().filter(|ip| !ip.is_empty()),
        known,
        retention: settings.floating_ip,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load_balancers::tests::objects::asked;
    use cloud::Ingress;
    use rstest::rstest;

    #[rstest]
    #[case::never_served("80 -> a", None, None)]
    #[case::published("80 -> a; load-balancer-address=10.0.0.9", None, Some("10.0.0.9"))]
    #[case::in_its_status("80 -> a", Some("10.0.0.9"), Some("10.0.0.9"))]
    #[case::of_another_family("80 -> a; v6 load-balancer-address=10.0.0.9", None, None)]
    #[case::of_ipv6("80 -> a; v6 load-balancer-address=2001:db8::9", None, Some("2001:db8::9"))]
    #[case::no_address("80 -> a; load-balancer-address=web.example.com", None, None)]
    fn has_a_previous_address(#[case] text: &str, #[case] status: Option<&str>, #[case] expected: Option<&str>) {
        let mut asked = asked(text);
        asked.spec.status.ingress.extend(status.map(|ip| Ingress {
            ip: Some(ip.to_owned()),
            ..Ingress::default()
        }));
        assert_eq!(previous_address(&asked.spec, &asked.settings()), expected);
    }
}
