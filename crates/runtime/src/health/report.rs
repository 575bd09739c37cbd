//! The text of a health report, as the API server writes it.

use std::fmt::Write as _;

/// The query of a request: `?verbose` and `?exclude=<check>`, which may be repeated.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    detail: Detail,
    exclude: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Detail {
    #[default]
    Brief,
    Verbose,
}

impl Query {
    /// Parses the query of a URL.
    #[must_use]
    pub fn parse(query: &str) -> Self {
        let mut parsed = Self::default();
        for (key, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*key {
                "verbose" => parsed.detail = Detail::Verbose,
                "exclude" => parsed.exclude.push(value.into_owned()),
                _ => {}
            }
        }
        parsed
    }

    pub(super) fn excludes(&self, name: &str) -> bool {
        self.exclude.iter().any(|excluded| excluded == name)
    }
}

/// A response: the HTTP status and the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// 200 or 500.
    pub status: u16,
    /// The text.
    pub body: String,
}

/// The result of one check.
pub(super) struct Line {
    pub(super) name: String,
    pub(super) outcome: Outcome,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Ok,
    Failed,
    Excluded,
}

/// The report of an endpoint: brief if all checks pass and the client does not request details.
pub(super) fn all(endpoint: &str, lines: &[Line], query: &Query) -> Report {
    let mut body = String::new();
    for Line { name, outcome } in lines {
        // Writing to a string cannot fail.
        let _ = match outcome {
            Outcome::Ok => writeln!(body, "[+]{name} ok"),
            Outcome::Failed => writeln!(body, "[-]{name} failed: reason withheld"),
            Outcome::Excluded => writeln!(body, "[+]{name} excluded: ok"),
        };
    }
    if let Some(unknown) = unknown_exclusions(lines, query) {
        let _ = writeln!(
            body,
            "warn: some health checks cannot be excluded: no matches for {unknown}"
        );
    }
    if lines.iter().any(|line| line.outcome == Outcome::Failed) {
        return Report {
            status: 500,
            body: format!("{body}{endpoint} check failed\n"),
        };
    }
    match query.detail {
        Detail::Brief => Report {
            status: 200,
            body: "ok".into(),
        },
        Detail::Verbose => Report {
            status: 200,
            body: format!("{body}{endpoint} check passed\n"),
        },
    }
}

/// The report of a single check, with the reason of a failure.
pub(super) fn one(result: Result<(), String>) -> Report {
    match result {
        Ok(()) => Report {
            status: 200,
            body: "ok".into(),
        },
        Err(reason) => Report {
            status: 500,
            body: format!("internal server error: {reason}\n"),
        },
    }
}

fn unknown_exclusions(lines: &[Line], query: &Query) -> Option<String> {
    let mut unknown: Vec<_> = query
        .exclude
        .iter()
        .filter(|name| lines.iter().all(|line| line.name != **name))
        .collect();
    unknown.sort();
    unknown.dedup();
    let quoted: Vec<_> = unknown.iter().map(|name| format!("{name:?}")).collect();
    (!quoted.is_empty()).then(|| quoted.join(","))
}
