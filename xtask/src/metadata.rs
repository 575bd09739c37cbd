//! What cargo knows of the workspace and of everything it depends on.

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::{collections::BTreeSet, path::Path, process::Command};

#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
    pub(crate) workspace_members: Vec<String>,
    #[serde(default)]
    resolve: Option<Resolve>,
}

#[derive(Debug, Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

/// A package in the graph.
#[derive(Debug, Deserialize)]
struct Node {
    id: String,
    deps: Vec<Edge>,
}

#[derive(Debug, Deserialize)]
struct Edge {
    pkg: String,
    dep_kinds: Vec<EdgeKind>,
}

#[derive(Debug, Deserialize)]
struct EdgeKind {
    kind: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) license: Option<String>,
    pub(crate) source: Option<String>,
    pub(crate) manifest_path: String,
    pub(crate) dependencies: Vec<Dependency>,
    #[serde(default)]
    pub(crate) targets: Vec<Target>,
}

/// A library, a program or a test of a package.
#[derive(Debug, Deserialize)]
pub(crate) struct Target {
    pub(crate) name: String,
    pub(crate) kind: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// Its name in the code, if that is another one.
    pub(crate) rename: Option<String>,
    pub(crate) path: Option<String>,
    /// `None` is an ordinary dependency; `dev` and `build` are the others.
    pub(crate) kind: Option<String>,
}

impl Metadata {
    pub(crate) fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages
            .iter()
            .filter(|package| self.workspace_members.contains(&package.id))
    }

    /// The IDs of everything that a member is built from, itself included; what only its tests use is not.
    pub(crate) fn closure(&self, member: &str) -> Result<BTreeSet<String>> {
        let resolve = self.resolve.as_ref().context("cargo metadata has no graph")?;
        let first = self.members().find(|package| package.name == member);
        let mut next = vec![&first.with_context(|| format!("no crate {member}"))?.id];
        let mut found = BTreeSet::new();
        while let Some(id) = next.pop() {
            if !found.insert(id.clone()) {
                continue;
            }
            let edges = resolve
                .nodes
                .iter()
                .filter(|node| node.id == *id)
                .flat_map(|node| &node.deps);
            let is_built = |edge: &&Edge| edge.dep_kinds.iter().any(|each| each.kind.as_deref() != Some("dev"));
            next.extend(edges.filter(is_built).map(|edge| &edge.pkg));
        }
        Ok(found)
    }

    pub(crate) fn foreign(&self) -> impl Iterator<Item = &Package> {
        self.packages
            .iter()
            .filter(|package| !self.workspace_members.contains(&package.id))
    }
}

pub(crate) fn read(root: &Path) -> Result<Metadata> {
    let output = Command::new(env!("CARGO"))
        .current_dir(root)
        // Not offline: a machine that has built everything may still lack what is for other systems.
        .args(["metadata", "--format-version=1", "--locked"])
        .output()
        .context("cannot run cargo")?;
    if !output.status.success() {
        bail!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    serde_json::from_slice(&output.stdout).context("cargo metadata answered something else")
}
