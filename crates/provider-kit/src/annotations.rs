//! The annotations of Services, as one table per cloud: it feeds parsing, the reference page and admission.
//!
//! ```
//! # use cloud::Spec;
//! provider_kit::annotations! {
//!     /// What `example.com/size` holds.
//!     SIZE = "example.com/size", Integer { least: 1, most: 9 }, Refused, "`1`", Always, "how large the load balancer is";
//! }
//!
//! let spec = Spec { annotations: [("example.com/size".to_owned(), "ten".to_owned())].into(), ..Spec::default() };
//! assert_eq!(SIZE.integer(&Spec::default())?, None);
//! assert_eq!(
//!     SIZE.integer(&spec).unwrap_err().to_string(),
//!     "invalid annotation example.com/size: \"ten\" is not a whole number from 1 to 9"
//! );
//! # Ok::<(), cloud::Error>(())
//! ```

mod policy;
mod read;

pub use policy::Rule;
pub(crate) use read::items_of;

use std::fmt::Write;

/// One annotation: a row of a [`Table`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Annotation {
    /// Its key.
    pub key: &'static str,
    /// The values that it takes.
    pub kind: Kind,
    /// What happens to any other value.
    pub malformed: Malformed,
    /// What holds without it, in Markdown.
    pub default: &'static str,
    /// Whether a change of it reaches an existing load balancer.
    pub applied: Applied,
    /// What it does, in Markdown.
    pub meaning: &'static str,
}

/// The values of an annotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Any text.
    Text,
    /// Any value: that the annotation exists is enough.
    Presence,
    /// A whole number within limits.
    Integer {
        /// The smallest one.
        least: i64,
        /// The largest one.
        most: i64,
    },
    /// A truth as Go's `strconv.ParseBool` reads it: `true`, `1`, `T`, `False`, ….
    GoBoolean,
    /// `true` or `false`, spelled like this.
    Boolean,
    /// One of these words; the empty one is among them if it means "not given".
    Words(&'static [&'static str]),
    /// A comma-separated list.
    List,
    /// A comma-separated list of port numbers.
    Ports,
    /// A comma-separated list of CIDRs.
    Cidrs,
}

/// What happens to a value that is not of the annotation's kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Malformed {
    /// The Service is refused until its user corrects it.
    Refused,
    /// The default holds.
    Ignored,
}

/// Whether a change of an annotation reaches an existing load balancer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applied {
    /// It does.
    Always,
    /// It counts only when the load balancer, or its address, is created.
    AtCreation,
    /// It counts when the load balancer is deleted or becomes internal.
    AtDeletion,
    /// The manager writes it.
    Written,
}

/// All annotations of one cloud.
#[derive(Debug, Clone, Copy)]
pub struct Table {
    /// The name of the cloud on the command line: `digitalocean`.
    pub cloud: &'static str,
    /// The name of the cloud in prose: `DigitalOcean`.
    pub title: &'static str,
    /// The beginnings of keys that only this cloud reads: an unknown key with one of them is a typing error.
    pub prefixes: &'static [&'static str],
    /// The annotations, in the order of the documentation.
    pub rows: &'static [Annotation],
    /// What has to hold between several annotations.
    pub rules: &'static [Rule],
}

impl Table {
    /// The reference page, in Markdown.
    #[must_use]
    pub fn page(&self) -> String {
        let mut page = format!(
            "# The annotations of Services for {}\n\n\
             | annotation | value | default | meaning | applied to existing load balancers? |\n|---|---|---|---|---|\n",
            self.title
        );
        for row in self.rows {
            let (key, applied) = (row.key, row.applied.phrase());
            let _ = writeln!(
                page,
                "| `{key}` | {} | {} | {} | {applied} |",
                row.kind,
                cell(row.default),
                cell(row.meaning)
            );
        }
        page
    }
}

impl Applied {
    /// The words of the reference page.
    fn phrase(self) -> &'static str {
        match self {
            Self::Always => "yes",
            Self::AtCreation => "no",
            Self::AtDeletion => "counts when it is deleted or becomes internal",
            Self::Written => "written by the manager",
        }
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// Declares annotations, each as a constant, and `ROWS` with all of them in order.
///
/// A row is `NAME = key, kind, malformed, default, applied, meaning;` with variants of [`Kind`](crate::annotations::Kind),
/// [`Malformed`](crate::annotations::Malformed) and [`Applied`](crate::annotations::Applied).
#[macro_export]
macro_rules! annotations {
    ($($(#[$attribute:meta])* $name:ident = $key:expr, $kind:ident $({ $($field:ident: $value:expr),+ })? $(($words:expr))?,
       $malformed:ident, $default:literal, $applied:ident, $meaning:literal;)+) => {
        $($(#[$attribute])* #[doc = $meaning] pub const $name: $crate::annotations::Annotation =
            $crate::annotations::Annotation {
                key: $key,
                kind: $crate::annotations::Kind::$kind $({ $($field: $value),+ })? $(($words))?,
                malformed: $crate::annotations::Malformed::$malformed,
                default: $default,
                applied: $crate::annotations::Applied::$applied,
                meaning: $meaning,
            };)+

        /// Every annotation, in the order of the documentation.
        pub const ROWS: &[$crate::annotations::Annotation] = &[$($name),+];
    };
}

#[cfg(test)]
mod tests;
