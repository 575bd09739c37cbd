//! Reads load balancers and everything on them.

use super::{
    Balancer, Network,
    plan::{Group, Observed},
};
use crate::{
    api::elbv2::{LoadBalancer, TagsByArn, target_groups::TargetGroup},
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
        self.groups
            .get(changed, || async move { api.target_groups().await })
            .await
    }

    /// Everything on a load balancer.
    pub(super) async fn observe_all(&self, balancer: &Balancer) -> Result<Observed> {
        let api = &self.shared.api;
        let arn = &balancer.lb.load_balancer_arn;
        let groups = async {
            let groups = balancer.groups.iter().map(|group| self.observe_group(group));
            concurrently(groups).await.into_iter().collect::<Result<Vec<Group>>>()
        };
        let (listeners, attributes, groups, tags) = futures::try_join!(
            api.listeners(arn),
            api.load_balancer_attributes(arn),
            groups,
            self.tags(balancer),
        )?;
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
        let (targets, attributes) = futures::try_join!(api.targets(arn), api.target_group_attributes(arn))?;
        self.remember_group(arn, targets.clone());
        Ok(Group {
            group: group.clone(),
            targets,
            attributes,
        })
    }

    /// The tags of a load balancer and all its target groups. The Go program does not read tags, so it may be that this is not allowed.
    async fn tags(&self, balancer: &Balancer) -> Result<Option<TagsByArn>> {
        let groups = balancer.groups.iter().chain(&balancer.loose);
        let groups = groups.map(|group| group.target_group_arn.as_str());
        let arns: Vec<&str> = [balancer.lb.load_balancer_arn.as_str()]
            .into_iter()
            .chain(groups)
            .collect();
        self.readable_tags(&arns).await
    }

    pub(super) async fn readable_tags(&self, arns: &[&str]) -> Result<Option<TagsByArn>> {
        match self.shared.api.elb_v2_tags(arns).await {
            Err(Error::Denied { .. }) => {
                debug!("tags of load balancers may not be read, so they are not kept up to date");
                Ok(None)
            }
            tags => tags.map(Some),
        }
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

pub(super) fn sorted(mut lb: LoadBalancer) -> LoadBalancer {
    let zones = &mut lb.availability_zones.0;
    zones.sort_unstable_by(|one, other| one.subnet_id.cmp(&other.subnet_id));
    lb.security_groups.0.sort_unstable();
    lb
}
