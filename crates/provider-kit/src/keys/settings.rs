//! The settings in a configuration file, key by key.

use super::{Effect, Key, Kind, Section};
use gcfg::{Document, Error, GoDuration, Subsections};
use std::collections::{BTreeMap, BTreeSet};

/// The values of a file by section, subsection and key. It has no `Debug`: a value may be a password.
///
/// The methods answer `None` for a key that is not given or is of another kind.
#[derive(Default)]
pub struct Settings {
    found: BTreeMap<(&'static str, String, &'static str), Setting>,
    /// By section.
    subsections: BTreeSet<(&'static str, String)>,
}

/// A value and its position.
struct Setting {
    value: Value,
    position: String,
}

enum Value {
    Text(String),
    Boolean(bool),
    Number(i128),
    Duration(GoDuration),
    List(Vec<String>),
}

impl Settings {
    pub(super) fn read(&mut self, document: &Document, section: &Section) -> Result<(), Error> {
        let name = section.name;
        let parts = match section.subsections {
            Subsections::Any => document.subsections(name),
            Subsections::None => vec![document.section(name)],
        };
        for part in parts {
            let subsection = part.subsection().unwrap_or_default();
            if section.subsections == Subsections::Any {
                self.subsections.insert((name, subsection.to_owned()));
            }
            for key in section.keys.iter().filter(|key| key.effect == Effect::Used) {
                if let Some(value) = value(&part, key)? {
                    let position = part.position(key.name).map(|at| at.to_string());
                    let position = format!("{}:{}", document.file(), position.unwrap_or_default());
                    let at = (name, subsection.to_owned(), key.name);
                    self.found.insert(at, Setting { value, position });
                }
            }
        }
        Ok(())
    }

    /// Replaces these settings by those of another file; lists as a whole.
    pub fn overlay(&mut self, other: Self) {
        self.found.extend(other.found);
        self.subsections.extend(other.subsections);
    }

    /// Removes a key, and returns whether it was given.
    pub fn remove(&mut self, section: &'static str, key: &'static str) -> bool {
        self.found.remove(&(section, String::new(), key)).is_some()
    }

    /// The names of the subsections of a section; that of `[section]` itself is empty.
    pub fn subsections(&self, section: &str) -> impl Iterator<Item = &str> {
        let all = self.subsections.iter().filter(move |(name, _)| *name == section);
        all.map(|(_, subsection)| subsection.as_str())
    }

    /// Adds a subsection, which may have no keys.
    pub fn add(&mut self, section: &Section, subsection: &str) {
        if section.subsections == Subsections::Any {
            self.subsections.insert((section.name, subsection.to_owned()));
        }
    }

    /// Sets a key that was written in another notation than git-config. A list may have several texts, anything else has one.
    ///
    /// # Errors
    /// One sentence, if the text is not of the key's kind.
    pub fn set(
        &mut self,
        section: &Section,
        subsection: &str,
        key: &Key,
        texts: Vec<String>,
        position: String,
    ) -> Result<(), String> {
        self.add(section, subsection);
        let value = match key.kind {
            Kind::List => Value::List(texts),
            kind => {
                let text = texts.into_iter().next().unwrap_or_default();
                let value = of_text(kind, &text);
                value.ok_or_else(|| format!("{position}: {text:?} is not a {kind}"))?
            }
        };
        let at = (section.name, subsection.to_owned(), key.name);
        self.found.insert(at, Setting { value, position });
        Ok(())
    }

