//! Classic load balancers as the engine sees them.

use super::{
    Classic,
    desired::{Asked, Proxy},
    plan::{self, Observed},
    step::Step,
};
use crate::{
    api::{
        elb::{ClassicLoadBalancer, NewClassicLoadBalancer},
        errors,
    },
    load_balancers::{
        Shared, names, remarks,
        settings::{self, Kind, Scheme},
    },
};
use async_trait::async_trait;
use cloud::{Error, Notes, Result, Spec, default_name};
use futures::{FutureExt, future::BoxFuture};
use provider_kit::load_balancer::{
    self as kit, Applied, Cloud, Completeness, Completion, Condition, Content, Created, Digest, Finished, Halt, Scope,
    State, fingerprint,
};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};
use tokio::time::Instant;

type Request<'a> = kit::Request<'a, Classic>;

/// The only target: the load balancer itself has the instances.
const TARGET: &str = "instances";

#[async_trait]
impl Cloud for Classic {
    type Settings = Asked;
    type Balancer = ClassicLoadBalancer;
    type Observed = Observed;
    /// The instances that are to get traffic.
    type Desired = BTreeSet<String>;
    type Step = Step;

    fn state(&self) -> &State<Observed, Step> {
        &self.state
    }

    fn completion(&self) -> Completion {
        Completion::AtOnce
    }

    async fn settings(&self, spec: &Spec, scope: Scope) -> Result<Asked> {
        let api = &self.shared.api;
        let asked = Asked::of(spec, &api.config, api.cluster().await?);
        match (scope, asked) {
            (Scope::All, asked) => {
                let mut subnets = self.shared.subnets.of(spec, settings::scheme(spec)).await?;
                subnets.sort_unstable();
                Ok(Asked { subnets, ..asked? })
            }
            // What is wrong with the ports is nothing to the hosts behind those that are there.
            (Scope::Hosts | Scope::Deletion, Err(Error::Invalid { .. })) => Ok(Asked::default()),
            (Scope::Hosts | Scope::Deletion, asked) => asked,
        }
    }

    /// A subnet that is added or removed reaches the load balancer when its Service is next reconciled as a whole.
    fn digest(&self, request: &Request<'_>) -> Digest {
        self.shared.digest(request.spec, &request.settings.subnets)
    }

    fn name(&self, spec: &Spec) -> String {
        default_name(&spec.service.uid)
    }

    async fn locate(&self, request: &Request<'_>) -> Result<Option<ClassicLoadBalancer>> {
        let name = self.name(request.spec);
        self.find_named(&name, self.state.changed_at(&name)).await
    }

    async fn get(&self, id: &str) -> Result<Option<ClassicLoadBalancer>> {
        if id.starts_with("arn:") {
            return Ok(None);
        }
        self.find_named(id, self.state.changed_at(id)).await
    }

