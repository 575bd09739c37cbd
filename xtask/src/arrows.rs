//! Which crate may depend on which: the map of the house.

use crate::metadata::Metadata;

/// What may depend on what. What is not listed may not; dev-dependencies are free.
const ARROWS: &[(&str, &[&str])] = &[
    ("cloud", &[]),
    ("cloud-http", &["cloud"]),
    ("conformance", &["cloud"]),
    ("runtime", &[]),
    ("controllers", &["cloud", "runtime"]),
    ("manager", &["cloud", "controllers", "runtime"]),
    ("testkit", &["cloud"]),
    ("memory", &["cloud", "cloud-http"]),
    ("lab", &[]),
    ("openstack", &["cloud", "cloud-http", "gcfg"]),
    ("operator", &["gcfg", "operator-api", "runtime"]),
    ("operator-api", &[]),
    ("openstack-sim", &[]),
    ("gcfg", &[]),
    (
        "outrigger",
        &[
            "cloud",
            "lab",
            "manager",
            "memory",
            "openstack",
            "openstack-sim",
            "operator",
            "runtime",
        ],
    ),
    ("bench", &["cloud", "lab", "memory", "openstack-sim"]),
    ("xtask", &[]),
];

pub(crate) fn problems(metadata: &Metadata) -> Vec<String> {
    let mut problems = Vec::new();
    for package in metadata.members() {
        let Some((_, allowed)) = ARROWS.iter().find(|(name, _)| *name == package.name) else {
            problems.push(format!(
                "arrows: {} is not on the map: add it to xtask/src/arrows.rs",
                package.name
            ));
            continue;
        };
        let ours = package
            .dependencies
            .iter()
            .filter(|other| other.path.is_some() && other.kind.is_none());
        let forbidden = ours.filter(|other| !allowed.contains(&other.name.as_str()));
        problems.extend(forbidden.map(|other| format!("arrows: {} may not depend on {}", package.name, other.name)));
    }
    problems
}
