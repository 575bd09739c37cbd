use super::*;
use rstest::rstest;
use testkit::node::node;

#[rstest]
#[case::empty("", "", true)]
#[case::blank(" ", "", true)]
#[case::equal("a=b", "a=b", true)]
#[case::equal_twice("a==b", "a=b", true)]
#[case::not_equal("a!=b", "a=b", false)]
#[case::not_equal_absent("a!=b", "", true)]
#[case::exists("a", "a=x", true)]
#[case::absent("!a", "a=x", false)]
#[case::one_of("a in (b, c)", "a=c", true)]
#[case::none_of("a notin (b,c)", "a=c", false)]
#[case::all_terms("a=b, c in (d,e) ,!f", "a=b c=e", true)]
#[case::one_term_fails("a=b,c=d", "a=b", false)]
#[case::empty_value("a=", "a=x", false)]
fn selects(#[case] selector: &str, #[case] labels: &str, #[case] expected: bool) {
    let scope = Scope {
        selector: parse_selector(selector).unwrap(),
        ..Scope::default()
    };
    assert_eq!(scope.contains(&node("n", labels)), expected);
}

#[rstest]
#[case::no_key("=b", "=b")]
#[case::no_set("a in b", "a in b")]
#[case::open_set("a in (b", "a in (b")]
#[case::two_words("a=b,c d", "c d")]
#[case::nothing_between("a=b,,c", "")]
#[case::nothing_after("a=b,", "")]
#[case::no_name("!", "!")]
#[case::quoted("a=\"b\"", "a=\"b\"")]
fn rejects(#[case] selector: &str, #[case] term: &str) {
    let sentence = format!("{term:?} is not a requirement such as key=value, key!=value, key in (a,b), key or !key");
    assert_eq!(parse_selector(selector).unwrap_err().to_string(), sentence);
}

#[rstest]
#[case::no_schemes(&[], "id:aws:///x", Ownership::Ours)]
#[case::no_schemes_and_no_scheme(&[], "id:x", Ownership::Ours)]
#[case::ours(&["aws", "gce"], "id:gce://x", Ownership::Ours)]
#[case::others(&["aws"], "id:gce://x", Ownership::Others)]
#[case::no_scheme_in_the_id(&["aws"], "id:x", Ownership::Others)]
#[case::no_provider_id(&["aws"], "", Ownership::Unknown)]
fn ownership(#[case] schemes: &[&str], #[case] words: &str, #[case] expected: Ownership) {
    let scope = Scope {
        schemes: schemes.iter().map(ToString::to_string).collect(),
        ..Scope::default()
    };
    assert_eq!(scope.ownership(&node("n", words)), expected);
}
