//! The admission policies of the annotations of all clouds, on a real API server. Those of `DigitalOcean` have a test of their own.

use crate::fixture::{Fixture, run};
use k8s_openapi::api::core::v1::Service;
use kube::{
    Api, Error,
    api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use testkit::{service::load_balancer, wait::until};

const OPENSTACK: &str = "loadbalancer.openstack.org";
const AWS: &str = "service.beta.kubernetes.io/aws-load-balancer";

/// Applies the policies of a cloud. Hints refuse here what they only warn of, because a refusal can be seen.
async fn apply(fixture: &Fixture, cloud: &'static str) {
    let manifest = tokio::task::spawn_blocking(move || run(&["reference", &format!("{cloud}-admission")])).await;
    let list: Value = serde_saphyr::from_str(&manifest.unwrap().stdout).unwrap();
    for item in list["items"].as_array().unwrap() {
        let mut item = item.clone();
        let kind = item["kind"].as_str().unwrap().to_owned();
        if kind.ends_with("Binding") {
            item["spec"]["validationActions"] = json!(["Deny"]);
        }
        let kind = GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", &kind);
        let api: Api<DynamicObject> = Api::all_with(fixture.client.clone(), &ApiResource::from_gvk(&kind));
        let object = serde_json::from_value(item).unwrap();
        api.create(&PostParams::default(), &object).await.unwrap();
    }
}

fn message(result: kube::Result<Service>) -> Option<String> {
    match result {
        Ok(_) => None,
        Err(Error::Api(status)) => Some(status.message),
        Err(other) => Some(other.to_string()),
    }
}

fn service(name: &str, key: &str, value: &str) -> Service {
    let mut service = load_balancer(name).annotation(key, value).build();
    service.metadata.uid = None;
    service
}

async fn create(services: &Api<Service>, key: &str, value: &str) -> Option<String> {
    let dry = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    message(services.create(&dry, &service("checked", key, value)).await)
}

#[tokio::test]
async fn mistakes_in_annotations_are_reported_when_they_are_written() {
    let fixture = Fixture::private().await;
    let services = fixture.services();
    for cloud in ["aws", "openstack"] {
        apply(&fixture, cloud).await;
    }
    let refused = [
        (
            OPENSTACK,
            "/timeout-client-data",
            "soon",
            "\"soon\" is not a whole number",
        ),
        (
            OPENSTACK,
            "/proxy-protocol",
            "v3",
            "\"v3\" is not one of true, v1, v2, false",
        ),
        (
            OPENSTACK,
            "/keep-floating-ip",
            "true",
            "unknown annotation loadbalancer.openstack.org/keep-floating-ip is ignored",
        ),
        (AWS, "-connection-idle-timeout", "0", "\"0\" is not a whole number"),
        (AWS, "-cross-zone-load-balancing-enabled", "yes", "\"yes\" is not"),
    ];
    for (prefix, key, value, expected) in refused {
        let key = format!("{prefix}{key}");
        // The API server needs a moment to learn of a policy.
        until("the policy", async || {
            let found = create(&services, &key, value).await.unwrap_or_default();
            if found.contains(expected) {
                Ok(())
            } else {
                Err(format!("{key}: {found:?}"))
            }
        })
        .await;
    }
    let valid = [
        (OPENSTACK, "/timeout-client-data", "+50000"),
        (OPENSTACK, "/connection-limit", "-1"),
        (AWS, "-connection-idle-timeout", "60"),
        (AWS, "-nlb-target-type", "ip"),
    ];
    for (prefix, key, value) in valid {
        assert_eq!(create(&services, &format!("{prefix}{key}"), value).await, None, "{key}");
    }
}

#[tokio::test]
async fn a_change_that_comes_too_late_is_reported() {
    let fixture = Fixture::private().await;
    let services = fixture.services();
    apply(&fixture, "openstack").await;
    let key = format!("{OPENSTACK}/flavor-id");
    services
        .create(&PostParams::default(), &service("web", &key, "small"))
        .await
        .unwrap();
    let change = |value: &str| Patch::Merge(json!({"metadata": {"annotations": {&key: value}}}));
    let params = PatchParams::default();
    // Without a load balancer it is not too late.
    services.patch("web", &params, &change("medium")).await.unwrap();
    let status = json!({"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}});
    services
        .patch_status("web", &params, &Patch::Merge(status))
        .await
        .unwrap();

    let late = PatchParams {
        dry_run: true,
        ..PatchParams::default()
    };
    until("the policy", async || {
        let found = message(services.patch("web", &late, &change("large")).await).unwrap_or_default();
        let expected = format!("a change of the annotation {key} does not reach the existing load balancer");
        if found.contains(&expected) { Ok(()) } else { Err(found) }
    })
    .await;
    let label = Patch::Merge(json!({"metadata": {"labels": {"a": "b"}, "annotations": {"other": "c"}}}));
    services.patch("web", &params, &label).await.unwrap();
}
