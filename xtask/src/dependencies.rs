//! Which crate may depend on which.

use crate::metadata::{Dependency, Metadata, Package};
use std::collections::BTreeSet;

/// The crates of ours that each crate may depend on, besides [`PROVIDER`] and [`SIMULATOR`]. Dev-dependencies are not checked.
const ALLOWED: &[(&str, &[&str])] = &[
    ("cloud", &[]),
    ("cloud-http", &["cloud", "metrics-registry", "outbound"]),
    ("conformance", &["cloud"]),
    ("fakecloud", &[]),
    ("provider-kit", &["cloud", "cloud-http", "gcfg"]),
    ("metrics-registry", &[]),
    ("outbound", &[]),
    ("runtime", &["go-text", "metrics-registry", "outbound"]),
    ("controllers", &["cloud", "runtime"]),
    ("manager", &["cloud", "controllers", "runtime"]),
    (
        "diagnose",
        &["cloud", "controllers", "manager", "operator-api", "runtime"],
    ),
    ("testkit", &["cloud", "lab"]),
    // It is the memory cloud itself, with faults.
    ("memory-sim", &["cloud", "fakecloud", "memory"]),
    ("lab", &[]),
    ("operator", &["gcfg", "operator-api", "runtime"]),
    ("operator-api", &[]),
    ("gcfg", &["go-text"]),
    ("go-text", &[]),
    (
        "migrate",
        &["cloud", "controllers", "manager", "operator", "operator-api", "runtime"],
    ),
    (
        "outrigger",
        &["cloud", "diagnose", "manager", "migrate", "operator", "runtime"],
    ),
    (
        "outrigger-demo",
        &["aws-sim", "cloud", "lab", "memory-sim", "openstack-sim"],
    ),
    ("bench", &["aws-sim", "lab", "memory-sim", "openstack-sim"]),
    ("xtask", &[]),
];

/// The same for each crate `providers/<cloud>`, and for each simulator, `providers/<cloud>/<folder>`.
const PROVIDER: &[&str] = &["cloud", "cloud-http", "gcfg", "go-text", "provider-kit"];
const SIMULATOR: &[&str] = &["fakecloud"];
/// The crate that may depend on all providers.
const PRODUCT: &str = "outrigger";
/// Crates that are never part of the product, however they are reached; simulators are not, either.
const NOT_SHIPPED: &[&str] = &[
    "bench",
    "conformance",
    "fakecloud",
    "lab",
    "outrigger-demo",
    "testkit",
    "xtask",
];

/// Crates of other projects that only some of ours may use.
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
    let mut problems: Vec<String> = metadata.members().flat_map(of_package).collect();
    let linked = linked(metadata, PRODUCT);
    let not_shipped = |package: &&Package| NOT_SHIPPED.contains(&package.name.as_str()) || package.is_simulator();
    let linked = metadata
        .members()
        .filter(|package| linked.contains(package.name.as_str()));
    problems.extend(
        linked
            .filter(not_shipped)
            .map(|package| format!("dependencies: {PRODUCT} links {}, which is not shipped", package.name)),
    );
    problems
}

/// The names of all crates of ours that are part of a program, itself included.
fn linked<'a>(metadata: &'a Metadata, program: &'a str) -> BTreeSet<&'a str> {
    let (mut linked, mut next) = (BTreeSet::new(), vec![program]);
    while let Some(name) = next.pop() {
        if !linked.insert(name) {
            continue;
        }
        let package = metadata.members().filter(|package| package.name == name);
        let dependencies = package.flat_map(|package| &package.dependencies);
        let ours = dependencies.filter(|other| other.counts() && other.path.is_some());
        next.extend(ours.map(|other| other.name.as_str()));
    }
    linked
}

