//! The table at the end: a row a measurement, a column a program, and how many times ours the others are.

use crate::replica::Program;
use std::{collections::BTreeMap, fmt};

const COLUMNS: [Program; 3] = [Program::Ours, Program::Peer, Program::PeerTuned];

/// What was measured.
#[derive(Default)]
pub struct Table {
    rows: Vec<(String, BTreeMap<&'static str, String>)>,
}

impl Table {
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts a value into its cell, and says so at once.
    pub fn put(&mut self, row: &str, program: Program, value: impl fmt::Display) {
        println!("{:<12} {row}: {value}", program.name());
        let index = self.rows.iter().position(|(name, _)| name == row).unwrap_or_else(|| {
            self.rows.push((row.to_owned(), BTreeMap::new()));
            self.rows.len() - 1
        });
        self.rows[index].1.insert(program.name(), value.to_string());
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
    use super::{Table, ratio};
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
