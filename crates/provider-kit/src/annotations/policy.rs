//! A table of annotations as `ValidatingAdmissionPolicy` objects: the API server itself reports what is wrong, and no
//! webhook has to run.

use super::{
    Annotation, Applied, Kind, Malformed, Table,
    read::{GO_FALSE, GO_TRUE},
};
use serde_json::{Value, json};

const ANNOTATIONS: &str = "has(object.metadata.annotations) ? object.metadata.annotations : {}";
// Of a Service that had no load balancer before, everything is new.
const BEFORE: &str = "oldObject != null && oldObject.spec.type == 'LoadBalancer' && \
                      has(oldObject.metadata.annotations) ? oldObject.metadata.annotations : {}";

// Whether there is a load balancer already.
const SERVED: &str = "oldObject != null && oldObject.spec.type == 'LoadBalancer' && has(oldObject.status) && \
                      has(oldObject.status.loadBalancer) && has(oldObject.status.loadBalancer.ingress)";

/// What has to hold between annotations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// At most one of the two may be given.
    Exclusive(Annotation, Annotation),
    /// With this value of the first one, the others must be given.
    Needs(Annotation, &'static str, &'static [Annotation]),
    /// The two may not have these values at the same time.
    Conflict((Annotation, &'static str), (Annotation, &'static str)),
}

impl Rule {
    /// A CEL expression over a map of annotations. An empty annotation counts as not given.
    fn expression(&self, map: &str) -> String {
        let value = |row: &Annotation| format!("{map}[?{}].orValue('')", quoted(row.key));
        let has = |row: &Annotation, word: &str| format!("{} == {}", value(row), quoted(word));
        let given = |row: &Annotation| format!("{} != ''", value(row));
        match self {
            Self::Exclusive(one, other) => format!("!({} && {})", given(one), given(other)),
            Self::Needs(row, word, others) => {
                let others: Vec<String> = others.iter().map(given).collect();
                format!("!({}) || ({})", has(row, word), others.join(" && "))
            }
            Self::Conflict((one, word), (other, another)) => {
                format!("!({} && {})", has(one, word), has(other, another))
            }
        }
    }

    /// What is wrong if it does not hold.
    fn message(&self) -> String {
        match self {
            Self::Exclusive(one, other) => {
                format!("only one of the annotations {} and {} may be given", one.key, other.key)
            }
            Self::Needs(row, word, others) => {
                let others: Vec<&str> = others.iter().map(|other| other.key).collect();
                format!("annotation {}: \"{word}\" needs {}", row.key, others.join(" and "))
            }
            Self::Conflict((one, word), (other, another)) => {
                format!(
                    "annotation {}: \"{word}\" cannot be used together with \"{another}\" of {}",
                    one.key, other.key
                )
            }
        }
    }
}

impl Table {
    /// The objects that make the API server check these annotations on Services of type `LoadBalancer` without a class, which
    /// may belong to another controller: malformed values are refused; unknown keys, values that the manager would ignore and
    /// changes that do not reach the existing load balancer are a warning. Only what a request changes is checked, so that a
    /// Service that existed before can still be labelled, served and deleted.
    #[must_use]
    pub fn policies(&self) -> Vec<Value> {
        let refused = self.rows.iter().filter(|row| row.malformed == Malformed::Refused);
        let ignored = self.rows.iter().filter(|row| row.malformed == Malformed::Ignored);
        let mut deny: Vec<Value> = refused.filter_map(validation).collect();
        deny.extend(self.rules.iter().map(rule));
        let mut warn: Vec<Value> = ignored.filter_map(validation).collect();
        warn.extend(self.unknown_keys());
        let at_creation = self.rows.iter().filter(|row| row.applied == Applied::AtCreation);
        warn.extend(at_creation.map(unchanged));
        let name = |end: &str| format!("outrigger-{}-annotations{end}", self.cloud);
        [policy(&name(""), "Deny", &deny), policy(&name("-hints"), "Warn", &warn)].concat()
    }

    fn unknown_keys(&self) -> Option<Value> {
        let known: Vec<&str> = self.rows.iter().map(|row| row.key).collect();
        let begins: Vec<String> = self
            .prefixes
            .iter()
            .map(|prefix| format!("key.startsWith({})", quoted(prefix)))
            .collect();
        let strange = format!("({}) && !(key in {})", begins.join(" || "), list(&known));
        (!begins.is_empty()).then(|| {
            json!({
                "expression": format!("!variables.annotations.exists(key, {strange})"),
                "messageExpression": format!(
                    "'unknown annotation ' + variables.annotations.filter(key, {strange}).join(', ') + ' is ignored'"
                ),
            })
        })
    }
}

