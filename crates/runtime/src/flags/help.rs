//! Help in pflag's layout, and the reference page.

use super::{Arity, Flag, Section, Set};
use std::{
    fmt::{self, Write},
    io::{self, IsTerminal},
};

/// The width of the help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Show {
    /// Every flag on one line.
    Unwrapped,
    /// Lines of at most this many columns, if the terminal is wide enough.
    Columns(usize),
}

/// The minimum width of a help text.
const NARROWEST: usize = 24;

/// The width of a terminal without `COLUMNS`.
const USUAL: usize = 100;

impl Show {
    /// As wide as the terminal; unwrapped if the standard output is not a terminal.
    #[must_use]
    pub fn for_stdout() -> Self {
        let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        if io::stdout().is_terminal() {
            Self::Columns(columns.unwrap_or(USUAL))
        } else {
            Self::Unwrapped
        }
    }
}

impl Set<'_> {
    /// The help: description, usage, and the flags by section.
    pub fn help(&self, show: Show) -> String {
        let mut text = format!("{}\n\nUsage:\n  {} [flags]\n", self.about, self.program);
        let written = self
            .sections
            .iter()
            .try_for_each(|section| write!(text, "{}", Layout { section, show }));
        debug_assert!(written.is_ok(), "writing to a string cannot fail");
        text
    }

    /// The same as a page of Markdown, one table per section, for the reference.
    pub fn reference(&self) -> String {
        let mut page = String::new();
        let written = self
            .sections
            .iter()
            .try_for_each(|section| markdown(section, &mut page));
        debug_assert!(written.is_ok(), "writing to a string cannot fail");
        page
    }
}

/// Writes one section as a table of Markdown.
///
/// # Errors
/// Those of `page`.
pub fn markdown(section: &Section<'_>, page: &mut impl Write) -> fmt::Result {
    writeln!(
        page,
        "\n## {}\n\n| Flag | Type | Default | Meaning |\n|---|---|---|---|",
        section.title()
    )?;
    section.flags.iter().try_for_each(|flag| {
        let short = flag.short.map_or_else(String::new, |letter| format!("`-{letter}`, "));
        let kind = if flag.value.kind().is_empty() {
            "bool"
        } else {
            flag.value.kind()
        };
        let default = flag
            .value
            .default_note()
            .map_or_else(String::new, |default| format!("`{default}`"));
        let help = flag
            .usage()
            .replace('|', "\\|")
            .replace('<', "&lt;")
            .replace('\n', "<br>");
        writeln!(page, "| {short}`--{}` | {kind} | {default} | {help} |", flag.name)
    })
}

struct Layout<'s, 'a> {
    section: &'s Section<'a>,
    show: Show,
}

impl fmt::Display for Layout<'_, '_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "\n{}:\n\n", self.section.title())?;
        let lefts: Vec<_> = self.section.flags.iter().map(Flag::left).collect();
        let column = lefts.iter().map(String::len).max().unwrap_or(0) + 3;
        for (flag, left) in self.section.flags.iter().zip(lefts) {
            let default = flag
                .value
                .default_note()
                .map_or_else(String::new, |note| format!(" (default {note})"));
            let text = format!("{}{default}", flag.usage());
            writeln!(out, "{left:column$}{}", wrapped(&text, column, self.show))?;
        }
        Ok(())
    }
}

impl Flag<'_> {
    /// `      --name type`.
    fn left(&self) -> String {
        let start = self
            .short
            .map_or_else(|| "    ".to_owned(), |letter| format!("  -{letter}"));
        let comma = if self.short.is_some() { "," } else { " " };
        let kind = match (self.value.kind(), self.value.arity()) {
            ("", _) => String::new(),
            (kind, Arity::One) => format!(" {kind}"),
            (kind, Arity::Optional) => format!(" {kind}[=true]"),
        };
        format!("{start}{comma} --{}{kind}", self.name)
    }

    fn usage(&self) -> String {
        match self.deprecated {
            Some(why) => format!("{} (DEPRECATED: {why})", self.help),
            None => self.help.to_string(),
        }
    }
}

/// The text, wrapped between words, with all lines but the first indented to the column.
fn wrapped(text: &str, column: usize, show: Show) -> String {
    let indent = format!("\n{}", " ".repeat(column));
    let room = match show {
        Show::Columns(columns) if columns >= column + NARROWEST => columns - column,
        _ => usize::MAX,
    };
    let lines: Vec<String> = text.lines().flat_map(|line| broken(line, room)).collect();
    lines.join(&indent)
}

fn broken(line: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in line.split(' ') {
        let width = lines.last().map_or(0, |last| last.chars().count());
        match lines.last_mut() {
            Some(last) if width == 0 || width + 1 + word.chars().count() <= room => {
                last.push_str(if width == 0 { "" } else { " " });
                last.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
