use super::{read::Certificate, *};
use crate::Object;
use base64::{Engine, prelude::BASE64_STANDARD};
use rcgen::{CertificateParams, KeyPair};
use rstest::rstest;
use rustls::{
    RootCertStore,
    client::{WebPkiServerVerifier, danger::ServerCertVerifier},
    crypto::ring,
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
};
use serde_json::Value;
use std::{sync::Arc, time::Duration};

const DAY: SignedDuration = SignedDuration::from_hours(24);

fn start() -> Timestamp {
    "2026-11-16T05:00:00Z".parse().unwrap()
}

fn names() -> Names {
    Names {
        service: "openstack-cloud-controller-manager".to_owned(),
        namespace: "clouds".to_owned(),
        prefix: String::new(),
    }
}

/// The two Secrets of a cluster, which the tests can damage.
#[derive(Clone, Default)]
struct Cluster {
    ca: Option<Value>,
    serving: Option<Value>,
    bundle: String,
}

impl Cluster {
    fn installed() -> Self {
        let mut cluster = Self::default();
        cluster.reconcile(start());
        cluster
    }

    fn live(&self) -> Live<'_> {
        Live {
            ca: self.ca.as_ref(),
            serving: self.serving.as_ref(),
        }
    }

    fn plan(&self, now: Timestamp) -> String {
        plan(now, self.live(), &names()).to_string()
    }

    fn reconcile(&mut self, now: Timestamp) -> String {
        let issued = desired(now, self.live(), &names()).unwrap();
        self.bundle = issued.bundle();
        let objects: Vec<_> = issued.objects().into_iter().map(Object::into_value).collect();
        let [ca, bundle, serving] = objects.try_into().unwrap();
        assert_eq!(bundle["data"][BUNDLE_KEY], self.bundle.as_str());
        (self.ca, self.serving) = (Some(ca), Some(serving));
        issued.plan().to_string()
    }

    fn certificate(&self) -> String {
        decoded(self.serving.as_ref().unwrap(), "tls.crt")
    }

    fn spoil(&mut self, change: &str) {
        let other = Self::installed();
        let (ca, serving) = (self.ca.as_mut().unwrap(), self.serving.as_mut().unwrap());
        match change {
            "CA gone" => self.ca = None,
            "CA without a key" => drop(ca["data"].as_object_mut().unwrap().remove("tls.key")),
            "CA with another's key" => ca["data"]["tls.key"] = other.ca.unwrap()["data"]["tls.key"].take(),
            "CA is no PEM" => ca["data"]["tls.crt"] = encoded("-----BEGIN CERTIFICATE-----"),
            "CA is no base64" => ca["data"]["tls.crt"] = "?".into(),
            "CA is a leaf" => ca["data"] = serving["data"].clone(),
            "CA is foreign" => *ca = foreign_ca(),
            "another CA" => *ca = other.ca.unwrap(),
            "serving gone" => self.serving = None,
            "serving without a certificate" => serving["data"] = Value::Null,
            "serving with another's key" => {
                serving["data"]["tls.key"] = other.serving.unwrap()["data"]["tls.key"].take();
            }
            "serving key is no PEM" => serving["data"]["tls.key"] = encoded("secret"),
            "serving is no certificate" => serving["data"]["tls.crt"] = encoded("hello"),
            _ => panic!("unknown change {change}"),
        }
    }
}

fn encoded(text: &str) -> Value {
    BASE64_STANDARD.encode(text).into()
}

fn decoded(secret: &Value, key: &str) -> String {
    let bytes = BASE64_STANDARD.decode(secret["data"][key].as_str().unwrap()).unwrap();
    String::from_utf8(bytes).unwrap()
}

/// An authority that works, but that the operator did not issue.
fn foreign_ca() -> Value {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::default();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let certificate = params.self_signed(&key).unwrap();
    serde_json::json!({"data": {"tls.crt": encoded(&certificate.pem()), "tls.key": encoded(&key.serialize_pem())}})
}

/// Verifies a certificate as Prometheus does with the bundle.
fn verify(leaf: &str, bundle: &str, name: &str, now: Timestamp) -> Result<(), rustls::Error> {
    let mut roots = RootCertStore::empty();
    for root in CertificateDer::pem_slice_iter(bundle.as_bytes()) {
        roots.add(root.unwrap()).unwrap();
    }
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::new(ring::default_provider()))
        .build()
        .unwrap();
    let leaf = CertificateDer::from_pem_slice(leaf.as_bytes()).unwrap();
    let now = UnixTime::since_unix_epoch(Duration::from_secs(now.as_second().try_into().unwrap()));
    let name = ServerName::try_from(name.to_owned()).unwrap();
    verifier.verify_server_cert(&leaf, &[], &name, &[], now).map(drop)
}

