//! Parsing of a text into parts and entries.

use crate::{
    cursor::{Scanner, is_blank},
    document::{Document, Entry, Part, Spans, Value, fold},
    error::{Error, Position, Warning},
    letters::{is_identifier, is_letter},
};

/// Parses a whole text.
pub(crate) fn document(file: &str, text: &str) -> Result<Document, Error> {
    let mut scanner = Scanner::new(file, text);
    let mut parts: Vec<Part> = Vec::new();
    if let Some(at) = text.find('\0') {
        return Err(scanner.error_at(at, "a NUL cannot be in this file: remove it"));
    }
    loop {
        scanner.skip_blanks();
        match (scanner.peek(), parts.last_mut()) {
            (None, _) => break,
            (Some('\n'), _) => scanner.bump(),
            (Some(';' | '#'), _) => scanner.skip_comment(),
            (Some('['), _) => parts.push(scanner.header()?),
            (Some(_), None) => {
                return Err(scanner.error("a section header must come first: write one, such as [Global]"));
            }
            (Some(c), Some(part)) if is_letter(c) => part.entries.push(scanner.entry()?),
            (Some(c), Some(_)) => return Err(scanner.error(neither(c))),
        }
    }
    Ok(Document {
        file: file.to_owned(),
        text: text.to_owned(),
        parts,
        warnings: scanner.warnings,
    })
}

/// The error for content whose first bytes are text, and the next ones are not.
pub(crate) fn not_utf8(file: &str, content: &[u8], valid: usize) -> Error {
    let text = content.get(..valid).and_then(|valid| str::from_utf8(valid).ok());
    let text = text.unwrap_or_default();
    Scanner::new(file, text).error_at(valid, "this is not UTF-8: save the file in that encoding")
}

fn neither(c: char) -> String {
    format!(
        "{c:?} starts neither a section nor a key: write [section] or key=value, with a key that starts with a letter"
    )
}

