//! What a script comes to: worked out without running anything.

use super::{
    NOT_FOUND, Problem,
    script::{self, Assignment, How, Options, Statement, StatementKind, Switch},
    words::{Piece, Word},
};
use std::{collections::BTreeMap, io};

/// The program that a script ends in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The variables that the script gives to the program, beside those it was started with.
    pub env: BTreeMap<String, String>,
    pub program: String,
    pub args: Vec<String>,
    /// What a shell would have complained about, and gone on.
    pub warnings: Vec<Problem>,
}

/// The files that a script looks at.
pub trait Files {
    /// Whether there is a file at this path.
    fn is_file(&self, path: &str) -> bool;
    /// Its text.
    fn read(&self, path: &str) -> io::Result<String>;
}

/// Works out a script, started with these options and this environment.
pub fn plan(
    text: &str,
    options: Options,
    environment: BTreeMap<String, String>,
    files: &dyn Files,
) -> Result<Plan, Problem> {
    let statements = script::parse(text)?;
    let mut shell = Shell {
        variables: environment
            .into_iter()
            .map(|(name, value)| {
                (
                    name,
                    Variable {
                        value,
                        scope: Scope::Inherited,
                    },
                )
            })
            .collect(),
        options,
        files,
        place: Place::Script,
        warnings: Vec::new(),
    };
    let last = statements.last().map_or(1, |statement| statement.line);
    match shell.list(&statements, Position::Last)? {
        Some(plan) => Ok(plan),
        None => Err(Problem::new(last, "the script runs no program").code(NOT_FOUND)),
    }
}

struct Shell<'a> {
    variables: BTreeMap<String, Variable>,
    options: Options,
    files: &'a dyn Files,
    place: Place,
    warnings: Vec<Problem>,
}

#[derive(Clone)]
struct Variable {
    value: String,
    scope: Scope,
}

/// Who sees a variable.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// The program, because the shell was started with it; unchanged.
    Inherited,
    /// The program, with a value of the script.
    Exported,
    /// Only the script.
    Shell,
}

/// Where a statement stands: a sourced file may only set variables.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Script,
    File,
}

/// Whether something follows: only the last program can take the place of the shell.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    Last,
    Before,
}