#[rstest]
#[case::fresh(0, "keep")]
#[case::just_before_two_thirds(59, "keep")]
#[case::leaf_is_due(60, "issue the serving certificate: two thirds of its time are over")]
#[case::leaf_has_expired(91, "issue the serving certificate: it has expired")]
#[case::ca_is_due(
    487,
    "rotate the CA: two thirds of its time are over; issue the serving certificate: it has expired"
)]
#[case::everything_has_expired(731, "issue the CA and the serving certificate: the CA: it has expired")]
#[case::the_clock_went_back(-2, "issue the CA and the serving certificate: the CA: it is not valid yet")]
fn time_passes(#[case] days: i32, #[case] step: &str) {
    assert_eq!(Cluster::installed().plan(start() + DAY * days), step);
}

#[rstest]
#[case("CA gone", "issue the CA and the serving certificate: the CA: it does not exist")]
#[case(
    "CA without a key",
    "issue the CA and the serving certificate: the CA: it has no tls.key"
)]
#[case(
    "CA with another's key",
    "issue the CA and the serving certificate: the CA: its tls.key does not belong to its tls.crt"
)]
#[case(
    "CA is no PEM",
    "issue the CA and the serving certificate: the CA: its tls.crt is not a certificate"
)]
#[case(
    "CA is no base64",
    "issue the CA and the serving certificate: the CA: its tls.crt is not a certificate"
)]
#[case(
    "CA is a leaf",
    "issue the CA and the serving certificate: the CA: it is not an authority of the operator"
)]
#[case(
    "CA is foreign",
    "issue the CA and the serving certificate: the CA: it is not an authority of the operator"
)]
#[case("another CA", "issue the serving certificate: it is not signed by the authority")]
#[case("serving gone", "issue the serving certificate: it does not exist")]
#[case("serving without a certificate", "issue the serving certificate: it has no tls.crt")]
#[case(
    "serving with another's key",
    "issue the serving certificate: its tls.key does not belong to its tls.crt"
)]
#[case(
    "serving key is no PEM",
    "issue the serving certificate: its tls.key is not a private key"
)]
#[case(
    "serving is no certificate",
    "issue the serving certificate: its tls.crt is not a certificate"
)]
fn broken_certificates_are_issued_again(#[case] change: &str, #[case] step: &str) {
    let mut cluster = Cluster::installed();
    cluster.spoil(change);
    assert_eq!(cluster.plan(start()), step);
    assert_eq!(cluster.reconcile(start()), step);
    assert_eq!(cluster.plan(start()), "keep", "one pass is enough");
    let name = "openstack-cloud-controller-manager.clouds.svc";
    verify(&cluster.certificate(), &cluster.bundle, name, start()).unwrap();
}

#[test]
fn a_renamed_service_gets_a_certificate_for_its_name() {
    let cluster = Cluster::installed();
    let names = Names {
        service: "memory".to_owned(),
        ..names()
    };
    let step = plan(start(), cluster.live(), &names).to_string();
    assert_eq!(
        step,
        "issue the serving certificate: it is not for memory.clouds.svc.cluster.local"
    );
}

#[rstest]
#[case("openstack-cloud-controller-manager.clouds.svc")]
#[case("openstack-cloud-controller-manager.clouds.svc.cluster.local")]
#[case("localhost")]
#[case("127.0.0.1")]
fn callers_trust_it(#[case] name: &str) {
    let cluster = Cluster::installed();
    let soon = start() - SKEW + SignedDuration::from_secs(1);
    for now in [soon, start(), start() + DAY * 89] {
        verify(&cluster.certificate(), &cluster.bundle, name, now).unwrap();
    }
    verify(&cluster.certificate(), &cluster.bundle, "example.org", start()).unwrap_err();
    verify(&cluster.certificate(), &cluster.bundle, name, start() + DAY * 91).unwrap_err();
}

#[test]
fn a_pass_changes_nothing_that_is_in_order() {
    let mut cluster = Cluster::installed();
    let before = cluster.clone();
    assert_eq!(cluster.reconcile(start() + DAY * 59), "keep");
    assert_eq!((cluster.ca, cluster.serving), (before.ca, before.serving));
}

