//! Everything besides Octavia: addresses, the security group of the nodes, and the annotations of the Service.

use super::{
    Request,
    create::{desired_floating_ip, previous_addresses},
    relation,
    status::status,
    warnings,
};
use crate::{
    api::octavia::LoadBalancer,
    load_balancers::{
        Reconciler, annotations as key,
        balancer::{
            desired::{Inputs, member_families},
            tree,
        },
        features::is_ovn,
        floating_ip::{self, Target},
        network,
        ownership::Relation,
        security_group::{self, Sources},
        settings::Exposure,
    },
};
use cloud::{Notes, Result, Spec};
use provider_kit::load_balancer::{Finished, Halt, Scope};

impl Reconciler {
    /// Everything besides Octavia.
    pub(super) async fn finish_for(
        &self,
        request: &Request<'_>,
        balancer: &LoadBalancer,
        notes: &mut Notes,
    ) -> Result<Finished, Halt> {
        let (inputs, relation) = (self.inputs(request), relation(request, balancer));
        let finished = match request.scope {
            Scope::Hosts => Finished {
                status: inputs.spec.status.clone(),
                ignored_ip: inputs
                    .record
                    .filter(|record| record.id == balancer.id)
                    .and_then(|record| record.ignored_ip.clone()),
            },
            Scope::All | Scope::Deletion => self.expose(&inputs, balancer, &relation, notes).await?,
        };
        self.guard(&inputs, balancer, &relation, request.scope).await?;
        Ok(finished)
    }

    /// The addresses of the Service, and the address that it asks for and does not get.
    async fn expose(
        &self,
        inputs: &Inputs<'_>,
        balancer: &LoadBalancer,
        relation: &Relation,
        notes: &mut Notes,
    ) -> Result<Finished, Halt> {
        let (addresses, ignored) = self.addresses(inputs, balancer, relation, notes).await?;
        note(notes, inputs.spec, key::LOAD_BALANCER_ID.key, balancer.id.clone());
        if let Some(first) = addresses.first() {
            note(notes, inputs.spec, key::LOAD_BALANCER_ADDRESS.key, first.clone());
        }
        Ok(Finished {
            status: status(&addresses, inputs.settings, &inputs.config.load_balancer),
            ignored_ip: ignored.map(str::to_owned),
        })
    }

    async fn addresses<'a>(
        &self,
        inputs: &Inputs<'a>,
        balancer: &LoadBalancer,
        relation: &Relation,
        notes: &mut Notes,
    ) -> Result<(Vec<String>, Option<&'a str>), Halt> {
        let port = balancer.vip_port_id.as_deref().unwrap_or_default();
        let target = Target {
            port,
            address: &balancer.vip_address,
        };
        let attached = match tree::floating_port(balancer) {
            Some(port) => {
                let exposure = inputs.settings.exposure;
                self.observer().floating_ips(&balancer.id, port, exposure).await?
            }
            None => Vec::new(),
        };
        let before: Vec<String> = attached.iter().map(|fip| fip.floating_ip_address.clone()).collect();
        let choice = network::choose(inputs.spec, inputs.settings, inputs.config)?;
        let known = previous_addresses(inputs.spec, inputs.settings);
        let mut desired = desired_floating_ip(inputs.spec, inputs.settings, relation.ownership, &known);
        let ignored = floating_ip::ignored_ip(&desired, inputs.record, &attached).and(inputs.spec.ip.as_deref());
        if let Some(ip) = ignored {
            desired.ip = None;
            warnings::ignored_address(inputs.spec, ip, &before, notes);
        }
        let reserved = &self.lists.reserved;
        let asked = inputs.spec.ip.as_deref();
        reserved.give_back(self.session(), desired.service, asked).await?;
        let ensured = floating_ip::ensure(
            self.session(),
            &self.networks,
            reserved,
            &desired,
            target,
            choice.floating.as_ref(),
            attached,
        )
        .await;
        let unchanged = ensured.as_ref().is_ok_and(|address| match inputs.settings.exposure {
            Exposure::External => before.contains(&address.ip),
            Exposure::Internal => before.is_empty(),
        });
        if !unchanged {
            self.state.touched(&balancer.id);
        }
        let address = ensured?;
        notes.events.extend(address.events);
        let more = tree::further_addresses(balancer, &inputs.spec.families);
        let addresses = std::iter::once(address.ip)
            .chain(more)
            .filter(|address| !address.is_empty())
            .collect();
        Ok((addresses, ignored))
    }

    /// Ensures the security group of the nodes if it is managed, and removes it otherwise.
    async fn guard(
        &self,
        inputs: &Inputs<'_>,
        balancer: &LoadBalancer,
        relation: &Relation,
        scope: Scope,
    ) -> Result<(), Halt> {
        let defaults = &inputs.config.load_balancer;
        let service = &inputs.spec.service;
        if defaults.manage_security_groups {
            let member_network = self.member_network(inputs, balancer, relation).await?;
            let is_untranslated = |port: &cloud::Port| inputs.is_untranslated(port.protocol);
            let untranslated = inputs.spec.ports.iter().any(is_untranslated);
            let families = member_families(inputs.spec, untranslated, &member_network.families);
            let subnets = [
                member_network.member_subnet.or_else(|| balancer.vip_subnet_id.clone()),
                member_network.second_subnet,
            ];
            // One for each family.
            let subnets: Vec<String> = subnets.into_iter().take(families.len().max(1)).flatten().collect();
            let desired = security_group::DesiredGroup {
                spec: inputs.spec,
                hosts: &inputs.hosts(),
                families: &families,
                vips: &member_network.families,
                subnets: &subnets,
                sources: if is_ovn(&defaults.lb_provider) {
                    Sources::Clients
                } else {
                    Sources::Balancer
                },
            };
            return self.groups.ensure(self.session(), &self.networks, &desired).await;
        }
        if scope == Scope::Hosts || self.learned.has_no_group(&service.uid) {
            return Ok(());
        }
        self.groups.remove(self.session(), service).await?;
        self.learned.no_group(&service.uid);
        Ok(())
    }
}

/// Sets an annotation, unless it has the value.
fn note(notes: &mut Notes, spec: &Spec, key: &str, value: String) {
    if spec.annotations.get(key) != Some(&value) {
        notes.annotate(key, value);
    }
}
