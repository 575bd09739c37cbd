//! The load balancers of Services: observe, decide, act, and never wait.

use crate::{Acme, api::LoadBalancer};
use async_trait::async_trait;
use cloud::{AddressKind, Ingress, LoadBalancers, Noted, Owned, Progress, Result, Spec, Status, default_name};
use std::time::Duration;

#[async_trait]
impl LoadBalancers for Acme {
    async fn find(&self, spec: &Spec) -> Result<Option<Status>> {
        let found = self.api.load_balancer(&default_name(&spec.service.uid)).await?;
        Ok(found.and_then(|found| found.address).map(status))
    }

    async fn ensure(&self, spec: &Spec) -> Result<Noted<Progress<Status>>> {
        let mut wanted = desired(spec);
        let observed = self.api.load_balancer(&wanted.name).await?;
        // The address is the cloud's: it is no difference.
        wanted.address = observed.as_ref().and_then(|observed| observed.address.clone());
        if observed.as_ref() != Some(&wanted) {
            self.api.put_load_balancer(&wanted).await?;
        }
        let waiting_for = format!("the address of load balancer {}", wanted.name);
        Ok(match wanted.address {
            Some(address) => Progress::Done(status(address)).into(),
            None => Progress::Pending { poll_after: Duration::from_secs(1), waiting_for }.into(),
        })
    }

    async fn delete(&self, spec: &Spec) -> Result<Noted<Progress<()>>> {
        self.api.delete_load_balancer(&default_name(&spec.service.uid)).await?;
        Ok(Progress::Done(()).into())
    }

    async fn owned(&self, cluster: &str) -> Result<Vec<Owned>> {
        let all = self.api.load_balancers().await?.into_iter();
        let owned = all.filter(|one| one.owner.split('/').next() == Some(cluster)).map(|one| Owned {
            kind: "load balancer".to_owned(),
            id: one.name.clone(),
            name: one.name,
            service: None,
        });
        Ok(owned.collect())
    }
}

fn desired(spec: &Spec) -> LoadBalancer {
    let mapping = |port: &cloud::Port| Some(format!("{}:{}:{}", port.protocol.as_str(), port.port, port.node_port?));
    let addresses = spec.hosts.iter().flat_map(|host| &host.addresses);
    let targets = addresses.filter(|address| address.kind == AddressKind::InternalIP);
    LoadBalancer {
        name: default_name(&spec.service.uid),
        owner: format!("{}/{}/{}", spec.cluster, spec.service.namespace, spec.service.name),
        ports: spec.ports.iter().filter_map(mapping).collect(),
        targets: targets.map(|address| address.address.clone()).collect(),
        address: None,
    }
}

fn status(address: String) -> Status {
    Status { ingress: vec![Ingress { ip: Some(address), ..Ingress::default() }] }
}
