//! Volumes of in-tree plugins: without the in-tree provider only a CSI driver attaches them.

use super::Finding;
use crate::{Cluster, table};
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeSpec};
use std::collections::BTreeMap;

type Source = (&'static str, &'static str, fn(&PersistentVolumeSpec) -> bool);

/// The in-tree plugins of clouds, and the CSI driver that each was replaced by.
const SOURCES: [Source; 6] = [
    ("awsElasticBlockStore", "ebs.csi.aws.com", |spec| {
        spec.aws_elastic_block_store.is_some()
    }),
    ("azureDisk", "disk.csi.azure.com", |spec| spec.azure_disk.is_some()),
    ("azureFile", "file.csi.azure.com", |spec| spec.azure_file.is_some()),
    ("cinder", "cinder.csi.openstack.org", |spec| spec.cinder.is_some()),
    ("gcePersistentDisk", "pd.csi.storage.gke.io", |spec| {
        spec.gce_persistent_disk.is_some()
    }),
    ("vsphereVolume", "csi.vsphere.vmware.com", |spec| {
        spec.vsphere_volume.is_some()
    }),
];

pub(super) fn findings(cluster: &Cluster<'_>) -> Vec<Finding> {
    let mut volumes: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for volume in &cluster.snapshot.volumes {
        if let Some(plugin) = plugin(volume) {
            volumes
                .entry(plugin)
                .or_default()
                .push(volume.metadata.name.as_deref().unwrap_or_default());
        }
    }
    let findings = volumes.into_iter().map(|((plugin, driver), names)| {
        let number = table::count(names.len(), "volume");
        let is_installed = cluster
            .snapshot
            .drivers
            .iter()
            .any(|known| known.metadata.name.as_deref() == Some(driver));
        if is_installed {
            Finding::ok(
                "PersistentVolumes",
                format!("{number} of the in-tree plugin {plugin}, and the driver {driver} is installed"),
            )
        } else {
            Finding::blocker(
                "PersistentVolumes",
                format!(
                    "{number} of the in-tree plugin {plugin} and no driver {driver}: {}",
                    table::names(names)
                ),
            )
            .remedy(format!("install the driver {driver} before the migration"))
        }
    });
    findings.collect()
}

fn plugin(volume: &PersistentVolume) -> Option<(&'static str, &'static str)> {
    let spec = volume.spec.as_ref()?;
    let source = SOURCES.iter().find(|(_, _, is_it)| is_it(spec));
    source.map(|(plugin, driver, _)| (*plugin, *driver))
}
