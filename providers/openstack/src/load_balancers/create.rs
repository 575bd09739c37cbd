//! Making a load balancer, with everything on it in one call.

use super::{
    Pass, Reconciler, desired, floating_ip, names, network, node_address,
    settings::{Exposure, Settings},
};
use crate::api::{
    neutron::floating_ips::FloatingIp,
    octavia::{LoadBalancer, NewLoadBalancer},
};
use cloud::{Error, IpFamily, Result, Spec};
use cloud_http::{Failure, Fault, Reach, http::StatusCode};
use provider_kit::load_balancer::{Content, Created, Halt, Ownership};
use std::time::Duration;
use tokio::time::Instant;
use tracing::warn;

impl Reconciler {
    /// Creates the load balancer of a Service that has none. What can be found wrong is found before anything is created.
    pub(super) async fn create_for(&self, pass: &Pass<'_>) -> Result<Created, Halt> {
        self.check_certificate(pass).await?;
        let choice = network::choose(pass.spec, pass.settings, pass.config)?;
        let reserved = self.reserve(pass, &choice).await?;
        let asked = Instant::now();
        let created = match self.make(pass, &choice).await {
            Ok(balancer) => balancer,
            Err(error) => {
                if is_unanswered(&error) {
                    self.state.unanswered(pass.spec, asked.elapsed());
                }
                if let Some(fip) = reserved {
                    floating_ip::give_back(self.session(), &fip).await;
                }
                return Err(self.without_address(pass, error));
            }
        };
        self.learned.got_address(pass.spec);
        if !pass.config.load_balancer.manage_security_groups {
            self.learned.no_group(&pass.spec.service.uid);
        }
        let content = if pass.wish().populates() {
            Content::Complete
        } else {
            Content::Partial
        };
        Ok(Created {
            id: created.id,
            content,
        })
    }

    /// The floating IP that the Service asks for, created before the load balancer so that a refusal shows first. An address of IPv6 has no
    /// floating IP. What the Service asks for may not be what it gets, which shows later.
    async fn reserve(&self, pass: &Pass<'_>, choice: &network::Choice) -> Result<Option<FloatingIp>, Halt> {
        let known = known(pass.spec, pass.settings);
        let want = want(pass.spec, pass.settings, Ownership::Owner, &known);
        let (session, reservations) = (self.session(), &self.lists.reserved);
        reservations.give_back(session, want.service, want.ip).await?;
        let floating = choice.floating.as_ref().filter(|_| !is_v6(pass.spec));
        let port = choice.vip.port();
        floating_ip::reserve(session, &self.networks, reservations, &want, floating, port).await
    }

    /// A load balancer that cannot have its previous address again gets another one. First it is read whether it was created nevertheless.
    fn without_address(&self, pass: &Pass<'_>, error: Error) -> Halt {
        let Some(address) = self.had(pass).filter(|_| cannot_be_had(&error)) else {
            return error.into();
        };
        let name = names::load_balancer(&pass.spec.cluster, &pass.spec.service);
        warn!(name, address, error = error.report(), "the previous address is refused");
        self.learned.lost_address(pass.spec);
        Halt::Pending {
            poll_after: Duration::from_secs(1),
            waiting_for: format!(
                "load balancer {name}, which cannot have the address {address} again and gets another one"
            ),
        }
    }

    /// Not every provider that Octavia has can give a load balancer more than one address, whatever Octavia itself can do:
    /// the first one alone is better than none.
    async fn make(&self, pass: &Pass<'_>, choice: &network::Choice) -> Result<LoadBalancer> {
        let Spec { families, .. } = pass.spec;
        let first = &families[..families.len().min(1)];
        let possible = if pass.features.additional_vips { families } else { first };
        let new = self.new_load_balancer(pass, choice, possible).await?;
        match self.octavia.create_load_balancer(&new).await {
            Err(error) if !new.additional_vips.is_empty() && is_refused(&error) => {
                warn!(name = new.name, error = error.report(), "a second address is refused");
                let new = self.new_load_balancer(pass, choice, first).await?;
                self.octavia.create_load_balancer(&new).await
            }
            made => made,
        }
    }

    async fn new_load_balancer(
        &self,
        pass: &Pass<'_>,
        choice: &network::Choice,
        possible: &[IpFamily],
    ) -> Result<NewLoadBalancer> {
        let (vip, place) = self.vip(pass, choice, possible).await?;
        let wish = pass.wish();
        let wanted = wish.desired(&place)?;
        Ok(wish.new_load_balancer(&wanted, vip))
    }

    /// Where the new load balancer has its addresses, of the families that are possible, and its members.
    async fn vip(
        &self,
        pass: &Pass<'_>,
        choice: &network::Choice,
        possible: &[IpFamily],
    ) -> Result<(desired::Vip, desired::Place)> {
        let Spec { families, hosts, .. } = pass.spec;
        let place = self.networks.place(self.session(), choice, hosts, possible).await?;
        let first = families.first().copied();
        let member_subnet = self
            .networks
            .members(
                self.session(),
                choice,
                place.subnet.as_deref(),
                Ownership::Owner,
                hosts,
                first,
            )
            .await?;
        let second = possible.get(1).copied().filter(|_| !place.additional.is_empty());
        let further_subnet = place.additional.first().cloned();
        let asked = pass.spec.ip.as_deref().filter(|ip| !ip.is_empty() && is_own(pass));
        let address = asked.or_else(|| self.had(pass)).map(str::to_owned);
        let vip = desired::Vip {
            port: place.port,
            subnet: place.subnet,
            network: place.network,
            address,
            additional: place.additional,
        };
        let place = desired::Place {
            member_subnet,
            further_subnet,
            families: first.into_iter().chain(second).collect(),
        };
        Ok((vip, place))
    }

