//! The trusted certificates, with real ones.

use super::{Bundles, Error, Merged, Source, config_map, merge, pem, sources};
use base64::{Engine, prelude::BASE64_STANDARD};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use proptest::prelude::*;
use rcgen::{CertificateParams, CustomExtension, DnType, KeyPair, date_time_ymd};
use rstest::rstest;
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::LazyLock};
use x509_parser::prelude::{FromDer, X509Certificate};

static CLOUD: LazyLock<String> = LazyLock::new(|| certificate("cloud", |_| ()));
static PROXY: LazyLock<String> = LazyLock::new(|| certificate("proxy", |_| ()));
static SYSTEM: LazyLock<String> = LazyLock::new(|| certificate("system", |_| ()) + &certificate("system-2", |_| ()));

fn certificate(name: &str, change: impl FnOnce(&mut CertificateParams)) -> String {
    let key = KeyPair::generate().expect("key");
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    change(&mut params);
    params.self_signed(&key).expect("certificate").pem()
}

fn now() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().expect("time")
}

fn merged(cloud: Option<&str>, proxy: Option<&str>, system: &str) -> Result<Merged, Error> {
    merge(&Bundles { cloud, proxy, system }, now())
}

/// The names in a bundle, in order, as an independent reader sees them.
fn names(bundle: &str) -> Vec<String> {
    let blocks = x509_parser::pem::Pem::iter_from_buffer(bundle.as_bytes());
    let name = |block: x509_parser::pem::Pem| {
        let (_, certificate) = X509Certificate::from_der(&block.contents).expect("X.509");
        let name = certificate.subject().to_string();
        name.replace("CN=", "")
    };
    blocks.map(|block| name(block.expect("PEM"))).collect()
}

fn junk() -> String {
    format!(
        "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n",
        BASE64_STANDARD.encode("no certificate")
    )
}

#[rstest]
#[case::system_only(None, None, &["system", "system-2"])]
#[case::proxy(None, Some(PROXY.clone()), &["proxy", "system", "system-2"])]
#[case::cloud(Some(CLOUD.clone()), None, &["cloud", "system", "system-2"])]
#[case::all(Some(CLOUD.clone()), Some(PROXY.clone()), &["cloud", "proxy", "system", "system-2"])]
#[case::equal_bundles_once(Some(PROXY.clone()), Some(PROXY.clone()), &["proxy", "system", "system-2"])]
#[case::equal_certificates_once(
    Some(CLOUD.clone() + &PROXY), Some(PROXY.clone() + "\n" + &SYSTEM), &["cloud", "proxy", "system", "system-2"]
)]
// The Go operator drops a bundle that ends with anything except its last block (W9).
#[case::w9_blank_lines(None, Some(format!("\n\n{}\n\n \n", *PROXY)), &["proxy", "system", "system-2"])]
#[case::w9_comments(None, Some(format!("# mine\n{}# the end\n", *PROXY)), &["proxy", "system", "system-2"])]
#[case::text_and_rulers(
    Some(format!("subject=x\n-----\n{}\nissuer=y\n{}", *CLOUD, *PROXY)), None, &["cloud", "proxy", "system", "system-2"]
)]
#[case::windows_lines(None, Some(PROXY.replace('\n', "\r\n")), &["proxy", "system", "system-2"])]
#[case::byte_order_mark(None, Some(format!("\u{feff}{}", *PROXY)), &["proxy", "system", "system-2"])]
#[case::no_last_line_end(None, Some(PROXY.trim_end().to_owned()), &["proxy", "system", "system-2"])]
#[case::headers(None, Some(PROXY.replace("BEGIN CERTIFICATE-----\n", "BEGIN CERTIFICATE-----\nOwner: me\n\n")), &["proxy", "system", "system-2"])]
fn bundles_are_merged(#[case] cloud: Option<String>, #[case] proxy: Option<String>, #[case] expected: &[&str]) {
    let merged = merged(cloud.as_deref(), proxy.as_deref(), &SYSTEM).expect("merged");
    assert_eq!(names(&merged.bundle), expected);
    assert_eq!((merged.skipped, merged.warnings), (vec![], vec![]));
}

