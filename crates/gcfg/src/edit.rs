//! Edits that keep all other bytes: comments, order, spacing, line ends.

use crate::{
    document::{Document, Entry, Part, Value, fold},
    error::EditError,
    quote::{self, Quotes},
    scan,
};
use std::ops::Range;

/// The replacement of a piece of text.
struct Change {
    span: Range<usize>,
    text: String,
}

impl Document {
    /// Sets a key to one value.
    ///
    /// Its last occurrence keeps its position, spacing and comment; earlier ones are removed. A new key is added after the last one of
    /// its section, in the same layout; a new section is added at the end.
    ///
    /// # Errors
    /// If the section, the key or the value cannot be written; then the document is unchanged.
    pub fn set(&mut self, section: &str, subsection: Option<&str>, key: &str, value: &str) -> Result<(), EditError> {
        self.set_list(section, subsection, key, &[value])
    }

    /// Sets a key to these values, one per line; without values the key is removed.
    ///
    /// # Errors
    /// As [`Document::set`].
    pub fn set_list(
        &mut self,
        section: &str,
        subsection: Option<&str>,
        key: &str,
        values: &[&str],
    ) -> Result<(), EditError> {
        quote::header(section, subsection)?;
        quote::name(key)?;
        for value in values {
            quote::value(key, value, Quotes::AsNeeded)?;
        }
        let Some((first, more)) = values.split_first() else {
            self.remove(section, subsection, key);
            return Ok(());
        };
        let entries = self.entries(section, subsection, key);
        match entries.split_last() {
            Some((last, earlier)) => self.replace(key, last, earlier, first)?,
            None => self.insert(section, subsection, key, first)?,
        }
        more.iter()
            .try_for_each(|value| self.append(section, subsection, key, value))
    }

    /// Removes every occurrence of a key, with the comment on its line, and returns whether there was one.
    pub fn remove(&mut self, section: &str, subsection: Option<&str>, key: &str) -> bool {
        let entries = self.entries(section, subsection, key);
        let removed = !entries.is_empty();
        self.apply(entries.into_iter().map(|entry| removal(entry.spans.line)).collect());
        removed
    }

    /// Adds a section at the end, and returns whether it is new.
    ///
    /// # Errors
    /// If its name or its subsection's cannot be written.
    pub fn add_section(&mut self, section: &str, subsection: Option<&str>) -> Result<bool, EditError> {
        let header = quote::header(section, subsection)?;
        if self.parts.iter().any(|part| part.is(section, subsection)) {
            return Ok(false);
        }
        let end = self.line_end();
        let mut text = String::new();
        let at = self.text.len();
        if at > 0 && !self.is_line_start(at) {
            text.push_str(end);
        }
        if !self.text.trim_start_matches('\u{feff}').is_empty() {
            text.push_str(end);
        }
        text.push_str(&header);
        text.push_str(end);
        self.apply(vec![Change { span: at..at, text }]);
        Ok(true)
    }

    /// Removes every part of a section, and returns whether there was one.
    ///
    /// Comments inside are removed; those directly above the next header belong to it and are kept, and so are those above this one.
    pub fn remove_section(&mut self, section: &str, subsection: Option<&str>) -> bool {
        let spans: Vec<_> = (0..self.parts.len())
            .filter(|&at| self.parts[at].is(section, subsection))
            .map(|at| self.extent(at))
            .collect();
        let removed = !spans.is_empty();
        self.apply(spans.into_iter().map(removal).collect());
        removed
    }

    fn entries(&self, section: &str, subsection: Option<&str>, key: &str) -> Vec<Entry> {
        let folded = fold(key);
        let parts = self.parts.iter().filter(|part| part.is(section, subsection));
        parts
            .flat_map(|part| &part.entries)
            .filter(|entry| entry.folded == folded)
            .cloned()
            .collect()
    }

