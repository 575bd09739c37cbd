//! What is around a load balancer that matches: the address it is reached by, the security group of the nodes, and what is
//! noted on the Service.

use super::{
    Pass, Reconciler, annotations as key,
    create::{known, want},
    desired::is_untranslated,
    ensure::{Completeness, Scope},
    features::is_ovn,
    floating_ip::{self, Target},
    former::Farewell,
    halt::Result,
    network,
    role::Identity,
    seal::{More, Past, Told},
    security_group::{self, Sources},
    settings::Exposure,
    status::status,
    tree, warnings,
};
use crate::api::octavia::LoadBalancer;
use cloud::{IpFamily, Noted, Notes, Progress, Spec, Status};

impl Reconciler {
    /// Everything besides Octavia, and the answer.
    pub(super) async fn finish(
        &self,
        pass: &Pass<'_>,
        balancer: &LoadBalancer,
        identity: &Identity,
        scope: Scope,
        whole: Completeness,
        mut notes: Notes,
    ) -> Result<Noted<Progress<Status>>> {
        // A seal says, too, that the address was seen to and who came before was left, and new hosts do not lead to that.
        let told = Told::of(pass.spec).filter(|told| told.balancer == balancer.id);
        let (status, without) = match scope {
            Scope::All => self.expose(pass, balancer, identity, &mut notes).await?,
            Scope::Hosts => (
                pass.spec.status.clone(),
                told.as_ref().and_then(|told| told.more.without),
            ),
        };
        if let Some(waiting) = self.guard(pass, balancer, identity, scope).await? {
            return Ok(Noted::new(waiting, notes));
        }
        let former = match (scope, &told) {
            (Scope::All, _) => match Box::pin(self.say_farewell(pass, balancer, &mut notes)).await? {
                Farewell::Waiting(waiting) => return Ok(Noted::new(waiting, notes)),
                Farewell::Said { but } => but,
            },
            (Scope::Hosts, told) => told.as_ref().map_or_else(Vec::new, |told| told.more.former.clone()),
        };
        let more = More {
            role: identity.role,
            former,
            without,
        };
        let seal = match (whole, scope, told) {
            (Completeness::Whole, Scope::All, _) | (Completeness::Whole, Scope::Hosts, Some(_)) => {
                Some(pass.digest.seal(balancer, &more))
            }
            // What is refused is tried and told once by every process.
            (Completeness::Part | Completeness::Gap(_), Scope::All, _) => {
                Some(pass.digest.broken_seal(balancer, &more))
            }
            (_, Scope::Hosts, _) => None,
        };
        if let Some(seal) = seal {
            note(&mut notes, pass.spec, key::SEAL, seal);
        }
        warnings::warn(pass, balancer, identity, &mut notes);
        Ok(Noted::new(Progress::Done(status), notes))
    }

    /// The address that the Service is reached by, and the one that it asks for and goes without.
    async fn expose<'a>(
        &self,
        pass: &Pass<'a>,
        balancer: &LoadBalancer,
        identity: &Identity,
        notes: &mut Notes,
    ) -> Result<(Status, Option<&'a str>)> {
        let (addresses, without) = self.addresses(pass, balancer, identity, notes).await?;
        note(notes, pass.spec, key::LOAD_BALANCER_ID, balancer.id.clone());
        if let Some(first) = addresses.first() {
            note(notes, pass.spec, key::LOAD_BALANCER_ADDRESS, first.clone());
        }
        Ok((status(&addresses, &pass.settings, &pass.config.load_balancer), without))
    }

    async fn addresses<'a>(
        &self,
        pass: &Pass<'a>,
        balancer: &LoadBalancer,
        identity: &Identity,
        notes: &mut Notes,
    ) -> Result<(Vec<String>, Option<&'a str>)> {
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
        let choice = network::choose(pass.spec, &pass.settings, pass.config)?;
        let known = known(pass.spec, &pass.settings);
        let mut want = want(pass.spec, &pass.settings, identity.role, &known);
        let without = floating_ip::disregarded(&want, Past::of(pass.spec), &attached).and(pass.spec.ip.as_deref());
        if let Some(ip) = without {
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
            self.memory.touched(&balancer.id);
        }
        let address = ensured?;
        notes.events.extend(address.events);
        let more = tree::further_addresses(balancer, &pass.spec.families);
        let addresses = std::iter::once(address.ip)
            .chain(more)
            .filter(|address| !address.is_empty())
            .collect();
        Ok((addresses, without))
    }

    /// The security group of the nodes, if it is ours to look after; else there is none.
    async fn guard(
        &self,
        pass: &Pass<'_>,
        balancer: &LoadBalancer,
        identity: &Identity,
        scope: Scope,
    ) -> Result<Option<Progress<Status>>> {
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
            self.groups.ensure(self.session(), &self.networks, &want).await?;
            return Ok(None);
        }
        if scope == Scope::Hosts || self.memory.is_groupless(&service.uid) {
            return Ok(None);
        }
        match self.groups.remove(self.session(), service).await? {
            Progress::Done(()) => {
                self.memory.groupless(&service.uid);
                Ok(None)
            }
            Progress::Pending {
                poll_after,
                waiting_for,
            } => Ok(Some(Progress::Pending {
                poll_after,
                waiting_for,
            })),
        }
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
