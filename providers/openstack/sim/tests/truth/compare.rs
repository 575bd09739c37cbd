//! Two answers to one request, without what is different every time.

use crate::{
    script::{Request, select},
    target::{Answer, Target},
};
use regex_lite::Regex;
use serde_json::{Value, json};
use std::{collections::BTreeSet, net::IpAddr};

/// The fields of which only the type is compared, wherever they are: they are random, or counters.
const LOOSE: &[&str] = &[
    "secret",
    "adminPass",
    "audit_ids",
    "hostId",
    "revision_number",
    "standard_attr_id",
    "mtu",
    "provider:segmentation_id",
    "OS-EXT-SRV-ATTR:instance_name",
    "belongs_to_default_sg",
    "updated_at",
    "fqdn",
    "hostname",
    "dns_assignment",
];

/// The fields whose lists have no order, wherever they are.
const UNORDERED: &[&str] = &["addresses", "fixed_ips", "subnets", "security_group_rules", "methods"];

/// Values that differ in every run, and their placeholders.
pub struct Mask {
    patterns: Vec<(Regex, &'static str)>,
    literals: Vec<(String, String)>,
    /// The addresses that the script names; they are compared, others are given out at random.
    addresses: BTreeSet<String>,
}

impl Mask {
    pub fn new(target: &Target, run: &str, script: &str) -> Self {
        let pattern = |text: &str, name| (Regex::new(text).unwrap(), name);
        let mut literals: Vec<(String, String)> = target
            .services
            .iter()
            .map(|(name, url)| (url.clone(), format!("<{name}>")))
            .collect();
        literals.push((run.to_owned(), "<run>".to_owned()));
        literals.push((target.us.clone(), "<us>".to_owned()));
        literals.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        Self {
            patterns: vec![
                pattern("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uuid>"),
                pattern("\\b[0-9a-f]{32}\\b", "<id>"),
                pattern(
                    "\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?(Z|[-+]\\d\\d:\\d\\d)?",
                    "<time>",
                ),
                pattern("fa:16:3e(:[0-9a-f]{2}){3}", "<mac>"),
                pattern("fd00:20::[0-9a-f:]+\\b", "<ip>"),
            ],
            literals,
            addresses: addresses()
                .find_iter(script)
                .map(|found| found.as_str().to_owned())
                .collect(),
        }
    }

    fn text(&self, text: &str) -> String {
        let text = self
            .literals
            .iter()
            .fold(text.to_owned(), |text, (found, name)| text.replace(found, name));
        let text = self.patterns.iter().fold(text, |text, (pattern, name)| {
            pattern.replace_all(&text, *name).into_owned()
        });
        let shown = |found: &regex_lite::Captures<'_>| {
            if self.addresses.contains(&found[0]) {
                found[0].to_owned()
            } else {
                "<ip>".to_owned()
            }
        };
        addresses().replace_all(&text, shown).into_owned()
    }

    fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => json!(self.text(text)),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(fields) => {
                let field = |(name, value): (&String, &Value)| {
                    let mut value = if LOOSE.contains(&name.as_str()) {
                        kind(value)
                    } else {
                        self.value(value)
                    };
                    if UNORDERED.contains(&name.as_str()) {
                        lists(&mut value).for_each(|items| items.sort_by_key(Value::to_string));
                    }
                    (self.text(name), value)
                };
                Value::Object(fields.iter().map(field).collect())
            }
            other => other.clone(),
        }
    }

    /// An answer as it is compared and recorded.
    pub fn answer(&self, request: &Request, answer: &Answer) -> Value {
        let mut body = self.value(&answer.body);
        for path in &request.loose {
            for value in select(&mut body, path) {
                *value = kind(value);
            }
        }
        for path in &request.some {
            select(&mut body, path).into_iter().for_each(shapes);
        }
        for path in &request.unordered {
            let lists = select(&mut body, path).into_iter().filter_map(Value::as_array_mut);
            lists.for_each(|items| items.sort_by_key(Value::to_string));
        }
        for (path, word) in &answer.relations {
            for value in select(&mut body, path) {
                *value = json!(word);
            }
        }
        // The content type of an empty body differs from method to method, and no client reads it.
        let headers = answer
            .headers
            .iter()
            .filter(|(name, _)| name != "content-type" || answer.body != json!(""));
        let plain = |value: &str| self.text(value.split(';').next().unwrap_or_default());
        let headers: Vec<Value> = headers.map(|(name, value)| json!([name, plain(value)])).collect();
        json!({"name": request.name, "status": answer.status, "headers": headers, "body": body})
    }
}

