//! What is around a load balancer that matches: the address it is reached by, the security group of the nodes, and what is
//! noted on the Service.

use super::{
    Pass, Reconciler, annotations as key,
    create::{known, want},
    ensure::{Completeness, Scope},
    features::is_ovn,
    floating_ip::{self, Target},
    network,
    role::Identity,
    security_group::{self, Sources},
    settings::Exposure,
    status::status,
    tree, warnings,
};
use crate::api::octavia::LoadBalancer;
use cloud::{Deletion, IpFamily, Noted, Notes, Outcome, Protocol, Result, Spec, Status};

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
    ) -> Result<Noted<Outcome>> {
        let status = match scope {
            Scope::All => self.expose(pass, balancer, identity, &mut notes).await?,
            Scope::Hosts => pass.spec.status.clone(),
        };
        if let Some(waiting) = self.guard(pass, balancer, identity, scope).await? {
            return Ok(waiting);
        }
        if whole == Completeness::Whole {
            note(&mut notes, pass.spec, key::SEAL, pass.digest.seal(balancer));
        }
        warnings::warn(pass, &mut notes);
        Ok(Noted::new(Outcome::Ready(status), notes))
    }

    /// The address that the Service is reached by.
    async fn expose(
        &self,
        pass: &Pass<'_>,
        balancer: &LoadBalancer,
        identity: &Identity,
        notes: &mut Notes,
    ) -> Result<Status> {
        let addresses = self.addresses(pass, balancer, identity, notes).await?;
        note(notes, pass.spec, key::LOAD_BALANCER_ID, balancer.id.clone());
        if let Some(first) = addresses.first() {
            note(notes, pass.spec, key::LOAD_BALANCER_ADDRESS, first.clone());
        }
        Ok(status(&addresses, &pass.settings, &pass.config.load_balancer))
    }

    pub(super) async fn addresses(
        &self,
        pass: &Pass<'_>,
        balancer: &LoadBalancer,
        identity: &Identity,
        notes: &mut Notes,
    ) -> Result<Vec<String>> {
        let port = balancer.vip_port_id.as_deref().unwrap_or_default();
        let target = Target {
            port,
            address: &balancer.vip_address,
        };
        let floats = tree::families(balancer).first() != Some(&IpFamily::V6) && !port.is_empty();
        let attached = if floats {
            self.observer()
                .floating_ips(&balancer.id, port, pass.settings.exposure)
                .await?
        } else {
            Vec::new()
        };
        let before: Vec<String> = attached.iter().map(|fip| fip.floating_ip_address.clone()).collect();
        let choice = network::choose(pass.spec, &pass.settings, pass.config)?;
        let known = known(pass.spec, &pass.settings);
        let want = want(pass.spec, &pass.settings, identity.role, &known);
        let ensured = floating_ip::ensure(
            self.session(),
            &self.networks,
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
        notes.warnings.extend(address.warnings);
        let more = balancer.additional_vips.iter().filter_map(|vip| vip.ip_address.clone());
        Ok(std::iter::once(address.ip)
            .chain(more)
            .filter(|address| !address.is_empty())
            .collect())
    }

    /// The security group of the nodes, if it is ours to look after; else there is none.
    async fn guard(
        &self,
        pass: &Pass<'_>,
        balancer: &LoadBalancer,
        identity: &Identity,
        scope: Scope,
    ) -> Result<Option<Noted<Outcome>>> {
        let defaults = &pass.config.load_balancer;
        let service = &pass.spec.service;
        if defaults.manage_security_groups {
            let place = self.place(pass, balancer, identity).await?;
            let subnets: Vec<String> = place
                .member_subnet
                .or_else(|| balancer.vip_subnet_id.clone())
                .into_iter()
                .collect();
            let wish = pass.wish();
            let want = security_group::Want {
                spec: pass.spec,
                hosts: &wish.hosts(),
                families: &reached(pass.spec, &place.families),
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
            Deletion::Gone => {
                self.memory.groupless(&service.uid);
                Ok(None)
            }
            Deletion::Pending {
                poll_after,
                waiting_for,
            } => Ok(Some(
                Outcome::Pending {
                    poll_after,
                    waiting_for,
                }
                .into(),
            )),
        }
    }
}

/// Sets an annotation, unless it says so already.
fn note(notes: &mut Notes, spec: &Spec, key: &str, value: String) {
    if spec.annotations.get(key) != Some(&value) {
        notes.annotate(key, value);
    }
}

/// The families that the nodes are reached by.
fn reached(spec: &Spec, vips: &[IpFamily]) -> Vec<IpFamily> {
    let first = spec.families.first().copied();
    let untranslated = spec.ports.iter().any(|port| port.protocol != Protocol::Tcp);
    let more = vips
        .iter()
        .copied()
        .filter(|family| untranslated && Some(*family) != first && first.is_some());
    first.into_iter().chain(more).collect()
}
