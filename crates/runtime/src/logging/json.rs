//! component-base's JSON: `{"ts":1700000000000.123,"caller":"dir/file.rs:42","msg":"message","v":0,"key":"value"}`.

use super::{
    fields::{Fields, Pairs},
    layer::{Place, Severity},
};
use jiff::Timestamp;
use serde_json::Value;

/// One line. Errors have no `v`, as in component-base; warnings have a `severity`, which component-base does not have.
pub(super) fn line(now: Timestamp, place: &Place<'_>, context: &Pairs, fields: &Fields) -> String {
    let Place {
        severity,
        file,
        line,
        v,
    } = place;
    let mut members: Vec<(&str, Value)> = vec![("ts", millis(now).into())];
    members.push(("caller", format!("{}:{line}", last_two(file)).into()));
    members.push(("msg", fields.message.as_str().into()));
    match severity {
        Severity::Error => {}
        Severity::Warning => members.extend([("v", (*v).into()), ("severity", "warning".into())]),
        Severity::Info => members.push(("v", (*v).into())),
    }
    let mut pairs = context.clone();
    pairs.extend(&fields.pairs);
    members.extend(pairs.iter().map(|(key, value)| (key, value.json())));
    members.extend(fields.error.as_ref().map(|error| ("err", error.json())));

    let members: Vec<_> = members
        .iter()
        .map(|(key, value)| format!("{}:{value}", Value::from(*key)))
        .collect();
    format!("{{{}}}\n", members.join(","))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "component-base writes a float of milliseconds, too"
)]
fn millis(now: Timestamp) -> f64 {
    now.as_nanosecond() as f64 / 1_000_000.0
}

/// `dir/file.rs` of a longer path.
fn last_two(path: &str) -> &str {
    path.rmatch_indices('/')
        .nth(1)
        .map_or(path, |(slash, _)| &path[slash + 1..])
}
