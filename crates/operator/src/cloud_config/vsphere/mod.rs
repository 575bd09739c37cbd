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
/// Known keys are in the form in which the Go operator writes them, unknown ones and comments stay.
pub(crate) fn transform(text: &str, cluster: Option<&Cluster<'_>>) -> Result<String, String> {
    let mut document = read(text)?;
    if let Some(cluster) = cluster {
        cluster.apply(&mut document.root)?;
    }
    keys::tidy(&mut document.root);
    Ok(document.to_string())
}

fn read(text: &str) -> Result<Document, String> {
    if text.trim().is_empty() {
        return Err(format!("{KEY} is empty: write the vCenters into it"));
    }
    match yaml::read(text) {
        Ok(document) => {
            keys::check(&document.root).map_err(|problem| format!("{KEY}:{problem}"))?;
            Ok(document)
        }
        Err(_) if looks_like_ini(text) => Ok(Document::of(ini::convert(text)?)),
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
