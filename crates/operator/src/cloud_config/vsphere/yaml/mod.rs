//! YAML that is changed in a few places and otherwise means what it meant: unknown keys, exact scalars, comments.
//!
//! A generic value of a YAML library would not do: it makes numbers and truths of scalars, and what a password like
//! `0777` or a flag like `yes` was cannot be told afterwards.

mod read;
mod write;

pub(crate) use read::{Refusal, read};

/// A value.
#[derive(Clone)]
pub(crate) enum Node {
    /// A text, number, truth or null.
    Scalar(Scalar),
    /// Values.
    List(Vec<Item>),
    /// Values by key.
    Map(Map),
}

/// A scalar as written.
#[derive(Clone)]
pub(crate) struct Scalar {
    /// Its text, without quotes and escapes.
    pub(crate) text: String,
    /// Whether its text says what it is.
    pub(crate) style: Style,
    /// `!!str` and the like.
    tag: Option<String>,
}

/// Whether a scalar's text says what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// It does: `true` is a truth, `1` a number.
    Plain,
    /// It does not: it is a text.
    Quoted,
}

/// A value in a list.
#[derive(Clone)]
pub(crate) struct Item {
    comments: Comments,
    pub(crate) value: Node,
}

/// Values by key, in order.
#[derive(Clone, Default)]
pub(crate) struct Map {
    entries: Vec<Entry>,
}

/// A key and its value.
#[derive(Clone)]
pub(crate) struct Entry {
    comments: Comments,
    key: Scalar,
    /// Of the key; 0 for one that was not read.
    line: usize,
    value: Node,
}

/// The comments of an entry or item.
#[derive(Clone, Default)]
struct Comments {
    above: Vec<String>,
    beside: Option<String>,
}

/// A document.
#[derive(Clone)]
pub(crate) struct Document {
    /// What it says.
    pub(crate) root: Map,
    /// Comments after everything else.
    tail: Vec<String>,
}

impl Document {
    /// One that says this.
    pub(crate) fn of(root: Map) -> Self {
        Self { root, tail: Vec::new() }
    }
}

impl Node {
    /// A text.
    pub(crate) fn text(text: &str) -> Self {
        Self::Scalar(Scalar::of(text))
    }

    /// What its text says it is: a number, a truth.
    pub(crate) fn plain(text: &impl ToString) -> Self {
        Self::Scalar(Scalar {
            text: text.to_string(),
            style: Style::Plain,
            tag: None,
        })
    }

    /// Texts.
    pub(crate) fn texts<T: AsRef<str>>(texts: &[T]) -> Self {
        let item = |text: &T| Item {
            comments: Comments::default(),
            value: Self::text(text.as_ref()),
        };
        Self::List(texts.iter().map(item).collect())
    }

    /// Whether it says nothing.
    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Self::Scalar(scalar) if scalar.style == Style::Plain && scalar.tag.is_none()
            && matches!(scalar.text.as_str(), "" | "~" | "null" | "Null" | "NULL"))
    }

    /// Whether it says nothing, or is a list or map of nothing.
    pub(crate) fn is_nothing(&self) -> bool {
        match self {
            Self::Scalar(_) => self.is_null(),
            Self::List(items) => items.is_empty(),
            Self::Map(map) => map.is_empty(),
        }
    }

    /// Its text, if it is a scalar that says something.
    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Scalar(scalar) if !self.is_null() => Some(&scalar.text),
            _ => None,
        }
    }

    /// Whether both say the same; comments do not matter, and neither does the notation of a text.
    pub(crate) fn says(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Scalar(a), Self::Scalar(b)) => a.says(b),
            (Self::List(a), Self::List(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.value.says(&b.value))
            }
            (Self::Map(a), Self::Map(b)) => a.says(b),
            _ => false,
        }
    }
}

impl Scalar {
    /// A text.
    fn of(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            style: write::style(text),
            tag: None,
        }
    }

    /// A plain text that cannot be anything else is the same as a quoted one.
    fn says(&self, other: &Self) -> bool {
        let style = |scalar: &Self| {
            if write::is_safe(&scalar.text) {
                Style::Plain
            } else {
                scalar.style
            }
        };
        self.text == other.text && self.tag == other.tag && style(self) == style(other)
    }
}

