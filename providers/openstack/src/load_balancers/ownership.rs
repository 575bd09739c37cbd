//! Whose load balancer it is. Pure.

use super::{
    annotations as key, names,
    settings::{Exposure, Settings},
};
use crate::api::octavia::{Listener, LoadBalancer};
use cloud::{Error, Result, Spec};
use provider_kit::load_balancer::{Fate, Ownership, Use};

/// What a Service is to a load balancer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    /// The name of the Service's own load balancer; its tag on any.
    pub name: String,
    /// The name it had before the cluster got another name, if the load balancer still bears that.
    pub former: Option<String>,
    /// Whether the load balancer is its own.
    pub ownership: Ownership,
    /// The UID of another Service, if the load balancer's tags say that it was made for that one.
    pub another: Option<String>,
}

impl Identity {
    /// What this Service is to this load balancer.
    pub fn of(balancer: &LoadBalancer, spec: &Spec, settings: &Settings) -> Self {
        let name = names::load_balancer(&spec.cluster, &spec.service);
        let former = former(balancer, spec, settings, &name);
        let own = [&name, &names::legacy(&spec.service)].contains(&&balancer.name);
        let renamed = former.as_ref() == Some(&balancer.name);
        Self {
            ownership: if own || renamed {
                Ownership::Owner
            } else {
                Ownership::Guest
            },
            name,
            former,
            another: names::uid_of(&balancer.tags)
                .filter(|uid| *uid != spec.service.uid)
                .map(str::to_owned),
        }
    }

    /// What this Service is to a load balancer that it used before. On one that is not its own only its current name counts: under
    /// another name of the cluster it may be another Service.
    pub fn previous(balancer: &LoadBalancer, spec: &Spec, settings: &Settings) -> Self {
        let identity = Self::of(balancer, spec, settings);
        Self {
            former: identity.former.filter(|_| identity.ownership == Ownership::Owner),
            ..identity
        }
    }

    /// Whether a listener belongs to this Service. What its tags say counts more than its name: another cluster of our
    /// name gives its listeners the same names, and names stay when somebody else takes a listener over.
    pub fn owns(&self, listener: &Listener) -> bool {
        let tagged = self.named().any(|name| listener.tags.contains(name));
        let untagged = self.ownership == Ownership::Owner && listener.tags.is_empty();
        let named = || {
            self.named()
                .any(|name| names::is_child("listener", &listener.name, name))
        };
        tagged || untagged || (!is_another_s(listener) && named())
    }

    /// Whether this Service may take over a listener on a port that it wants: on its own load balancer any that no other
    /// Service has put its tag on.
    pub fn may_claim(&self, listener: &Listener) -> bool {
        self.owns(listener) || (self.ownership == Ownership::Owner && !is_another_s(listener))
    }

    /// The Service's name and the one it had.
    pub fn named(&self) -> impl Iterator<Item = &String> {
        std::iter::once(&self.name).chain(&self.former)
    }

    /// Whether any other Service uses the load balancer.
    pub fn is_shared(&self, balancer: &LoadBalancer) -> bool {
        let mut services = balancer.tags.iter().filter(|tag| names::is_service_tag(tag));
        services.any(|tag| self.named().all(|name| name != tag))
    }

    /// The UID of the Service that the load balancer was made for, if that has our name and is not this one. This one may have
    /// been restored from a backup, and then needs it, or have been copied into another cluster of our name with the ID on it,
    /// and then it is in use there: nobody can tell. So it serves this Service, and is left as it is when that goes.
    pub fn namesake(&self) -> Option<&str> {
        self.another.as_deref().filter(|_| self.ownership == Ownership::Owner)
    }

    /// Whether the load balancer goes with this Service: it was made for a Service, not surely for another one, and no other
    /// one uses it. Who is not its owner must have been let in, which its own tag tells: not every Octavia has tags, and those
    /// of the owner may be lost.
    pub fn may_delete(&self, balancer: &LoadBalancer) -> bool {
        let admitted = || self.named().any(|name| balancer.tags.contains(name));
        let ours = self.ownership == Ownership::Owner || (names::is_service_tag(&balancer.name) && admitted());
        ours && self.another.is_none() && !self.is_shared(balancer)
    }

    /// Whether the load balancer was made for a Service, this one or another.
    pub fn is_made_for_a_service(&self, balancer: &LoadBalancer) -> bool {
        self.ownership == Ownership::Owner || names::is_service_tag(&balancer.name)
    }

    /// Whether the Service may use the load balancer.
    ///
    /// # Errors
    /// If it is somebody else's and cannot be shared, or not by one more.
    pub fn admitted(&self, balancer: &LoadBalancer, settings: &Settings, tags: bool, max_shared: u32) -> Result<()> {
        if self.ownership == Ownership::Owner {
            return Ok(());
        }
        if !tags {
            return Err(Error::NotSupported {
                what: "a load balancer that Services share (Octavia has tags since 2.5)".to_owned(),
            });
        }
        if settings.exposure == Exposure::Internal && self.is_made_for_a_service(balancer) {
            return Err(key::LOAD_BALANCER_ID.invalid(
                "an internal Service cannot use another Service's load balancer: that one may get a floating IP",
            ));
        }
        let sharing = balancer.tags.iter().filter(|tag| names::is_service_tag(tag)).count();
        let known = self.named().any(|name| balancer.tags.contains(name));
        if !known && sharing >= max_shared as usize {
            return Err(Error::quota(
                format!("Services on load balancer {}", balancer.id),
                format!("it has {sharing} already, max-shared-lb is {max_shared}"),
            ));
        }
        Ok(())
    }
}

/// What becomes of a load balancer that the Service does not use any more; `certain` says that it was surely created for this Service.
pub(super) fn fate(balancer: &LoadBalancer, identity: &Identity, use_: Use, certain: bool) -> Fate {
    let uncertain = match use_ {
        Use::Current => identity.namesake().is_some(),
        // Its name alone may have been given by another cluster of our name.
        Use::Previous => identity.ownership == Ownership::Owner && !certain,
    };
    if uncertain {
        Fate::Keep
    } else if identity.may_delete(balancer) {
        Fate::Delete
    } else {
        Fate::Detach
    }
}

/// Whether a listener's tags say that it is a Service's; asked once our own are ruled out.
fn is_another_s(listener: &Listener) -> bool {
    listener.tags.iter().any(|tag| names::is_service_tag(tag))
}

/// The name this Service had on the load balancer under another name of the cluster. Only for a Service that has been
/// served before: one that is new on another cluster's load balancer shares it and must not take it away.
fn former(balancer: &LoadBalancer, spec: &Spec, settings: &Settings, name: &String) -> Option<String> {
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
