//! What is around a load balancer that matches: the address it is reached by, the security group of the nodes, and what is
//! noted on the Service.

use super::{
    Pass, Reconciler, annotations as key,
    create::{known, want},
    desired::is_untranslated,
    engine::{Request, identity},
    features::is_ovn,
    floating_ip::{self, Target},
    network,
    ownership::Identity,
    security_group::{self, Sources},
    settings::Exposure,
    status::status,
    tree, warnings,
};
use crate::api::octavia::LoadBalancer;
use cloud::{IpFamily, Notes, Result, Spec};
use provider_kit::load_balancer::{Finished, Halt, Scope};

impl Reconciler {
    /// Everything besides Octavia.
    pub(super) async fn finish_for(
        &self,
        request: &Request<'_>,
        balancer: &LoadBalancer,
        notes: &mut Notes,
    ) -> Result<Finished, Halt> {
        let (pass, identity) = (self.pass(request), identity(request, balancer));
        let finished = match request.scope {
            Scope::Hosts => Finished {
                status: pass.spec.status.clone(),
                ignored_ip: pass
                    .record
                    .filter(|record| record.id == balancer.id)
                    .and_then(|record| record.ignored_ip.clone()),
            },
            Scope::All | Scope::Deletion => self.expose(&pass, balancer, &identity, notes).await?,
        };
        self.guard(&pass, balancer, &identity, request.scope).await?;
        Ok(finished)
    }

    /// The address that the Service is reached by, and the one that it asks for and goes without.
    async fn expose(
        &self,
        pass: &Pass<'_>,
        balancer: &LoadBalancer,
        identity: &Identity,
        notes: &mut Notes,
    ) -> Result<Finished, Halt> {
        let (addresses, ignored) = self.addresses(pass, balancer, identity, notes).await?;
        note(notes, pass.spec, key::LOAD_BALANCER_ID.key, balancer.id.clone());
        if let Some(first) = addresses.first() {
            note(notes, pass.spec, key::LOAD_BALANCER_ADDRESS.key, first.clone());
        }
        Ok(Finished {
            status: status(&addresses, pass.settings, &pass.config.load_balancer),
            ignored_ip: ignored.map(str::to_owned),
        })
    }

    async fn addresses<'a>(
        &self,
        pass: &Pass<'a>,
        balancer: &LoadBalancer,
        identity: &Identity,
        notes: &mut Notes,
    ) -> Result<(Vec<String>, Option<&'a str>), Halt> {
        let port = balancer.vip_port_id.as_deref().unwrap_or_default();
        let target = Target {
            port,
            address: &balancer.vip_address,
        };
        let attached = match tree::floating_port(balancer) {
            Some(port) => {
                let exposure = pass.settings.exposure;
                self.observer().floating_ips(&balancer.id, port, exposure).await?
            }
            None => Vec::new(),
        };
        let before: Vec<String> = attached.iter().map(|fip| fip.floating_ip_address.clone()).collect();
        let choice = network::choose(pass.spec, pass.settings, pass.config)?;
        let known = known(pass.spec, pass.settings);
        let mut want = want(pass.spec, pass.settings, identity.ownership, &known);
        let ignored = floating_ip::disregarded(&want, pass.record, &attached).and(pass.spec.ip.as_deref());
        if let Some(ip) = ignored {
            want.ip = None;
            warnings::goes_without(pass.spec, ip, &before, notes);
        }
        let reserved = &self.lists.reserved;
        let asked = pass.spec.ip.as_deref();
        reserved.give_back(self.session(), want.service, asked).await?;
        let ensured = floating_ip::ensure(
            self.session(),
            &self.networks,
            reserved,
            &want,
            target,
            choice.floating.as_ref(),
            attached,
        )
        .await;
        let unchanged = ensured.as_ref().is_ok_and(|address| match pass.settings.exposure {
            Exposure::External => before.contains(&address.ip),
            Exposure::Internal => before.is_empty(),
        });
        if !unchanged {
            self.state.touched(&balancer.id);
        }
        let address = ensured?;
        notes.events.extend(address.events);
        let more = tree::further_addresses(balancer, &pass.spec.families);
        let addresses = std::iter::once(address.ip)
            .chain(more)
            .filter(|address| !address.is_empty())
            .collect();
        Ok((addresses, ignored))
    }

    /// The security group of the nodes, if it is ours to look after; else there is none.
    async fn guard(
        &self,
        pass: &Pass<'_>,
        balancer: &LoadBalancer,
        identity: &Identity,
        scope: Scope,
    ) -> Result<(), Halt> {
        let defaults = &pass.config.load_balancer;
        let service = &pass.spec.service;
        if defaults.manage_security_groups {
            let place = self.place(pass, balancer, identity).await?;
            let families = reached(pass.spec, &defaults.lb_provider, &place.families);
            let subnets = [
                place.member_subnet.or_else(|| balancer.vip_subnet_id.clone()),
                place.further_subnet,
            ];
            // One for each family.
            let subnets: Vec<String> = subnets.into_iter().take(families.len().max(1)).flatten().collect();
            let wish = pass.wish();
            let want = security_group::Want {
                spec: pass.spec,
                hosts: &wish.hosts(),
                families: &families,
                vips: &place.families,
                subnets: &subnets,
                sources: if is_ovn(&defaults.lb_provider) {
                    Sources::Clients
                } else {
                    Sources::Balancer
                },
            };
            return self.groups.ensure(self.session(), &self.networks, &want).await;
        }
        if scope == Scope::Hosts || self.learned.has_no_group(&service.uid) {
            return Ok(());
        }
        self.groups.remove(self.session(), service).await?;
        self.learned.no_group(&service.uid);
        Ok(())
    }
}

/// Sets an annotation, unless it says so already.
fn note(notes: &mut Notes, spec: &Spec, key: &str, value: String) {
    if spec.annotations.get(key) != Some(&value) {
        notes.annotate(key, value);
    }
}

/// The families that the nodes are reached by: as those of the members.
fn reached(spec: &Spec, provider: &str, vips: &[IpFamily]) -> Vec<IpFamily> {
    let untranslated = spec.ports.iter().any(|port| is_untranslated(port.protocol, provider));
    let more = spec.families.iter().skip(1);
    let more = more.filter(|family| untranslated && vips.contains(family));
    spec.families.first().into_iter().chain(more).copied().collect()
}
