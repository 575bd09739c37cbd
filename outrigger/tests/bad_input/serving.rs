//! The flags of the secure port, as clients of a running manager see them.

use crate::fixture::{Credentials, Fixture, Manager, Reply, free_port};
use rcgen::{CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, KeyPair};
use rustls::{
    CipherSuite, ClientConfig, ProtocolVersion, RootCertStore, SupportedProtocolVersion,
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, ServerName, pem::PemObject},
    version::{TLS12, TLS13},
};
use std::{fs, path::PathBuf, sync::Arc};
use testkit::wait::until;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// Signs certificates of servers and of clients.
struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key, in files.
struct Pair {
    cert: PathBuf,
    key: PathBuf,
}

impl Authority {
    fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn file(&self, fixture: &Fixture) -> PathBuf {
        fixture
            .folder
            .write(&format!("{}.pem", lab::unique("ca")), &self.0.pem())
    }

    /// Replaces the certificate by one for this server name.
    fn serve(&self, fixture: &Fixture, name: &str) -> Pair {
        self.sign(fixture, name, &CertificateParams::new([name.to_owned()]).unwrap())
    }

    /// The credentials of this user.
    fn client(&self, fixture: &Fixture, user: &str, groups: &[&str]) -> Credentials {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, user);
        for group in groups {
            params.distinguished_name.push(DnType::OrganizationName, *group);
        }
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let Pair { cert, key } = self.sign(fixture, &lab::unique("client"), &params);
        Credentials::Certificate(cert, key)
    }

    fn sign(&self, fixture: &Fixture, name: &str, params: &CertificateParams) -> Pair {
        let key = KeyPair::generate().unwrap();
        let cert = params.signed_by(&key, &self.0).unwrap();
        Pair {
            cert: fixture.folder.write(&format!("{name}.crt"), &cert.pem()),
            key: fixture.folder.write(&format!("{name}.key"), &key.serialize_pem()),
        }
    }
}

impl Pair {
    fn certificate(&self) -> CertificateDer<'static> {
        CertificateDer::from_pem_file(&self.cert).unwrap()
    }
}

/// The result of a TLS handshake.
#[derive(Debug, PartialEq)]
struct Agreed {
    certificate: CertificateDer<'static>,
    version: ProtocolVersion,
    suite: CipherSuite,
}

/// The settings of a client: the file of trusted authorities, the version, and the cipher suite if not all.
struct Client<'a> {
    trusts: &'a PathBuf,
    version: &'static SupportedProtocolVersion,
    suite: Option<CipherSuite>,
}

impl Client<'_> {
    async fn greet(&self, manager: &Manager, name: &str) -> Result<Agreed, String> {
        let mut roots = RootCertStore::empty();
        let trusted = CertificateDer::pem_file_iter(self.trusts).unwrap();
        roots.add_parsable_certificates(trusted.map(Result::unwrap));
        let mut provider: CryptoProvider = ring::default_provider();
        provider
            .cipher_suites
            .retain(|it| self.suite.is_none_or(|only| it.suite() == only));
        let config = ClientConfig::builder_with_provider(Arc::new(provider))
            .with_protocol_versions(&[self.version])
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let stream = TcpStream::connect(manager.address()).await.unwrap();
        let name = ServerName::try_from(name.to_owned()).unwrap();
        let connected = TlsConnector::from(Arc::new(config)).connect(name, stream).await;
        let stream = connected.map_err(|error| error.to_string())?;
        let (_, session) = stream.get_ref();
        Ok(Agreed {
            certificate: session.peer_certificates().unwrap()[0].clone().into_owned(),
            version: session.protocol_version().unwrap(),
            suite: session.negotiated_cipher_suite().unwrap().suite(),
        })
    }
}

