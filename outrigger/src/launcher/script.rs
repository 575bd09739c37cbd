//! From words to statements: the few that these scripts are made of.

use super::{
    Problem,
    words::{self, Kind, Piece, Token, Word, plain},
};

/// A statement, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    pub line: usize,
    pub kind: StatementKind,
}

/// What a statement does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatementKind {
    /// `NAME=value …`
    Assign(Vec<Assignment>),
    /// `export NAME=value … NAME …`
    Export(Vec<Assignment>, Vec<String>),
    /// `set -o allexport`, `set -euo pipefail`, …
    Set(Vec<String>),
    /// `source FILE`, `. FILE`
    Source(Word),
    /// `if [[ -f FILE ]]; then …; else …; fi`
    If {
        file: Word,
        then: Vec<Statement>,
        otherwise: Vec<Statement>,
    },
    /// `exec PROGRAM …`, or a program as it is.
    Run {
        how: How,
        assignments: Vec<Assignment>,
        words: Vec<Word>,
    },
}

/// Whether the program was to take the shell's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    Exec,
    Call,
}

/// `NAME=value`; the value is never split into words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    pub name: String,
    pub value: Word,
}

/// What `set` and the shell's own options change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    pub export: Switch,
    pub fail: Switch,
    pub unset: Switch,
}

/// On or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Switch {
    On,
    #[default]
    Off,
}

impl Options {
    /// Applies the arguments of a `set`.
    pub fn change<S: AsRef<str>>(&mut self, args: &[S]) -> Result<(), String> {
        let mut args = args.iter().map(AsRef::as_ref);
        while let Some(arg) = args.next() {
            let (switch, letters) = match (arg.strip_prefix('-'), arg.strip_prefix('+')) {
                (Some(letters), _) => (Switch::On, letters),
                (_, Some(letters)) => (Switch::Off, letters),
                _ => return Err(format!("set {arg} is not understood")),
            };
            if letters.is_empty() {
                return Err(format!("set {arg} is not understood"));
            }
            for letter in letters.chars() {
                let name = match letter {
                    'a' => "allexport",
                    'e' => "errexit",
                    'u' => "nounset",
                    'o' => args
                        .next()
                        .ok_or_else(|| format!("set {arg} needs the name of an option"))?,
                    _ => {
                        return Err(format!(
                            "the shell option {letter} is not understood: only a, e, u and o are"
                        ));
                    }
                };
                self.switch(name, switch)?;
            }
        }
        Ok(())
    }

    fn switch(&mut self, name: &str, switch: Switch) -> Result<(), String> {
        match name {
            "allexport" => self.export = switch,
            "errexit" => self.fail = switch,
            "nounset" => self.unset = switch,
            // There are no pipes.
            "pipefail" => {}
            _ => {
                return Err(format!(
                    "the shell option {name} is not understood: only allexport, errexit, nounset and pipefail are"
                ));
            }
        }
        Ok(())
    }
}

/// The statements of a script.
pub fn parse(text: &str) -> Result<Vec<Statement>, Problem> {
    let tokens = words::split(text)?;
    let mut parser = Parser {
        tokens: &tokens,
        line: 1,
    };
    let statements = parser.list(&[])?;
    Ok(statements)
}

struct Parser<'a> {
    tokens: &'a [Token],
    line: usize,
}

impl<'a> Parser<'a> {
    /// Statements, until one of these keywords, which stays.
    fn list(&mut self, until: &[&str]) -> Result<Vec<Statement>, Problem> {
        let mut statements = Vec::new();
        loop {
            while self.next_if(|kind| *kind == Kind::Newline).is_some() {}
            match self.peek() {
                None if until.is_empty() => return Ok(statements),
                None => return Err(Problem::new(self.line, format!("{} is missing", until.join(" or ")))),
                Some(Kind::Word(word)) if plain(word).is_some_and(|text| until.contains(&text)) => {
                    return Ok(statements);
                }
                Some(_) => statements.push(self.statement()?),
            }
        }
    }

    fn statement(&mut self) -> Result<Statement, Problem> {
        let line = self.tokens.first().map_or(self.line, |token| token.line);
        let words = self.words();
        if words.is_empty() {
            return Err(Problem::new(line, "a ; has nothing before it"));
        }
        let kind = match plain(&words[0]) {
            Some("if") => self.condition(&words[1..], line)?,
            _ => simple(words, line)?,
        };
        Ok(Statement { line, kind })
    }

    fn condition(&mut self, words: &[Word], line: usize) -> Result<StatementKind, Problem> {
        let file = tested_file(words)
            .ok_or_else(|| Problem::new(line, "this condition is not understood: only [[ -f FILE ]] is"))?;
        self.keyword("then")?;
        let then = self.list(&["else", "elif", "fi"])?;
        let otherwise = if self.next_is("else") {
            self.list(&["fi"])?
        } else {
            Vec::new()
        };
        self.keyword("fi")?;
        if !self.words().is_empty() {
            return Err(Problem::new(self.line, "fi must end its line"));
        }
        Ok(StatementKind::If { file, then, otherwise })
    }

    fn keyword(&mut self, wanted: &str) -> Result<(), Problem> {
        while self.next_if(|kind| *kind == Kind::Newline).is_some() {}
        let line = self.tokens.first().map_or(self.line, |token| token.line);
        if self.next_is(wanted) {
            return Ok(());
        }
        Err(Problem::new(line, format!("{wanted} is missing")))
    }

