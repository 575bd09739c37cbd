use super::*;
use rstest::rstest;

fn redactor() -> Redactor {
    Redactor::new(&["X-Custom-Thing".to_owned()])
}

#[rstest]
#[case("Authorization", true)]
#[case("X-Auth-Token", true)]
#[case("X-Subject-Token", true)]
#[case("Cookie", true)]
#[case("Set-Cookie", true)]
#[case("X-Amz-Security-Token", true)]
#[case("client_secret", true)]
#[case("accessToken", true)]
#[case("password", true)]
#[case("x_custom_thing", true)]
#[case("pageToken", false)]
#[case("$skiptoken", false)]
#[case("NextToken", false)]
#[case("name", false)]
#[case("tokens_left", false)]
fn names(#[case] name: &str, #[case] secret: bool) {
    assert_eq!(redactor().is_secret(name), secret);
}

#[rstest]
#[case::user("https://me:pw@cloud/x", "https://cloud/x")]
#[case::parameter("https://cloud/x?a=1&token=abc&b=2", "https://cloud/x?a=1&token=<redacted>&b=2")]
#[case::encoded_name("https://cloud/x?api%5Fkey=abc", "https://cloud/x?api%5Fkey=<redacted>")]
#[case::fragment("https://cloud/x#access_token=abc", "https://cloud/x")]
#[case::configured("https://cloud/x?x-custom-thing=abc", "https://cloud/x?x-custom-thing=<redacted>")]
#[case::nothing("https://cloud/x?limit=5&marker=9", "https://cloud/x?limit=5&marker=9")]
fn urls(#[case] url: &str, #[case] shown: &str) {
    assert_eq!(redactor().url(&Url::parse(url).unwrap()), shown);
}

// Keys are in alphabetical order, because JSON that is read and written again may come out so.
#[rstest]
#[case::json(
    r#"{"a": 1, "password" : "x\"y", "z": 2}"#,
    r#"{"a":1,"password":"<redacted>","z":2}"#
)]
#[case::number(r#"{"token": 1234, "z": 2}"#, r#"{"token":"<redacted>","z":2}"#)]
#[case::null(r#"{"token": null}"#, r#"{"token":null}"#)]
#[case::object(r#"{"secret": {"k": "}v"}, "z": [2]}"#, r#"{"secret":"<redacted>","z":[2]}"#)]
#[case::list(r#"[{"secret": ["a", "b"]}]"#, r#"[{"secret":"<redacted>"}]"#)]
#[case::headers_in_json(r#"{"m": "token: abc\r\nz: 2"}"#, r#"{"m":"token: <redacted>\r\nz: 2"}"#)]
#[case::json_in_json(
    r#"{"m": "{\"token\": \"abc\", \"z\": 2}"}"#,
    r#"{"m":"{\"token\":\"<redacted>\",\"z\":2}"}"#
)]
#[case::unicode(r#"{"name": "ü", "password": "ü€"}"#, r#"{"name":"ü","password":"<redacted>"}"#)]
#[case::truncated(r#"{"z": 2, "password": "abc"#, r#"{"z": 2, "password": "<redacted>"#)]
#[case::truncated_object(r#"{"secret": {"k": "a"#, r#"{"secret": <redacted>"#)]
#[case::truncated_after_an_object(r#"{"secret": {"k": "}"}, "z"#, r#"{"secret": <redacted>, "z"#)]
#[case::truncated_number(r#"{"token": 1234, "z"#, r#"{"token": <redacted>, "z"#)]
#[case::truncated_escape(r#"{"password": "abc\"#, r#"{"password": "<redacted>"#)]
#[case::truncated_json_in_json(
    r#"{"m": "{\"token\": \"abc\", \"z\": 2}"#,
    r#"{"m": "{\"token\": \"<redacted>\", \"z\": 2}"#
)]
#[case::truncated_unicode(r#"{"password": "ü€"#, r#"{"password": "<redacted>"#)]
#[case::xml(
    "<a><Password>abc</Password><z>2</z></a>",
    "<a><Password><redacted></Password><z>2</z></a>"
)]
#[case::form("a=1&client_secret=abc&z=2", "a=1&client_secret=<redacted>&z=2")]
#[case::header("Authorization: Bearer abc\r\nHost: x", "Authorization: <redacted>\r\nHost: x")]
#[case::nothing("no token was given; see the manual", "no token was given; see the manual")]
#[case::key_at_the_end("give me a token:", "give me a token:")]
fn texts(#[case] text: &str, #[case] shown: &str) {
    assert_eq!(redactor().text(text, &Secrets::default()), shown);
}

#[test]
fn secrets_of_the_request_are_redacted_in_prose() {
    let url = Url::parse("https://me:urlpass@cloud/x").unwrap();
    let mut request = http::Request::get("https://cloud/x?token=qu%2Fery")
        .header("authorization", "Bearer head3r")
        .header("accept", "application/json")
        .body(Bytes::from_static(
            br#"{"auth": {"password": {"user": {"name": "demo", "password": "b0dy"}}}}"#,
        ))
        .unwrap();
    redactor().mark(request.headers_mut());
    let secrets = redactor().secrets(&request, &url);
    let echo = "demo sent head3r, urlpass, qu/ery, qu%2Fery and b0dy with application/json";
    let shown = "demo sent R, R, R, R and R with application/json".replace('R', REDACTED);
    assert_eq!(redactor().text(echo, &secrets), shown);
}

#[rstest]
#[case::string(
    r#"invalid type: string "abc", expected u64 at line 1 column 5"#,
    r#"invalid type: string "<redacted>", expected u64 at line 1 column 5"#
)]
#[case::quotes_inside(
    r#"invalid type: string "a\"b, expected c", expected u64 at line 1"#,
    r#"invalid type: string "<redacted>", expected u64 at line 1"#
)]
#[case::variant(
    "unknown variant `abc`, expected `on` or `off` at line 1",
    "unknown variant `<redacted>`, expected `on` or `off` at line 1"
)]
#[case::no_expectation(r#"bad value "abc" at line 1"#, r#"bad value "<redacted>" at line 1"#)]
#[case::field("missing field `id` at line 1 column 2", "missing field `id` at line 1 column 2")]
#[case::plain("expected value at line 1 column 1", "expected value at line 1 column 1")]
#[case::number(
    "invalid type: integer `5`, expected a string",
    "invalid type: integer `<redacted>`, expected a string"
)]
fn parser_messages(#[case] message: &str, #[case] shown: &str) {
    assert_eq!(parser_message(message), shown);
}

#[test]
fn any_text_is_redacted_without_a_panic() {
    let pieces = [
        "password", "token", "\"", "'", "\\", ":", "=", ">", "<", "{", "}", "[", "]", " ", "\n", "ü", "€", "s3cr3t",
        ",",
    ];
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..20_000 {
        let text: String = (0..random.usize(..14)).filter_map(|_| random.choice(pieces)).collect();
        let json = format!(
            "{{\"a\": {}, \"password\": \"s3cr3t\"}}",
            serde_json::to_string(&text).unwrap()
        );
        redactor().text(&text, &Secrets::default());
        let shown = redactor().text(&json, &Secrets(vec!["s3cr3t".to_owned()]));
        assert!(!shown.contains("s3cr3t"), "{json} became {shown}");
    }
}
