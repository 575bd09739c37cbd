//! The cloud configuration and the trusted certificates, decided purely.

use super::Problem;
use crate::{Object, cloud_config, trusted_ca};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use operator_api::{Infrastructure, Network, Proxy};

/// What there is to decide from. What could not be read is an error, and then nothing is decided.
pub(super) struct World<'a> {
    pub(super) namespace: &'a str,
    pub(super) infrastructure: Result<Option<&'a Infrastructure>, String>,
    pub(super) network: Result<Option<&'a Network>, String>,
    pub(super) gates: Result<Vec<String>, String>,
    pub(super) managed: Result<Option<ConfigMap>, String>,
    pub(super) referenced: Result<Option<ConfigMap>, String>,
    /// `cloud-conf` as it is.
    pub(super) current: Result<Option<ConfigMap>, String>,
    pub(super) proxy: Result<Option<&'a Proxy>, String>,
    pub(super) proxy_ca: Result<Option<ConfigMap>, String>,
    pub(super) system_bundle: &'a Result<String, String>,
}

/// Objects to be written, and what a user should know.
#[derive(Debug, Default)]
pub(super) struct Decided {
    pub(super) objects: Vec<Object>,
    pub(super) remarks: Vec<String>,
    /// `cloud-conf` as it will be.
    pub(super) cloud_conf: Option<cloud_config::Content>,
}

/// Decides the cloud configuration.
pub(super) fn cloud_config(world: &World<'_>) -> Result<Decided, Problem> {
    let Some(infrastructure) = known(&world.infrastructure)? else {
        return Ok(Decided::default());
    };
    let (managed, referenced) = (known(&world.managed)?, known(&world.referenced)?);
    let decision = cloud_config::decide(&cloud_config::World {
        infrastructure,
        network: world.network.as_ref().ok().copied().flatten(),
        gates: world.gates.as_deref().ok(),
        managed: managed.as_ref(),
        referenced: referenced.as_ref(),
    });
    let decision = decision.map_err(|error| why(world, error))?;
    let mut objects = Vec::new();
    if let Some(content) = &decision.managed {
        objects.push(content.object(cloud_config::MANAGED_NAMESPACE, cloud_config::MANAGED_NAME));
    }
    if let Some(content) = &decision.cloud_conf {
        objects.push(content.object(world.namespace, cloud_config::NAME));
    }
    Ok(Decided {
        objects,
        remarks: decision.warnings,
        cloud_conf: decision.cloud_conf,
    })
}

/// Something that has not been seen is said with the reason why.
fn why(world: &World<'_>, error: cloud_config::Error) -> Problem {
    match error {
        cloud_config::Error::Terminal(problem) => Problem::Terminal(problem),
        cloud_config::Error::Transient(problem) => {
            let reasons = [world.gates.as_ref().err(), world.network.as_ref().err()];
            let reasons: Vec<_> = reasons.into_iter().flatten().map(String::as_str).collect();
            Problem::Transient(match reasons.as_slice() {
                [] => problem,
                reasons => format!("{problem}: {}", reasons.join("; ")),
            })
        }
    }
}

/// Decides the trusted certificates. `cloud_conf` is the cloud configuration as it will be, if that is known.
pub(super) fn trusted_ca(
    world: &World<'_>,
    cloud_conf: Option<&cloud_config::Content>,
    now: Timestamp,
) -> Result<Decided, Problem> {
    let Some(proxy) = known(&world.proxy)? else {
        return Ok(Decided::default());
    };
    let system = world
        .system_bundle
        .as_ref()
        .map_err(|reason| Problem::Transient(reason.clone()))?;
    let (current, proxy_ca) = (known(&world.current)?, known(&world.proxy_ca)?);
    let content = cloud_conf
        .cloned()
        .or_else(|| current.as_ref().map(cloud_config::Content::from));
    let name = &proxy.spec.trusted_ca.name;
    let data = content.as_ref().map(|content| &content.data);
    let (sources, missing) = trusted_ca::sources(system, name, proxy_ca.as_ref(), data);
    let merged = trusted_ca::merge(&sources, now).map_err(|error| Problem::Terminal(error.to_string()))?;
    let skipped = missing.into_iter().chain(merged.skipped);
    let remarks = skipped.map(|skipped| format!("{}: {}", skipped.source, skipped.why));
    Ok(Decided {
        objects: vec![trusted_ca::config_map(world.namespace, &merged.bundle)],
        remarks: remarks.chain(merged.warnings).collect(),
        cloud_conf: None,
    })
}

fn known<T: Clone>(read: &Result<Option<T>, String>) -> Result<Option<T>, Problem> {
    read.clone().map_err(Problem::Transient)
}
