use super::*;
use rstest::rstest;

const TABLE: Table = Table(&[
    Section::new(
        "Global",
        &[
            Key::new("url", Kind::Text, "", "the URL of the cloud"),
            Key::new("token", Kind::Secret, "", "the token"),
            Key::new("retries", Kind::Uint, "3", "a number | of retries"),
            Key::new("secret-name", Kind::LenientText, "", "a Secret"),
            Key::new("old", Kind::Boolean, "", "there is nothing else").obsolete(),
        ],
    ),
    Section::new("Class", &[Key::new("network", Kind::List, "", "the networks")]).with_subsections(),
    Section::new(
        "Other",
        &[Key::new("size", Kind::Int, "", "of another program").foreign()],
    ),
]);

fn read(text: &str) -> (Result<Settings, String>, Vec<String>) {
    let mut warnings = Vec::new();
    let settings = TABLE.read("cloud.conf", text.as_bytes(), &mut warnings);
    (settings.map_err(|error| error.to_string()), warnings)
}

#[test]
fn values_are_of_their_kind() {
    let text =
        "[Global]\nurl=http://a\nretries=7\nsecret-name\n[Class \"a\"]\nnetwork=1\nnetwork=2\n[Other]\nsize=big\n";
    let (settings, warnings) = read(text);
    let settings = settings.unwrap();
    assert_eq!(settings.text("Global", "url"), Some("http://a"));
    assert_eq!(settings.number("Global", "retries"), Some(7));
    assert_eq!(settings.number("Global", "url"), None);
    assert_eq!(settings.position("Global", "retries"), "cloud.conf:3:1");
    assert_eq!(settings.subsections("Class").collect::<Vec<_>>(), ["a"]);
    assert_eq!(warnings, Vec::<String>::new());
}

#[rstest]
#[case::near("[Global]\nurll=x\n", "did you mean url?")]
#[case::far("[Global]\nbanana=x\n", "banana")]
#[case::section("[Globel]\nurl=x\n", "did you mean [Global]?")]
#[case::obsolete("[Global]\nold=true\n", "cloud.conf:2:1: old has no effect: there is nothing else")]
fn the_user_is_warned(#[case] text: &str, #[case] expected: &str) {
    let (settings, warnings) = read(text);
    assert!(settings.is_ok());
    assert!(warnings.len() == 1 && warnings[0].contains(expected), "{warnings:?}");
}

#[test]
fn a_wrong_value_is_an_error_with_its_position() {
    let error = read("[Global]\nretries=many\n").0.err().unwrap();
    assert!(error.starts_with("cloud.conf:2:"), "{error}");
}

#[test]
fn another_file_overlays() {
    let mut settings = read("[Global]\nurl=a\ntoken=b\n").0.unwrap();
    settings.overlay(read("[Global]\nurl=c\n[Class \"x\"]\n").0.unwrap());
    assert_eq!(settings.text("Global", "url"), Some("c"));
    assert_eq!(settings.text("Global", "token"), Some("b"));
    assert_eq!(settings.subsections("Class").count(), 1);
    assert!(settings.remove("Global", "url") && !settings.remove("Global", "url"));
}

#[test]
fn a_page() {
    let page = TABLE.page("Keys");
    let expected = "# Keys\n\n## [Global]\n\n| key | type | default | meaning |\n|---|---|---|---|\n\
                    | `url` | text |  | the URL of the cloud |\n| `token` | secret |  | the token |\n\
                    | `retries` | number | `3` | a number \\| of retries |\n| `secret-name` | text |  | a Secret |\n\
                    | `old` | boolean |  | there is nothing else. No effect any more. |\n";
    assert!(page.starts_with(expected), "{page}");
    let last = "| `size` | number |  | of another program. For another program that reads this file. |\n";
    assert!(page.ends_with(last), "{page}");
}

#[test]
fn settings_of_another_notation() {
    let mut settings = Settings::default();
    let [global, class, _] = TABLE.0 else {
        panic!("three sections")
    };
    let at = || "cloud.yaml: global".to_owned();
    settings
        .set(global, "", &global.keys[2], vec!["7".to_owned()], at())
        .unwrap();
    let networks = vec!["1".to_owned(), "2".to_owned()];
    settings
        .set(class, "a", &class.keys[0], networks.clone(), at())
        .unwrap();
    assert_eq!(settings.part("Global", "").number("retries"), Some(7));
    assert_eq!(settings.part("Class", "a").list("network"), Some(networks.as_slice()));
    assert_eq!(settings.part("Class", "b").list("network"), None);
    assert_eq!(settings.subsections("Class").collect::<Vec<_>>(), ["a"]);
    let refused = settings.set(global, "", &global.keys[2], vec!["many".to_owned()], at());
    assert_eq!(refused.unwrap_err(), "cloud.yaml: global: \"many\" is not a number");
}
