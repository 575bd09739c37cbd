//! A cursor in a text.

use crate::{
    error::{Error, Position, Warning},
    letters::{is_identifier, is_letter},
};

const MARK: char = '\u{feff}';

/// A cursor in a text.
pub(crate) struct Scanner<'a> {
    pub(crate) file: &'a str,
    pub(crate) text: &'a str,
    pub(crate) at: usize,
    pub(crate) line: usize,
    pub(crate) line_start: usize,
    pub(crate) warnings: Vec<Warning>,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(file: &'a str, text: &'a str) -> Self {
        let start = if text.starts_with(MARK) { MARK.len_utf8() } else { 0 };
        Self {
            file,
            text,
            at: start,
            line: 1,
            line_start: start,
            warnings: Vec::new(),
        }
    }

    pub(crate) fn identifier(&mut self) -> String {
        let start = self.at;
        if self.peek().is_some_and(is_letter) {
            self.skip_while(is_identifier);
        }
        self.text[start..self.at].to_owned()
    }

    /// Skips the comment and the line end, and returns the start of the next line.
    pub(crate) fn end_of_line(&mut self) -> usize {
        self.skip_comment();
        self.bump();
        self.at
    }

    pub(crate) fn skip_comment(&mut self) {
        self.skip_while(|c| c != '\n');
    }

    pub(crate) fn skip_blanks(&mut self) {
        self.skip_while(is_blank);
    }

    pub(crate) fn skip_while(&mut self, skip: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&skip) {
            self.bump();
        }
    }

    pub(crate) fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    pub(crate) fn next(&mut self) -> Option<char> {
        let c = self.peek();
        self.bump();
        c
    }

    pub(crate) fn bump(&mut self) {
        if let Some(c) = self.peek() {
            self.at += c.len_utf8();
            if c == '\n' {
                self.line += 1;
                self.line_start = self.at;
            }
        }
    }

    pub(crate) fn position(&self) -> Position {
        let column = self.text[self.line_start..self.at].chars().count() + 1;
        Position {
            line: self.line,
            column,
        }
    }

    /// The position of the character that was just read, which is not a line end.
    pub(crate) fn before(&self, c: char) -> Position {
        let column = self.text[self.line_start..self.at - c.len_utf8()].chars().count() + 1;
        Position {
            line: self.line,
            column,
        }
    }

    pub(crate) fn error(&self, message: impl Into<String>) -> Error {
        Error::new(self.file, self.position(), message)
    }

    pub(crate) fn error_at(&mut self, at: usize, message: &str) -> Error {
        while self.at < at {
            self.bump();
        }
        self.error(message)
    }
}

pub(crate) fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r')
}
