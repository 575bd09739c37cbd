//! A source as text: its comments and its order are kept.

use super::Error;
use serde_json::Value;
use std::collections::BTreeMap;

/// The tool that a source is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// `kubectl apply`.
    Manifest,
    /// kustomize, which sets namespaces.
    Base,
    /// Helm.
    Chart,
}

/// The replacement of a placeholder.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Fill {
    /// A value.
    Value(Value),
    /// A template of the chart that prints a scalar.
    Scalar(&'static str),
    /// A template of the chart that prints a map or a list.
    Block(&'static str),
}

/// Marks a line of the chart.
const HELM: &str = "#helm ";
/// Marks a line of chart and manifests.
const PACK: &str = "#pack ";
/// The line that kustomize writes.
const NAMESPACE: &str = "namespace: ${namespace}";

/// Writes a source.
///
/// # Errors
/// If a placeholder is unknown.
pub(super) fn write(source: &str, target: Target, values: &BTreeMap<&'static str, Fill>) -> Result<String, Error> {
    let mut text = String::new();
    for line in source.lines() {
        let indent = line.len() - line.trim_start().len();
        let (blank, content) = line.split_at(indent);
        let content = match content {
            content if content.starts_with(HELM) && target == Target::Chart => &content[HELM.len()..],
            content if content.starts_with(HELM) => continue,
            content if content.starts_with(PACK) => &content[PACK.len()..],
            NAMESPACE if target == Target::Base => continue,
            content => content,
        };
        text.push_str(blank);
        text.push_str(&filled(content, indent, values)?);
        text.push('\n');
    }
    Ok(text)
}

fn filled(line: &str, indent: usize, values: &BTreeMap<&'static str, Fill>) -> Result<String, Error> {
    let mut text = String::new();
    let mut rest = line;
    if line.starts_with('#') {
        return Ok(line.to_owned());
    }
    while let Some((before, after)) = rest.split_once("${") {
        let (name, after) = after
            .split_once('}')
            .ok_or_else(|| Error::Placeholder(after.to_owned()))?;
        let fill = values.get(name).ok_or_else(|| Error::Placeholder(name.to_owned()))?;
        text.push_str(before);
        match fill {
            Fill::Value(Value::String(value)) => text.push_str(value),
            Fill::Value(value) if is_flow(value) => text.push_str(&flow(value)),
            Fill::Value(value) => {
                text.truncate(text.trim_end().len());
                text.push_str(&block(value, indent)?);
            }
            Fill::Scalar(template) => text += &["{{ ", template, " }}"].concat(),
            // An empty list or map is written in braces, which may not be at the column of the key.
            Fill::Block(template) => {
                let indent = (indent + 2).to_string();
                text += &["{{- ", template, " | nindent ", &indent, " }}"].concat();
            }
        }
        rest = after;
    }
    text.push_str(rest);
    Ok(text)
}

/// Whether it is short enough for one line.
fn is_flow(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().all(Value::is_string) && flow(value).len() < 100,
        Value::Object(_) => false,
        _ => true,
    }
}

fn flow(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<_> = items
                .iter()
                .map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned))
                .collect();
            format!("[{}]", items.join(", "))
        }
        value => value.to_string(),
    }
}

/// On separate lines, below a key with this indentation.
fn block(value: &Value, indent: usize) -> Result<String, Error> {
    let yaml = serde_saphyr::to_string(value).map_err(|error| Error::Yaml(error.to_string()))?;
    let blank = " ".repeat(if value.is_array() { indent } else { indent + 2 });
    let mut text = String::new();
    for line in yaml.lines() {
        text += &["\n", &blank, line].concat();
    }
    Ok(text)
}
