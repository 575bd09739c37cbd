//! The notation of the in-tree provider.

use super::{
    Tree,
    keys::{Key, Kind, LABELS, NODES, SERVER},
};
use crate::cloud_config::{Invalid, KEY};
use gcfg::{Document, Error, Section};
use serde_json::{Value, json};

/// Converts it to the notation of the operand. Sections that only the in-tree provider reads, such as `[Workspace]`, are dropped.
pub(super) fn convert(text: &str) -> Result<Tree, Invalid> {
    let document = Document::parse_file(KEY, text.as_bytes())?;
    Ok(tree(&document)?)
}

fn tree(document: &Document) -> Result<Tree, Error> {
    let sections = [
        ("global", section(&document.section("Global"), &SERVER)?),
        ("vcenter", vcenters(document)?),
        ("labels", section(&document.section("Labels"), &LABELS)?),
        ("nodes", section(&document.section("Nodes"), &NODES)?),
    ];
    let sections = sections.map(|(name, section)| (name.to_owned(), Value::Object(section)));
    Ok(sections.into_iter().collect())
}

fn vcenters(document: &Document) -> Result<Tree, Error> {
    let mut vcenters = Tree::new();
    for found in document.subsections("VirtualCenter") {
        let Some(name) = found.subsection() else {
            return Err(found.error(
                "server",
                "[VirtualCenter] has no name: write [VirtualCenter \"vcenter.example.com\"]",
            ));
        };
        let mut server = section(&found, &SERVER)?;
        if server.get("server").is_none_or(|server| server == "") {
            server.insert("server".to_owned(), json!(name));
        }
        vcenters.insert(name.to_owned(), Value::Object(server));
    }
    Ok(vcenters)
}

fn section(section: &Section<'_>, keys: &[Key]) -> Result<Tree, Error> {
    let mut tree = Tree::new();
    for key in keys {
        let value = match key.kind {
            Kind::Text => json!(section.text(key.ini)?),
            Kind::Truth => json!(section.boolean(key.ini)?),
            Kind::Number => json!(number(section, key.ini)?),
            Kind::Texts => json!(section.text(key.ini)?.map(list)),
        };
        if !value.is_null() {
            tree.insert(key.yaml.to_owned(), value);
        }
    }
    Ok(tree)
}

fn number(section: &Section<'_>, key: &str) -> Result<Option<u32>, Error> {
    let Some(text) = section.text(key)?.map(str::trim).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let wrong = |_| section.error(key, format!("{key} is not a whole number: write one, such as 443"));
    text.parse().map(Some).map_err(wrong)
}

fn list(text: &str) -> Vec<&str> {
    text.split(',').map(str::trim).filter(|item| !item.is_empty()).collect()
}
