//! Decides purely which operands should exist.

use super::{Problem, Settings, observed::Observed};
use crate::{
    Object, Unread,
    platforms::{self, Images, Platform, Setting, Sources, Topology, external::Provisioning, gates, images, tls},
};
use operator_api::Infrastructure;
use std::collections::BTreeMap;

/// What to do with the operands.
#[derive(Debug)]
pub(super) enum OperandPlan {
    /// These should exist, and no other objects of ours.
    Install(Box<Wanted>),
    /// None should exist: ours are deleted.
    Remove,
    /// It is not known which should exist: nothing is changed.
    Unknown,
}

/// The desired operands.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) setting: Setting,
    pub(super) platform: &'static Platform,
    /// Settings of the cluster that are not supported.
    pub(super) warnings: Vec<String>,
}

impl Wanted {
    /// The objects, for these contents of the objects that their Pods read.
    pub(super) fn objects(&self, sources: Sources) -> Result<Vec<Object>, Problem> {
        let setting = Setting {
            sources,
            ..self.setting.clone()
        };
        let objects = self.platform.resources(&setting);
        objects.map_err(|error| Problem::Terminal(error.to_string()))
    }
}

/// Whether the cluster wants no operands; an incomplete Infrastructure does not say so.
pub(super) fn are_unwanted(infrastructure: &Infrastructure) -> Result<bool, Problem> {
    let none = BTreeMap::default();
    let annotations = infrastructure.metadata.annotations.as_ref().unwrap_or(&none);
    let status = infrastructure.status.platform_status.as_ref();
    let provisioning = platforms::external::provisioning(status, annotations);
    let provisioning = provisioning.map_err(|error| Problem::Transient(error.to_string()))?;
    // An Infrastructure without a platform is not complete yet: nothing is deleted.
    let Some(status) = status.filter(|status| !status.type_.is_empty()) else {
        return Ok(false);
    };
    Ok(match provisioning {
        Provisioning::Provision => Platform::find(status).is_none(),
        Provisioning::NotExternal
        | Provisioning::BroughtAlong
        | Provisioning::NoOperands
        | Provisioning::SwitchedOff => true,
    })
}

/// Decides from the observed state.
pub(super) fn plan(observed: &Observed, settings: &Settings) -> Result<OperandPlan, Problem> {
    let Some(infrastructure) = observed.infrastructure.as_ref().map_err(Problem::transient)? else {
        return Ok(OperandPlan::Unknown);
    };
    if are_unwanted(infrastructure)? {
        return Ok(OperandPlan::Remove);
    }
    let Some(status) = infrastructure.status.platform_status.clone() else {
        return Ok(OperandPlan::Unknown);
    };
    let Some(platform) = Platform::find(&status) else {
        return Ok(OperandPlan::Unknown);
    };
    let proxy = observed.proxy.as_ref().map_err(Problem::transient)?;
    let (tls, warnings) = tls(observed, settings.tls.as_ref())?;
    let setting = Setting {
        namespace: settings.namespace.clone(),
        infrastructure_name: infrastructure.status.infrastructure_name.clone(),
        topology: Topology::of(&infrastructure.status.control_plane_topology),
        platform: status,
        images: images(observed)?,
        proxy: proxy.as_ref().map(|proxy| proxy.status.clone()).unwrap_or_default(),
        gates: enabled(observed, &settings.release).map_err(|unread| Problem::Transient(unread.0))?,
        tls,
        sources: Sources::default(),
    };
    Ok(OperandPlan::Install(Box::new(Wanted {
        setting,
        platform,
        warnings,
    })))
}

fn images(observed: &Observed) -> Result<Images, Problem> {
    let text = observed
        .files
        .images
        .as_ref()
        .map_err(|reason| Problem::Terminal(reason.to_string()))?;
    images::Images::parse(text).map_err(|error| Problem::Terminal(runtime::logging::chain(&error).to_string()))
}

/// The enabled gates, or why they are not known.
pub(super) fn enabled(observed: &Observed, release: &str) -> Result<Vec<String>, Unread> {
    let gate = observed
        .feature_gate
        .clone()?
        .ok_or_else(|| Unread("the FeatureGate \"cluster\" does not exist".to_owned()))?;
    let version = observed.cluster_version.clone()?;
    gates::enabled(&gate, release, version.as_ref()).map_err(|error| Unread(error.to_string()))
}

/// The TLS settings of managers, and the settings of the cluster that are not supported.
fn tls(observed: &Observed, flags: Option<&tls::Settings>) -> Result<(tls::Settings, Vec<String>), Problem> {
    if let Some(flags) = flags {
        return Ok((flags.clone(), Vec::new()));
    }
    let server = observed.api_server.as_ref().map_err(Problem::transient)?;
    let resolved = tls::resolve("", &[], server.as_ref().map(|server| &server.spec));
    resolved
        .map(|resolved| (resolved.settings, resolved.warnings))
        .map_err(|error| Problem::Terminal(error.to_string()))
}
