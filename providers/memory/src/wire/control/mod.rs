//! What the operator says and sees.

pub(crate) mod faults;
pub(crate) mod machine;

use crate::{
    AutoCreate, Balancer, Call, Effect, Operation, Phase, RouteAddresses, Settings,
    call::Request,
    wire::{balancers::ServicePort, each, instances::HowMuch, millis, mirror, routes::Route, routes::Routes},
};
use cloud::ServiceRef;
use ipnet::IpNet;
use machine::Machine;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, net::IpAddr, time::Duration};

/// The answer of `/control/state`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct State {
    pub(crate) instances: Vec<Machine>,
    pub(crate) load_balancers: Vec<LoadBalancer>,
    /// One entry a cluster.
    pub(crate) routes: Vec<Routes<Route>>,
}

/// [`Balancer`]
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LoadBalancer {
    id: String,
    name: String,
    cluster: String,
    service: ServiceRef,
    ips: Vec<IpAddr>,
    ports: Vec<ServicePort>,
    /// Their names.
    hosts: Vec<String>,
    source_ranges: Vec<IpNet>,
    phase: WirePhase,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum WirePhase {
    Provisioning,
    Ready,
    Deleting,
}

/// The answer of `/control/calls`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Calls {
    pub(crate) counts: BTreeMap<String, u64>,
    pub(crate) calls: Vec<WireCall>,
}

/// [`Call`]
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WireCall {
    number: u64,
    operation: String,
    at_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    took_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    detail: Option<HowMuch>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cluster: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    service: Option<ServiceRef>,
    names: Vec<String>,
    effect: WireEffect,
    changes: Vec<String>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum WireEffect {
    Open,
    Nothing,
    Changed,
    Failed,
}

/// The settings that can be changed from outside; what is not given stays as it is.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SettingsPatch {
    provisioning_ms: Option<u64>,
    deletion_ms: Option<u64>,
    auto_create: Option<bool>,
    route_addresses: Option<bool>,
}

mirror!(WireEffect, Effect, Open, Nothing, Changed, Failed);

impl From<Balancer> for LoadBalancer {
    fn from(balancer: Balancer) -> Self {
        let hosts = balancer.host_names().into_iter().map(str::to_owned).collect();
        let Balancer {
            id,
            name,
            cluster,
            service,
            ips,
            ports,
            source_ranges,
            phase,
            hosts: _,
            affinity: _,
            traffic: _,
        } = balancer;
        let phase = match phase {
            Phase::Provisioning { .. } => WirePhase::Provisioning,
            Phase::Ready => WirePhase::Ready,
            Phase::Deleting { .. } => WirePhase::Deleting,
        };
        Self {
            id,
            name,
            cluster,
            service,
            ips,
            ports: each(ports),
            hosts,
            source_ranges,
            phase,
        }
    }
}

impl From<Call> for WireCall {
    fn from(call: Call) -> Self {
        let Call {
            number,
            at,
            took,
            details,
        } = call;
        let Request {
            operation,
            detail,
            cluster,
            service,
            names,
            effect,
            changes,
        } = details;
        Self {
            number,
            operation: operation.to_string(),
            at_ms: millis(at),
            took_ms: took.map(millis),
            detail: detail.map(Into::into),
            cluster,
            service,
            names,
            effect: effect.into(),
            changes,
        }
    }
}

impl SettingsPatch {
    pub(crate) fn apply(self, settings: &mut Settings) {
        let Self {
            provisioning_ms,
            deletion_ms,
            auto_create,
            route_addresses,
        } = self;
        if let Some(millis) = provisioning_ms {
            settings.provisioning = Duration::from_millis(millis);
        }
        if let Some(millis) = deletion_ms {
            settings.deletion = Duration::from_millis(millis);
        }
        if let Some(on) = auto_create {
            settings.auto_create = if on { AutoCreate::On } else { AutoCreate::Off };
        }
        if let Some(tracked) = route_addresses {
            settings.route_addresses = if tracked {
                RouteAddresses::Tracked
            } else {
                RouteAddresses::Untracked
            };
        }
    }
}

impl From<Settings> for SettingsPatch {
    fn from(settings: Settings) -> Self {
        Self {
            provisioning_ms: Some(millis(settings.provisioning)),
            deletion_ms: Some(millis(settings.deletion)),
            auto_create: Some(settings.auto_create == AutoCreate::On),
            route_addresses: Some(settings.route_addresses == RouteAddresses::Tracked),
        }
    }
}

/// How often each operation was called.
pub(crate) fn counts(count: impl Fn(Operation) -> u64) -> BTreeMap<String, u64> {
    Operation::ALL
        .into_iter()
        .map(|operation| (operation.to_string(), count(operation)))
        .collect()
}