/// Two years, a day at a time: a client with yesterday's bundle trusts the current certificate, and a client with the current bundle trusts
/// yesterday's certificate.
#[test]
fn a_rotation_overlaps() {
    let mut cluster = Cluster::installed();
    let name = "openstack-cloud-controller-manager.clouds.svc";
    let mut steps = Vec::new();
    for day in 1..=1000 {
        let now = start() + DAY * day;
        let (bundle, leaf) = (cluster.bundle.clone(), cluster.certificate());
        let step = cluster.reconcile(now);
        if step != "keep" {
            steps.push(format!("{day}: {step}"));
        }
        verify(&cluster.certificate(), &bundle, name, now).unwrap_or_else(|error| panic!("day {day}: {error}"));
        verify(&leaf, &cluster.bundle, name, now).unwrap_or_else(|error| panic!("day {day}: {error}"));
    }
    let rotations: Vec<_> = steps.iter().filter(|step| step.contains("CA")).collect();
    assert_eq!(
        rotations,
        [
            "487: rotate the CA: two thirds of its time are over",
            "974: rotate the CA: two thirds of its time are over"
        ]
    );
    assert_eq!(steps.len(), 18, "{steps:#?}");
}

#[test]
fn a_due_leaf_waits_until_callers_know_the_new_authority() {
    let mut cluster = Cluster::installed();
    for day in [60, 120, 180, 240, 300, 360, 427] {
        cluster.reconcile(start() + DAY * day);
    }
    let old = cluster.certificate();
    let now = start() + DAY * 487;
    assert_eq!(cluster.reconcile(now), "rotate the CA: two thirds of its time are over");
    assert_eq!(cluster.plan(now + SignedDuration::from_hours(23)), "keep");
    assert_eq!(cluster.certificate(), old);
    let step = "issue the serving certificate: two thirds of its time are over";
    assert_eq!(cluster.plan(now + DAY), step);
}

#[test]
fn a_predecessor_leaves_the_bundle_when_it_expires() {
    let mut cluster = Cluster::installed();
    cluster.reconcile(start() + DAY * 487);
    let count = |cluster: &Cluster| cluster.bundle.matches("BEGIN CERTIFICATE").count();
    assert_eq!(count(&cluster), 2);
    cluster.reconcile(start() + DAY * 729);
    assert_eq!(count(&cluster), 2);
    cluster.reconcile(start() + DAY * 731);
    assert_eq!(count(&cluster), 1);
}

#[test]
fn validity_and_keys_are_as_documented() {
    let cluster = Cluster::installed();
    let leaf = Certificate::parse(cluster.certificate()).ok().unwrap();
    assert!(!leaf.is_authority());
    assert_eq!(leaf.not_before, start() - SKEW);
    assert_eq!(leaf.not_after, start() + DAY * 90);
    let ca = Certificate::parse(decoded(cluster.ca.as_ref().unwrap(), "tls.crt"))
        .ok()
        .unwrap();
    assert!(ca.is_authority());
    assert_eq!(ca.not_after, start() + DAY * 730);
    let (_, parsed) =
        <x509_parser::prelude::X509Certificate<'_> as x509_parser::prelude::FromDer<_>>::from_der(&leaf.der).unwrap();
    let p256 = "1.2.840.10045.3.1.7";
    let curve = parsed.public_key().algorithm.parameters.as_ref().unwrap();
    assert_eq!(curve.as_oid().unwrap().to_id_string(), p256);
}

#[test]
fn keys_are_not_printed() {
    let issued = desired(start(), Live::default(), &names()).unwrap();
    let printed = format!("{issued:?}");
    assert!(printed.contains("clouds") && !printed.contains("PRIVATE"), "{printed}");
    let key = decoded(issued.objects()[0].value(), "tls.key");
    assert!(!printed.contains(key.lines().nth(1).unwrap()));
}

#[rstest]
#[case::alone(
    "",
    "cloud-controller-manager-serving-ca cloud-controller-manager-serving-ca-bundle cloud-controller-manager-serving-cert"
)]
#[case::one_of_several(
    "west-",
    "west-cloud-controller-manager-serving-ca west-cloud-controller-manager-serving-ca-bundle west-cloud-controller-manager-serving-cert"
)]
fn objects_are_called(#[case] prefix: &str, #[case] expected: &str) {
    let names = Names {
        prefix: prefix.to_owned(),
        ..names()
    };
    let issued = desired(start(), Live::default(), &names).unwrap();
    let keys: Vec<_> = issued.objects().iter().map(|object| object.key().clone()).collect();
    let called: Vec<_> = keys.iter().map(|key| key.name.as_str()).collect();
    assert_eq!(called.join(" "), expected);
    assert_eq!(keys, [names.ca_secret(), names.bundle(), names.serving_secret()]);
}