    fn id<'a>(&self, balancer: &'a ClassicLoadBalancer) -> &'a str {
        &balancer.load_balancer_name
    }

    fn version(&self, balancer: &ClassicLoadBalancer) -> String {
        fingerprint(balancer)
    }

    fn condition(&self, _: &ClassicLoadBalancer) -> Condition {
        Condition::Ready
    }

    async fn create(&self, request: &Request<'_>) -> Result<Created, Halt> {
        let (spec, asked, api) = (request.spec, &request.settings, &self.shared.api);
        let name = self.name(spec);
        if api.load_balancer(&name).await?.is_some() {
            return Err(Shared::other_kind(Kind::Classic).into());
        }
        if asked.listeners.is_empty() {
            return Err(Error::invalid("spec.ports", "no port has a node port").into());
        }
        let new = NewClassicLoadBalancer {
            load_balancer_name: name.clone(),
            listeners: asked.listeners.clone(),
            scheme: (settings::scheme(spec) == Scheme::Internal).then_some("internal"),
            subnets: asked.subnets.clone(),
            security_groups: self.groups_for(spec).await?,
            tags: asked.tags.clone(),
        };
        match api.create_classic_load_balancer(&new).await {
            // One with other settings that is not listed yet: an earlier process created it.
            Err(error) if errors::code(&error) == Some("DuplicateLoadBalancerName") => {
                self.state.touched(&name);
                return Err(Halt::changed(format!("load balancer {name}")));
            }
            created => created?,
        }
        self.state.touched(&name);
        Ok(Created {
            id: name,
            content: Content::Partial,
        })
    }

    async fn desired(&self, request: &Request<'_>, _: &ClassicLoadBalancer) -> Result<BTreeSet<String>> {
        let instances = self.shared.hosts.instances(request.spec).await?;
        Ok(instances.iter().map(|instance| instance.instance_id.clone()).collect())
    }

    async fn observe(&self, lb: &ClassicLoadBalancer) -> Result<Observed, Halt> {
        let (api, name) = (&self.shared.api, lb.load_balancer_name.as_str());
        let tags = async {
            match api.classic_tags(&[name]).await {
                // The Go program does not read tags, so it may be that this is not allowed.
                Err(Error::Denied { .. }) => Ok(None),
                tags => Ok(Some(tags?.remove(name).unwrap_or_default())),
            }
        };
        let (attributes, tags) = futures::try_join!(api.classic_attributes(name), tags)?;
        Ok(Observed {
            lb: lb.clone(),
            attributes,
            tags,
        })
    }

    /// The instances are not part of the version.
    fn refresh(&self, observed: Arc<Observed>, lb: &ClassicLoadBalancer) -> Arc<Observed> {
        Arc::new(Observed {
            lb: lb.clone(),
            ..(*observed).clone()
        })
    }

    fn plan(&self, request: &Request<'_>, observed: &Observed, instances: &BTreeSet<String>) -> Result<Vec<Step>> {
        Ok(plan::plan(observed, &request.settings, instances, request.scope))
    }

    fn host_steps(
        &self,
        _: &Request<'_>,
        wanted: &BTreeSet<String>,
        _: &BTreeMap<String, String>,
    ) -> Option<VecDeque<Step>> {
        let step = Step::SetInstances {
            wanted: wanted.clone(),
            present: None,
        };
        Some([step].into())
    }

    async fn apply(
        &self,
        _: &Request<'_>,
        lb: &ClassicLoadBalancer,
        _: Option<&Observed>,
        step: &Step,
    ) -> Result<Applied<Observed>, Halt> {
        match self.apply_step(lb, step).await {
            // It was deleted meanwhile: what to do about that shows when it is read again.
            Err(Error::NotFound { .. }) => Ok(Applied::Conflict),
            Err(error) => {
                if errors::code(&error) == Some("InvalidInstance") {
                    self.shared.hosts.forget().await;
                }
                Err(error.into())
            }
            Ok(()) => Ok(Applied::Changed(None)),
        }
    }

    fn completeness(&self, request: &Request<'_>, observed: &Observed, _: &BTreeSet<String>) -> Completeness {
        plan::completeness(observed, &request.settings)
    }

    fn targets(&self, _: &Request<'_>, lb: &ClassicLoadBalancer, _: Option<&Observed>) -> BTreeMap<String, String> {
        [(TARGET.to_owned(), lb.load_balancer_name.clone())].into()
    }

    async fn finish(&self, request: &Request<'_>, lb: &ClassicLoadBalancer, _: &mut Notes) -> Result<Finished, Halt> {
        let spec = request.spec;
        self.guard(spec, &request.settings, lb, request.scope).await?;
        self.state.unread(&lb.load_balancer_name);
        let status = match request.scope {
            Scope::Hosts => spec.status.clone(),
            Scope::All | Scope::Deletion => Shared::status(&lb.dns_name),
        };
        Ok(Finished {
            status,
            ..Finished::default()
        })
    }

    fn remarks(&self, request: &Request<'_>, lb: &ClassicLoadBalancer, notes: &mut Notes) {
        if request.scope == Scope::All {
            remarks::classic(request.spec, &lb.scheme, notes);
        }
    }

    async fn delete(&self, request: &Request<'_>, lb: &ClassicLoadBalancer) -> Result<(), Halt> {
        self.close(request.spec, lb).await?;
        let name = &lb.load_balancer_name;
        self.shared.api.delete_classic_load_balancer(name).await?;
        self.state.invalidate(name);
        Ok(())
    }

    async fn clean_up(
        &self,
        request: &Request<'_>,
        _: Option<&ClassicLoadBalancer>,
        _: &mut Notes,
    ) -> Result<(), Halt> {
        self.unguard(request.spec).await?;
        self.state.gone(&self.name(request.spec));
        Ok(())
    }
}

