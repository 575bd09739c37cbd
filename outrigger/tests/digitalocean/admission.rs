//! The admission policies that are generated from the table of annotations, on a real API server.

use crate::fixture::{Fixture, run};
use k8s_openapi::api::core::v1::Service;
use kube::{
    Api, Error, ResourceExt,
    api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use testkit::{service::load_balancer, wait::until};

const PREFIX: &str = "service.beta.kubernetes.io/do-loadbalancer-";

/// Annotations, without their prefix, and why they are refused.
const REFUSED: &[(&[(&str, &str)], &str)] = &[
    (
        &[("type", "GLOBAL")],
        "type: \"GLOBAL\" is not one of REGIONAL, REGIONAL_NETWORK",
    ),
    (
        &[("network", "PRIVATE")],
        "network: \"PRIVATE\" is not one of EXTERNAL, INTERNAL",
    ),
    (
        &[("network-stack", "IPV6")],
        "network-stack: \"IPV6\" is not one of IPV4, DUALSTACK",
    ),
    (
        &[("size-slug", "huge")],
        "size-slug: \"huge\" is not one of lb-small, lb-medium, lb-large",
    ),
    (
        &[("size-unit", "300")],
        "size-unit: \"300\" is not a whole number from 0 to 200",
    ),
    (
        &[("size-unit", "two")],
        "size-unit: \"two\" is not a whole number from 0 to 200",
    ),
    (
        &[("protocol", "ftp")],
        "protocol: \"ftp\" is not one of tcp, http, https, http2, http3",
    ),
    (
        &[("http-ports", "eighty")],
        "http-ports: \"eighty\" is not a comma-separated list of port numbers",
    ),
    (
        &[("tls-ports", "443,x")],
        "tls-ports: \"443,x\" is not a comma-separated list of port numbers",
    ),
    (
        &[("http3-port", "0")],
        "http3-port: \"0\" is not a whole number from 1 to 65535",
    ),
    (
        &[("redirect-http-to-https", "yes")],
        "redirect-http-to-https: \"yes\" is not \"true\" or \"false\"",
    ),
    (
        &[("healthcheck-protocol", "udp")],
        "healthcheck-protocol: \"udp\" is not one of tcp, http, https",
    ),
    (
        &[("healthcheck-healthy-threshold", "-1")],
        "healthcheck-healthy-threshold: \"-1\" is not a whole number of at least 0",
    ),
    (
        &[("size-slug", "lb-small"), ("size-unit", "2")],
        "only one of the annotations",
    ),
    (
        &[("sticky-sessions-type", "cookies")],
        "sticky-sessions-type: \"cookies\" needs",
    ),
    (
        &[("network", "INTERNAL"), ("network-stack", "DUALSTACK")],
        "network: \"INTERNAL\" cannot be used together with \"DUALSTACK\"",
    ),
];

fn service(name: &str, annotations: &[(&str, &str)]) -> Service {
    let builder = load_balancer(name);
    let annotate = |builder: testkit::service::Builder, (key, value): &(&str, &str)| {
        builder.annotation(&format!("{PREFIX}{key}"), value)
    };
    let mut service = annotations.iter().fold(builder, annotate).build();
    service.metadata.uid = None;
    service
}

async fn apply_policies(fixture: &Fixture) {
    let manifest = run(&["reference", "digitalocean-admission"]).stdout;
    let list: Value = serde_saphyr::from_str(&manifest).unwrap();
    for item in list["items"].as_array().unwrap() {
        let kind = item["kind"].as_str().unwrap();
        let kind = GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", kind);
        let api: Api<DynamicObject> = Api::all_with(fixture.client.clone(), &ApiResource::from_gvk(&kind));
        api.create(&PostParams::default(), &serde_json::from_value(item.clone()).unwrap())
            .await
            .unwrap();
    }
}

/// The sentence that the API server refuses a Service with.
async fn refusal(services: &Api<Service>, annotations: &[(&str, &str)]) -> Option<String> {
    let dry = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    match services.create(&dry, &service("checked", annotations)).await {
        Ok(_) => None,
        Err(Error::Api(status)) => Some(status.message),
        Err(other) => Some(other.to_string()),
    }
}

#[tokio::test]
async fn malformed_annotations_are_refused_with_one_sentence() {
    let fixture = Fixture::private().await;
    let services = fixture.services();
    let old = services
        .create(&PostParams::default(), &service("old", &[("type", "GLOBAL")]))
        .await
        .unwrap();
    apply_policies(&fixture).await;
    // The API server needs a moment to learn of a policy.
    until("the policy", async || {
        refusal(&services, &[("type", "GLOBAL")])
            .await
            .ok_or("it does not hold yet")
    })
    .await;

    for (annotations, expected) in REFUSED {
        let message = refusal(&services, annotations).await.unwrap_or_default();
        assert!(message.contains(expected), "{annotations:?}: {message:?}");
    }
    let valid: &[(&str, &str)] = &[
        ("type", "REGIONAL"),
        ("size-unit", "2"),
        ("protocol", "http"),
        ("http-ports", "80, 8080"),
        ("sticky-sessions-type", "cookies"),
        ("sticky-sessions-cookie-name", "c"),
        ("sticky-sessions-cookie-ttl", "300"),
        ("enable-proxy-protocol", "1"),
        ("healthcheck-check-interval-seconds", "+3"),
        ("network-stack", ""),
    ];
    for annotations in [&[][..], valid] {
        assert_eq!(refusal(&services, annotations).await, None, "{annotations:?}");
    }
    // Existing Services can still be changed in other respects.
    let labelled = Patch::Merge(json!({"metadata": {"labels": {"a": "b"}, "annotations": {"other": "c"}}}));
    services
        .patch(&old.name_any(), &PatchParams::default(), &labelled)
        .await
        .unwrap();
}