/// The list that a value is, or the lists that it has.
fn lists(value: &mut Value) -> impl Iterator<Item = &mut Vec<Value>> {
    let values: Vec<&mut Value> = match value {
        Value::Object(fields) => fields.values_mut().collect(),
        other => vec![other],
    };
    values.into_iter().filter_map(Value::as_array_mut)
}

fn addresses() -> Regex {
    Regex::new("\\b\\d{1,3}(\\.\\d{1,3}){3}\\b").unwrap()
}

/// Of a list, the different shapes of its items.
fn shapes(list: &mut Value) {
    if let Value::Array(items) = list {
        let mut kinds: Vec<Value> = items.iter().map(shape).collect();
        kinds.sort_by_key(Value::to_string);
        kinds.dedup();
        *items = kinds;
    }
}

fn shape(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| (name.clone(), shape(value)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        Value::Array(items) => items.first().map(shape).into_iter().collect(),
        other => kind(other),
    }
}

fn kind(value: &Value) -> Value {
    json!(match value {
        Value::Null => "<null>",
        Value::Bool(_) => "<bool>",
        Value::Number(_) => "<number>",
        Value::String(_) => "<text>",
        Value::Array(_) => "<list>",
        Value::Object(_) => "<object>",
    })
}

/// Whether an address was given out at random where this one is: it may be one that the script names elsewhere.
fn is_any_address(real: &Value, ours: &Value) -> bool {
    real == "<ip>" && ours.as_str().is_some_and(|ours| ours.parse::<IpAddr>().is_ok())
}

/// Where two answers differ, in words; `updated_at` and the like may be null in one and not in the other.
pub fn differences(real: &Value, ours: &Value, at: &str, found: &mut Vec<String>) {
    match (real, ours) {
        (Value::Object(real), Value::Object(ours)) => {
            for name in real.keys().filter(|name| !ours.contains_key(*name)) {
                found.push(format!("{at}/{name} is missing (really {})", real[name]));
            }
            for name in ours.keys().filter(|name| !real.contains_key(*name)) {
                found.push(format!("{at}/{name} is too much ({})", ours[name]));
            }
            for (name, value) in real
                .iter()
                .filter_map(|(name, value)| Some((name, (value, ours.get(name)?))))
            {
                differences(value.0, value.1, &format!("{at}/{name}"), found);
            }
        }
        (Value::Array(real), Value::Array(ours)) if real.len() == ours.len() => {
            for (index, (real, ours)) in real.iter().zip(ours).enumerate() {
                differences(real, ours, &format!("{at}/{index}"), found);
            }
        }
        (real, ours) if real == ours || is_any_address(real, ours) => {}
        (real, ours) => found.push(format!("{at} is {ours} (really {real})")),
    }
}

#[test]
fn an_address_that_is_given_out_may_be_any_and_one_that_is_named_only_itself() {
    let differ = |real: &str, ours: &str| {
        let mut found = Vec::new();
        differences(&json!(real), &json!(ours), "", &mut found);
        !found.is_empty()
    };
    assert!(!differ("<ip>", "10.20.0.61"));
    assert!(differ("10.20.0.61", "<ip>"));
    assert!(differ("10.20.0.61", "10.20.0.62"));
    assert!(differ("<ip>", "<uuid>"));
}
