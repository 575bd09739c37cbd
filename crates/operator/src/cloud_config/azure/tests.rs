//! The configuration of Azure and Azure Stack Hub.

use super::{Invalid, cloud_name, transform, transform_stack};
use operator_api::Infrastructure;
use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

const PUBLIC: &str = "AzurePublicCloud";

#[rstest]
#[case::bare(
    "{}",
    PUBLIC,
    r#"{"cloud":"AzurePublicCloud","vmType":"standard","clusterServiceLoadBalancerHealthProbeMode":"shared"}"#
)]
#[case::government(
    "{}",
    "AzureUSGovernmentCloud",
    r#"{"cloud":"AzureUSGovernmentCloud","vmType":"standard","clusterServiceLoadBalancerHealthProbeMode":"shared"}"#
)]
#[case::china(
    "{}",
    "AzureChinaCloud",
    r#"{"cloud":"AzureChinaCloud","vmType":"standard","clusterServiceLoadBalancerHealthProbeMode":"shared"}"#
)]
#[case::germany(
    "{}",
    "AzureGermanCloud",
    r#"{"cloud":"AzureGermanCloud","vmType":"standard","clusterServiceLoadBalancerHealthProbeMode":"shared"}"#
)]
#[case::other_case(
    r#"{"cloud":"azurepublicCLOUD"}"#,
    PUBLIC,
    r#"{"cloud":"AzurePublicCloud","vmType":"standard","clusterServiceLoadBalancerHealthProbeMode":"shared"}"#
)]
#[case::empty_counts_as_unset(
    r#"{"cloud":"","vmType":""}"#,
    PUBLIC,
    r#"{"cloud":"AzurePublicCloud","vmType":"standard","clusterServiceLoadBalancerHealthProbeMode":"shared"}"#
)]
// What Go's decoder accepts: null means not given, and a whole number is a number
#[case::every_kind(
    r#"{"tenantId":null,"useInstanceMetadata":false,"cloudProviderBackoffRetries":6,"cloudProviderBackoffJitter":1,"tagsMap":{"a":"b"}}"#,
    PUBLIC,
    r#"{"tenantId":null,"useInstanceMetadata":false,"cloudProviderBackoffRetries":6,"cloudProviderBackoffJitter":1,"tagsMap":{"a":"b"},"cloud":"AzurePublicCloud","vmType":"standard","clusterServiceLoadBalancerHealthProbeMode":"shared"}"#
)]
#[case::machines_of_the_user(
    r#"{"vmType":"vmss"}"#,
    PUBLIC,
    r#"{"vmType":"vmss","cloud":"AzurePublicCloud","clusterServiceLoadBalancerHealthProbeMode":"shared"}"#
)]
#[case::probe_is_always_shared(
    r#"{"clusterServiceLoadBalancerHealthProbeMode":"servicenodeport"}"#,
    PUBLIC,
    r#"{"clusterServiceLoadBalancerHealthProbeMode":"shared","cloud":"AzurePublicCloud","vmType":"standard"}"#
)]
// Go's decoder ignores the case of keys, and the last one counts
#[case::keys_in_another_case(
    r#"{"VMType":"vmss","Cloud":"x","CLOUD":"AzurePublicCloud"}"#,
    PUBLIC,
    r#"{"VMType":"vmss","cloud":"AzurePublicCloud","clusterServiceLoadBalancerHealthProbeMode":"shared"}"#
)]
#[case::w14_unknown_keys_order_and_numbers(
    "{ \"z\" : 12345678901234567890,\n  \"tomorrow\" : { \"a b\" : [ 1.50, \"x \\\" y\" ] },\n \"a\": null }", PUBLIC,
    r#"{"z":12345678901234567890,"tomorrow":{"a b":[1.50,"x \" y"]},"a":null,"cloud":"AzurePublicCloud","vmType":"standard","clusterServiceLoadBalancerHealthProbeMode":"shared"}"#
)]
fn is_transformed(#[case] text: &str, #[case] cloud: &str, #[case] expected: &str) {
    assert_eq!(transform(text, cloud).as_deref(), Ok(expected));
    assert_eq!(transform(expected, cloud).as_deref(), Ok(expected), "applied again");
}

