//! What is read is written again with the same meaning.

use super::{Map, Node, Refusal, read};
use proptest::prelude::*;
use rstest::rstest;

fn again(text: &str) -> String {
    match read(text) {
        Ok(document) => document.to_string(),
        Err(Refusal::NotAMap) => "not a map".to_owned(),
        Err(Refusal::Wrong(problem)) => problem,
    }
}

#[rstest]
#[case::nothing("---\n", "{}\n")]
#[case::scalars_as_written(
    "a: 0777\nb: yes\nc: 1e3\nd: ~\ne:\nf: '12'\n",
    "a: 0777\nb: yes\nc: 1e3\nd: ~\ne: ~\nf: \"12\"\n"
)]
#[case::big_numbers("a: 12345678901234567890\n", "a: 12345678901234567890\n")]
#[case::quotes("a: \"it's\"\nb: \"tab\\there\"\n", "a: 'it''s'\nb: \"tab\\there\"\n")]
#[case::blocks("a: |\n  one\n  two\nb: >-\n  one\n  two\n", "a: \"one\\ntwo\\n\"\nb: 'one two'\n")]
#[case::flow("{a: [1, x], b: {}, c: []}", "a:\n- 1\n- x\nb: {}\nc: []\n")]
#[case::nested(
    "a:\n  b:\n    - c: 1\n      d: 2\n    - - e\n",
    "a:\n  b:\n  - c: 1\n    d: 2\n  -\n    - e\n"
)]
#[case::aliases("a: &x {b: 1}\nc: *x\n", "a:\n  b: 1\nc:\n  b: 1\n")]
#[case::merge("a: &x\n  b: 1\nc:\n  <<: *x\n", "a:\n  b: 1\nc:\n  <<:\n    b: 1\n")]
#[case::tags("a: !!str 12\n", "a: !!str 12\n")]
#[case::comments(
    "# head\n\n# of a\na: # of a, too\n  # of b\n  b: 1 # beside b\n# of c\nc:\n# of item\n- x # beside item\n# tail\n",
    "# head\n# of a\na: # of a, too\n  # of b\n  b: 1 # beside b\n# of c\nc:\n# of item\n- x # beside item\n# tail\n"
)]
#[case::comments_in_flow("a: [x, # one\n  y] # two\n", "a: # two\n- x # one\n- y\n")]
#[case::comment_of_an_item(
    "a:\n# first\n- b: 1 # c\n  # second\n  d: 2\n",
    "a:\n# first\n- b: 1 # c\n  # second\n  d: 2\n"
)]
#[case::a_list("[a, b]", "not a map")]
#[case::twice("a: 1\na: 2\n", "2: the key \"a\" is there twice: remove one")]
#[case::two_documents("a: 1\n---\nb: 2\n", "2: a second document starts here: keep only one")]
#[case::a_key_that_is_a_map("? {a: 1}\n: 2\n", "1: a key has to be a single word or text")]
#[case::an_alias_of_itself("a: &x [*x]\n", "1: the alias stands inside of what it refers to")]
fn is_written_again(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(again(text), expected);
}

#[test]
fn many_aliases_are_refused() {
    let level = |level: usize| {
        let items = vec![format!("*a{}", level - 1); 10].join(", ");
        format!("a{level}: &a{level} [{items}]\n")
    };
    let levels: Vec<_> = (1..10).map(level).collect();
    let text = format!("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n{}", levels.concat());
    assert!(
        again(&text).ends_with("the aliases make too much of it"),
        "{}",
        again(&text)
    );
}

#[test]
fn deep_nesting_is_refused() {
    let text = format!("a: {}{}", "[".repeat(40), "]".repeat(40));
    assert!(again(&text).contains("nested too deeply"), "{}", again(&text));
}

#[rstest]
#[case::words("datacenter-1", "a: datacenter-1\n")]
#[case::ranges("fd69::2/128", "a: fd69::2/128\n")]
#[case::a_number("12", "a: \"12\"\n")]
#[case::a_fraction("1.5", "a: \"1.5\"\n")]
#[case::a_range("10.0.0.1/32", "a: 10.0.0.1/32\n")]
#[case::an_address("10.0.0.1", "a: 10.0.0.1\n")]
#[case::minutes("1:20", "a: \"1:20\"\n")]
#[case::a_day("2020-01-01", "a: \"2020-01-01\"\n")]
#[case::a_truth("Yes", "a: \"Yes\"\n")]
#[case::nothing("", "a: \"\"\n")]
#[case::blanks("DC 1", "a: DC 1\n")]
#[case::a_path("/dc 1/vm", "a: /dc 1/vm\n")]
#[case::a_key("a: b", "a: 'a: b'\n")]
#[case::a_blank_at_the_end("a ", "a: 'a '\n")]
#[case::a_comment("a #b", "a: 'a #b'\n")]
#[case::lines("a\nb", "a: \"a\\nb\"\n")]
fn our_texts_stay_texts(#[case] text: &str, #[case] expected: &str) {
    let mut map = Map::default();
    map.set("a", Node::text(text));
    assert_eq!(super::Document::of(map).to_string(), expected);
}

proptest! {
    /// Any text of ours is read back as it was.
    #[test]
    fn texts_survive(text in "\\PC*|[ -~\n\t'\"\\\\:#-]*") {
        let mut map = Map::default();
        map.set("key", Node::texts(&[text.as_str()]));
        let written = super::Document::of(map.clone()).to_string();
        let Ok(read) = read(&written) else { return Err(TestCaseError::fail(again(&written))) };
        let Some(Node::List(items)) = read.root.find("key") else { return Err(TestCaseError::fail(written)) };
        let Node::Scalar(scalar) = &items[0].value else { return Err(TestCaseError::fail(written)) };
        prop_assert_eq!(&scalar.text, &text);
        prop_assert!(read.root.says(&map));
    }

    /// What has been written once is written the same again, and means the same.
    #[test]
    fn writing_is_stable(text in yaml(3)) {
        let Ok(first) = read(&text) else { return Ok(()) };
        let written = first.to_string();
        let Ok(second) = read(&written) else { return Err(TestCaseError::fail(format!("{text}\n--\n{written}"))) };
        prop_assert!(first.root.says(&second.root), "{}\n--\n{}", text, written);
        prop_assert_eq!(second.to_string(), written);
    }

    /// Nothing makes it panic.
    #[test]
    fn junk_is_refused_or_read(text in "[a-c:\\- \n#&*!\\[\\]{},'\"|>?%~]*") {
        drop(again(&text));
    }
}

/// Flow notation, which needs no indentation.
fn yaml(depth: u32) -> impl Strategy<Value = String> {
    let scalar = prop_oneof![
        "[a-z][a-z0-9 ]{0,5}[a-z]",
        "'[ -&(-~]{0,8}'",
        "[0-9]{1,20}",
        Just("yes".to_owned())
    ];
    let value = scalar.prop_recursive(depth, 24, 4, |inner| {
        let entry = ("[a-z]{1,6}", inner.clone()).prop_map(|(key, value)| format!("{key}: {value}"));
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(|items| format!("[{}]", items.join(", "))),
            prop::collection::vec(entry, 0..4).prop_map(|entries| format!("{{{}}}", entries.join(", "))),
        ]
    });
    let entry = ("[a-z]{1,6}", value).prop_map(|(key, value)| format!("{key}: {value} # c\n"));
    prop::collection::vec(entry, 0..5).prop_map(|entries| entries.concat())
}
