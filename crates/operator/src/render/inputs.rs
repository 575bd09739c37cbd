//! What the given manifests say.

use super::Problem;
use crate::{
    operands::diff::drop_nulls,
    platforms::{Images, Setting, Topology, external::NoPlatform},
};
use k8s_openapi::api::core::v1::ConfigMap;
use operator_api::Infrastructure;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::path::PathBuf;

/// The key that says where the services of Azure Stack Hub are.
const ENDPOINTS: &str = "endpoints";

/// The manifests that the installer has made.
#[derive(Debug, Clone)]
pub struct Inputs {
    /// The Infrastructure.
    pub infrastructure: Document,
    /// The `ConfigMap` with `images.json`.
    pub images: Document,
    /// The `ConfigMap` with the cloud's configuration.
    pub cloud_config: Option<Document>,
}

/// A file.
#[derive(Clone)]
pub struct Document {
    /// Where it is; for messages.
    pub path: PathBuf,
    /// What it says.
    pub text: String,
}

impl std::fmt::Debug for Document {
    /// Without the text, which may hold secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Document({})", self.path.display())
    }
}

/// What they say.
pub struct Read {
    /// Everything but the configuration.
    pub setting: Setting,
    /// The configuration, unless it is empty.
    pub cloud_config: Option<String>,
    /// Where the services of Azure Stack Hub are, on that platform.
    pub endpoints: Option<String>,
}

/// Reads all of them, so that all problems are found at once.
pub fn read(inputs: &Inputs) -> Result<Read, Vec<Problem>> {
    let infrastructure = infrastructure(&inputs.infrastructure);
    let images = images(&inputs.images);
    let cloud_config = cloud_config(inputs.cloud_config.as_ref(), infrastructure.as_ref().ok());
    match (infrastructure, images, cloud_config) {
        (Ok(infrastructure), Ok(images), Ok((cloud_config, endpoints))) => Ok(Read {
            setting: setting(infrastructure, images),
            cloud_config,
            endpoints,
        }),
        (infrastructure, images, cloud_config) => {
            let problems = [infrastructure.err(), images.err(), cloud_config.err()];
            Err(problems.into_iter().flatten().collect())
        }
    }
}

fn setting(infrastructure: Infrastructure, images: Images) -> Setting {
    let status = infrastructure.status;
    Setting {
        namespace: "kube-system".to_owned(),
        infrastructure_name: status.infrastructure_name,
        topology: Topology::of(&status.control_plane_topology),
        platform: status.platform_status.unwrap_or_default(),
        images,
        ..Setting::default()
    }
}

fn infrastructure(document: &Document) -> Result<Infrastructure, Problem> {
    let infrastructure: Infrastructure = manifest(document, "config.openshift.io/v1", "Infrastructure")?;
    match infrastructure.status.platform_status {
        Some(_) => Ok(infrastructure),
        None => Err(Problem::NoPlatform {
            path: document.path.clone(),
            source: NoPlatform,
        }),
    }
}

fn images(document: &Document) -> Result<Images, Problem> {
    let config_map: ConfigMap = manifest(document, "v1", "ConfigMap")?;
    let data = config_map.data.unwrap_or_default();
    let text = data
        .get("images.json")
        .ok_or_else(|| malformed(document, "the ConfigMap has no key images.json"))?;
    Images::parse(text).map_err(|source| Problem::Images {
        path: document.path.clone(),
        source,
    })
}

/// The configuration, if the Infrastructure refers to one: under the usual key, or the one that it names. And what stands beside
/// it where the cloud is in one's own data centre.
fn cloud_config(
    document: Option<&Document>,
    infrastructure: Option<&Infrastructure>,
) -> Result<(Option<String>, Option<String>), Problem> {
    let named = |infrastructure: &&Infrastructure| !infrastructure.spec.cloud_config.name.is_empty();
    let (Some(document), Some(infrastructure)) = (document, infrastructure.filter(named)) else {
        return Ok((None, None));
    };
    let wanted = &infrastructure.spec.cloud_config;
    let config_map: ConfigMap = manifest(document, "v1", "ConfigMap")?;
    let mut data = config_map.data.unwrap_or_default();
    let text = data.remove("cloud.conf").or_else(|| data.remove(&wanted.key));
    let text = text.ok_or_else(|| match wanted.key.as_str() {
        "" => malformed(document, "the ConfigMap has no key cloud.conf"),
        key => malformed(
            document,
            format!("the ConfigMap has neither the key cloud.conf nor {key}"),
        ),
    })?;
    let endpoints = data.remove(ENDPOINTS).filter(|_| is_stack_hub(infrastructure));
    if endpoints.is_none() && is_stack_hub(infrastructure) {
        let reason = format!("the ConfigMap has no key {ENDPOINTS}, and Azure Stack Hub is nowhere else described");
        return Err(malformed(document, reason));
    }
    Ok((Some(text).filter(|text| !text.is_empty()), endpoints))
}

fn is_stack_hub(infrastructure: &Infrastructure) -> bool {
    let status = infrastructure.status.platform_status.as_ref();
    let azure = status.and_then(|status| status.azure.as_ref());
    azure.is_some_and(|azure| azure.cloud_name == "AzureStackCloud")
}

/// Reads one manifest of a kind; a file with another kind was given by mistake.
fn manifest<T: DeserializeOwned>(document: &Document, api_version: &str, kind: &str) -> Result<T, Problem> {
    // Without a snippet of the file, which may hold secrets.
    let options = serde_saphyr::options! { with_snippet: false };
    let mut value: Value = serde_saphyr::from_str_with_options(&document.text, options)
        .map_err(|error| malformed(document, format!("not YAML: {error}")))?;
    let found = (value["apiVersion"].as_str(), value["kind"].as_str());
    if found != (Some(api_version), Some(kind)) {
        return Err(malformed(
            document,
            format!("not a manifest of kind {kind} in {api_version}"),
        ));
    }
    drop_nulls(&mut value);
    serde_json::from_value(value).map_err(|error| malformed(document, format!("does not fit kind {kind}: {error}")))
}

fn malformed(document: &Document, reason: impl Into<String>) -> Problem {
    Problem::Malformed {
        path: document.path.clone(),
        reason: reason.into(),
    }
}
