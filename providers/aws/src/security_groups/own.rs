//! The security groups that load balancers have of their own.

use super::{
    SecurityGroups,
    rules::{self, Rule, Rules},
    store::RuleStore,
};
use crate::api::{
    ec2::{Tag, security_groups::SecurityGroup},
    errors,
};
use crate::cluster::{Cluster, LEGACY_TAG, TAG_PREFIX};
use cloud::{Error, Result};
use provider_kit::{
    lanes::{Store, Written},
    load_balancer::Halt,
};
use std::{collections::BTreeSet, time::Duration};
use tracing::info;

/// When to look again at a group that is still in use.
const IN_USE: Duration = Duration::from_secs(5);
const SOON: Duration = Duration::from_secs(1);

/// The group of one load balancer.
#[derive(Debug, Clone)]
pub struct OwnGroup {
    pub load_balancer: String,
    pub name: String,
    pub description: String,
    /// Besides those of the cluster.
    pub tags: Vec<Tag>,
}

impl SecurityGroups {
    /// The ID of the group; it is created if it does not exist.
    ///
    /// # Errors
    /// [`Error::Unusable`] if the group belongs to another cluster.
    pub async fn ensure_own(&self, own: &OwnGroup) -> Result<String, Halt> {
        if let Some(group) = self.find_own(&own.load_balancer, &own.name).await? {
            return Ok(group.group_id);
        }
        let cluster = self.api.cluster().await?;
        let same_name = self.api.security_groups_named(&cluster.vpc_id, &own.name).await?;
        let cluster_tags = cluster.tags();
        if let Some(group) = same_name.into_iter().next() {
            let missing = missing_tags(cluster, &group)?;
            if !missing.is_empty() {
                self.api.create_tags(&[&group.group_id], &missing).await?;
            }
            self.edited(&own.load_balancer);
            return Ok(group.group_id);
        }
        let tags: Vec<Tag> = cluster_tags.into_iter().chain(own.tags.iter().cloned()).collect();
        let created = self
            .api
            .create_security_group(&cluster.vpc_id, &own.name, &own.description, &tags);
        let created = created.await;
        self.edited(&own.load_balancer);
        match created {
            Ok(id) => {
                info!(id, name = own.name, "created security group");
                Ok(id)
            }
            Err(error) if errors::code(&error) == Some("InvalidGroup.Duplicate") => Err(Halt::Pending {
                poll_after: SOON,
                waiting_for: format!("security group {}, which another process creates", own.name),
            }),
            Err(error) => Err(error.into()),
        }
    }

    /// The group of a load balancer that has this name and the tag of the cluster.
    ///
    /// # Errors
    /// As EC2 answers.
    pub async fn find_own(&self, load_balancer: &str, name: &str) -> Result<Option<SecurityGroup>> {
        let groups = self.list(load_balancer).await?;
        Ok(groups.iter().find(|group| group.group_name == name).cloned())
    }

    /// Gives a group of a load balancer exactly these rules, whatever their descriptions.
    ///
    /// # Errors
    /// As EC2 answers.
    pub async fn set_own(&self, load_balancer: &str, id: &str, wanted: &BTreeSet<Rule>) -> Result<(), Halt> {
        let groups = self.list(load_balancer).await?;
        let group = groups.iter().find(|group| group.group_id == id);
        let store = RuleStore(&self.api);
        let old = match group {
            Some(group) => rules::of(&group.ip_permissions),
            None => store.read(&id.to_owned()).await?,
        };
        let new: Rules = wanted
            .iter()
            .map(|rule| (rule.clone(), old.get(rule).cloned().unwrap_or_default()))
            .collect();
        if new == old {
            return Ok(());
        }
        let written = store.write(&id.to_owned(), &old, &new).await;
        self.edited(load_balancer);
        match written? {
            Written::Done => {
                info!(id, rules = new.len(), "changed the rules of a security group");
                Ok(())
            }
            Written::Conflict => Err(Halt::changed(format!("security group {id}"))),
        }
    }

    /// Deletes the group of a load balancer, unless it does not exist.
    ///
    /// # Errors
    /// As EC2 answers; pending while the group is in use.
    pub async fn delete_own(&self, load_balancer: &str, id: &str) -> Result<(), Halt> {
        let deleted = self.api.delete_security_group(id).await;
        self.edited(load_balancer);
        match deleted {
            Ok(()) => {
                info!(id, "deleted security group");
                Ok(())
            }
            Err(error) if matches!(errors::code(&error), Some("DependencyViolation" | "InvalidGroup.InUse")) => {
                Err(Halt::Pending {
                    poll_after: IN_USE,
                    waiting_for: format!("security group {id}, which is still in use"),
                })
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// The tags of the cluster that a group lacks.
fn missing_tags(cluster: &Cluster, group: &SecurityGroup) -> Result<Vec<Tag>> {
    let foreign = group.tag_set.iter().find(|tag| {
        let of_another = cluster
            .tags()
            .iter()
            .all(|own| own.key != tag.key || own.value != tag.value);
        (tag.key.starts_with(TAG_PREFIX) || tag.key == LEGACY_TAG) && of_another && !cluster.has_tag(&[(*tag).clone()])
    });
    if let Some(tag) = foreign {
        let what = format!("security group {} ({})", group.group_name, group.group_id);
        let reason = format!("it belongs to another cluster: {}={}", tag.key, tag.value);
        return Err(Error::unusable(what, reason));
    }
    let missing = cluster.tags().into_iter();
    Ok(missing
        .filter(|tag| !group.tag_set.iter().any(|other| other.key == tag.key))
        .collect())
}
