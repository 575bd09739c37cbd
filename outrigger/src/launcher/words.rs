//! From text to words: quotes, variables, continued lines, comments.

use super::Problem;

/// What a script is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub line: usize,
    pub kind: Kind,
}

/// A word, or the end of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    Word(Word),
    Newline,
    Semicolon,
}

/// A word as it is written: its pieces stand side by side.
pub type Word = Vec<Piece>;

/// A part of a word. Only what is not quoted can be a keyword, be split, or vanish.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    Plain(String),
    Quoted(String),
    Variable { name: String, quoted: bool },
}

/// The tokens of a text.
pub fn split(text: &str) -> Result<Vec<Token>, Problem> {
    let mut lexer = Lexer {
        rest: text.chars().peekable(),
        line: 1,
        tokens: Vec::new(),
    };
    lexer.run()?;
    Ok(lexer.tokens)
}

/// The text of a word that is one plain piece: a keyword, or the name of a builtin.
pub fn plain(word: &Word) -> Option<&str> {
    match word.as_slice() {
        [Piece::Plain(text)] => Some(text),
        _ => None,
    }
}

/// Whether this can be the name of a variable.
pub fn is_name(text: &str) -> bool {
    text.chars().enumerate().all(|(at, each)| is_name_char(each, at == 0)) && !text.is_empty()
}

fn is_name_char(each: char, first: bool) -> bool {
    each == '_' || each.is_ascii_alphabetic() || (!first && each.is_ascii_digit())
}

struct Lexer<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    line: usize,
    tokens: Vec<Token>,
}

impl Lexer<'_> {
    fn run(&mut self) -> Result<(), Problem> {
        while let Some(&next) = self.rest.peek() {
            match next {
                ' ' | '\t' | '\r' => drop(self.next()),
                '\n' => {
                    self.push(self.line, Kind::Newline);
                    self.next();
                }
                ';' => {
                    self.next();
                    self.push(self.line, Kind::Semicolon);
                }
                '#' => while self.rest.next_if(|each| *each != '\n').is_some() {},
                _ => self.word()?,
            }
        }
        self.push(self.line, Kind::Newline);
        Ok(())
    }

    fn next(&mut self) -> Option<char> {
        let next = self.rest.next();
        self.line += usize::from(next == Some('\n'));
        next
    }

    fn push(&mut self, line: usize, kind: Kind) {
        self.tokens.push(Token { line, kind });
    }

    fn word(&mut self) -> Result<(), Problem> {
        let line = self.line;
        let mut word = Word::new();
        while let Some(&next) = self.rest.peek() {
            match next {
                ' ' | '\t' | '\r' | '\n' | ';' => break,
                '\'' => word.push(self.single()?),
                '"' => self.double(&mut word)?,
                '$' => self.variable(&mut word, false)?,
                '\\' => self.escape(&mut word),
                '&' | '|' | '<' | '>' | '(' | ')' | '`' => return Err(not_understood(line, next)),
                _ => {
                    self.next();
                    add(&mut word, next);
                }
            }
        }
        // A continued line alone is no word.
        if !word.is_empty() {
            refuse_expansions(&word, line)?;
            self.push(line, Kind::Word(word));
        }
        Ok(())
    }

    fn single(&mut self) -> Result<Piece, Problem> {
        let line = self.line;
        self.next();
        let mut text = String::new();
        loop {
            match self.next() {
                Some('\'') => return Ok(Piece::Quoted(text)),
                Some(each) => text.push(each),
                None => return Err(Problem::new(line, "a ' is never closed")),
            }
        }
    }

    fn double(&mut self, word: &mut Word) -> Result<(), Problem> {
        let line = self.line;
        self.next();
        // An empty pair of quotes is a word too.
        word.push(Piece::Quoted(String::new()));
        loop {
            match self.rest.peek() {
                None => return Err(Problem::new(line, "a \" is never closed")),
                Some('"') => {
                    self.next();
                    return Ok(());
                }
                Some('$') => self.variable(word, true)?,
                Some('`') => return Err(not_understood(self.line, '`')),
                Some('\\') => {
                    self.next();
                    match self.rest.peek().copied() {
                        Some('\n') => drop(self.next()),
                        Some(each @ ('$' | '`' | '"' | '\\')) => {
                            self.next();
                            add_quoted(word, each);
                        }
                        _ => add_quoted(word, '\\'),
                    }
                }
                Some(_) => {
                    if let Some(each) = self.next() {
                        add_quoted(word, each);
                    }
                }
            }
        }
    }

    fn escape(&mut self, word: &mut Word) {
        self.next();
        match self.next() {
            Some('\n') => {}
            Some(each) => word.push(Piece::Quoted(each.to_string())),
            None => word.push(Piece::Quoted("\\".to_owned())),
        }
    }

    fn variable(&mut self, word: &mut Word, quoted: bool) -> Result<(), Problem> {
        let line = self.line;
        self.next();
        let name = match self.rest.peek().copied() {
            Some('(') => return Err(self.substitution(line)),
            Some('{') => {
                self.next();
                let name = self.take_while(|each| each != '}' && each != '\n');
                if self.next() != Some('}') || !is_name(&name) {
                    return Err(Problem::new(
                        line,
                        format!("${{{name}}} is not understood: only ${{NAME}} is"),
                    ));
                }
                name
            }
            Some(each) if is_name_char(each, true) => self.take_while(|each| is_name_char(each, false)),
            Some(each) if each.is_ascii_digit() || "@*#?$!-'\"".contains(each) && !(quoted && each == '"') => {
                return Err(Problem::new(line, format!("${each} is not understood: only $NAME is")));
            }
            _ => {
                if quoted {
                    add_quoted(word, '$');
                } else {
                    add(word, '$');
                }
                return Ok(());
            }
        };
        word.push(Piece::Variable { name, quoted });
        Ok(())
    }

    /// The kubelet replaces `$(NAME)` by a variable of the container, and leaves it alone if there is none.
    fn substitution(&mut self, line: usize) -> Problem {
        self.next();
        let inside = self.take_while(|each| each != ')' && each != '\n');
        let hint = if is_name(&inside) {
            format!(": the container has no environment variable {inside}")
        } else {
            String::new()
        };
        Problem::new(line, format!("$({inside}) would run a command{hint}"))
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> String {
        let mut text = String::new();
        while let Some(each) = self.rest.next_if(|each| wanted(*each)) {
            text.push(each);
        }
        text
    }
}