fn of_package(package: &Package) -> Vec<String> {
    let Some(allowed) = allowed(package) else {
        return vec![format!(
            "dependencies: {} is not listed: add it to xtask/src/dependencies.rs",
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
        .map(|(other, reason)| {
            format!(
                "dependencies: {} may not depend on {}{reason}",
                package.name, other.name
            )
        })
        .collect()
}

fn allowed(package: &Package) -> Option<&'static [&'static str]> {
    let listed = ALLOWED.iter().find(|(name, _)| *name == package.name);
    match listed {
        Some((_, allowed)) => Some(allowed),
        None if package.is_provider() => Some(PROVIDER),
        None if package.is_simulator() => Some(SIMULATOR),
        None => None,
    }
}

/// Whether a crate's folder is `providers/<cloud>`.
fn is_of_providers(folder: &str) -> bool {
    folder.rsplit('/').nth(1) == Some("providers")
}

/// Why a package may not use a crate of another project.
fn forbidden(package: &Package, other: &str) -> Option<&'static str> {
    let is_pure = ["cloud", "gcfg", "go-text"].contains(&package.name.as_str());
    let sees_no_cluster = is_pure
        || package.is_of_a_cloud()
        || ["cloud-http", "conformance", "metrics-registry", "outbound"].contains(&&*package.name);
    if sees_no_cluster && KUBERNETES.contains(&other) {
        Some(": code of clouds does not use Kubernetes")
    } else if is_pure && IO.contains(&other) {
        Some(": it does no IO")
    } else if package.is_provider() && HTTP_CLIENTS.contains(&other) {
        Some(": providers talk to clouds through cloud-http")
    } else {
        None
    }
}

impl Package {
    /// Whether it is below `providers/`.
    fn is_of_a_cloud(&self) -> bool {
        self.folders().any(|folder| folder == "providers")
    }

    /// Whether it is the crate of a cloud, `providers/<cloud>`.
    fn is_provider(&self) -> bool {
        self.folders().nth(2) == Some("providers")
    }

    /// Whether it is below the crate of a cloud.
    fn is_simulator(&self) -> bool {
        self.is_of_a_cloud() && !self.is_provider()
    }

    /// The parts of its manifest's path, the file's name first.
    fn folders(&self) -> impl Iterator<Item = &str> {
        self.manifest_path.rsplit('/')
    }
}

impl Dependency {
    /// Whether it is part of the crate, or of its build.
    fn counts(&self) -> bool {
        self.kind.as_deref() != Some("dev")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

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
            "openstack may not depend on kube: code of clouds does not use Kubernetes",
        ),
        (
            "providers/memory memory build k8s-openapi",
            "memory may not depend on k8s-openapi: code of clouds does not use Kubernetes",
        ),
        (
            "crates/cloud cloud normal kube",
            "cloud may not depend on kube: code of clouds does not use Kubernetes",
        ),
        (
            "providers/openstack/sim openstack-sim normal kube",
            "openstack-sim may not depend on kube: code of clouds does not use Kubernetes",
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
        ("outrigger outrigger normal ./lab", "outrigger may not depend on lab"),
        (
            "outrigger outrigger normal ./crates/fakecloud",
            "outrigger may not depend on fakecloud",
        ),
        ("outrigger outrigger normal ./demo", "outrigger may not depend on demo"),
        ("outrigger outrigger dev ./lab", ""),
        (
            "providers/memory memory normal ./crates/fakecloud",
            "memory may not depend on fakecloud",
        ),
        ("providers/memory/sim memory-sim normal ./providers/memory", ""),
        ("demo outrigger-demo normal ./lab", ""),
        (
            "crates/manager manager normal ./providers/nimbus",
            "manager may not depend on nimbus",
        ),
        (
            "crates/new new normal serde",
            "new is not listed: add it to xtask/src/dependencies.rs",
        ),
    ];

    fn package(id: &str, folder: &str, name: &str, dependencies: &[Value]) -> Value {
        json!({
            "id": id, "name": name, "version": "0.1.0", "license": null, "source": null,
            "manifest_path": format!("/workspace/{folder}/Cargo.toml"), "dependencies": dependencies,
        })
    }

    fn dependency(folder: &str, kind: &str) -> Value {
        let ours = folder.strip_prefix("./");
        json!({
            "name": folder.rsplit('/').next(),
            "path": ours.map(|folder| format!("/workspace/{folder}")),
            "kind": Some(kind).filter(|kind| *kind != "normal"),
        })
    }

    fn metadata(packages: &[Value]) -> Metadata {
        let members: Vec<_> = packages.iter().map(|package| &package["id"]).collect();
        serde_json::from_value(json!({"packages": packages, "workspace_members": members})).unwrap()
    }

    #[test]
    fn finds_dependencies_that_are_not_allowed() {
        for (case, expected) in CASES {
            let [folder, name, kind, other] = case.split(' ').collect::<Vec<_>>()[..] else {
                panic!("{case}")
            };
            let one = package("it", folder, name, &[dependency(other, kind)]);
            let found = problems(&metadata(&[one])).join("; ");
            assert_eq!(found.trim_start_matches("dependencies: "), *expected, "{case}");
        }
    }

    /// Even if [`ALLOWED`] permits every single step.
    #[test]
    fn finds_what_the_product_links_through_other_crates() {
        let found = |kind| {
            let packages = [
                package(
                    "1",
                    "outrigger",
                    "outrigger",
                    &[dependency("./crates/manager", "normal")],
                ),
                package(
                    "2",
                    "crates/manager",
                    "manager",
                    &[dependency("./crates/runtime", "normal")],
                ),
                package("3", "crates/runtime", "runtime", &[dependency("./lab", kind)]),
                package("4", "lab", "lab", &[]),
            ];
            problems(&metadata(&packages))
        };
        assert_eq!(found("dev"), Vec::<String>::new());
        assert_eq!(
            found("normal")[1..],
            ["dependencies: outrigger links lab, which is not shipped"]
        );
    }
}
