//! How much is logged, and where.

use super::glob;
use crate::flags::{Value, quote};
use tracing::Metadata;

/// klog's verbosity: 0 and up, more is more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Level(pub u32);

/// Verbosities of single source files, `pattern=N,…`.
///
/// A pattern is matched against a file's name without `.rs`; that of `mod.rs`, `lib.rs` and `main.rs` is the name of
/// their folder. One that contains `/` is matched against the end of the path. `*`, `?` and `[a-z]` work as in a shell.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VModule(Vec<(String, Level)>);

/// Dependencies that log; everything else is ours.
const DEPENDENCIES: [&str; 17] = [
    "axum",
    "h2",
    "hyper",
    "hyper_rustls",
    "hyper_util",
    "kube",
    "kube_client",
    "kube_core",
    "kube_runtime",
    "log",
    "mio",
    "reqwest",
    "rustls",
    "tokio",
    "tokio_rustls",
    "tower",
    "tower_http",
];

/// Logs every failed request as an error, although the caller reports or retries it.
const NOISE: &str = "kube_client::client::builder";

impl Level {
    /// The verbosity from which on a place in the code is shown; `None` if it never is.
    pub(super) fn of(place: &Metadata<'_>) -> Option<Self> {
        let level = *place.level();
        let v = match place.target() {
            target if target.starts_with(NOISE) => Some(8),
            target if is_dependency(target) => theirs(level),
            _ => Some(ours(level)),
        };
        v.map(Self)
    }
}

fn ours(level: tracing::Level) -> u32 {
    match level {
        tracing::Level::TRACE => 6,
        tracing::Level::DEBUG => 4,
        _ => 0,
    }
}

fn theirs(level: tracing::Level) -> Option<u32> {
    match level {
        tracing::Level::ERROR => Some(0),
        tracing::Level::WARN => Some(4),
        tracing::Level::TRACE => None,
        _ => Some(8),
    }
}

pub(super) fn is_dependency(target: &str) -> bool {
    let root = target.split("::").next().unwrap_or(target);
    DEPENDENCIES.contains(&root)
}

impl VModule {
    /// Whether no file has a verbosity of its own.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The verbosity of a file, if it has one of its own. The first pattern that matches wins.
    pub(super) fn find(&self, file: &str) -> Option<Level> {
        self.0
            .iter()
            .find(|(pattern, _)| covers(pattern, file))
            .map(|(_, level)| *level)
    }
}

fn covers(pattern: &str, file: &str) -> bool {
    let path = file.strip_suffix(".rs").unwrap_or(file);
    let mut names = path.rsplit('/');
    let stem = match names.next() {
        Some("mod" | "lib" | "main") => names.find(|name| *name != "src"),
        stem => stem,
    };
    let depth = pattern.matches('/').count();
    if depth == 0 {
        return stem.is_some_and(|stem| glob::matches(pattern, stem));
    }
    let start = path.rmatch_indices('/').nth(depth).map_or(0, |(slash, _)| slash + 1);
    glob::matches(pattern, &path[start..])
}

impl Value for Level {
    fn kind(&self) -> &'static str {
        "Level"
    }

    fn set(&mut self, given: &[String]) -> Result<(), String> {
        for text in given {
            self.0 = number(text)?;
        }
        Ok(())
    }

    fn print(&self) -> String {
        self.0.to_string()
    }
}

impl Value for VModule {
    fn kind(&self) -> &'static str {
        "pattern=N,..."
    }

    fn set(&mut self, given: &[String]) -> Result<(), String> {
        self.0.clear();
        for pair in given
            .iter()
            .flat_map(|text| text.split(','))
            .filter(|pair| !pair.is_empty())
        {
            let (pattern, level) = pair
                .split_once('=')
                .filter(|(pattern, _)| !pattern.is_empty())
                .ok_or_else(|| {
                    let pair = quote(pair);
                    format!("{pair} does not have the pattern=N format")
                })?;
            self.0.push((pattern.to_owned(), Level(number(level)?)));
        }
        Ok(())
    }

    fn print(&self) -> String {
        self.0
            .iter()
            .map(|(pattern, Level(v))| format!("{pattern}={v}"))
            .collect::<Vec<_>>()
            .join(",")
    }
}

fn number(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| i32::try_from(*number).is_ok());
    number.ok_or_else(|| format!("{} is not a verbosity between 0 and 2147483647", quote(text)))
}
