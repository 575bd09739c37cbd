//! The blocks of a PEM file.

use base64::{Engine, prelude::BASE64_STANDARD};

/// A block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    /// `CERTIFICATE`
    pub(super) label: String,
    /// Its content, or its problem.
    pub(super) bytes: Result<Vec<u8>, String>,
}

/// The blocks of a text. Text around them, such as blank lines and comments, is ignored.
pub(super) fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Open> = None;
    let lines = text.trim_start_matches('\u{feff}').lines();
    for (number, line) in (1..).zip(lines.map(str::trim)) {
        match (boundary(line), &mut open) {
            (Some(Boundary::Begin(label)), _) => {
                blocks.extend(open.replace(Open::new(label, number)).map(Open::unclosed));
            }
            (Some(Boundary::End(label)), Some(_)) => {
                blocks.extend(open.take().map(|open| open.close(label, number)));
            }
            (Some(Boundary::End(label)), None) => {
                blocks.push(wrong(
                    label,
                    format!("line {number} ends a block that does not begin: add its first line"),
                ));
            }
            (Some(Boundary::Broken), _) => {
                let why = format!("line {number} should be five dashes, BEGIN or END, a name and five dashes");
                blocks.push(wrong("", why));
            }
            // Headers, like `Proc-Type: 4,ENCRYPTED`.
            (None, Some(open)) if open.body.is_empty() && line.contains(':') => {}
            (None, Some(open)) => open.body.push_str(line),
            (None, None) => {}
        }
    }
    blocks.extend(open.map(Open::unclosed));
    blocks
}

/// The number of certificates for a reader that accepts blocks only at the beginning of lines, and nothing after the last one: zero, if it
/// may find something else.
pub(super) fn strictly(text: &str) -> usize {
    let (begin, end) = ("-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----");
    let lines = |line: &str| text.lines().filter(|each| *each == line).count();
    let boundaries = text.matches("-----BEGIN ").count() + text.matches("-----END ").count();
    let found = lines(begin);
    // Many readers skip a certificate that has headers.
    let mut pairs = text.lines().zip(text.lines().skip(1));
    let has_headers = pairs.any(|(line, next)| line == begin && next.contains(':'));
    let is_clean = !has_headers
        && text.strip_suffix('\n').unwrap_or(text).ends_with(end)
        && !text.contains(['\r', '\u{feff}'])
        && boundaries == 2 * found
        && lines(end) == found;
    if is_clean { found } else { 0 }
}

enum Boundary<'a> {
    Begin(&'a str),
    End(&'a str),
    Broken,
}

fn boundary(line: &str) -> Option<Boundary<'_>> {
    let rest = line.strip_prefix("-----")?;
    let name = rest.strip_suffix("-----");
    let begin = name.and_then(|name| name.strip_prefix("BEGIN "));
    let end = name.and_then(|name| name.strip_prefix("END "));
    Some(match (begin, end) {
        (Some(label), _) => Boundary::Begin(label),
        (_, Some(label)) => Boundary::End(label),
        // A line of dashes above a comment is not a block
        _ if !rest.starts_with("BEGIN ") && !rest.starts_with("END ") => return None,
        _ => Boundary::Broken,
    })
}

/// A block that has begun.
struct Open {
    label: String,
    line: usize,
    body: String,
}

impl Open {
    fn new(label: &str, line: usize) -> Self {
        Self {
            label: label.to_owned(),
            line,
            body: String::new(),
        }
    }

    fn close(self, label: &str, line: usize) -> Block {
        if label != self.label {
            return wrong(
                &self.label,
                format!("it ends in line {line} as {label:?}: make both names the same"),
            );
        }
        let body: String = self.body.split_whitespace().collect();
        let bytes = BASE64_STANDARD.decode(body);
        let bytes = bytes.map_err(|_| format!("what stands below line {} is not base64: copy it again", self.line));
        Block {
            label: self.label,
            bytes,
        }
    }

    fn unclosed(self) -> Block {
        wrong(
            &self.label,
            format!("it begins in line {} and does not end: add its last line", self.line),
        )
    }
}

fn wrong(label: &str, why: String) -> Block {
    Block {
        label: label.to_owned(),
        bytes: Err(why),
    }
}