/// If the Go operator accepts a text without duplicates, the bundles are identical byte for byte.
#[rstest]
#[case::system_only(None, None, SYSTEM.clone())]
#[case::proxy(None, Some(PROXY.clone()), format!("{}\n{}", *PROXY, *SYSTEM))]
#[case::all(Some(CLOUD.clone()), Some(PROXY.clone()), format!("{}\n{}\n{}", *CLOUD, *PROXY, *SYSTEM))]
#[case::no_last_line_end(None, Some(PROXY.trim_end().to_owned()), format!("{}{}", *PROXY, *SYSTEM))]
#[case::names_above(
    None,
    Some(format!("# mine\n{}\n# his\n\n{}", *PROXY, *CLOUD)),
    format!("# mine\n{}\n# his\n\n{}\n{}", *PROXY, *CLOUD, *SYSTEM)
)]
// A strict reader must understand also what the Go operator would leave out.
#[case::w9_trailing_comment(None, Some(format!("{}# the end\n", *PROXY)), format!("{}\n{}", *PROXY, *SYSTEM))]
#[case::indented(None, Some(PROXY.replace("-----BEGIN", "  -----BEGIN")), format!("{}\n{}", *PROXY, *SYSTEM))]
#[case::windows_lines(None, Some(PROXY.replace('\n', "\r\n")), format!("{}\n{}", *PROXY, *SYSTEM))]
// A certificate that is in the bundle already is not added.
#[case::of_the_system(None, Some(format!("{}{}", *PROXY, *SYSTEM)), format!("{}{}", *PROXY, *SYSTEM))]
#[case::equal_to_the_proxys(Some(PROXY.clone()), Some(PROXY.clone()), format!("{}\n{}", *PROXY, *SYSTEM))]
fn texts_stay(#[case] cloud: Option<String>, #[case] proxy: Option<String>, #[case] expected: String) {
    let merged = merged(cloud.as_deref(), proxy.as_deref(), &SYSTEM).expect("merged");
    assert_eq!(merged.bundle, expected);
}

#[rstest]
#[case::empty(String::new(), "it holds no certificate")]
#[case::text("hello".to_owned(), "it holds no certificate")]
#[case::not_base64(
    "-----BEGIN CERTIFICATE-----\n***\n-----END CERTIFICATE-----\n".to_owned(),
    "certificate 1 cannot be read: what stands below line 1 is not base64: copy it again"
)]
#[case::not_x509(PROXY.clone() + &junk(), "certificate 2 is not an X.509 certificate: copy it again or remove it")]
#[case::a_key(
    PROXY.clone() + &KeyPair::generate().expect("key").serialize_pem(),
    "block 2 is of the kind \"PRIVATE KEY\", not \"CERTIFICATE\": remove it"
)]
#[case::cut_off(
    PROXY.lines().take(3).collect::<Vec<_>>().join("\n"),
    "certificate 1 cannot be read: it begins in line 1 and does not end: add its last line"
)]
#[case::no_beginning(
    "-----END CERTIFICATE-----\n".to_owned(),
    "certificate 1 cannot be read: line 1 ends a block that does not begin: add its first line"
)]
#[case::other_end(
    "-----BEGIN CERTIFICATE-----\n-----END X-----\n".to_owned(),
    "certificate 1 cannot be read: it ends in line 2 as \"X\": make both names the same"
)]
#[case::four_dashes(
    "-----BEGIN CERTIFICATE----\n".to_owned(),
    "certificate 1 cannot be read: line 1 should be five dashes, BEGIN or END, a name and five dashes"
)]
#[case::several(
    junk() + &PROXY + &junk(),
    "certificate 1 is not an X.509 certificate: copy it again or remove it; certificate 3 is not an X.509 \
     certificate: copy it again or remove it"
)]
fn a_bad_source_is_reported_and_the_others_are_used(#[case] bad: String, #[case] why: &str) {
    let cloud = merged(Some(&bad), Some(&PROXY), &SYSTEM).expect("merged");
    assert_eq!(names(&cloud.bundle), ["proxy", "system", "system-2"]);
    let message: Vec<_> = cloud
        .skipped
        .iter()
        .map(|skipped| (skipped.source, skipped.why.as_str()))
        .collect();
    assert_eq!(message, [(Source::CloudConfig, why)]);

    let proxy = merged(Some(&CLOUD), Some(&bad), &SYSTEM).expect("merged");
    assert_eq!(names(&proxy.bundle), ["cloud", "system", "system-2"]);
    let expected = format!("the bundle of the proxy (spec.trustedCA) is not used: {why}");
    assert_eq!(
        proxy.skipped.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [expected]
    );
}

