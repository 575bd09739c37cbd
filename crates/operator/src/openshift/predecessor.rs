//! What is there although nobody has said so: the Go operator does not list its operands, and a list can be lost.

use super::{
    Problem,
    observe::Observed,
    pass::Operator,
    report::{self, names_operands},
};
use crate::{
    Key, Object, certificates,
    operands::{Class, Failure},
    platforms::{self, Images, Platform, Setting},
};
use futures::{StreamExt, TryStreamExt, stream};
use operator_api::infrastructure::PlatformStatus;
use serde_json::Value;
use std::collections::BTreeSet;

/// How many objects are asked for at a time.
const CONCURRENCY: usize = 8;

impl Operator {
    /// What is ours: by our own word, and what was found where there was none.
    pub(super) fn inventory(&self, observed: &Observed) -> Vec<Key> {
        let mut inventory = report::inventory(observed);
        let found = self.leftovers.iter().flatten();
        let more: Vec<_> = found.filter(|key| !inventory.contains(key)).cloned().collect();
        inventory.extend(more);
        inventory
    }

    /// Looks for operands of any platform if nobody has said which there are: once, and whenever the word is lost.
    pub(super) async fn search(&mut self, observed: &Observed) -> Result<(), Problem> {
        let Ok(operator) = &observed.cluster_operator else {
            return Ok(());
        };
        let is_known = self.leftovers.is_some() && operator.is_some();
        if is_known || names_operands(&report::inventory(observed)) {
            return Ok(());
        }
        let engine = &self.engine;
        let looks = candidates(&self.settings.namespace).into_iter().map(|key| async move {
            match engine.is_made(&key).await {
                Ok(is_made) => Ok(is_made.then_some(key)),
                // What may not be read may not be removed either.
                Err(failure) if matches!(failure.class, Class::Refused | Class::Unserved) => Ok(None),
                Err(failure) => Err(failure),
            }
        });
        let found = stream::iter(looks)
            .buffer_unordered(CONCURRENCY)
            .try_collect::<Vec<_>>();
        let found = found
            .await
            .map_err(|failure: Failure| Problem::Transient(failure.to_string()))?;
        self.leftovers = Some(found.into_iter().flatten().collect());
        Ok(())
    }

    /// What has been dealt with is not looked for again.
    pub(super) fn settle(&mut self, after: &[Key]) {
        if let Some(leftovers) = &mut self.leftovers {
            leftovers.retain(|key| after.contains(key));
        }
    }
}

/// Everything that any platform has in this namespace and beside it, by name.
pub(crate) fn candidates(namespace: &str) -> BTreeSet<Key> {
    let keys = platforms::ALL.iter().flat_map(|platform| platform.images);
    let images: Value = keys.map(|(_, key)| ((*key).to_owned(), "any")).collect();
    let setting = Setting {
        namespace: namespace.to_owned(),
        infrastructure_name: "any".to_owned(),
        images: Images::parse(&images.to_string()).unwrap_or_default(),
        ..Setting::default()
    };
    let mut keys: BTreeSet<_> = platforms::ALL
        .iter()
        .flat_map(|platform| objects(platform, &setting))
        .map(|object| object.key().clone())
        .collect();
    let names = certificates::Names {
        service: String::new(),
        namespace: namespace.to_owned(),
        prefix: String::new(),
    };
    keys.extend([names.ca_secret(), names.serving_secret(), names.bundle()]);
    keys
}

fn objects(platform: &Platform, setting: &Setting) -> Vec<Object> {
    let setting = Setting {
        platform: PlatformStatus {
            type_: platform.type_.to_owned(),
            ..PlatformStatus::default()
        },
        ..setting.clone()
    };
    // A test sees to it that there is no error.
    platform.resources(&setting).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_platform_is_looked_for() {
        let candidates = candidates("ns");
        let has = |kind: &str, name: &str| candidates.iter().any(|key| key.kind == kind && key.name == name);
        for name in [
            "aws",
            "azure",
            "gcp",
            "ibm",
            "nutanix",
            "openstack",
            "powervs",
            "vsphere",
        ] {
            assert!(has("Deployment", &format!("{name}-cloud-controller-manager")), "{name}");
        }
        assert!(has("DaemonSet", "azure-cloud-node-manager"));
        // W18: what a cluster with one machine has no use for.
        assert!(has("PodDisruptionBudget", "ibmcloud-cloud-controller-manager"));
        assert!(has("Role", "azure-cloud-provider"));
        assert!(has("Secret", certificates::CA_SECRET));
        let namespaces: BTreeSet<_> = candidates.iter().filter_map(|key| key.namespace.as_deref()).collect();
        assert_eq!(namespaces, ["kube-system", "ns"].into());
    }

    #[test]
    fn every_platform_has_objects() {
        for platform in platforms::ALL {
            let images: Value = platform
                .images
                .iter()
                .map(|(_, key)| ((*key).to_owned(), "any"))
                .collect();
            let setting = Setting {
                namespace: "ns".to_owned(),
                infrastructure_name: "any".to_owned(),
                images: Images::parse(&images.to_string()).unwrap(),
                ..Setting::default()
            };
            assert!(!objects(platform, &setting).is_empty(), "{}", platform.type_);
        }
    }
}
