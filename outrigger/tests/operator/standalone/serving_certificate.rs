//! The certificate of a manager's secure port: whatever happens to it, the operator issues another one, the manager serves it, and monitoring trusts it.

use super::cluster::Cluster;
use crate::{
    objects::{config_map, kind},
    process_fixture::{Launch, Manager, free_port},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use kube::api::{ApiResource, DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};
use std::{fs, net::SocketAddr, sync::Arc};
use tokio_rustls::rustls::{
    RootCertStore,
    client::{WebPkiServerVerifier, danger::ServerCertVerifier},
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
};

const SERVING: &str = "lab-cloud-controller-manager-serving-cert";
const CA: &str = "lab-cloud-controller-manager-serving-ca";
const BUNDLE: &str = "lab-cloud-controller-manager-serving-ca-bundle";
/// Where the serving certificate is mounted.
const MOUNTED: &str = "/etc/outrigger/serving-cert";

fn secrets() -> ApiResource {
    kind("Secret")
}

/// A value of a Secret; empty if it does not exist.
async fn data(world: &Cluster, secret: &str, key: &str) -> String {
    let found = world.api(&secrets(), &world.namespace).get_opt(secret).await.unwrap();
    let text = found.and_then(|secret| secret.data["data"][key].as_str().map(str::to_owned));
    String::from_utf8(BASE64_STANDARD.decode(text.unwrap_or_default()).unwrap()).unwrap()
}

/// The bundle for clients.
async fn bundle(world: &Cluster) -> String {
    let found = world
        .api(&config_map(), &world.namespace)
        .get_opt(BUNDLE)
        .await
        .unwrap();
    let text = found.and_then(|map| map.data["data"]["ca.crt"].as_str().map(str::to_owned));
    text.unwrap_or_default()
}

fn host(world: &Cluster) -> String {
    format!("lab-cloud-controller-manager.{}.svc", world.namespace)
}

/// Verifies the certificate as a client with this bundle does.
fn verify(bundle: &str, certificate: &str, host: &str) -> Result<(), String> {
    let mut roots = RootCertStore::empty();
    for root in CertificateDer::pem_slice_iter(bundle.as_bytes()) {
        roots.add(root.map_err(|error| error.to_string())?).unwrap();
    }
    lab::install_crypto();
    let verifier = WebPkiServerVerifier::builder(Arc::new(roots)).build();
    let leaf = CertificateDer::from_pem_slice(certificate.as_bytes()).map_err(|error| error.to_string())?;
    let name = ServerName::try_from(host.to_owned()).unwrap();
    let verified =
        verifier
            .map_err(|error| error.to_string())?
            .verify_server_cert(&leaf, &[], &name, &[], UnixTime::now());
    verified.map(drop).map_err(|error| error.to_string())
}

/// Waits until there is another certificate than this one, and clients trust it.
async fn replaced(world: &Cluster, operator: &Manager, old: &str, why: &str) -> String {
    let look = async || {
        let new = data(world, SERVING, "tls.crt").await;
        if new.is_empty() || new == old {
            return Err("it is the old one".to_owned());
        }
        verify(&bundle(world).await, &new, &host(world))?;
        Ok(new)
    };
    operator.until(&format!("another certificate: {why}"), look).await
}

/// A certificate with the right names, by the authority in the cluster, that was valid long ago.
async fn expired(world: &Cluster) -> Value {
    let authority = data(world, CA, "tls.crt").await;
    let der = CertificateDer::from_pem_slice(authority.as_bytes()).unwrap();
    let text = String::from_utf8_lossy(&der).into_owned();
    let name = &text[text.find("cloud-controller-manager-serving-ca@").unwrap()..];
    let end = name.find('@').unwrap() + 1;
    let digits = name[end..].chars().take_while(char::is_ascii_digit).count();
    let mut issuer = rcgen::CertificateParams::default();
    issuer.distinguished_name = rcgen::DistinguishedName::new();
    issuer
        .distinguished_name
        .push(rcgen::DnType::CommonName, &name[..end + digits]);
    let signer = rcgen::KeyPair::from_pem(&data(world, CA, "tls.key").await).unwrap();
    let issuer = rcgen::Issuer::new(issuer, signer);
    let names = [host(world), "localhost".to_owned(), "127.0.0.1".to_owned()];
    let mut params = rcgen::CertificateParams::new(names).unwrap();
    params.not_before = rcgen::date_time_ymd(2001, 1, 1);
    params.not_after = rcgen::date_time_ymd(2002, 1, 1);
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, &issuer).unwrap();
    let refused = verify(&bundle(world).await, &certificate.pem(), &host(world)).unwrap_err();
    assert!(refused.contains("expired"), "for another reason: {refused}");
    pair(&certificate.pem(), &key.serialize_pem())
}

/// A certificate that no authority of the bundle signed.
fn foreign() -> Value {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    pair(&made.cert.pem(), &made.signing_key.serialize_pem())
}

fn pair(certificate: &str, key: &str) -> Value {
    json!({"tls.crt": BASE64_STANDARD.encode(certificate), "tls.key": BASE64_STANDARD.encode(key)})
}

/// Puts it into the Secret. Returns the certificate in it.
async fn put(world: &Cluster, secret: &str, data: Value) -> String {
    let api = world.api(&secrets(), &world.namespace);
    let certificate = BASE64_STANDARD.decode(data["tls.crt"].as_str().unwrap()).unwrap();
    let patch = Patch::Merge(json!({ "data": data }));
    api.patch(secret, &PatchParams::default(), &patch).await.unwrap();
    String::from_utf8(certificate).unwrap()
}

