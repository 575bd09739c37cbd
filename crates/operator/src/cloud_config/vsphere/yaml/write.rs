//! From a document to a text, in block notation.

use super::{Comments, Document, Map, Node, Scalar, Style};
use std::fmt::{self, Write};

/// Plain texts that are something else to some reader.
const WORDS: [&str; 11] = [
    "y", "n", "yes", "no", "on", "off", "true", "false", "null", "inf", "nan",
];

/// Whether a text can do without quotes: one that nobody takes for a number, truth, null or date.
pub(super) fn is_safe(text: &str) -> bool {
    let usual =
        text.chars().all(is_usual) && !text.starts_with(' ') && !text.ends_with([':', ' ']) && !text.contains(": ");
    usual
        && match text.chars().next() {
            Some('0'..='9') => text.contains('/') || is_dotted(text),
            first => {
                first.is_some_and(|c| c.is_ascii_alphabetic() || c == '/')
                    && !WORDS.contains(&text.to_ascii_lowercase().as_str())
            }
        }
}

fn is_usual(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '@' | ',' | ':' | ' ')
}

/// An address is no number.
fn is_dotted(text: &str) -> bool {
    text.split('.').count() > 2 && text.split('.').all(|part| part.parse::<u8>().is_ok())
}

/// How a text of ours is written.
pub(super) fn style(text: &str) -> Style {
    if is_safe(text) { Style::Plain } else { Style::Quoted }
}

impl fmt::Display for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        if self.root.is_empty() {
            text.push_str("{}\n");
        }
        write_map(&mut text, &self.root, 0, Lead::Indented)?;
        for comment in &self.tail {
            writeln!(text, "#{comment}")?;
        }
        f.write_str(&text)
    }
}

/// What stands before the first entry of a map.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lead {
    /// A line that is indented, as every other entry's.
    Indented,
    /// The `- ` of a list.
    Dash,
}

fn write_map(out: &mut String, map: &Map, indent: usize, lead: Lead) -> fmt::Result {
    for (at, entry) in map.entries.iter().enumerate() {
        // a comment cannot come between a dash and its first key
        if at > 0 || lead == Lead::Indented {
            write_above(out, &entry.comments, indent)?;
            pad(out, indent);
        }
        write_scalar(out, &entry.key)?;
        out.push(':');
        write_value(out, &entry.value, &entry.comments, indent)?;
    }
    Ok(())
}

/// The rest of the line after `key:`, and the lines below it.
fn write_value(out: &mut String, value: &Node, comments: &Comments, indent: usize) -> fmt::Result {
    match value {
        Node::Scalar(scalar) => {
            if !scalar.text.is_empty() || scalar.style == Style::Quoted || scalar.tag.is_some() {
                out.push(' ');
                write_scalar(out, scalar)?;
            }
            end_line(out, comments)
        }
        Node::List(items) if items.is_empty() => {
            out.push_str(" []");
            end_line(out, comments)
        }
        Node::Map(map) if map.is_empty() => {
            out.push_str(" {}");
            end_line(out, comments)
        }
        Node::List(_) => {
            end_line(out, comments)?;
            write_list(out, value, indent)
        }
        Node::Map(map) => {
            end_line(out, comments)?;
            write_map(out, map, indent + 2, Lead::Indented)
        }
    }
}

fn write_list(out: &mut String, list: &Node, indent: usize) -> fmt::Result {
    let Node::List(items) = list else { return Ok(()) };
    for item in items {
        write_above(out, &item.comments, indent)?;
        if let Node::Map(map) = &item.value
            && let Some(first) = map.entries.first()
        {
            write_above(out, &first.comments, indent)?;
        }
        pad(out, indent);
        out.push('-');
        match &item.value {
            Node::Map(map) if !map.is_empty() => {
                out.push(' ');
                write_map(out, map, indent + 2, Lead::Dash)?;
            }
            value => write_value(out, value, &item.comments, indent + 2)?,
        }
    }
    Ok(())
}

fn write_above(out: &mut String, comments: &Comments, indent: usize) -> fmt::Result {
    for comment in &comments.above {
        pad(out, indent);
        writeln!(out, "#{comment}")?;
    }
    Ok(())
}

fn end_line(out: &mut String, comments: &Comments) -> fmt::Result {
    match &comments.beside {
        Some(comment) => writeln!(out, " #{comment}"),
        None => writeln!(out),
    }
}

fn pad(out: &mut String, indent: usize) {
    out.extend(std::iter::repeat_n(' ', indent));
}

fn write_scalar(out: &mut String, scalar: &Scalar) -> fmt::Result {
    if let Some(tag) = &scalar.tag {
        write!(out, "{tag} ")?;
    }
    let text = &scalar.text;
    if scalar.style == Style::Plain && !text.contains('\n') {
        out.push_str(text);
        Ok(())
    } else if text.chars().all(|c| is_usual(c) && c != ' ') {
        write!(out, "\"{text}\"")
    } else if text
        .chars()
        .all(|c| c == ' ' || c.is_ascii_graphic() || c.is_alphanumeric())
    {
        write!(out, "'{}'", text.replace('\'', "''"))
    } else {
        write_escaped(out, text)
    }
}

fn write_escaped(out: &mut String, text: &str) -> fmt::Result {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            ' ' => out.push(' '),
            c if c.is_ascii_graphic() || c.is_alphanumeric() => out.push(c),
            c if u32::from(c) <= 0xff => write!(out, "\\x{:02x}", u32::from(c))?,
            c if u32::from(c) <= 0xffff => write!(out, "\\u{:04x}", u32::from(c))?,
            c => write!(out, "\\U{:08x}", u32::from(c))?,
        }
    }
    out.push('"');
    Ok(())
}
