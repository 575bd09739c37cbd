use super::*;
use crate::platforms::{aws, azure, openstack};
use rstest::rstest;
use serde_json::json;

#[rstest]
#[case::partial(r#"{"cloudControllerManagerAWS": "aws:1"}"#, Some("aws:1"))]
#[case::of_two_the_last(
    r#"{"cloudControllerManagerAWS": "aws:1", "cloudControllerManagerAWS": "aws:2"}"#,
    Some("aws:2")
)]
#[case::unknown_keys(r#"{"whatever": {"a": [1]}, "cloudControllerManagerAWS": "aws:1"}"#, Some("aws:1"))]
#[case::none("{}", None)]
#[case::null(r#"{"cloudControllerManagerAWS": null}"#, None)]
#[case::empty(r#"{"cloudControllerManagerAWS": ""}"#, None)]
fn reads(#[case] text: &str, #[case] image: Option<&str>) {
    assert_eq!(Images::parse(text).unwrap().find("cloudControllerManagerAWS"), image);
}

#[rstest]
#[case::cut_off(
    "{\n  \"cloudControllerManagerAWS\": \"aw",
    "images.json is not a JSON object (line 2, column 34)"
)]
#[case::no_quotes("{bad}", "images.json is not a JSON object (line 1, column 2)")]
#[case::empty("", "images.json is not a JSON object (line 1, column 0)")]
#[case::a_list("[]", "images.json is not a JSON object (line 1, column 0)")]
#[case::a_number(
    r#"{"cloudControllerManagerAWS": 1}"#,
    "images.json: cloudControllerManagerAWS has to be a text"
)]
fn refuses(#[case] text: &str, #[case] message: &str) {
    assert_eq!(Images::parse(text).unwrap_err().to_string(), message);
}

#[rstest]
#[case::one(aws::PLATFORM, "{}", "platform AWS: missing cloudControllerManagerAWS")]
#[case::sorted(
    azure::PLATFORM,
    r#"{"cloudControllerManagerAWS": "aws:1"}"#,
    "platform Azure: missing cloudControllerManagerAzure; cloudControllerManagerOperator; cloudNodeManagerAzure"
)]
#[case::the_rest(
    azure::PLATFORM,
    r#"{"cloudControllerManagerAzure": "a", "cloudNodeManagerAzure": "b"}"#,
    "platform Azure: missing cloudControllerManagerOperator"
)]
#[case::ours_without_an_image(
    openstack::PLATFORM,
    "{}",
    "platform OpenStack: missing cloudControllerManagerOpenStack"
)]
fn names_what_is_missing(#[case] platform: Platform, #[case] images: &str, #[case] message: &str) {
    let error = choose(&platform, &Images::parse(images).unwrap()).unwrap_err();
    assert_eq!(error.to_string(), format!("images.json names no image for {message}"));
}

#[rstest]
#[case::given(
    r#"{"cloudControllerManagerOpenStack": "occm", "cloudControllerManagerOperator": "operator"}"#,
    None,
    ("occm", Provider::Theirs)
)]
#[case::ours(r#"{"cloudControllerManagerOperator": "operator"}"#, None, ("operator", Provider::Ours))]
#[case::own(r#"{"cloudControllerManagerOperator": "operator"}"#, Some("own"), ("own", Provider::Ours))]
#[case::only_own("{}", Some("own"), ("own", Provider::Ours))]
fn a_given_image_wins(#[case] images: &str, #[case] own: Option<&str>, #[case] expected: (&str, Provider)) {
    let images = Images::parse(images).unwrap();
    let images = own.into_iter().fold(images, Images::with_own);
    let chosen = choose(&openstack::PLATFORM, &images).unwrap();
    let mut container = json!({"name": MANAGER, "image": "of the file"});
    chosen.put(&mut container).unwrap();
    assert_eq!((container["image"].as_str().unwrap(), chosen.provider), expected);
}

#[rstest]
#[case::unknown_with_an_image(json!({"name": "sidecar", "image": "x"}), Ok("x"))]
#[case::unknown_without(json!({"name": "sidecar"}), Err("container \"sidecar\" has no image"))]
fn other_containers_bring_their_own(#[case] mut container: Value, #[case] expected: Result<&str, &str>) {
    let chosen = choose(
        &aws::PLATFORM,
        &Images::parse(r#"{"cloudControllerManagerAWS": "aws:1"}"#).unwrap(),
    )
    .unwrap();
    match (chosen.put(&mut container), expected) {
        (Ok(()), expected) => assert_eq!(Ok(container["image"].as_str().unwrap()), expected),
        (Err(error), Err(part)) => assert!(error.to_string().starts_with(part), "{error}"),
        (Err(error), Ok(_)) => panic!("{error}"),
    }
}
