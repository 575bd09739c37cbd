//! The table at the end: a row a measurement, a column a program, and how many times ours the others are.

use crate::replica::Program;
use std::{collections::BTreeMap, fmt};

const COLUMNS: [Program; 3] = [Program::Ours, Program::Peer, Program::PeerTuned];

/// What was measured.
#[derive(Default)]
pub struct Table {
    rows: Vec<(String, BTreeMap<&'static str, String>)>,
    broken: Vec<String>,
}

impl Table {
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts a value into its cell, and prints it at once.
    pub fn put(&mut self, row: &str, program: Program, value: impl fmt::Display) {
        println!("{:<12} {row}: {value}", program.name());
        let index = self.rows.iter().position(|(name, _)| name == row).unwrap_or_else(|| {
            self.rows.push((row.to_owned(), BTreeMap::new()));
            self.rows.len() - 1
        });
        self.rows[index].1.insert(program.name(), value.to_string());
    }

    /// The same for a count of which we promise something: if that does not hold of ours, the run fails at its end.
    pub fn put_promised(&mut self, row: &str, program: Program, value: impl fmt::Display, promise: Promise) {
        let Promise { holds, words } = promise;
        if program == Program::Ours && holds == Holds::No {
            self.broken.push(format!("{row}: {value}, but promised: {words}"));
        }
        self.put(row, program, value);
    }

    /// Something else that we promise.
    pub fn promise(&mut self, words: &str, holds: bool) {
        if !holds {
            self.broken.push(format!("not {words}"));
        }
    }

    /// A sentence for every promise that did not hold.
    pub fn into_broken(self) -> Vec<String> {
        self.broken
    }
}

/// What we promise of a count, whatever the machine: counts, other than times, are the same everywhere.
pub struct Promise {
    holds: Holds,
    words: String,
}

#[derive(PartialEq, Eq)]
enum Holds {
    Yes,
    No,
}

impl Promise {
    /// It is exactly so many.
    pub fn exactly(count: u64, promised: u64) -> Self {
        Self::new(count == promised, format!("exactly {promised}"))
    }

    /// It is so many or fewer.
    pub fn at_most(count: u64, promised: u64) -> Self {
        Self::new(count <= promised, format!("at most {promised}"))
    }

    /// This holds; the words say what.
    pub fn that(holds: bool, words: &str) -> Self {
        Self::new(holds, words.to_owned())
    }

    /// In other words.
    pub fn in_words(self, words: &str) -> Self {
        let words = words.to_owned();
        Self { words, ..self }
    }

    fn new(holds: bool, words: String) -> Self {
        let holds = if holds { Holds::Yes } else { Holds::No };
        Self { holds, words }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [ours, others @ ..] = COLUMNS;
        let ratios = others.map(|other| format!("{} ÷ {}", other.name(), ours.name()));
        writeln!(
            f,
            "| | {} | {} |",
            COLUMNS.map(Program::name).join(" | "),
            ratios.join(" | ")
        )?;
        writeln!(f, "|---|---|---|---|---|---|")?;
        for (name, cells) in &self.rows {
            let cell = |program: Program| cells.get(program.name()).map_or("–", String::as_str);
            let ratios = others.map(|other| ratio(cell(other), cell(ours)).unwrap_or_else(|| "–".to_owned()));
            writeln!(
                f,
                "| {name} | {} | {} |",
                COLUMNS.map(cell).join(" | "),
                ratios.join(" | ")
            )?;
        }
        Ok(())
    }
}

/// How many times `ours` another value is, if both are so much of the same.
fn ratio(other: &str, ours: &str) -> Option<String> {
    let ((other, unit), (ours, same)) = (amount(other)?, amount(ours)?);
    let digits = if other < ours { 2 } else { 1 };
    (unit == same && ours > 0.0).then(|| format!("{:.digits$} ×", other / ours))
}

/// The amount that a cell begins with, and its unit. A share is none, nor is a pair.
fn amount(cell: &str) -> Option<(f64, &str)> {
    let (number, rest) = cell.split_once(' ').unwrap_or((cell, ""));
    let unit = rest.split([' ', ',']).next().unwrap_or_default();
    let is_amount = !matches!(unit, "%" | "/");
    Some((number.parse().ok()?, unit)).filter(|_| is_amount)
}

#[cfg(test)]
mod tests {
    use super::{Promise, Table, ratio};
    use crate::replica::Program;

    #[test]
    fn ratios() {
        for (other, ours, expected) in [
            ("184.20 s", "9.21 s", Some("20.0 ×")),
            ("75.0 MiB, 60.1 of it data", "15.0 MiB, 8.2 of it data", Some("5.0 ×")),
            ("4007", "80", Some("50.1 ×")),
            ("0.02 s", "0.62 s", Some("0.03 ×")),
            ("4007", "0", None),
            ("98 %", "49 %", None),
            ("500 / 1", "1 / 500", None),
            ("1.5 s", "1.5 MiB", None),
            ("–", "1", None),
        ] {
            assert_eq!(ratio(other, ours).as_deref(), expected, "{other} ÷ {ours}");
        }
    }

    #[test]
    fn missed_targets_are_reported() {
        let mut table = Table::new();
        table.put_promised("kept", Program::Ours, 2, Promise::at_most(2, 2));
        table.put_promised("not ours", Program::Peer, 9, Promise::exactly(9, 0));
        table.put_promised("calls", Program::Ours, 3, Promise::at_most(3, 2));
        table.put_promised("reads", Program::Ours, 1, Promise::exactly(1, 0));
        let writes = Promise::exactly(2010, 2000).in_words("two a node");
        table.put_promised("writes a node", Program::Ours, "2.01", writes);
        assert_eq!(table.to_string().lines().count(), 7, "a row is missing:\n{table}");
        table.promise("ahead of the peer", false);
        table.promise("in time", true);
        let expected = [
            "calls: 3, but promised: at most 2",
            "reads: 1, but promised: exactly 0",
            "writes a node: 2.01, but promised: two a node",
            "not ahead of the peer",
        ];
        assert_eq!(table.into_broken(), expected);
    }

    #[test]
    fn a_row_ends_with_its_ratios() {
        let mut table = Table::new();
        table.put("calls", Program::Ours, 2);
        table.put("calls", Program::PeerTuned, 30);
        let expected = "| | outrigger | go | go, tuned | go ÷ outrigger | go, tuned ÷ outrigger |\n\
                        |---|---|---|---|---|---|\n\
                        | calls | 2 | – | 30 | – | 15.0 × |\n";
        assert_eq!(table.to_string(), expected);
    }
}
