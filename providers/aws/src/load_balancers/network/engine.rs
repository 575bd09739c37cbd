//! Network load balancers as the engine sees them.

use super::{
    Balancer, Network,
    desired::{Asked, port_of},
    observe::sorted,
    plan::{self, Observed},
    step::{SetTargets, Step},
};
use crate::{
    api::{
        elbv2::{LoadBalancer, NewLoadBalancer, SubnetMapping, target_groups::TargetGroup},
        errors,
    },
    load_balancers::{
        Shared, annotations as key, names, remarks,
        settings::{self, Kind, Scheme},
        tags,
    },
};
use async_trait::async_trait;
use cloud::{Error, Notes, Result, Spec, default_name};
use provider_kit::load_balancer::{
    self as kit, Applied, Cloud, Completeness, Completion, Condition, Content, Created, Digest, Finished, Halt, Record,
    Scope, State, fingerprint,
};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};
use tokio::time::Instant;

type Request<'a> = kit::Request<'a, Network>;

#[async_trait]
impl Cloud for Network {
    type Settings = Asked;
    type Balancer = Balancer;
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
            // What is wrong with the ports is nothing to the hosts behind those that are there.
            (Scope::Hosts | Scope::Deletion, Err(Error::Invalid { .. })) => Ok(Asked::default()),
            (_, asked) => asked,
        }
    }

    fn digest(&self, request: &Request<'_>) -> Digest {
        self.shared.digest(request.spec, &[])
    }

    fn name(&self, spec: &Spec) -> String {
        default_name(&spec.service.uid)
    }

    async fn locate(&self, request: &Request<'_>) -> Result<Option<Balancer>> {
        let changed = self.changed(request);
        let service = Some(&request.spec.service);
        let found = self.find_named(&self.name(request.spec), service, changed).await?;
        Ok(found.or_else(|| self.not_shown(request)))
    }

    async fn get(&self, id: &str) -> Result<Option<Balancer>> {
        if let Some(lb) = self.known().created.remove(id) {
            return Ok(Some(Balancer {
                lb,
                ..Balancer::default()
            }));
        }
        match name_in(id) {
            Some(name) => self.find_named(name, None, self.state.changed_at(id)).await,
            // The ID of a classic load balancer.
            None => Ok(None),
        }
    }

    fn id<'a>(&self, balancer: &'a Balancer) -> &'a str {
        &balancer.lb.load_balancer_arn
    }

    fn version(&self, balancer: &Balancer) -> String {
        version(balancer)
    }

    fn condition(&self, balancer: &Balancer) -> Condition {
        match balancer.lb.state.code.as_str() {
            "failed" => Condition::Broken,
            // One that is being provisioned can be changed, and has its name.
            _ => Condition::Ready,
        }
    }

    async fn create(&self, request: &Request<'_>) -> Result<Created, Halt> {
        let (spec, api) = (request.spec, &self.shared.api);
        let name = self.name(spec);
        if api.classic_load_balancer(&name).await?.is_some() {
            return Err(Shared::other_kind(Kind::Network).into());
        }
        let new = NewLoadBalancer {
            subnet_mappings: self.subnet_mappings(spec).await?,
            security_groups: self.groups_at_creation(spec).await?,
            name,
            kind: "network",
            scheme: (settings::scheme(spec) == Scheme::Internal).then_some("internal"),
            tags: request.settings.tags.clone(),
        };
        let created = match api.create_load_balancer(&new).await {
            // One with other settings that is not listed yet: an earlier process created it.
            Err(error) if errors::code(&error) == Some("DuplicateLoadBalancerName") => {
                return Err(Halt::changed(format!("load balancer {}", new.name)));
            }
            created => created?,
        };
        let missing = || Error::unavailable("CreateLoadBalancer", "the answer has no load balancer");
        let lb = sorted(created.ok_or_else(missing)?);
        Ok(self.created(lb, &request.settings))
    }

    async fn desired(&self, request: &Request<'_>, _: &Balancer) -> Result<BTreeSet<String>> {
        let instances = self.shared.hosts.instances(request.spec).await?;
        Ok(instances.iter().map(|instance| instance.instance_id.clone()).collect())
    }

    async fn observe(&self, balancer: &Balancer) -> Result<Observed, Halt> {
        Ok(Box::pin(self.observe_all(balancer)).await?)
    }

    fn plan(&self, request: &Request<'_>, observed: &Observed, targets: &BTreeSet<String>) -> Result<Vec<Step>> {
        Ok(plan::plan(observed, &request.settings, targets, request.scope))
    }

    fn host_steps(
        &self,
        _: &Request<'_>,
        wanted: &BTreeSet<String>,
        targets: &BTreeMap<String, String>,
    ) -> Option<VecDeque<Step>> {
        let step = |(target, group): (&String, &String)| {
            Some(Step::SetTargets(SetTargets {
                group: group.clone(),
                port: port_of(target)?,
                wanted: wanted.clone(),
                present: None,
            }))
        };
        targets.iter().map(step).collect()
    }

    async fn apply(
        &self,
        request: &Request<'_>,
        balancer: &Balancer,
        _: Option<&Observed>,
        step: &Step,
    ) -> Result<Applied<Observed>, Halt> {
        let targets = match step {
            Step::AddPort(_) | Step::ReplaceGroup { .. } => self.desired(request, balancer).await?,
            _ => BTreeSet::new(),
        };
        let arn = &balancer.lb.load_balancer_arn;
        match self.apply_step(arn, &request.settings, &targets, step).await {
            // It was deleted meanwhile: what to do about that shows when it is read again.
            Err(Halt::Failed(Error::NotFound { .. })) => Ok(Applied::Conflict),
            // It was created before, and was not listed yet.
            Err(Halt::Failed(error)) if is_duplicate(&error) => Ok(Applied::Conflict),
            done => done.map(|()| Applied::Changed(None)),
        }
    }

    fn completeness(&self, request: &Request<'_>, observed: &Observed, _: &BTreeSet<String>) -> Completeness {
        plan::completeness(observed, &request.settings)
    }

    fn targets(&self, _: &Request<'_>, balancer: &Balancer, _: Option<&Observed>) -> BTreeMap<String, String> {
        let groups = balancer.groups.iter();
        let target = |group: &TargetGroup| {
            (
                format!("{}:{}", group.protocol, group.port),
                group.target_group_arn.clone(),
            )
        };
        groups.map(target).collect()
    }

    async fn finish(&self, request: &Request<'_>, balancer: &Balancer, _: &mut Notes) -> Result<Finished, Halt> {
        let spec = request.spec;
        self.guard(spec, &request.settings, balancer, request.scope).await?;
        self.state.unread(&balancer.lb.load_balancer_arn);
        let status = match request.scope {
            Scope::Hosts => spec.status.clone(),
            Scope::All | Scope::Deletion => status(&balancer.lb),
        };
        Ok(Finished {
            status,
            ..Finished::default()
        })
    }

    fn remarks(&self, request: &Request<'_>, balancer: &Balancer, notes: &mut Notes) {
        if request.scope == Scope::All {
            remarks::network(request.spec, &balancer.lb, &self.shared.api.config, notes);
        }
    }

    async fn delete(&self, _: &Request<'_>, balancer: &Balancer) -> Result<(), Halt> {
        let arn = &balancer.lb.load_balancer_arn;
        self.shared.api.delete_load_balancer(arn).await?;
        self.state.invalidate(arn);
        for group in &balancer.groups {
            self.delete_group(&group.target_group_arn).await?;
        }
        Ok(())
    }

    async fn clean_up(&self, request: &Request<'_>, _: Option<&Balancer>, _: &mut Notes) -> Result<(), Halt> {
        self.delete_loose(request).await?;
        self.unguard(request.spec).await?;
        let record = request.record.as_ref().map(|record| record.id.clone());
        for id in record.into_iter().chain(self.state.created(request.spec)) {
            self.state.forget(&id);
            self.known().created.remove(&id);
        }
        self.state.gone(&self.name(request.spec));
        Ok(())
    }
}

