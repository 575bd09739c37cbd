use super::*;
use cloud::Spec;
use rstest::rstest;

crate::annotations! {
    TEXT = "x.dev/text", Text, Refused, "none", Always, "a text | with a bar";
    SEEN = "x.dev/seen", Presence, Refused, "none", Always, "seen";
    NUMBER = "x.dev/number", Integer { least: -1, most: 100 }, Refused, "`4`", Always, "a number";
    LOOSE = "x.dev/loose", Integer { least: i64::MIN, most: i64::MAX }, Ignored, "`4`", AtDeletion, "a number";
    TRUTH = "x.dev/truth", GoBoolean, Refused, "`false`", AtCreation, "a truth";
    LOOSE_TRUTH = "x.dev/loose-truth", Boolean, Ignored, "`true`", Always, "a truth";
    WORD = "x.dev/word", Words(&["", "ONE", "TWO"]), Refused, "`ONE`", Always, "a word";
    LIST = "x.dev/list", List, Ignored, "none", Always, "a list";
    PORTS = "x.dev/ports", Ports, Refused, "none", Always, "ports";
    CIDRS = "x.dev/cidrs", Cidrs, Refused, "none", Written, "CIDRs";
}

const TABLE: Table = Table {
    cloud: "example",
    title: "Example",
    prefixes: &["x.dev/"],
    rows: ROWS,
    rules: &[
        Rule::Exclusive(TEXT, NUMBER),
        Rule::Needs(WORD, "TWO", &[TEXT, LIST]),
        Rule::Conflict((WORD, "ONE"), (TRUTH, "true")),
    ],
};

fn spec(key: &str, value: Option<&str>) -> Spec {
    let annotation = value.map(|value| (key.to_owned(), value.to_owned()));
    Spec {
        annotations: annotation.into_iter().collect(),
        ..Spec::default()
    }
}

/// What is read, or the sentence that refuses it.
fn outcome<T: std::fmt::Debug>(
    row: Annotation,
    value: Option<&str>,
    read: impl Fn(&Annotation, &Spec) -> cloud::Result<T>,
) -> String {
    match read(&row, &spec(row.key, value)) {
        Ok(value) => format!("{value:?}"),
        Err(error) => error.to_string(),
    }
}

#[rstest]
#[case::absent(NUMBER, None, "None")]
#[case::valid(NUMBER, Some("3"), "Some(3)")]
#[case::with_a_sign(NUMBER, Some("+3"), "Some(3)")]
#[case::smallest(NUMBER, Some("-1"), "Some(-1)")]
#[case::too_small(
    NUMBER,
    Some("-2"),
    "invalid annotation x.dev/number: \"-2\" is not a whole number from -1 to 100"
)]
#[case::too_large(
    NUMBER,
    Some("101"),
    "invalid annotation x.dev/number: \"101\" is not a whole number from -1 to 100"
)]
#[case::no_number(
    NUMBER,
    Some("x"),
    "invalid annotation x.dev/number: \"x\" is not a whole number from -1 to 100"
)]
#[case::empty(
    NUMBER,
    Some(""),
    "invalid annotation x.dev/number: \"\" is not a whole number from -1 to 100"
)]
#[case::ignored(LOOSE, Some("x"), "None")]
#[case::negative(LOOSE, Some("-7"), "Some(-7)")]
fn integers(#[case] row: Annotation, #[case] value: Option<&str>, #[case] expected: &str) {
    assert_eq!(outcome(row, value, Annotation::integer), expected);
}

#[rstest]
#[case::absent(TRUTH, None, "None")]
#[case::capitals(TRUTH, Some("TRUE"), "Some(true)")]
#[case::letter(TRUTH, Some("f"), "Some(false)")]
#[case::digit(TRUTH, Some("1"), "Some(true)")]
#[case::no_truth(
    TRUTH,
    Some("yes"),
    "invalid annotation x.dev/truth: \"yes\" is not \"true\" or \"false\""
)]
#[case::strict(LOOSE_TRUTH, Some("true"), "Some(true)")]
#[case::strict_in_capitals(LOOSE_TRUTH, Some("True"), "None")]
fn booleans(#[case] row: Annotation, #[case] value: Option<&str>, #[case] expected: &str) {
    assert_eq!(outcome(row, value, Annotation::boolean), expected);
}

#[rstest]
#[case::absent(None, "None")]
#[case::known(Some("TWO"), "Some(\"TWO\")")]
#[case::empty_counts_as_not_given(Some(""), "None")]
#[case::unknown(Some("two"), "invalid annotation x.dev/word: \"two\" is not one of ONE, TWO")]
fn words(#[case] value: Option<&str>, #[case] expected: &str) {
    assert_eq!(outcome(WORD, value, Annotation::word), expected);
}

