//! Load balancers that Octavia calls broken.

use super::{
    Pass, Reconciler,
    act::is_immutable,
    create::known,
    floating_ip,
    halt::Result,
    names,
    role::{Identity, Role},
    seal::Past,
    tree,
};
use crate::api::octavia::LoadBalancer;
use cloud::{Error, Noted, Progress, Spec, Status};
use cloud_http::{Failure, http::StatusCode};
use tracing::{info, warn};

impl Reconciler {
    /// What is done about a load balancer in `ERROR`. One that was made for this Service and never in use is deleted and
    /// made again, less and less often. One in use may still pass traffic and keeps its address: it is failed over once,
    /// where the cloud allows that, and otherwise reported. One that we have never seen well was left so by another program,
    /// and is only reported.
    pub(super) async fn repair(
        &self,
        pass: &Pass<'_>,
        balancer: &LoadBalancer,
        identity: &Identity,
    ) -> Result<Noted<Progress<Status>>> {
        // Where it was made again the Service still tells of the one before.
        let in_use = match &pass.settings.load_balancer_id {
            Some(id) => *id == balancer.id,
            None => !pass.spec.status.ingress.is_empty(),
        };
        if !in_use && self.is_made_for(pass.spec, balancer) && identity.may_delete(balancer) {
            return self.discard(pass, balancer).await;
        }
        let seen_well = Past::of(pass.spec) != Past::Unknown;
        if identity.role == Role::Owner && seen_well && self.memory.may_fail_over(&balancer.id) {
            match self.octavia.fail_over(&balancer.id).await {
                Ok(()) => {
                    info!(id = balancer.id, "failed over a load balancer in ERROR");
                    self.memory.doubt(&balancer.id);
                    return Ok(self.pending(balancer, "to be failed over after an ERROR"));
                }
                // It is under way: our own answer was lost, or an operator was quicker.
                Err(error) if is_immutable(&error) => {
                    self.memory.doubt(&balancer.id);
                    return Ok(self.pending(balancer, "to be failed over after an ERROR"));
                }
                Err(Error::NotLeader) => return Err(Error::NotLeader.into()),
                Err(error) => {
                    if !is_final(&error) {
                        self.memory.not_failed_over(&balancer.id);
                    }
                    warn!(
                        id = balancer.id,
                        error = error.report(),
                        "cannot fail over a load balancer in ERROR"
                    );
                }
            }
        }
        Err(Error::unusable(
            format!("load balancer {}", balancer.id),
            "its provisioning status is ERROR: ask the operator of the cloud to fail it over, or delete it and it is created again",
        )
        .into())
    }

    /// Whether it was surely made for this Service: its name another cluster of our name may have given it.
    pub(super) fn is_made_for(&self, spec: &Spec, balancer: &LoadBalancer) -> bool {
        names::uid_of(&balancer.tags) == Some(&spec.service.uid)
            || self.memory.made(spec).as_ref() == Some(&balancer.id)
    }

    /// A floating IP that was made for it goes first, for the next one gets its own: nobody has been told its address yet.
    async fn discard(&self, pass: &Pass<'_>, balancer: &LoadBalancer) -> Result<Noted<Progress<Status>>> {
        if let Some(port) = tree::floating_port(balancer) {
            let mut wanted = known(pass.spec, &pass.settings);
            wanted.extend(pass.spec.ip.as_deref());
            floating_ip::abandon(self.session(), port, &wanted).await?;
            self.memory.touched(&balancer.id);
        }
        self.octavia.delete_load_balancer_cascading(&balancer.id).await?;
        warn!(
            id = balancer.id,
            name = balancer.name,
            "deleted a new load balancer that ended in ERROR"
        );
        self.memory.forget(&balancer.id);
        self.memory.failed(&balancer.name);
        Err(Error::unusable(
            format!("load balancer {}", balancer.id),
            "it has gone into ERROR state (Octavia knows the details), so it was deleted and will be created again",
        )
        .into())
    }
}

/// Whether Octavia will not fail it over however often it is asked: we may not, or the provider cannot.
fn is_final(error: &Error) -> bool {
    let refuses = |failure: &Failure| [StatusCode::FORBIDDEN, StatusCode::NOT_IMPLEMENTED].contains(&failure.status());
    matches!(error, Error::Invalid { .. }) || Failure::of(error).is_some_and(refuses)
}
