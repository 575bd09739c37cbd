//! TLS to the API server: whom we trust, and who we are.

use super::authorities::Followed;
use hyper_rustls::{FixedServerNameResolver, HttpsConnector, HttpsConnectorBuilder};
use kube::{
    Config,
    client::{ConfigExt, RustlsTlsError},
};
use reach::{Roots, Verifier};
use rustls::{ClientConfig, client::danger::ServerCertVerifier, pki_types::CertificateDer};
use std::sync::Arc;

/// Puts TLS on top of a connector, as the configuration says. A plugin that gives a certificate is run here, and blocks.
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
    // Whom to trust is decided below: the layer beneath refuses what Go accepts.
    let mut untrusting = config.clone();
    (untrusting.root_cert, untrusting.root_cert_file) = (Some(Vec::new()), None);
    let mut tls = untrusting.rustls_client_config()?;
    if !config.accept_invalid_certs {
        tls.dangerous().set_certificate_verifier(trust(config)?);
    }
    Ok(tls)
}

fn trust(config: &Config) -> kube::Result<Arc<dyn ServerCertVerifier>> {
    let given = |roots: &[Vec<u8>]| roots.iter().cloned().map(CertificateDer::from).collect();
    let roots = match (&config.root_cert_file, &config.root_cert) {
        (Some(path), _) => return Ok(Arc::new(Followed::new(path.clone()).map_err(unusable)?)),
        (None, Some(roots)) => Roots::Only(given(roots)),
        (None, None) => Roots::SystemAnd(Vec::new()),
    };
    Ok(Arc::new(Verifier::new(roots).map_err(unusable)?))
}

fn unusable(error: impl Into<tower::BoxError>) -> kube::Error {
    kube::Error::RustlsTls(RustlsTlsError::AddRootCertificate(error.into()))
}

#[cfg(test)]
mod tests {
    use crate::client::{outgoing::Outgoing, transport::Transport};
    use http::Request;
    use kube::{Config, client::Body};
    use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
    use rstest::rstest;
    use rustls::pki_types::{PrivateKeyDer, pem::PemObject};
    use std::sync::Arc;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
    };
    use tower::ServiceExt;

    /// As `openssl req -x509` makes it.
    fn by_itself(name: &str) -> (rcgen::Certificate, KeyPair) {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        (params.self_signed(&key).unwrap(), key)
    }

    /// A server that answers everybody who believes it; its URL.
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
        let (certificate, key) = by_itself(name);
        let mut config = Config::new(server(&certificate, &key).await.parse().unwrap());
        config.root_cert = Some(vec![certificate.der().to_vec()]);
        let folder = std::env::temp_dir().join(lab::unique("authority"));
        std::fs::create_dir_all(&folder).unwrap();
        if let Some(file) = file {
            std::fs::write(folder.join(file), certificate.pem()).unwrap();
            config.root_cert_file = Some(folder.join(file));
        }
        let said = ask(config)
            .await
            .map_or_else(|error| error, |status| status.to_string());
        assert!(said.contains(expected), "{said}");
        let _ = std::fs::remove_dir_all(folder);
    }

    #[tokio::test]
    async fn but_not_that_of_another_one() {
        let (certificate, key) = by_itself("127.0.0.1");
        let mut config = Config::new(server(&certificate, &key).await.parse().unwrap());
        config.root_cert = Some(vec![by_itself("127.0.0.1").0.der().to_vec()]);
        assert!(ask(config).await.is_err());
    }
}
