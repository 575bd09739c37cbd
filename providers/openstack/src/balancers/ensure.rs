//! Making a load balancer match its Service, one step a time.

use super::{
    Pass, Reconciler,
    act::{act, is_conflict, is_immutable, is_refused},
    desired::Place,
    goal::{Gap, Goal},
    halt::Result,
    locate::Legacy,
    memory::Basis,
    names, network,
    role::Identity,
    seal::version,
    step::Step,
    tree::{self, Tree},
};
use crate::api::octavia::{LoadBalancer, Provisioning};
use cloud::{Error, Noted, Notes, Progress, Spec, Status};
use std::{sync::Arc, time::Duration};
use tracing::{debug, info};

/// Somebody else is at it; it does not take long.
const SOON: Duration = Duration::from_secs(1);

/// How much is to match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// Everything.
    All,
    /// The hosts, and nothing else.
    Hosts,
}

/// How far a pass came.
enum Advance {
    /// What is asked for is there, and so is everything else that the Service asks for, or not.
    Matches(Completeness),
    /// A step was taken, or could not be taken now.
    Waiting(Noted<Progress<Status>>),
}

/// Whether everything that the Service asks for is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Completeness {
    Whole,
    /// Something besides the hosts is not, or Octavia refused it.
    Part,
    /// This is missing altogether.
    Gap(Gap),
}

impl Reconciler {
    pub(super) async fn ensure(&self, spec: &Spec) -> Result<Noted<Progress<Status>>> {
        let pass = Box::pin(self.pass(spec, Scope::All)).await?;
        match Box::pin(self.locate(spec, &pass.settings, Legacy::IfServed)).await? {
            None => Box::pin(self.create(&pass)).await,
            Some(balancer) => Box::pin(self.match_up(&pass, balancer, Scope::All)).await,
        }
    }

    /// Replaces the hosts on every port that is there. What is wrong with anything else, be it a certificate, a class, a
    /// floating IP or a port that another Service has, is for [`Self::ensure`] to tell. Once the hosts are as asked, a port
    /// that somebody took away is [`Error::NotFound`], so that it is made again.
    pub(super) async fn update_hosts(&self, spec: &Spec) -> Result<Noted<Progress<Status>>> {
        let pass = Box::pin(self.pass(spec, Scope::Hosts)).await?;
        match Box::pin(self.locate(spec, &pass.settings, Legacy::IfServed)).await? {
            None => {
                let name = names::load_balancer(&spec.cluster, &spec.service);
                Err(Error::not_found(format!("load balancer {name}")).into())
            }
            Some(balancer) => Box::pin(self.match_up(&pass, balancer, Scope::Hosts)).await,
        }
    }

    async fn match_up(&self, pass: &Pass<'_>, balancer: LoadBalancer, scope: Scope) -> Result<Noted<Progress<Status>>> {
        let identity = Identity::of(&balancer, pass.spec, &pass.settings);
        if scope == Scope::All {
            let max_shared = pass.config.load_balancer.max_shared_lb;
            identity.admitted(&balancer, &pass.settings, pass.features.tags, max_shared)?;
        }
        match balancer.provisioning_status {
            Provisioning::Active => self.memory.ready(&balancer.id),
            Provisioning::Error => return self.repair(pass, &balancer, &identity).await,
            state => return Ok(self.pending(&balancer, doing(state))),
        }
        let Some(_claim) = self.memory.claim(&balancer.id) else {
            return Ok(busy(&balancer));
        };
        let mut notes = Notes::default();
        let whole = match Box::pin(self.step(pass, &balancer, &identity, scope, &mut notes)).await? {
            Advance::Waiting(outcome) => return Ok(outcome),
            Advance::Matches(whole) => whole,
        };
        self.memory.succeeded(&balancer.name);
        let answer = Box::pin(self.finish(pass, &balancer, &identity, scope, whole, notes)).await?;
        match whole {
            Completeness::Gap(gap) => Err(Error::not_found(format!("{gap} of load balancer {}", balancer.id)).into()),
            Completeness::Whole | Completeness::Part => Ok(answer),
        }
    }