fn add(word: &mut Word, each: char) {
    match word.last_mut() {
        Some(Piece::Plain(text)) => text.push(each),
        _ => word.push(Piece::Plain(each.to_string())),
    }
}

fn add_quoted(word: &mut Word, each: char) {
    match word.last_mut() {
        Some(Piece::Quoted(text)) => text.push(each),
        _ => word.push(Piece::Quoted(each.to_string())),
    }
}

/// What a shell would replace in plain text. `*` and `?` are kept: in a flag they name no file, and then they stay as they are.
fn refuse_expansions(word: &Word, line: usize) -> Result<(), Problem> {
    let starts_with_tilde = matches!(word.first(), Some(Piece::Plain(text)) if text.starts_with('~'));
    let text: String = word
        .iter()
        .map(|piece| if let Piece::Plain(text) = piece { text } else { "\"" })
        .collect();
    let assigns_tilde = text.split_once("=~").is_some_and(|(name, _)| is_name(name));
    if starts_with_tilde || assigns_tilde {
        return Err(Problem::new(
            line,
            "~ is not understood: write the whole path, or quote it",
        ));
    }
    let list = text.split_once('{').and_then(|(_, rest)| rest.rsplit_once('}'));
    if list.is_some_and(|(list, _)| list.contains(',') || list.contains("..")) {
        return Err(Problem::new(line, format!("{text} would be expanded: quote it")));
    }
    Ok(())
}

fn not_understood(line: usize, what: char) -> Problem {
    Problem::new(
        line,
        format!("{what} is not understood: quote it if it is meant literally"),
    )
}
