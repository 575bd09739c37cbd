//! Finds the load balancer of a Service: by its ID, by its name, or by its legacy name.

use crate::{
    api::octavia::{LoadBalancer, Provisioning},
    load_balancers::{Reconciler, annotations as key, names, settings::Settings},
};
use cloud::{Error, Result, Spec};
use provider_kit::load_balancer::{Ownership, Record, Scope};

impl Reconciler {
    /// The load balancer of a Service; `None` only if Octavia answers that it does not exist.
    ///
    /// # Errors
    /// [`Error::NotFound`] if a Service names a load balancer that does not exist and that it did not own.
    pub(super) async fn locate_for(
        &self,
        spec: &Spec,
        settings: &Settings,
        scope: Scope,
    ) -> Result<Option<LoadBalancer>> {
        if let Some(id) = &settings.load_balancer_id {
            let found = self.observer().balancer(id).await?;
            if let Some(balancer) = found.filter(|balancer| balancer.provisioning_status != Provisioning::Deleted) {
                return Ok(Some(balancer));
            }
            if scope != Scope::Deletion {
                missed(id, spec, settings)?;
            }
        }
        let made = self.state.created(spec);
        if let Some(id) = made.filter(|id| settings.load_balancer_id.as_ref() != Some(id)) {
            let going = [Provisioning::Deleted, Provisioning::PendingDelete];
            let found = self.observer().balancer(&id).await?;
            if let Some(balancer) = found.filter(|balancer| !going.contains(&balancer.provisioning_status)) {
                return Ok(Some(balancer));
            }
        }
        match &settings.load_balancer_id {
            // The ID is stale. A match by name alone does not count: another cluster with the same name may own it.
            Some(_) => self.marked(spec, scope).await,
            None => self.named(spec, scope).await,
        }
    }

    /// The load balancer with the UID of the Service.
    async fn marked(&self, spec: &Spec, scope: Scope) -> Result<Option<LoadBalancer>> {
        let name = names::load_balancer(&spec.cluster, &spec.service);
        choose(self.all_marked(spec).await?, &name, &spec.service.uid, scope)
    }

    /// All load balancers with the UID of the Service, also those that are being deleted.
    pub(super) async fn all_marked(&self, spec: &Spec) -> Result<Vec<LoadBalancer>> {
        let name = names::load_balancer(&spec.cluster, &spec.service);
        let mut found = self.octavia.load_balancers_named(&name).await?;
        found.retain(|balancer| names::uid_of(&balancer.tags) == Some(&spec.service.uid));
        Ok(found)
    }

    async fn named(&self, spec: &Spec, scope: Scope) -> Result<Option<LoadBalancer>> {
        let name = names::load_balancer(&spec.cluster, &spec.service);
        let found = self.octavia.load_balancers_named(&name).await?;
        if let Some(balancer) = choose(found, &name, &spec.service.uid, scope)? {
            return Ok(Some(balancer));
        }
        let tried = scope == Scope::Deletion || !spec.status.ingress.is_empty();
        if !tried || spec.service.uid.is_empty() {
            return Ok(None);
        }
        let name = names::legacy(&spec.service);
        let found = self.octavia.load_balancers_named(&name).await?;
        choose(found, &name, &spec.service.uid, scope)
    }
}

/// Whether a load balancer that does not exist any more is created again: only if it was created for the Service. Without a record, as occm
/// leaves a Service, one that was served before had its own.
fn missed(id: &str, spec: &Spec, settings: &Settings) -> Result<()> {
    let served = settings.address.is_some() || !spec.status.ingress.is_empty();
    let own = Record::of(spec).map_or(served, |record| record.id == id && record.ownership == Ownership::Owner);
    if own {
        return Ok(());
    }
    Err(Error::not_found(format!(
        "load balancer {id} (annotation {})",
        key::LOAD_BALANCER_ID.key
    )))
}

