//! Reads without changes.

use super::status::status;
use crate::{
    api::octavia::{LoadBalancer, Provisioning},
    load_balancers::{
        Reconciler,
        balancer::tree,
        names,
        settings::{Exposure, Settings},
    },
};
use cloud::{IpFamily, Owned, Result, ServiceRef, Spec, Status};
use provider_kit::load_balancer::Scope;

impl Reconciler {
    /// The load balancer of a Service and its addresses, as `ensure` reports them.
    pub(crate) async fn find(&self, spec: &Spec) -> Result<Option<Status>> {
        let settings = Settings::unchecked(spec, self.config());
        let Some(balancer) = self.locate_for(spec, &settings, Scope::Deletion).await? else {
            return Ok(None);
        };
        let addresses = self.seen_addresses(&balancer, &settings, &spec.families).await?;
        Ok(Some(status(&addresses, &settings, &self.config().load_balancer)))
    }

    /// All load balancers that were created for Services of this cluster. Those without a Service's UID were created by another program, and are
    /// never orphans.
    pub(crate) async fn owned(&self, cluster: &str) -> Result<Vec<Owned>> {
        let all = self.octavia.load_balancers().await?;
        Ok(all
            .into_iter()
            .filter_map(|balancer| owned(balancer, cluster))
            .collect())
    }

    async fn seen_addresses(
        &self,
        balancer: &LoadBalancer,
        settings: &Settings,
        families: &[IpFamily],
    ) -> Result<Vec<String>> {
        let port = tree::floating_port(balancer).filter(|_| settings.exposure == Exposure::External);
        let floating = match port {
            Some(port) => self
                .observer()
                .floating_ips(&balancer.id, port, settings.exposure)
                .await?
                .into_iter()
                .next(),
            None => None,
        };
        let first = floating.map_or_else(|| balancer.vip_address.clone(), |fip| fip.floating_ip_address);
        let more = tree::further_addresses(balancer, families);
        Ok(std::iter::once(first)
            .chain(more)
            .filter(|address| !address.is_empty())
            .collect())
    }
}

fn owned(balancer: LoadBalancer, cluster: &str) -> Option<Owned> {
    let (of, namespace, name) = names::parse(&balancer.name)?;
    let going = matches!(
        balancer.provisioning_status,
        Provisioning::PendingDelete | Provisioning::Deleted
    );
    if of != cluster || going {
        return None;
    }
    let service = names::uid_of(&balancer.tags).map(|uid| ServiceRef {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        uid: uid.to_owned(),
    });
    Some(Owned {
        kind: "load balancer".to_owned(),
        service,
        id: balancer.id,
        name: balancer.name,
    })
}
