//! The words of a script: quotes, continued lines, comments. Nothing is expanded: what a shell would expand is rejected.

use super::Problem;
use std::{iter::Peekable, mem, str::Chars};

/// Words up to the end of a line or a semicolon; `then` and `else` are statements of their own.
#[derive(Debug, PartialEq, Eq)]
pub struct Statement {
    pub line: usize,
    pub words: Vec<Word>,
}

/// A word, without its quotes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Word {
    pub text: String,
    /// How many of its bytes come before the first quote.
    plain: usize,
}

impl Word {
    /// The word, if no part of it is quoted; otherwise nothing, so that it is no keyword.
    pub fn keyword(&self) -> &str {
        if self.plain == self.text.len() { &self.text } else { "" }
    }

    /// The name and the value of `NAME=value`.
    pub fn assignment(&self) -> Option<(&str, &str)> {
        let (name, value) = self.text.split_once('=')?;
        (name.len() < self.plain && is_name(name)).then_some((name, value))
    }
}

/// The statements of a script.
pub fn split(text: &str) -> Result<Vec<Statement>, Problem> {
    let text = format!("{text}\n");
    let mut lexer = Lexer {
        rest: text.chars().peekable(),
        line: 1,
    };
    let (mut statements, mut words, mut line) = (Vec::new(), Vec::new(), 1);
    while let Some(next) = lexer.rest.peek() {
        if words.is_empty() {
            line = lexer.line;
        }
        let ends = match next {
            ' ' | '\t' | '\r' => {
                lexer.next();
                false
            }
            '\n' | ';' => {
                lexer.next();
                true
            }
            '#' => {
                lexer.until(&['\n']);
                false
            }
            _ => {
                words.extend(lexer.word()?);
                matches!(words.as_slice(), [only] if ["then", "else"].contains(&Word::keyword(only)))
            }
        };
        if ends && !words.is_empty() {
            let words = mem::take(&mut words);
            statements.push(Statement { line, words });
        }
    }
    Ok(statements)
}

fn is_name(text: &str) -> bool {
    let is_part = |each: char| each == '_' || each.is_ascii_alphanumeric();
    text.chars().all(is_part) && !text.starts_with(|first: char| first.is_ascii_digit()) && !text.is_empty()
}

struct Lexer<'a> {
    rest: Peekable<Chars<'a>>,
    line: usize,
}

impl Lexer<'_> {
    fn next(&mut self) -> Option<char> {
        let next = self.rest.next();
        self.line += usize::from(next == Some('\n'));
        next
    }

    fn until(&mut self, ends: &[char]) -> String {
        let mut text = String::new();
        while self.rest.peek().is_some_and(|each| !ends.contains(each)) {
            text.extend(self.next());
        }
        text
    }

    /// `None` if it is only a continued line.
    fn word(&mut self) -> Result<Option<Word>, Problem> {
        let (mut text, mut plain) = (String::new(), None);
        let mut is_word = false;
        while let Some(&next) = self.rest.peek() {
            match next {
                ' ' | '\t' | '\r' | '\n' | ';' => break,
                '\'' | '"' => {
                    plain.get_or_insert(text.len());
                    text += &self.quoted(next)?;
                }
                '\\' => {
                    self.next();
                    if self.next() != Some('\n') {
                        return Err(self.problem("a \\ is supported only at the end of a line"));
                    }
                    continue;
                }
                '$' => return Err(self.expansion()),
                '&' | '|' | '<' | '>' | '(' | ')' | '`' | '{' | '}' | '~' => {
                    return Err(self.problem(&format!("{next} is not supported: quote it if it is meant literally")));
                }
                _ => text.extend(self.next()),
            }
            is_word = true;
        }
        let plain = plain.unwrap_or(text.len());
        Ok(is_word.then_some(Word { text, plain }))
    }

    fn quoted(&mut self, quote: char) -> Result<String, Problem> {
        let problem = self.problem(&format!("a {quote} is never closed"));
        self.next();
        let text = self.until(if quote == '"' { &['"', '$', '`', '\\'] } else { &['\''] });
        match self.rest.peek() {
            None => Err(problem),
            Some('$') => Err(self.expansion()),
            Some(end) if *end != quote => {
                let text = format!("{end} is not supported in double quotes");
                Err(self.problem(&text))
            }
            Some(_) => {
                self.next();
                Ok(text)
            }
        }
    }

    /// The kubelet replaces `$(NAME)` by a variable of the container, and keeps it if there is none.
    fn expansion(&mut self) -> Problem {
        let text = self.until(&[' ', '\n', '"', ')']);
        let is_closed = self.rest.peek() == Some(&')');
        let name = text.strip_prefix("$(").filter(|name| is_closed && is_name(name));
        match name {
            Some(name) => self.problem(&format!("$({name}): the container has no environment variable {name}")),
            None => self.problem(&format!(
                "{text} is not supported: quote it with ' if it is meant literally"
            )),
        }
    }

    fn problem(&self, text: &str) -> Problem {
        Problem::at(self.line, text)
    }
}
