//! The content of the given manifests.

use super::{CLOUD_CONFIG, Problem};
use crate::{
    operands::diff::drop_nulls,
    platforms::{
        Images, Platform, Setting, Topology,
        external::{self, NoPlatform},
    },
};
use k8s_openapi::api::core::v1::ConfigMap;
use operator_api::Infrastructure;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::{collections::BTreeMap, path::PathBuf};

/// The key with the endpoints of Azure Stack Hub, and its file.
const ENDPOINTS: (&str, &str) = ("endpoints", "endpoints.conf");
/// The certificates that the configuration of `OpenStack` refers to as `ca-file`.
const CA_BUNDLE: &str = "ca-bundle.pem";
/// The fields that a manifest may have, beside those of its kind.
const FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// The manifests of the installer.
#[derive(Debug, Clone)]
pub struct Inputs {
    /// The Infrastructure.
    pub infrastructure: Document,
    /// The `ConfigMap` with `images.json`.
    pub images: Document,
    /// The `ConfigMap` with the cloud configuration.
    pub cloud_config: Option<Document>,
}

/// A file.
#[derive(Clone)]
pub struct Document {
    /// Its path, for messages.
    pub path: PathBuf,
    /// Its content.
    pub text: String,
}

impl std::fmt::Debug for Document {
    /// Without the text, which may contain secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Document({})", self.path.display())
    }
}

/// The content of all manifests.
pub struct Read {
    /// Everything except the cloud configuration.
    pub setting: Setting,
    /// The files of the configuration, by name.
    pub config: BTreeMap<&'static str, String>,
    /// Warnings for the user, each one sentence.
    pub warnings: Vec<String>,
}

/// Reads all of them, so that all problems are reported at once.
pub fn read(inputs: &Inputs) -> Result<Read, Vec<Problem>> {
    let infrastructure = infrastructure(&inputs.infrastructure);
    let images = images(&inputs.images);
    let named = infrastructure
        .as_ref()
        .ok()
        .filter(|infrastructure| names_config(infrastructure));
    let config = match (&inputs.cloud_config, named) {
        (Some(document), Some(infrastructure)) => config(document, infrastructure, images.as_ref().ok()),
        _ => Ok(BTreeMap::new()),
    };
    let warning = named.filter(|_| inputs.cloud_config.is_none()).map(|infrastructure| {
        let name = &infrastructure.spec.cloud_config.name;
        format!("the Infrastructure names the cloud configuration {name:?}, but there is no --cloud-config-file: the static Pod has none")
    });
    match (infrastructure, images, config) {
        (Ok(infrastructure), Ok(images), Ok(config)) => Ok(Read {
            setting: setting(infrastructure, images),
            config,
            warnings: warning.into_iter().collect(),
        }),
        (infrastructure, images, config) => {
            let problems = [infrastructure.err(), images.err(), config.err()];
            Err(problems.into_iter().flatten().collect())
        }
    }
}

fn names_config(infrastructure: &Infrastructure) -> bool {
    !infrastructure.spec.cloud_config.name.is_empty()
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
    let fields = ["spec", "status"];
    let infrastructure: Infrastructure = manifest(document, "config.openshift.io/v1", "Infrastructure", &fields)?;
    let path = document.path.clone();
    match &infrastructure.status.platform_status {
        Some(status) if external::is_known(status) => Ok(infrastructure),
        Some(status) => Err(Problem::UnknownPlatform {
            path,
            type_: status.type_.clone(),
        }),
        None => Err(Problem::NoPlatform {
            path,
            source: NoPlatform,
        }),
    }
}

fn config_map(document: &Document) -> Result<ConfigMap, Problem> {
    manifest(document, "v1", "ConfigMap", &["data", "binaryData", "immutable"])
}

fn images(document: &Document) -> Result<Images, Problem> {
    let config_map = config_map(document)?;
    let data = config_map.data.unwrap_or_default();
    let text = data
        .get("images.json")
        .ok_or_else(|| malformed(document, "the ConfigMap has no key images.json"))?;
    Images::parse(text).map_err(|source| Problem::Images {
        path: document.path.clone(),
        source,
    })
}

/// The cloud configuration that the Infrastructure refers to, under the usual key or the one that it names, and the files that it refers to.
fn config(
    document: &Document,
    infrastructure: &Infrastructure,
    images: Option<&Images>,
) -> Result<BTreeMap<&'static str, String>, Problem> {
    let mut data = config_map(document)?.data.unwrap_or_default();
    let key = &infrastructure.spec.cloud_config.key;
    let text = data.remove(CLOUD_CONFIG).or_else(|| data.remove(key));
    let text = text.ok_or_else(|| match key.as_str() {
        "" => malformed(document, "the ConfigMap has no key cloud.conf"),
        key => malformed(
            document,
            format!("the ConfigMap has neither the key cloud.conf nor {key}"),
        ),
    })?;
    if let Some(problem) = unreadable_credentials(&text, infrastructure, images) {
        return Err(malformed(document, problem));
    }
    let mut files = BTreeMap::new();
    if is_stack_hub(infrastructure) {
        let (key, file) = ENDPOINTS;
        let missing = format!("the ConfigMap has no key {key}, and Azure Stack Hub is not described anywhere else");
        files.insert(file, data.remove(key).ok_or_else(|| malformed(document, missing))?);
    }
    if is_openstack(infrastructure) {
        files.extend(data.remove(CA_BUNDLE).map(|certificates| (CA_BUNDLE, certificates)));
    }
    files.insert(CLOUD_CONFIG, text);
    files.retain(|_, text| !text.is_empty());
    Ok(files)
}

/// Only this project's manager reads the Secret that the installer's configuration of `OpenStack` names: another one would
/// start without credentials.
fn unreadable_credentials(text: &str, infrastructure: &Infrastructure, images: Option<&Images>) -> Option<String> {
    let platform = Platform::find(infrastructure.status.platform_status.as_ref()?)?;
    let (_, key) = platform.images.first()?;
    let image = images?.find(key).filter(|_| is_openstack(infrastructure))?;
    let document = gcfg::Document::parse_file(CLOUD_CONFIG, text.as_bytes()).ok()?;
    let names_secret = document.section("Global").has("secret-name");
    names_secret.then(|| {
        format!(
            "cloud.conf names its credentials by secret-name, which the image {image} does not read: remove {key} from \
             images.json, or write the credentials into cloud.conf"
        )
    })
}

fn is_openstack(infrastructure: &Infrastructure) -> bool {
    let status = infrastructure.status.platform_status.as_ref();
    status.is_some_and(|status| status.type_ == "OpenStack")
}

fn is_stack_hub(infrastructure: &Infrastructure) -> bool {
    let status = infrastructure.status.platform_status.as_ref();
    let azure = status.and_then(|status| status.azure.as_ref());
    azure.is_some_and(|azure| azure.cloud_name == "AzureStackCloud")
}

/// Parses a manifest of a kind with these fields; a manifest of another kind was given by mistake.
fn manifest<T: DeserializeOwned>(
    document: &Document,
    api_version: &str,
    kind: &str,
    fields: &[&str],
) -> Result<T, Problem> {
    // Without a snippet of the file, which may contain secrets.
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
    let is_unknown = |field: &&String| !FIELDS.iter().chain(fields).any(|known| known == field);
    if let Some(field) = value
        .as_object()
        .into_iter()
        .flat_map(|map| map.keys())
        .find(is_unknown)
    {
        return Err(malformed(document, format!("kind {kind} has no field {field}")));
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