    fn next_is(&mut self, keyword: &str) -> bool {
        self.next_if(|kind| matches!(kind, Kind::Word(word) if plain(word) == Some(keyword)))
            .is_some()
    }

    /// The words up to the end of the statement, and that end.
    fn words(&mut self) -> Vec<Word> {
        let mut words = Vec::new();
        while let Some(Kind::Word(word)) = self.next_if(|kind| matches!(kind, Kind::Word(_))) {
            words.push(word.clone());
        }
        self.next_if(|kind| !matches!(kind, Kind::Word(_)));
        words
    }

    fn peek(&self) -> Option<&'a Kind> {
        self.tokens.first().map(|token| &token.kind)
    }

    fn next_if(&mut self, wanted: impl Fn(&Kind) -> bool) -> Option<&'a Kind> {
        let (first, rest) = self.tokens.split_first()?;
        wanted(&first.kind).then(|| {
            self.line = first.line;
            self.tokens = rest;
            &first.kind
        })
    }
}

/// The file of `[[ -f FILE ]]`, `[ -f FILE ]` or `test -f FILE`.
fn tested_file(words: &[Word]) -> Option<Word> {
    let (operator, file) = match words {
        [open, operator, file, close] => match (plain(open)?, plain(close)?) {
            ("[[", "]]") | ("[", "]") => (operator, file),
            _ => return None,
        },
        [test, operator, file] if plain(test)? == "test" => (operator, file),
        _ => return None,
    };
    (plain(operator)? == "-f").then(|| file.clone())
}

fn simple(words: Vec<Word>, line: usize) -> Result<StatementKind, Problem> {
    let mut assignments = Vec::new();
    let mut words = words.into_iter().peekable();
    while let Some(assignment) = words.peek().and_then(assignment) {
        assignments.push(assignment);
        words.next();
    }
    let words: Vec<Word> = words.collect();
    let Some((first, rest)) = words.split_first() else {
        return Ok(StatementKind::Assign(assignments));
    };
    let alone = |what: &str| {
        let problem = Problem::new(
            line,
            format!("a variable before {what} is not understood: set it on a line of its own"),
        );
        if assignments.is_empty() { Ok(()) } else { Err(problem) }
    };
    match plain(first) {
        Some(name @ "export") => alone(name).and_then(|()| export(rest, line)),
        Some(name @ "set") => alone(name).and_then(|()| set(rest, line)),
        Some(name @ ("source" | ".")) => alone(name).and_then(|()| source(rest, line)),
        Some("exec") => run(How::Exec, assignments, rest.to_vec(), line),
        Some(keyword) if is_refused(keyword) => Err(Problem::new(line, refused(keyword))),
        _ => run(How::Call, assignments, words, line),
    }
}

fn run(how: How, assignments: Vec<Assignment>, words: Vec<Word>, line: usize) -> Result<StatementKind, Problem> {
    match words.first().map(|word| plain(word).unwrap_or_default()) {
        None => Err(Problem::new(line, "exec needs a program")),
        Some(option) if option.starts_with('-') => {
            Err(Problem::new(line, format!("{option} of exec is not understood")))
        }
        Some(_) => Ok(StatementKind::Run {
            how,
            assignments,
            words,
        }),
    }
}

fn export(words: &[Word], line: usize) -> Result<StatementKind, Problem> {
    let (mut assignments, mut names) = (Vec::new(), Vec::new());
    for word in words {
        match (assignment(word), plain(word).filter(|name| words::is_name(name))) {
            (Some(assignment), _) => assignments.push(assignment),
            (None, Some(name)) => names.push(name.to_owned()),
            (None, None) => return Err(Problem::new(line, "export takes names and NAME=value only")),
        }
    }
    Ok(StatementKind::Export(assignments, names))
}

fn set(words: &[Word], line: usize) -> Result<StatementKind, Problem> {
    let args = words
        .iter()
        .map(|word| plain(word).map(str::to_owned))
        .collect::<Option<Vec<_>>>();
    match args.filter(|args| !args.is_empty()) {
        Some(args) => Options::default()
            .change(&args)
            .map(|()| StatementKind::Set(args))
            .map_err(|text| Problem::new(line, text)),
        None => Err(Problem::new(line, "set takes options only")),
    }
}

fn source(words: &[Word], line: usize) -> Result<StatementKind, Problem> {
    match words {
        [file] => Ok(StatementKind::Source(file.clone())),
        _ => Err(Problem::new(line, "source takes one file")),
    }
}

fn assignment(word: &Word) -> Option<Assignment> {
    let Piece::Plain(text) = word.first()? else {
        return None;
    };
    let (name, start) = text.split_once('=').filter(|(name, _)| words::is_name(name))?;
    let start = Some(Piece::Plain(start.to_owned())).filter(|_| !start.is_empty());
    let value = start.into_iter().chain(word[1..].iter().cloned()).collect();
    Some(Assignment {
        name: name.to_owned(),
        value,
    })
}

/// Keywords and builtins of shells that are no programs: looked for in the image they would give a confusing answer.
fn is_refused(word: &str) -> bool {
    const REFUSED: &str = "if then else elif fi for while until do done case esac select function time coproc { } ! [[ [ test \
                           eval trap unset readonly declare local return exit cd alias shift read printf echo wait ulimit umask";
    REFUSED.split_ascii_whitespace().any(|each| each == word)
}

fn refused(word: &str) -> String {
    format!(
        "{word} is not understood: this image has no shell, only scripts that set variables, source a file and run one program"
    )
}
