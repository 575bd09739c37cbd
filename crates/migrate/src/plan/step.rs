//! A plan, and how it is printed.

use super::Change;
use serde::Serialize;
use std::fmt;

/// All steps, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// What the plan does, in one line.
    pub title: String,
    /// What the user should know before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The steps.
    pub steps: Vec<Step>,
}

/// One step.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Step {
    /// What it does.
    pub title: String,
    /// Whether all its changes are made.
    pub state: State,
    /// Files to create.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<File>,
    /// Commands to run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// Flags to change, in this order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// Further things to do, or to know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What to look at before the next step.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub look: Vec<String>,
    /// How to go back to the state before it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub back: Vec<String>,
}

/// Whether the changes of a step are made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum State {
    /// Not all of them.
    #[default]
    Open,
    /// All of them.
    Done,
}

impl State {
    pub(super) fn done_if(done: bool) -> Self {
        if done { Self::Done } else { Self::Open }
    }
}

/// A file to create.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct File {
    /// Its path, and where.
    pub path: String,
    /// Its text.
    pub text: String,
}

impl Plan {
    /// The first step that is not done, and its number, from 1.
    #[must_use]
    pub fn next(&self) -> Option<(usize, &Step)> {
        let mut steps = self.steps.iter().enumerate();
        let (index, step) = steps.find(|(_, step)| step.state == State::Open)?;
        Some((index + 1, step))
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { title, notes, steps } = self;
        writeln!(f, "{title}")?;
        for note in notes {
            writeln!(f, "  {note}")?;
        }
        for (index, step) in steps.iter().enumerate() {
            writeln!(
                f,
                "\nStep {}: {}{}",
                index + 1,
                step.title,
                if step.state == State::Done { " [done]" } else { "" }
            )?;
            if step.state == State::Open {
                step.fmt(f)?;
            }
        }
        if steps.iter().all(|step| step.state == State::Done) {
            writeln!(f, "\nNothing is left to do.")?;
        }
        Ok(())
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for File { path, text } in &self.files {
            writeln!(f, "  File {path}:")?;
            text.lines().try_for_each(|line| writeln!(f, "      {line}"))?;
        }
        section(f, "Run", &self.commands)?;
        for change in &self.changes {
            self::change(f, change)?;
        }
        for note in &self.notes {
            writeln!(f, "  {note}")?;
        }
        section(f, "Check", &self.look)?;
        section(f, "To go back", &self.back)
    }
}

fn section(f: &mut fmt::Formatter<'_>, title: &str, lines: &[String]) -> fmt::Result {
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(f, "  {title}:")?;
    let mut lines = lines.iter().flat_map(|text| text.lines());
    lines.try_for_each(|line| writeln!(f, "      {line}"))
}

fn change(f: &mut fmt::Formatter<'_>, change: &Change) -> fmt::Result {
    let Change {
        program,
        nodes,
        file,
        remove,
        add,
    } = change;
    let nodes = if nodes.is_empty() {
        String::new()
    } else {
        format!(" on {}", nodes.join(", "))
    };
    let file = file.as_ref().map(|file| format!(", in {file}")).unwrap_or_default();
    writeln!(f, "  Change {program}{nodes}{file}:")?;
    remove.iter().try_for_each(|flag| writeln!(f, "      - {flag}"))?;
    add.iter().try_for_each(|flag| writeln!(f, "      + {flag}"))
}
