//! The expected texts are the output of `sigs.k8s.io/yaml` 1.6 for the same JSON.

use super::to_string;
use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

fn written(value: Value) -> String {
    let Value::Object(map) = value else {
        panic!("not a map: {value}")
    };
    to_string(map)
}

#[rstest]
#[case::nothing(json!({}), "{}\n")]
#[case::scalars(json!({"a": 1, "b": true, "c": null, "d": 1.5}), "a: 1\nb: true\nc: null\nd: 1.5\n")]
#[case::big_numbers(json!({"a": 12_345_678_901_234_567_890_u64}), "a: 12345678901234567890\n")]
#[case::empty(json!({"a": {}, "b": []}), "a: {}\nb: []\n")]
#[case::maps(json!({"b": {"d": 1, "c": {"e": "f"}}}), "b:\n  c:\n    e: f\n  d: 1\n")]
#[case::lists(json!({"a": ["x", {"d": 2, "c": 1}, ["e", "f"], {}]}), "a:\n- x\n- c: 1\n  d: 2\n- - e\n  - f\n- {}\n")]
#[case::numbers_by_value(json!({"a10": 1, "a9": 2, "a": 3}), "a: 3\na9: 2\na10: 1\n")]
#[case::addresses(json!({"10.0.0.10": 1, "10.0.0.9": 2, "9.0.0.1": 3}), "9.0.0.1: 3\n10.0.0.9: 2\n10.0.0.10: 1\n")]
#[case::capitals_first(json!({"b": 1, "B": 2, "a-b": 3, "a.b": 4, "ab": 5}), "B: 2\na-b: 3\na.b: 4\nab: 5\nb: 1\n")]
#[case::zeros(json!({"a100": 1, "a10": 2, "a01": 3, "a1": 4}), "a1: 4\na01: 3\na10: 2\na100: 1\n")]
fn is_laid_out(#[case] value: Value, #[case] expected: &str) {
    assert_eq!(written(value), expected);
}

#[rstest]
#[case::a_word("datacenter-1", "datacenter-1")]
#[case::a_range("fd69::2/128", "fd69::2/128")]
#[case::a_number("12", "\"12\"")]
#[case::with_underscores("1_000", "\"1_000\"")]
#[case::hexadecimal("0x1F", "\"0x1F\"")]
#[case::octal("0777", "\"0777\"")]
#[case::not_octal("0999", "\"0999\"")]
#[case::a_fraction("1.5", "\"1.5\"")]
#[case::an_exponent("1e3", "\"1e3\"")]
#[case::infinity(".inf", "\".inf\"")]
#[case::an_address("10.0.0.1", "10.0.0.1")]
#[case::an_address_range("10.0.0.1/32", "10.0.0.1/32")]
#[case::base_60("1:20", "\"1:20\"")]
#[case::not_base_60("1:60", "1:60")]
#[case::a_date("2020-01-01", "\"2020-01-01\"")]
#[case::no_date("2020-13-01", "2020-13-01")]
#[case::a_time("2020-01-01T00:00:00Z", "\"2020-01-01T00:00:00Z\"")]
#[case::a_date_and_words("2020-1-1 x", "2020-1-1 x")]
#[case::a_boolean("Yes", "\"Yes\"")]
#[case::one_letter("n", "\"n\"")]
#[case::no_boolean("nO", "nO")]
#[case::nothing("", "\"\"")]
#[case::null("~", "\"~\"")]
#[case::blanks("DC 1", "DC 1")]
#[case::a_path("/dc 1/vm", "/dc 1/vm")]
#[case::an_indicator("@a", "'@a'")]
#[case::a_dash("- a", "'- a'")]
#[case::an_option("-a", "-a")]
#[case::a_key("a: b", "'a: b'")]
#[case::a_colon("a:", "'a:'")]
#[case::colons("AA:BB", "AA:BB")]
#[case::a_comment("a #b", "'a #b'")]
#[case::no_comment("a#b", "a#b")]
#[case::a_blank_at_the_end("a ", "'a '")]
#[case::quotes("it's \"so\"", "it's \"so\"")]
#[case::a_quote_first("'a", "'''a'")]
#[case::a_tab("a\tb", "\"a\\tb\"")]
#[case::a_control_character("a\u{1}", "\"a\\x01\"")]
#[case::letters("Zürich 東京", "Zürich 東京")]
#[case::an_emoji("a😀", "\"a\\U0001F600\"")]
fn texts_are_quoted_where_it_is_needed(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(written(json!({ "a": text })), format!("a: {expected}\n"));
}

proptest! {
    /// Any text is read back unchanged.
    #[test]
    fn texts_survive(text in "\\PC*|[ -~\n\t'\"\\\\:#-]*", key in "[a-z]{1,8}") {
        let value = json!({ key: [text] });
        let read: Value = serde_saphyr::from_str(&written(value.clone())).unwrap();
        prop_assert_eq!(read, value);
    }
}
