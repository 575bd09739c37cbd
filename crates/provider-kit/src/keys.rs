//! A table of configuration keys, which parsing, validation and the reference page have in common.
//!
//! A cloud writes its [`Table`] as a constant. [`Table::read`] reads a file in the git-config dialect by it, and warns about keys
//! that are unknown, with the nearest name, or that have no effect. [`Table::page`] is the page of the reference.

mod settings;
#[cfg(test)]
mod tests;

pub use settings::{Part, Settings};

use gcfg::{Document, Error, Known, Subsections};
use std::fmt::{self, Write};

/// The keys of a configuration file, section by section. Keys that are not here are not read.
#[derive(Debug, Clone, Copy)]
pub struct Table(pub &'static [Section]);

/// Keys of one section. A section may have several of these in a row.
#[derive(Debug, Clone, Copy)]
pub struct Section {
    /// Its name.
    pub name: &'static str,
    /// Whether it has subsections, as in `[Class "name"]`.
    pub subsections: Subsections,
    /// Its keys.
    pub keys: &'static [Key],
}

/// A key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What its value is.
    pub kind: Kind,
    /// Its value if it is not given, as it would be written; empty: none.
    pub default: &'static str,
    /// What it is for.
    pub meaning: &'static str,
    /// Whether it has an effect.
    pub effect: Effect,
}

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Any text.
    Text,
    /// A text; a value that is none counts as not given.
    LenientText,
    /// A text that must not be shown.
    Secret,
    /// The path of a file.
    Path,
    /// `true` or `false`.
    Boolean,
    /// A whole number.
    Int,
    /// A whole number without a sign.
    Uint,
    /// A duration with its unit.
    Duration,
    /// A single word.
    Word,
    /// A text; the key may be repeated.
    List,
}

/// Whether a key has an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It has.
    Used,
    /// It has none, or no longer; the user is advised to remove it.
    Obsolete,
    /// It is for another program that reads the same file.
    Foreign,
}

impl Section {
    /// A section without subsections.
    pub const fn new(name: &'static str, keys: &'static [Key]) -> Self {
        Self {
            name,
            subsections: Subsections::None,
            keys,
        }
    }

    /// The same with subsections of any name.
    #[must_use]
    pub const fn with_subsections(self) -> Self {
        Self {
            subsections: Subsections::Any,
            ..self
        }
    }
}

impl Key {
    /// A key that has an effect.
    pub const fn new(name: &'static str, kind: Kind, default: &'static str, meaning: &'static str) -> Self {
        Self {
            name,
            kind,
            default,
            meaning,
            effect: Effect::Used,
        }
    }

    /// The same without an effect; the meaning says why.
    #[must_use]
    pub const fn obsolete(self) -> Self {
        Self {
            effect: Effect::Obsolete,
            ..self
        }
    }

    /// The same for another program.
    #[must_use]
    pub const fn foreign(self) -> Self {
        Self {
            effect: Effect::Foreign,
            ..self
        }
    }
}

impl Table {
    /// Every key with the name of its section.
    pub fn keys(&self) -> impl Iterator<Item = (&'static str, &'static Key)> + use<> {
        let sections = self.0.iter();
        sections.flat_map(|section| section.keys.iter().map(|key| (section.name, key)))
    }

    /// Reads a file in the git-config dialect, and warns about what the user should correct.
    ///
    /// # Errors
    /// If it cannot be read, or the value of a key is not of its kind; with the position.
    pub fn read(&self, file: &str, content: &[u8], warnings: &mut Vec<String>) -> Result<Settings, Error> {
        let document = Document::parse_file(file, content)?;
        warnings.extend(document.warnings().iter().map(ToString::to_string));
        warnings.extend(document.unknown(&self.known()).iter().map(ToString::to_string));
        warnings.extend(
            self.keys()
                .filter_map(|(section, key)| obsolete(&document, section, key)),
        );
        let mut settings = Settings::default();
        for section in self.0 {
            settings.read(&document, section)?;
        }
        Ok(settings)
    }

    /// The page of the reference, in Markdown.
    pub fn page(&self, title: &str) -> String {
        let mut page = format!("# {title}\n");
        let mut current = "";
        for (section, key) in self.keys() {
            if section != current {
                current = section;
                let columns = "| key | type | default | meaning |\n|---|---|---|---|\n";
                let _ = write!(page, "\n## [{section}]\n\n{columns}");
            }
            let _ = writeln!(page, "{}", row(key));
        }
        page
    }

    fn known(&self) -> Vec<Known<'static>> {
        let mut known: Vec<Known<'static>> = Vec::new();
        for section in self.0 {
            let keys = section.keys.iter().map(|key| key.name);
            match known.iter_mut().find(|known| known.section == section.name) {
                Some(known) => known.keys.extend(keys),
                None => known.push(Known {
                    section: section.name,
                    subsections: section.subsections,
                    keys: keys.collect(),
                }),
            }
        }
        known
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text | Self::LenientText => "text",
            Self::Secret => "secret",
            Self::Path => "path",
            Self::Boolean => "boolean",
            Self::Int | Self::Uint => "number",
            Self::Duration => "duration",
            Self::Word => "word",
            Self::List => "text, repeatable",
        })
    }
}

pub(crate) fn row(key: &Key) -> String {
    let default = match key.default {
        "" => String::new(),
        default => format!("`{default}`"),
    };
    let effect = match key.effect {
        Effect::Used => "",
        Effect::Obsolete => ". No effect any more.",
        Effect::Foreign => ". For another program that reads this file.",
    };
    let meaning = key.meaning.replace('|', "\\|");
    format!("| `{}` | {} | {default} | {meaning}{effect} |", key.name, key.kind)
}

fn obsolete(document: &Document, section: &str, key: &Key) -> Option<String> {
    let position = document.section(section).position(key.name)?;
    let (file, name, meaning) = (document.file(), key.name, key.meaning);
    (key.effect == Effect::Obsolete).then(|| format!("{file}:{position}: {name} has no effect: {meaning}"))
}
