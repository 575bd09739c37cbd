//! What a `cloud.conf` says, key by key, as the table of keys has it.

use super::{
    error::Error,
    keys::{Effect, KeyDoc, Kind, reference},
};
use gcfg::{Document, Known, Nanos, Section, Subsections};
use std::collections::{BTreeMap, BTreeSet};

/// The section whose subsections are the classes.
pub(super) const CLASS: &str = "LoadBalancerClass";

/// Keys that only ours reads.
const OURS: [&str; 2] = ["secret-name", "secret-namespace"];

/// What was found, by section, subsection and key.
#[derive(Default)]
pub(super) struct Settings {
    found: BTreeMap<(&'static str, String, &'static str), Setting>,
    classes: BTreeSet<String>,
}

/// A value and where it stands. It has no `Debug`: it may be a password.
#[derive(Clone)]
struct Setting {
    value: Value,
    place: String,
}

#[derive(Clone)]
enum Value {
    Text(String),
    Boolean(bool),
    Number(i128),
    Duration(Nanos),
    List(Vec<String>),
}

impl Settings {
    /// Reads a file; says what in it is strange.
    pub(super) fn read(file: &str, content: &[u8], warnings: &mut Vec<String>) -> Result<Self, Error> {
        let document = Document::parse_file(file, content)?;
        let keys = reference();
        warnings.extend(document.warnings().iter().map(ToString::to_string));
        warnings.extend(document.unknown(&known(&keys)).iter().map(ToString::to_string));
        warnings.extend(keys.iter().filter_map(|doc| obsolete(&document, doc)));
        let used: Vec<KeyDoc> = keys.into_iter().filter(|doc| doc.effect == Effect::Used).collect();
        let mut settings = Self::default();
        for keys in used.chunk_by(|a, b| a.section == b.section) {
            settings.read_section(&document, keys)?;
        }
        Ok(settings)
    }

    /// The keys are those of one section.
    fn read_section(&mut self, document: &Document, keys: &[KeyDoc]) -> Result<(), Error> {
        let name = keys.first().map_or("", |doc| doc.section);
        let sections = match name {
            CLASS => document.subsections(CLASS),
            name => vec![document.section(name)],
        };
        for section in sections {
            let subsection = section.subsection().unwrap_or_default();
            if name == CLASS {
                self.classes.insert(subsection.to_owned());
            }
            for doc in keys {
                if let Some(value) = value(&section, doc)? {
                    let position = section.position(doc.key).map(|at| at.to_string());
                    let place = format!("{}:{}", document.file(), position.unwrap_or_default());
                    self.found
                        .insert((name, subsection.to_owned(), doc.key), Setting { value, place });
                }
            }
        }
        Ok(())
    }

    /// What another one says replaces what this one says; lists, too.
    pub(super) fn overlay(&mut self, other: Self) {
        self.found.extend(other.found);
        self.classes.extend(other.classes);
    }

    /// Takes a key away, and answers whether it was there.
    pub(super) fn remove(&mut self, section: &'static str, key: &'static str) -> bool {
        self.found.remove(&(section, String::new(), key)).is_some()
    }

    pub(super) fn classes(&self) -> impl Iterator<Item = &str> {
        self.classes.iter().map(String::as_str)
    }

    /// A text that is not empty.
    pub(super) fn text(&self, section: &'static str, key: &'static str) -> Option<&str> {
        self.given(section, "", key).filter(|text| !text.is_empty())
    }

    /// A text, also an empty one.
    pub(super) fn given(&self, section: &'static str, subsection: &str, key: &'static str) -> Option<&str> {
        match self.value(section, subsection, key)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn boolean(&self, section: &'static str, key: &'static str) -> Option<bool> {
        match self.value(section, "", key)? {
            Value::Boolean(value) => Some(*value),
            _ => None,
        }
    }

    /// A number; those that do not fit count as the nearest one that does.
    pub(super) fn number(&self, section: &'static str, key: &'static str) -> Option<u32> {
        match self.value(section, "", key)? {
            Value::Number(value) => Some(u32::try_from((*value).max(0)).unwrap_or(u32::MAX)),
            _ => None,
        }
    }

    pub(super) fn duration(&self, section: &'static str, key: &'static str) -> Option<Nanos> {
        match self.value(section, "", key)? {
            Value::Duration(value) => Some(*value),
            _ => None,
        }
    }

    pub(super) fn list(&self, section: &'static str, key: &'static str) -> Option<&[String]> {
        match self.value(section, "", key)? {
            Value::List(values) => Some(values),
            _ => None,
        }
    }

    /// Where a key stands, as messages start: `cloud.conf:3:1`.
    pub(super) fn place(&self, section: &'static str, key: &'static str) -> &str {
        let setting = self.found.get(&(section, String::new(), key));
        setting.map_or("cloud.conf", |setting| &setting.place)
    }

    fn value(&self, section: &'static str, subsection: &str, key: &'static str) -> Option<&Value> {
        let setting = self.found.get(&(section, subsection.to_owned(), key));
        setting.map(|setting| &setting.value)
    }
}

fn value(section: &Section<'_>, doc: &KeyDoc) -> Result<Option<Value>, Error> {
    let key = doc.key;
    let text = |text: &str| Value::Text(text.to_owned());
    Ok(match doc.kind {
        // the Go program does not know these, so that it accepts whatever is in them
        _ if OURS.contains(&key) => section.text(key).unwrap_or_default().map(text),
        Kind::Text | Kind::Secret | Kind::Path => section.text(key)?.map(text),
        Kind::Word => section.word(key)?.map(text),
        Kind::Boolean => section.boolean(key)?.map(Value::Boolean),
        Kind::Int => section.int(key)?.map(|number| Value::Number(number.into())),
        Kind::Uint => section.uint(key)?.map(|number| Value::Number(number.into())),
        Kind::Duration => section.duration(key)?.map(Value::Duration),
        Kind::List => section
            .list(key)
            .map(|items| Value::List(items.into_iter().map(str::to_owned).collect())),
    })
}

fn known(keys: &[KeyDoc]) -> Vec<Known<'static>> {
    let mut known: Vec<Known<'static>> = Vec::new();
    for doc in keys {
        match known.iter_mut().find(|known| known.section == doc.section) {
            Some(section) => section.keys.push(doc.key),
            None => known.push(Known {
                section: doc.section,
                subsections: if doc.section == CLASS {
                    Subsections::Any
                } else {
                    Subsections::None
                },
                keys: vec![doc.key],
            }),
        }
    }
    known
}

fn obsolete(document: &Document, doc: &KeyDoc) -> Option<String> {
    let position = document.section(doc.section).position(doc.key)?;
    let (file, key, meaning) = (document.file(), doc.key, doc.meaning);
    (doc.effect == Effect::Obsolete).then(|| format!("{file}:{position}: {key} has no effect: {meaning}"))
}
