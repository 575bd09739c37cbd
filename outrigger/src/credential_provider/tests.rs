use super::*;
use rstest::rstest;

const NOW: u64 = 1_800_000_000;

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

#[rstest]
#[case::no_end(None, "0s")]
#[case::twelve_hours(Some(NOW + 12 * 3600), "6h0m0s")]
#[case::an_odd_number(Some(NOW + 61), "30s")]
#[case::one_second(Some(NOW + 1), "-")]
#[case::now(Some(NOW), "-")]
#[case::expired(Some(NOW - 100), "-")]
fn halves_the_cache_duration(#[case] end: Option<u64>, #[case] expected: &str) {
    let found = cache_duration(end.map(at), at(NOW));
    let text = found.map_or("-".to_owned(), |duration| GoDuration::from(duration).to_string());
    assert_eq!(text, expected);
}

#[test]
fn responds_as_the_go_program_does() {
    let found = Found {
        host: "test.registry.io".into(),
        username: "user".into(),
        password: "pass:word".into(),
        expires_at: Some(at(NOW + 20 * 60)),
    };
    let expected = r#"{"kind":"CredentialProviderResponse","apiVersion":"credentialprovider.kubelet.k8s.io/v1","cacheKeyType":"Registry","cacheDuration":"10m0s","auth":{"test.registry.io":{"username":"user","password":"pass:word"}}}"#;
    assert_eq!(response(found, at(NOW)).unwrap(), format!("{expected}\n"));
}

#[rstest]
#[case::v1beta1(
    "CredentialProviderRequest",
    "credentialprovider.kubelet.k8s.io/v1beta1",
    "a/b",
    r#"apiVersion "credentialprovider.kubelet.k8s.io/v1beta1" is not supported: set credentialprovider.kubelet.k8s.io/v1 in the kubelet's CredentialProviderConfig"#
)]
#[case::another_kind(
    "CredentialProviderFoo",
    API_VERSION,
    "a/b",
    r#"kind "CredentialProviderFoo" is not CredentialProviderRequest"#
)]
#[case::no_image(REQUEST, API_VERSION, "", "the request has no image")]
fn refuses(#[case] kind: &str, #[case] version: &str, #[case] image: &str, #[case] expected: &str) {
    let text = serde_json::json!({"kind": kind, "apiVersion": version, "image": image}).to_string();
    assert_eq!(parse(text.as_bytes()).err().unwrap(), expected);
}

#[rstest]
#[case::nothing("", "line 1, column 0")]
#[case::no_json("s3cr3t", "line 1, column 1")]
#[case::another_type(
    r#"{"kind":"CredentialProviderRequest","apiVersion":"credentialprovider.kubelet.k8s.io/v1","image":{"s3cr3t":1}}"#,
    "line 1, column"
)]
fn an_invalid_request_is_not_printed(#[case] text: &str, #[case] place: &str) {
    let problem = parse(text.as_bytes()).err().unwrap();
    assert!(problem.contains(place) && !problem.contains("s3cr3t"), "{problem}");
}

#[test]
fn reads_the_service_account() {
    let text = r#"{"kind":"CredentialProviderRequest","apiVersion":"credentialprovider.kubelet.k8s.io/v1","image":"a/b",
        "serviceAccountToken":"t","serviceAccountAnnotations":{"k":"v"}}"#;
    let request = parse(text.as_bytes()).unwrap();
    assert_eq!(request.service_account_token, "t");
    assert_eq!(request.service_account_annotations["k"], "v");
}
