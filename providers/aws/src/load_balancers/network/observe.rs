//! Reads load balancers and everything on them.

use super::{
    Balancer, Network,
    plan::{Group, Observed},
};
use crate::{
    api::elbv2::{LoadBalancer, TagsByArn, listeners::Listener, target_groups::TargetGroup},
    load_balancers::{names, tags},
};
use cloud::{Error, Result, ServiceRef};
use provider_kit::concurrently;
use std::sync::Arc;
use tokio::time::Instant;
use tracing::debug;

impl Network {
    /// The load balancer of this name, with its target groups. What is older than `changed` does not count.
    pub(in crate::load_balancers) async fn find_named(
        &self,
        name: &str,
        service: Option<&ServiceRef>,
        changed: Option<Instant>,
    ) -> Result<Option<Balancer>> {
        let Some(lb) = self.find_lb(name, changed).await? else {
            return Ok(None);
        };
        if lb.kind != "network" {
            let reason = format!("it is an {} load balancer", lb.kind);
            return Err(Error::unusable(format!("load balancer {name}"), reason));
        }
        let all = self.all_groups(changed).await?;
        let arn = &lb.load_balancer_arn;
        let is_used = |group: &&TargetGroup| group.load_balancer_arns.contains(arn);
        let prefix = service.map(names::target_group_prefix);
        let is_loose = |group: &&TargetGroup| {
            let prefix = prefix.as_ref();
            group.load_balancer_arns.is_empty()
                && prefix.is_some_and(|prefix| group.target_group_name.starts_with(prefix))
        };
        let mut groups: Vec<TargetGroup> = all.iter().filter(is_used).cloned().collect();
        // The order of lists is not part of the version.
        groups.sort_unstable_by(|one, other| one.target_group_arn.cmp(&other.target_group_arn));
        Ok(Some(Balancer {
            groups,
            loose: all.iter().filter(is_loose).cloned().collect(),
            lb: sorted(lb),
        }))
    }

    async fn find_lb(&self, name: &str, changed: Option<Instant>) -> Result<Option<LoadBalancer>> {
        let api = Arc::clone(&self.shared.api);
        let read = || async move { api.load_balancers().await };
        match self.list.get_if_busy(name, changed, read).await? {
            Some(all) => Ok(all.iter().find(|lb| lb.load_balancer_name == name).cloned()),
            None => self.shared.api.load_balancer(name).await,
        }
    }

    pub(super) async fn all_groups(&self, changed: Option<Instant>) -> Result<Arc<Vec<TargetGroup>>> {
        let api = Arc::clone(&self.shared.api);
        let read = || async move { api.target_groups().await };
        let all = self.groups.get(changed, read).await?;
        self.forget_groups_besides(&all);
        Ok(all)
    }

    /// Everything on a load balancer.
    pub(super) async fn observe_all(&self, balancer: &Balancer) -> Result<Observed> {
        let api = &self.shared.api;
        let arn = &balancer.lb.load_balancer_arn;
        let groups = async {
            let groups = balancer.groups.iter().map(|group| self.observe_group(group));
            concurrently(groups).await.into_iter().collect::<Result<Vec<Group>>>()
        };
        let listeners = async {
            let listeners = api.listeners(arn).await?;
            let tags = self.tags(balancer, &listeners).await?;
            Ok((listeners, tags))
        };
        let ((listeners, tags), attributes, groups) =
            futures::try_join!(listeners, api.load_balancer_attributes(arn), groups)?;
        Ok(Observed {
            arn: arn.clone(),
            listeners,
            loose: self.own_loose(balancer, tags.as_ref()).await?,
            groups,
            attributes,
            tags,
        })
    }

    async fn observe_group(&self, group: &TargetGroup) -> Result<Group> {
        let (api, arn) = (&self.shared.api, &group.target_group_arn);
        let attributes = async { readable(api.target_group_attributes(arn).await) };
        let (targets, attributes) = futures::try_join!(api.targets(arn), attributes)?;
        self.remember_group(arn, targets.clone());
        Ok(Group {
            group: group.clone(),
            targets,
            attributes,
        })
    }

    /// The tags of a load balancer and of all its listeners and target groups.
    async fn tags(&self, balancer: &Balancer, listeners: &[Listener]) -> Result<Option<TagsByArn>> {
        let groups = balancer.groups.iter().chain(&balancer.loose);
        let groups = groups.map(|group| group.target_group_arn.as_str());
        let listeners = listeners.iter().map(|listener| listener.listener_arn.as_str());
        let balancer = [balancer.lb.load_balancer_arn.as_str()];
        let arns: Vec<&str> = balancer.into_iter().chain(groups).chain(listeners).collect();
        self.readable_tags(&arns).await
    }

    /// Those of objects that do not exist are left out.
    pub(super) async fn readable_tags(&self, arns: &[&str]) -> Result<Option<TagsByArn>> {
        readable(self.shared.api.elb_v2_tags(arns).await)
    }

    /// Of the target groups that no listener uses, those that the tags say are of the Service of the load balancer.
    async fn own_loose(&self, balancer: &Balancer, known: Option<&TagsByArn>) -> Result<Vec<TargetGroup>> {
        let cluster = self.shared.api.cluster().await?;
        let Some(known) = known else { return Ok(Vec::new()) };
        let of = |arn: &str| known.get(arn).map_or(&[][..], Vec::as_slice);
        let Some(service) = tags::service_of(of(&balancer.lb.load_balancer_arn)) else {
            return Ok(Vec::new());
        };
        let is_own = |group: &&TargetGroup| tags::is_of(&service, cluster, of(&group.target_group_arn));
        Ok(balancer.loose.iter().filter(is_own).cloned().collect())
    }
}

/// What the Go program does not read: its IAM policy need not allow it.
fn readable<T>(answer: Result<T>) -> Result<Option<T>> {
    match answer {
        Err(error @ Error::Denied { .. }) => {
            debug!(error = error.report(), "not read, so it is not kept up to date");
            Ok(None)
        }
        answer => answer.map(Some),
    }
}

pub(super) fn sorted(mut lb: LoadBalancer) -> LoadBalancer {
    let zones = &mut lb.availability_zones.0;
    zones.sort_unstable_by(|one, other| one.subnet_id.cmp(&other.subnet_id));
    lb.security_groups.0.sort_unstable();
    lb
}
