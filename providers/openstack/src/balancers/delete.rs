//! Deleting a load balancer, or leaving one that others use, with all that came with it.

use super::{
    Reconciler,
    act::{act, is_immutable},
    annotations as key,
    create::{known, unborn},
    ensure::doing,
    floating_ip,
    halt::Result,
    locate::Legacy,
    names,
    plan::remove,
    role::{Identity, Role},
    settings::Settings,
    step::Step,
    tree::{self, Tree},
    warnings,
};
use crate::api::octavia::{LoadBalancer, LoadBalancerChange, Pool, Provisioning};
use cloud::{Error, Noted, Notes, Progress, Spec};
use std::{sync::Arc, time::Duration};
use tracing::info;

const SOON: Duration = Duration::from_secs(1);

impl Reconciler {
    pub(super) async fn delete(&self, spec: &Spec) -> Result<Noted<Progress<()>>> {
        let settings = Settings::unchecked(spec, self.config());
        self.lists
            .reserved
            .give_back(self.session(), &spec.service, None)
            .await?;
        let Some(balancer) = Box::pin(self.locate(spec, &settings, Legacy::Always)).await? else {
            if let Some(left) = self.memory.may_come(spec) {
                let name = names::load_balancer(&spec.cluster, &spec.service);
                return Ok(unborn(&name, left).into());
            }
            let mut notes = Notes::default();
            if let Some(waiting) = Box::pin(self.leave_others(spec, &settings, None, &mut notes)).await? {
                return Ok(Noted::new(waiting, notes));
            }
            // Of one that we have deleted ourselves all went that was to go.
            if !self.memory.is_deleted(spec) {
                let known = known(spec, &settings);
                floating_ip::forget(self.session(), &spec.service, &known, settings.floating_ip).await?;
            }
            return Box::pin(self.clean_up(spec, Role::Owner, notes)).await;
        };
        self.memory.came(spec);
        let identity = Identity::of(&balancer, spec, &settings);
        if identity.namesake().is_some() {
            return Box::pin(self.conclude(spec, &settings, &balancer, &identity)).await;
        }
        let Some(_claim) = self.memory.claim(&balancer.id) else {
            return Ok(self.deleting(&balancer, "another change of it to be done", SOON));
        };
        match balancer.provisioning_status {
            Provisioning::Active | Provisioning::Error => {}
            state => return Ok(self.going(&balancer, doing(state))),
        }
        self.memory.ready(&balancer.id);
        if identity.may_delete(&balancer) {
            let going = Box::pin(self.delete_balancer(&balancer, &settings)).await?;
            self.memory.deleted(spec);
            return Ok(going);
        }
        match Box::pin(self.leave(&balancer, &identity)).await? {
            Some(waiting) => Ok(waiting),
            None => Box::pin(self.conclude(spec, &settings, &balancer, &identity)).await,
        }
    }

    /// Once nothing of the Service is on a load balancer that stays: all others go, and what else is left.
    async fn conclude(
        &self,
        spec: &Spec,
        settings: &Settings,
        balancer: &LoadBalancer,
        identity: &Identity,
    ) -> Result<Noted<Progress<()>>> {
        let mut notes = Notes::default();
        warnings::stays(spec, balancer, identity, &mut notes);
        match Box::pin(self.leave_others(spec, settings, Some(balancer), &mut notes)).await? {
            Some(waiting) => Ok(Noted::new(waiting, notes)),
            None => Box::pin(self.clean_up(spec, identity.role, notes)).await,
        }
    }

    /// The floating IP goes first: nobody finds it again once the load balancer is gone.
    pub(super) async fn delete_balancer(
        &self,
        balancer: &LoadBalancer,
        settings: &Settings,
    ) -> Result<Noted<Progress<()>>> {
        if let Some(port) = tree::floating_port(balancer) {
            floating_ip::release(self.session(), port, settings.floating_ip).await?;
            self.memory.touched(&balancer.id);
        }
        // Nothing on a broken load balancer can be changed, one by one or otherwise.
        let cascade = self.config().load_balancer.cascade_delete || balancer.provisioning_status == Provisioning::Error;
        if !cascade && let Some(waiting) = self.undress(balancer).await? {
            return Ok(waiting);
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
        self.memory.doubt(&balancer.id);
        Ok(self.going(balancer, "to go away"))
    }

    /// Takes everything off a load balancer, one step a time; `None` once there is nothing on it.
    async fn undress(&self, balancer: &LoadBalancer) -> Result<Option<Noted<Progress<()>>>> {
        let tree = self.observer().tree(balancer.clone()).await?;
        let listeners = tree.listeners.iter().flat_map(|listener| remove(&tree, listener));
        let pools = tree.pools.iter().filter(|pool| !tree.is_used(pool)).map(delete_pool);
        let step = listeners.chain(pools).next();
        match step {
            Some(step) => self.take_off(&tree, &step).await.map(Some),
            None => Ok(None),
        }
    }

    /// Takes what belongs to one Service off a load balancer that stays; `None` once nothing is left.
    pub(super) async fn leave(
        &self,
        balancer: &LoadBalancer,
        identity: &Identity,
    ) -> Result<Option<Noted<Progress<()>>>> {
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
            Some(step) => self.take_off(&tree, &step).await.map(Some),
            None => Ok(None),
        }
    }

    async fn take_off(&self, tree: &Tree, step: &Step) -> Result<Noted<Progress<()>>> {
        let balancer = &tree.balancer;
        match act(&self.octavia, step, tree).await {
            Ok(changed) => {
                info!(id = balancer.id, %step, "changed load balancer");
                self.memory.changed(Arc::new(changed));
                Ok(self.going(balancer, &format!("({step})")))
            }
            Err(error) => {
                self.memory.doubt(&balancer.id);
                if is_immutable(&error) || matches!(error, Error::NotFound { .. }) {
                    return Ok(self.deleting(balancer, "another change of it to be done", SOON));
                }
                Err(error.into())
            }
        }
    }

    /// What is left once the load balancer is gone, or left: the security group and our annotations. The ID of somebody
    /// else's load balancer was written by the user, and stays.
    async fn clean_up(&self, spec: &Spec, role: Role, mut notes: Notes) -> Result<Noted<Progress<()>>> {
        let deletion = self.groups.remove(self.session(), &spec.service).await?;
        if deletion == Progress::Done(()) {
            let name = names::load_balancer(&spec.cluster, &spec.service);
            self.memory.forget_service(spec, &name);
            if let Some(id) = spec.annotations.get(key::LOAD_BALANCER_ID) {
                self.memory.forget(id);
            }
            let owner = (role == Role::Owner).then_some(key::LOAD_BALANCER_ID);
            let written = [key::LOAD_BALANCER_ADDRESS, key::SEAL].into_iter().chain(owner);
            written
                .filter(|key| spec.annotations.contains_key(*key))
                .for_each(|key| notes.remove(key));
        }
        Ok(Noted::new(deletion, notes))
    }

    pub(super) fn going(&self, balancer: &LoadBalancer, what: &str) -> Noted<Progress<()>> {
        let poll_after = self.memory.poll(&balancer.id);
        self.deleting(balancer, what, poll_after)
    }

    pub(super) fn deleting(&self, balancer: &LoadBalancer, what: &str, poll_after: Duration) -> Noted<Progress<()>> {
        let deletion = Progress::Pending {
            poll_after,
            waiting_for: self.waiting_for(balancer, what),
        };
        deletion.into()
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
    let own = |tag: &&String| identity.role == Role::Owner && names::uid_of(std::slice::from_ref(*tag)).is_some();
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
