//! Which crate may depend on which.

use crate::metadata::{Dependency, Metadata, Package};

/// What may depend on what, besides [`PROVIDER`]. What is not listed may not; dev-dependencies are free.
const ARROWS: &[(&str, &[&str])] = &[
    ("cloud", &[]),
    ("cloud-http", &["cloud", "reach", "tally"]),
    ("conformance", &["cloud"]),
    ("fakecloud", &[]),
    ("provider-kit", &["cloud", "cloud-http", "gcfg"]),
    ("reach", &[]),
    ("runtime", &["reach", "tally"]),
    ("controllers", &["cloud", "runtime"]),
    ("manager", &["cloud", "controllers", "runtime"]),
    ("tally", &[]),
    ("testkit", &["cloud", "lab"]),
    // The cloud inside the process is a simulator, too.
    ("memory", &["cloud", "cloud-http", "fakecloud"]),
    ("lab", &[]),
    ("operator", &["gcfg", "operator-api", "runtime"]),
    ("operator-api", &[]),
    ("gcfg", &[]),
    (
        "outrigger",
        &["cloud", "lab", "manager", "openstack-sim", "operator", "runtime"],
    ),
    ("bench", &["cloud", "lab", "memory", "openstack-sim"]),
    ("xtask", &[]),
];

/// What each crate `providers/<cloud>` may depend on, and each simulator below one.
const PROVIDER: &[&str] = &["cloud", "cloud-http", "gcfg", "provider-kit"];
const SIMULATOR: &[&str] = &["fakecloud"];
/// The crate that may depend on all providers.
const PRODUCT: &str = "outrigger";

/// Crates of others that not everybody may use.
const KUBERNETES: &[&str] = &[
    "kube",
    "kube-client",
    "kube-core",
    "kube-derive",
    "kube-runtime",
    "k8s-openapi",
];
const HTTP_CLIENTS: &[&str] = &["hyper", "hyper-util", "isahc", "reqwest", "ureq"];
const IO: &[&str] = &["async-std", "axum", "mio", "reqwest", "rustls", "smol", "tokio"];

pub(crate) fn problems(metadata: &Metadata) -> Vec<String> {
    metadata.members().flat_map(of_package).collect()
}

fn of_package(package: &Package) -> Vec<String> {
    let Some(allowed) = allowed(package) else {
        return vec![format!(
            "arrows: {} is not on the map: add it to xtask/src/arrows.rs",
            package.name
        )];
    };
    let reason = |other: &Dependency| match &other.path {
        Some(_) if allowed.contains(&other.name.as_str()) => None,
        Some(path) if package.name == PRODUCT && is_of_providers(path) => None,
        Some(_) => Some(""),
        None => forbidden(package, &other.name),
    };
    let counted = package.dependencies.iter().filter(|other| other.counts());
    counted
        .filter_map(|other| reason(other).map(|reason| (other, reason)))
        .map(|(other, reason)| format!("arrows: {} may not depend on {}{reason}", package.name, other.name))
        .collect()
}

fn allowed(package: &Package) -> Option<&'static [&'static str]> {
    let listed = ARROWS.iter().find(|(name, _)| *name == package.name);
    match listed {
        Some((_, allowed)) => Some(allowed),
        None if package.is_provider() => Some(PROVIDER),
        None if package.is_of_a_cloud() => Some(SIMULATOR),
        None => None,
    }
}

/// Whether a crate's folder is `providers/<cloud>`.
fn is_of_providers(folder: &str) -> bool {
    folder.rsplit('/').nth(1) == Some("providers")
}

/// Why a package may not use a crate of another project.
fn forbidden(package: &Package, other: &str) -> Option<&'static str> {
    let is_pure = ["cloud", "gcfg"].contains(&package.name.as_str());
    let sees_no_cluster =
        is_pure || package.is_of_a_cloud() || ["cloud-http", "conformance", "reach", "tally"].contains(&&*package.name);
    if sees_no_cluster && KUBERNETES.contains(&other) {
        Some(": what knows clouds never sees Kubernetes")
    } else if is_pure && IO.contains(&other) {
        Some(": it does no IO")
    } else if package.is_provider() && HTTP_CLIENTS.contains(&other) {
        Some(": providers talk to clouds through cloud-http")
    } else {
        None
    }
}