#[rstest]
#[case::absent(None, "[]")]
#[case::several(Some("80,443"), "[80, 443]")]
#[case::spaces(Some(" 80 , 443"), "[80, 443]")]
#[case::empty(
    Some(""),
    "invalid annotation x.dev/ports: \"\" is not a comma-separated list of port numbers"
)]
#[case::too_large(
    Some("65536"),
    "invalid annotation x.dev/ports: \"65536\" is not a comma-separated list of port numbers"
)]
fn ports(#[case] value: Option<&str>, #[case] expected: &str) {
    assert_eq!(outcome(PORTS, value, Annotation::ports), expected);
}

#[rstest]
#[case::absent(None, "[]")]
#[case::several(Some("10.0.0.0/8, ::/0"), "[10.0.0.0/8, ::/0]")]
#[case::no_cidr(
    Some("10.0.0.0"),
    "invalid annotation x.dev/cidrs: \"10.0.0.0\" is not a comma-separated list of CIDRs"
)]
fn cidrs(#[case] value: Option<&str>, #[case] expected: &str) {
    assert_eq!(outcome(CIDRS, value, Annotation::cidrs), expected);
}

#[test]
fn text_and_lists() {
    let read = |value| {
        let spec = spec("x.dev/text", value);
        (
            TEXT.text(&spec).map(str::to_owned),
            TEXT.non_empty(&spec).map(str::to_owned),
        )
    };
    assert_eq!(read(None), (None, None));
    assert_eq!(read(Some("")), (Some(String::new()), None));
    assert_eq!(read(Some("a")), (Some("a".to_owned()), Some("a".to_owned())));
    assert_eq!(LIST.list(&spec("x.dev/list", Some("a, b ,a,,c"))), ["a", "b", "c"]);
    assert!(SEEN.is_present(&spec("x.dev/seen", Some("false"))));
    assert_eq!(LOOSE.integer_or(&spec("x.dev/loose", Some("x")), 4), 4);
    assert!(LOOSE_TRUTH.boolean_or(&Spec::default(), true));
}

#[test]
fn the_page_has_a_row_per_annotation() {
    let page = TABLE.page();
    assert!(
        page.starts_with("# The annotations of Services for Example\n\n| annotation |"),
        "{page}"
    );
    assert!(
        page.contains("| `x.dev/text` | text | none | a text \\| with a bar | yes |\n"),
        "{page}"
    );
    assert!(
        page.contains("| `x.dev/cidrs` | a comma-separated list of CIDRs | none | CIDRs | written by the manager |\n"),
        "{page}"
    );
    assert_eq!(page.lines().count(), 4 + ROWS.len());
}

#[test]
fn a_policy_refuses_and_another_warns() {
    let [deny, binding, warn, warning] = &TABLE.policies()[..] else {
        panic!("two policies and their bindings");
    };
    let expressions = |policy: &serde_json::Value| policy["spec"]["validations"].as_array().map_or(0, Vec::len);
    // Numbers, truths, words, ports and CIDRs that are refused, and the rules.
    assert_eq!(
        (expressions(deny), &binding["spec"]["validationActions"][0]),
        (8, &"Deny".into())
    );
    // A number and a truth that are ignored, unknown keys, and an annotation that counts at creation.
    assert_eq!(
        (expressions(warn), &warning["spec"]["validationActions"][0]),
        (4, &"Warn".into())
    );
    let late = warn["spec"]["validations"][3]["message"].as_str().unwrap();
    assert!(
        late.starts_with("a change of the annotation x.dev/truth does not reach"),
        "{late}"
    );
    assert_eq!(deny["metadata"]["name"], "outrigger-example-annotations");
    let unknown = warn["spec"]["validations"][2]["expression"].as_str().unwrap();
    assert!(
        unknown.contains("key.startsWith('x.dev/')") && unknown.contains("'x.dev/word'"),
        "{unknown}"
    );
}

#[test]
fn rules_name_the_annotations() {
    let [deny, ..] = &TABLE.policies()[..] else {
        panic!("a policy");
    };
    let messages: Vec<_> = deny["spec"]["validations"].as_array().unwrap()[5..]
        .iter()
        .map(|one| &one["message"])
        .collect();
    let expected = [
        "only one of the annotations x.dev/text and x.dev/number may be given",
        "annotation x.dev/word: \"TWO\" needs x.dev/text and x.dev/list",
        "annotation x.dev/word: \"ONE\" cannot be used together with \"true\" of x.dev/truth",
    ];
    assert_eq!(messages, expected);
}
