//! Deletes a load balancer, or detaches a Service from one that others use.

use super::{Request, create::previous_addresses, relation};
use crate::{
    api::octavia::{LoadBalancer, Provisioning},
    load_balancers::{
        Reconciler, annotations as key,
        balancer::{
            apply::is_immutable,
            plan::{plan_detach, plan_empty},
            step::Step,
            tree::{self, Tree},
        },
        floating_ip,
        ownership::Relation,
    },
};
use cloud::{Error, Notes, Result};
use provider_kit::load_balancer::{self as kit, Halt, Ownership};
use tracing::info;

impl Reconciler {
    /// Deletes the floating IP first: it cannot be found once the load balancer does not exist.
    pub(super) async fn delete_balancer(&self, request: &Request<'_>, balancer: &LoadBalancer) -> Result<(), Halt> {
        if let Some(port) = tree::floating_port(balancer) {
            floating_ip::release(self.session(), port, request.settings.settings.floating_ip).await?;
            self.state.touched(&balancer.id);
        }
        // Nothing on a broken load balancer can be changed, one by one or otherwise.
        let cascade = self.config().load_balancer.cascade_delete || balancer.provisioning_status == Provisioning::Error;
        if !cascade {
            self.remove(request, balancer, plan_empty).await?;
        }
        let deleted = if cascade {
            self.octavia.delete_load_balancer_cascading(&balancer.id).await
        } else {
            self.octavia.delete::<LoadBalancer>(&balancer.id).await
        };
        match deleted {
            Ok(_) => info!(id = balancer.id, name = balancer.name, "deleted load balancer"),
            Err(error) if is_immutable(&error) => {}
            Err(error) => return Err(error.into()),
        }
        self.state.invalidate(&balancer.id);
        Ok(())
    }

    /// Removes what the Service has on a load balancer that is kept, one step at a time. `Ok` once nothing is left.
    pub(super) async fn detach_from(
        &self,
        request: &Request<'_>,
        balancer: &LoadBalancer,
        relation: &Relation,
    ) -> Result<(), Halt> {
        self.remove(request, balancer, |tree| plan_detach(tree, relation)).await
    }

    async fn remove(
        &self,
        request: &Request<'_>,
        balancer: &LoadBalancer,
        plan: impl FnOnce(&Tree) -> Vec<Step>,
    ) -> Result<(), Halt> {
        let tree = self.observer().tree(balancer.clone()).await?;
        match plan(&tree).first() {
            Some(_) if balancer.provisioning_status == Provisioning::Error => Err(Error::unusable(
                format!("load balancer {}", balancer.id),
                "its provisioning status is ERROR, so that nothing can be removed from it",
            )
            .into()),
            Some(step) => Err(kit::apply_step(self, request, balancer, &tree, step).await),
            None => Ok(()),
        }
    }

    /// Deletes what remains once the load balancer does not exist, or does not serve the Service any more: the security group and the
    /// annotations. The ID of a load balancer that was not created for the Service was written by the user, and is kept.
    pub(super) async fn clean_up_for(
        &self,
        request: &Request<'_>,
        kept: Option<&LoadBalancer>,
        notes: &mut Notes,
    ) -> Result<(), Halt> {
        let (spec, settings) = (request.spec, &request.settings.settings);
        // This process deleted the floating IP with the load balancer.
        if kept.is_none() && !self.state.is_deleted(spec) {
            let known = previous_addresses(spec, settings);
            floating_ip::forget(self.session(), &spec.service, &known, settings.floating_ip).await?;
        }
        self.groups.remove(self.session(), &spec.service).await?;
        self.learned.forget_service(spec);
        if let Some(id) = spec.annotations.get(key::LOAD_BALANCER_ID.key) {
            self.state.forget(id);
        }
        let ownership = kept.map_or(Ownership::Owner, |kept| relation(request, kept).ownership);
        let owner = (ownership == Ownership::Owner).then_some(key::LOAD_BALANCER_ID.key);
        let written = [key::LOAD_BALANCER_ADDRESS.key].into_iter().chain(owner);
        written
            .filter(|key| spec.annotations.contains_key(*key))
            .for_each(|key| notes.remove(key));
        Ok(())
    }
}
