//! The next step for a Service: a pure decision on what it asks for and what the controller remembers of it.

use super::{
    hosts::Fingerprint,
    options::Classes,
    spec::predicates,
    state::{CloudObjects, CloudSettings, Phase, ServiceState},
};
use k8s_openapi::api::core::v1::Service;
use std::{fmt, sync::Arc};

/// The next step for a Service.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Everything is up to date.
    Nothing,
    /// Forget the state of the Service.
    Forget,
    /// Delete the load balancer of this Service, which does not exist any more or was replaced by another one.
    DeleteOfGone(Arc<Service>),
    /// Delete the load balancer, then remove the finalizer.
    Delete,
    /// The same, if the load balancer exists: another manager may have created it and added the finalizer.
    DeleteIfFound,
    /// Ensure the load balancer.
    Ensure,
    /// Replace only its hosts.
    UpdateHosts,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nothing => "nothing",
            Self::Forget => "forget",
            Self::DeleteOfGone(_) => "delete the load balancer of a Service that does not exist",
            Self::Delete => "delete",
            Self::DeleteIfFound => "delete if found",
            Self::Ensure => "ensure",
            Self::UpdateHosts => "update hosts",
        })
    }
}

/// Decides the next step for a Service (`None`: it does not exist) with this state and these current hosts.
pub(super) fn plan(
    service: Option<&Service>,
    state: Option<&ServiceState>,
    classes: &Classes,
    hosts: Fingerprint,
) -> Step {
    let Some(service) = service else {
        return state.map_or(Step::Nothing, |state| match state.phase {
            Phase::Gone(_) => Step::Nothing,
            _ => gone(state),
        });
    };
    if let Some(state) = state.filter(|state| state.service.metadata.uid != service.metadata.uid) {
        return gone(state);
    }
    if predicates::needs_cleanup(service, classes) {
        let ours = state.is_some() || classes.serve(predicates::class(service));
        return if ours { Step::Delete } else { Step::DeleteIfFound };
    }
    if predicates::wants(service, classes) && !predicates::is_deleted(service) {
        return state.map_or(Step::Ensure, |state| wanted(service, state, classes, hosts));
    }
    match state.map(|state| state.cloud_objects) {
        Some(CloudObjects::MayExist) => Step::Delete,
        Some(CloudObjects::None) => Step::Forget,
        None => Step::Nothing,
    }
}

fn gone(state: &ServiceState) -> Step {
    match state.cloud_objects {
        CloudObjects::MayExist => Step::DeleteOfGone(state.service.clone()),
        CloudObjects::None => Step::Forget,
    }
}

fn wanted(service: &Service, state: &ServiceState, classes: &Classes, hosts: Fingerprint) -> Step {
    if state.settings == CloudSettings::Outdated || predicates::needs_update(&state.service, service, classes) {
        return Step::Ensure;
    }
    match &state.phase {
        Phase::Ensuring(_) | Phase::Deleting(_) | Phase::Gone(_) => Step::Ensure,
        // As in the Go framework: the hosts may not be the reason of the failure.
        Phase::UpdatingHosts(operation) if operation.failed_with.is_some() => Step::Ensure,
        Phase::UpdatingHosts(_) => Step::UpdateHosts,
        Phase::Ready if state.hosts != Some(hosts) => Step::UpdateHosts,
        Phase::Rejected if state.hosts != Some(hosts) && predicates::has_ingress(service) => Step::UpdateHosts,
        Phase::Ready | Phase::Rejected | Phase::OtherController => Step::Nothing,
    }
}

#[cfg(test)]
mod tests;
