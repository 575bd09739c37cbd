//! Sets of fields in the notation of `metadata.managedFields[].fieldsV1`, applied to objects.

use serde_json::{Map, Value};
use std::fmt::Write;

/// The name of one child in a set of fields.
enum Element {
    /// `f:name`
    Field(String),
    /// `k:{"name":"x"}`: the item of a list that has these keys.
    Item(Map<String, Value>),
    /// `v:"x"`: the item of a list with this value.
    Value(Value),
    /// `i:0`
    Index(usize),
}

impl Element {
    fn parse(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_once(':')?;
        match kind {
            "f" => Some(Self::Field(rest.to_owned())),
            "k" => serde_json::from_str(rest).ok().map(Self::Item),
            "v" => serde_json::from_str(rest).ok().map(Self::Value),
            "i" => rest.parse().ok().map(Self::Index),
            _ => None,
        }
    }

    fn find<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        match self {
            Self::Field(name) => value.get(name).filter(|value| !value.is_null()),
            Self::Item(keys) => find_item(value.as_array()?, keys),
            Self::Value(item) => value.as_array()?.iter().find(|other| *other == item),
            Self::Index(index) => value.get(index),
        }
    }

    fn label(&self) -> String {
        match self {
            Self::Field(name) => name.clone(),
            Self::Item(keys) => item_label(keys.iter().map(|(key, value)| (key.as_str(), value))),
            Self::Value(item) => format!("[{item}]"),
            Self::Index(index) => format!("[{index}]"),
        }
    }
}

/// `[name=x]`
pub(super) fn item_label<'a>(keys: impl Iterator<Item = (&'a str, &'a Value)>) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let keys: Vec<_> = keys.map(|(key, value)| format!("{key}={}", text(value))).collect();
    format!("[{}]", keys.join(","))
}

/// A path in an object: `spec`, `containers`, `[name=x]`, `env`, …
#[derive(Debug, Clone, Default)]
pub(super) struct Path(Vec<String>);

impl Path {
    pub(super) fn enter<R>(&mut self, label: impl Into<String>, visit: impl FnOnce(&mut Self) -> R) -> R {
        self.0.push(label.into());
        let result = visit(self);
        self.0.pop();
        result
    }

    pub(super) fn parts(&self) -> &[String] {
        &self.0
    }
}

impl std::fmt::Display for Path {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, part) in self.0.iter().enumerate() {
            if index > 0 && !part.starts_with('[') {
                f.write_char('.')?;
            }
            f.write_str(part)?;
        }
        Ok(())
    }
}

/// The item with these keys, or the one that omits some of them, because the server fills in defaults of keys.
fn find_item<'v>(items: &'v [Value], keys: &Map<String, Value>) -> Option<&'v Value> {
    let exact = |item: &&Value| keys.iter().all(|(key, value)| item.get(key) == Some(value));
    let shorter = |item: &&Value| {
        let same = |(key, value): (&String, &Value)| item.get(key).is_none_or(|own| own == value);
        keys.iter().any(|(key, _)| item.get(key).is_some()) && keys.iter().all(same)
    };
    items.iter().find(exact).or_else(|| items.iter().find(shorter))
}

fn children(set: &Value) -> impl Iterator<Item = (&String, Element, &Value)> {
    let named = set.as_object().into_iter().flatten();
    named.filter_map(|(name, below)| Some((name, Element::parse(name)?, below)))
}

/// The topmost fields of a set that an object does not have, except those for which `skip` is true.
pub(super) fn beyond(set: &Value, object: &Value, skip: &dyn Fn(&[String]) -> bool) -> Vec<Path> {
    let mut found = Vec::new();
    collect_beyond(set, object, skip, &mut Path::default(), &mut found);
    found
}

fn collect_beyond(
    set: &Value,
    object: &Value,
    skip: &dyn Fn(&[String]) -> bool,
    path: &mut Path,
    found: &mut Vec<Path>,
) {
    for (_, element, below) in children(set) {
        path.enter(element.label(), |path| {
            match (skip(path.parts()), element.find(object)) {
                (true, _) => {}
                (false, None) => found.push(path.clone()),
                (false, Some(child)) => collect_beyond(&without_keys(below, &element), child, skip, path, found),
            }
        });
    }
}

/// The set has the keys of an item also if the server filled them in.
fn without_keys(set: &Value, element: &Element) -> Value {
    let mut set = set.clone();
    if let (Element::Item(keys), Some(fields)) = (element, set.as_object_mut()) {
        fields.retain(|name, _| !name.strip_prefix("f:").is_some_and(|name| keys.contains_key(name)));
    }
    set
}

/// Removes the topmost fields of a set that `wanted` does not have from an object.
pub(super) fn remove_beyond(set: &Value, wanted: &Value, object: &mut Value, skip: &dyn Fn(&[String]) -> bool) {
    remove_at(set, wanted, object, skip, &mut Path::default());
}

fn remove_at(set: &Value, wanted: &Value, object: &mut Value, skip: &dyn Fn(&[String]) -> bool, path: &mut Path) {
    for (_, element, below) in children(set) {
        path.enter(element.label(), |path| {
            match (skip(path.parts()), element.find(wanted)) {
                (true, _) => {}
                (false, None) => take_out(object, &element),
                (false, Some(wanted)) => {
                    if let Some(child) = find_mut(object, &element) {
                        remove_at(&without_keys(below, &element), wanted, child, skip, path);
                    }
                }
            }
        });
    }
}

