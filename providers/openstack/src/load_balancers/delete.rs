//! Deleting a load balancer, or detaching a Service from one that others use, with all that came with it.

use super::{
    Reconciler, annotations as key,
    apply::{apply, is_immutable},
    create::known,
    engine::{Request, identity},
    floating_ip, names,
    ownership::Identity,
    plan::remove,
    settings::Settings,
    step::Step,
    tree::{self, Tree},
};
use crate::api::octavia::{LoadBalancer, LoadBalancerChange, Pool, Provisioning};
use cloud::{Error, Notes, Result};
use provider_kit::load_balancer::{self as kit, Halt, Ownership};
use std::sync::Arc;
use tracing::info;

impl Reconciler {
    /// The floating IP is deleted first: it cannot be found once the load balancer is gone.
    pub(super) async fn delete_balancer(&self, balancer: &LoadBalancer, settings: &Settings) -> Result<(), Halt> {
        if let Some(port) = tree::floating_port(balancer) {
            floating_ip::release(self.session(), port, settings.floating_ip).await?;
            self.state.touched(&balancer.id);
        }
        // Nothing on a broken load balancer can be changed, one by one or otherwise.
        let cascade = self.config().load_balancer.cascade_delete || balancer.provisioning_status == Provisioning::Error;
        if !cascade {
            self.empty(balancer).await?;
        }
        let deleted = if cascade {
            self.octavia.delete_load_balancer_cascading(&balancer.id).await
        } else {
            self.octavia.delete_load_balancer(&balancer.id).await
        };
        match deleted {
            Ok(_) => info!(id = balancer.id, name = balancer.name, "deleted load balancer"),
            Err(error) if is_immutable(&error) => {}
            Err(error) => return Err(error.into()),
        }
        self.state.invalidate(&balancer.id);
        Ok(())
    }

    /// Removes everything from a load balancer, one step at a time. `Ok` once nothing is on it.
    async fn empty(&self, balancer: &LoadBalancer) -> Result<(), Halt> {
        let tree = self.observer().tree(balancer.clone()).await?;
        let listeners = tree.listeners.iter().flat_map(|listener| remove(&tree, listener));
        let pools = tree.pools.iter().filter(|pool| !tree.is_used(pool)).map(delete_pool);
        let step = listeners.chain(pools).next();
        match step {
            Some(step) => Err(self.take_off(&tree, &step).await),
            None => Ok(()),
        }
    }

    /// Removes what belongs to one Service from a load balancer that is kept, one step at a time. `Ok` once nothing is left.
    pub(super) async fn leave(&self, balancer: &LoadBalancer, identity: &Identity) -> Result<(), Halt> {
        let tree = self.observer().tree(balancer.clone()).await?;
        let ours = tree.listeners.iter().filter(|listener| identity.owns(listener));
        let listeners = ours.flat_map(|listener| remove(&tree, listener));
        let is_ours = |pool: &&Pool| identity.named().any(|name| names::is_child("pool", &pool.name, name));
        let pools = tree
            .pools
            .iter()
            .filter(|pool| !tree.is_used(pool))
            .filter(is_ours)
            .map(delete_pool);
        let step = listeners.chain(pools).chain(unmark(balancer, identity)).next();
        match step {
            Some(_) if balancer.provisioning_status == Provisioning::Error => Err(Error::unusable(
                format!("load balancer {}", balancer.id),
                "its provisioning status is ERROR: what the Service has on it cannot be taken off",
            )
            .into()),
            Some(step) => Err(self.take_off(&tree, &step).await),
            None => Ok(()),
        }
    }

    /// Answers what to wait for.
    async fn take_off(&self, tree: &Tree, step: &Step) -> Halt {
        let id = &tree.balancer.id;
        match apply(&self.octavia, step, tree).await {
            Ok(changed) => {
                info!(id, %step, "changed load balancer");
                self.state.changed(id, Arc::new(changed));
                kit::poll(self, id, &format!("({step})"))
            }
            Err(error) => {
                self.state.invalidate(id);
                if is_immutable(&error) || matches!(error, Error::NotFound { .. }) {
                    return kit::busy(id);
                }
                error.into()
            }
        }
    }

    /// Deletes what is left once the load balancer is gone, or does not serve the Service any more: the security group and the annotations. The
    /// ID of a load balancer that was not created for the Service was written by the user, and stays.
    pub(super) async fn clean_up_for(
        &self,
        request: &Request<'_>,
        kept: Option<&LoadBalancer>,
        notes: &mut Notes,
    ) -> Result<(), Halt> {
        let (spec, settings) = (request.spec, &request.settings.settings);
        // With a load balancer that this process deleted everything was deleted that should be.
        if kept.is_none() && !self.state.is_deleted(spec) {
            let known = known(spec, settings);
            floating_ip::forget(self.session(), &spec.service, &known, settings.floating_ip).await?;
        }
        self.groups.remove(self.session(), &spec.service).await?;
        self.learned.forget_service(spec);
        if let Some(id) = spec.annotations.get(key::LOAD_BALANCER_ID.key) {
            self.state.forget(id);
        }
        let ownership = kept.map_or(Ownership::Owner, |kept| identity(request, kept).ownership);
        let owner = (ownership == Ownership::Owner).then_some(key::LOAD_BALANCER_ID.key);
        let written = [key::LOAD_BALANCER_ADDRESS.key].into_iter().chain(owner);
        written
            .filter(|key| spec.annotations.contains_key(*key))
            .for_each(|key| notes.remove(key));
        Ok(())
    }
}

fn delete_pool(pool: &Pool) -> Step {
    Step::DeletePool {
        name: pool.name.clone(),
        id: pool.id.clone(),
    }
}

/// The load balancer without the Service's tags; everybody else's stay.
fn unmark(balancer: &LoadBalancer, identity: &Identity) -> Option<Step> {
    let ours = |tag: &&String| identity.named().any(|name| name == *tag);
    let marked = balancer.tags.iter().any(|tag| ours(&tag));
    let own =
        |tag: &&String| identity.ownership == Ownership::Owner && names::uid_of(std::slice::from_ref(*tag)).is_some();
    let left = balancer
        .tags
        .iter()
        .filter(|tag| !ours(tag) && !own(tag))
        .cloned()
        .collect();
    marked.then(|| Step::UpdateLoadBalancer {
        change: LoadBalancerChange {
            name: None,
            tags: Some(left),
        },
        added: Vec::new(),
    })
}