impl Classic {
    /// The load balancer of this name. What is older than `changed` does not count.
    pub(in crate::load_balancers) async fn find_named(
        &self,
        name: &str,
        changed: Option<Instant>,
    ) -> Result<Option<ClassicLoadBalancer>> {
        let read = self.read_all();
        let found = match self.list.get_if_busy(name, changed, read).await? {
            Some(all) => all.iter().find(|lb| lb.load_balancer_name == name).cloned(),
            None => self.shared.api.classic_load_balancer(name).await?,
        };
        Ok(found.map(sorted))
    }

    /// All of the region. What is older than `changed` does not count.
    pub(super) async fn list_all(&self, changed: Option<Instant>) -> Result<Arc<Vec<ClassicLoadBalancer>>> {
        self.list.get(changed, self.read_all()).await
    }

    fn read_all(&self) -> impl FnOnce() -> BoxFuture<'static, Result<Vec<ClassicLoadBalancer>>> + use<> {
        let api = Arc::clone(&self.shared.api);
        || async move { api.classic_load_balancers().await }.boxed()
    }

    async fn apply_step(&self, lb: &ClassicLoadBalancer, step: &Step) -> Result<()> {
        let (api, name) = (&self.shared.api, lb.load_balancer_name.as_str());
        match step {
            Step::DetachSubnets(ids) => api.detach_subnets(name, ids).await,
            Step::AttachSubnets(ids) => api.attach_subnets(name, ids).await,
            Step::DeleteListeners(ports) => api.delete_classic_listeners(name, ports).await,
            Step::CreateListeners(listeners) => api.create_classic_listeners(name, listeners).await,
            Step::CreatePolicy(policy) => match api.create_policy(name, policy).await {
                Err(error) if errors::code(&error) == Some("DuplicatePolicyName") => Ok(()),
                done => done,
            },
            Step::SetProxy { port, proxy } => {
                let policies: &[&str] = match proxy {
                    Proxy::On => &[names::PROXY_POLICY],
                    Proxy::Off => &[],
                };
                api.set_backend_policies(name, *port, policies).await
            }
            Step::SetTlsPolicy { port, policy } => api.set_listener_policies(name, *port, &[policy]).await,
            Step::SetAttributes(attributes) => api.set_classic_attributes(name, attributes).await,
            Step::ConfigureCheck(check) => api.configure_health_check(name, check).await,
            Step::AddTags(tags) => api.add_classic_tags(name, tags).await,
            Step::SetInstances { wanted, present } => {
                let listed = || lb.instances.iter().map(|one| one.instance_id.clone()).collect();
                self.set_instances(name, wanted, &present.clone().unwrap_or_else(listed))
                    .await
            }
        }
    }

    /// Adds instances first, so that there is always one that gets traffic.
    async fn set_instances(&self, name: &str, wanted: &BTreeSet<String>, present: &BTreeSet<String>) -> Result<()> {
        let new: Vec<String> = wanted.difference(present).cloned().collect();
        let gone: Vec<String> = present.difference(wanted).cloned().collect();
        if !new.is_empty() {
            self.shared.api.register_instances(name, &new).await?;
        }
        if !gone.is_empty() {
            self.shared.api.deregister_instances(name, &gone).await?;
        }
        Ok(())
    }
}

/// The order of lists is not part of the version.
fn sorted(mut lb: ClassicLoadBalancer) -> ClassicLoadBalancer {
    lb.subnets.0.sort_unstable();
    lb.security_groups.0.sort_unstable();
    lb.listener_descriptions
        .0
        .sort_unstable_by_key(|one| one.listener.load_balancer_port);
    lb.backend_server_descriptions
        .0
        .sort_unstable_by_key(|one| one.instance_port);
    lb.policies.other_policies.0.sort_unstable();
    lb
}