/// The load balancer of this Service. Those that are being deleted count only for a deletion, and those with the UID of another Service of the
/// same name never: another cluster may have the same name.
fn choose(found: Vec<LoadBalancer>, name: &str, uid: &str, scope: Scope) -> Result<Option<LoadBalancer>> {
    let there = |balancer: &LoadBalancer| {
        let going = match balancer.provisioning_status {
            Provisioning::Deleted => true,
            Provisioning::PendingDelete => scope != Scope::Deletion,
            _ => false,
        };
        !going && names::uid_of(&balancer.tags).is_none_or(|other| other == uid)
    };
    let mut left: Vec<_> = found.into_iter().filter(there).collect();
    if left.iter().any(|balancer| names::uid_of(&balancer.tags).is_some()) {
        left.retain(|balancer| names::uid_of(&balancer.tags).is_some());
    }
    if left.len() > 1 {
        let ids: Vec<_> = left.iter().map(|balancer| balancer.id.as_str()).collect();
        return Err(Error::unusable(
            format!("load balancer {name}"),
            format!("there are several of that name: {}", ids.join(", ")),
        ));
    }
    Ok(left.pop())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load_balancers::tests::objects::{annotate, asked};
    use provider_kit::load_balancer::record;
    use rstest::rstest;

    /// `1 ACTIVE u`: ID, status, UID.
    fn balancer(text: &str) -> LoadBalancer {
        let words: Vec<_> = text.split(' ').collect();
        LoadBalancer {
            id: words[0].into(),
            provisioning_status: serde_json::from_value(words[1].into()).unwrap(),
            tags: words.get(2).map(|uid| names::uid_tag(uid)).into_iter().collect(),
            ..LoadBalancer::default()
        }
    }

    #[rstest]
    #[case::created_by_occm(None, true, true)]
    #[case::never_served(None, false, false)]
    #[case::own(Some(Record::new("lb", Ownership::Owner)), true, true)]
    #[case::of_another_service_or_the_user(Some(Record::new("lb", Ownership::Guest)), true, false)]
    #[case::never_served_by_that_one(Some(Record::new("old", Ownership::Owner)), true, false)]
    fn recreates_a_missing_load_balancer_of_its_own(
        #[case] record: Option<Record>,
        #[case] served: bool,
        #[case] again: bool,
    ) {
        let mut asked = asked("80 -> a; load-balancer-id=lb");
        if let Some(record) = record {
            let record = serde_json::to_string(&record).unwrap();
            asked.spec.annotations.insert(record::ANNOTATION.into(), record);
        }
        if served {
            annotate(&mut asked.spec, "load-balancer-address", "203.0.113.1");
        }
        let missed = missed("lb", &asked.spec, &asked.settings());
        assert_eq!(missed.is_ok(), again, "{missed:?}");
    }

    #[rstest]
    #[case::none(&[], "none")]
    #[case::one(&["1 ACTIVE"], "1")]
    #[case::broken(&["1 ERROR"], "1")]
    #[case::unheard_of(&["1 MIGRATING"], "1")]
    #[case::going_away(&["1 PENDING_DELETE", "2 DELETED"], "none")]
    #[case::made_again(&["1 PENDING_DELETE", "2 PENDING_CREATE u"], "2")]
    #[case::ours_by_uid(&["1 ACTIVE other", "2 ACTIVE u"], "2")]
    #[case::the_load_balancer_of_another_cluster(&["1 ACTIVE other"], "none")]
    #[case::uid_wins(&["1 ACTIVE", "2 ACTIVE u"], "2")]
    #[case::two_of_a_name(&["1 ACTIVE", "2 ACTIVE"], "several of that name: 1, 2")]
    fn chooses(#[case] found: &[&str], #[case] expected: &str) {
        let found = found.iter().map(|text| balancer(text)).collect();
        let chosen = match choose(found, "name", "u", Scope::All) {
            Ok(Some(balancer)) => balancer.id,
            Ok(None) => "none".to_owned(),
            Err(error) => error.report(),
        };
        assert!(chosen.ends_with(expected), "{chosen}");
    }
}
