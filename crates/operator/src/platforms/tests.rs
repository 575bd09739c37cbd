//! Properties of all platforms in [`invariants`]; the complete objects of each in [`golden`].

pub(super) mod acme;
mod api_server;
mod golden;
mod invariants;
mod own_image;
mod sets;
mod walk_through;

use super::*;
use operator_api::infrastructure::platform_status::Azure;
use serde_json::Value;

/// Every platform that has operands, and the Deployment of each.
const PLATFORMS: [(&str, &str); 9] = [
    ("AWS", "aws-cloud-controller-manager"),
    ("Azure", "azure-cloud-controller-manager"),
    ("AzureStackHub", "azure-cloud-controller-manager"),
    ("GCP", "gcp-cloud-controller-manager"),
    ("IBMCloud", "ibm-cloud-controller-manager"),
    ("Nutanix", "nutanix-cloud-controller-manager"),
    ("OpenStack", "openstack-cloud-controller-manager"),
    ("PowerVS", "powervs-cloud-controller-manager"),
    ("VSphere", "vsphere-cloud-controller-manager"),
];
const NAMESPACE: &str = "openshift-cloud-controller-manager";

/// Every key of images.json; an image has the name of its key.
fn images() -> Images {
    let keys = ALL.iter().flat_map(|platform| platform.images);
    let by_key: Value = keys
        .map(|(_, key)| ((*key).to_owned(), format!("example.test/{key}:1")))
        .collect();
    Images::parse(&by_key.to_string()).unwrap()
}

fn status(platform: &str) -> PlatformStatus {
    let hub = Azure {
        cloud_name: "AzureStackCloud".to_owned(),
        ..Azure::default()
    };
    let (type_, azure) = match platform {
        "AzureStackHub" => ("Azure", Some(hub)),
        platform => (platform, None),
    };
    PlatformStatus {
        type_: type_.to_owned(),
        azure,
        ..PlatformStatus::default()
    }
}

fn setting(platform: &str, topology: Topology) -> Setting {
    Setting {
        namespace: NAMESPACE.to_owned(),
        infrastructure_name: "lab-x7k2p".to_owned(),
        topology,
        platform: status(platform),
        images: images(),
        gates: vec!["VSphereMixedNodeEnv".to_owned()],
        ..Setting::default()
    }
}

/// The platform's objects, in order, as `Kind name` or `Kind namespace/name`.
fn names(objects: &[Object]) -> Vec<String> {
    objects.iter().map(|object| object.key().to_string()).collect()
}

fn of_kind<'a>(objects: &'a [Object], kind: &str) -> Vec<&'a Value> {
    let objects = objects.iter().filter(|object| object.key().kind == kind);
    objects.map(Object::value).collect()
}

fn deployment(setting: &Setting) -> Value {
    let objects = resources(setting).unwrap();
    of_kind(&objects, "Deployment")[0].clone()
}

fn at<'a>(object: &'a Value, pointer: &str) -> &'a Value {
    object
        .pointer(pointer)
        .unwrap_or_else(|| panic!("nothing at {pointer} of {object:#}"))
}
