//! The load-balancer engine: how every cloud makes a load balancer match a Service, one step at a time.
//!
//! A provider implements [`Cloud`] and calls [`ensure`], [`update_hosts`] and [`delete`]. The engine locates the load balancer, checks who
//! owns it, compares what exists with what the Service asks for, applies the first step of the difference, and answers `Pending` until no step is
//! left. If a change is complete at once, all steps are applied. Then it finishes what is around the load balancer, releases load balancers that
//! the Service used before, and writes the [`Record`].
//! A Service whose record matches costs one read of its load balancer, also after a restart. If many Services need a new load balancer at the
//! same time, they begin in turn, as many as the cloud's API can take: those that were begun are finished first.
//!
//! Every function is safe to call again after a crash at any point.

mod admission;
mod delete;
mod digest;
mod ensure;
mod halt;
mod pending;
pub mod record;
mod release;
pub mod single;
mod state;
mod steps;
#[cfg(test)]
mod tests;
mod turn;

pub use delete::delete;
pub use digest::{Digest, Fields, fingerprint};
pub use ensure::{ensure, update_hosts};
pub use halt::Halt;
pub use pending::{busy, poll};
pub use record::{Ownership, Record};
pub use state::{Basis, Claim, Polls, State, Step};
pub use steps::apply_step;

use async_trait::async_trait;
use cloud::{Error, Notes, Result, Spec, Status};
use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

/// The load balancers of one cloud, as the engine needs to know them.
///
/// Only a few methods are required. The others have defaults that fit a cloud whose load balancers are not shared between Services.
#[async_trait]
pub trait Cloud: Send + Sync + Sized {
    /// What the annotations of a Service and the configuration ask for, parsed once for each call.
    type Settings: Send + Sync;
    /// A load balancer as the cloud lists it.
    type Balancer: Send + Sync;
    /// A load balancer with everything on it. Often the same as `Balancer`.
    type Observed: Send + Sync;
    /// What a load balancer should be like.
    type Desired: Send + Sync;
    /// One change.
    type Step: Step;

    /// What this process remembers. It outlives the connection to the cloud.
    fn state(&self) -> &State<Self::Observed, Self::Step>;

    /// When a change is complete.
    fn completion(&self) -> Completion {
        Completion::Later
    }

    /// Parses what a Service asks for.
    async fn settings(&self, spec: &Spec, scope: Scope) -> Result<Self::Settings>;