/// A policy and its binding to the whole cluster.
fn policy(name: &str, action: &str, validations: &[Value]) -> Vec<Value> {
    if validations.is_empty() {
        return Vec::new();
    }
    let version = "admissionregistration.k8s.io/v1";
    vec![
        json!({
            "apiVersion": version,
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": name},
            "spec": {
                "failurePolicy": "Ignore",
                "matchConstraints": {"resourceRules": [
                    {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["services"]},
                ]},
                "matchConditions": [
                    {"name": "load-balancers", "expression": "object.spec.type == 'LoadBalancer'"},
                    {"name": "without-a-class", "expression": "!has(object.spec.loadBalancerClass)"},
                    {"name": "not-being-deleted", "expression": "!has(object.metadata.deletionTimestamp)"},
                    {"name": "changed", "expression": format!(
                        "oldObject == null || oldObject.spec.type != 'LoadBalancer' || ({ANNOTATIONS}) != ({BEFORE})"
                    )},
                ],
                "variables": [
                    {"name": "annotations", "expression": ANNOTATIONS},
                    {"name": "before", "expression": BEFORE},
                    {"name": "served", "expression": SERVED},
                ],
                "validations": validations,
            },
        }),
        json!({
            "apiVersion": version,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": name},
            "spec": {"policyName": name, "validationActions": [action]},
        }),
    ]
}

/// Holds if the annotation does not exist, is as it was, or is of its kind.
fn validation(row: &Annotation) -> Option<Value> {
    let (key, value) = (quoted(row.key), format!("variables.annotations[{}]", quoted(row.key)));
    let check = check(row.kind, &value)?;
    Some(json!({
        "expression": format!(
            "!({key} in variables.annotations) || \
             ({key} in variables.before && variables.before[{key}] == {value}) || {check}"
        ),
        "messageExpression": format!(
            "{} + {value} + {}",
            quoted(&format!("annotation {}: \"", row.key)),
            quoted(&format!("\" is not {}", row.kind)),
        ),
    }))
}

/// Holds unless a change of the annotation comes too late for the load balancer.
fn unchanged(row: &Annotation) -> Value {
    let value = |map: &str| format!("variables.{map}[?{}].orValue('')", quoted(row.key));
    json!({
        "expression": format!("!variables.served || {} == {}", value("annotations"), value("before")),
        "message": format!(
            "a change of the annotation {} does not reach the existing load balancer: delete the Service and create it again",
            row.key
        ),
    })
}

/// Holds, or did not hold before either: what the manager itself writes must not be refused because of it.
fn rule(rule: &Rule) -> Value {
    let (now, before) = (
        rule.expression("variables.annotations"),
        rule.expression("variables.before"),
    );
    json!({"expression": format!("({now}) || (oldObject != null && !({before}))"), "message": rule.message()})
}

/// A CEL expression that holds for values of this kind; none if every value is.
fn check(kind: Kind, value: &str) -> Option<String> {
    Some(match kind {
        Kind::Text | Kind::Presence | Kind::List => return None,
        Kind::Integer { least, most } => {
            // More digits than this do not fit, and would make the conversion itself fail.
            let number = format!("int({value}.replace('+', ''))");
            let mut checks = vec![format!("{value}.matches('^[+-]?[0-9]{{1,18}}$')")];
            checks.extend((least > i64::MIN).then(|| format!("{number} >= {least}")));
            checks.extend((most < i64::MAX).then(|| format!("{number} <= {most}")));
            format!("({})", checks.join(" && "))
        }
        Kind::GoBoolean => format!("{value} in {}", list(&[GO_TRUE, GO_FALSE].concat())),
        Kind::Boolean => format!("{value} in {}", list(&["true", "false"])),
        Kind::Words(words) => format!("{value} in {}", list(words)),
        Kind::Ports => format!("{value}.matches('^ *[0-9]{{1,5}} *(, *[0-9]{{1,5}} *)*$')"),
        Kind::Cidrs => format!("{value}.split(',').all(item, item.trim() == '' || isCIDR(item.trim()))"),
    })
}

fn list(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    format!("[{}]", words.join(", "))
}

/// A CEL string.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}
