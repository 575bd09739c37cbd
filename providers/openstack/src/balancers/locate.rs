//! Finding the load balancer of a Service: by its ID, by its name, by the name it had long ago.

use super::{Reconciler, annotations as key, names, role::Role, seal::Told, settings::Settings};
use crate::api::octavia::{LoadBalancer, Provisioning};
use cloud::{Error, Result, Spec};

/// Whether the name of long ago is tried, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Legacy {
    /// Only if the Service has been served before: another one cannot have such a load balancer.
    IfServed,
    /// In any case: what is said about the Service may be incomplete.
    Always,
}

impl Reconciler {
    /// The load balancer of a Service; `None` only if Octavia says that there is none.
    ///
    /// # Errors
    /// [`Error::NotFound`] if a Service names a load balancer that does not exist and was not its own.
    pub(super) async fn locate(
        &self,
        spec: &Spec,
        settings: &Settings,
        legacy: Legacy,
    ) -> Result<Option<LoadBalancer>> {
        if let Some(id) = &settings.load_balancer_id {
            let found = self.observer().balancer(id).await?;
            if let Some(balancer) = found.filter(|balancer| balancer.provisioning_status != Provisioning::Deleted) {
                return Ok(Some(balancer));
            }
            if legacy == Legacy::IfServed {
                missed(id, spec, settings)?;
            }
        }
        let made = self.memory.made(spec);
        if let Some(id) = made.filter(|id| settings.load_balancer_id.as_ref() != Some(id)) {
            let going = [Provisioning::Deleted, Provisioning::PendingDelete];
            let found = self.observer().balancer(&id).await?;
            if let Some(balancer) = found.filter(|balancer| !going.contains(&balancer.provisioning_status)) {
                return Ok(Some(balancer));
            }
        }
        match &settings.load_balancer_id {
            // Whose ID leads nowhere had another load balancer: one of its name may be that of another cluster of our name.
            Some(_) => self.marked(spec, legacy).await,
            None => self.named(spec, legacy).await,
        }
    }

    /// The one that bears the Service's own UID.
    async fn marked(&self, spec: &Spec, legacy: Legacy) -> Result<Option<LoadBalancer>> {
        let name = names::load_balancer(&spec.cluster, &spec.service);
        choose(self.all_marked(spec).await?, &name, &spec.service.uid, legacy)
    }

    /// All that bear the Service's own UID, those that are going away among them.
    pub(super) async fn all_marked(&self, spec: &Spec) -> Result<Vec<LoadBalancer>> {
        let name = names::load_balancer(&spec.cluster, &spec.service);
        let mut found = self.octavia.load_balancers_named(&name).await?;
        found.retain(|balancer| names::uid_of(&balancer.tags) == Some(&spec.service.uid));
        Ok(found)
    }

    async fn named(&self, spec: &Spec, legacy: Legacy) -> Result<Option<LoadBalancer>> {
        let name = names::load_balancer(&spec.cluster, &spec.service);
        let found = self.octavia.load_balancers_named(&name).await?;
        if let Some(balancer) = choose(found, &name, &spec.service.uid, legacy)? {
            return Ok(Some(balancer));
        }
        let tried = legacy == Legacy::Always || !spec.status.ingress.is_empty();
        if !tried || spec.service.uid.is_empty() {
            return Ok(None);
        }
        let name = names::legacy(&spec.service);
        let found = self.octavia.load_balancers_named(&name).await?;
        choose(found, &name, &spec.service.uid, legacy)
    }
}

/// Whether a load balancer that is gone is to be made again: only if it was the Service's own. Without a seal, as occm left
/// it, whoever was served before had one of its own.
fn missed(id: &str, spec: &Spec, settings: &Settings) -> Result<()> {
    let served = settings.address.is_some() || !spec.status.ingress.is_empty();
    let own = Told::of(spec).map_or(served, |told| told.balancer == id && told.more.role == Role::Owner);
    if own {
        return Ok(());
    }
    Err(Error::not_found(format!(
        "load balancer {id} (annotation {})",
        key::LOAD_BALANCER_ID
    )))
}

/// The one that is this Service's. Those that are going away count only for who waits for that, and those that were made for
/// another Service of the same name never: another cluster may have the same name as ours.
fn choose(found: Vec<LoadBalancer>, name: &str, uid: &str, legacy: Legacy) -> Result<Option<LoadBalancer>> {
    let there = |balancer: &LoadBalancer| {
        let going = match balancer.provisioning_status {
            Provisioning::Deleted => true,
            Provisioning::PendingDelete => legacy == Legacy::IfServed,
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
    use crate::balancers::sample::{annotate, asked};
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
    #[case::occm_s_own(None, true, true)]
    #[case::never_served(None, false, false)]
    #[case::own(Some("d lb t h"), true, true)]
    #[case::another_s_or_the_user_s(Some("d lb t h guest"), true, false)]
    #[case::never_served_by_that_one(Some("d old t h"), true, false)]
    fn misses(#[case] seal: Option<&str>, #[case] served: bool, #[case] again: bool) {
        let mut asked = asked("80 -> a; load-balancer-id=lb");
        if let Some(seal) = seal {
            asked.spec.annotations.insert(key::SEAL.into(), seal.into());
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
    #[case::another_cluster_s(&["1 ACTIVE other"], "none")]
    #[case::uid_wins(&["1 ACTIVE", "2 ACTIVE u"], "2")]
    #[case::two_of_a_name(&["1 ACTIVE", "2 ACTIVE"], "several of that name: 1, 2")]
    fn chooses(#[case] found: &[&str], #[case] expected: &str) {
        let found = found.iter().map(|text| balancer(text)).collect();
        let chosen = match choose(found, "name", "u", Legacy::IfServed) {
            Ok(Some(balancer)) => balancer.id,
            Ok(None) => "none".to_owned(),
            Err(error) => error.report(),
        };
        assert!(chosen.ends_with(expected), "{chosen}");
    }
}
