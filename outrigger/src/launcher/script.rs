//! What a script executes, without executing it.
//!
//! ```text
//! set -o allexport
//! if [[ -f FILE ]]; then source FILE; else NAME=value; fi
//! exec PROGRAM FLAGS
//! ```

use super::{
    NOT_FOUND, Problem,
    words::{self, Statement, Word},
};
use std::{collections::BTreeMap, io};

/// For messages.
pub const FORM: &str =
    "this image has no shell, only scripts that set variables, source a file and execute one program";

/// The program that a script executes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Program {
    pub path: String,
    pub args: Vec<String>,
    /// The variables that the script sets.
    pub env: BTreeMap<String, String>,
    /// Problems that do not end a script.
    pub warnings: Vec<String>,
}

/// The files that a script reads.
pub trait Files {
    /// Whether this is a file.
    fn is_file(&self, path: &str) -> bool;
    /// Its content.
    fn read(&self, path: &str) -> io::Result<String>;
}

/// Whether a script exports its variables.
#[derive(Clone, Copy)]
enum Export {
    All,
    None,
}

/// Where a statement is. An `if` cannot be inside of another.
#[derive(Clone, Copy)]
enum Block {
    None,
    Taken,
    Skipped,
}

/// Interprets a script.
pub fn interpret(script: &str, files: &dyn Files) -> Result<Program, Problem> {
    let (mut program, mut export, mut block) = (Program::default(), Export::None, Block::None);
    let statements = words::split(script)?;
    for Statement { line, words } in &statements {
        let keywords: Vec<&str> = words.iter().map(Word::keyword).collect();
        match (block, keywords.as_slice()) {
            (Block::None, ["if", "[[", "-f", _, "]]"]) if files.is_file(&words[3].text) => block = Block::Taken,
            (Block::None, ["if", "[[", "-f", _, "]]"]) | (Block::Taken, ["else"]) => block = Block::Skipped,
            (Block::Skipped, ["else"]) => block = Block::Taken,
            (Block::Taken | Block::Skipped, ["fi"]) => block = Block::None,
            (Block::Taken | Block::Skipped, [keyword @ ("if" | "elif"), ..]) => {
                return Err(Problem::at(
                    *line,
                    format!("{keyword} inside of an if is not supported"),
                ));
            }
            (Block::Taken | Block::Skipped, ["then"]) | (Block::Skipped, _) => {}
            (_, ["set", "-o", "allexport"]) => export = Export::All,
            (_, ["source", _]) => source(&mut program, &words[1].text, export, files)?,
            (_, ["exec", _, ..]) => {
                program.path.clone_from(&words[1].text);
                program.args = words[2..].iter().map(|word| word.text.clone()).collect();
                return Ok(program);
            }
            _ => set(&mut program, words, export).map_err(|text| Problem::at(*line, text))?,
        }
    }
    let last = statements.last().map_or(1, |statement| statement.line);
    Err(Problem::at(last, "the script executes no program").code(NOT_FOUND))
}

/// A shell continues without a file that it cannot read.
fn source(program: &mut Program, path: &str, export: Export, files: &dyn Files) -> Result<(), Problem> {
    let text = match files.read(path) {
        Ok(text) => text,
        Err(error) => {
            program.warnings.push(format!("cannot read {path}: {error}"));
            return Ok(());
        }
    };
    let in_file = |problem: Problem| Problem::new(format!("{path}: {}", problem.text));
    for Statement { line, words } in words::split(&text).map_err(in_file)? {
        set(program, &words, export).map_err(|text| in_file(Problem::at(line, text)))?;
    }
    Ok(())
}

/// Sets the variables of `[export] NAME=value …`.
fn set(program: &mut Program, words: &[Word], export: Export) -> Result<(), String> {
    let (words, export) = match words.split_first() {
        Some((first, rest)) if first.keyword() == "export" => (rest, Export::All),
        _ => (words, export),
    };
    for word in words {
        let (name, value) = word
            .assignment()
            .ok_or_else(|| format!("{} is not supported: {FORM}", word.text))?;
        match export {
            Export::All => drop(program.env.insert(name.to_owned(), value.to_owned())),
            Export::None => return Err(format!("{name} is not exported: write export {name}=…")),
        }
    }
    Ok(())
}
