//! Which requests the recording of the real services has. Pure.
//!
//! A request that was never sent to the real services in this form is answered by a guess.

use crate::Call;
use fakecloud::Query;
use serde_json::Value;
use std::{collections::BTreeSet, sync::LazyLock};

/// The requests that were sent to the real services.
const SCRIPT: &str = include_str!("../tests/truth/requests.txt");

/// Services that are not among the real ones.
const NOT_THERE: [&str; 1] = ["barbican"];

/// The parameters in links to further pages, which the services generate.
const PAGING: [&str; 3] = ["limit", "marker", "page_reverse"];

static REQUESTS: LazyLock<Vec<Shape>> = LazyLock::new(|| read(SCRIPT));

/// A request without what differs from one to the next.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Shape {
    method: String,
    service: String,
    path: Vec<String>,
    query: BTreeSet<String>,
    /// The fields of the body, by their ways from its top.
    fields: BTreeSet<String>,
}

impl Shape {
    fn of(call: &Call) -> Self {
        let path = call.path.split('/').filter(|segment| !segment.is_empty());
        Self {
            method: call.method.clone(),
            service: call.service.to_owned(),
            path: path.skip(1).map(str::to_owned).collect(),
            query: names(&call.query)
                .into_iter()
                .filter(|name| !PAGING.contains(&name.as_str()))
                .collect(),
            fields: fields(&call.body),
        }
    }

    /// Whether this one of the script is of the same kind: its path has a place for what the other's has there.
    fn is_like(&self, other: &Self) -> bool {
        let fits = |(ours, theirs): (&String, &String)| ours == theirs || is_variable(ours);
        (&self.method, &self.service) == (&other.method, &other.service)
            && self.path.len() == other.path.len()
            && self.path.iter().zip(&other.path).all(fits)
    }
}

/// What of a call was never sent to the real services; nothing if all of it was.
pub(crate) fn unrecorded(call: &Call) -> Option<String> {
    let shape = Shape::of(call);
    if NOT_THERE.contains(&shape.service.as_str()) {
        return None;
    }
    let alike: Vec<&Shape> = REQUESTS.iter().filter(|request| request.is_like(&shape)).collect();
    let strange: Vec<&str> = shape
        .fields
        .iter()
        .filter(|field| !alike.iter().any(|request| request.fields.contains(*field)))
        .map(String::as_str)
        .collect();
    let asked = alike.iter().any(|request| request.query == shape.query);
    let what = match (asked, strange.as_slice()) {
        (true, []) => return None,
        (false, _) => "no such request".to_owned(),
        (true, strange) => format!("no {}", strange.join(", ")),
    };
    let path = shape.path.join("/");
    Some(format!(
        "{} {} /{path}?{}: {what}",
        shape.method, shape.service, call.query
    ))
}

fn read(script: &str) -> Vec<Shape> {
    let lines = script.lines().filter(|line| !line.starts_with('#'));
    let mut requests: Vec<Shape> = Vec::new();
    for line in lines {
        if line.starts_with('{')
            && let Some(last) = requests.last_mut()
        {
            last.fields = fields(line);
        }
        let words: Vec<&str> = line.split(' ').collect();
        if let ["GET" | "POST" | "PUT" | "DELETE", service, target] = words[..] {
            let (path, query) = target.split_once('?').unwrap_or((target, ""));
            requests.push(Shape {
                method: words[0].to_owned(),
                service: service.to_owned(),
                path: path
                    .split('/')
                    .filter(|part| !part.is_empty())
                    .map(str::to_owned)
                    .collect(),
                query: names(query),
                fields: BTreeSet::new(),
            });
        }
    }
    requests
}

fn is_variable(segment: &str) -> bool {
    segment.contains("${")
}

fn names(query: &str) -> BTreeSet<String> {
    let query = Query::parse(query);
    query.names().into_iter().map(str::to_owned).collect()
}

fn fields(body: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    if let Ok(body) = serde_json::from_str(body) {
        collect(&body, "", &mut found);
    }
    found
}

fn collect(value: &Value, at: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let at = format!("{at}/{name}");
                collect(value, &at, found);
                found.insert(at);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, at, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Service;
    use fakecloud::Exchange;
    use rstest::rstest;
    use std::time::Duration;

    fn call(text: &str) -> Call {
        let (request, body) = text.split_once(" {").unwrap_or((text, ""));
        let (method, target) = request.split_once(' ').unwrap();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        Call {
            number: 0,
            at: Duration::ZERO,
            took: None,
            details: Exchange {
                service: Service::Neutron.name(),
                method: method.to_owned(),
                path: format!("/network/v2.0/{path}"),
                query: query.to_owned(),
                body: if body.is_empty() {
                    String::new()
                } else {
                    format!("{{{body}")
                },
                ..Exchange::default()
            },
        }
    }

    #[rstest]
    #[case::as_it_was_asked("GET ports?device_id=a&device_id=b", "")]
    #[case::another_page("GET ports?device_id=a&limit=1&marker=m", "")]
    #[case::another_filter("GET ports?colour=red", "no such request")]
    #[case::another_method("DELETE networks", "no such request")]
    #[case::another_path("GET ports/a/colours", "no such request")]
    #[case::a_field("PUT ports/a {\"port\":{\"security_groups\":[]}}", "")]
    #[case::another_field("PUT ports/a {\"port\":{\"colour\":1}}", "no /port/colour")]
    #[case::a_field_in_a_list(
        "PUT ports/a {\"port\":{\"allowed_address_pairs\":[{\"colour\":1}]}}",
        "no /port/allowed_address_pairs/colour"
    )]
    fn reports(#[case] text: &str, #[case] expected: &str) {
        let problem = unrecorded(&call(text)).unwrap_or_default();
        assert!(
            problem.ends_with(expected) && problem.is_empty() == expected.is_empty(),
            "{problem}"
        );
    }
}