    /// The settings of a subsection; those of a section itself if its name is empty.
    pub fn part<'a>(&'a self, section: &'static str, subsection: &'a str) -> Part<'a> {
        Part {
            settings: self,
            section,
            subsection,
        }
    }

    /// A text that is not empty.
    pub fn text(&self, section: &'static str, key: &'static str) -> Option<&str> {
        self.given(section, "", key).filter(|text| !text.is_empty())
    }

    /// A text, also an empty one.
    pub fn given(&self, section: &'static str, subsection: &str, key: &'static str) -> Option<&str> {
        match self.value(section, subsection, key)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A boolean.
    pub fn boolean(&self, section: &'static str, key: &'static str) -> Option<bool> {
        match self.value(section, "", key)? {
            Value::Boolean(value) => Some(*value),
            _ => None,
        }
    }

    /// A number; one that does not fit counts as the nearest one that does.
    pub fn number(&self, section: &'static str, key: &'static str) -> Option<u32> {
        match self.value(section, "", key)? {
            Value::Number(value) => Some(u32::try_from((*value).max(0)).unwrap_or(u32::MAX)),
            _ => None,
        }
    }

    /// A duration, which may be negative.
    pub fn duration(&self, section: &'static str, key: &'static str) -> Option<GoDuration> {
        match self.value(section, "", key)? {
            Value::Duration(value) => Some(*value),
            _ => None,
        }
    }

    /// A list.
    pub fn list(&self, section: &'static str, key: &'static str) -> Option<&[String]> {
        match self.value(section, "", key)? {
            Value::List(values) => Some(values),
            _ => None,
        }
    }

    /// The position of a key, as messages start: `cloud.conf:3:1`.
    pub fn position(&self, section: &'static str, key: &'static str) -> &str {
        let setting = self.found.get(&(section, String::new(), key));
        setting.map_or("cloud.conf", |setting| &setting.position)
    }

    fn value(&self, section: &'static str, subsection: &str, key: &'static str) -> Option<&Value> {
        let setting = self.found.get(&(section, subsection.to_owned(), key));
        setting.map(|setting| &setting.value)
    }
}

/// The settings of one section or subsection. The methods are as those of [`Settings`].
#[derive(Clone, Copy)]
pub struct Part<'a> {
    settings: &'a Settings,
    section: &'static str,
    subsection: &'a str,
}

impl<'a> Part<'a> {
    /// As [`Settings::text`].
    pub fn text(&self, key: &'static str) -> Option<&'a str> {
        let text = self.settings.given(self.section, self.subsection, key);
        text.filter(|text| !text.is_empty())
    }

    /// As [`Settings::boolean`].
    pub fn boolean(&self, key: &'static str) -> Option<bool> {
        match self.settings.value(self.section, self.subsection, key)? {
            Value::Boolean(value) => Some(*value),
            _ => None,
        }
    }

    /// As [`Settings::number`].
    pub fn number(&self, key: &'static str) -> Option<u32> {
        match self.settings.value(self.section, self.subsection, key)? {
            Value::Number(value) => Some(u32::try_from((*value).max(0)).unwrap_or(u32::MAX)),
            _ => None,
        }
    }

    /// As [`Settings::list`].
    pub fn list(&self, key: &'static str) -> Option<&'a [String]> {
        match self.settings.value(self.section, self.subsection, key)? {
            Value::List(values) => Some(values),
            _ => None,
        }
    }

    /// As [`Settings::position`].
    pub fn position(&self, key: &'static str) -> &'a str {
        let at = (self.section, self.subsection.to_owned(), key);
        let setting = self.settings.found.get(&at);
        setting.map_or("the configuration", |setting| &setting.position)
    }
}

/// A text as a value; `None` if it is not of this kind.
fn of_text(kind: Kind, text: &str) -> Option<Value> {
    let trimmed = text.trim();
    Some(match kind {
        Kind::Text | Kind::LenientText | Kind::Secret | Kind::Path | Kind::Word => Value::Text(text.to_owned()),
        Kind::List => Value::List(vec![text.to_owned()]),
        Kind::Boolean => Value::Boolean(match trimmed.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => true,
            "false" | "no" | "off" | "0" => false,
            _ => return None,
        }),
        Kind::Int => Value::Number(trimmed.parse::<i64>().ok()?.into()),
        Kind::Uint => Value::Number(trimmed.parse::<u64>().ok()?.into()),
        Kind::Duration => Value::Duration(trimmed.parse().ok()?),
    })
}

fn value(section: &gcfg::Section<'_>, key: &Key) -> Result<Option<Value>, Error> {
    let name = key.name;
    let text = |text: &str| Value::Text(text.to_owned());
    Ok(match key.kind {
        Kind::LenientText => section.text(name).unwrap_or_default().map(text),
        Kind::Text | Kind::Secret | Kind::Path => section.text(name)?.map(text),
        Kind::Word => section.word(name)?.map(text),
        Kind::Boolean => section.boolean(name)?.map(Value::Boolean),
        Kind::Int => section.int(name)?.map(|number| Value::Number(number.into())),
        Kind::Uint => section.uint(name)?.map(|number| Value::Number(number.into())),
        Kind::Duration => section.duration(name)?.map(Value::Duration),
        Kind::List => section
            .list(name)
            .map(|items| Value::List(items.into_iter().map(str::to_owned).collect())),
    })
}