impl Scanner<'_> {
    fn header(&mut self) -> Result<Part, Error> {
        let start = self.line_start;
        self.bump();
        self.skip_blanks();
        let position = self.position();
        let name = self.identifier();
        if name.is_empty() {
            return Err(
                self.error("a section needs a name of letters, digits and hyphens: write one, such as [Global]")
            );
        }
        self.skip_blanks();
        let subsection = match self.peek() {
            Some('"') => Some(self.subsection()?),
            _ => None,
        };
        self.skip_blanks();
        self.close_header(&name)?;
        let end = self.end_of_line();
        Ok(Part {
            name,
            subsection,
            position,
            entries: Vec::new(),
            line: start..end,
        })
    }

    fn close_header(&mut self, name: &str) -> Result<(), Error> {
        if self.peek() != Some(']') {
            return Err(self.error(format!(
                "the header of section {name} does not end here: write [{name}] or [{name} \"subsection\"]"
            )));
        }
        self.bump();
        self.skip_blanks();
        match self.peek() {
            None | Some('\n' | ';' | '#') => Ok(()),
            Some(_) => Err(self.error("only a comment may follow a section header: start a new line")),
        }
    }

    /// The opening quote is next.
    fn subsection(&mut self) -> Result<String, Error> {
        let open = self.position();
        self.bump();
        let mut name = String::new();
        loop {
            let at = self.position();
            match self.next() {
                None | Some('\n') => return Err(self.unterminated(open)),
                Some('"') if name.is_empty() => {
                    return Err(Error::new(
                        self.file,
                        open,
                        "a subsection's name cannot be empty: name it or leave it out",
                    ));
                }
                Some('"') => return Ok(name),
                Some('\\') => match self.next() {
                    Some(c @ ('\\' | '"')) => name.push(c),
                    _ => return Err(self.unknown_escape(at, r#"\\ and \""#)),
                },
                Some(c) => name.push(c),
            }
        }
    }

    /// The first letter of the key is next.
    fn entry(&mut self) -> Result<Entry, Error> {
        let line = self.line_start;
        let (position, start) = (self.position(), self.at);
        let key = self.identifier();
        let spans = |line, value| Spans {
            line,
            key: start..start + key.len(),
            value,
        };
        let after_key = self.at;
        self.skip_blanks();
        let (value, value_position, span) = match self.peek() {
            None | Some('\n' | ';' | '#') => (Value::Blank, position, after_key..after_key),
            Some('=') => {
                self.bump();
                let (text, position, span) = self.value(&key)?;
                (Value::Text(text), position, span)
            }
            Some(_) => return Err(self.not_a_key(start, after_key, &key)),
        };
        let end = self.end_of_line();
        let (folded, spans) = (fold(&key), spans(line..end, span));
        Ok(Entry {
            key,
            folded,
            value,
            position,
            value_position,
            spans,
        })
    }

    /// The value after `=`, its position and its span.
    fn value(&mut self, key: &str) -> Result<(String, Position, std::ops::Range<usize>), Error> {
        let after_equals = self.at;
        self.skip_while(|c| matches!(c, ' ' | '\t'));
        let empty = (self.position(), self.at);
        self.skip_blanks();
        let (position, start) = (self.position(), self.at);
        let mut literal = Literal::new(start);
        while let Some(c) = self.peek().filter(|c| !matches!(c, '\n' | ';' | '#')) {
            self.bump();
            self.literal(key, c, &mut literal)?;
            if !is_blank(c) {
                literal.keep(self.at);
            }
        }
        self.warn_of_comment(key, after_equals, &literal);
        let text = literal.text[..literal.kept].to_owned();
        if literal.end == start {
            Ok((text, empty.0, empty.1..empty.1))
        } else {
            Ok((text, position, start..literal.end))
        }
    }

    /// One character of an unquoted value, or the whole of a quoted piece.
    fn literal(&mut self, key: &str, c: char, literal: &mut Literal) -> Result<(), Error> {
        match c {
            '\\' => {
                let at = self.before(c);
                if self.peek() == Some('\r') {
                    self.bump();
                }
                match self.next() {
                    Some('\n') => {}
                    Some('"') => literal.text.push('"'),
                    _ => return Err(self.lone_backslash(at, key)),
                }
            }
            '"' => self.quoted(key, &mut literal.text)?,
            '\r' => {}
            other => literal.text.push(other),
        }
        Ok(())
    }

    /// The opening quote has been read. Carriage returns are removed, also in quotes.
    fn quoted(&mut self, key: &str, text: &mut String) -> Result<(), Error> {
        let open = self.before('"');
        loop {
            let at = self.position();
            match self.next() {
                None | Some('\n') => return Err(self.unterminated(open)),
                Some('"') => return Ok(()),
                Some('\\') => match self.next() {
                    Some(c @ ('\\' | '"')) => text.push(c),
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    _ => {
                        return Err(
                            self.unknown_escape(at, &format!(r#"\\, \", \n and \t, here in the value of {key}"#))
                        );
                    }
                },
                Some('\r') => {}
                Some(c) => text.push(c),
            }
        }
    }

    fn warn_of_comment(&mut self, key: &str, after_equals: usize, literal: &Literal) {
        let Some(sign @ (';' | '#')) = self.peek() else { return };
        let quoted = self.text[..literal.end].ends_with('"') && literal.end > literal.start;
        let directly = self.at == literal.end && (literal.end > literal.start || self.at == after_equals);
        if directly && !quoted {
            let message = format!(
                "the value of {key} ends before this {sign}, which starts a comment: if it belongs to the value, put the value \
                 in double quotes, else put a blank before the comment"
            );
            self.warnings.push(Warning::new(self.file, self.position(), message));
        }
    }

    /// The key is followed by neither `=` nor the end of the line.
    fn not_a_key(&self, start: usize, end: usize, key: &str) -> Error {
        let word = |c: char| is_identifier(c) || c == '_' || c == '.';
        let rest = &self.text[end..];
        let rest = &rest[..rest.find(|c| !word(c)).unwrap_or(rest.len())];
        let position = self.position();
        let message = match rest.chars().next() {
            Some('_') if self.at == end => {
                let written = format!("{}{rest}", &self.text[start..end]);
                let hyphens = written.replace(['_', '.'], "-");
                format!("the key {written} has an underscore, which no key has: use a hyphen, {hyphens}")
            }
            _ => format!("after the key {key} comes neither = nor the end of the line: write {key}=value"),
        };
        Error::new(self.file, position, message)
    }

    fn unterminated(&self, open: Position) -> Error {
        Error::new(
            self.file,
            open,
            "this double quote is not closed on its line: close it, and write a line end inside quotes as \\n",
        )
    }

    fn unknown_escape(&self, at: Position, known: &str) -> Error {
        let message = format!("this backslash starts no known sequence: inside quotes there are {known}");
        Error::new(self.file, at, message)
    }

    fn lone_backslash(&self, at: Position, key: &str) -> Error {
        let message = format!(
            "this backslash in the value of {key} is not quoted: put the value in double quotes and write the backslash twice"
        );
        Error::new(self.file, at, message)
    }
}

/// A value while it is read.
struct Literal {
    text: String,
    /// The length without trailing blanks.
    kept: usize,
    start: usize,
    /// The end of that part in the document.
    end: usize,
}

impl Literal {
    fn new(start: usize) -> Self {
        Self {
            text: String::new(),
            kept: 0,
            start,
            end: start,
        }
    }

    fn keep(&mut self, at: usize) {
        self.kept = self.text.len();
        self.end = at;
    }
}
