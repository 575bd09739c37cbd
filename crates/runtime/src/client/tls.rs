//! TLS to the API server: trusted certificates and the client certificate.

use super::config::certificates;
use base64::{Engine, prelude::BASE64_STANDARD};
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use kube::{
    Config,
    client::{ConfigExt, RustlsTlsError},
    config::AuthInfo,
};
use outbound::{Roots, Verifier};
use rustls::{
    ClientConfig,
    client::danger::ServerCertVerifier,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    sign::{CertifiedKey, SingleCertAndKey},
};
use secrecy::ExposeSecret;
use std::sync::Arc;
use tower::BoxError;

/// Adds TLS to a connector. A credential plugin is run here, and blocks.
pub(super) fn https<C>(config: &Config, connector: C) -> kube::Result<HttpsConnector<C>> {
    let mut builder = HttpsConnectorBuilder::new()
        .with_tls_config(tls(config)?)
        .https_or_http();
    if let Some(name) = &config.tls_server_name {
        let name = name.clone().try_into().map_err(RustlsTlsError::InvalidServerName);
        let name = name.map_err(kube::Error::RustlsTls)?;
        builder = builder.with_server_name_resolver(FixedServerNameResolver::new(name));
    }
    Ok(builder.enable_http1().wrap_connector(connector))
}

fn tls(config: &Config) -> kube::Result<ClientConfig> {
    // Trust and client certificate are set below: kube rejects certificates that Go accepts.
    let mut rest = config.clone();
    (rest.root_cert, rest.root_cert_file) = (Some(Vec::new()), None);
    let pair = take_pair(&mut rest.auth_info)?;
    let mut tls = rest.rustls_client_config()?;
    if let Some(pair) = pair {
        tls.client_auth_cert_resolver = Arc::new(SingleCertAndKey::from(pair));
    }
    if !config.accept_invalid_certs {
        tls.dangerous().set_certificate_verifier(trust(config)?);
    }
    Ok(tls)
}

/// The client certificate with its key, if there is one. A plugin may still return another.
fn take_pair(user: &mut AuthInfo) -> kube::Result<Option<CertifiedKey>> {
    let (data, file) = (user.client_certificate_data.take(), user.client_certificate.take());
    let certificate = read(data.as_deref(), file.as_deref())?;
    let (data, file) = (user.client_key_data.take(), user.client_key.take());
    let key = read(data.as_ref().map(ExposeSecret::expose_secret), file.as_deref())?;
    let (Some(certificate), Some(key)) = (certificate, key) else {
        return Ok(None);
    };
    let invalid = |error| kube::Error::RustlsTls(RustlsTlsError::InvalidIdentityPem(error));
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&certificate).collect();
    let key = PrivateKeyDer::from_pem_slice(&key).map_err(invalid)?;
    let pair = outbound::pair(chain.map_err(invalid)?, key, &ring::default_provider());
    pair.map(Some)
        .map_err(|error| kube::Error::RustlsTls(RustlsTlsError::InvalidPrivateKey(error)))
}

fn read(data: Option<&str>, file: Option<&str>) -> kube::Result<Option<Vec<u8>>> {
    let read = match (data, file) {
        (Some(data), _) => BASE64_STANDARD.decode(data).map_err(BoxError::from),
        (None, Some(file)) => std::fs::read(file).map_err(|error| format!("cannot read {file}: {error}").into()),
        (None, None) => return Ok(None),
    };
    read.map(Some).map_err(kube::Error::Service)
}

fn trust(config: &Config) -> kube::Result<Arc<dyn ServerCertVerifier>> {
    let given = |roots: Vec<Vec<u8>>| Roots::Only(roots.into_iter().map(CertificateDer::from).collect());
    let roots = match (&config.root_cert_file, &config.root_cert) {
        // The file may have changed since the configuration was loaded.
        (Some(path), _) => {
            let pem = std::fs::read(path).map_err(unusable)?;
            given(certificates(&pem).map_err(unusable)?)
        }
        (None, Some(roots)) => given(roots.clone()),
        (None, None) => Roots::SystemAnd(Vec::new()),
    };
    Ok(Arc::new(Verifier::new(roots).map_err(unusable)?))
}