/// Waits until the server presents this certificate for this name.
async fn shows(manager: &Manager, trusts: &PathBuf, name: &str, pair: &Pair) {
    let client = Client {
        trusts,
        version: &TLS13,
        suite: None,
    };
    until(&format!("the certificate for {name}"), || async {
        match client.greet(manager, name).await {
            Ok(agreed) if agreed.certificate == pair.certificate() => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await;
}

#[tokio::test]
async fn certificates_by_name_the_lowest_version_and_the_address() {
    let fixture = Fixture::shared().await;
    let authority = Authority::new("serving");
    let trusts = &authority.file(&fixture);
    let (main, other) = (
        authority.serve(&fixture, "main.example"),
        authority.serve(&fixture, "other.example"),
    );
    let manager = fixture
        .manager()
        .flag(&format!("--tls-cert-file={}", main.cert.display()))
        .flag(&format!("--tls-private-key-file={}", main.key.display()))
        .flag(&format!(
            "--tls-sni-cert-key={},{}:other.example",
            other.cert.display(),
            other.key.display()
        ))
        .flag("--tls-min-version=VersionTLS13")
        .start();
    manager.answers("/livez", 200).await;
    shows(&manager, trusts, "main.example", &main).await;
    shows(&manager, trusts, "other.example", &other).await;

    let old = Client {
        trusts,
        version: &TLS12,
        suite: None,
    };
    let refused = old.greet(&manager, "main.example").await.unwrap_err();
    assert!(refused.contains("ProtocolVersion"), "{refused}");

    let elsewhere = (free_port().ip(), manager.address().port());
    let connected = TcpStream::connect(elsewhere).await;
    assert!(connected.is_err(), "it listens at more than --bind-address");

    let (main, other) = (
        authority.serve(&fixture, "main.example"),
        authority.serve(&fixture, "other.example"),
    );
    shows(&manager, trusts, "main.example", &main).await;
    shows(&manager, trusts, "other.example", &other).await;
}

#[tokio::test]
async fn cipher_suites_and_a_certificate_in_a_folder() {
    let fixture = Fixture::shared().await;
    let folder = fixture.folder.path().join("certificates");
    let manager = fixture
        .manager()
        .flag(&format!("--cert-dir={}", folder.display()))
        .flag("--tls-cipher-suites=TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384")
        .start();
    manager.answers("/livez", 200).await;
    let file = folder.join("cloud-controller-manager.crt");
    assert!(folder.join("cloud-controller-manager.key").exists());
    let with = |suite| Client {
        trusts: &file,
        version: &TLS12,
        suite,
    };
    let agreed = with(None).greet(&manager, "localhost").await.unwrap();
    let expected = Agreed {
        certificate: CertificateDer::from_pem_file(&file).unwrap(),
        version: ProtocolVersion::TLSv1_2,
        suite: CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
    };
    assert_eq!(agreed, expected);
    let other = with(Some(CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256));
    let refused = other.greet(&manager, "localhost").await.unwrap_err();
    assert!(refused.contains("HandshakeFailure"), "{refused}");
}

/// The status, and the user in the message of a refusal.
fn outcome(reply: &Reply) -> (u16, &str) {
    let user = reply
        .body
        .split_once("User \\\"")
        .and_then(|(_, rest)| rest.split_once("\\\""));
    (reply.status, user.map_or("", |(user, _)| user))
}

#[tokio::test]
async fn custom_authorities_headers_and_paths() {
    let fixture = Fixture::shared().await;
    let (people, proxies) = (Authority::new("people"), Authority::new("proxies"));
    let (people_file, proxies_file) = (people.file(&fixture), proxies.file(&fixture));
    let manager = fixture
        .manager()
        .flag("--authentication-skip-lookup")
        .flag(&format!("--client-ca-file={}", people_file.display()))
        .flag(&format!("--requestheader-client-ca-file={}", proxies_file.display()))
        .flag("--requestheader-allowed-names=gate")
        .flag("--requestheader-username-headers=X-Remote-User,X-Who")
        .flag("--requestheader-group-headers=X-Remote-Group,X-Team")
        .flag("--requestheader-extra-headers-prefix=X-Remote-Extra-,X-More-")
        .flag("--authorization-always-allow-paths=/livez,/metrics*")
        .start();
    manager.answers("/livez", 200).await;
    let get = async |who: &Credentials, headers: &[(&str, &str)], path: &str| {
        let port = manager.port_as(who);
        let request = |client: &reqwest::Client, url: &str| {
            let request = client.get(format!("{url}{path}"));
            headers
                .iter()
                .fold(request, |request, (key, value)| request.header(*key, *value))
        };
        port.request(request).await.unwrap()
    };
    let anonymous = Credentials::None;
    for path in ["/livez", "/metrics", "/metrics/slis"] {
        assert_eq!(outcome(&get(&anonymous, &[], path).await), (200, ""), "{path}");
    }
    for path in ["/configz", "/debug/flags/v", "/metric"] {
        let reply = get(&anonymous, &[], path).await;
        assert_eq!(outcome(&reply), (403, "system:anonymous"), "{path}");
    }

    let admin = people.client(&fixture, "alice", &["system:masters"]);
    assert_eq!(outcome(&get(&admin, &[], "/configz").await), (200, ""));
    let user = people.client(&fixture, "alice", &[]);
    assert_eq!(outcome(&get(&user, &[], "/configz").await), (403, "alice"));
    let of_the_cluster = Credentials::of(&fixture.plane().kubeconfig());
    let reply = get(&of_the_cluster, &[], "/configz").await;
    assert_eq!(outcome(&reply), (401, ""), "it looked up the cluster's authorities");

    let (gate, other) = (
        proxies.client(&fixture, "gate", &[]),
        proxies.client(&fixture, "other", &[]),
    );
    let bob = [("X-Who", "bob"), ("X-Team", "users"), ("X-More-Scope", "some")];
    assert_eq!(outcome(&get(&gate, &bob, "/configz").await), (403, "bob"));
    let boss = [("X-Who", "bob"), ("X-Team", "system:masters")];
    assert_eq!(outcome(&get(&gate, &boss, "/configz").await), (200, ""));
    assert_eq!(outcome(&get(&other, &boss, "/configz").await), (401, ""));
    assert_eq!(
        outcome(&get(&anonymous, &boss, "/configz").await),
        (403, "system:anonymous")
    );

    // Another authority in the same file.
    let successors = Authority::new("successors");
    fs::write(&people_file, successors.0.pem()).unwrap();
    let admin = successors.client(&fixture, "carol", &["system:masters"]);
    manager
        .until("the new authority to be trusted", async || {
            match get(&admin, &[], "/configz").await {
                reply if reply.status == 200 => Ok(()),
                reply => Err(reply.body),
            }
        })
        .await;
    assert_eq!(outcome(&get(&user, &[], "/configz").await), (401, ""));
}

#[tokio::test]
async fn a_port_is_shared_if_both_configure_it() {
    let fixture = Fixture::shared().await;
    let address = free_port();
    let shared = || fixture.manager().listen(address).flag("--permit-port-sharing");
    let first = shared().start();
    first.answers("/livez", 200).await;
    let second = shared().start();
    // It tries to lead only once the port is open.
    second.logged("attempting to acquire leader lease").await;
    let alone = fixture.manager().listen(address).start().exited().await;
    assert!(
        alone.sentence().contains("Address already in use"),
        "{}",
        alone.sentence()
    );
    first.signal("TERM");
    assert_eq!(first.exited().await.code, 0);
    second.answers("/livez", 200).await;
    second.leading().await;
}