impl Map {
    /// The entries, in order: key, line, value.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, usize, &Node)> {
        self.entries
            .iter()
            .map(|entry| (entry.key.text.as_str(), entry.line, &entry.value))
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether both say the same, in the same order.
    pub(crate) fn says(&self, other: &Self) -> bool {
        let same = |(a, b): (&Entry, &Entry)| a.key.says(&b.key) && a.value.says(&b.value);
        self.entries.len() == other.entries.len() && self.entries.iter().zip(&other.entries).all(same)
    }

    /// A key's value.
    pub(crate) fn find(&self, key: &str) -> Option<&Node> {
        self.entries
            .iter()
            .find(|entry| entry.key.text == key)
            .map(|entry| &entry.value)
    }

    /// The same, to be changed.
    pub(crate) fn find_mut(&mut self, key: &str) -> Option<&mut Node> {
        let entry = self.entries.iter_mut().find(|entry| entry.key.text == key);
        entry.map(|entry| &mut entry.value)
    }

    /// The values, to be changed.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut Node> {
        self.entries.iter_mut().map(|entry| &mut entry.value)
    }

    /// The map under a key, if that is what it is.
    pub(crate) fn find_map(&self, key: &str) -> Option<&Map> {
        match self.find(key) {
            Some(Node::Map(map)) => Some(map),
            _ => None,
        }
    }

    /// The map under a key, which becomes one if it is nothing yet.
    pub(crate) fn map(&mut self, key: &str) -> &mut Map {
        if self.find_map(key).is_none() {
            self.set(key, Node::Map(Self::default()));
        }
        let entry = self.entries.iter_mut().find(|entry| entry.key.text == key);
        match entry.map(|entry| &mut entry.value) {
            Some(Node::Map(map)) => map,
            _ => unreachable!("it has just been set"),
        }
    }

    /// Gives a key this value: where it stands, with its comments, else at the end.
    pub(crate) fn set(&mut self, key: &str, value: Node) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.key.text == key) {
            if !entry.value.says(&value) {
                entry.value = value;
            }
            return;
        }
        let key = Scalar::of(key);
        self.entries.push(Entry {
            comments: Comments::default(),
            key,
            line: 0,
            value,
        });
    }

    /// Gives a key this text, or takes it away if there is none.
    pub(crate) fn set_text(&mut self, key: &str, text: &str) {
        if text.is_empty() {
            self.remove(key);
        } else {
            self.set(key, Node::text(text));
        }
    }

    /// Takes a key away, with its comments.
    pub(crate) fn remove(&mut self, key: &str) {
        self.entries.retain(|entry| entry.key.text != key);
    }

    /// Gives an entry another key, unless it has that.
    pub(crate) fn rename(&mut self, from: &str, to: &str) {
        if let Some(entry) = self
            .entries
            .iter_mut()
            .find(|entry| entry.key.text == from && from != to)
        {
            entry.key = Scalar::of(to);
        }
    }

    /// Brings the entries into the order of their keys.
    pub(crate) fn sort(&mut self) {
        self.entries.sort_by(|a, b| a.key.text.cmp(&b.key.text));
    }

    /// Brings the entries under these keys to the front, in this order.
    pub(crate) fn arrange(&mut self, keys: &[&str]) {
        let place = |entry: &Entry| keys.iter().position(|key| *key == entry.key.text);
        self.entries.sort_by_key(|entry| place(entry).unwrap_or(keys.len()));
    }

    /// Keeps only the entries under these keys, in this order.
    pub(crate) fn keep(&mut self, keys: &[&str]) {
        let place = |entry: &Entry| keys.iter().position(|key| *key == entry.key.text);
        self.entries.retain(|entry| place(entry).is_some());
        self.entries.sort_by_key(place);
    }
}

#[cfg(test)]
mod tests;
