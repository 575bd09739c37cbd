//! Images of the release, in the file of the operator, and in the Pods.

use crate::manifests::{all, documents, folder, images_json, one, operands};
use operator::platforms::{ALL, Provider};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

/// Images by tag.
fn references() -> BTreeMap<String, String> {
    let text = fs::read_to_string(folder().join("image-references")).unwrap();
    let stream = documents(&text, "image-references").remove(0);
    assert_eq!(stream["kind"], "ImageStream");
    let tags = stream["spec"]["tags"].as_array().unwrap().iter();
    tags.map(|tag| {
        assert_eq!(tag["from"]["kind"], "DockerImage");
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        (text(&tag["name"]), text(&tag["from"]["name"]))
    })
    .collect()
}

fn json() -> BTreeMap<String, String> {
    serde_json::from_str(&images_json()).unwrap()
}

#[test]
fn ten_tags_each_with_the_image_of_its_name() {
    let references = references();
    assert_eq!(references.len(), 10);
    for (tag, image) in references {
        assert!(image.ends_with(&format!("/origin-{tag}")), "{tag}: {image}");
    }
}

/// A release replaces the images that it knows, wherever they occur; any other image would not be replaced.
#[test]
fn the_release_knows_every_image() {
    let known: BTreeSet<_> = references().into_values().collect();
    let deployment = one("Deployment", "cluster-cloud-controller-manager-operator");
    let containers = deployment["spec"]["template"]["spec"]["containers"].as_array().unwrap();
    let own = json()["cloudControllerManagerOperator"].clone();
    assert_eq!(containers.len(), 1);
    assert_eq!(containers[0]["image"], own.as_str());
    for (key, image) in json() {
        assert!(known.contains(&image), "{key}: {image} has no tag");
    }
    let unknown = all().into_iter().find(|manifest| {
        manifest.kind() == "Deployment" && manifest.value()["spec"]["template"]["spec"]["initContainers"].is_array()
    });
    assert!(unknown.is_none());
}

/// A key that no platform reads would be an unused image.
#[test]
fn images_json_has_what_the_platforms_read() {
    let read: BTreeSet<_> = ALL
        .iter()
        .flat_map(|platform| platform.images.iter().map(|(_, key)| *key))
        .collect();
    let ours = ALL.iter().filter(|platform| platform.provider == Provider::Ours);
    let own: BTreeSet<_> = ours
        .flat_map(|platform| platform.images.iter().map(|(_, key)| *key))
        .collect();
    let mut wanted: BTreeSet<_> = read.difference(&own).copied().collect();
    wanted.insert("cloudControllerManagerOperator");
    let json = json();
    let given: BTreeSet<_> = json.keys().map(String::as_str).collect();
    assert_eq!(
        given, wanted,
        "all but those whose manager is in the operator's own image"
    );
    let spare: Vec<_> = references()
        .into_values()
        .filter(|image| !json.values().any(|given| given == image))
        .collect();
    assert_eq!(
        spare.len(),
        own.len(),
        "{spare:?}: kept for those who put the Go program back"
    );
}

/// Credentials are requested only where they are read: unused credentials are a risk. AWS has none,
/// because its manager uses the instance profile of its machine.
#[test]
fn credentials_are_requested_by_their_readers() {
    let requests = all()
        .into_iter()
        .filter(|manifest| manifest.kind() == "CredentialsRequest");
    let asked: BTreeSet<_> = requests
        .map(|request| {
            request.value()["spec"]["secretRef"]["name"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    let used = operands().into_iter().flat_map(|(platform, objects)| {
        let hashed = platform.hashed_secrets.iter().map(|name| (*name).to_owned());
        let mounted = objects
            .iter()
            .flat_map(|object| secrets(object.value()))
            .collect::<Vec<_>>();
        hashed.chain(mounted)
    });
    let used: BTreeSet<_> = used
        .filter(|name| !name.starts_with("cloud-controller-manager-serving"))
        .collect();
    assert_eq!(asked, used);
}

fn secrets(value: &Value) -> Vec<String> {
    let volumes = value["spec"]["template"]["spec"]["volumes"].as_array();
    let names = volumes
        .into_iter()
        .flatten()
        .filter_map(|volume| volume["secret"]["secretName"].as_str());
    names.map(str::to_owned).collect()
}