/// The Go operator continues after a block that cannot be parsed.
#[rstest]
#[case::cut_off(PROXY.lines().take(3).collect::<Vec<_>>().join("\n") + "\n", "it begins in line 1 and does not end: add its last line")]
#[case::not_base64(
    "-----BEGIN CERTIFICATE-----\n***\n-----END CERTIFICATE-----\n".to_owned(),
    "what stands below line 1 is not base64: copy it again"
)]
#[case::other_end(
    PROXY.replace("END CERTIFICATE", "END X"),
    &format!("it ends in line {} as \"X\": make both names the same", PROXY.lines().count())
)]
fn unreadable_certificates_are_left_out_alone(#[case] unreadable: String, #[case] why: &str) {
    let merged = merged(Some(&(unreadable + &CLOUD)), None, &SYSTEM).expect("merged");
    assert_eq!(names(&merged.bundle), ["cloud", "system", "system-2"]);
    let expected = format!(
        "a certificate of the bundle of the cloud configuration (key ca-bundle.pem) is not used: certificate 1 cannot be \
         read: {why}"
    );
    let message: Vec<_> = merged.skipped.iter().map(ToString::to_string).collect();
    assert_eq!(message, [expected]);
}

#[test]
fn of_the_systems_only_bad_certificates_are_left_out() {
    let merged = merged(None, None, &(junk() + &SYSTEM)).expect("merged");
    assert_eq!(names(&merged.bundle), ["system", "system-2"]);
    let expected = "a certificate of the bundle of the system is not used: certificate 1 is not an X.509 certificate: \
                    copy it again or remove it";
    assert_eq!(merged.skipped[0].to_string(), expected);
}

#[rstest]
#[case::empty(
    String::new(),
    "the bundle of the system holds no certificate that can be used: it holds no certificate"
)]
#[case::junk(
    junk(),
    "the bundle of the system holds no certificate that can be used: certificate 1 is not an X.509 certificate: copy \
     it again or remove it"
)]
fn without_the_system_bundle_there_is_no_bundle(#[case] system: String, #[case] expected: &str) {
    assert_eq!(
        merged(Some(&CLOUD), None, &system).expect_err("refused").to_string(),
        expected
    );
}

#[rstest]
#[case::expired(
    2020,
    2025,
    Some(
        "the bundle of the proxy (spec.trustedCA): certificate 1 (CN=old) expired on 2025-01-01T00:00:00Z: replace it"
    )
)]
#[case::valid(2020, 2030, None)]
#[case::early(
    2027,
    2030,
    Some("the bundle of the proxy (spec.trustedCA): certificate 1 (CN=old) is not valid before 2027-01-01T00:00:00Z")
)]
fn an_expired_certificate_is_kept_with_a_warning(#[case] from: i32, #[case] to: i32, #[case] warning: Option<&str>) {
    let text = certificate("old", |params| {
        params.not_before = date_time_ymd(from, 1, 1);
        params.not_after = date_time_ymd(to, 1, 1);
    });
    let merged = merged(None, Some(&text), &SYSTEM).expect("merged");
    assert_eq!(names(&merged.bundle), ["old", "system", "system-2"]);
    assert_eq!(merged.warnings, warning.into_iter().collect::<Vec<_>>());
}

#[test]
fn expired_certificates_of_the_system_are_not_reported() {
    let old = certificate("old", |params| params.not_after = date_time_ymd(2025, 1, 1));
    assert_eq!(merged(None, None, &old).expect("merged").warnings, Vec::<String>::new());
}