fn take_out(object: &mut Value, element: &Element) {
    match (element, object) {
        (Element::Field(name), Value::Object(fields)) => {
            fields.remove(name);
        }
        (_, object @ Value::Array(_)) => {
            let found = element.find(object).cloned();
            if let (Some(found), Value::Array(items)) = (found, object) {
                items.retain(|item| *item != found);
            }
        }
        _ => {}
    }
}

fn find_mut<'v>(object: &'v mut Value, element: &Element) -> Option<&'v mut Value> {
    if let Element::Field(name) = element {
        return object.get_mut(name);
    }
    let found = element.find(object)?.clone();
    object.as_array_mut()?.iter_mut().find(|item| **item == found)
}

/// Whether a set has this field of an object, or a parent of it: the set of its children, if it does.
pub(super) fn child<'s>(set: &'s Value, field: &str) -> Covered<'s> {
    if set.as_object().is_none_or(Map::is_empty) {
        return Covered::Whole;
    }
    set.get(format!("f:{field}")).map_or(Covered::Not, Covered::below)
}

/// The same as [`child`] for an item of a list.
pub(super) fn item<'s>(set: &'s Value, item: &Value) -> Covered<'s> {
    if set.as_object().is_none_or(Map::is_empty) {
        return Covered::Whole;
    }
    let matches = |element: &Element| match element {
        Element::Item(keys) => find_item(std::slice::from_ref(item), keys).is_some(),
        Element::Value(value) => value == item,
        Element::Field(_) | Element::Index(_) => false,
    };
    let found = children(set).find(|(_, element, _)| matches(element));
    found.map_or(Covered::Not, |(_, _, below)| Covered::below(below))
}

/// How a set of fields covers a field.
pub(super) enum Covered<'s> {
    /// Not at all.
    Not,
    /// With all its children.
    Whole,
    /// With these of its children.
    Part(&'s Value),
}

impl<'s> Covered<'s> {
    fn below(set: &'s Value) -> Self {
        match set.as_object() {
            Some(fields) if !fields.is_empty() => Self::Part(set),
            _ => Self::Whole,
        }
    }
}

/// The union of both sets.
pub(super) fn union(mut left: Value, right: &Value) -> Value {
    if let (Some(fields), Some(others)) = (left.as_object_mut(), right.as_object()) {
        for (name, below) in others {
            let merged = fields
                .remove(name)
                .map_or_else(|| below.clone(), |own| union(own, below));
            fields.insert(name.clone(), merged);
        }
    }
    left
}

/// Splits a set into the fields for which `keep` is true, and the others.
pub(super) fn split(set: &Value, keep: &dyn Fn(&[String]) -> bool) -> (Value, Value) {
    split_at(set, keep, &mut Path::default())
}

fn split_at(set: &Value, keep: &dyn Fn(&[String]) -> bool, path: &mut Path) -> (Value, Value) {
    let (mut kept, mut rest) = (Map::new(), Map::new());
    for (name, below) in set.as_object().into_iter().flatten() {
        let Some(element) = Element::parse(name) else {
            rest.insert(name.clone(), below.clone());
            continue;
        };
        path.enter(element.label(), |path| {
            if keep(path.parts()) {
                kept.insert(name.clone(), below.clone());
                return;
            }
            let (mut above, mut other) = split_at(below, keep, path);
            // A manager that set no other field in it has set it for this one.
            if let (Some(kept), Some(rest)) = (above.as_object_mut(), other.as_object_mut())
                && !kept.is_empty()
                && rest.keys().all(|name| name == ".")
            {
                kept.append(rest);
            }
            let leaf = below.as_object().is_none_or(Map::is_empty);
            insert_unless_empty(&mut kept, name, above);
            if leaf {
                rest.insert(name.clone(), below.clone());
            } else {
                insert_unless_empty(&mut rest, name, other);
            }
        });
    }
    (Value::Object(kept), Value::Object(rest))
}

fn insert_unless_empty(fields: &mut Map<String, Value>, name: &str, below: Value) {
    if below.as_object().is_some_and(|below| !below.is_empty()) {
        fields.insert(name.to_owned(), below);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    /// Any set of fields, with items of lists in it.
    fn sets() -> impl Strategy<Value = Value> {
        let name = prop_oneof![
            "f:[abc]",
            Just("k:{\"name\":\"x\"}".to_owned()),
            Just("v:\"y\"".to_owned()),
            Just(".".to_owned())
        ];
        Just(json!({})).prop_recursive(4, 40, 4, move |below| {
            prop::collection::btree_map(name.clone(), below, 1..4).prop_map(|fields| {
                let leaf = |(name, below): (String, Value)| (name.clone(), if name == "." { json!({}) } else { below });
                Value::Object(fields.into_iter().map(leaf).collect())
            })
        })
    }

    proptest! {
        #[test]
        fn the_parts_of_a_split_are_the_whole(set in sets()) {
            let (kept, rest) = split(&set, &|path| path.last().is_some_and(|part| part == "a"));
            prop_assert_eq!(union(kept.clone(), &rest), set);
            prop_assert!(!rest.to_string().contains("f:a"), "{}", rest);
            prop_assert!(kept == json!({}) || kept.to_string().contains("f:a"), "{}", kept);
        }

        #[test]
        fn nothing_is_left_after_removal(set in sets()) {
            let mut object = json!({ "a": { "b": [{ "name": "x", "c": 1 }, { "name": "z" }] }, "b": ["y", "z"], "c": 3 });
            let wanted = json!({ "a": { "b": [{ "name": "z" }] } });
            remove_beyond(&set, &wanted, &mut object, &|_| false);
            for path in beyond(&set, &wanted, &|_| false) {
                prop_assert!(beyond(&set, &object, &|_| false).iter().any(|gone| gone.to_string() == path.to_string()), "{}", path);
            }
        }
    }
}
