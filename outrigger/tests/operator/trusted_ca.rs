//! The certificates that operands trust: the system's, the proxy's and the cloud's, and their problems.

use crate::{
    process_fixture::Manager,
    rights::{OPERANDS, release},
    world::{World, certificate, config_map, proxy},
};
use serde_json::json;

const BUNDLE: &str = "ca-bundle.crt";
const CONDITION: &str = "TrustedCABundleControllerControllerAvailable";

/// A cluster whose Proxy names a bundle.
async fn world(bundle: &str) -> World {
    let world = World::new("AWS").await;
    set_bundle(&world, bundle).await;
    name(&world, "user-ca").await;
    world
}

async fn set_bundle(world: &World, bundle: &str) {
    world
        .apply(
            &config_map(),
            "openshift-config",
            "user-ca",
            json!({"data": {BUNDLE: bundle}}),
        )
        .await;
}

async fn name(world: &World, bundle: &str) {
    world
        .apply(
            &proxy(),
            "",
            "cluster",
            json!({"spec": {"trustedCA": {"name": bundle}}}),
        )
        .await;
}

async fn trusted(world: &World) -> String {
    let found = world.get(&config_map(), &world.namespace, "ccm-trusted-ca").await;
    let found = found.unwrap_or_default();
    found["data"][BUNDLE].as_str().unwrap_or_default().to_owned()
}

/// Waits until so many certificates are trusted.
async fn trusts(world: &World, operator: &Manager, certificates: usize) {
    let look = async || match trusted(world).await.matches("BEGIN CERTIFICATE").count() {
        count if count == certificates => Ok(()),
        count => Err(format!("{count} certificates\n{}", world.conditions().await)),
    };
    operator
        .until(&format!("{certificates} trusted certificates"), look)
        .await;
}

/// An expired authority.
fn expired() -> String {
    let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(rcgen::DnType::CommonName, "of old");
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    params.not_before = rcgen::date_time_ymd(2001, 1, 1);
    params.not_after = rcgen::date_time_ymd(2002, 1, 1);
    let key = rcgen::KeyPair::generate().unwrap();
    params.self_signed(&key).unwrap().pem()
}

/// An authority of at least so many bytes.
fn huge(name: &str, size: usize) -> String {
    let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let content = vec![5; size];
    let extension = rcgen::CustomExtension::from_oid_content(&[1, 3, 6, 1, 4, 1, 99999], content);
    params.custom_extensions.push(extension);
    let key = rcgen::KeyPair::generate().unwrap();
    params.self_signed(&key).unwrap().pem()
}

/// A bundle, the number of trusted certificates, and the report. The number of certificates differs from that of the previous bundle.
type Bundle = (&'static str, fn() -> String, usize, &'static str);

const BUNDLES: [Bundle; 7] = [
    ("good", || certificate("user"), 2, "works as expected"),
    (
        "bad PEM",
        || "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n".to_owned(),
        1,
        "works as expected; warning: the bundle of the proxy (spec.trustedCA)",
    ),
    (
        "W9: trailing junk",
        || certificate("user") + "\n\n# end of file\n \n",
        2,
        "works as expected",
    ),
    (
        "cut off",
        || certificate("user")[..200].to_owned(),
        1,
        "works as expected; warning: the bundle of the proxy",
    ),
    (
        "W9: leading comment",
        || "# ours\n\n".to_owned() + &certificate("user"),
        2,
        "works as expected",
    ),
    ("nothing in it", String::new, 1, "it holds no certificate"),
    ("expired", expired, 2, "of old"),
];

