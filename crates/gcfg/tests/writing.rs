//! Changes that leave every other byte.

use gcfg::{Document, EditError};
use rstest::rstest;

#[rstest]
#[case::keeps_spacing_and_comment("[A]\n  key  =  old ; why\nx=1\n", "new", "[A]\n  key  =  new ; why\nx=1\n")]
#[case::keeps_quotes("[A]\nkey=\"old\" # c\n", "new", "[A]\nkey=\"new\" # c\n")]
#[case::quotes_if_needed("[A]\nkey=old\n", "a;b#c \\\"", "[A]\nkey=\"a;b#c \\\\\\\"\"\n")]
#[case::empty("[A]\nkey=old\n", "", "[A]\nkey=\"\"\n")]
#[case::blanks_around("[A]\nkey=old\n", " x ", "[A]\nkey=\" x \"\n")]
#[case::line_end("[A]\nkey=old\n", "a\nb", "[A]\nkey=\"a\\nb\"\n")]
#[case::empty_before("[A]\r\nkey = \r\nx=1\r\n", "new", "[A]\r\nkey = new\r\nx=1\r\n")]
#[case::blank_before("[A]\nkey ; c\n", "new", "[A]\nkey=new ; c\n")]
#[case::comment_directly_after("[A]\nkey=old#c\n", "new", "[A]\nkey=new #c\n")]
#[case::continued("[A]\nkey=a \\\n b\nx=1\n", "new", "[A]\nkey=new\nx=1\n")]
#[case::twice("[A]\nkey=1\n[B]\n[a]\nKEY=2\n", "new", "[A]\n[B]\n[a]\nKEY=new\n")]
#[case::new_key_as_its_neighbours(
    "[A]\r\n\tx = 1\r\n\r\n[B]\r\n",
    "new",
    "[A]\r\n\tx = 1\r\n\tkey = new\r\n\r\n[B]\r\n"
)]
#[case::new_key_in_an_empty_section("[A] ; c\n[B]\n", "new", "[A] ; c\nkey=new\n[B]\n")]
#[case::no_line_end_at_the_end("[A]\nx=1", "new", "[A]\nx=1\nkey=new")]
#[case::new_section("[B]\nx=1\n", "new", "[B]\nx=1\n\n[A]\nkey=new\n")]
#[case::new_section_no_line_end("[B]\nx=1", "new", "[B]\nx=1\n\n[A]\nkey=new\n")]
#[case::continued_to_the_end("[A]\nx=\\\n", "new", "[A]\nx=\\\n\nkey=new")]
#[case::nothing("", "new", "[A]\nkey=new\n")]
#[case::byte_order_mark("\u{feff}[A]\nkey=old", "new", "\u{feff}[A]\nkey=new")]
fn set(#[case] text: &str, #[case] value: &str, #[case] after: &str) {
    let mut document = Document::parse(text).unwrap();
    document.set("A", None, "key", value).unwrap();
    assert_eq!(document.to_string(), after);
    assert_eq!(document.section("A").text("key"), Ok(Some(value)));
}

#[rstest]
#[case::grows("[A]\n key = a # c\nx=1\n", &["p", "q"], "[A]\n key = p # c\n key = q\nx=1\n")]
#[case::shrinks("[A]\nkey=a\nkey=b\nx=1\n", &["p"], "[A]\nkey=p\nx=1\n")]
#[case::new("[A]\nx=1\n", &["p", "q r;"], "[A]\nx=1\nkey=p\nkey=\"q r;\"\n")]
#[case::none("[A]\nkey=a\nkey\nx=1\n", &[], "[A]\nx=1\n")]
fn set_list(#[case] text: &str, #[case] values: &[&str], #[case] after: &str) {
    let mut document = Document::parse(text).unwrap();
    document.set_list("A", None, "key", values).unwrap();
    assert_eq!(document.to_string(), after);
    assert_eq!(document.section("A").list("key").unwrap_or_default(), values);
}

#[rstest]
#[case::with_its_comment("[A]\n# about key\nkey=1 ; c\nx=1\n", "[A]\n# about key\nx=1\n", true)]
#[case::all_of_them("[A]\nkey=1\n[B]\nkey=2\n[a]\nKey\n", "[A]\n[B]\nkey=2\n[a]\n", true)]
#[case::continued("[A]\nkey=1 \\\n 2\nx=1\n", "[A]\nx=1\n", true)]
#[case::the_last_line("[A]\nx=1\nkey=1", "[A]\nx=1\n", true)]
#[case::not_there("[A]\nx=1\n", "[A]\nx=1\n", false)]
fn remove(#[case] text: &str, #[case] after: &str, #[case] removed: bool) {
    let mut document = Document::parse(text).unwrap();
    assert_eq!(document.remove("A", None, "key"), removed);
    assert_eq!(document.to_string(), after);
}

#[rstest]
#[case::first("[A]\nx=1\n\n# about B\n[B]\ny=1\n", "# about B\n[B]\ny=1\n", true)]
#[case::last("[B]\ny=1\n# about A\n[A]\nx=1\n; end\n", "[B]\ny=1\n# about A\n", true)]
#[case::twice("[A]\nx=1\n[B]\n[a]\n", "[B]\n", true)]
#[case::not_there("[B]\n", "[B]\n", false)]
#[case::not_its_subsection("[A \"s\"]\n", "[A \"s\"]\n", false)]
fn remove_section(#[case] text: &str, #[case] after: &str, #[case] removed: bool) {
    let mut document = Document::parse(text).unwrap();
    assert_eq!(document.remove_section("A", None), removed);
    assert_eq!(document.to_string(), after);
}

#[test]
fn subsections() {
    let mut document = Document::parse("[Global]\n").unwrap();
    assert_eq!(document.add_section("Class", Some("a \"b\" \\ \t")), Ok(true));
    assert_eq!(document.add_section("class", Some("a \"b\" \\ \t")), Ok(false));
    assert_eq!(document.parts()[1].subsection(), Some("a \"b\" \\ \t"));
    document.set("Class", Some("n"), "id", "1").unwrap();
    assert_eq!(document.parts()[2].entries()[0].key(), "id");
}

#[rstest]
#[case(
    "auth_url",
    "x",
    "\"auth_url\" cannot be a name: use letters, digits and hyphens, starting with a letter"
)]
#[case(
    "",
    "x",
    "\"\" cannot be a name: use letters, digits and hyphens, starting with a letter"
)]
#[case(
    "key",
    "a\rb",
    "the value of key has a carriage return or a NUL, which cannot be written in this file"
)]
fn refuses(#[case] key: &str, #[case] value: &str, #[case] message: &str) {
    let mut document = Document::parse("[A]\nx=1\n").unwrap();
    assert_eq!(document.set("A", None, key, value).unwrap_err().to_string(), message);
    assert_eq!(document.add_section("A", Some("")), Err(EditError::Subsection));
    assert_eq!(document.to_string(), "[A]\nx=1\n");
}
