//! What a text means: values, types, errors with their places, warnings.

#![expect(clippy::unwrap_used, reason = "all of this crate is a test")]

use gcfg::{Document, GoDuration, Known, Position, Subsections, Value};
use rstest::rstest;

const BASE: &str = "[section]\n";

fn read(lines: &str) -> Result<String, String> {
    let document = Document::parse(&format!("{BASE}{lines}")).map_err(|error| error.to_string())?;
    let text = document
        .section("section")
        .text("name")
        .map_err(|error| error.to_string())?;
    Ok(text.unwrap_or("nothing").to_owned())
}

// upstream: openstack 9
#[rstest]
#[case("name=\"va ; lue\"", "va ; lue")]
#[case("name=value; c", "value")]
#[case("name=\"val\" \"ue\"", "val ue")]
#[case("name=\\\"value\\\"", "\"value\"")]
#[case("name=value \\\n value", "value  value")]
#[case("name=; c", "")]
#[case("name=value\r\n", "value")]
#[case("name=a\"b ; c\"d", "ab ; cd")]
#[case("name=\"va\\\\l\\\"u\\n\\te\"", "va\\l\"u\n\te")]
#[case("name = 'single' `back` $dollar", "'single' `back` $dollar")]
#[case("name=", "")]
#[case("name=\"\"", "")]
#[case("name=\" v \" ", " v ")]
#[case("name=value \\\r\n value", "value  value")]
#[case("name=va\rlue", "value")]
#[case("NAME=one\nname=two", "two")]
#[case("name=one\n[other]\nname=two\n[SECTION]\nname=three", "three")]
#[case("[section \"sub\"]\nname=two", "nothing")]
fn values(#[case] lines: &str, #[case] value: &str) {
    assert_eq!(read(lines), Ok(value.to_owned()));
}

// upstream: openstack 9
#[rstest]
#[case(
    "name=\\a",
    "2:6: this backslash in the value of name is not quoted: put the value in double quotes and write the backslash twice"
)]
#[case(
    "name=pass\\word",
    "2:10: this backslash in the value of name is not quoted: put the value in double quotes and write the backslash twice"
)]
#[case(
    "name=\"val\\a\"",
    "2:10: this backslash starts no known sequence: inside quotes there are \\\\, \\\", \\n and \\t, here in the value of name"
)]
#[case(
    "name=\"value",
    "2:6: this double quote is not closed on its line: close it, and write a line end inside quotes as \\n"
)]
#[case(
    "name=\"va\nlue\"",
    "2:6: this double quote is not closed on its line: close it, and write a line end inside quotes as \\n"
)]
#[case("[sub \"\"]", "2:6: a subsection's name cannot be empty: name it or leave it out")]
#[case(
    "[]",
    "2:2: a section needs a name of letters, digits and hyphens: write one, such as [Global]"
)]
#[case(
    "[a.b]",
    "2:3: the header of section a does not end here: write [a] or [a \"subsection\"]"
)]
#[case(
    "[sub \"a\\n\"]",
    "2:8: this backslash starts no known sequence: inside quotes there are \\\\ and \\\""
)]
#[case(
    "[other] name=value",
    "2:9: only a comment may follow a section header: start a new line"
)]
#[case(
    "auth_url=x",
    "2:5: the key auth_url has an underscore, which no key has: use a hyphen, auth-url"
)]
#[case(
    "name value",
    "2:6: after the key name comes neither = nor the end of the line: write name=value"
)]
#[case(
    "=value",
    "2:1: '=' starts neither a section nor a key: write [section] or key=value, with a key that starts with a letter"
)]
#[case("name=a\0b", "2:7: a NUL cannot be in this file: remove it")]
#[case("name", "2:1: name has no value: write name=… or remove the line")]
fn fatal(#[case] lines: &str, #[case] message: &str) {
    assert_eq!(read(lines), Err(message.to_owned()));
}

// upstream: openstack 9
#[test]
fn before_any_section() {
    let error = Document::parse("name=value").unwrap_err();
    assert_eq!(
        error.to_string(),
        "1:1: a section header must come first: write one, such as [Global]"
    );
}

// upstream: openstack 9
#[rstest]
#[case("name=value \\⏎ value", "value  value")]
#[case("CRLF ok: name=value↵⏎other=x", "value")]
fn line_ends(#[case] line: &str, #[case] value: &str) {
    let line = line.trim_start_matches("CRLF ok: ");
    assert_eq!(read(&line.replace('⏎', "\n").replace('↵', "\r")), Ok(value.to_owned()));
}

#[test]
fn file_names_and_characters_count() {
    let error = Document::parse_file("cloud.conf", "[Global]\n  näme=ü\\x".as_bytes()).unwrap_err();
    assert_eq!(error.position(), Position { line: 2, column: 9 });
    assert!(
        error.to_string().starts_with("cloud.conf:2:9: this backslash"),
        "{error}"
    );
}