/// W9: valid certificates are used; the others are left out and reported, and have no other effect.
/// for it.
#[tokio::test]
async fn w9_bundles() {
    let world = world(&BUNDLES[0].1()).await;
    let operator = world.start();
    for (name, bundle, certificates, report) in BUNDLES {
        set_bundle(&world, &bundle()).await;
        trusts(&world, &operator, certificates).await;
        let start = format!("{CONDITION}=True AsExpected Trusted CA Bundle Controller works as expected");
        let look = async || {
            let conditions = world.conditions().await;
            let line = conditions.lines().find(|line| line.starts_with(&start));
            let reported = line.filter(|line| line.contains(report));
            // Nothing is reported about a valid bundle.
            let exact = report != "works as expected" || line == Some(start.as_str());
            reported.filter(|_| exact).map(drop).ok_or(conditions)
        };
        operator.until(&format!("the report of a bundle: {name}"), look).await;
        world.runs(&operator, "aws").await;
    }
}

/// W7, W8: a deleted bundle is not trusted any more and reported as missing; other `ConfigMaps` have no effect; a recreated bundle is trusted.
#[tokio::test]
async fn w7_bundle_is_created_and_deleted() {
    let world = world(&certificate("user")).await;
    let operator = world.start();
    trusts(&world, &operator, 2).await;

    world.delete(&config_map(), "openshift-config", "user-ca").await;
    trusts(&world, &operator, 1).await;
    let missed = format!(
        "{CONDITION}=True AsExpected Trusted CA Bundle Controller works as expected; warning: the bundle of the proxy \
         (spec.trustedCA): ConfigMap openshift-config/user-ca does not exist"
    );
    world.reports(&operator, &[&missed]).await;
    world
        .apply(
            &config_map(),
            "openshift-config",
            "unrelated",
            json!({"data": {"a": "b"}}),
        )
        .await;
    world.settled().await;
    assert!(
        world.conditions().await.contains(&missed),
        "{}",
        world.conditions().await
    );

    set_bundle(&world, &certificate("another")).await;
    trusts(&world, &operator, 2).await;
    name(&world, "").await;
    trusts(&world, &operator, 1).await;
}

/// The certificates beside the cloud configuration come first.
#[tokio::test]
async fn bundle_of_the_cloud() {
    let world = world(&certificate("user")).await;
    let cloud = certificate("cloud");
    let data = json!({"data": {"cloud.conf": "", "ca-bundle.pem": cloud}});
    world
        .apply(&config_map(), "openshift-config", "cloud-provider-config", data)
        .await;
    let operator = world.start();
    trusts(&world, &operator, 3).await;
    let body = cloud.lines().nth(1).unwrap();
    let first = trusted(&world).await.find(body).unwrap();
    assert!(first < 200, "it comes after {first} bytes of others");
}

/// More than a `ConfigMap` holds: reported at once, and the previous bundle is kept.
#[tokio::test]
async fn too_many() {
    let world = world(&certificate("user")).await;
    let operator = world.start();
    trusts(&world, &operator, 2).await;
    world
        .folder
        .write("bundle.pem", &(certificate("system") + &huge("system", 100_000)));
    trusts(&world, &operator, 3).await;
    let before = trusted(&world).await;
    set_bundle(&world, &huge("user", 700_000)).await;
    let degraded = "TrustedCABundleControllerControllerDegraded=True SyncingFailed Trusted CA Bundle Controller failed to sync the \
                trusted CA bundle: the trusted certificates have";
    let conditions = world.reports(&operator, &[degraded]).await;
    assert!(conditions.contains("remove some of them"), "{conditions}");
    assert_eq!(trusted(&world).await, before);
    set_bundle(&world, &certificate("small")).await;
    trusts(&world, &operator, 3).await;
    world
        .reports(&operator, &["TrustedCABundleControllerControllerDegraded=False"])
        .await;
}

/// A system bundle without certificates means that the image is broken: it is reported when it has lasted, and a correction is enough.
#[tokio::test]
async fn system_without_certificates() {
    let world = World::new("AWS").await;
    world.folder.write("bundle.pem", "nothing\n");
    let operator = world.start();
    let degraded = "TrustedCABundleControllerControllerDegraded=True SyncingFailed Trusted CA Bundle Controller failed to sync the \
                trusted CA bundle: the bundle of the system holds no certificate";
    world.reports(&operator, &[degraded]).await;
    assert!(
        !world
            .operands()
            .await
            .iter()
            .any(|operand| operand.starts_with("Deployment"))
    );
    world.folder.write("bundle.pem", &certificate("system"));
    world.runs(&operator, "aws").await;
}

