use super::{Document, Invalid};
use rstest::rstest;

#[rstest]
#[case::new("{\"a\":1}", "{\"a\":1,\"key\":true}")]
#[case::in_place("{\"key\":1,\"a\":2}", "{\"key\":true,\"a\":2}")]
#[case::once("{\"KEY\":1,\"a\":2,\"key\":3,\"b\":4}", "{\"a\":2,\"key\":true,\"b\":4}")]
#[case::strings(
    "{\"a\\\"b\":\"\\\\\",\"c\" : \" \"}",
    "{\"a\\\"b\":\"\\\\\",\"c\":\" \",\"key\":true}"
)]
fn sets_a_key(#[case] text: &str, #[case] expected: &str) {
    let mut document = Document::parse("file", text).expect("JSON");
    document.set("key", true);
    assert_eq!(document.to_string(), expected);
}

#[rstest]
#[case::missing("{}", Ok(None))]
#[case::null("{\"key\":null}", Ok(None))]
#[case::null_does_not_hide("{\"key\":\"x\",\"Key\":null}", Ok(Some("x")))]
#[case::last("{\"key\":\"x\",\"Key\":\"y\"}", Ok(Some("y")))]
#[case::number("{\"key\":1}", Err("\"key\" is not a text: write it in quotes"))]
fn reads_a_text(#[case] text: &str, #[case] expected: Result<Option<&str>, &str>) {
    let document = Document::parse("file", text).expect("JSON");
    assert_eq!(
        document.text("key"),
        expected
            .map(|text| text.map(str::to_owned))
            .map_err(|problem| Invalid(problem.to_owned()))
    );
}
