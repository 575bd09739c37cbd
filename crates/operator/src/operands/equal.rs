//! Whether an existing object already has every desired field, by the rules of the API server.

use super::fields::{self, Covered, Path};
use serde_json::{Map, Value};

/// The fields of `wanted` that `live` does not have, and the fields of live that are not in `ours`, the set of
/// fields that the server records as ours.
pub(super) fn differences(wanted: &Value, live: &Value, ours: &Value) -> Vec<Path> {
    let mut found = Found(Vec::new());
    let path = &mut Path::default();
    for (name, value) in wanted.as_object().into_iter().flatten() {
        match name.as_str() {
            "apiVersion" | "kind" => {}
            "metadata" => path.enter("metadata", |path| {
                found.metadata(value, &live["metadata"], &ours["f:metadata"], path);
            }),
            _ => found.field(name, value, live, ours, path),
        }
    }
    found.0
}

struct Found(Vec<Path>);

impl Found {
    fn metadata(&mut self, wanted: &Value, live: &Value, ours: &Value, path: &mut Path) {
        let named = wanted.as_object().into_iter().flatten();
        for (name, value) in named.filter(|(name, _)| !matches!(name.as_str(), "name" | "namespace")) {
            let set = if ours.is_null() { &NOTHING } else { ours };
            self.field(name, value, live, set, path);
        }
    }

    fn field(&mut self, name: &str, wanted: &Value, live: &Value, ours: &Value, path: &mut Path) {
        let covered = fields::child(ours, name);
        path.enter(name, |path| self.value(wanted, live.get(name), &covered, path));
    }

    fn value(&mut self, wanted: &Value, live: Option<&Value>, covered: &Covered<'_>, path: &mut Path) {
        let Some(live) = live.filter(|live| !live.is_null()) else {
            if !is_dropped(wanted, path) {
                self.0.push(path.clone());
            }
            return;
        };
        let set = match covered {
            Covered::Not => return self.0.push(path.clone()),
            Covered::Whole => &WHOLE,
            Covered::Part(set) => set,
        };
        match (wanted, live) {
            (Value::Object(wanted), Value::Object(_)) => {
                for (name, value) in wanted {
                    self.field(name, value, live, set, path);
                }
            }
            (Value::Array(wanted), Value::Array(live)) => self.list(wanted, live, set, path),
            _ if same(wanted, live, path) => {}
            _ => self.0.push(path.clone()),
        }
    }

    fn list(&mut self, wanted: &[Value], live: &[Value], ours: &Value, path: &mut Path) {
        match merge_keys(path).filter(|keys| wanted.iter().all(|item| item.get(keys[0]).is_some())) {
            Some(keys) => self.map_list(keys, wanted, live, ours, path),
            None if is_set(path) => {
                let missing = wanted.iter().filter(|item| !live.contains(item));
                missing.for_each(|item| path.enter(format!("[{item}]"), |path| self.0.push(path.clone())));
            }
            None if wanted.len() != live.len() => self.0.push(path.clone()),
            None => {
                for (index, (wanted, live)) in wanted.iter().zip(live).enumerate() {
                    path.enter(format!("[{index}]"), |path| {
                        self.value(wanted, Some(live), &Covered::Whole, path);
                    });
                }
            }
        }
    }

    /// Items in another order differ: the order of containers and variables matters.
    fn map_list(&mut self, keys: &[&str], wanted: &[Value], live: &[Value], ours: &Value, path: &mut Path) {
        let mut last = None;
        for item in wanted {
            let place = live.iter().position(|other| same_item(keys, item, other));
            let named = keys.iter().filter_map(|key| Some((*key, item.get(key)?)));
            path.enter(fields::item_label(named), |path| {
                self.value(item, place.map(|place| &live[place]), &fields::item(ours, item), path);
            });
            if place.is_some() && place < last {
                self.0.push(path.clone());
            }
            last = last.max(place);
        }
    }
}

static WHOLE: Value = Value::Null;

/// A set that covers nothing: one with a field that no object has, because the empty set covers everything.
static NOTHING: std::sync::LazyLock<Value> = std::sync::LazyLock::new(|| {
    let mut set = Map::new();
    set.insert(".".to_owned(), Value::Object(Map::new()));
    Value::Object(set)
});

