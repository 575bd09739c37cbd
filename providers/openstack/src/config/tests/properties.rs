//! Properties for any text.

use super::*;
use proptest::prelude::*;

fn conf() -> impl Strategy<Value = String> {
    let keys: Vec<&str> = KEYS.keys().map(|(_, key)| key.name).collect();
    let line = prop_oneof![
        4 => (prop::sample::select(keys), "[ -~]{0,8}").prop_map(|(key, value)| format!("{key} = {value}")),
        1 => "\\[(Global|LoadBalancer|LoadBalancerClass \"x\"|Networking|Metadata|Nope)\\]",
        1 => "[ -~\r\t]{0,12}",
    ];
    prop::collection::vec(line, 0..10).prop_map(|lines| format!("[Global]\n{}", lines.join("\n")))
}

fn yaml() -> impl Strategy<Value = String> {
    let word = "[a-z0-9'\"{}:&*!|>%@, -]{0,8}";
    let line = (
        "[ ]{0,6}",
        prop_oneof!["clouds", "auth", "regions", "verify", "auth_url", "password", "a"],
        word,
    );
    prop::collection::vec(
        line.prop_map(|(indent, key, value)| format!("{indent}{key}: {value}")),
        0..10,
    )
    .prop_map(|lines| lines.join("\n"))
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_rejected_without_a_panic(conf in conf(), clouds in yaml(), other in ".{0,40}") {
        let files = Shelf::default().with("/cwd/clouds.yaml", &clouds).with("/cwd/secure.yaml", &other);
        let secret = [("clouds.yaml".to_owned(), clouds.clone().into_bytes())].into();
        for text in [conf.clone(), other, format!("{conf}\nuse-clouds=true"), format!("{conf}\nsecret-name=a\nsecret-namespace=b")] {
            let _ = read(&text, &files, &environment(), None);
            let _ = read(&text, &files, &environment(), Some(&secret));
        }
    }

    #[test]
    fn no_message_shows_a_secret(before in "[a-z]{0,3}[\"'\\\\#;]?", after in "[\"'\\\\#; ]{0,2}[a-z]{0,3}") {
        let text = format!("[Global]\nauth-url=x\nuser-id=u\ntenant-id=t\npassword={before}TOP-SECRET{after}\ntoken={before}TOP-SECRET{after}");
        let output = match try_file(&text) {
            Ok(loaded) => format!("{loaded:?}"),
            Err(error) => error,
        };
        prop_assert!(!output.contains("SECRET"), "{}", output);
    }
}
