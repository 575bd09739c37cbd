use super::*;
use rstest::rstest;
use serde_json::{Value, json};

#[rstest]
#[case::nothing(json!({}), None)]
#[case::no_status(json!({"metadata": {"name": "cluster"}, "spec": {}}), None)]
#[case::empty_status(json!({"status": {}}), None)]
#[case::no_type(json!({"status": {"platformStatus": {}}}), Some(""))]
#[case::tomorrow(json!({"status": {"platformStatus": {"type": "Moon", "moon": {"crater": 1}}, "new": true}}), Some("Moon"))]
#[case::azure_without_its_part(json!({"status": {"platformStatus": {"type": "Azure"}}}), Some("Azure"))]
fn reads_partial_objects(#[case] object: Value, #[case] platform: Option<&str>) {
    let read: Infrastructure = serde_json::from_value(object).unwrap();
    let status = read.status.platform_status;
    assert_eq!(status.as_ref().map(|status| status.type_.as_str()), platform);
}