    /// The fingerprint of everything that the result depends on.
    fn digest(&self, request: &Request<'_, Self>) -> Digest;

    /// How a user knows the load balancer of a Service that has none yet, for messages.
    fn name(&self, spec: &Spec) -> String;

    /// Finds the load balancer of a Service. `None` only if the cloud itself answers that it does not exist.
    async fn locate(&self, request: &Request<'_, Self>) -> Result<Option<Self::Balancer>>;

    /// The load balancer with this ID. `None` only if the cloud itself answers that it does not exist.
    async fn get(&self, id: &str) -> Result<Option<Self::Balancer>>;

    /// The cloud's ID of a load balancer.
    fn id<'a>(&self, balancer: &'a Self::Balancer) -> &'a str;

    /// Changes whenever a load balancer or anything on it does. The hosts need not count, and where changes are complete at once they do not.
    fn version(&self, balancer: &Self::Balancer) -> String;

    /// Whether a load balancer can be changed now.
    fn condition(&self, balancer: &Self::Balancer) -> Condition;

    /// Whether a load balancer was created for this Service.
    fn ownership(&self, request: &Request<'_, Self>, balancer: &Self::Balancer) -> Ownership {
        let _ = (request, balancer);
        Ownership::Owner
    }

    /// Whether the Service may use the load balancer.
    fn admit(&self, request: &Request<'_, Self>, balancer: &Self::Balancer) -> Result<()> {
        let _ = (request, balancer);
        Ok(())
    }

    /// Whether a load balancer still has the marks by which it is found again. If not, it is read even if its record matches.
    fn is_marked(&self, request: &Request<'_, Self>, balancer: &Self::Balancer) -> bool {
        let _ = (request, balancer);
        true
    }

    /// Creates the load balancer of a Service that has none. What can be found wrong is found before anything is created.
    async fn create(&self, request: &Request<'_, Self>) -> Result<Created, Halt>;

    /// What the load balancer should be like: everything, or only its hosts, by `request.scope`.
    async fn desired(&self, request: &Request<'_, Self>, balancer: &Self::Balancer) -> Result<Self::Desired>;

    /// Reads everything on a load balancer.
    async fn observe(&self, balancer: &Self::Balancer) -> Result<Self::Observed, Halt>;

    /// What was observed before, with the load balancer as it was listed now.
    fn refresh(&self, observed: Arc<Self::Observed>, balancer: &Self::Balancer) -> Arc<Self::Observed> {
        let _ = balancer;
        observed
    }

    /// The steps from what exists to what is desired, in an order in which the cloud accepts them. Pure.
    fn plan(
        &self,
        request: &Request<'_, Self>,
        observed: &Self::Observed,
        desired: &Self::Desired,
    ) -> Result<Vec<Self::Step>>;

    /// The steps without those that the cloud refused before; the user learns of these by `notes`.
    fn possible(&self, observed: &Self::Observed, steps: Vec<Self::Step>, notes: &mut Notes) -> Vec<Self::Step> {
        let _ = (observed, notes);
        steps
    }

    /// The steps that replace the hosts of a load balancer which is known only by its record, one for each of its targets, and each of them
    /// complete. `None` if this cloud has no such steps.
    fn host_steps(
        &self,
        request: &Request<'_, Self>,
        desired: &Self::Desired,
        targets: &BTreeMap<String, String>,
    ) -> Option<VecDeque<Self::Step>> {
        let _ = (request, desired, targets);
        None
    }

    /// Makes one change.
    async fn apply(
        &self,
        request: &Request<'_, Self>,
        balancer: &Self::Balancer,
        observed: Option<&Self::Observed>,
        step: &Self::Step,
    ) -> Result<Applied<Self::Observed>, Halt>;

    /// What the user should know about a step that was applied.
    fn applied(&self, request: &Request<'_, Self>, balancer: &Self::Balancer, step: &Self::Step, notes: &mut Notes) {
        let _ = (request, balancer, step, notes);
    }

    /// Whether everything that the Service asks for exists, once no step is left.
    fn completeness(
        &self,
        request: &Request<'_, Self>,
        observed: &Self::Observed,
        desired: &Self::Desired,
    ) -> Completeness {
        let _ = (request, observed, desired);
        Completeness::Complete
    }

    /// The parts that the hosts are registered with, for the record.
    fn targets(
        &self,
        request: &Request<'_, Self>,
        balancer: &Self::Balancer,
        observed: Option<&Self::Observed>,
    ) -> BTreeMap<String, String> {
        let _ = (request, balancer, observed);
        BTreeMap::new()
    }

    /// Does what is left around a load balancer that matches: addresses, firewalls, annotations.
    async fn finish(
        &self,
        request: &Request<'_, Self>,
        balancer: &Self::Balancer,
        notes: &mut Notes,
    ) -> Result<Finished, Halt>;

    /// What the user should know about what the Service asks for and does not get.
    fn remarks(&self, request: &Request<'_, Self>, balancer: &Self::Balancer, notes: &mut Notes) {
        let _ = (request, balancer, notes);
    }

    /// Does what can be done about a load balancer in an error state. Answers what to wait for, or what the user has to do.
    async fn repair(&self, request: &Request<'_, Self>, balancer: &Self::Balancer) -> Halt {
        let _ = request;
        let what = format!("load balancer {}", self.id(balancer));
        Error::unusable(what, "the cloud reports an error state").into()
    }

    /// What becomes of a load balancer when the Service does not use it any more.
    fn fate(&self, request: &Request<'_, Self>, balancer: &Self::Balancer, use_: Use) -> Fate {
        let _ = use_;
        match self.ownership(request, balancer) {
            Ownership::Owner => Fate::Delete,
            Ownership::Guest => Fate::Detach,
        }
    }

    /// The ID by which [`Cloud::locate`] searched for the load balancer.
    fn located_by<'a>(&self, request: &'a Request<'_, Self>) -> Option<&'a str> {
        request.record.as_ref().map(|record| record.id.as_str())
    }

    /// Other load balancers that were created for the Service according to the cloud, besides the one that was located.
    async fn others(&self, request: &Request<'_, Self>, located: &Self::Balancer) -> Result<Vec<String>> {
        let _ = (request, located);
        Ok(Vec::new())
    }

    /// Frees what was reserved for a load balancer that will not be created any more.
    async fn before_delete(&self, request: &Request<'_, Self>) -> Result<(), Halt> {
        let _ = request;
        Ok(())
    }

    /// Deletes a load balancer and what came with it, one step at a time. `Ok` once the cloud has accepted its deletion.
    async fn delete(&self, request: &Request<'_, Self>, balancer: &Self::Balancer) -> Result<(), Halt>;

    /// Removes what the Service has on a load balancer that others use, one step at a time. `Ok` once nothing is left.
    async fn detach(&self, request: &Request<'_, Self>, balancer: &Self::Balancer, use_: Use) -> Result<(), Halt> {
        let _ = (request, balancer, use_);
        Ok(())
    }

    /// Deletes what remains once the load balancer is deleted, or (`kept`) does not serve the Service any more, and removes annotations.
    async fn clean_up(
        &self,
        request: &Request<'_, Self>,
        kept: Option<&Self::Balancer>,
        notes: &mut Notes,
    ) -> Result<(), Halt>;
}

/// What the engine is asked to do for one Service.
pub struct Request<'a, C: Cloud> {
    /// The Service.
    pub spec: &'a Spec,
    /// How much is to match.
    pub scope: Scope,
    /// What its annotations and the configuration ask for.
    pub settings: C::Settings,
    /// What was stored on it before.
    pub record: Option<Record>,
}

impl<'a, C: Cloud> Request<'a, C> {
    async fn new(cloud: &C, spec: &'a Spec, scope: Scope) -> Result<Self> {
        Ok(Self {
            spec,
            scope,
            settings: cloud.settings(spec, scope).await?,
            record: Record::of(spec),
        })
    }
}

/// How much of a load balancer is to match its Service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Everything.
    All,
    /// The hosts, and nothing else.
    Hosts,
    /// Nothing: the Service is deleted, or needs no load balancer any more. What is known about it may be incomplete.
    Deletion,
}

/// Whether a load balancer can be changed now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// It can.
    Ready,
    /// The cloud is working on it; the text completes "waiting for load balancer X …".
    Busy(&'static str),
    /// The cloud is deleting it.
    Deleting,
    /// It is deleted, and the cloud still shows it.
    Deleted,
    /// The cloud reports an error.
    Broken,
}

/// When a change is complete that the cloud has accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    /// Some time later: the load balancer cannot be changed until then, and is polled.
    Later,
    /// At once: all steps are applied one after the other, and a load balancer that was deleted is gone.
    AtOnce,
}

/// A load balancer that was created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Created {
    /// The cloud's ID of it.
    pub id: String,
    /// What is on it.
    pub content: Content,
}

