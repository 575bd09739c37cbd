//! The Nodes that one manager manages: several managers can share a cluster.

use super::provider_id;
use k8s_openapi::api::core::v1::Node;
use kube::core::{Expression, Selector, SelectorExt};
use std::collections::{BTreeMap, BTreeSet};

/// The Nodes that a manager manages; by default all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// Only Nodes with these labels.
    pub selector: Selector,
    /// Only Nodes whose provider ID has one of these schemes (the part before `://`), or that have no provider ID yet.
    /// Empty means any.
    pub schemes: BTreeSet<String>,
}

/// Why a label selector cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{term:?} is not a requirement such as key=value, key!=value, key in (a,b), key or !key")]
pub struct BadSelector {
    term: String,
}

/// The manager that manages a Node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ownership {
    /// This one.
    Ours,
    /// This one or another: the Node has no provider ID yet, and provider IDs distinguish the managers' Nodes.
    Unknown,
    /// Another one.
    Others,
}

impl Scope {
    /// The manager that manages this Node.
    #[must_use]
    pub fn ownership(&self, node: &Node) -> Ownership {
        static NONE: BTreeMap<String, String> = BTreeMap::new();
        if !self.selector.matches(node.metadata.labels.as_ref().unwrap_or(&NONE)) {
            return Ownership::Others;
        }
        match provider_id(node) {
            _ if self.schemes.is_empty() => Ownership::Ours,
            None => Ownership::Unknown,
            Some(id) if id.scheme().is_some_and(|scheme| self.schemes.contains(scheme)) => Ownership::Ours,
            Some(_) => Ownership::Others,
        }
    }

    /// Whether this manager manages the Node, or may.
    #[must_use]
    pub fn contains(&self, node: &Node) -> bool {
        self.ownership(node) != Ownership::Others
    }
}

/// Parses a label selector as `kubectl -l` does: `a=b,c!=d,e in (f,g),h notin (i),j,!k`.
///
/// # Errors
/// If a term cannot be parsed.
pub fn parse_selector(text: &str) -> Result<Selector, BadSelector> {
    if text.trim().is_empty() {
        return Ok(Selector::default());
    }
    let bad = |term: &str| BadSelector { term: term.to_owned() };
    let terms = split_terms(text).into_iter().map(str::trim);
    terms.map(|term| parse_term(term).ok_or_else(|| bad(term))).collect()
}

/// Splits at commas that are not inside parentheses.
fn split_terms(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    text.split(move |c| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
    .collect()
}

fn parse_term(term: &str) -> Option<Expression> {
    if let Some((key, values)) = term.split_once(" notin ") {
        return Some(Expression::NotIn(word(key)?, set(values)?));
    }
    if let Some((key, values)) = term.split_once(" in ") {
        return Some(Expression::In(word(key)?, set(values)?));
    }
    if let Some((key, value)) = term.split_once("!=") {
        return Some(Expression::NotEqual(word(key)?, word_or_empty(value)?));
    }
    if let Some((key, value)) = term.split_once("==").or_else(|| term.split_once('=')) {
        return Some(Expression::Equal(word(key)?, word_or_empty(value)?));
    }
    match term.strip_prefix('!') {
        Some(key) => word(key).map(Expression::DoesNotExist),
        None => word(term).map(Expression::Exists),
    }
}

fn set(text: &str) -> Option<BTreeSet<String>> {
    let inner = text.trim().strip_prefix('(')?.strip_suffix(')')?;
    inner.split(',').map(word_or_empty).collect()
}

fn word_or_empty(text: &str) -> Option<String> {
    if text.trim().is_empty() {
        Some(String::new())
    } else {
        word(text)
    }
}

fn word(text: &str) -> Option<String> {
    let text = text.trim();
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    (!text.is_empty() && text.chars().all(allowed)).then(|| text.to_owned())
}

#[cfg(test)]
mod tests;