/// Values that the server omits because they are empty; but a label, a key of a `ConfigMap` and the like exist also
/// if they are empty.
fn is_dropped(value: &Value, path: &Path) -> bool {
    let maps = [
        "data",
        "binaryData",
        "labels",
        "annotations",
        "nodeSelector",
        "matchLabels",
        "selector",
    ];
    let above = path.parts().iter().rev().nth(1);
    match value {
        Value::Null => true,
        _ if above.is_some_and(|above| maps.contains(&above.as_str())) => false,
        Value::Bool(value) => !value,
        Value::Number(value) => value.as_f64() == Some(0.0),
        Value::String(value) => value.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

fn same(wanted: &Value, live: &Value, path: &Path) -> bool {
    if wanted == live {
        return true;
    }
    match (wanted, live) {
        (Value::Number(wanted), Value::Number(live)) => wanted.as_f64() == live.as_f64(),
        _ if holds_quantities(path) => match (quantity(wanted), quantity(live)) {
            (Some(wanted), Some(live)) => wanted == live,
            _ => false,
        },
        _ => false,
    }
}

fn holds_quantities(path: &Path) -> bool {
    let quantities = ["limits", "requests", "sizeLimit", "divisor"];
    path.parts().iter().any(|part| quantities.contains(&part.as_str()))
}

/// A quantity in billionths, the smallest unit of the server.
fn quantity(value: &Value) -> Option<i128> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    let end = text
        .find(|c: char| !matches!(c, '0'..='9' | '.' | '-' | '+'))
        .unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = format!("{whole}{}", fraction.get(..9).unwrap_or(fraction));
    let mantissa: i128 = digits.parse().ok()?;
    let billionths = mantissa.checked_mul(10_i128.pow(9 - u32::try_from(fraction.len().min(9)).ok()?))?;
    let scaled = |base: i128, power: u32| billionths.checked_mul(base.checked_pow(power)?);
    match suffix {
        "" => Some(billionths),
        "n" => Some(billionths / 1_000_000_000),
        "u" => Some(billionths / 1_000_000),
        "m" => Some(billionths / 1000),
        "k" => scaled(1000, 1),
        "Ki" => scaled(1024, 1),
        exponent if exponent.starts_with(['e', 'E']) && exponent.len() > 1 && exponent != "Ei" => {
            scaled(10, exponent[1..].parse().ok()?)
        }
        _ => {
            let power = u32::try_from("MGTPE".find(suffix.chars().next()?)?).ok()? + 2;
            match suffix.len() {
                1 => scaled(1000, power),
                2 if suffix.ends_with('i') => scaled(1024, power),
                _ => None,
            }
        }
    }
}

fn same_item(keys: &[&str], wanted: &Value, live: &Value) -> bool {
    let default = Value::from("TCP");
    keys.iter().all(|key| match (*key, wanted.get(key)) {
        ("protocol", None) => live.get(key).is_none_or(|live| *live == default),
        (_, wanted) => wanted == live.get(key),
    })
}

/// The fields by which the server identifies the items of a list; it treats all other lists as a whole.
fn merge_keys(path: &Path) -> Option<&'static [&'static str]> {
    let parts = path.parts();
    let (list, above) = parts.split_last()?;
    match list.as_str() {
        "containers"
        | "initContainers"
        | "ephemeralContainers"
        | "volumes"
        | "env"
        | "imagePullSecrets"
        | "secrets"
        | "matchConditions"
        | "variables"
        | "resourceClaims"
        | "schedulingGates"
        | "claims" => Some(&["name"]),
        "groups" if above == ["spec"] => Some(&["name"]),
        "ports" if above == ["spec"] => Some(&["port", "protocol"]),
        "ports" => Some(&["containerPort", "protocol"]),
        "volumeMounts" => Some(&["mountPath"]),
        "volumeDevices" => Some(&["devicePath"]),
        "hostAliases" => Some(&["ip"]),
        "topologySpreadConstraints" => Some(&["topologyKey", "whenUnsatisfiable"]),
        "ownerReferences" => Some(&["uid"]),
        _ => None,
    }
}

fn is_set(path: &Path) -> bool {
    path.parts() == ["metadata", "finalizers"]
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case("1", "1000m")]
    #[case("0.5", "500m")]
    #[case("1Gi", "1024Mi")]
    #[case("1Ki", "1024")]
    #[case("2k", "2000")]
    #[case("1e3", "1k")]
    #[case("1E", "1000P")]
    #[case("100n", "0.0000001")]
    #[case("1.5Gi", "1536Mi")]
    fn equal_quantities(#[case] left: &str, #[case] right: &str) {
        assert_eq!(quantity(&json!(left)), quantity(&json!(right)));
        assert!(quantity(&json!(left)).is_some());
    }

    #[rstest]
    #[case(json!("1"), json!("1m"))]
    #[case(json!("1Mi"), json!("1M"))]
    #[case(json!("50Mi"), json!("51Mi"))]
    #[case(json!(2), json!("20"))]
    fn different_quantities(#[case] left: Value, #[case] right: Value) {
        assert_ne!(quantity(&left), quantity(&right));
    }

    #[rstest]
    #[case("")]
    #[case("Mi")]
    #[case("a lot")]
    #[case("1Zi")]
    #[case("1e")]
    #[case("99999999999999999999999999999999E")]
    fn no_quantities(#[case] text: &str) {
        assert_eq!(quantity(&json!(text)), None);
    }
}
