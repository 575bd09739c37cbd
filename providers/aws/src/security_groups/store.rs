//! How the rules of a group are read and written.

use super::rules::{self, Changes, Rules};
use crate::api::{Api, ec2::security_groups::Permission, errors};
use async_trait::async_trait;
use cloud::{Error, Result};
use provider_kit::lanes::{Store, Written};

/// Rules by the ID of their group.
pub struct RuleStore<'a>(pub &'a Api);

#[async_trait]
impl Store for RuleStore<'_> {
    type Key = String;
    type Object = Rules;

    async fn read(&self, id: &String) -> Result<Rules> {
        let groups = self.0.security_groups_by_id(&[id]).await?;
        let group = groups.into_iter().find(|group| group.group_id == *id);
        let group = group.ok_or_else(|| Error::not_found(format!("security group {id}")))?;
        Ok(rules::of(&group.ip_permissions))
    }

    /// New rules first, so that traffic that was allowed and is to be is allowed all the time; unless the group is full.
    async fn write(&self, id: &String, old: &Rules, new: &Rules) -> Result<Written> {
        let Changes {
            replaced,
            added,
            removed,
        } = rules::changes(old, new);
        let mut written = self.revoke(id, &replaced).await?;
        let authorized = self.authorize(id, &added).await;
        written = both(written, self.revoke(id, &removed).await?);
        match authorized {
            Err(Error::Quota { .. }) if !removed.is_empty() => Ok(both(written, self.authorize(id, &added).await?)),
            authorized => Ok(both(written, authorized?)),
        }
    }
}

impl RuleStore<'_> {
    async fn authorize(&self, id: &str, permissions: &[Permission]) -> Result<Written> {
        if permissions.is_empty() {
            return Ok(Written::Done);
        }
        match self.0.authorize_ingress(id, permissions).await {
            Err(error) if errors::code(&error) == Some("InvalidPermission.Duplicate") => Ok(Written::Conflict),
            done => done.map(|()| Written::Done),
        }
    }

    async fn revoke(&self, id: &str, permissions: &[Permission]) -> Result<Written> {
        if permissions.is_empty() {
            return Ok(Written::Done);
        }
        match self.0.revoke_ingress(id, permissions).await {
            Err(Error::NotFound { .. }) => Ok(Written::Conflict),
            done => done.map(|()| Written::Done),
        }
    }
}

fn both(one: Written, other: Written) -> Written {
    match (one, other) {
        (Written::Done, Written::Done) => Written::Done,
        _ => Written::Conflict,
    }
}
