//! Lists: comma separated, repeatable.

use super::{Value, quote, whole};
use serde::{Deserialize, Serialize};
use std::ops::Deref;

/// A list of words, as pflag's string slice: items are separated by commas and may be quoted as in CSV; the first
/// occurrence of the flag replaces the default, further ones add; an empty value clears the list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Strings(pub Vec<String>);

/// A list of texts, as pflag's string array: one item per occurrence of the flag.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Texts(pub Vec<String>);

/// A list of whole numbers, comma separated and repeatable as [`Strings`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Numbers(pub Vec<i32>);

impl Deref for Strings {
    type Target = [String];

    fn deref(&self) -> &[String] {
        &self.0
    }
}

impl<S: Into<String>, const N: usize> From<[S; N]> for Strings {
    fn from(items: [S; N]) -> Self {
        Self(items.into_iter().map(Into::into).collect())
    }
}

impl Value for Strings {
    fn kind(&self) -> &'static str {
        "strings"
    }

    fn set(&mut self, given: &[String]) -> Result<(), String> {
        let mut items = Vec::new();
        for text in given {
            items.extend(fields(text)?);
        }
        self.0 = items;
        Ok(())
    }

    fn print(&self) -> String {
        let items: Vec<_> = self.0.iter().map(|item| field(item)).collect();
        format!("[{}]", items.join(","))
    }
}

impl Value for Texts {
    fn kind(&self) -> &'static str {
        "stringArray"
    }

    fn set(&mut self, given: &[String]) -> Result<(), String> {
        self.0 = given.to_vec();
        Ok(())
    }

    fn print(&self) -> String {
        let items: Vec<_> = self.0.iter().map(|item| field(item)).collect();
        format!("[{}]", items.join(","))
    }
}

impl Value for Numbers {
    fn kind(&self) -> &'static str {
        "int32Slice"
    }

    fn set(&mut self, given: &[String]) -> Result<(), String> {
        let items = given
            .iter()
            .flat_map(|text| text.split(','))
            .map(str::trim)
            .filter(|item| !item.is_empty());
        let numbers = items.map(|item| {
            let number = whole(item).and_then(|number| i32::try_from(number).ok());
            number.ok_or_else(|| format!("{} is not a whole number", quote(item)))
        });
        self.0 = numbers.collect::<Result<_, _>>()?;
        Ok(())
    }

    fn print(&self) -> String {
        format!("[{}]", self.0.iter().map(i32::to_string).collect::<Vec<_>>().join(","))
    }
}

/// The items of one line of CSV; none in an empty one.
fn fields(text: &str) -> Result<Vec<String>, String> {
    let mut items = Vec::new();
    let mut rest = (!text.is_empty()).then_some(text);
    while let Some(line) = rest {
        let (item, after) = match line.strip_prefix('"') {
            Some(quoted) => quoted_field(quoted)?,
            None => plain_field(line)?,
        };
        items.push(item);
        rest = after;
    }
    Ok(items)
}

fn plain_field(line: &str) -> Result<(String, Option<&str>), String> {
    let (item, after) = line
        .split_once(',')
        .map_or((line, None), |(item, after)| (item, Some(after)));
    if item.contains('"') {
        return Err(format!("a quotation mark inside the unquoted item {}", quote(item)));
    }
    Ok((item.to_owned(), after))
}

/// A quotation mark inside a quoted item is doubled.
fn quoted_field(line: &str) -> Result<(String, Option<&str>), String> {
    let mut item = String::new();
    let mut rest = line;
    loop {
        let (part, after) = rest.split_once('"').ok_or("a quotation mark is not closed")?;
        item.push_str(part);
        match after.as_bytes() {
            [] => return Ok((item, None)),
            [b',', ..] => return Ok((item, Some(&after[1..]))),
            [b'"', ..] => item.push('"'),
            _ => return Err("a comma is missing after a quoted item".to_owned()),
        }
        rest = &after[1..];
    }
}

fn field(item: &str) -> String {
    if item.contains(['"', ',', '\n', '\r']) || item.starts_with(' ') {
        format!("\"{}\"", item.replace('"', "\"\""))
    } else {
        item.to_owned()
    }
}