    /// Takes the first step, if there is one.
    async fn step(
        &self,
        pass: &Pass<'_>,
        balancer: &LoadBalancer,
        identity: &Identity,
        scope: Scope,
        notes: &mut Notes,
    ) -> Result<Advance> {
        let sealed = pass.digest.is_sealed(pass.spec, balancer);
        if sealed || self.memory.is_made_for(&balancer.id, pass.digest) {
            return Ok(Advance::Matches(Completeness::Whole));
        }
        let goal = self.goal(pass, balancer, identity, scope).await?;
        loop {
            let (basis, tree) = self.tree(balancer).await?;
            let all = goal.steps(&tree, &pass.wish(), identity)?;
            let left = all.len();
            let steps = self.without_refused(pass, &tree, all, notes);
            let is_refused = steps.len() < left;
            match (steps.first(), basis) {
                (Some(step), _) => {
                    debug!(id = balancer.id, steps = %listed(&steps), "plan");
                    if let Some(waiting) = self.take(&tree, step, identity).await? {
                        return Ok(Advance::Waiting(waiting));
                    }
                }
                // What we only believe is read before it is called finished.
                (None, Basis::Assumed) => self.memory.doubt(&balancer.id),
                (None, Basis::Read(_)) if is_refused => return Ok(Advance::Matches(Completeness::Part)),
                (None, Basis::Read(_)) => {
                    self.memory.members_match(&tree.pools);
                    return Ok(Advance::Matches(goal.whole(&tree, identity)));
                }
            }
        }
    }

    async fn goal(
        &self,
        pass: &Pass<'_>,
        balancer: &LoadBalancer,
        identity: &Identity,
        scope: Scope,
    ) -> cloud::Result<Goal> {
        let wish = pass.wish();
        match scope {
            Scope::All => {
                self.check_certificate(pass).await?;
                Ok(Goal::All(wish.desired(&self.place(pass, balancer, identity).await?)?))
            }
            Scope::Hosts => match self.place(pass, balancer, identity).await {
                Ok(place) => {
                    let desired = wish.desired(&place).ok();
                    Ok(Goal::Hosts(place, desired))
                }
                Err(Error::Invalid { .. }) => Ok(Goal::Hosts(Place::said(&pass.settings, balancer), None)),
                Err(error) => Err(error),
            },
        }
    }

    /// Takes a step. `None` if Octavia refused it and the others can be taken nevertheless.
    async fn take(&self, tree: &Tree, step: &Step, identity: &Identity) -> Result<Option<Noted<Progress<Status>>>> {
        let balancer = &tree.balancer;
        if self.memory.is_vain(step) {
            let what = format!("load balancer {} ({step})", balancer.id);
            let reason = "Octavia accepted this change twice, and nothing changed";
            return Err(Error::unusable(what, reason).into());
        }
        match act(&self.octavia, step, tree).await {
            Ok(changed) => {
                info!(id = balancer.id, %step, "changed load balancer");
                self.memory.tried(step);
                self.memory.changed(Arc::new(changed));
                let mut waiting = self.pending(balancer, &format!("({step})"));
                note_rename(step, balancer, identity, &mut waiting.notes);
                Ok(Some(waiting))
            }
            Err(error) => {
                self.memory.doubt(&balancer.id);
                if is_immutable(&error) {
                    return Ok(Some(busy(balancer)));
                }
                match (step, error) {
                    // It went behind our back: what to do about that shows when it is read again.
                    (_, Error::NotFound { .. }) => Ok(Some(busy(balancer))),
                    (Step::UpdatePool { id, change, .. }, error) if is_refused(&error) => match &change.lb_algorithm {
                        // A conflict may pass; the second one in a row is believed.
                        Some(algorithm) if is_conflict(&error) && self.memory.is_first_conflict(id, algorithm) => {
                            Err(error.into())
                        }
                        Some(algorithm) => {
                            self.memory.refused(id, algorithm, error.report());
                            Ok(None)
                        }
                        None => Err(error.into()),
                    },
                    (_, error) => Err(error.into()),
                }
            }
        }
    }

