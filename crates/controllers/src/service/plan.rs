//! What to do about a Service: a pure decision on what it wants and what was done before.

use super::{
    hosts::Fingerprint,
    ledger::{Known, Phase, Reach, Settings},
    options::Classes,
    predicates,
};
use k8s_openapi::api::core::v1::Service;
use std::{fmt, sync::Arc};

/// What to do next about a Service.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// All is as it should be.
    Nothing,
    /// It is no concern of ours any more.
    Forget,
    /// Delete the load balancer of this Service, which is gone: deleted behind our back, or replaced by another one.
    Remove(Arc<Service>),
    /// Delete the load balancer, then let the Service go.
    Cleanup,
    /// The same, if there is a load balancer of ours; another manager may have made it, or the finalizer.
    CleanupIfOurs,
    /// Make the load balancer match.
    Ensure,
    /// Replace only the hosts behind it.
    UpdateHosts,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nothing => "nothing",
            Self::Forget => "forget",
            Self::Remove(_) => "remove the load balancer of a Service that is gone",
            Self::Cleanup => "clean up",
            Self::CleanupIfOurs => "clean up if it is ours",
            Self::Ensure => "ensure",
            Self::UpdateHosts => "update hosts",
        })
    }
}

/// Decides what to do about a Service (`None`: it is gone) that we know this of, now that these are the hosts.
pub(super) fn plan(service: Option<&Service>, known: Option<&Known>, classes: &Classes, hosts: Fingerprint) -> Step {
    let Some(service) = service else {
        return known.map_or(Step::Nothing, |known| match known.phase {
            Phase::Departed(_) => Step::Nothing,
            _ => departed(known),
        });
    };
    if let Some(known) = known.filter(|known| known.service.metadata.uid != service.metadata.uid) {
        return departed(known);
    }
    if predicates::needs_cleanup(service, classes) {
        let ours = known.is_some() || classes.serve(predicates::class(service));
        return if ours { Step::Cleanup } else { Step::CleanupIfOurs };
    }
    if predicates::wants(service, classes) && !predicates::is_deleted(service) {
        return known.map_or(Step::Ensure, |known| wanted(service, known, classes, hosts));
    }
    match known {
        Some(Known {
            reach: Reach::Cloud, ..
        }) => Step::Cleanup,
        Some(_) => Step::Forget,
        None => Step::Nothing,
    }
}

fn departed(known: &Known) -> Step {
    match known.reach {
        Reach::Cloud => Step::Remove(known.service.clone()),
        Reach::Here => Step::Forget,
    }
}

fn wanted(service: &Service, known: &Known, classes: &Classes, hosts: Fingerprint) -> Step {
    if known.settings == Settings::Old || predicates::needs_update(&known.service, service, classes) {
        return Step::Ensure;
    }
    match &known.phase {
        Phase::Ensuring(_) | Phase::Deleting(_) | Phase::Departed(_) => Step::Ensure,
        // As in the Go framework: the hosts may not be what is wrong with it.
        Phase::Updating(round) if round.failed_with.is_some() => Step::Ensure,
        Phase::Updating(_) => Step::UpdateHosts,
        Phase::Settled if known.hosts != Some(hosts) => Step::UpdateHosts,
        Phase::Refused if known.hosts != Some(hosts) && predicates::is_served(service) => Step::UpdateHosts,
        Phase::Settled | Phase::Refused | Phase::Elsewhere => Step::Nothing,
    }
}

#[cfg(test)]
mod tests;