impl Network {
    /// A load balancer that this process created, and that AWS may not show yet: it is deleted all the same.
    fn not_shown(&self, request: &Request<'_>) -> Option<Balancer> {
        let is_left = request.scope == Scope::Deletion && !self.state.is_deleted(request.spec);
        let load_balancer_arn = self.state.created(request.spec).filter(|_| is_left)?;
        Some(Balancer {
            lb: LoadBalancer {
                load_balancer_name: self.name(request.spec),
                load_balancer_arn,
                ..LoadBalancer::default()
            },
            ..Balancer::default()
        })
    }

    /// When this process last changed the load balancer of a Service.
    fn changed(&self, request: &Request<'_>) -> Option<Instant> {
        let record = request.record.as_ref().map(|record| record.id.clone());
        let ids = record.into_iter().chain(self.state.created(request.spec));
        let ids = ids.chain([self.name(request.spec)]);
        ids.filter_map(|id| self.state.changed_at(&id)).max()
    }

    /// What is on a new load balancer is known without reading it, except for its attributes, which have AWS's defaults.
    fn created(&self, lb: LoadBalancer, asked: &Asked) -> Created {
        let id = lb.load_balancer_arn.clone();
        let attributes = ["load_balancing.cross_zone.enabled", "access_logs.s3.enabled"];
        let attributes = attributes.map(|name| (name.to_owned(), "false".to_owned()));
        let observed = Observed {
            arn: id.clone(),
            tags: Some([(id.clone(), asked.tags.clone())].into()),
            attributes: attributes.into(),
            ..Observed::default()
        };
        let balancer = Balancer {
            lb,
            ..Balancer::default()
        };
        self.state.read(&id, version(&balancer), Arc::new(observed));
        self.known().created.insert(id.clone(), balancer.lb);
        Created {
            id,
            content: Content::Partial,
        }
    }

