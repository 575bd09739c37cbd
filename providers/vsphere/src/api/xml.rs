//! XML as a tree. Properties have values of many types, and a tree reads them without a type for each.

use quick_xml::{
    Reader, XmlVersion,
    escape::{escape, resolve_predefined_entity},
    events::{BytesStart, Event},
};
use std::borrow::Cow;

/// Elements deeper than this are no answer of a vCenter.
const DEPTH: usize = 64;

/// An element, without the prefixes of names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Element {
    /// Its name.
    pub name: String,
    /// Its attribute `type`, which names the type of an object, or else `xsi:type`.
    pub kind: String,
    /// Its own text.
    pub text: String,
    /// Its children.
    pub children: Vec<Element>,
}

/// Why a text is no tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Broken {
    /// It ends too early.
    Truncated,
    /// It is something else.
    Garbled,
}

impl Element {
    /// Reads the first element of a text, which must be complete.
    ///
    /// # Errors
    /// If it is not.
    pub fn parse(text: &str) -> Result<Self, Broken> {
        let mut reader = Reader::from_str(text);
        let mut open: Vec<Self> = Vec::new();
        loop {
            match reader.read_event().map_err(|error| broken(&error))? {
                Event::Start(start) if open.len() < DEPTH => open.push(Self::new(&start)?),
                // A vCenter sends no document type, which could expand to anything.
                Event::Start(_) | Event::DocType(_) => return Err(Broken::Garbled),
                Event::Empty(start) => {
                    let element = Self::new(&start)?;
                    match open.last_mut() {
                        Some(parent) => parent.children.push(element),
                        None => return Ok(element),
                    }
                }
                Event::End(_) => {
                    let element = open.pop().ok_or(Broken::Garbled)?;
                    match open.last_mut() {
                        Some(parent) => parent.children.push(element),
                        None => return Ok(element),
                    }
                }
                Event::Text(text) => append(&mut open, &text.xml10_content())?,
                Event::CData(text) => append(&mut open, &text.xml10_content())?,
                Event::GeneralRef(entity) => {
                    let character = entity.resolve_char_ref().map_err(|_| Broken::Garbled)?;
                    let named = || resolve_predefined_entity(&entity).map(str::to_owned);
                    let text = character.map(String::from).or_else(named).ok_or(Broken::Garbled)?;
                    append(&mut open, &text)?;
                }
                Event::Eof => return Err(Broken::Truncated),
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
            }
        }
    }

    fn new(start: &BytesStart<'_>) -> Result<Self, Broken> {
        let mut element = Self {
            name: start.local_name().into_inner().to_owned(),
            ..Self::default()
        };
        for attribute in start.attributes() {
            let attribute = attribute.map_err(|_| Broken::Garbled)?;
            let key = attribute.key;
            if key.into_inner() == "type" || (key.local_name().into_inner() == "type" && element.kind.is_empty()) {
                let value = attribute.normalized_value(XmlVersion::Implicit1_0);
                let value = value.map_err(|_| Broken::Garbled)?;
                value
                    .rsplit(':')
                    .next()
                    .unwrap_or_default()
                    .clone_into(&mut element.kind);
            }
        }
        Ok(element)
    }

    /// Its first child of this name.
    pub fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.name == name)
    }

    /// Its children of this name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Self> {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// The text of its first child of this name; empty if there is none.
    pub fn text_of(&self, name: &str) -> &str {
        self.child(name).map_or("", |child| &child.text)
    }
}

/// Text outside of elements must be blank.
fn append(open: &mut [Element], text: &str) -> Result<(), Broken> {
    match open.last_mut() {
        Some(element) => element.text.push_str(text),
        None if text.trim().is_empty() || text == "\u{feff}" => {}
        None => return Err(Broken::Garbled),
    }
    Ok(())
}

fn broken(error: &quick_xml::Error) -> Broken {
    match error {
        quick_xml::Error::Syntax(_) => Broken::Truncated,
        _ => Broken::Garbled,
    }
}

/// A text as it is written into XML.
pub fn escaped(text: &str) -> Cow<'_, str> {
    escape(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[test]
    fn reads_a_tree() {
        let text = "<?xml version=\"1.0\"?>\n<a:Root xmlns:a=\"urn:a\"><name>A &amp; &#66;<![CDATA[<C>]]></name>\
                    <obj xsi:type=\"vim:ManagedObjectReference\" type=\"VirtualMachine\">vm-1</obj><none/></a:Root>";
        let root = Element::parse(text).unwrap();
        assert_eq!((root.name.as_str(), root.text_of("name")), ("Root", "A & B<C>"));
        let obj = root.child("obj").unwrap();
        assert_eq!((obj.kind.as_str(), obj.text.as_str()), ("VirtualMachine", "vm-1"));
        assert_eq!(root.child("none").map(|none| none.children.len()), Some(0));
    }

    #[rstest]
    #[case::empty("", Broken::Truncated)]
    #[case::no_end("<a><b>text</b>", Broken::Truncated)]
    #[case::torn_tag("<a><b", Broken::Truncated)]
    #[case::torn_text("<a>te", Broken::Truncated)]
    #[case::other_end("<a></b>", Broken::Garbled)]
    #[case::text("not XML", Broken::Garbled)]
    #[case::json("{\"a\": 1}", Broken::Garbled)]
    #[case::entity("<a>&unknown;</a>", Broken::Garbled)]
    #[case::document_type("<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>", Broken::Garbled)]
    fn refuses(#[case] text: &str, #[case] expected: Broken) {
        assert_eq!(Element::parse(text), Err(expected));
    }

    #[test]
    fn a_bomb_of_elements_is_refused() {
        let deep = "<a>".repeat(100_000);
        assert_eq!(Element::parse(&deep), Err(Broken::Garbled));
    }

    #[test]
    fn escapes() {
        assert_eq!(escaped("<a href=\"b\">'&"), "&lt;a href=&quot;b&quot;&gt;&apos;&amp;");
    }
}
