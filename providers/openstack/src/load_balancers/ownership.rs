//! The owner of a load balancer. Pure.

use super::{
    annotations as key, names,
    settings::{Exposure, Settings},
};
use crate::api::octavia::{Listener, LoadBalancer};
use cloud::{Error, Result, Spec};
use provider_kit::load_balancer::{Fate, Ownership, Use};

/// The relation of a Service to a load balancer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Relation {
    /// The name of the Service's own load balancer; its tag on any.
    pub name: String,
    /// The previous name, if the cluster was renamed and the load balancer still has it.
    pub previous_name: Option<String>,
    /// Whether the Service owns the load balancer.
    pub ownership: Ownership,
    /// The UID of another Service, if the tags of the load balancer have one.
    pub other_uid: Option<String>,
}

impl Relation {
    /// The relation of this Service to this load balancer.
    pub fn of(balancer: &LoadBalancer, spec: &Spec, settings: &Settings) -> Self {
        let name = names::load_balancer(&spec.cluster, &spec.service);
        let previous_name = previous_name(balancer, spec, settings, &name);
        let own = [&name, &names::legacy(&spec.service)].contains(&&balancer.name);
        let renamed = previous_name.as_ref() == Some(&balancer.name);
        Self {
            ownership: if own || renamed {
                Ownership::Owner
            } else {
                Ownership::Guest
            },
            name,
            previous_name,
            other_uid: names::uid_of(&balancer.tags)
                .filter(|uid| *uid != spec.service.uid)
                .map(str::to_owned),
        }
    }

    /// The relation of this Service to a load balancer that it used before. As a guest, only its current name counts: under another name of the
    /// cluster it may be another Service.
    pub fn previous(balancer: &LoadBalancer, spec: &Spec, settings: &Settings) -> Self {
        let relation = Self::of(balancer, spec, settings);
        Self {
            previous_name: relation
                .previous_name
                .filter(|_| relation.ownership == Ownership::Owner),
            ..relation
        }
    }

    /// Whether a listener belongs to this Service. Tags count more than the name: another cluster with the same name gives its listeners the
    /// same names, and the name stays when another owner takes a listener over.
    pub fn owns(&self, listener: &Listener) -> bool {
        let tagged = self.names().any(|name| listener.tags.contains(name));
        let untagged = self.ownership == Ownership::Owner && listener.tags.is_empty();
        let named = || {
            self.names()
                .any(|name| names::is_child("listener", &listener.name, name))
        };
        tagged || untagged || (!belongs_to_another(listener) && named())
    }

    /// Whether this Service may take over a listener on one of its ports: on its own load balancer any listener without the tag of another
    /// Service.
    pub fn may_claim(&self, listener: &Listener) -> bool {
        self.owns(listener) || (self.ownership == Ownership::Owner && !belongs_to_another(listener))
    }

    /// The current and the previous name.
    pub fn names(&self) -> impl Iterator<Item = &String> {
        std::iter::once(&self.name).chain(&self.previous_name)
    }

    /// Whether any other Service uses the load balancer.
    pub fn is_shared(&self, balancer: &LoadBalancer) -> bool {
        let mut services = balancer.tags.iter().filter(|tag| names::is_service_tag(tag));
        services.any(|tag| self.names().all(|name| name != tag))
    }

    /// The UID of the Service that the load balancer was created for, if that one has the same name and is not this one. This Service may have
    /// been restored from a backup, and needs the load balancer; or it was copied into another cluster of the same name, together with the ID,
    /// and the load balancer is in use there. Both look the same. So it serves this Service, and is kept when the Service is deleted.
    pub fn other_owner(&self) -> Option<&str> {
        self.other_uid.as_deref().filter(|_| self.ownership == Ownership::Owner)
    }

    /// Whether the load balancer is deleted with this Service: it was created for a Service, not for another one, and no other Service uses it.
    /// A guest must have its own tag on it: not every Octavia has tags, and those of the owner may be lost.
    pub fn may_delete(&self, balancer: &LoadBalancer) -> bool {
        let admitted = || self.names().any(|name| balancer.tags.contains(name));
        let ours = self.ownership == Ownership::Owner || (names::is_service_tag(&balancer.name) && admitted());
        ours && self.other_uid.is_none() && !self.is_shared(balancer)
    }

    /// Whether the load balancer was created for a Service, this one or another.
    pub fn was_created_for_a_service(&self, balancer: &LoadBalancer) -> bool {
        self.ownership == Ownership::Owner || names::is_service_tag(&balancer.name)
    }

    /// Whether the Service may use the load balancer.
    ///
    /// # Errors
    /// If another owner's load balancer cannot be shared, or not by one more Service.
    pub fn admitted(&self, balancer: &LoadBalancer, settings: &Settings, tags: bool, max_shared: u32) -> Result<()> {
        if self.ownership == Ownership::Owner {
            return Ok(());
        }
        if !tags {
            return Err(Error::NotSupported {
                what: "a load balancer that Services share (Octavia has tags since 2.5)".to_owned(),
            });
        }
        if settings.exposure == Exposure::Internal && self.was_created_for_a_service(balancer) {
            return Err(key::LOAD_BALANCER_ID.invalid(
                "an internal Service cannot use another Service's load balancer: that one may get a floating IP",
            ));
        }
        let sharing = balancer.tags.iter().filter(|tag| names::is_service_tag(tag)).count();
        let known = self.names().any(|name| balancer.tags.contains(name));
        if !known && sharing >= max_shared as usize {
            return Err(Error::quota(
                format!("Services on load balancer {}", balancer.id),
                format!("it has {sharing} already, max-shared-lb is {max_shared}"),
            ));
        }
        Ok(())
    }
}

/// What happens to a load balancer that the Service does not use any more; `certain`: it was certainly created for this Service.
pub(super) fn fate(balancer: &LoadBalancer, relation: &Relation, use_: Use, certain: bool) -> Fate {
    let uncertain = match use_ {
        Use::Current => relation.other_owner().is_some(),
        // Another cluster with the same name may have given it this name.
        Use::Previous => relation.ownership == Ownership::Owner && !certain,
    };
    if uncertain {
        Fate::Keep
    } else if relation.may_delete(balancer) {
        Fate::Delete
    } else {
        Fate::Detach
    }
}

/// Whether a listener has the tag of a Service; called once the own tags are ruled out.
fn belongs_to_another(listener: &Listener) -> bool {
    listener.tags.iter().any(|tag| names::is_service_tag(tag))
}

/// The name of this Service on the load balancer before the cluster was renamed. Only for a Service that was served before: a new Service on the
/// load balancer of another cluster shares it, and must not take it over.
fn previous_name(balancer: &LoadBalancer, spec: &Spec, settings: &Settings, name: &String) -> Option<String> {
    let served = settings.address.is_some() && settings.load_balancer_id.is_some();
    if !served || balancer.name == *name || balancer.tags.contains(name) {
        return None;
    }
    let ours = names::uid_of(&balancer.tags).is_none_or(|uid| uid == spec.service.uid);
    let own = std::iter::once(&balancer.name).filter(|_| ours);
    let same_service = |candidate: &&String| names::is_of(candidate, &spec.service);
    own.chain(balancer.tags.iter().filter(|tag| **tag != balancer.name))
        .find(same_service)
        .cloned()
}

#[cfg(test)]
mod tests;
