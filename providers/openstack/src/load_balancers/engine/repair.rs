//! Load balancers in status ERROR.

use super::{Request, create::previous_addresses, relation};
use crate::{
    api::octavia::LoadBalancer,
    load_balancers::{
        Reconciler,
        balancer::{apply::is_immutable, tree},
        floating_ip, names,
    },
};
use cloud::{Error, Result, Spec};
use cloud_http::{Failure, http::StatusCode};
use provider_kit::load_balancer::{self as kit, Halt, Ownership};
use tracing::{info, warn};

impl Reconciler {
    /// What is done about a load balancer in `ERROR`. One that was created for this Service and never in use is deleted and created again, with
    /// back-off. One in use may still inputs traffic and keeps its address: it is failed over once, where the cloud allows that, and otherwise
    /// reported. One that this manager has never seen in a good state was left so by another program, and is only reported.
    pub(super) async fn repair_for(&self, request: &Request<'_>, balancer: &LoadBalancer) -> Halt {
        let relation = relation(request, balancer);
        // A Service whose load balancer was created again still names the previous one.
        let in_use = match &request.settings.settings.load_balancer_id {
            Some(id) => *id == balancer.id,
            None => !request.spec.status.ingress.is_empty(),
        };
        if !in_use && self.is_created_for(request.spec, balancer) && relation.may_delete(balancer) {
            return match self.discard(request, balancer).await {
                Ok(()) => Error::unusable(
                    format!("load balancer {}", balancer.id),
                    "it has gone into ERROR state (Octavia knows the details), so it was deleted and will be created again",
                )
                .into(),
                Err(halt) => halt,
            };
        }
        let owned = relation.ownership == Ownership::Owner && request.record.is_some();
        if owned && self.learned.take_failover(&balancer.id) {
            match self.octavia.fail_over(&balancer.id).await {
                Ok(()) => {
                    info!(id = balancer.id, "failed over a load balancer in ERROR");
                    return self.failing_over(balancer);
                }
                // It is under way: the answer to an earlier request was lost, or an operator was faster.
                Err(error) if is_immutable(&error) => return self.failing_over(balancer),
                Err(Error::NotLeader) => return Error::NotLeader.into(),
                Err(error) => {
                    if !is_final(&error) {
                        self.learned.give_back_failover(&balancer.id);
                    }
                    warn!(
                        id = balancer.id,
                        error = error.report(),
                        "cannot fail over a load balancer in ERROR"
                    );
                }
            }
        }
        Error::unusable(
            format!("load balancer {}", balancer.id),
            "its provisioning status is ERROR: ask the operator of the cloud to fail it over, or delete it and it is created again",
        )
        .into()
    }

    fn failing_over(&self, balancer: &LoadBalancer) -> Halt {
        self.state.invalidate(&balancer.id);
        kit::poll(self, &balancer.id, "to be failed over after an ERROR")
    }

    /// Whether it was certainly created for this Service: another cluster with the same name may have given it its name.
    pub(super) fn is_created_for(&self, spec: &Spec, balancer: &LoadBalancer) -> bool {
        names::uid_of(&balancer.tags) == Some(&spec.service.uid)
            || self.state.created(spec).as_ref() == Some(&balancer.id)
    }

    /// Deletes the floating IP first that was created for it, because the next load balancer gets its own: no client knows the address yet.
    async fn discard(&self, request: &Request<'_>, balancer: &LoadBalancer) -> Result<(), Halt> {
        if let Some(port) = tree::floating_port(balancer) {
            let mut wanted = previous_addresses(request.spec, &request.settings.settings);
            wanted.extend(request.spec.ip.as_deref());
            floating_ip::abandon(self.session(), port, &wanted).await?;
            self.state.touched(&balancer.id);
        }
        self.octavia.delete_load_balancer_cascading(&balancer.id).await?;
        warn!(
            id = balancer.id,
            name = balancer.name,
            "deleted a new load balancer that ended in ERROR"
        );
        self.state.forget(&balancer.id);
        self.state.failed(request.spec);
        Ok(())
    }
}

/// Whether a retry is useless: failing over is forbidden, or the provider cannot do it.
fn is_final(error: &Error) -> bool {
    let refuses = |failure: &Failure| [StatusCode::FORBIDDEN, StatusCode::NOT_IMPLEMENTED].contains(&failure.status());
    matches!(error, Error::Invalid { .. }) || Failure::of(error).is_some_and(refuses)
}
