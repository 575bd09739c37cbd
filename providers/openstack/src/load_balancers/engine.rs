//! Octavia as the load-balancer engine of the provider kit needs to know it. What takes more than a few lines is in a module of its own.

mod certificate;
mod create;
mod delete;
mod digest;
mod find;
mod finish;
pub(super) mod learned;
mod locate;
mod repair;
mod status;
mod warnings;

use super::{
    Reconciler,
    balancer::{
        apply::{apply, is_conflict, is_immutable, is_refused},
        desired::{Inputs, MemberNetwork},
        goal::Goal,
        step::Step,
        tree::{self, Tree},
    },
    names, network,
    ownership::{self, Relation},
    settings::Settings,
};
use crate::{
    api::octavia::{LoadBalancer, Provisioning},
    load_balancers::features::Features,
};
use async_trait::async_trait;
use cloud::{Error, Notes, Result, Spec};
use digest::{digest, version};
use provider_kit::load_balancer::{
    self as kit, Applied, Completeness, Condition, Created, Digest, Fate, Finished, Halt, Ownership, Scope, State, Use,
};
use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

/// A request to the engine, for one Service.
pub(super) type Request<'a> = kit::Request<'a, Reconciler>;

/// What a Service asks for, and what Octavia can do.
pub(super) struct Asked {
    pub settings: Settings,
    pub features: Features,
}

#[async_trait]
impl kit::Cloud for Reconciler {
    type Settings = Asked;
    type Balancer = LoadBalancer;
    type Observed = Tree;
    type Desired = Goal;
    type Step = Step;

    fn state(&self) -> &State<Tree, Step> {
        &self.state
    }

    async fn settings(&self, spec: &Spec, scope: Scope) -> Result<Asked> {
        let config = self.config();
        let provider = &config.load_balancer.lb_provider;
        let settings = match scope {
            Scope::All => Settings::of(spec, config)?,
            // Settings that exclude each other are about ports, not about the hosts behind them.
            Scope::Hosts | Scope::Deletion => Settings::unchecked(spec, config),
        };
        let features = match scope {
            Scope::All | Scope::Hosts => self.features.features(&self.octavia, provider).await?,
            Scope::Deletion => Features::oldest(provider),
        };
        Ok(Asked { settings, features })
    }

    fn digest(&self, request: &Request<'_>) -> Digest {
        let Asked { settings, features } = &request.settings;
        digest(request.spec, settings, *features, self.config())
    }

    fn name(&self, spec: &Spec) -> String {
        names::load_balancer(&spec.cluster, &spec.service)
    }

    async fn locate(&self, request: &Request<'_>) -> Result<Option<LoadBalancer>> {
        self.locate_for(request.spec, &request.settings.settings, request.scope)
            .await
    }

    async fn get(&self, id: &str) -> Result<Option<LoadBalancer>> {
        self.observer().balancer(id).await
    }