/// The API server decides what a `ConfigMap` may contain.
#[tokio::test(flavor = "multi_thread")]
async fn the_limit_is_the_api_servers() {
    let name = lab::unique("ca");
    let api: kube::Api<ConfigMap> = kube::Api::namespaced(lab::ControlPlane::shared().client(), "default");
    let put = async |size: usize| {
        let mut object = config_map("default", &"x".repeat(size)).into_value();
        object["metadata"]["name"] = json!(name);
        let params = kube::api::PatchParams::apply("outrigger-operator").force();
        api.patch(&name, &params, &kube::api::Patch::Apply(object))
            .await
            .map(|map| map.data)
    };
    assert_eq!(
        put(super::LIMIT).await.expect("fits").expect("data")["ca-bundle.crt"].len(),
        super::LIMIT
    );
    let error = put(super::LIMIT + 1).await.expect_err("too big").to_string();
    assert!(error.contains("Too long"), "{error}");
    api.delete(&name, &kube::api::DeleteParams::default())
        .await
        .expect("deleted");
}

#[test]
fn too_large_bundles_are_refused_with_sizes() {
    let big = certificate("big", |params| {
        let filler = CustomExtension::from_oid_content(&[1, 3, 6, 1, 4, 1, 99999], vec![4; 800_000]);
        params.custom_extensions.push(filler);
    });
    let error = merged(None, Some(&big), &SYSTEM).expect_err("refused").to_string();
    let system = SYSTEM.replace("\r\n", "\n").len();
    assert!(error.starts_with("the trusted certificates have 10"), "{error}");
    assert!(
        error.contains("but a ConfigMap holds 1048576: the bundle of the proxy (spec.trustedCA) has 10"),
        "{error}"
    );
    assert!(
        error.ends_with(&format!("the bundle of the system has {system}; remove some of them")),
        "{error}"
    );
}

#[test]
fn a_bundle_is_merged_with_itself_to_itself() {
    let once = merged(Some(&CLOUD), Some(&PROXY), &SYSTEM).expect("merged").bundle;
    assert_eq!(merged(None, None, &once).expect("merged").bundle, once);
}

#[rstest]
#[case::nothing("", None, None, None, &[])]
#[case::proxy("p", Some(json!({ "ca-bundle.crt": "x" })), None, Some("x"), &[])]
#[case::not_named("", Some(json!({ "ca-bundle.crt": "x" })), None, None, &[])]
#[case::cloud("", None, Some("y"), None, &[])]
#[case::no_map(
    "p", None, None, None,
    &["the bundle of the proxy (spec.trustedCA) is not used: ConfigMap openshift-config/p does not exist: create it \
       or correct the Proxy's spec.trustedCA"]
)]
#[case::no_key(
    "p", Some(json!({ "ca.crt": "x" })), Some("y"), None,
    &["the bundle of the proxy (spec.trustedCA) is not used: ConfigMap openshift-config/p has no key \
       \"ca-bundle.crt\": put the certificates there"]
)]
fn bundles_are_found(
    #[case] name: &str,
    #[case] map: Option<Value>,
    #[case] cloud: Option<&str>,
    #[case] proxy: Option<&str>,
    #[case] message: &[&str],
) {
    let map: Option<ConfigMap> = map.map(|data| serde_json::from_value(json!({ "data": data })).expect("ConfigMap"));
    let cloud_conf = cloud.map(|text| BTreeMap::from([("ca-bundle.pem".to_owned(), text.to_owned())]));
    let (found, skipped) = sources("s", name, map.as_ref(), cloud_conf.as_ref());
    assert_eq!(
        found,
        Bundles {
            cloud,
            proxy,
            system: "s"
        }
    );
    assert_eq!(skipped.iter().map(ToString::to_string).collect::<Vec<_>>(), message);
}

#[test]
fn the_object() {
    let expected = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "namespace": "openshift-cloud-controller-manager",
            "name": "ccm-trusted-ca",
            "annotations": { "openshift.io/owning-component": "Cloud Compute / Cloud Controller Manager" },
        },
        "data": { "ca-bundle.crt": "x" },
    });
    assert_eq!(config_map("openshift-cloud-controller-manager", "x").value(), &expected);
}

proptest! {
    #[test]
    fn invalid_bytes_are_read_without_panic(text in "(-----(BEGIN|END) ?[A-Z]{0,3}-{3,5}\n|[a-zA-Z0-9+/=: \n]{0,20}|\\PC{0,5})*") {
        drop(pem::blocks(&text));
        drop(merged(Some(&text), None, &SYSTEM));
    }
}