    /// What is on the load balancer, as it was read or as it should be after what we did.
    async fn tree(&self, balancer: &LoadBalancer) -> Result<(Basis, Arc<Tree>)> {
        if let Some((basis, tree)) = self.memory.tree(balancer) {
            let current = Tree {
                balancer: balancer.clone(),
                ..(*tree).clone()
            };
            return Ok((basis, Arc::new(current)));
        }
        let tree = Arc::new(self.observer().tree(balancer.clone()).await?);
        self.memory.read(Arc::clone(&tree));
        Ok((Basis::Read(version(balancer)), tree))
    }

    pub(super) async fn place(
        &self,
        pass: &Pass<'_>,
        balancer: &LoadBalancer,
        identity: &Identity,
    ) -> cloud::Result<Place> {
        let choice = network::choose(pass.spec, &pass.settings, pass.config)?;
        let subnet = balancer.vip_subnet_id.as_deref();
        let family = pass.spec.families.first().copied();
        let members = self
            .networks
            .members(self.session(), &choice, subnet, identity.role, &pass.spec.hosts, family);
        Ok(Place {
            member_subnet: members.await?,
            further_subnet: tree::further_subnet(balancer),
            families: tree::families(balancer),
        })
    }

    /// What Octavia refused before, or took without any effect, is not tried again, but told. Members that should come or go
    /// are worth an error instead, see [`Self::take`].
    fn without_refused(&self, pass: &Pass<'_>, tree: &Tree, steps: Vec<Step>, notes: &mut Notes) -> Vec<Step> {
        let refusal = |step: &Step| match step {
            Step::UpdatePool { id, change, .. } => {
                let why = self.memory.refusal(id, change.lb_algorithm.as_deref()?)?;
                let message = format!("Error updating LB method for LoadBalancer: {why}");
                Some(("LoadBalancerLbMethodUnknown", message))
            }
            step if step.keeps_members() && self.memory.is_vain(step) => {
                let message = format!(
                    "Octavia took a change of load balancer {} twice, and nothing changed: {step}",
                    tree.balancer.id
                );
                Some(("LoadBalancerMembersUnchanged", message))
            }
            _ => None,
        };
        let mut left = Vec::new();
        for step in steps {
            match refusal(&step) {
                Some((reason, message)) => notes.warn(reason, message),
                None => left.push(step),
            }
        }
        notes.events.dedup();
        debug!(
            id = tree.balancer.id,
            service = pass.spec.service.name,
            steps = left.len(),
            "planned"
        );
        left
    }

    /// The load balancer is not ready: look again after a while.
    pub(super) fn pending(&self, balancer: &LoadBalancer, what: &str) -> Noted<Progress<Status>> {
        let pending = Progress::Pending {
            poll_after: self.memory.poll(&balancer.id),
            waiting_for: self.waiting_for(balancer, what),
        };
        pending.into()
    }

    /// What is waited for, and that it takes too long.
    pub(super) fn waiting_for(&self, balancer: &LoadBalancer, what: &str) -> String {
        let id = &balancer.id;
        if self.memory.is_stuck(id) {
            format!("load balancer {id} {what}; it takes more than 15 minutes, ask the operator of the cloud")
        } else {
            format!("load balancer {id} {what}")
        }
    }
}

/// Somebody else changes it right now.
fn busy(balancer: &LoadBalancer) -> Noted<Progress<Status>> {
    let pending = Progress::Pending {
        poll_after: SOON,
        waiting_for: format!("another change of load balancer {}", balancer.id),
    };
    pending.into()
}

pub(super) fn doing(state: Provisioning) -> &'static str {
    match state {
        Provisioning::PendingCreate => "to be made",
        Provisioning::PendingUpdate => "to be changed",
        Provisioning::PendingDelete | Provisioning::Deleted => "to go away",
        Provisioning::Active | Provisioning::Error | Provisioning::Unknown => "to become ready",
    }
}

fn note_rename(step: &Step, balancer: &LoadBalancer, identity: &Identity, notes: &mut Notes) {
    if let Step::UpdateLoadBalancer { change, .. } = step
        && change.name.is_some()
    {
        notes.warn(
            "LoadBalancerRename",
            format!(
                "Loadbalancer {} has a name of {} with incorrect cluster-name component. Renaming it to {}.",
                balancer.id, balancer.name, identity.name
            ),
        );
    }
}

fn listed(steps: &[Step]) -> String {
    steps.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
