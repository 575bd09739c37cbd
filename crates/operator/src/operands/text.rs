//! The changes, as `kubectl diff` prints them.

use crate::Key;
use serde_json::Value;
use similar::TextDiff;

/// The difference between an existing object and the changed one, as a unified diff of YAML; empty if there is none.
///
/// Fields that only the server writes are left out, and the values of Secrets are masked.
pub fn diff(key: &Key, live: Option<&Value>, merged: Option<&Value>) -> String {
    let (before, after) = (live.map(tidy), merged.map(tidy));
    let text = |own: Option<&Value>, other: Option<&Value>, side| match own {
        None => String::new(),
        Some(secret) if key.kind == "Secret" => yaml(&masked(secret, other, side)),
        Some(own) => yaml(own),
    };
    let (before, after) = (
        text(before.as_ref(), after.as_ref(), "before"),
        text(after.as_ref(), before.as_ref(), "after"),
    );
    if before == after {
        return String::new();
    }
    let (live, merged) = (format!("LIVE/{}", file_name(key)), format!("MERGED/{}", file_name(key)));
    let changes = TextDiff::from_lines(&before, &after);
    let unified = changes
        .unified_diff()
        .context_radius(3)
        .header(&live, &merged)
        .to_string();
    format!("diff -u -N {live} {merged}\n{unified}")
}

/// `apps.v1.Deployment.namespace.name`
fn file_name(key: &Key) -> String {
    let Key {
        api_version,
        kind,
        namespace,
        name,
    } = key;
    let namespace = namespace.as_deref().unwrap_or_default();
    format!("{}.{kind}.{namespace}.{name}", api_version.replace('/', "."))
}

fn tidy(value: &Value) -> Value {
    let mut value = value.clone();
    if let Some(fields) = value.as_object_mut() {
        fields.remove("status");
    }
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        let server = [
            "managedFields",
            "resourceVersion",
            "uid",
            "creationTimestamp",
            "selfLink",
        ];
        metadata.retain(|name, _| !server.contains(&name.as_str()));
    }
    value
}

/// A Secret with `***` for its values; if the other one has a different value, with the side that it is on.
fn masked(secret: &Value, other: Option<&Value>, side: &str) -> Value {
    let mut secret = secret.clone();
    for place in ["/data", "/stringData"] {
        let Some(values) = secret.pointer_mut(place).and_then(Value::as_object_mut) else {
            continue;
        };
        for (name, value) in values {
            let other = other.and_then(|other| other.pointer(place)?.get(name));
            let differs = other.is_some_and(|other| other != value);
            *value = Value::from(if differs {
                format!("*** ({side})")
            } else {
                "***".to_owned()
            });
        }
    }
    // Written by kubectl, and contains the whole Secret again.
    if let Some(copy) = secret.pointer_mut("/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration") {
        *copy = Value::from("***");
    }
    secret
}

/// Readable YAML: sorted keys, multi-line texts as blocks.
fn yaml(value: &Value) -> String {
    serde_saphyr::to_string(value).unwrap_or_else(|error| format!("# cannot be written as YAML: {error}\n"))
}

#[cfg(test)]
mod tests;