#[rstest]
#[case::conflict(
    r#"{"cloud":"AzureChinaCloud"}"#,
    PUBLIC,
    "cloud.conf: \"cloud\" is \"AzureChinaCloud\", but the Infrastructure says \"AzurePublicCloud\": correct it or remove it"
)]
#[case::invalid(
    "{}",
    "AzureMoonCloud",
    "status.platformStatus.azure.cloudName: Unsupported value: \"AzureMoonCloud\": supported values: \
     \"AzureChinaCloud\", \"AzureGermanCloud\", \"AzurePublicCloud\", \"AzureStackCloud\", \"AzureUSGovernmentCloud\""
)]
#[case::empty("", PUBLIC, "cloud.conf is empty: write a JSON object")]
#[case::not_an_object("[1]", PUBLIC, "cloud.conf is not a JSON object: write one, {…}")]
#[case::not_json("{\n  \"a\": x\n}", PUBLIC, "cloud.conf:2:8: this is not JSON: correct it there")]
#[case::cut_off(
    "{\"a\": 1",
    PUBLIC,
    "cloud.conf:1:7: the JSON ends too early: a bracket or quote is not closed"
)]
#[case::not_a_text(r#"{"cloud": 5}"#, PUBLIC, "cloud.conf: \"cloud\" is not a text: write it in quotes")]
#[case::machines(
    r#"{"vmType": []}"#,
    PUBLIC,
    "cloud.conf: \"vmType\" is not a text: write it in quotes"
)]
// What Go's decoder rejects: the operand would not start.
#[case::a_number_for_a_text(
    r#"{"tenantId": 1}"#,
    PUBLIC,
    "cloud.conf: \"tenantId\" is not a text: write it in quotes"
)]
#[case::in_another_case(
    r#"{"TENANTID": {}}"#,
    PUBLIC,
    "cloud.conf: \"tenantId\" is not a text: write it in quotes"
)]
#[case::a_text_for_a_truth(
    r#"{"useInstanceMetadata": "true"}"#,
    PUBLIC,
    "cloud.conf: \"useInstanceMetadata\" is not true or false: write one of them, without quotes"
)]
#[case::a_text_for_a_number(
    r#"{"cloudProviderBackoffRetries": "6"}"#,
    PUBLIC,
    "cloud.conf: \"cloudProviderBackoffRetries\" is not a whole number: write one, without quotes"
)]
#[case::a_fraction(
    r#"{"cloudProviderBackoffDuration": 1.5}"#,
    PUBLIC,
    "cloud.conf: \"cloudProviderBackoffDuration\" is not a whole number: write one, without quotes"
)]
#[case::no_port(
    r#"{"clusterServiceSharedLoadBalancerHealthProbePort": 2147483648}"#,
    PUBLIC,
    "cloud.conf: \"clusterServiceSharedLoadBalancerHealthProbePort\" is not a port: write its number, without quotes"
)]
#[case::an_exponent(
    r#"{"cloudProviderBackoffExponent": []}"#,
    PUBLIC,
    "cloud.conf: \"cloudProviderBackoffExponent\" is not a number: write one, without quotes"
)]
#[case::tags(
    r#"{"tagsMap": {"a": 1}}"#,
    PUBLIC,
    "cloud.conf: \"tagsMap\" is not an object of texts: write {\"name\":\"value\"}"
)]
fn is_refused(#[case] text: &str, #[case] cloud: &str, #[case] problem: &str) {
    assert_eq!(transform(text, cloud), Err(Invalid(problem.to_owned())));
}

#[rstest]
#[case::bare("{}", Ok(r#"{"vmType":"standard"}"#))]
#[case::other_keys_are_kept(r#"{"cloud":"mine","vmType":"vmss"}"#, Ok(r#"{"cloud":"mine","vmType":"vmss"}"#))]
#[case::empty("", Err("cloud.conf is empty: write a JSON object"))]
#[case::a_truth(
    r#"{"useManagedIdentityExtension":"false"}"#,
    Err("cloud.conf: \"useManagedIdentityExtension\" is not true or false: write one of them, without quotes")
)]
#[case::not_json("cloud: x", Err("cloud.conf:1:1: this is not JSON: correct it there"))]
fn azure_stack(#[case] text: &str, #[case] expected: Result<&str, &str>) {
    assert_eq!(
        transform_stack(text),
        expected
            .map(str::to_owned)
            .map_err(|problem| Invalid(problem.to_owned()))
    );
}

// The Go operator panics here (W3).
#[rstest]
#[case::w3_no_azure_status(json!({ "platformStatus": { "type": "Azure" } }), PUBLIC)]
#[case::no_name(json!({ "platformStatus": { "type": "Azure", "azure": {} } }), PUBLIC)]
#[case::named(json!({ "platformStatus": { "type": "Azure", "azure": { "cloudName": "AzureStackCloud" } } }), "AzureStackCloud")]
fn the_cloud_has_a_name(#[case] status: Value, #[case] expected: &str) {
    let infrastructure: Infrastructure = serde_json::from_value(json!({ "status": status })).expect("Infrastructure");
    assert_eq!(cloud_name(&infrastructure), expected);
}

proptest! {
    #[test]
    fn is_idempotent_and_keeps_everything(file in object()) {
        let text = Value::Object(file.clone()).to_string();
        let once = transform(&text, PUBLIC).expect("transform");
        prop_assert_eq!(transform(&once, PUBLIC), Ok(once.clone()));
        let after: Value = serde_json::from_str(&once).expect("JSON");
        for (key, value) in file {
            prop_assert_eq!(after.get(&key), Some(&value));
        }
    }
}

fn object() -> impl Strategy<Value = serde_json::Map<String, Value>> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("\\PC{0,6}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    });
    prop::collection::btree_map("x\\PC{0,8}", value, 0..6).prop_map(|map| map.into_iter().collect())
}