#[test]
fn bytes_that_are_no_text() {
    let error = Document::parse_file("cloud.conf", b"[Global]\nname=\xff").unwrap_err();
    let message = "cloud.conf:2:6: this is not UTF-8: save the file in that encoding";
    assert_eq!(error.to_string(), message);
}

// upstream: openstack 12
#[test]
fn byte_order_mark() {
    let document = Document::parse_file("cloud.conf", "\u{feff}[Global]\nname=value".as_bytes());
    let document = document.expect("★ BOM file accepted");
    assert_eq!(document.section("Global").text("name"), Ok(Some("value")));
    assert_eq!(document.parts()[0].position(), Position { line: 1, column: 2 });
}

fn boolean(lines: &str) -> Result<Option<bool>, String> {
    let document = Document::parse(&format!("{BASE}{lines}")).unwrap();
    document
        .section("section")
        .boolean("bool")
        .map_err(|error| error.to_string())
}

// upstream: openstack 10
#[rstest]
#[case("bool=yes", true)]
#[case("bool=On", true)]
#[case("bool=1", true)]
#[case("bool=tRuE", true)]
#[case("bool", true)]
#[case("bool=no", false)]
#[case("bool=OFF", false)]
#[case("bool=0", false)]
#[case("bool=false", false)]
#[case("bool=true\nbool=false", false)]
fn booleans(#[case] lines: &str, #[case] value: bool) {
    assert_eq!(boolean(lines), Ok(Some(value)));
}

// upstream: openstack 10
#[rstest]
#[case("bool=maybe")]
#[case("bool=t")]
#[case("bool=2")]
#[case("bool=")]
#[case("bool=\" true\"")]
#[case("bool=maybe\nbool=true")]
fn no_booleans(#[case] lines: &str) {
    let error = boolean(lines).unwrap_err();
    assert!(error.starts_with("2:6: bool is neither true nor false"), "{error}");
}

// upstream: openstack 10
#[rstest]
#[case("int=010", Some(10))]
#[case("int=0x10", Some(16))]
#[case("int=-0x1_0", Some(-16))]
#[case("int=+5", Some(5))]
#[case("int=\" 7 \"", Some(7))]
#[case("int=-9223372036854775808", Some(i64::MIN))]
#[case("int=0.2", None)]
#[case("int=1e3", None)]
#[case("int=0X10", None)]
#[case("int=0x", None)]
#[case("int=1_000", None)]
#[case("int=9223372036854775808", None)]
#[case("int=", None)]
#[case("int", None)]
fn integers(#[case] lines: &str, #[case] value: Option<i64>) {
    let document = Document::parse(&format!("{BASE}{lines}")).unwrap();
    assert_eq!(document.section("section").int("int").ok().flatten(), value);
}

#[rstest]
#[case("18446744073709551615", Some(u64::MAX))]
#[case("0xff", Some(255))]
#[case("-1", None)]
#[case("+1", None)]
#[case("18446744073709551616", None)]
fn unsigned(#[case] value: &str, #[case] number: Option<u64>) {
    let document = Document::parse(&format!("{BASE}n={value}")).unwrap();
    assert_eq!(document.section("section").uint("n").ok().flatten(), number);
}

// upstream: openstack 10
#[rstest]
#[case("list key twice → two values", "list=a\nlist=b", Some(vec!["a", "b"]))]
#[case("blank list key clears", "list=a\nlist\nlist=b", Some(vec!["b"]))]
#[case("cleared to nothing", "list=a\nlist", Some(vec![]))]
#[case("an empty value is a value", "list=", Some(vec![""]))]
#[case("not there", "name=x", None)]
fn lists(#[case] what: &str, #[case] lines: &str, #[case] values: Option<Vec<&str>>) {
    let document = Document::parse(&format!("{BASE}{lines}")).unwrap();
    assert_eq!(document.section("section").list("LIST"), values, "{what}");
}

#[rstest]
#[case("5s", 5_000_000_000)]
#[case("1m30s", 90_000_000_000)]
#[case("0", 0)]
#[case("-1.5h", -5_400_000_000_000)]
#[case("1us2\u{b5}s3\u{3bc}s", 6_000)]
#[case(".5ms", 500_000)]
fn durations(#[case] value: &str, #[case] nanos: i64) {
    let document = Document::parse(&format!("{BASE}span={value}")).unwrap();
    assert_eq!(
        document.section("section").duration("span"),
        Ok(Some(GoDuration::from_nanos(nanos)))
    );
}

#[rstest]
#[case("5", "2:6: span needs a unit: write for example 5s")]
#[case(
    "soon",
    "2:6: span is not a duration: write numbers with units, such as 5s or 1m30s, not \"soon\""
)]
#[case(
    "5 s",
    "2:6: span is not a duration: write numbers with units, such as 5s or 1m30s, not \"5 s\""
)]
fn no_durations(#[case] value: &str, #[case] message: &str) {
    let document = Document::parse(&format!("{BASE}span={value}")).unwrap();
    let error = document.section("section").duration("span").unwrap_err();
    assert_eq!(error.to_string(), message);
}

