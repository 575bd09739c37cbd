//! Decides purely about the cloud configuration and the trusted certificates.

use super::{Problem, Settings, observed::Observed, operands};
use crate::{Key, Object, Unread, cloud_config, trusted_ca};
use k8s_openapi::api::core::v1::ConfigMap;

/// Both parts.
pub(super) struct Synced {
    pub(super) cloud_config: Result<Decided, Problem>,
    pub(super) trusted_ca: Result<Decided, Problem>,
}

/// Objects to write, and warnings for the user.
#[derive(Debug, Clone, Default)]
pub(super) struct Decided {
    pub(super) objects: Vec<Object>,
    pub(super) warnings: Vec<String>,
    /// The desired `cloud-conf`.
    cloud_conf: Option<cloud_config::Content>,
}

impl Synced {
    /// The objects of the parts for which a decision was possible.
    pub(super) fn objects(&self) -> impl Iterator<Item = &Object> {
        let parts = [&self.cloud_config, &self.trusted_ca].into_iter().flatten();
        parts.flat_map(|decided| &decided.objects)
    }
}

/// Decides both parts.
pub(super) fn decide(observed: &Observed, settings: &Settings) -> Synced {
    let cloud_config = cloud_config(observed, settings);
    let cloud_conf = cloud_config
        .as_ref()
        .ok()
        .and_then(|decided| decided.cloud_conf.as_ref());
    Synced {
        trusted_ca: trusted_ca(observed, settings, cloud_conf),
        cloud_config,
    }
}

fn cloud_config(observed: &Observed, settings: &Settings) -> Result<Decided, Problem> {
    let infrastructure = observed.infrastructure.as_ref().map_err(Problem::transient)?;
    let Some(infrastructure) = infrastructure else {
        return Ok(Decided::default());
    };
    let gates = operands::enabled(observed, &settings.release);
    let managed = Key::config_map(cloud_config::MANAGED_NAMESPACE, cloud_config::MANAGED_NAME);
    let (managed, referenced) = (map(observed, Some(managed))?, map(observed, observed.referenced())?);
    let decision = cloud_config::decide(&cloud_config::World {
        infrastructure,
        network: observed.network.as_ref().ok().and_then(Option::as_ref),
        gates: gates.as_deref().ok(),
        managed: managed.as_ref(),
        referenced: referenced.as_ref(),
    });
    let reasons = [gates.as_ref().err(), observed.network.as_ref().err()];
    let decision = decision.map_err(|error| why(error, &reasons))?;
    let managed = decision.managed.iter();
    let managed = managed.map(|content| content.object(cloud_config::MANAGED_NAMESPACE, cloud_config::MANAGED_NAME));
    let cloud_conf = decision.cloud_conf.iter();
    let cloud_conf = cloud_conf.map(|content| content.object(&settings.namespace, cloud_config::NAME));
    Ok(Decided {
        objects: managed.chain(cloud_conf).collect(),
        warnings: decision.warnings,
        cloud_conf: decision.cloud_conf,
    })
}

/// The problem, with the reason why an object that it needs could not be read.
fn why(error: cloud_config::Error, reasons: &[Option<&Unread>]) -> Problem {
    match error {
        cloud_config::Error::Terminal(problem) => Problem::Terminal(problem),
        cloud_config::Error::Transient(problem) => {
            let reasons: Vec<_> = reasons.iter().flatten().map(ToString::to_string).collect();
            Problem::Transient(match reasons.as_slice() {
                [] => problem,
                reasons => format!("{problem}: {}", reasons.join("; ")),
            })
        }
    }
}

/// `cloud_conf` is the desired cloud configuration, if it is known.
fn trusted_ca(
    observed: &Observed,
    settings: &Settings,
    cloud_conf: Option<&cloud_config::Content>,
) -> Result<Decided, Problem> {
    let Some(proxy) = observed.proxy.as_ref().map_err(Problem::transient)? else {
        return Ok(Decided::default());
    };
    let system = observed.files.system_bundle.as_ref().map_err(Problem::transient)?;
    let current = map(observed, Some(Key::config_map(&settings.namespace, cloud_config::NAME)))?;
    let proxy_ca = map(observed, observed.proxy_ca())?;
    let content = cloud_conf
        .cloned()
        .or_else(|| current.as_ref().map(cloud_config::Content::from));
    let name = &proxy.spec.trusted_ca.name;
    let data = content.as_ref().map(|content| &content.data);
    let (sources, missing) = trusted_ca::sources(system, name, proxy_ca.as_ref(), data);
    let merged = trusted_ca::merge(&sources, observed.now).map_err(|error| Problem::Terminal(error.to_string()))?;
    let skipped = missing.into_iter().chain(merged.skipped);
    let skipped = skipped.map(|skipped| format!("{}: {}", skipped.source, skipped.why));
    Ok(Decided {
        objects: vec![trusted_ca::config_map(&settings.namespace, &merged.bundle)],
        warnings: skipped.chain(merged.warnings).collect(),
        cloud_conf: None,
    })
}

fn map(observed: &Observed, key: Option<Key>) -> Result<Option<ConfigMap>, Problem> {
    match key {
        Some(key) => observed.find(&key).map_err(|unread| Problem::Transient(unread.0)),
        None => Ok(None),
    }
}
