//! The configuration of vSphere: YAML, or the INI of the in-tree provider.

mod cluster;
mod ini;
mod keys;
mod read;

pub(crate) use cluster::Cluster;

use super::{Invalid, KEY, go_yaml};
use serde_json::{Map, Value};

/// Sections by name, each with its keys.
type Tree = Map<String, Value>;

/// Converts a configuration to the operand's notation, with the values of the cluster.
///
/// The layout is the Go operator's. Unknown keys are kept, comments are not.
pub(crate) fn transform(text: &str, cluster: Option<&Cluster<'_>>) -> Result<String, Invalid> {
    let mut tree = read(text)?;
    if let Some(cluster) = cluster {
        cluster.apply(&mut tree)?;
    }
    keys::tidy(&mut tree);
    Ok(go_yaml::to_string(tree))
}

fn read(text: &str) -> Result<Tree, Invalid> {
    if text.trim().is_empty() {
        return Err(Invalid(format!("{KEY} is empty: write the vCenters into it")));
    }
    if looks_like_ini(text) {
        return ini::convert(text);
    }
    read::tree(text).map_err(|problem| problem.within(KEY))
}

/// Whether the first line with content is a section header, with which a YAML map cannot start.
fn looks_like_ini(text: &str) -> bool {
    let lines = text.trim_start_matches('\u{feff}').lines().map(str::trim);
    let mut content = lines.filter(|line| !line.is_empty() && !line.starts_with([';', '#']));
    content.next().is_some_and(|line| line.starts_with('['))
}

/// The map under a key; an empty one is created if there is none.
fn section<'a>(tree: &'a mut Tree, name: &str) -> &'a mut Tree {
    let value = tree.entry(name).or_insert_with(|| Value::Object(Map::new()));
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(map) => map,
        _ => unreachable!("it is an object"),
    }
}

#[cfg(test)]
mod tests;
