//! The YAML notation of the configuration.
//!
//! A known key is read with its kind, so that a password `0777` stays a text.

use super::keys::{KEYS, yaml_key, yaml_section};
use gcfg::Subsections;
use provider_kit::keys::{Key, Kind, Section, Settings};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use std::{collections::BTreeMap, fmt};

/// A key that was found.
struct Found {
    section: &'static Section,
    subsection: String,
    key: &'static Key,
    texts: Vec<String>,
}

/// Reads a file, and warns about keys that are unknown.
///
/// # Errors
/// One sentence: what is wrong, and where.
pub fn read(file: &str, text: &str, warnings: &mut Vec<String>) -> Result<Settings, String> {
    let mut seen = Seen::default();
    // Without a snippet of the file, which may contain passwords.
    let options = serde_saphyr::options! { with_snippet: false };
    let read = serde_saphyr::with_deserializer_from_str_with_options(text, options, |deserializer| {
        Map {
            level: Level::Root,
            seen: &mut seen,
        }
        .deserialize(deserializer)
    });
    read.map_err(|error| format!("{file}: {error}"))?;
    warnings.extend(seen.unknown.iter().map(|unknown| format!("{file}: {unknown}")));
    let mut settings = Settings::default();
    for (section, subsection) in &seen.subsections {
        settings.add(section, subsection);
    }
    for found in seen.found {
        let (section, key) = (yaml_section(found.section.name), yaml_key(found.key.name));
        let position = match found.subsection.as_str() {
            "" => format!("{file}: {section}.{key}"),
            subsection => format!("{file}: {section}.{subsection}.{key}"),
        };
        settings.set(found.section, &found.subsection, found.key, found.texts, position)?;
    }
    Ok(settings)
}

/// What a file has.
#[derive(Default)]
struct Seen {
    found: Vec<Found>,
    subsections: Vec<(&'static Section, String)>,
    /// A sentence for each unknown key.
    unknown: Vec<String>,
}

/// What a map contains.
enum Level {
    /// Sections.
    Root,
    /// Subsections by name.
    Subsections(&'static Section),
    /// Keys.
    Keys(&'static Section, String),
}

struct Map<'a> {
    level: Level,
    seen: &'a mut Seen,
}

impl Map<'_> {
    fn value<'de, A: MapAccess<'de>>(&mut self, name: &str, map: &mut A) -> Result<(), A::Error> {
        let level = match &self.level {
            Level::Root => {
                let Some(section) = KEYS.0.iter().find(|section| yaml_section(section.name) == name) else {
                    return self.skip(&format!("the section {name}"), map);
                };
                match section.subsections {
                    Subsections::Any => Level::Subsections(section),
                    Subsections::None => Level::Keys(section, String::new()),
                }
            }
            Level::Subsections(section) => {
                // It exists also if it has no keys.
                self.seen.subsections.push((section, name.to_owned()));
                Level::Keys(section, name.to_owned())
            }
            Level::Keys(section, subsection) => {
                let key = section.keys.iter().find(|key| yaml_key(key.name) == name);
                let Some(key) = key else {
                    let what = format!("the key {}.{name}", yaml_section(section.name));
                    return self.skip(&hinted(&what, section, name), map);
                };
                let found = texts(key, map)?.map(|texts| Found {
                    section,
                    subsection: subsection.clone(),
                    key,
                    texts,
                });
                self.seen.found.extend(found);
                return Ok(());
            }
        };
        map.next_value_seed(Map {
            level,
            seen: &mut *self.seen,
        })
    }

    fn skip<'de, A: MapAccess<'de>>(&mut self, what: &str, map: &mut A) -> Result<(), A::Error> {
        self.seen.unknown.push(format!("{what} is unknown and has no effect"));
        map.next_value::<IgnoredAny>().map(drop)
    }
}

/// Names the key that was probably meant: keys of the INI notation are a frequent mistake.
fn hinted(what: &str, section: &Section, name: &str) -> String {
    let plain = |text: &str| text.replace(['-', '_'], "").to_ascii_lowercase();
    match section.keys.iter().find(|key| plain(key.name) == plain(name)) {
        Some(key) => format!("{what} (is it {}?)", yaml_key(key.name)),
        None => what.to_owned(),
    }
}

/// The texts of a value; `None` if there is none.
fn texts<'de, A: MapAccess<'de>>(key: &Key, map: &mut A) -> Result<Option<Vec<String>>, A::Error> {
    Ok(match (key.kind, key.name) {
        (Kind::List, _) => map.next_value::<Option<Vec<String>>>()?,
        (_, "tags") => {
            let tags = map.next_value::<Option<BTreeMap<String, String>>>()?;
            tags.map(|tags| vec![serde_json::json!(tags).to_string()])
        }
        _ => map.next_value::<Option<String>>()?.map(|text| vec![text]),
    })
}

impl<'de> DeserializeSeed<'de> for Map<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de> Visitor<'de> for Map<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_none<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            self.value(&name, &mut map)?;
        }
        Ok(())
    }
}