#[rstest]
#[case("internal", Some("internal"))]
#[case("\" internal \"", Some("internal"))]
#[case("", None)]
#[case("two words", None)]
#[case("\"internal\\n\"", None)]
fn words(#[case] value: &str, #[case] word: Option<&str>) {
    let document = Document::parse(&format!("{BASE}word={value}")).unwrap();
    assert_eq!(document.section("section").word("word").ok().flatten(), word);
}

// upstream: openstack 12
#[rstest]
#[case("password=abc#def", Some(("abc", "2:13")))]
#[case("password=abc;def", Some(("abc", "2:13")))]
#[case("password=#abc", Some(("", "2:10")))]
#[case("password=abc #def", None)]
#[case("password=\"abc\"#def", None)]
#[case("password= # none", None)]
#[case("password=\"abc#def\"", None)]
fn comments_directly_after_a_value(#[case] line: &str, #[case] cut: Option<(&str, &str)>) {
    let document = Document::parse(&format!("{BASE}{line}")).unwrap();
    let warning = document.warnings().first().map(ToString::to_string);
    let Some((value, place)) = cut else {
        return assert_eq!(warning, None);
    };
    let sign = if line.contains(';') { ';' } else { '#' };
    let message = format!(
        "{place}: the value of password ends before this {sign}, which starts a comment: if it belongs to the value, put the \
         value in double quotes, else put a blank before the comment"
    );
    assert_eq!(warning, Some(message));
    assert_eq!(document.section("section").text("password"), Ok(Some(value)));
}

#[test]
fn nothing_shows_a_password() {
    let document = Document::parse("[Global]\npassword=\"top-secret\"\n").unwrap();
    assert!(!format!("{document:?}").contains("top-secret"));
    let error = Document::parse("[Global]\npassword=top-\\secret").unwrap_err();
    assert!(!format!("{error} {error:?}").contains("secret"));
}

#[test]
fn entries_have_places() {
    let document = Document::parse("[A]\n  Key-1 =  v\n[b \"C\\\\\"]\nflag\n").unwrap();
    let (a, b) = (&document.parts()[0], &document.parts()[1]);
    let (key, flag) = (&a.entries()[0], &b.entries()[0]);
    assert_eq!((key.key(), key.folded()), ("Key-1", "key-1"));
    assert_eq!(key.position().to_string(), "2:3");
    assert_eq!(key.value_position().to_string(), "2:12");
    assert_eq!(b.subsection(), Some("C\\"));
    assert_eq!(
        (flag.value(), flag.position().to_string()),
        (&Value::Blank, "4:1".to_owned())
    );
}

#[test]
fn subsection_names_are_case_sensitive() {
    let text = "[class \"a\"]\nx=1\n[Class \"A\"]\nx=2\n[class]\nx=3\n[CLASS \"a\"]\nx=4\n";
    let document = Document::parse(text).unwrap();
    let read = |name| {
        document
            .subsections("class")
            .iter()
            .find(|s| s.subsection() == name)
            .unwrap()
            .int("x")
            .unwrap()
    };
    assert_eq!(document.subsections("class").len(), 3);
    assert_eq!(
        (read(Some("a")), read(Some("A")), read(None)),
        (Some(4), Some(2), Some(3))
    );
}

#[rstest]
#[case("[LoadBalancer]\nmonitor-dealy=5s", &["2:1: the key monitor-dealy is unknown in [LoadBalancer] and ignored: did you mean monitor-delay?"])]
#[case("[LoadBalanser]\nx=1", &["1:2: the section [LoadBalanser] is unknown and ignored: did you mean [LoadBalancer]?"])]
#[case("[Global]\nmonitor-delay=5s", &["2:1: the key monitor-delay is unknown in [Global] and ignored: it belongs to [LoadBalancer]"])]
#[case("[Global]\nxyz=1\nXYZ=2", &["2:1: the key xyz is unknown in [Global] and ignored: remove it if it is not for another program"])]
#[case("[Global \"x\"]\nxyz=1", &["1:2: the section [Global] has no subsections, so \"x\" is ignored: write [Global]"])]
#[case("[Class \"x\"]\nid=1\n[GLOBAL]\nAUTH-URL=x", &[])]
fn unknown(#[case] text: &str, #[case] warnings: &[&str]) {
    let known = [
        ("Global", Subsections::None, vec!["auth-url"]),
        (
            "LoadBalancer",
            Subsections::None,
            vec!["monitor-delay", "monitor-timeout"],
        ),
        ("Class", Subsections::Any, vec!["id"]),
    ];
    let known = known.map(|(section, subsections, keys)| Known {
        section,
        subsections,
        keys,
    });
    let found = Document::parse(text).unwrap().unknown(&known);
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(found, warnings);
}