    fn id<'a>(&self, balancer: &'a LoadBalancer) -> &'a str {
        &balancer.id
    }

    fn version(&self, balancer: &LoadBalancer) -> String {
        version(balancer)
    }

    fn condition(&self, balancer: &LoadBalancer) -> Condition {
        match balancer.provisioning_status {
            Provisioning::Active => Condition::Ready,
            Provisioning::Error => Condition::Broken,
            Provisioning::PendingCreate => Condition::Busy("to be created"),
            Provisioning::PendingUpdate => Condition::Busy("to be updated"),
            Provisioning::Unknown => Condition::Busy("to become ready"),
            Provisioning::PendingDelete => Condition::Deleting,
            Provisioning::Deleted => Condition::Deleted,
        }
    }

    fn ownership(&self, request: &Request<'_>, balancer: &LoadBalancer) -> Ownership {
        relation(request, balancer).ownership
    }

    fn admit(&self, request: &Request<'_>, balancer: &LoadBalancer) -> Result<()> {
        let Asked { settings, features } = &request.settings;
        let max_shared = self.config().load_balancer.max_shared_lb;
        relation(request, balancer).admitted(balancer, settings, features.tags, max_shared)
    }

    /// A load balancer whose tags were removed gets them again.
    fn is_marked(&self, request: &Request<'_>, balancer: &LoadBalancer) -> bool {
        balancer.tags.is_empty() || balancer.tags.contains(&self.name(request.spec))
    }

    async fn create(&self, request: &Request<'_>) -> Result<Created, Halt> {
        self.create_for(&self.inputs(request)).await
    }

    async fn desired(&self, request: &Request<'_>, balancer: &LoadBalancer) -> Result<Goal> {
        let (inputs, relation) = (self.inputs(request), relation(request, balancer));
        if request.scope == Scope::All {
            self.check_certificate(&inputs).await?;
            let member_network = self.member_network(&inputs, balancer, &relation).await?;
            return Ok(Goal::All(inputs.desired(&member_network)?));
        }
        match self.member_network(&inputs, balancer, &relation).await {
            Ok(member_network) => {
                let desired = inputs.desired(&member_network).ok();
                Ok(Goal::Hosts(member_network, desired))
            }
            Err(Error::Invalid { .. }) => Ok(Goal::Hosts(MemberNetwork::of_settings(inputs.settings, balancer), None)),
            Err(error) => Err(error),
        }
    }

    async fn observe(&self, balancer: &LoadBalancer) -> Result<Tree, Halt> {
        self.observer().tree(balancer.clone()).await
    }

    fn refresh(&self, observed: Arc<Tree>, balancer: &LoadBalancer) -> Arc<Tree> {
        Arc::new(Tree {
            balancer: balancer.clone(),
            ..(*observed).clone()
        })
    }

    fn plan(&self, request: &Request<'_>, tree: &Tree, goal: &Goal) -> Result<Vec<Step>> {
        let relation = relation(request, &tree.balancer);
        goal.steps(tree, &self.inputs(request), &relation)
    }

    /// What Octavia refused before, or accepted without any effect, is not tried again, but reported. Members that should come or go are worth
    /// an error instead.
    fn possible(&self, tree: &Tree, steps: Vec<Step>, notes: &mut Notes) -> Vec<Step> {
        let mut possible = Vec::new();
        for step in steps {
            match self.refusal(tree, &step) {
                Some((reason, message)) => notes.warn(reason, message),
                None => possible.push(step),
            }
        }
        notes.events.dedup();
        possible
    }

    fn host_steps(
        &self,
        request: &Request<'_>,
        goal: &Goal,
        targets: &BTreeMap<String, String>,
    ) -> Option<VecDeque<Step>> {
        goal.host_steps(&self.inputs(request), targets)
    }

    async fn apply(
        &self,
        _: &Request<'_>,
        balancer: &LoadBalancer,
        tree: Option<&Tree>,
        step: &Step,
    ) -> Result<Applied<Tree>, Halt> {
        let applied = if let Some(tree) = tree {
            apply(&self.octavia, step, tree).await.map(Some)
        } else {
            let bare = Tree {
                balancer: balancer.clone(),
                ..Tree::default()
            };
            apply(&self.octavia, step, &bare).await.map(|_| None)
        };
        match applied {
            Ok(changed) => Ok(Applied::Changed(changed)),
            Err(error) if is_immutable(&error) => Ok(Applied::Conflict),
            // It was deleted meanwhile: what to do about that shows when it is read again.
            Err(Error::NotFound { .. }) => Ok(Applied::Conflict),
            Err(error) => self.refused(step, error),
        }
    }

    fn applied(&self, request: &Request<'_>, balancer: &LoadBalancer, step: &Step, notes: &mut Notes) {
        if let Step::UpdateLoadBalancer { change, .. } = step
            && change.name.is_some()
        {
            notes.warn(
                "LoadBalancerRename",
                format!(
                    "Loadbalancer {} has a name of {} with incorrect cluster-name component. Renaming it to {}.",
                    balancer.id,
                    balancer.name,
                    self.name(request.spec)
                ),
            );
        }
    }

    fn completeness(&self, request: &Request<'_>, tree: &Tree, goal: &Goal) -> Completeness {
        let is_of = |target: &str| tree.pools.iter().any(|pool| target.starts_with(&pool.id));
        self.state.effective(is_of);
        goal.completeness(tree, &relation(request, &tree.balancer))
    }

    fn targets(&self, request: &Request<'_>, balancer: &LoadBalancer, tree: Option<&Tree>) -> BTreeMap<String, String> {
        let stored = || {
            let record = request.record.as_ref().filter(|record| record.id == balancer.id);
            record
                .map(|record| record.targets.clone())
                .filter(|targets| !targets.is_empty())
        };
        match tree {
            Some(tree) => tree.pools_by_port(&relation(request, balancer)),
            None => stored().unwrap_or_else(|| tree::only_pool(balancer, &request.spec.ports)),
        }
    }

    async fn finish(
        &self,
        request: &Request<'_>,
        balancer: &LoadBalancer,
        notes: &mut Notes,
    ) -> Result<Finished, Halt> {
        self.finish_for(request, balancer, notes).await
    }

    fn remarks(&self, request: &Request<'_>, balancer: &LoadBalancer, notes: &mut Notes) {
        let relation = relation(request, balancer);
        match request.scope {
            Scope::Deletion => warnings::kept(request.spec, balancer, &relation, notes),
            Scope::All | Scope::Hosts => warnings::warn(&self.inputs(request), balancer, &relation, notes),
        }
    }

    async fn repair(&self, request: &Request<'_>, balancer: &LoadBalancer) -> Halt {
        self.repair_for(request, balancer).await
    }

    fn fate(&self, request: &Request<'_>, balancer: &LoadBalancer, use_: Use) -> Fate {
        let relation = match use_ {
            Use::Current => relation(request, balancer),
            Use::Previous => Relation::previous(balancer, request.spec, &request.settings.settings),
        };
        ownership::fate(balancer, &relation, use_, self.is_created_for(request.spec, balancer))
    }

    fn located_by<'a>(&self, request: &'a Request<'_>) -> Option<&'a str> {
        request.settings.settings.load_balancer_id.as_deref()
    }

    async fn others(&self, request: &Request<'_>, located: &LoadBalancer) -> Result<Vec<String>> {
        let marked = self.all_marked(request.spec).await?.into_iter();
        Ok(marked
            .map(|balancer| balancer.id)
            .filter(|id| *id != located.id)
            .collect())
    }

    async fn before_delete(&self, request: &Request<'_>) -> Result<(), Halt> {
        let reserved = &self.lists.reserved;
        reserved.give_back(self.session(), &request.spec.service, None).await
    }

    async fn delete(&self, request: &Request<'_>, balancer: &LoadBalancer) -> Result<(), Halt> {
        self.delete_balancer(request, balancer).await
    }

    async fn detach(&self, request: &Request<'_>, balancer: &LoadBalancer, use_: Use) -> Result<(), Halt> {
        let relation = match use_ {
            Use::Current => relation(request, balancer),
            Use::Previous => Relation::previous(balancer, request.spec, &request.settings.settings),
        };
        self.detach_from(request, balancer, &relation).await
    }

    async fn clean_up(
        &self,
        request: &Request<'_>,
        kept: Option<&LoadBalancer>,
        notes: &mut Notes,
    ) -> Result<(), Halt> {
        self.clean_up_for(request, kept, notes).await
    }
}

