//! The notation of the in-tree provider.

use super::{
    keys::{Key, Kind, LABELS, NODES, SERVER},
    yaml::{Map, Node},
};
use crate::cloud_config::KEY;
use gcfg::{Document, Error, Section};

/// Turns it into the notation of the operand. Sections that are only for the in-tree provider, such as `[Workspace]`,
/// have no place there.
pub(super) fn convert(text: &str) -> Result<Map, String> {
    let document = Document::parse_file(KEY, text.as_bytes()).map_err(|error| error.to_string())?;
    tree(&document).map_err(|error| error.to_string())
}

fn tree(document: &Document) -> Result<Map, Error> {
    let mut root = Map::default();
    root.set("global", Node::Map(section(&document.section("Global"), &SERVER)?));
    let vcenters = vcenters(document)?;
    for (name, map) in [
        ("vcenter", vcenters),
        ("labels", labels(document)?),
        ("nodes", section(&document.section("Nodes"), &NODES)?),
    ] {
        if !map.is_empty() {
            root.set(name, Node::Map(map));
        }
    }
    Ok(root)
}

fn labels(document: &Document) -> Result<Map, Error> {
    section(&document.section("Labels"), &LABELS)
}

fn vcenters(document: &Document) -> Result<Map, Error> {
    let mut vcenters = Map::default();
    for found in document.subsections("VirtualCenter") {
        let Some(name) = found.subsection() else {
            return Err(found.error(
                "server",
                "[VirtualCenter] has no name: write [VirtualCenter \"vcenter.example.com\"]",
            ));
        };
        let mut server = section(&found, &SERVER)?;
        if server.find("server").is_none() {
            server.set("server", Node::text(name));
        }
        vcenters.set(name, Node::Map(server));
    }
    Ok(vcenters)
}

/// What is empty, zero or false is left out: it is what the operand assumes.
fn section(section: &Section<'_>, keys: &[Key]) -> Result<Map, Error> {
    let mut map = Map::default();
    for key in keys {
        let value = match key.kind {
            Kind::Text => section.text(key.ini)?.filter(|text| !text.is_empty()).map(Node::text),
            Kind::Truth => section
                .boolean(key.ini)?
                .filter(|on| *on)
                .map(|value| Node::plain(&value)),
            Kind::Number => number(section, key.ini)?
                .filter(|number| *number > 0)
                .map(|value| Node::plain(&value)),
            Kind::Texts => list(section.text(key.ini)?.unwrap_or_default()),
        };
        if let Some(value) = value {
            map.set(key.yaml, value);
        }
    }
    Ok(map)
}

fn number(section: &Section<'_>, key: &str) -> Result<Option<u32>, Error> {
    let Some(text) = section.text(key)?.map(str::trim).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let wrong = |_| section.error(key, format!("{key} is not a whole number: write one, such as 443"));
    text.parse().map(Some).map_err(wrong)
}

fn list(text: &str) -> Option<Node> {
    let items: Vec<&str> = text.split(',').map(str::trim).filter(|item| !item.is_empty()).collect();
    (!items.is_empty()).then(|| Node::texts(&items))
}
