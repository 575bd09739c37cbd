//! All rendered objects: a change of them is a change of running clusters, and is visible in a review.

use super::*;
use rstest::rstest;
use std::{fs, path::PathBuf};

const REGENERATE: &str = "OUTRIGGER_REGENERATE_GOLDEN";

fn golden(name: &str) -> PathBuf {
    [
        env!("CARGO_MANIFEST_DIR"),
        "src/platforms/golden",
        &format!("{name}.yaml"),
    ]
    .iter()
    .collect()
}

/// Compares with the file, or writes it if requested.
fn compare(name: &str, objects: &[Object]) {
    let path = golden(name);
    let texts: Vec<_> = objects
        .iter()
        .map(|object| serde_saphyr::to_string(object.value()).unwrap())
        .collect();
    if std::env::var_os(REGENERATE).is_some() {
        fs::write(&path, texts.join("---\n")).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    let written: Vec<Value> = serde_saphyr::from_multiple(&written).unwrap();
    let rendered: Vec<_> = objects.iter().map(|object| object.value().clone()).collect();
    let differs = written.len().max(rendered.len());
    let differs = (0..differs).find(|&n| written.get(n) != rendered.get(n));
    if let Some(n) = differs {
        panic!(
            "object {n} of {} is now:\n{}\nif that is meant, run the test again with {REGENERATE}=1 and read the diff",
            path.display(),
            texts.get(n).map_or("(gone)", String::as_str)
        );
    }
}

#[rstest]
fn renders(
    #[values(
        "AWS",
        "Azure",
        "AzureStackHub",
        "GCP",
        "IBMCloud",
        "Nutanix",
        "OpenStack",
        "PowerVS",
        "VSphere"
    )]
    platform: &str,
    #[values(Topology::HighlyAvailable, Topology::Single)] topology: Topology,
) {
    let suffix = match topology {
        Topology::HighlyAvailable => "ha",
        Topology::Single => "single",
    };
    let objects = resources(&setting(platform, topology)).unwrap();
    compare(&format!("{}-{suffix}", platform.to_lowercase()), &objects);
}

#[rstest]
fn renders_bootstrap(
    #[values(
        "AWS",
        "Azure",
        "AzureStackHub",
        "GCP",
        "IBMCloud",
        "Nutanix",
        "OpenStack",
        "PowerVS",
        "VSphere"
    )]
    platform: &str,
) {
    let mut setting = setting(platform, Topology::HighlyAvailable);
    let data = [("cloud.conf".to_owned(), "[Global]".to_owned())].into();
    let content = ConfigMapContent {
        data,
        ..ConfigMapContent::default()
    };
    setting.sources.config_maps.insert("cloud-conf".to_owned(), content);
    compare(
        &format!("{}-bootstrap", platform.to_lowercase()),
        &bootstrap_resources(&setting).unwrap(),
    );
}

#[rstest]
fn renders_our_own_image(#[values("AWS", "OpenStack")] platform: &str) {
    let mut setting = setting(platform, Topology::HighlyAvailable);
    setting.images = Images::default().with_own("example.test/outrigger:1");
    compare(
        &format!("{}-own-ha", platform.to_lowercase()),
        &resources(&setting).unwrap(),
    );
}
