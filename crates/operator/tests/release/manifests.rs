//! The files, as objects.

use operator::{
    Object,
    platforms::{ALL, Images, Platform, Setting, Topology},
};
use operator_api::infrastructure::{
    PlatformStatus,
    platform_status::{Azure, External},
};
use serde_json::Value;
use std::{fs, path::PathBuf};

pub const OPERATOR: &str = "openshift-cloud-controller-manager-operator";
pub const OPERANDS: &str = "openshift-cloud-controller-manager";

/// One object of a file.
pub struct Manifest {
    pub file: String,
    pub object: Object,
}

impl Manifest {
    pub fn value(&self) -> &Value {
        self.object.value()
    }

    pub fn kind(&self) -> &str {
        &self.object.key().kind
    }

    pub fn annotation(&self, name: &str) -> Option<&str> {
        self.value()["metadata"]["annotations"][name].as_str()
    }

    /// Whether a release deletes the object instead of creating it.
    pub fn is_tombstone(&self) -> bool {
        self.annotation("release.openshift.io/delete") == Some("true")
    }
}

pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../deploy/openshift/manifests")
}

/// All manifests, in the order in which a release applies them.
pub fn all() -> Vec<Manifest> {
    let entries = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries
        .filter(|path| path.extension().is_some_and(|end| end == "yaml"))
        .collect();
    files.sort();
    let objects = files.iter().flat_map(|path| {
        let file = path.file_name().unwrap().to_str().unwrap().to_owned();
        let values = documents(&fs::read_to_string(path).unwrap(), &file);
        values.into_iter().map(move |value| Manifest {
            object: Object::new(value).unwrap(),
            file: file.clone(),
        })
    });
    objects.collect()
}

pub fn documents(text: &str, file: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(text).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// The only object with this kind and name.
pub fn one(kind: &str, name: &str) -> Value {
    let found: Vec<_> = all()
        .into_iter()
        .filter(|manifest| manifest.kind() == kind && manifest.object.key().name == name)
        .collect();
    assert_eq!(found.len(), 1, "{kind} {name}");
    found[0].value().clone()
}

/// images.json of the release.
pub fn images_json() -> String {
    let map = one("ConfigMap", "cloud-controller-manager-images");
    map["data"]["images.json"].as_str().unwrap().to_owned()
}

/// The operands of each platform with the release's images, with several machines and with one.
pub fn operands() -> Vec<(&'static Platform, Vec<Object>)> {
    let both = [Topology::HighlyAvailable, Topology::Single];
    let settings = ALL
        .iter()
        .flat_map(|platform| both.map(|topology| (platform, setting(platform, topology))));
    settings
        .map(|(platform, setting)| (platform, platform.resources(&setting).unwrap()))
        .collect()
}

fn setting(platform: &Platform, topology: Topology) -> Setting {
    Setting {
        namespace: OPERANDS.to_owned(),
        infrastructure_name: "lab-x7k2p".to_owned(),
        topology,
        platform: status(platform),
        images: Images::parse(&images_json()).unwrap(),
        ..Setting::default()
    }
}

fn status(platform: &Platform) -> PlatformStatus {
    let hub = Azure {
        cloud_name: "AzureStackCloud".to_owned(),
        ..Azure::default()
    };
    let plain = PlatformStatus {
        type_: platform.type_.to_owned(),
        external: (platform.type_ == "External").then(External::default),
        ..PlatformStatus::default()
    };
    if (platform.applies)(&plain) {
        return plain;
    }
    PlatformStatus {
        azure: Some(hub),
        ..plain
    }
}
