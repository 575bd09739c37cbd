//! TLS: trust in servers, and client certificates.

use crate::{
    Subject, config, kind,
    server::{Reply, Server},
};
use cloud_http::{Config, Fault, Proxy, Reason, Request, Trust, Url};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rstest::rstest;
use rustls::{
    RootCertStore, ServerConfig,
    pki_types::{PrivateKeyDer, pem::PemObject},
    server::WebPkiClientVerifier,
};
use secrecy::SecretString;
use std::sync::Arc;

/// An authority of our own.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn issue(&self, name: &str) -> (rcgen::Certificate, KeyPair) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        (params.signed_by(&key, &self.0).unwrap(), key)
    }

    pub fn pem(&self) -> String {
        self.0.pem()
    }

    pub fn server_config(&self, name: &str, clients: Option<&Self>) -> ServerConfig {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (certificate, key) = self.issue(name);
        let builder = ServerConfig::builder();
        let builder = match clients {
            None => builder.with_no_client_auth(),
            Some(authority) => {
                let mut roots = RootCertStore::empty();
                roots.add(authority.0.der().clone()).unwrap();
                builder.with_client_cert_verifier(WebPkiClientVerifier::builder(Arc::new(roots)).build().unwrap())
            }
        };
        let key = PrivateKeyDer::from_pem_slice(key.serialize_pem().as_bytes()).unwrap();
        builder.with_single_cert(vec![certificate.der().clone()], key).unwrap()
    }

    async fn server(&self, name: &str, clients: Option<&Self>) -> Server {
        Server::tls(self.server_config(name, clients), |_| async { Reply::json(200, "1") }).await
    }
}

#[rstest]
#[case::ours("127.0.0.1", |ca: String| Trust::Only(ca), None)]
#[case::ours_besides_the_system("127.0.0.1", |ca: String| Trust::SystemAnd(ca), None)]
#[case::anything("elsewhere.example", |_| Trust::Anything, None)]
#[case::unknown("127.0.0.1", |_| Trust::System, Some("UnknownIssuer"))]
#[case::other_name("elsewhere.example", |ca: String| Trust::Only(ca), Some("not valid for name"))]
#[tokio::test]
async fn trusts(#[case] name: &str, #[case] trust: fn(String) -> Trust, #[case] message: Option<&str>) {
    let authority = Authority::new();
    let server = authority.server(name, None).await;
    let subject = Subject::new(&Config {
        trust: trust(authority.pem()),
        ..config()
    });
    let sent = subject
        .client
        .send_json::<u8>(Request::get("try_it", &server.url()))
        .await;
    match message {
        None => assert_eq!(sent.unwrap(), 1),
        Some(message) => {
            let error = sent.unwrap_err();
            assert_eq!(
                Fault::of(&error).map(Fault::reason),
                Some(Reason::Tls),
                "{}",
                error.report()
            );
            assert!(error.report().contains(message), "{}", error.report());
            // A wrong certificate is no matter of trying harder.
            let failures = r#"cloud_api_connection_failures_total{operation="try_it",reason="tls"}"#;
            assert_eq!(subject.sample(failures), 1);
        }
    }
}

/// What `openssl req -x509` makes: it is given as an authority, and shown by the server.
#[rstest]
#[case::ours("127.0.0.1", |pem: String| Trust::Only(pem), None)]
#[case::ours_besides_the_system("127.0.0.1", |pem: String| Trust::SystemAnd(pem), None)]
#[case::other_name("elsewhere.example", |pem: String| Trust::Only(pem), Some("not valid for name"))]
#[case::of_another(
    "127.0.0.1",
    |_| Trust::Only(Authority::new().pem()),
    Some("CaUsedAsEndEntity")
)]
#[tokio::test]
async fn trusts_a_server_that_is_its_own_authority(
    #[case] name: &str,
    #[case] trust: fn(String) -> Trust,
    #[case] message: Option<&str>,
) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let itself = params.self_signed(&key).unwrap();
    let key = PrivateKeyDer::from_pem_slice(key.serialize_pem().as_bytes()).unwrap();
    let tls = ServerConfig::builder().with_no_client_auth();
    let tls = tls.with_single_cert(vec![itself.der().clone()], key).unwrap();
    let server = Server::tls(tls, |_| async { Reply::json(200, "1") }).await;
    let subject = Subject::new(&Config {
        trust: trust(itself.pem()),
        ..config()
    });
    let request = Request::get("try_it", &server.url());
    let report = match subject.client.send_json::<u8>(request).await {
        Ok(_) => None,
        Err(error) => Some(error.report()),
    };
    match message {
        None => assert_eq!(report, None),
        Some(message) => assert!(
            report.as_ref().is_some_and(|report| report.contains(message)),
            "{report:?}"
        ),
    }
}

#[tokio::test]
async fn shows_a_client_certificate() {
    let authority = Authority::new();
    let server = authority.server("127.0.0.1", Some(&authority)).await;
    let trust = Trust::Only(authority.pem());
    let (certificate, key) = authority.issue("client");
    let identity = SecretString::from(certificate.pem() + &key.serialize_pem());

    let without_certificate = Subject::new(&Config {
        trust: trust.clone(),
        ..config()
    });
    let error = without_certificate
        .client
        .send(Request::get("try_it", &server.url()))
        .await
        .unwrap_err();
    assert_eq!(kind(&error), "unavailable");
    assert!(error.report().contains("CertificateRequired"), "{}", error.report());

    let with_certificate = Subject::new(&Config {
        trust,
        identity: Some(identity),
        ..config()
    });
    with_certificate
        .client
        .send(Request::get("try_it", &server.url()))
        .await
        .unwrap();
}

#[rstest]
#[case::nothing("")]
#[case::prose("no certificate at all")]
#[case::garbage("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")]
fn invalid_authorities_are_refused(#[case] pem: &str) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let metrics = cloud_http::Metrics::register(&prometheus::Registry::new()).unwrap();
    let config = Config {
        trust: Trust::Only(pem.to_owned()),
        ..config()
    };
    let error = cloud_http::Client::new(&config, Arc::new(|| Ok(())), &metrics).unwrap_err();
    assert!(matches!(error, cloud::Error::Invalid { .. }), "{error:?}");
}

#[tokio::test]
async fn goes_through_a_proxy() {
    let proxy = Server::script(vec![Reply::json(200, "1")]).await;
    let url = SecretString::from(format!("http://me:pw@{}", proxy.address));
    let subject = Subject::new(&Config {
        proxy: Proxy::Url(url),
        ..config()
    });
    let cloud = Url::parse("http://cloud.invalid/things").unwrap();
    assert_eq!(
        subject
            .client
            .send_json::<u8>(Request::get("try_it", &cloud))
            .await
            .unwrap(),
        1
    );
    let seen = &proxy.seen()[0];
    assert_eq!(seen.target, "http://cloud.invalid/things");
    assert_eq!(seen.header("proxy-authorization"), Some("Basic bWU6cHc="));
}

#[tokio::test]
async fn a_proxy_that_refuses_is_no_answer_of_the_cloud() {
    let proxy = Server::script(vec![Reply::html(404)]).await;
    let url = SecretString::from(format!("http://{}", proxy.address));
    let subject = Subject::new(&Config {
        proxy: Proxy::Url(url),
        ..config()
    });
    for cloud in ["http://cloud.invalid/things", "https://cloud.invalid/things"] {
        let request = Request::get("try_it", &Url::parse(cloud).unwrap());
        let error = subject.client.find(request).await.unwrap_err();
        assert_eq!(kind(&error), "unavailable", "{}", error.report());
    }
}
