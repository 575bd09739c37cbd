//! klog's lines, in UTC: `I1115 18:00:00.000000    1234 file.rs:42] "message" key="value"`.

use super::{
    fields::{Fields, Pairs},
    layer::Place,
};
use crate::flags::quote;
use jiff::Timestamp;

/// One line, or several if a value has several.
pub(super) fn line(now: Timestamp, process: u32, place: &Place<'_>, context: &Pairs, fields: &Fields) -> String {
    let name = name(place.file);
    let time = now.strftime("%m%d %H:%M:%S%.6f");
    let mut line = format!("{}{time} {process:7} {name}:{}] ", place.severity.letter(), place.line);
    if fields.plain {
        line.push_str(&fields.message);
    } else {
        push_structured(&mut line, context, fields);
    }
    line.push('\n');
    line
}

/// The file's name; for `mod.rs` with its folder.
pub(super) fn name(path: &str) -> &str {
    let parts = usize::from(path.ends_with("/mod.rs"));
    path.rmatch_indices('/')
        .nth(parts)
        .map_or(path, |(slash, _)| &path[slash + 1..])
}

fn push_structured(line: &mut String, context: &Pairs, fields: &Fields) {
    line.push_str(&quote(&fields.message));
    if let Some(error) = &fields.error {
        line.push_str(" err");
        error.push_to(line);
    }
    let mut pairs = context.clone();
    pairs.extend(&fields.pairs);
    for (key, value) in pairs.iter() {
        line.extend([" ", key]);
        value.push_to(line);
    }
}
