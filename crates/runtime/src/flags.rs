//! Command-line flags as Go programs have them: sections, `--name=value`, underscores for hyphens, lists that repeat,
//! durations like `1h10m`, and help in pflag's layout.
//!
//! A group of options is a plain struct whose `Default` holds the defaults and which lists its flags as a [`Section`]
//! that borrows its fields. A [`Set`] of sections parses a command line into those fields, prints help, and generates the
//! reference page. All invalid values are found in one pass.
//!
//! ```
//! use runtime::flags::{GoDuration, Section, Set, Switch};
//!
//! #[derive(Default)]
//! struct Lease { elect: Switch, retry: GoDuration }
//!
//! let mut lease = Lease::default();
//! let section = Section::new("lease")
//!     .flag("leader-elect", &mut lease.elect, "Elect a leader.")
//!     .flag("retry-period", &mut lease.retry, "Time between retries.");
//! Set::new("demo", "A demonstration.", vec![section]).parse(["--leader_elect", "--retry-period=1m30s"])?;
//! assert_eq!((lease.elect, lease.retry.to_string().as_str()), (Switch::On, "1m30s"));
//! # Ok::<(), runtime::flags::Problems>(())
//! ```

mod auto;
mod help;
mod ignored;
mod list;
mod number;
mod parse;
mod problems;
mod switch;
mod value;
mod version;

pub use auto::Auto;
pub use go_text::{GoDuration, nearest, quote};
pub use help::{Show, markdown};
pub use ignored::Ignored;
pub use list::{Numbers, Strings, Texts};
pub use number::{Port, whole};
pub use parse::{Given, Parsed};
pub use problems::Problems;
pub use switch::Switch;
pub use value::{Arity, Value};
pub use version::Version;

use std::borrow::Cow;

/// The end of a sentence that suggests the candidate that was probably meant; empty if there is none.
pub fn or_nearest<'a>(word: &str, prefix: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, candidates).map_or_else(String::new, |near| format!(", did you mean {prefix}{near}?"))
}

/// A section of the help with its flags, borrowed from the struct they fill.
pub struct Section<'a> {
    name: &'static str,
    flags: Vec<Flag<'a>>,
}

/// One flag of a [`Section`].
pub struct Flag<'a> {
    name: &'static str,
    short: Option<char>,
    value: &'a mut (dyn Value + 'static),
    help: Cow<'static, str>,
    deprecated: Option<&'static str>,
}

/// All flags of a program.
pub struct Set<'a> {
    program: String,
    about: String,
    sections: Vec<Section<'a>>,
}

impl<'a> Section<'a> {
    /// An empty section; `name` as in the Go framework, for example `secure serving`.
    #[must_use]
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            flags: Vec::new(),
        }
    }

    /// Adds `--name`.
    #[must_use]
    pub fn flag(
        self,
        name: &'static str,
        value: &'a mut (dyn Value + 'static),
        help: impl Into<Cow<'static, str>>,
    ) -> Self {
        self.push(Flag {
            name,
            short: None,
            value,
            help: help.into(),
            deprecated: None,
        })
    }

    /// Adds `--name` with a one-letter form.
    #[must_use]
    pub fn short(
        self,
        letter: char,
        name: &'static str,
        value: &'a mut (dyn Value + 'static),
        help: &'static str,
    ) -> Self {
        self.push(Flag {
            name,
            short: Some(letter),
            value,
            help: help.into(),
            deprecated: None,
        })
    }

    /// Adds `--name`, whose use causes a warning with the reason of its deprecation.
    #[must_use]
    pub fn deprecated(
        self,
        name: &'static str,
        value: &'a mut (dyn Value + 'static),
        help: &'static str,
        why: &'static str,
    ) -> Self {
        self.push(Flag {
            name,
            short: None,
            value,
            help: help.into(),
            deprecated: Some(why),
        })
    }

    /// The title in the help: `Secure serving flags`.
    pub fn title(&self) -> String {
        let mut letters = self.name.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        first.into_iter().chain(letters).chain(" flags".chars()).collect()
    }

    /// The names of the flags, in the order they were added.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.flags.iter().map(|flag| flag.name)
    }

    fn push(mut self, flag: Flag<'a>) -> Self {
        self.flags.push(flag);
        self
    }
}

impl<'a> Set<'a> {
    /// All flags of `program`. Sections of the same name are merged.
    #[must_use]
    pub fn new(program: &str, about: &str, sections: Vec<Section<'a>>) -> Self {
        let mut merged: Vec<Section<'a>> = Vec::new();
        for section in sections {
            match merged.iter_mut().find(|known| known.name == section.name) {
                Some(known) => known.flags.extend(section.flags),
                None => merged.push(section),
            }
        }
        for section in &mut merged {
            section.flags.sort_by_key(|flag| flag.name);
        }
        Self {
            program: program.to_owned(),
            about: about.to_owned(),
            sections: merged,
        }
    }

    fn flags(&self) -> impl Iterator<Item = &Flag<'a>> {
        self.sections.iter().flat_map(|section| &section.flags)
    }
}

#[cfg(test)]
mod tests;