    /// The address of a load balancer of its own that the Service had, if a new one may get it. That of a floating IP is kept
    /// with that.
    fn had<'a>(&self, pass: &'a Pass<'_>) -> Option<&'a str> {
        let Pass { spec, settings, .. } = pass;
        let asks = spec.ip.as_deref().is_some_and(|ip| !ip.is_empty());
        let own = is_own(pass) && pass.record.is_none_or(|record| record.ownership == Ownership::Owner);
        if asks || !own || settings.port_id.is_some() || self.learned.has_lost_address(spec) {
            return None;
        }
        had(spec, settings)
    }
}

/// The address that the Service had, of its first family.
fn had<'a>(spec: &'a Spec, settings: &'a Settings) -> Option<&'a str> {
    let family = spec.families.first().copied().unwrap_or(IpFamily::V4);
    let told = spec.status.ingress.iter().filter_map(|ingress| ingress.ip.as_deref());
    let mut all = settings.address.as_deref().into_iter().chain(told);
    all.find(|address| node_address::family_of(address) == Some(family))
}

/// Whether the cloud may still be at it, directly or behind a proxy that lost its patience.
fn is_unanswered(error: &Error) -> bool {
    let proxy = [StatusCode::BAD_GATEWAY, StatusCode::GATEWAY_TIMEOUT];
    Fault::of(error).is_some_and(|fault| fault.reach() == Reach::Perhaps)
        || Failure::of(error).is_some_and(|failure| proxy.contains(&failure.status()))
}

/// Whether Octavia, or the provider behind it, does not do what it is asked for.
fn is_refused(error: &Error) -> bool {
    let refusals = [StatusCode::BAD_REQUEST, StatusCode::NOT_IMPLEMENTED];
    matches!(error, Error::Invalid { .. })
        || Failure::of(error).is_some_and(|failure| refusals.contains(&failure.status()))
}

/// Whether what was asked for may be had but for the address: Octavia answers as it does if Neutron refuses it, which is also
/// with 500.
fn cannot_be_had(error: &Error) -> bool {
    let refusals = [StatusCode::CONFLICT, StatusCode::INTERNAL_SERVER_ERROR];
    is_refused(error) || Failure::of(error).is_some_and(|failure| refusals.contains(&failure.status()))
}

/// Whether `spec.loadBalancerIP` is the load balancer's own address, and not that of a floating IP.
pub(super) fn is_own(pass: &Pass<'_>) -> bool {
    pass.settings.exposure == Exposure::Internal || is_v6(pass.spec)
}

/// Whether the load balancer is to have an address of IPv6.
fn is_v6(spec: &Spec) -> bool {
    spec.families.first() == Some(&IpFamily::V6)
}

/// The addresses that the Service had.
pub(super) fn known<'a>(spec: &'a Spec, settings: &'a Settings) -> Vec<&'a str> {
    let told = spec.status.ingress.iter().filter_map(|ingress| ingress.ip.as_deref());
    let mut known: Vec<&str> = settings.address.as_deref().into_iter().chain(told).collect();
    known.retain(|address| address.parse::<std::net::Ipv4Addr>().is_ok());
    known.sort_unstable();
    known.dedup();
    known
}

/// What is wanted of the floating IP.
pub(super) fn want<'a>(
    spec: &'a Spec,
    settings: &Settings,
    ownership: Ownership,
    known: &'a [&'a str],
) -> floating_ip::Want<'a> {
    floating_ip::Want {
        cluster: &spec.cluster,
        service: &spec.service,
        exposure: settings.exposure,
        ownership,
        ip: spec.ip.as_deref().filter(|ip| !ip.is_empty()),
        known,
        kept: settings.floating_ip,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load_balancers::sample::asked;
    use cloud::Ingress;
    use rstest::rstest;

    #[rstest]
    #[case::never_served("80 -> a", None, None)]
    #[case::told("80 -> a; load-balancer-address=10.0.0.9", None, Some("10.0.0.9"))]
    #[case::in_its_status("80 -> a", Some("10.0.0.9"), Some("10.0.0.9"))]
    #[case::of_another_family("80 -> a; v6 load-balancer-address=10.0.0.9", None, None)]
    #[case::of_ipv6("80 -> a; v6 load-balancer-address=2001:db8::9", None, Some("2001:db8::9"))]
    #[case::no_address("80 -> a; load-balancer-address=web.example.com", None, None)]
    fn had_an_address(#[case] text: &str, #[case] status: Option<&str>, #[case] expected: Option<&str>) {
        let mut asked = asked(text);
        asked.spec.status.ingress.extend(status.map(|ip| Ingress {
            ip: Some(ip.to_owned()),
            ..Ingress::default()
        }));
        assert_eq!(had(&asked.spec, &asked.settings()), expected);
    }
}
