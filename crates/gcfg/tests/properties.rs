//! What holds for any text.

use gcfg::Document;
use proptest::prelude::*;

/// Texts that are often right and always close to it.
fn document() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just("[A]".to_owned()),
        Just("[B \"s\"] ; c".to_owned()),
        Just(String::new()),
        "[a-c] ?=[ \"a-z#;\\\\]{0,6}",
        "[ \t]{0,2}[xyz](-[a-z]{1,3})?[ ]{0,2}=[ ]{0,2}[a-z0-9 ]{0,5}([ ][#;] c)?",
        "key( = \"[a-z #;]{0,6}\")?",
    ];
    (
        prop::collection::vec(line, 0..12),
        prop_oneof![Just("\n"), Just("\r\n")],
    )
        .prop_map(|(lines, end)| format!("[A]{end}{}", lines.join(end)))
}

proptest! {
    #[test]
    fn any_value_is_read_back(value in "[^\r\0]*", text in document()) {
        let Ok(mut document) = Document::parse(&text) else { return Ok(()) };
        document.set("A", None, "key", &value).unwrap();
        let again = Document::parse(&document.to_string()).unwrap();
        prop_assert_eq!(again.section("A").text("key"), Ok(Some(value.as_str())));
    }

    #[test]
    fn a_change_leaves_every_other_entry_and_line(text in document(), value in "[^\r\0]{0,8}") {
        let Ok(before) = Document::parse(&text) else { return Ok(()) };
        let mut after = before.clone();
        after.set("A", None, "key", &value).unwrap();
        prop_assert_eq!(others(&before), others(&after));
        after.remove("A", None, "key");
        let mut without = before.clone();
        without.remove("A", None, "key");
        let trim = |document: &Document| document.to_string().trim_end().to_owned();
        prop_assert_eq!(trim(&after), trim(&without));
    }

    #[test]
    fn a_value_changes_its_own_line_only(text in document(), value in "[^\r\0]{0,8}") {
        let text = format!("{}\n[A]\n own-key = old  ; why\n[Z]\nx=1", text.trim_end_matches('\\'));
        let Ok(mut document) = Document::parse(&text) else { return Ok(()) };
        document.set("A", None, "own-key", &value).unwrap();
        let (before, after) = text.split_once(" own-key = old").unwrap();
        let changed = document.to_string();
        let middle = changed.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
        prop_assert!(middle.is_some_and(|line| line.starts_with(" own-key = ") && !line.contains('\n')), "{}", changed);
    }

    #[test]
    fn arbitrary_bytes_never_panic(content in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Document::parse_file("x", &content);
    }

    #[test]
    fn arbitrary_text_never_panics(text in "[\\[\\]a-z=\"\\\\;# \n\r\t_\u{feff}é-]{0,60}", key in "[a-z-]{0,3}", value in ".{0,5}") {
        let Ok(mut document) = Document::parse(&text) else { return Ok(()) };
        let _ = document.set("a", None, &key, &value);
        document.remove("a", None, &key);
        document.remove_section("a", None);
        prop_assert!(Document::parse(&document.to_string()).is_ok());
    }
}

/// All entries but the one that is changed, as they are written.
fn others(document: &Document) -> Vec<String> {
    let parts = document.parts().iter();
    let entries = parts.flat_map(|part| part.entries().iter().map(move |entry| (part, entry)));
    entries
        .filter(|(part, entry)| !(part.name() == "A" && part.subsection().is_none() && entry.folded() == "key"))
        .map(|(part, entry)| {
            format!(
                "{} {:?} {} {:?}",
                part.name(),
                part.subsection(),
                entry.key(),
                text(entry)
            )
        })
        .collect()
}

fn text(entry: &gcfg::Entry) -> Option<&str> {
    match entry.value() {
        gcfg::Value::Text(text) => Some(text),
        gcfg::Value::Blank => None,
    }
}