    fn replace(&mut self, key: &str, last: &Entry, earlier: &[Entry], value: &str) -> Result<(), EditError> {
        let span = last.spans.value.clone();
        let quotes = if self.text[span.clone()].starts_with('"') {
            Quotes::Always
        } else {
            Quotes::AsNeeded
        };
        let mut text = quote::value(key, value, quotes)?;
        if last.value == Value::Blank {
            text.insert(0, '=');
        }
        if self.text[span.end..].starts_with([';', '#']) {
            text.push(' ');
        }
        let mut changes: Vec<_> = earlier.iter().map(|entry| removal(entry.spans.line.clone())).collect();
        changes.push(Change { span, text });
        self.apply(changes);
        Ok(())
    }

    /// After the last entry of the section's last part that has any, else after the header.
    fn insert(&mut self, section: &str, subsection: Option<&str>, key: &str, value: &str) -> Result<(), EditError> {
        self.add_section(section, subsection)?;
        let parts: Vec<&Part> = self.parts.iter().filter(|part| part.is(section, subsection)).collect();
        let model = parts.iter().rev().find_map(|part| part.entries.last()).cloned();
        let header = parts.last().map_or(self.text.len(), |part| part.line.end);
        match model {
            Some(model) => self.insert_like(&model, key, value),
            None => self.insert_line(
                header,
                &format!("{key}={}", quote::value(key, value, Quotes::AsNeeded)?),
            ),
        }
        Ok(())
    }

    fn append(&mut self, section: &str, subsection: Option<&str>, key: &str, value: &str) -> Result<(), EditError> {
        quote::value(key, value, Quotes::AsNeeded)?;
        match self.entries(section, subsection, key).last().cloned() {
            Some(model) => self.insert_like(&model, key, value),
            None => self.insert(section, subsection, key, value)?,
        }
        Ok(())
    }

    /// Below the model, with its indentation and its spacing around `=`. The value has been checked.
    fn insert_like(&mut self, model: &Entry, key: &str, value: &str) {
        let spans = &model.spans;
        let indentation = &self.text[spans.line.start..spans.key.start];
        let between = &self.text[spans.key.end..spans.value.start];
        let between = if between.contains('=') && !between.contains('\r') {
            between
        } else {
            "="
        };
        let value = quote::value(key, value, Quotes::AsNeeded).unwrap_or_default();
        let line = format!("{}{key}{between}{value}", indentation.trim_start_matches('\u{feff}'));
        self.insert_line(spans.line.end, &line);
    }

    fn insert_line(&mut self, at: usize, line: &str) {
        let end = self.line_end();
        let text = if self.is_line_start(at) {
            format!("{line}{end}")
        } else {
            format!("{end}{line}")
        };
        self.apply(vec![Change { span: at..at, text }]);
    }

    /// Whether a line ends before this position; a line that a backslash continues does not.
    fn is_line_start(&self, at: usize) -> bool {
        let mut entries = self.parts.iter().flat_map(|part| &part.entries);
        let continued = entries.any(|entry| entry.spans.value.end == at && !entry.spans.value.is_empty());
        self.text[..at].ends_with('\n') && !continued
    }

    /// The line end of the first line, which is probably that of all.
    fn line_end(&self) -> &'static str {
        match self.text.split_once('\n') {
            Some((first, _)) if first.ends_with('\r') => "\r\n",
            _ => "\n",
        }
    }

    /// From the header to the comments directly above the next header.
    fn extent(&self, at: usize) -> Range<usize> {
        let part = &self.parts[at];
        let start = part.line.start;
        let body = part.entries.last().map_or(part.line.end, |entry| entry.spans.line.end);
        let Some(next) = self.parts.get(at + 1) else {
            return start..self.text.len();
        };
        let mut end = next.line.start;
        for line in self.text[body..end].split_inclusive('\n').rev() {
            if !line.trim_start().starts_with([';', '#']) {
                break;
            }
            end -= line.len();
        }
        start..end
    }

    fn apply(&mut self, mut changes: Vec<Change>) {
        changes.sort_by_key(|change| std::cmp::Reverse(change.span.start));
        let mut text = self.text.clone();
        for change in changes {
            text.replace_range(change.span, &change.text);
        }
        // Names and values were checked, so the text can be parsed; otherwise the document is unchanged.
        if let Ok(document) = scan::document(&self.file, &text) {
            *self = document;
        }
    }
}

fn removal(span: Range<usize>) -> Change {
    Change {
        span,
        text: String::new(),
    }
}
