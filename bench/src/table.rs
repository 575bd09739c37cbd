//! The table at the end: a row a measurement, a column a program.

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
        writeln!(f, "| | {} |", COLUMNS.map(Program::name).join(" | "))?;
        writeln!(f, "|---|---|---|---|")?;
        for (name, cells) in &self.rows {
            let cells = COLUMNS.map(|program| cells.get(program.name()).map_or("–", String::as_str));
            writeln!(f, "| {name} | {} |", cells.join(" | "))?;
        }
        Ok(())
    }
}
