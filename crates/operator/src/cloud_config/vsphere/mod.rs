//! The configuration of vSphere: YAML, or the INI of the in-tree provider.

mod cluster;
mod ini;
mod keys;
mod yaml;

pub(crate) use cluster::Cluster;

use super::KEY;
use yaml::{Document, Refusal};

/// Brings a configuration into the operand's notation, with what the cluster says about itself.
///
/// A file that says all of it already comes back byte for byte.
pub(crate) fn transform(text: &str, cluster: Option<&Cluster<'_>>) -> Result<String, String> {
    let (mut document, written) = read(text)?;
    let before = document.root.clone();
    if let Some(cluster) = cluster {
        cluster.apply(&mut document.root)?;
    }
    match written {
        Notation::Yaml if before.says(&document.root) => Ok(text.to_owned()),
        Notation::Yaml | Notation::Ini => Ok(document.to_string()),
    }
}

/// How a file is written.
enum Notation {
    Yaml,
    Ini,
}

fn read(text: &str) -> Result<(Document, Notation), String> {
    if text.trim().is_empty() {
        return Err(format!("{KEY} is empty: write the vCenters into it"));
    }
    let ini = || Ok((Document::of(ini::convert(text)?), Notation::Ini));
    match yaml::read(text) {
        Ok(document) => {
            keys::check(&document.root).map_err(|problem| format!("{KEY}:{problem}"))?;
            Ok((document, Notation::Yaml))
        }
        Err(_) if looks_like_ini(text) => ini(),
        Err(Refusal::NotAMap) => Err(format!(
            "{KEY} is not a map: write global: and vcenter: with keys below them"
        )),
        Err(Refusal::Wrong(problem)) => Err(format!("{KEY}:{problem}")),
    }
}

/// Whether the first line that says something is the header of a section.
fn looks_like_ini(text: &str) -> bool {
    let lines = text.trim_start_matches('\u{feff}').lines().map(str::trim);
    let mut said = lines.filter(|line| !line.is_empty() && !line.starts_with([';', '#']));
    said.next().is_some_and(|line| line.starts_with('['))
}

#[cfg(test)]
mod tests;
