//! Renders the files of a platform.

pub mod config_hash;
mod namespace;
mod overlay;
pub(crate) mod placeholder;
pub(in crate::platforms) mod pod;
pub(in crate::platforms) mod script;

use super::{Error, Platform, Provider, Setting, Topology, gates, images, proxy};
use crate::object::{Nameless, Object};
use placeholder::{Unknown, Values};
use serde_json::{Value, json};

/// The manifests that all platforms share, by kind.
const SHARED: [(&str, &str); 3] = [
    ("Deployment", include_str!("shared/deployment.yaml")),
    ("DaemonSet", include_str!("shared/daemon-set.yaml")),
    ("Pod", include_str!("shared/pod.yaml")),
];
const OWN_IMAGE: &str = include_str!("shared/own-image.yaml");
const AVAILABILITY: &str = include_str!("shared/availability.yaml");
const SERVICE: &str = include_str!("shared/service.yaml");

/// Why a manifest cannot be rendered, before its platform is added.
#[derive(Debug, thiserror::Error)]
pub enum Wrong {
    /// The cluster does not set this value, which the manifest needs.
    #[error("{0} is not set")]
    Unset(&'static str),
    /// The manifest is invalid.
    #[error("{0}")]
    Manifest(String),
}

impl Wrong {
    /// The manifest is invalid.
    pub fn manifest(reason: impl Into<String>) -> Self {
        Self::Manifest(reason.into())
    }
}

impl From<Nameless> for Wrong {
    fn from(nameless: Nameless) -> Self {
        Self::Manifest(nameless.to_string())
    }
}

/// A platform with a setting.
pub struct Rendering<'a> {
    platform: &'a Platform,
    setting: &'a Setting,
    images: images::Chosen,
    values: Values,
}

impl<'a> Rendering<'a> {
    /// Looks up the images and values that the files need.
    ///
    /// # Errors
    /// If images are missing.
    pub fn new(platform: &'a Platform, setting: &'a Setting) -> Result<Self, Error> {
        Ok(Self {
            platform,
            setting,
            images: images::choose(platform, &setting.images)?,
            values: values(platform, setting),
        })
    }

    /// The objects in a cluster.
    pub fn resources(&self) -> Result<Vec<Object>, Error> {
        let mut files = self.platform.manifests.to_vec();
        if self.setting.topology == Topology::HighlyAvailable {
            files.push(AVAILABILITY);
        }
        files.push(SERVICE);
        self.objects(&files, &self.setting.namespace)
    }

    /// The objects on the machine that starts a cluster, where no other namespaces exist yet.
    pub fn bootstrap_resources(&self) -> Result<Vec<Object>, Error> {
        self.objects(self.platform.bootstrap, namespace::SYSTEM)
    }

    fn objects(&self, files: &[&str], namespace: &str) -> Result<Vec<Object>, Error> {
        let mut objects = Vec::new();
        for file in files {
            for document in documents(file).map_err(|wrong| self.error(wrong))? {
                objects.push(self.object(document, namespace).map_err(|wrong| self.error(wrong))?);
            }
        }
        Ok(objects)
    }

    fn object(&self, document: Value, namespace: &str) -> Result<Object, Wrong> {
        let mut object = self.laid_over_what_is_shared(document)?;
        self.fill(&mut object)?;
        for container in pod::all_containers(&mut object) {
            script::expand(container)?;
            self.images.put(container)?;
        }
        namespace::put(&mut object, namespace)?;
        proxy::put(&mut object, &self.setting.proxy);
        config_hash::put(&mut object, &self.setting.sources, self.platform.hashed_secrets);
        Ok(Object::new(object)?)
    }

    fn laid_over_what_is_shared(&self, document: Value) -> Result<Value, Wrong> {
        let kind = document["kind"].as_str().unwrap_or_default().to_owned();
        let Some((_, shared)) = SHARED.iter().find(|(shared, _)| *shared == kind) else {
            return Ok(document);
        };
        let mut object = one_document(shared)?;
        overlay::lay(&mut object, document);
        if kind == "Deployment" && self.images.provider == Provider::Ours {
            overlay::lay(&mut object, one_document(OWN_IMAGE)?);
        }
        Ok(object)
    }

    fn fill(&self, object: &mut Value) -> Result<(), Wrong> {
        let fill = |value: &mut Value, values: &Values| placeholder::fill(value, values).map_err(unset_or_unknown);
        fill(&mut object["metadata"]["name"], &self.values)?;
        let mut values = self.values.clone();
        values.insert("name", object["metadata"]["name"].clone());
        fill(object, &values)
    }

    fn error(&self, wrong: Wrong) -> Error {
        let platform = self.platform.type_;
        match wrong {
            Wrong::Unset(what) => Error::Unset { platform, what },
            Wrong::Manifest(reason) => Error::Manifest { platform, reason },
        }
    }
}

/// The values of placeholders. A value that is not known yet is left out, so that a file which needs it is an error.
fn values(platform: &Platform, setting: &Setting) -> Values {
    let cloud_config = setting.sources.config_maps.get("cloud-conf");
    let cloud_config = cloud_config.and_then(|map| map.data.get("cloud.conf"));
    let mut values: Values = [
        ("platform", json!(platform.type_)),
        ("platformLowerCase", json!(platform.type_.to_lowercase())),
        ("namespace", json!(setting.namespace)),
        ("replicas", json!(setting.topology.replicas())),
        ("featureGates", json!(gates::passed(&setting.gates))),
        ("tlsMinVersion", json!(setting.tls.min_version)),
        ("tlsCipherSuites", json!(setting.tls.cipher_suites.join(","))),
        ("cloudConfig", json!(cloud_config.map_or("", String::as_str))),
    ]
    .into();
    if !setting.infrastructure_name.is_empty() {
        values.insert("infrastructureName", json!(setting.infrastructure_name));
    }
    values.extend(
        (platform.values)(setting)
            .into_iter()
            .map(|(name, value)| (name, value.into())),
    );
    values
}

fn unset_or_unknown(unknown: Unknown) -> Wrong {
    match unknown {
        Unknown::Name(name) if name == "infrastructureName" => {
            Wrong::Unset("status.infrastructureName of the Infrastructure")
        }
        unknown => Wrong::Manifest(unknown.to_string()),
    }
}

/// The documents of a file. Messages contain no snippet of the file: they are part of a condition.
fn documents(file: &str) -> Result<Vec<Value>, Wrong> {
    let options = serde_saphyr::options! { with_snippet: false };
    serde_saphyr::from_multiple_with_options(file, options).map_err(|error| Wrong::Manifest(error.to_string()))
}

fn one_document(file: &str) -> Result<Value, Wrong> {
    documents(file)?
        .pop()
        .ok_or_else(|| Wrong::Manifest("a file is empty".to_owned()))
}
