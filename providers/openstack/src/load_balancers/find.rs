//! Looking, without changing anything.

use super::{
    Reconciler, names,
    settings::{Exposure, Settings},
    status::status,
    tree,
};
use crate::api::octavia::{LoadBalancer, Provisioning};
use cloud::{IpFamily, Owned, Result, ServiceRef, Spec, Status};
use provider_kit::load_balancer::Scope;

impl Reconciler {
    /// The load balancer of a Service and how it is reached, as `ensure` would say.
    pub(super) async fn find(&self, spec: &Spec) -> Result<Option<Status>> {
        let settings = Settings::unchecked(spec, self.config());
        let Some(balancer) = self.locate_for(spec, &settings, Scope::Deletion).await? else {
            return Ok(None);
        };
        let addresses = self.seen_addresses(&balancer, &settings, &spec.families).await?;
        Ok(Some(status(&addresses, &settings, &self.config().load_balancer)))
    }

    /// All load balancers that were made for Services of this cluster. Those that do not tell the Service's UID were made
    /// by another program, and are nobody's orphans.
    pub(super) async fn owned(&self, cluster: &str) -> Result<Vec<Owned>> {
        let all = Box::pin(self.octavia.load_balancers()).await?;
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