/// The same without operands: the operator is not available before all of its parts work.
#[tokio::test]
async fn system_without_certificates_nor_operands() {
    let world = World::new("None").await;
    world.folder.write("bundle.pem", "nothing\n");
    let operator = world.start();
    let degraded = "TrustedCABundleControllerControllerDegraded=True";
    world.reports(&operator, &[degraded]).await;
    world.settled().await;
    let conditions = world.conditions().await;
    assert!(
        !conditions.lines().any(|line| line.starts_with("Available=True")),
        "{conditions}"
    );
    world.folder.write("bundle.pem", &certificate("system"));
    world.reports(&operator, &["Available=True", "Degraded=False"]).await;
}

/// W7: a failure that the user must correct is reported until then, whatever else happens in the namespace of the user's bundle.
#[tokio::test]
async fn w7_failure_is_kept() {
    let world = world(&certificate("user")).await;
    let operator = world.start();
    trusts(&world, &operator, 2).await;
    world.folder.write("bundle.pem", "not a certificate\n");
    let degraded = "TrustedCABundleControllerControllerDegraded=True SyncingFailed";
    let before = world.reports(&operator, &[degraded]).await;
    world.settled().await;
    let mark = world.mark();
    for content in ["one", "two"] {
        let unrelated = json!({"data": {"a": content}});
        world
            .apply(&config_map(), "openshift-config", "unrelated", unrelated)
            .await;
        world.settled().await;
    }
    let related = certificate("another");
    set_bundle(&world, &related).await;
    world.settled().await;
    let conditions = world.conditions().await;
    let of_part = |text: &str| {
        text.lines()
            .filter(|line| line.starts_with("TrustedCA"))
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert_eq!(of_part(&conditions), of_part(&before));
    assert_eq!(world.writes_since(mark), [""; 0]);

    world.folder.write("bundle.pem", &certificate("system"));
    let look = async || match trusted(&world).await {
        bundle if bundle.contains(related.trim()) => Ok(()),
        bundle => Err(bundle),
    };
    operator.until("the other bundle", look).await;
    world
        .reports(&operator, &["TrustedCABundleControllerControllerDegraded=False"])
        .await;
}

/// W8: a bundle that cannot be read removes no certificate.
#[tokio::test]
async fn w8_unreadable_bundle() {
    let world = World::in_namespace(OPERANDS).await;
    set_bundle(&world, &certificate("user")).await;
    name(&world, "user-ca").await;
    world.set_platform("None").await;
    let operator = release(&world, |_| {}).await;
    trusts(&world, &operator, 2).await;
    world.reports(&operator, &["Available=True"]).await;
    operator.signal("TERM");
    operator.exited().await;

    let before = trusted(&world).await;
    let mark = world.mark();
    let operator = release(&world, |object| {
        if object["metadata"]["namespace"] == "openshift-config" && object["kind"] == "Role" {
            object["rules"] = json!([]);
        }
    })
    .await;
    let line = operator.logged("cannot decide").await;
    assert!(
        line.contains("user-ca") && line.contains("cannot list resource"),
        "{line}"
    );
    // Its conditions and objects do not change.
    world.settled().await;
    world.reports(&operator, &["Available=True"]).await;
    assert_eq!(trusted(&world).await, before);
    let touched = world.writes_since(mark);
    assert!(
        !touched.iter().any(|write| write.contains("ccm-trusted-ca")),
        "{touched:?}"
    );

    drop(release(&world, |_| {}).await);
    set_bundle(&world, &[certificate("user"), certificate("more")].concat()).await;
    trusts(&world, &operator, 3).await;
}