/// Does what the kubelet does: what is in the Secret is in the Pods' files.
async fn mount(world: &Cluster) {
    let folder = world.folder.path().join("serving-cert");
    fs::create_dir_all(&folder).unwrap();
    for file in ["tls.crt", "tls.key"] {
        let fresh = folder.join(format!("{file}.new"));
        fs::write(&fresh, data(world, SERVING, file).await).unwrap();
        fs::rename(fresh, folder.join(file)).unwrap();
    }
}

/// The manager, by the command line that the operator has written for it.
async fn manager(world: &Cluster, address: SocketAddr) -> Manager {
    mount(world).await;
    let live = world.deployment("lab").await.unwrap();
    let args = live["spec"]["template"]["spec"]["containers"][0]["args"]
        .as_array()
        .cloned()
        .unwrap();
    let folder = world.folder.path().join("serving-cert").display().to_string();
    let launch = args.iter().fold(Launch::new(world.folder.path()), |launch, arg| {
        launch.arg(&arg.as_str().unwrap().replace(MOUNTED, &folder))
    });
    let kubeconfig = world.plane().kubeconfig().display().to_string();
    let launch = ["kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig"]
        .iter()
        .fold(launch, |launch, flag| launch.flag(&format!("--{flag}={kubeconfig}")));
    launch.listen(address).start()
}

/// Waits until the manager serves this certificate to a caller that trusts what the operator says, and nothing else.
async fn serves(world: &Cluster, manager: &Manager, address: SocketAddr, certificate: &str) {
    let expected = CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
    let look = async || {
        let roots = reqwest::Certificate::from_pem_bundle(bundle(world).await.as_bytes()).unwrap();
        let client = reqwest::Client::builder()
            .no_proxy()
            .tls_certs_only(roots)
            .tls_info(true)
            .resolve(&host(world), address);
        let url = format!("https://{}:{}/livez", host(world), address.port());
        let answer = client.build().unwrap().get(url).send().await;
        let answer = answer.map_err(|error| format!("{error:?}"))?;
        let info = answer.extensions().get::<reqwest::tls::TlsInfo>().unwrap();
        if info.peer_certificate() == Some(&*expected) {
            Ok(())
        } else {
            Err("it serves another".to_owned())
        }
    };
    manager.until("the certificate that it serves", look).await;
}

#[tokio::test]
async fn a_certificate_is_replaced_and_served() {
    let (world, operator) = Cluster::running().await;
    let first = data(&world, SERVING, "tls.crt").await;
    verify(&bundle(&world).await, &first, &host(&world)).unwrap();
    let address = free_port();
    let manager = manager(&world, address).await;
    serves(&world, &manager, address, &first).await;

    // The previous certificate may be written again: by a pass that had not observed the damage.
    let damaged = put(&world, SERVING, expired(&world).await).await;
    let second = replaced(&world, &operator, &damaged, "it has expired").await;
    mount(&world).await;
    serves(&world, &manager, address, &second).await;

    let edited = put(&world, SERVING, json!({"tls.crt": BASE64_STANDARD.encode("mine")})).await;
    replaced(&world, &operator, &edited, "it was edited").await;
    let strange = put(&world, SERVING, foreign()).await;
    let third = replaced(&world, &operator, &strange, "no caller trusts it").await;

    let api = world.api(&secrets(), &world.namespace);
    world.settled().await;
    api.delete(SERVING, &DeleteParams::default()).await.unwrap();
    let fourth = replaced(&world, &operator, &third, "it was deleted").await;
    world.settled().await;
    // Without the authority the certificates that it signed cannot be replaced one by one: everything is issued again, and trusted.
    let authority = bundle(&world).await;
    api.delete(CA, &DeleteParams::default()).await.unwrap();
    let last = replaced(&world, &operator, &fourth, "its authority was deleted").await;
    assert_ne!(bundle(&world).await, authority);
    mount(&world).await;
    serves(&world, &manager, address, &last).await;

    // No Pod was rolled.
    assert_eq!(world.deployment("lab").await.unwrap()["metadata"]["generation"], 1);
}

/// The configuration of Prometheus selects the manager's Service and the certificates that the operator has issued for it.
#[tokio::test]
async fn monitoring_gets_the_certificates_to_trust() {
    let (world, _operator) = Cluster::running().await;
    let name = "lab-cloud-controller-manager";
    let get = async |resource: ApiResource, name: &str| {
        let found = world.api(&resource, &world.namespace).get(name).await.unwrap();
        serde_json::to_value(found).unwrap()
    };
    let monitors = kind("ServiceMonitor");
    let monitor = get(monitors, name).await;
    let endpoint = &monitor["spec"]["endpoints"][0];
    let trusted = &endpoint["tlsConfig"]["ca"]["configMap"];
    let related = world.related("lab").await;
    let map = format!("configmaps {}", trusted["name"].as_str().unwrap());
    assert!(related.contains(&map), "{map} is not in {related:#?}");
    let map = get(config_map(), trusted["name"].as_str().unwrap()).await;
    let roots = map["data"][trusted["key"].as_str().unwrap()].as_str().unwrap();
    let server = endpoint["tlsConfig"]["serverName"].as_str().unwrap();
    verify(roots, &data(&world, SERVING, "tls.crt").await, server).unwrap();

    let service = get(kind("Service"), name).await;
    let selected = monitor["spec"]["selector"]["matchLabels"].as_object().unwrap();
    assert!(!selected.is_empty());
    for (label, value) in selected {
        assert_eq!(&service["metadata"]["labels"][label], value, "{label}");
    }
    let ports = service["spec"]["ports"].as_array().unwrap();
    assert!(ports.iter().any(|port| port["name"] == endpoint["port"]), "{ports:?}");
}
