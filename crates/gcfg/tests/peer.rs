//! The same as `gopkg.in/gcfg.v1`: both read the same texts, and agree on every value and on what is an error.

#![expect(clippy::unwrap_used, reason = "all of this crate is a test")]

mod peer {
    pub mod inputs;
    pub mod program;
}

use gcfg::{Document, Error, Section};
use peer::{inputs, program::Peer};
use std::{collections::HashSet, fmt::Write};

#[test]
fn both_read_the_same() {
    let inputs = inputs::all();
    assert!(inputs.len() > 3000, "only {}", inputs.len());
    let theirs = Peer::build().unwrap().read(&inputs).unwrap();
    assert_eq!(theirs.len(), inputs.len());
    let fatal = theirs.iter().filter(|answer| *answer == "error").count();
    assert!(
        fatal * 10 > inputs.len() && fatal * 10 < inputs.len() * 9,
        "{fatal} of {} are errors",
        inputs.len()
    );
    let different = inputs.iter().zip(&theirs).filter_map(|(input, theirs)| {
        let ours = read(input).unwrap_or_else(|_| "error".to_owned());
        let input = String::from_utf8_lossy(input);
        (ours != *theirs).then(|| format!("{input:?}\n  ours:   {ours}\n  theirs: {theirs}"))
    });
    let different: Vec<String> = different.collect();
    assert!(
        different.is_empty(),
        "{} differ:\n{}",
        different.len(),
        different.join("\n")
    );
}

/// A newer Unicode has more letters, and none less. Beyond these planes there are none.
#[test]
fn both_know_the_same_characters() {
    for (which, probe) in [("letters", ""), ("digits", "a")] {
        let (version, theirs) = Peer::build().unwrap().ranges(which).unwrap();
        let theirs: HashSet<u32> = theirs.into_iter().flatten().collect();
        let is_theirs = |c: char| theirs.contains(&u32::from(c));
        let is_ours = |c: char| Document::parse(&format!("[{probe}{c}]")).is_ok();
        for c in ('\u{80}'..='\u{3ffff}').filter(|&c| is_ours(c) || is_theirs(c)) {
            let known = is_theirs(c) || (which == "digits" && is_ours_alone(c));
            assert!(known, "{c:?} is one of our {which}");
            assert!(version != "15.0.0" || is_ours(c), "{c:?} is one of their {which}");
        }
    }
}

fn is_ours_alone(c: char) -> bool {
    Document::parse(&format!("[{c}]")).is_ok()
}

/// The values in the peer's notation.
fn read(input: &[u8]) -> Result<String, Error> {
    let document = Document::parse_file("", input)?;
    let mut text = format!("section{}", show(&document.section("section"))?);
    write!(text, " | other{}", show(&document.section("other"))?).unwrap();
    let mut subsections = document.subsections("sub");
    subsections.sort_by_key(|section| section.subsection().unwrap_or_default());
    for section in subsections {
        let name = section.subsection().unwrap_or_default();
        write!(text, " | sub {}{}", hex(name), show(&section)?).unwrap();
    }
    Ok(text)
}

fn show(section: &Section<'_>) -> Result<String, Error> {
    let text = |key| section.text(key).map(|text| hex(text.unwrap_or_default()));
    let list: String = section
        .list("list")
        .unwrap_or_default()
        .iter()
        .map(|item| hex(item) + ",")
        .collect();
    Ok(format!(
        " {} {} {} {} {} {} {} {} [{list}]",
        text("name")?,
        text("hyphen-name")?,
        section.boolean("bool")?.unwrap_or_default(),
        section.int("int")?.unwrap_or_default(),
        section.uint("uint")?.unwrap_or_default(),
        section.duration("span")?.unwrap_or_default().nanos(),
        hex(section.word("word")?.unwrap_or_default()),
        text("sticky-k")?,
    ))
}

fn hex(text: &str) -> String {
    text.bytes().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    })
}