impl Shell<'_> {
    fn list(&mut self, statements: &[Statement], position: Position) -> Result<Option<Plan>, Problem> {
        let count = statements.len();
        for (at, statement) in statements.iter().enumerate() {
            let position = if at + 1 == count { position } else { Position::Before };
            if let Some(plan) = self.statement(statement, position)? {
                return Ok(Some(plan));
            }
        }
        Ok(None)
    }

    fn statement(&mut self, statement: &Statement, position: Position) -> Result<Option<Plan>, Problem> {
        let line = statement.line;
        match &statement.kind {
            StatementKind::Assign(assignments) => self.assign(assignments, line)?,
            StatementKind::Export(assignments, names) => {
                self.assign(assignments, line)?;
                let assigned = assignments.iter().map(|assignment| &assignment.name);
                assigned.chain(names).for_each(|name| self.export(name));
            }
            StatementKind::Set(args) => self.options.change(args).map_err(|text| Problem::new(line, text))?,
            StatementKind::Source(file) => self.source(file, line)?,
            StatementKind::If { file, then, otherwise } => {
                let branch = if self.files.is_file(&self.text(file, line)?) {
                    then
                } else {
                    otherwise
                };
                return self.list(branch, position);
            }
            StatementKind::Run {
                how,
                assignments,
                words,
            } => {
                if self.place == Place::File {
                    return Err(Problem::new(line, "a sourced file may only set variables"));
                }
                if *how == How::Call && position == Position::Before {
                    let name = words
                        .first()
                        .map(|word| self.text(word, line))
                        .transpose()?
                        .unwrap_or_default();
                    let text =
                        format!("{name} is not the last command: this image has no shell, only the last can be run");
                    return Err(Problem::new(line, text).code(NOT_FOUND));
                }
                return self.run(assignments, words, line).map(Some);
            }
        }
        Ok(None)
    }

    fn assign(&mut self, assignments: &[Assignment], line: usize) -> Result<(), Problem> {
        for Assignment { name, value } in assignments {
            let value = self.text(value, line)?;
            let exported = match self.variables.get(name).map(|variable| variable.scope) {
                Some(Scope::Inherited | Scope::Exported) => true,
                Some(Scope::Shell) | None => self.options.export == Switch::On,
            };
            let scope = if exported { Scope::Exported } else { Scope::Shell };
            self.variables.insert(name.clone(), Variable { value, scope });
        }
        Ok(())
    }

    fn export(&mut self, name: &str) {
        if let Some(variable) = self.variables.get_mut(name)
            && variable.scope == Scope::Shell
        {
            variable.scope = Scope::Exported;
        }
    }

    /// A shell goes on without a file that it cannot read, unless it was told to end at the first failure.
    fn source(&mut self, file: &Word, line: usize) -> Result<(), Problem> {
        let path = self.text(file, line)?;
        let text = match self.files.read(&path) {
            Ok(text) => text,
            Err(error) => {
                let problem = Problem::new(line, format!("cannot read {path}: {error}")).code(1);
                return match self.options.fail {
                    Switch::On => Err(problem),
                    Switch::Off => {
                        self.warnings.push(problem);
                        Ok(())
                    }
                };
            }
        };
        let before = std::mem::replace(&mut self.place, Place::File);
        let done = script::parse(&text).and_then(|statements| self.list(&statements, Position::Before));
        self.place = before;
        done.map(drop).map_err(|problem| {
            let inner = problem.file.clone();
            problem.in_file(inner.as_deref().unwrap_or(&path))
        })
    }

    fn run(&mut self, assignments: &[Assignment], words: &[Word], line: usize) -> Result<Plan, Problem> {
        let mut fields = Vec::new();
        for word in words {
            fields.extend(self.fields(word, line)?);
        }
        self.assign(assignments, line)?;
        for assignment in assignments {
            self.export(&assignment.name);
        }
        let mut fields = fields.into_iter();
        let nothing = || Problem::new(line, "the program's name is empty").code(NOT_FOUND);
        let program = fields.next().filter(|name| !name.is_empty()).ok_or_else(nothing)?;
        let exported = self
            .variables
            .iter()
            .filter(|(_, variable)| variable.scope == Scope::Exported);
        Ok(Plan {
            env: exported
                .map(|(name, variable)| (name.clone(), variable.value.clone()))
                .collect(),
            program,
            args: fields.collect(),
            warnings: std::mem::take(&mut self.warnings),
        })
    }

    /// A word as one text.
    fn text(&self, word: &Word, line: usize) -> Result<String, Problem> {
        let mut text = String::new();
        for piece in word {
            match piece {
                Piece::Plain(part) | Piece::Quoted(part) => text.push_str(part),
                Piece::Variable { name, .. } => text.push_str(self.value(name, line)?),
            }
        }
        Ok(text)
    }

    /// A word as the arguments it becomes: a variable outside quotes is split at white space, and may leave nothing.
    fn fields(&self, word: &Word, line: usize) -> Result<Vec<String>, Problem> {
        let mut fields: Vec<String> = Vec::new();
        let mut open = false;
        for piece in word {
            let (text, split) = match piece {
                Piece::Plain(text) | Piece::Quoted(text) => (text.as_str(), false),
                Piece::Variable { name, quoted } => (self.value(name, line)?, !quoted),
            };
            if !split {
                extend(&mut fields, text, open);
                open = true;
                continue;
            }
            let blank = |each: char| matches!(each, ' ' | '\t' | '\n');
            open &= !text.starts_with(blank);
            for part in text.split(blank).filter(|part| !part.is_empty()) {
                extend(&mut fields, part, open);
                open = false;
            }
            open = (open || !text.is_empty()) && !text.ends_with(blank);
        }
        Ok(fields)
    }

    fn value(&self, name: &str, line: usize) -> Result<&str, Problem> {
        match self.variables.get(name) {
            Some(variable) => Ok(&variable.value),
            None if self.options.unset == Switch::On => Err(Problem::new(line, format!("{name} is not set")).code(1)),
            None => Ok(""),
        }
    }
}

/// To the field that is still open, or as the next one.
fn extend(fields: &mut Vec<String>, text: &str, open: bool) {
    match fields.last_mut().filter(|_| open) {
        Some(field) => field.push_str(text),
        None => fields.push(text.to_owned()),
    }
}