    async fn subnet_mappings(&self, spec: &Spec) -> Result<Vec<SubnetMapping>> {
        let subnets = self.shared.subnets.of(spec, settings::scheme(spec)).await?;
        let given = |row: provider_kit::annotations::Annotation| {
            let items = row
                .non_empty(spec)
                .map(|text| text.split(',').map(str::to_owned).collect::<Vec<_>>());
            match items {
                Some(items) if items.len() != subnets.len() => {
                    let reason = format!("there are {} for {} subnets", items.len(), subnets.len());
                    Err(Error::unusable(format!("annotation {}", row.key), reason))
                }
                items => Ok(items),
            }
        };
        let (allocations, addresses) = (given(key::EIP_ALLOCATIONS)?, given(key::PRIVATE_IPV4_ADDRESSES)?);
        let at = |list: &Option<Vec<String>>, index: usize| list.as_ref().and_then(|list| list.get(index).cloned());
        let mapping = |(index, subnet): (usize, &String)| SubnetMapping {
            subnet_id: subnet.clone(),
            allocation_id: at(&allocations, index),
            private_ipv4_address: at(&addresses, index),
        };
        Ok(subnets.iter().enumerate().map(mapping).collect())
    }

    /// Deletes the target groups of a Service whose load balancer does not exist any more. Their tags identify the owner; if these may not be
    /// read, the record does, or a name that no other Service has.
    async fn delete_loose(&self, request: &Request<'_>) -> Result<(), Halt> {
        let service = &request.spec.service;
        let (prefix, record) = (names::target_group_prefix(service), request.record.as_ref());
        let all = self.all_groups(self.changed(request)).await?;
        let name = self.name(request.spec);
        // A group may still show a load balancer that is gone.
        let was_ours = |arn: &String| record.is_some_and(|record| record.id == *arn) || name_in(arn) == Some(&name);
        let loose = all.iter().filter(|group| {
            group.target_group_name.starts_with(&prefix) && group.load_balancer_arns.iter().all(was_ours)
        });
        let loose: Vec<&TargetGroup> = loose.collect();
        if loose.is_empty() {
            return Ok(());
        }
        let arns: Vec<&str> = loose.iter().map(|group| group.target_group_arn.as_str()).collect();
        let (cluster, known) = (self.shared.api.cluster().await?, self.readable_tags(&arns).await?);
        let is_own = |group: &TargetGroup| {
            if let Some(known) = &known {
                let tags = known.get(&group.target_group_arn);
                return tags.is_some_and(|tags| tags::is_of(service, cluster, tags));
            }
            let mut mappings = request.settings.mappings.iter();
            let is_recorded = |record: &Record| record.targets.values().any(|arn| *arn == group.target_group_arn);
            record.is_some_and(is_recorded) || mappings.any(|mapping| mapping.group_name == group.target_group_name)
        };
        for group in loose.into_iter().filter(|group| is_own(group)) {
            self.delete_group(&group.target_group_arn).await?;
        }
        Ok(())
    }
}

fn is_duplicate(error: &Error) -> bool {
    matches!(
        errors::code(error),
        Some("DuplicateListener" | "DuplicateTargetGroupName")
    )
}

/// The name in the ARN of a load balancer.
pub fn name_in(arn: &str) -> Option<&str> {
    let mut parts = arn.strip_prefix("arn:")?.split('/');
    parts.nth(2)
}

/// The targets do not count.
fn version(balancer: &Balancer) -> String {
    fingerprint(&(&balancer.lb, &balancer.groups))
}

/// The name by which a load balancer is reached, once it has one.
pub fn status(lb: &LoadBalancer) -> cloud::Status {
    match lb.state.code.as_str() {
        "active" | "provisioning" | "active_impaired" => Shared::status(&lb.dns_name),
        _ => cloud::Status::default(),
    }
}
