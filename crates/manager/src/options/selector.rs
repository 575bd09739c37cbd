//! Label selectors as kubectl takes them: `a=b,c!=d,e in (f,g),h,!i`.

use kube::core::{Expression, Selector, SelectorExt};
use runtime::flags::{Value, quote};
use std::collections::BTreeMap;

/// Which nodes are ours; empty for all.
#[derive(Debug, Clone, Default)]
pub struct NodeSelector {
    written: String,
    selector: Selector,
}

impl NodeSelector {
    /// Whether a node with these labels is ours.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.selector.matches(labels)
    }

    /// What it says.
    pub fn selector(&self) -> &Selector {
        &self.selector
    }

    /// As the user wrote it; also what a list or watch request takes.
    pub fn written(&self) -> &str {
        &self.written
    }
}

impl PartialEq for NodeSelector {
    fn eq(&self, other: &Self) -> bool {
        self.written == other.written
    }
}

impl std::str::FromStr for NodeSelector {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expressions = split(text).map(|part| expression(part).ok_or_else(|| refusal(part)));
        let selector = expressions.collect::<Result<Vec<_>, _>>()?.into_iter().collect();
        Ok(Self {
            written: text.to_owned(),
            selector,
        })
    }
}

fn refusal(part: &str) -> String {
    format!(
        "{} is not a requirement such as key=value, key!=value, key in (a,b), key or !key",
        quote(part)
    )
}

/// The requirements, split at commas that do not stand in parentheses.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    let parts = text.split(move |letter| {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        letter == ',' && depth == 0
    });
    parts.map(str::trim).filter(move |_| !text.trim().is_empty())
}

fn expression(part: &str) -> Option<Expression> {
    if let Some((key, value)) = part.split_once("!=") {
        return Some(Expression::NotEqual(word(key)?, value_of(value)?));
    }
    if let Some((key, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        return Some(Expression::Equal(word(key)?, value_of(value)?));
    }
    if let Some((key, values)) = part.split_once(" notin ") {
        return Some(Expression::NotIn(word(key)?, set(values)?));
    }
    if let Some((key, values)) = part.split_once(" in ") {
        return Some(Expression::In(word(key)?, set(values)?));
    }
    match part.strip_prefix('!') {
        Some(key) => Some(Expression::DoesNotExist(word(key)?)),
        None => Some(Expression::Exists(word(part)?)),
    }
}

fn set(values: &str) -> Option<std::collections::BTreeSet<String>> {
    let values = values.trim().strip_prefix('(')?.strip_suffix(')')?;
    values.split(',').map(value_of).collect()
}

fn word(text: &str) -> Option<String> {
    value_of(text).filter(|key| !key.is_empty())
}

/// A value may be empty.
fn value_of(text: &str) -> Option<String> {
    let text = text.trim();
    let fits = text
        .chars()
        .all(|letter| letter.is_ascii_alphanumeric() || "-_./".contains(letter));
    fits.then(|| text.to_owned())
}

impl Value for NodeSelector {
    fn kind(&self) -> &'static str {
        "string"
    }

    fn set(&mut self, given: &[String]) -> Result<(), String> {
        for text in given {
            *self = text.parse()?;
        }
        Ok(())
    }

    fn print(&self) -> String {
        self.written.clone()
    }
}
