//! The definition of the kind.

use super::{CloudControllerManager, OWN_FLAGS};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

/// The name of every operand is the name of its manager with the suffix `-cloud-controller-manager`, and a Service's name must be a DNS label
/// that starts with a letter: this limits the name.
const NAME: &str = "self.metadata.name.matches('^[a-z]([-a-z0-9]{0,36}[a-z0-9])?$')";
const NAME_MESSAGE: &str = "the name may have at most 38 lower-case letters, digits and hyphens, and starts with a letter and does not end with a hyphen";

/// The columns of `kubectl get`: name, type, and path.
const COLUMNS: [(&str, &str, &str); 7] = [
    ("Provider", "string", ".spec.provider"),
    ("State", "string", ".spec.managementState"),
    (
        "Available",
        "string",
        ".status.conditions[?(@.type=='Available')].status",
    ),
    ("Ready", "integer", ".status.readyReplicas"),
    ("Version", "string", ".status.version"),
    ("Age", "date", ".metadata.creationTimestamp"),
    ("Message", "string", ".status.message"),
];

/// The texts of `kubectl explain` about the providers, which are not known here. Each replaces its name in braces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Texts {
    /// The names of the providers.
    pub providers: String,
    /// The providers that reload a changed configuration: a sentence.
    pub changes: String,
    /// The keys of the Secret with credentials: sentences.
    pub credentials: String,
}

/// The definition: structural schema, validation rules, columns and texts for `kubectl explain`.
pub fn crd(texts: &Texts) -> CustomResourceDefinition {
    let derived = CloudControllerManager::crd();
    let mut crd = json!(derived);
    fill(&mut crd, texts);
    let columns = COLUMNS.map(|(name, kind, path)| json!({"name": name, "type": kind, "jsonPath": path}));
    for version in crd["spec"]["versions"].as_array_mut().into_iter().flatten() {
        version["additionalPrinterColumns"] = json!(columns);
        let schema = &mut version["schema"]["openAPIV3Schema"];
        schema.as_object_mut().and_then(|fields| fields.remove("title"));
        tidy(schema);
        schema["x-kubernetes-validations"] = json!([{"rule": NAME, "message": NAME_MESSAGE}]);
    }
    serde_json::from_value(crd).unwrap_or(derived)
}

/// The definition as the file `deploy/kubernetes/crd.yaml`.
///
/// # Panics
/// Never: the definition is a constant that the tests write out.
pub fn crd_yaml(texts: &Texts) -> String {
    let mut crd = json!(crd(texts));
    whole(&mut crd);
    let yaml = serde_saphyr::to_string(&crd).expect("a definition is made of maps, lists and scalars");
    format!("# Generated from the types in crates/operator-api: make docs\n{yaml}")
}

/// The rule of `extraArgs`.
pub(super) fn taken() -> Value {
    let quoted: Vec<String> = OWN_FLAGS.iter().map(|flag| format!("'{flag}'")).collect();
    json!([{
        "rule": format!("self.all(arg, !(arg.split('=')[0] in [{}]))", quoted.join(", ")),
        "message": format!("these flags are set by the operator, from the other fields: {}", OWN_FLAGS.join(" ")),
    }])
}

pub(super) fn int_or_string(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "maxProperties": 16,
        "additionalProperties": {
            "x-kubernetes-int-or-string": true,
            "pattern": "^[0-9]+(\\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$",
        },
    })
}

/// The schema of the inventory.
pub(super) fn references(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "x-kubernetes-list-type": "atomic",
        "items": {
            "type": "object",
            "required": ["group", "name", "resource"],
            "properties": {
                "group": {"type": "string", "description": "Its API group, empty for the core group."},
                "resource": {"type": "string", "description": "The plural of its kind, for instance deployments."},
                "namespace": {"type": "string", "description": "Its namespace, if it has one."},
                "name": {"type": "string", "description": "Its name."},
            },
        },
    })
}

/// Parts of specs that were valid when they were recorded: only the operator writes them, and a changed rule must not prevent it.
pub(super) fn claims(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "x-kubernetes-list-type": "atomic",
        "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    })
}

/// As in `metav1.Condition`, one of each type.
pub(super) fn conditions(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["lastTransitionTime", "message", "reason", "status", "type"],
            "properties": {
                "type": {"type": "string", "maxLength": 316, "description": "The type: Available, Progressing or Degraded."},
                "status": {"type": "string", "enum": ["True", "False", "Unknown"], "description": "The status of the condition."},
                "reason": {"type": "string", "minLength": 1, "maxLength": 1024, "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
                           "description": "The reason, for programs."},
                "message": {"type": "string", "maxLength": 32768, "description": "The message, for users."},
                "lastTransitionTime": {"type": "string", "format": "date-time", "description": "When the status last changed."},
                "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0,
                                       "description": "The generation of the spec that the condition is about."},
            },
        },
    })
}

/// Removes formatting from texts, and `nullable`, which only the generator adds: the API server treats null as absent.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.remove("nullable");
            if let Some(Value::String(text)) = fields.get_mut("description") {
                *text = text.replace('`', "").split_whitespace().collect::<Vec<_>>().join(" ");
            }
            fields.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}

/// Adds the texts about the providers.
fn fill(schema: &mut Value, texts: &Texts) {
    let Texts {
        providers,
        changes,
        credentials,
    } = texts;
    match schema {
        Value::Object(fields) => {
            if let Some(Value::String(text)) = fields.get_mut("description") {
                *text = text
                    .replace("{providers}", providers)
                    .replace("{changes}", changes)
                    .replace("{credentials}", credentials);
            }
            fields.values_mut().for_each(|field| fill(field, texts));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| fill(item, texts)),
        _ => {}
    }
}

/// Writes 10 instead of 10.0.
fn whole(value: &mut Value) {
    match value {
        Value::Object(fields) => fields.values_mut().for_each(whole),
        Value::Array(items) => items.iter_mut().for_each(whole),
        Value::Number(number) => {
            if let Ok(integer) = number.to_string().trim_end_matches(".0").parse::<i64>() {
                *number = integer.into();
            }
        }
        _ => {}
    }
}
