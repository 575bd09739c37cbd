//! Reads the YAML notation. A known key has the type that the operand expects, so a password `0777` stays a text.

use super::{
    Tree,
    keys::{Key, Kind, LABELS, NODES, SERVER},
};
use crate::cloud_config::Invalid;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use serde_json::{Value, json};
use std::fmt;

/// Reads one document.
pub(super) fn tree(text: &str) -> Result<Tree, Invalid> {
    // Without a snippet of the file, which may contain passwords.
    let options = serde_saphyr::options! { with_snippet: false };
    let tree = serde_saphyr::with_deserializer_from_str_with_options(text, options, |deserializer| {
        Shape::Root.deserialize(deserializer)
    });
    match tree {
        Ok(Value::Object(tree)) => Ok(tree),
        Ok(_) => Ok(Tree::new()),
        Err(error) => Err(Invalid(sentence(&error.to_string()))),
    }
}

/// The message of the parser with one position: a wrapped error also has the position of the key.
fn sentence(error: &str) -> String {
    let text = HINTS.iter().fold(error.to_owned(), |text, hint| text.replace(hint, ""));
    let places: Vec<_> = text.match_indices(" at line ").map(|(at, _)| at).collect();
    match places[..] {
        [_, second, ..] => text[..second].to_owned(),
        _ => text,
    }
}

/// Hints of the parser for programmers.
const HINTS: [&str; 2] = [
    ", set DuplicateKeyPolicy in Options if acceptable",
    "; use from_str_multiple or from_str_multiple_with_options",
];

/// The content of a map.
#[derive(Clone, Copy)]
enum Shape {
    /// Sections.
    Root,
    /// vCenters by name.
    Servers,
    /// These keys, and unknown ones.
    Section(&'static [Key]),
}

impl Shape {
    fn value<'de, A: MapAccess<'de>>(self, key: &str, map: &mut A) -> Result<Value, A::Error> {
        let value = match (self, key) {
            (Self::Root, "global") | (Self::Servers, _) => map.next_value_seed(Self::Section(&SERVER)),
            (Self::Root, "labels") => map.next_value_seed(Self::Section(&LABELS)),
            (Self::Root, "nodes") => map.next_value_seed(Self::Section(&NODES)),
            (Self::Root, "vcenter") => map.next_value_seed(Self::Servers),
            (Self::Root, _) => map.next_value(),
            (Self::Section(keys), _) => match keys.iter().find(|known| known.yaml == key) {
                Some(known) => known.kind.value(map),
                None => map.next_value(),
            },
        };
        value.map_err(|error| A::Error::custom(format_args!("{key}: {error}")))
    }
}

impl Kind {
    fn value<'de, A: MapAccess<'de>>(self, map: &mut A) -> Result<Value, A::Error> {
        let value = match self {
            Self::Text => map.next_value::<Option<String>>().map(|text| json!(text)),
            Self::Number => map.next_value::<Option<u32>>().map(|number| json!(number)),
            Self::Truth => map.next_value::<Option<bool>>().map(|truth| json!(truth)),
            Self::Texts => map.next_value::<Option<Vec<String>>>().map(|texts| json!(texts)),
        };
        value.map_err(|error| A::Error::custom(format_args!("not {self}: {error}")))
    }
}

impl<'de> DeserializeSeed<'de> for Shape {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de> Visitor<'de> for Shape {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_map(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut values = Tree::new();
        while let Some(key) = map.next_key::<String>()? {
            let value = self.value(&key, &mut map)?;
            values.insert(key, value);
        }
        values.retain(|_, value| !value.is_null());
        Ok(Value::Object(values))
    }
}
