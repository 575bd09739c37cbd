//! Quoting of values and names.

use crate::{
    error::EditError,
    letters::{is_identifier, is_letter},
};

/// Whether a value gets quotes even if it needs none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quotes {
    AsNeeded,
    Always,
}

/// A value as written.
pub(crate) fn value(key: &str, value: &str, quotes: Quotes) -> Result<String, EditError> {
    if value.contains(['\r', '\0']) {
        return Err(EditError::Value { key: key.to_owned() });
    }
    Ok(if quotes == Quotes::AsNeeded && is_plain(value) {
        value.to_owned()
    } else {
        quoted(value)
    })
}

/// A section header without its line end.
pub(crate) fn header(section: &str, subsection: Option<&str>) -> Result<String, EditError> {
    name(section)?;
    match subsection {
        None => Ok(format!("[{section}]")),
        Some(subsection) if subsection.is_empty() || subsection.contains(['\n', '\0']) => Err(EditError::Subsection),
        Some(subsection) => {
            let escaped = subsection.replace('\\', "\\\\").replace('"', "\\\"");
            Ok(format!("[{section} \"{escaped}\"]"))
        }
    }
}

/// Checks that a name can be parsed again.
pub(crate) fn name(name: &str) -> Result<(), EditError> {
    let valid = name.starts_with(is_letter) && name.chars().all(is_identifier);
    valid
        .then_some(())
        .ok_or_else(|| EditError::Name { name: name.to_owned() })
}

fn is_plain(value: &str) -> bool {
    let special = |c: char| matches!(c, '"' | '\\' | ';' | '#') || c.is_control();
    let blank = |c: char| c.is_whitespace();
    !value.is_empty() && !value.contains(special) && !value.starts_with(blank) && !value.ends_with(blank)
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}
