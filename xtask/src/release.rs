//! `xtask release`: everything of a release, in one folder. The same binaries and the same tree give the same files.

mod chart;
mod sbom;
#[cfg(test)]
mod tests;

use crate::{
    image::{self, Architecture},
    metadata,
};
use anyhow::{Context, Result, bail};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

/// What is released.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The version, without v; it has to be that of the workspace
    #[arg(long, default_value = env!("CARGO_PKG_VERSION"))]
    version: String,
    /// The repository that the image is pushed to; it goes into the chart and the manifests
    #[arg(long, default_value = "localhost/outrigger")]
    repository: String,
    /// The static binary for amd64
    #[arg(long)]
    amd64: Option<PathBuf>,
    /// The static binary for arm64
    #[arg(long)]
    arm64: Option<PathBuf>,
    /// The commit, for the provenance
    #[arg(long, default_value = "")]
    commit: String,
    /// The folder to write [default: target/release-VERSION]
    #[arg(long)]
    output: Option<PathBuf>,
}

/// The files of a release by name.
type Files = BTreeMap<String, Vec<u8>>;

/// The manifests, and the image that they name.
const MANIFESTS: [&str; 5] = [
    "deploy/kubernetes/crd.yaml",
    "deploy/kubernetes/operator.yaml",
    "deploy/manager/rbac.yaml",
    "deploy/manager/deployment.yaml",
    "deploy/manager/daemonset.yaml",
];
const IMAGE: &str = "localhost/outrigger:dev";

/// Writes the folder, and prints what is in it.
pub(crate) fn write(root: &Path, options: &Options) -> Result<()> {
    let output = options
        .output
        .clone()
        .unwrap_or_else(|| root.join("target").join(format!("release-{}", options.version)));
    let files = files(root, options)?;
    if output.exists() {
        fs::remove_dir_all(&output).with_context(|| format!("cannot replace {}", output.display()))?;
    }
    fs::create_dir_all(&output)?;
    println!("{}", output.display());
    for (name, content) in &files {
        let path = output.join(name);
        fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))?;
        println!("  {:>9} {name}", content.len());
    }
    Ok(())
}

fn files(root: &Path, options: &Options) -> Result<Files> {
    let version = &options.version;
    if version != env!("CARGO_PKG_VERSION") {
        bail!(
            "the workspace has the version {}, not {version}: set it in Cargo.toml, and run make docs",
            env!("CARGO_PKG_VERSION")
        );
    }
    let binaries = binaries(options)?;
    let name = format!("{}:{version}", options.repository);
    let mut files = Files::new();
    for (architecture, program) in &binaries {
        files.insert(format!("outrigger-linux-{architecture}"), program.clone());
    }
    files.insert("outrigger-image.tar".to_owned(), image::index(&binaries, &name)?);
    files.insert(
        format!("outrigger-{version}.tgz"),
        chart::package(root, version, &options.repository)?,
    );
    for path in MANIFESTS {
        let text = read(root, path)?.replace(IMAGE, &name);
        files.insert(path.trim_start_matches("deploy/").replace('/', "-"), text.into_bytes());
    }
    let metadata = metadata::read(root)?;
    let sbom = sbom::document(&metadata, &read(root, "Cargo.lock")?, version)?;
    files.insert("outrigger.cdx.json".to_owned(), pretty(&sbom));
    let notes = notes(&read(root, "CHANGELOG.md")?, version);
    files.insert("NOTES.md".to_owned(), notes.into_bytes());
    let provenance = provenance(&files, options);
    files.insert("outrigger.provenance.json".to_owned(), pretty(&provenance));
    let sums = sums(&files);
    files.insert("SHA256SUMS".to_owned(), sums.into_bytes());
    Ok(files)
}

/// The programs, each checked to be one for its architecture.
fn binaries(options: &Options) -> Result<Vec<(Architecture, Vec<u8>)>> {
    let given = [("amd64", &options.amd64), ("arm64", &options.arm64)];
    let mut binaries = Vec::new();
    for (expected, path) in given {
        let Some(path) = path else { continue };
        let program = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let architecture = image::architecture(&program).with_context(|| path.display().to_string())?;
        if architecture != expected {
            bail!("{} is for {architecture}, not for {expected}", path.display());
        }
        binaries.push((architecture, program));
    }
    if binaries.is_empty() {
        bail!("no binary: make binary, then make release AMD64=target/outrigger [ARM64=…]");
    }
    Ok(binaries)
}

fn read(root: &Path, path: &str) -> Result<String> {
    fs::read_to_string(root.join(path)).with_context(|| format!("cannot read {path}"))
}

fn pretty(value: &serde_json::Value) -> Vec<u8> {
    format!("{value:#}\n").into_bytes()
}

/// The section of the changelog: of this version, or what is not released yet.
fn notes(changelog: &str, version: &str) -> String {
    let sections = changelog.split("\n## ").skip(1);
    let is_of = |section: &&str, title: &str| section.starts_with(title) || section.starts_with(&format!("[{title}"));
    let found = sections
        .clone()
        .find(|section| is_of(section, version))
        .or_else(|| sections.clone().find(|section| is_of(section, "Unreleased")));
    let body = found
        .and_then(|section| section.split_once('\n'))
        .map_or("", |(_, body)| body);
    format!("# Outrigger {version}\n\n{}\n", body.trim())
}

/// What was made of what, in the form of SLSA. It is not signed: who builds it signs it.
fn provenance(files: &Files, options: &Options) -> serde_json::Value {
    let subjects = files
        .iter()
        .map(|(name, content)| json!({"name": name, "digest": {"sha256": hex(content)}}));
    let source = json!({"uri": "git+https://outrigger.dev/outrigger", "digest": {"gitCommit": options.commit}});
    json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": subjects.collect::<Vec<_>>(),
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "https://outrigger.dev/build/make-release/v1",
                "externalParameters": {"version": options.version, "repository": options.repository},
                "resolvedDependencies": [source],
            },
            "runDetails": {"builder": {"id": "https://outrigger.dev/builder/xtask"}},
        },
    })
}

/// As `sha256sum --check` takes it.
fn sums(files: &Files) -> String {
    files.iter().fold(String::new(), |mut text, (name, content)| {
        // Writing to a text cannot fail.
        let _ = writeln!(text, "{}  {name}", hex(content));
        text
    })
}

fn hex(content: &[u8]) -> String {
    Sha256::digest(content).iter().fold(String::new(), |mut text, byte| {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
