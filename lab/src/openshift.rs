//! The real custom resource definitions of `OpenShift` and of the Prometheus operator, from the Go module registry.
//!
//! What is not there: `CredentialsRequest`, whose module the registry does not carry.

#![expect(clippy::print_stderr, reason = "progress is for the person who waits")]

use crate::assets;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
};

const GO_MOD: &str = include_str!("../assets/openshift/go.mod");
const GO_SUM: &str = include_str!("../assets/openshift/go.sum");
const API: &str = "github.com/openshift/api";
const PROMETHEUS: &str = "github.com/prometheus-operator/prometheus-operator";

/// Where the definitions and objects are, in each module.
const FOLDERS: &[(&str, &str)] = &[
    (API, "config/v1/zz_generated.crd-manifests"),
    (API, "operator/v1/zz_generated.crd-manifests"),
    (API, "payload-manifests/featuregates"),
    (PROMETHEUS, "example/prometheus-operator-crd"),
];

/// What the operator reads or writes, by plural.
const CONFIG: &[&str] = &[
    "apiservers",
    "clusteroperators",
    "clusterversions",
    "featuregates",
    "infrastructures",
    "networks",
    "proxies",
];
const MONITORING: &[&str] = &["prometheusrules", "servicemonitors"];

/// The feature set of a cluster: it decides which fields a definition has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Variant {
    /// What production clusters have.
    #[default]
    Default,
    /// With what is in technology preview; such a cluster cannot be upgraded.
    TechPreviewNoUpgrade,
    /// With every feature gate.
    CustomNoUpgrade,
    /// With what developers are still trying.
    DevPreviewNoUpgrade,
}

impl Variant {
    fn name(self) -> &'static str {
        match self {
            Self::Default => "Default",
            Self::TechPreviewNoUpgrade => "TechPreviewNoUpgrade",
            Self::CustomNoUpgrade => "CustomNoUpgrade",
            Self::DevPreviewNoUpgrade => "DevPreviewNoUpgrade",
        }
    }
}

/// The definitions of `config.openshift.io/v1` that the operator needs, and of `monitoring.coreos.com/v1` `ServiceMonitor` and
/// `PrometheusRule`: one YAML text each, fetched first if need be.
///
/// # Errors
/// If they cannot be fetched; the message ends with the output of Go.
pub fn crds(variant: Variant) -> Result<Vec<String>> {
    let folder = folder()?;
    let config = CONFIG.iter().map(|plural| config_file(&folder, plural, variant));
    let monitoring = MONITORING
        .iter()
        .map(|plural| Ok(folder.join(format!("monitoring.coreos.com_{plural}.yaml"))));
    config.chain(monitoring).map(|file| read(&file?)).collect()
}

/// The definition of one more kind of `OpenShift`, by its plural: any of `config.openshift.io/v1` or `operator.openshift.io/v1`
/// that no kind of the same plural hides.
///
/// # Errors
/// If they cannot be fetched, or there is no such kind.
pub fn crd(plural: &str, variant: Variant) -> Result<String> {
    read(&config_file(&folder()?, plural, variant)?)
}

/// The `FeatureGate` object that a cluster of this variant has after installation, in JSON; its `status` lists every gate.
///
/// # Errors
/// If it cannot be fetched; `CustomNoUpgrade` has none, because its gates are the user's choice.
pub fn feature_gate(variant: Variant) -> Result<String> {
    let suffix = format!("-SelfManagedHA-{}.yaml", variant.name());
    let file = find(&folder()?, |name| {
        name.starts_with("featureGate-") && name.ends_with(&suffix)
    })?;
    read(&file.with_context(|| format!("{} has no FeatureGate of its own", variant.name()))?)
}

/// Fetches what is not in the cache yet.
///
/// # Errors
/// As [`crds`].
pub fn prepare() -> Result<()> {
    folder().map(drop)
}

/// A kind has one file for all variants or one for each, and some have one more for each kind of installation.
fn config_file(folder: &Path, plural: &str, variant: Variant) -> Result<PathBuf> {
    let variant = variant.name();
    let endings = [
        format!("_{plural}.crd.yaml"),
        format!("_{plural}-{variant}.crd.yaml"),
        format!("_{plural}-SelfManagedHA-{variant}.crd.yaml"),
    ];
    find(folder, |name| endings.iter().any(|ending| name.ends_with(ending)))?
        .with_context(|| format!("the OpenShift API has no {plural} of the variant {variant}"))
}

/// The first file by name, so that the answer is always the same.
fn find(folder: &Path, wanted: impl Fn(&str) -> bool) -> Result<Option<PathBuf>> {
    let names = fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name()));
    let names: Vec<_> = names.collect::<Result<_>>()?;
    let found = names.into_iter().filter(|name| name.to_str().is_some_and(&wanted));
    Ok(found.min().map(|name| folder.join(name)))
}

fn read(file: &Path) -> Result<String> {
    fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))
}

fn folder() -> Result<PathBuf> {
    let parent = assets::cache().join("openshift");
    let folder = parent.join(format!("api-{}_prometheus-{}", version(API)?, version(PROMETHEUS)?));
    if !folder.exists() {
        fs::create_dir_all(&parent).with_context(|| format!("cannot create {}", parent.display()))?;
        let lock = File::create(parent.join(".lock"))?;
        lock.lock().context("cannot lock the cache")?;
        if !folder.exists() {
            fetch(&folder)?;
        }
    }
    Ok(folder)
}

/// Into another folder first, so that they are never incomplete.
fn fetch(target: &Path) -> Result<()> {
    eprintln!("lab: fetching the custom resource definitions of OpenShift");
    let unfinished = target.with_extension("unfinished");
    fs::remove_dir_all(&unfinished).ok();
    fs::create_dir_all(&unfinished)?;
    for (module, folder) in FOLDERS {
        for entry in fs::read_dir(download(module)?.join(folder))? {
            let file = entry?.path();
            if let Some(name) = file
                .file_name()
                .filter(|_| file.extension().is_some_and(|end| end == "yaml"))
            {
                fs::write(unfinished.join(name), fs::read(&file)?)?;
            }
        }
    }
    fs::rename(&unfinished, target)?;
    Ok(())
}

/// The folder of a module in Go's cache; what is downloaded is checked against our `go.sum`.
fn download(module: &str) -> Result<PathBuf> {
    let source = assets::cache().join("source/openshift");
    fs::create_dir_all(&source)?;
    fs::write(source.join("go.mod"), GO_MOD)?;
    fs::write(source.join("go.sum"), GO_SUM)?;
    let output = Command::new("go")
        .current_dir(&source)
        .env("GOFLAGS", "-mod=mod")
        .args(["mod", "download", "-json", &format!("{module}@{}", version(module)?)])
        .output()
        .context("cannot run go: install it and try again")?;
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    match answer["Dir"].as_str() {
        Some(folder) if output.status.success() => Ok(PathBuf::from(folder)),
        _ => bail!(
            "cannot download {module}: {}{}",
            answer["Error"].as_str().unwrap_or_default(),
            String::from_utf8_lossy(&output.stderr)
        ),
    }
}

/// The version that our `go.mod` pins.
fn version(module: &str) -> Result<&'static str> {
    GO_MOD
        .lines()
        .find_map(|line| line.trim().strip_prefix(module)?.strip_prefix(' '))
        .with_context(|| format!("go.mod does not name {module}"))
}