impl Reconciler {
    pub(super) fn inputs<'a>(&'a self, request: &'a Request<'_>) -> Inputs<'a> {
        Inputs {
            spec: request.spec,
            settings: &request.settings.settings,
            features: request.settings.features,
            record: request.record.as_ref(),
            config: self.config(),
        }
    }

    /// The networks of the members, and the IP families of the load balancer.
    pub(super) async fn member_network(
        &self,
        inputs: &Inputs<'_>,
        balancer: &LoadBalancer,
        relation: &Relation,
    ) -> cloud::Result<MemberNetwork> {
        let choice = network::choose(inputs.spec, inputs.settings, inputs.config)?;
        let subnet = balancer.vip_subnet_id.as_deref();
        let family = inputs.spec.families.first().copied();
        let members = self.networks.members(
            self.session(),
            &choice,
            subnet,
            relation.ownership,
            &inputs.spec.hosts,
            family,
        );
        Ok(MemberNetwork {
            member_subnet: members.await?,
            second_subnet: tree::second_subnet(balancer),
            families: tree::families(balancer),
        })
    }

    /// Why a step is not applied again.
    fn refusal(&self, tree: &Tree, step: &Step) -> Option<(&'static str, String)> {
        match step {
            Step::UpdatePool { id, change, .. } => {
                let why = self.learned.refusal(id, change.lb_algorithm.as_deref()?)?;
                let message = format!("Error updating LB method for LoadBalancer: {why}");
                Some(("LoadBalancerLbMethodUnknown", message))
            }
            step if step.keeps_members() && self.state.is_futile(step) => {
                let message = format!(
                    "Octavia accepted a change of load balancer {} twice, and nothing changed: {step}",
                    tree.balancer.id
                );
                Some(("LoadBalancerMembersUnchanged", message))
            }
            _ => None,
        }
    }

    /// Whether a refused step is remembered, so that the others can be applied.
    fn refused(&self, step: &Step, error: Error) -> Result<Applied<Tree>, Halt> {
        let algorithm = match step {
            Step::UpdatePool { id, change, .. } if is_refused(&error) => {
                change.lb_algorithm.as_deref().map(|algorithm| (id, algorithm))
            }
            _ => None,
        };
        match algorithm {
            // A conflict may inputs; the second one in a row is final.
            Some((pool, algorithm)) if is_conflict(&error) && self.learned.note_conflict(pool, algorithm) => {
                Err(error.into())
            }
            Some((pool, algorithm)) => {
                self.learned.refused(pool, algorithm, error.report());
                Ok(Applied::Refused)
            }
            None => Err(error.into()),
        }
    }
}

/// The relation of a Service to a load balancer.
pub(super) fn relation(request: &Request<'_>, balancer: &LoadBalancer) -> Relation {
    Relation::of(balancer, request.spec, &request.settings.settings)
}