fn unusable(error: impl Into<BoxError>) -> kube::Error {
    kube::Error::RustlsTls(RustlsTlsError::AddRootCertificate(error.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::{outgoing::Outgoing, transport::Transport};
    use http::Request;
    use kube::client::Body;
    use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
    use rstest::rstest;
    use testkit::version_1::{CERTIFICATE, KEY};
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
    };
    use tower::ServiceExt;

    /// As `openssl req -x509` creates it.
    fn self_signed(name: &str) -> (rcgen::Certificate, KeyPair) {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        (params.self_signed(&key).unwrap(), key)
    }

    /// A server that answers every client that trusts it; its URL.
    async fn server(certificate: &rcgen::Certificate, key: &KeyPair) -> String {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let key = PrivateKeyDer::from_pem_slice(key.serialize_pem().as_bytes()).unwrap();
        let tls = rustls::ServerConfig::builder().with_no_client_auth();
        let tls = tls.with_single_cert(vec![certificate.der().clone()], key).unwrap();
        let tls = tokio_rustls::TlsAcceptor::from(Arc::new(tls));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let Ok(mut client) = tls.accept(client).await else {
                    continue;
                };
                let mut head = [0; 4096];
                let _ = client.read(&mut head).await;
                let _ = client.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
            }
        });
        url
    }

    async fn ask(config: Config) -> Result<u16, String> {
        let exchange = Transport::new(config, None).unwrap().exchange().await;
        let request = Request::get("/").body(Outgoing::reading(Body::empty())).unwrap();
        let answer = exchange.oneshot(request).await;
        answer
            .map(|answer| answer.status().as_u16())
            .map_err(|error| crate::client::explain(&*error))
    }

    #[rstest]
    #[case::inline("127.0.0.1", None, "200")]
    #[case::by_its_file("127.0.0.1", Some("authority.crt"), "200")]
    #[case::another_name("elsewhere.example", None, "not valid for name")]
    #[tokio::test]
    async fn a_server_may_be_its_own_authority(#[case] name: &str, #[case] file: Option<&str>, #[case] expected: &str) {
        let (certificate, key) = self_signed(name);
        let mut config = Config::new(server(&certificate, &key).await.parse().unwrap());
        config.root_cert = Some(vec![certificate.der().to_vec()]);
        let folder = std::env::temp_dir().join(lab::unique("authority"));
        std::fs::create_dir_all(&folder).unwrap();
        if let Some(file) = file {
            std::fs::write(folder.join(file), certificate.pem()).unwrap();
            config.root_cert_file = Some(folder.join(file));
        }
        let message = ask(config)
            .await
            .map_or_else(|error| error, |status| status.to_string());
        assert!(message.contains(expected), "{message}");
        let _ = std::fs::remove_dir_all(folder);
    }

    #[rstest]
    #[case::version_1(KEY, "")]
    #[case::of_another("", "KeyMismatch")]
    fn a_client_certificate_may_be_of_version_1(#[case] key: &str, #[case] expected: &str) {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let stranger = KeyPair::generate().unwrap().serialize_pem();
        let key = if key.is_empty() { &stranger } else { key };
        let mut config = Config::new("https://api".parse().unwrap());
        config.root_cert = Some(vec![self_signed("api").0.der().to_vec()]);
        config.auth_info.client_certificate_data = Some(BASE64_STANDARD.encode(CERTIFICATE));
        config.auth_info.client_key_data = Some(BASE64_STANDARD.encode(key).into());
        let message = tls(&config).map_or_else(
            |error| format!("{error:?}"),
            |tls| {
                assert!(tls.client_auth_cert_resolver.has_certs());
                String::new()
            },
        );
        assert!(
            message.contains(expected) && message.is_empty() == expected.is_empty(),
            "{message}"
        );
    }

    #[tokio::test]
    async fn does_not_trust_another_certificate() {
        let (certificate, key) = self_signed("127.0.0.1");
        let mut config = Config::new(server(&certificate, &key).await.parse().unwrap());
        config.root_cert = Some(vec![self_signed("127.0.0.1").0.der().to_vec()]);
        assert!(ask(config).await.is_err());
    }
}
