//! From a text to a document.

use super::{Comments, Document, Entry, Item, Map, Node, Scalar, Style};
use serde_saphyr::granit_parser::{Event, Parser, Placement, ScalarStyle, Span, StrInput, Tag};
use std::{borrow::Cow, collections::BTreeMap};

/// Nobody writes a configuration that is deeper.
const DEEPEST: usize = 32;
/// Nor one of more values: a few aliases of aliases make billions.
const MOST: usize = 50_000;

/// Why a text is not a document.
pub(crate) enum Refusal {
    /// It is YAML, but not a map.
    NotAMap,
    /// It is not YAML, or not what we take; in one sentence that starts with the line.
    Wrong(String),
}

/// Reads a text that is one map.
pub(crate) fn read(text: &str) -> Result<Document, Refusal> {
    let parser = Parser::new_from_str(text);
    let mut reader = Reader {
        parser,
        pending: Vec::new(),
        anchors: BTreeMap::new(),
        values: 0,
    };
    let root = reader.document().map_err(Refusal::Wrong)?;
    let tail = std::mem::take(&mut reader.pending);
    match root {
        Some(Node::Map(root)) => Ok(Document { root, tail }),
        Some(node) if !node.is_null() => Err(Refusal::NotAMap),
        _ => Ok(Document {
            root: Map::default(),
            tail,
        }),
    }
}

struct Reader<'a> {
    parser: Parser<'a, StrInput<'a>>,
    /// Comments that belong to what comes next.
    pending: Vec<String>,
    anchors: BTreeMap<usize, Node>,
    values: usize,
}

type Problem = String;

impl<'a> Reader<'a> {
    /// The only document, if there is one.
    fn document(&mut self) -> Result<Option<Node>, Problem> {
        let mut root = None;
        loop {
            match self.next()? {
                (Event::StreamStart | Event::DocumentEnd, _) => {}
                (Event::StreamEnd, _) => return Ok(root),
                (Event::DocumentStart(..), span) if root.is_some() => {
                    return Err(at(span, "a second document starts here: keep only one"));
                }
                (Event::DocumentStart(..), _) => {
                    let event = self.next()?;
                    root = Some(self.node(event, 0)?);
                }
                (_, span) => return Err(at(span, "this is not expected here")),
            }
        }
    }

    /// The next event that is no comment; those are kept for what comes next.
    fn next(&mut self) -> Result<(Event<'a>, Span), Problem> {
        loop {
            match self.parser.next_event() {
                Some(Ok((Event::Comment(text, _), _))) => self.pending.push(text.into_owned()),
                Some(Ok(event)) => return Ok(event),
                Some(Err(error)) => {
                    let place = error.marker();
                    return Err(format!("{}:{}: {}", place.line(), place.col() + 1, error.info()));
                }
                None => return Ok((Event::StreamEnd, Span::default())),
            }
        }
    }

    /// The comment on the same line, if one comes next.
    fn beside(&mut self) -> Option<String> {
        let next = self.parser.peek();
        if !matches!(next, Some(Ok((Event::Comment(_, Placement::Right), _)))) {
            return None;
        }
        match self.parser.next_event() {
            Some(Ok((Event::Comment(text, _), _))) => Some(text.into_owned()),
            _ => None,
        }
    }

    fn node(&mut self, (event, span): (Event<'a>, Span), depth: usize) -> Result<Node, Problem> {
        self.values += 1;
        if depth > DEEPEST || self.values > MOST {
            return Err(at(span, "this is nested too deeply, or there is too much of it"));
        }
        let anchor = event.anchor_id();
        let node = match event {
            Event::Scalar(text, style, _, tag) => Node::Scalar(scalar(text, style, tag.as_deref())),
            Event::SequenceStart(_, _, tag) => refuse_tag(tag.as_deref(), span).and_then(|()| self.list(depth))?,
            Event::MappingStart(_, _, tag) => refuse_tag(tag.as_deref(), span).and_then(|()| self.map(depth))?,
            Event::Alias(id) => self.alias(id, span)?,
            _ => return Err(at(span, "a value is expected here")),
        };
        if let Some(id) = anchor {
            self.anchors.insert(id, node.clone());
        }
        Ok(node)
    }

    /// The value itself: who reads the result finds no anchors in it.
    fn alias(&mut self, id: usize, span: Span) -> Result<Node, Problem> {
        let node = self.anchors.get(&id).cloned();
        let node = node.ok_or_else(|| at(span, "the alias stands inside of what it refers to"))?;
        self.values += size(&node);
        if self.values > MOST {
            return Err(at(span, "the aliases make too much of it"));
        }
        Ok(node)
    }

    fn list(&mut self, depth: usize) -> Result<Node, Problem> {
        let mut items = Vec::new();
        loop {
            let event = self.next()?;
            if matches!(event.0, Event::SequenceEnd) {
                return Ok(Node::List(items));
            }
            let above = std::mem::take(&mut self.pending);
            let value = self.node(event, depth + 1)?;
            let beside = self.beside();
            items.push(Item {
                comments: Comments { above, beside },
                value,
            });
        }
    }

    fn map(&mut self, depth: usize) -> Result<Node, Problem> {
        let mut map = Map::default();
        loop {
            let (event, span) = self.next()?;
            let (text, style, tag) = match event {
                Event::MappingEnd => return Ok(Node::Map(map)),
                Event::Scalar(text, style, _, tag) => (text, style, tag),
                _ => return Err(at(span, "a key has to be a single word or text")),
            };
            let key = scalar(text, style, tag.as_deref());
            if map.find(&key.text).is_some() {
                return Err(at(span, &format!("the key {:?} is there twice: remove one", key.text)));
            }
            let above = std::mem::take(&mut self.pending);
            let early = self.beside();
            let event = self.next()?;
            let value = self.node(event, depth + 1)?;
            let beside = early.or_else(|| self.beside());
            map.entries.push(Entry {
                comments: Comments { above, beside },
                key,
                line: span.start.line(),
                value,
            });
        }
    }
}

fn refuse_tag(tag: Option<&Tag>, span: Span) -> Result<(), Problem> {
    match tag {
        Some(tag) if !tag.is_yaml_core_schema() => Err(at(span, "a list or map with a tag is not supported")),
        _ => Ok(()),
    }
}

fn scalar(text: Cow<'_, str>, style: ScalarStyle, tag: Option<&Tag>) -> Scalar {
    let style = if style == ScalarStyle::Plain {
        Style::Plain
    } else {
        Style::Quoted
    };
    Scalar {
        text: text.into_owned(),
        style,
        tag: tag.map(Tag::original),
    }
}

fn size(node: &Node) -> usize {
    match node {
        Node::Scalar(_) => 1,
        Node::List(items) => 1 + items.iter().map(|item| size(&item.value)).sum::<usize>(),
        Node::Map(map) => 1 + map.entries.iter().map(|entry| size(&entry.value)).sum::<usize>(),
    }
}

fn at(span: Span, problem: &str) -> Problem {
    format!("{}: {problem}", span.start.line())
}