impl Package {
    /// Whether it stands under `providers/`.
    fn is_of_a_cloud(&self) -> bool {
        self.folders().any(|folder| folder == "providers")
    }

    /// Whether it is a cloud's own crate, `providers/<cloud>`.
    fn is_provider(&self) -> bool {
        self.folders().nth(2) == Some("providers")
    }

    /// The parts of its manifest's path, the file's name first.
    fn folders(&self) -> impl Iterator<Item = &str> {
        self.manifest_path.rsplit('/')
    }
}

impl Dependency {
    /// Whether it becomes part of what is built, or of how it is built.
    fn counts(&self) -> bool {
        self.kind.as_deref() != Some("dev")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// `folder name kind dependency`, where `./crates/cloud` is ours and `kube` is not, and what is found.
    const CASES: &[(&str, &str)] = &[
        ("providers/memory memory normal ./crates/cloud-http", ""),
        (
            "crates/cloud cloud normal ./crates/runtime",
            "cloud may not depend on runtime",
        ),
        (
            "crates/cloud cloud build ./crates/runtime",
            "cloud may not depend on runtime",
        ),
        ("crates/cloud cloud dev ./crates/runtime", ""),
        ("crates/controllers controllers normal kube", ""),
        (
            "providers/openstack openstack normal kube",
            "openstack may not depend on kube: what knows clouds never sees Kubernetes",
        ),
        (
            "providers/memory memory build k8s-openapi",
            "memory may not depend on k8s-openapi: what knows clouds never sees Kubernetes",
        ),
        (
            "crates/cloud cloud normal kube",
            "cloud may not depend on kube: what knows clouds never sees Kubernetes",
        ),
        (
            "providers/openstack/sim openstack-sim normal kube",
            "openstack-sim may not depend on kube: what knows clouds never sees Kubernetes",
        ),
        ("providers/openstack openstack dev kube", ""),
        (
            "crates/cloud cloud normal tokio",
            "cloud may not depend on tokio: it does no IO",
        ),
        (
            "providers/openstack openstack normal reqwest",
            "openstack may not depend on reqwest: providers talk to clouds through cloud-http",
        ),
        ("providers/openstack/sim openstack-sim normal hyper", ""),
        ("providers/nimbus nimbus normal ./crates/provider-kit", ""),
        (
            "providers/nimbus nimbus normal ./crates/runtime",
            "nimbus may not depend on runtime",
        ),
        ("providers/nimbus/sim nimbus-sim normal ./crates/fakecloud", ""),
        (
            "providers/nimbus nimbus normal ./crates/fakecloud",
            "nimbus may not depend on fakecloud",
        ),
        ("outrigger outrigger normal ./providers/nimbus", ""),
        (
            "outrigger outrigger normal ./providers/nimbus/sim",
            "outrigger may not depend on sim",
        ),
        (
            "crates/manager manager normal ./providers/nimbus",
            "manager may not depend on nimbus",
        ),
        (
            "crates/new new normal serde",
            "new is not on the map: add it to xtask/src/arrows.rs",
        ),
    ];

    fn house(case: &str) -> Metadata {
        let [folder, name, kind, dependency] = case.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{case}")
        };
        let ours = dependency.strip_prefix("./");
        let dependency = json!({
            "name": dependency.rsplit('/').next(),
            "path": ours.map(|folder| format!("/house/{folder}")),
            "kind": Some(kind).filter(|kind| *kind != "normal"),
        });
        let package = json!({
            "id": "it", "name": name, "version": "0.1.0", "license": null, "source": null,
            "manifest_path": format!("/house/{folder}/Cargo.toml"), "dependencies": [dependency],
        });
        serde_json::from_value(json!({"packages": [package], "workspace_members": ["it"]})).unwrap()
    }

    #[test]
    fn finds_what_goes_against_the_map() {
        for (case, expected) in CASES {
            let found = problems(&house(case)).join("; ");
            assert_eq!(found.trim_start_matches("arrows: "), *expected, "{case}");
        }
    }
}