/// What is on a load balancer that was just created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Everything that the Service asks for.
    Complete,
    /// Not everything: more steps are needed.
    Partial,
}

/// What came of a step.
#[derive(Debug)]
pub enum Applied<O> {
    /// The cloud accepted it, and this should be there now. `None` if that is not known.
    Changed(Option<O>),
    /// Another change is under way, or what was observed is out of date: try again soon.
    Conflict,
    /// The cloud refused it, which the provider remembers; other steps can be applied nevertheless.
    Refused,
}

/// Whether everything that a Service asks for exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Completeness {
    /// It is.
    Complete,
    /// Something besides the hosts is not, or was refused.
    Partial,
    /// This part is missing altogether.
    Missing(String),
}

/// What [`Cloud::finish`] found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Finished {
    /// What goes into `status.loadBalancer`.
    pub status: Status,
    /// `spec.loadBalancerIP`, if the Service keeps another address.
    pub ignored_ip: Option<String>,
}

/// Why a Service does not use a load balancer any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// It uses it until it is deleted.
    Current,
    /// It uses another one.
    Previous,
}

/// What becomes of a load balancer that a Service does not use any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is deleted.
    Delete,
    /// What the Service has on it is removed.
    Detach,
    /// It is kept as it is: it may be in use elsewhere.
    Keep,
}
