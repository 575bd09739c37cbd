//! TLS, protocols and the port itself.

use super::*;
use reqwest::Version;
use rstest::rstest;
use std::os::unix::fs::PermissionsExt;

fn with_tls(change: impl FnOnce(&mut tls::Settings)) -> Options {
    let mut options = options();
    change(&mut options.tls);
    options
}

#[tokio::test]
async fn a_self_signed_certificate_is_valid_for_localhost_and_the_address() {
    let server = Running::start(options(), open(Router::new()));
    let chain = served(server.address, "localhost").await;
    let authority = reqwest::Certificate::from_der(&chain[1]).unwrap();
    let strict = reqwest::Client::builder()
        .no_proxy()
        .tls_certs_only([authority])
        .build()
        .unwrap();
    for host in ["localhost", "127.0.0.1"] {
        let url = format!("https://{host}:{}/", server.address.port());
        assert_eq!(
            strict.get(url).send().await.unwrap().text().await.unwrap(),
            "ok",
            "{host}"
        );
    }
}

#[tokio::test]
async fn a_self_signed_certificate_is_kept_in_a_directory() {
    let folder = Folder::new();
    let dir = folder.0.join("certificates");
    let certificate = Certificate::Directory {
        dir: dir.clone(),
        name: "cloud-controller-manager".into(),
    };
    let start = || {
        Running::start(
            with_tls(|tls| tls.certificate = certificate.clone()),
            open(Router::new()),
        )
    };
    let first = served(start().address, "localhost").await;
    let second = served(start().address, "localhost").await;
    assert_eq!(first, second);
    let mode = |file: &str| std::fs::metadata(dir.join(file)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("cloud-controller-manager.key"), 0o600);
    assert_eq!(mode("cloud-controller-manager.crt") & 0o600, 0o600);

    std::fs::remove_file(dir.join("cloud-controller-manager.crt")).unwrap();
    let error = Running::try_start(
        with_tls(|tls| tls.certificate = certificate.clone()),
        open(Router::new()),
    )
    .err();
    let text = crate::logging::chain(&error.unwrap()).to_string();
    assert!(text.contains("cloud-controller-manager.key exists but"), "{text}");
}

#[rstest]
#[case::no_such_file(
    "/nowhere/a.crt",
    "/nowhere/a.key",
    "cannot serve TLS: cannot read /nowhere/a.crt: No such file"
)]
#[case::not_a_certificate("a.key", "a.key", "cannot serve TLS: the certificate for all names is empty")]
#[case::not_a_key("a.crt", "a.crt", "cannot serve TLS: the key for all names is not PEM: ")]
#[case::other_key(
    "a.crt",
    "b.key",
    "cannot serve TLS: the certificate and the key for all names do not fit together: "
)]
#[tokio::test]
async fn rejects_an_invalid_certificate(#[case] cert: &str, #[case] key: &str, #[case] problem: &str) {
    let folder = Folder::new();
    folder.write_pair("a", &["a"]);
    folder.write_pair("b", &["b"]);
    let certificate = Certificate::Files {
        cert: folder.0.join(cert),
        key: folder.0.join(key),
    };
    let refused = Running::try_start(with_tls(|tls| tls.certificate = certificate), open(Router::new()));
    let text = crate::logging::chain(&refused.err().unwrap()).to_string();
    assert!(text.starts_with(problem), "{text}");
}

/// The default certificate and then those of `--tls-sni-cert-key`, as their names; which is served, -1 for the default.
// upstream: TestServerRunWithSNI
#[rstest]
#[case("only one cert", "localhost,127.0.0.1", &[], "localhost", -1)]
#[case("cert with multiple alternate names", "localhost,test.com,127.0.0.1", &[], "test.com", -1)]
#[case("one SNI and the default cert with the same name", "localhost,127.0.0.1", &["localhost"], "localhost", 0)]
#[case("matching SNI cert", "localhost,127.0.0.1", &["test.com"], "test.com", 0)]
#[case("matching IP in SNI cert and the server cert", "localhost,10.0.0.1", &["test.com,10.0.0.1"], "10.0.0.1", -1)]
#[case("wildcards", "localhost,127.0.0.1", &["test.com,*.test.com"], "www.test.com", 0)]
#[tokio::test]
async fn serves_the_certificate_for_the_name(
    #[case] case: &str,
    #[case] default: &str,
    #[case] sni: &[&str],
    #[case] name: &str,
    #[case] expected: isize,
) {
    serves(case, default, sni, name, expected).await;
}

#[rstest]
#[case("explicit names beat those in certificates", "localhost", &["test.com", "b.com:test.com"], "test.com", 1)]
#[case("exact names beat wildcards", "localhost", &["a.com:*.test.com", "b.com:www.test.com"], "www.test.com", 1)]
#[case("the first pair of two", "localhost", &["test.com", "test.com"], "test.com", 0)]
#[case("an unknown name", "localhost", &["test.com"], "other.com", -1)]
#[case("an address given explicitly, asked for without a name", "localhost", &["test.com:127.0.0.1"], "127.0.0.1", 0)]
#[tokio::test]
async fn serves_the_best_certificate_for_the_name(
    #[case] case: &str,
    #[case] default: &str,
    #[case] sni: &[&str],
    #[case] name: &str,
    #[case] expected: isize,
) {
    serves(case, default, sni, name, expected).await;
}

async fn serves(case: &str, default: &str, sni: &[&str], name: &str, expected: isize) {
    let folder = Folder::new();
    let write = |file: &str, names: &str| folder.write_pair(file, &names.split(',').collect::<Vec<_>>());
    let mut certificates = vec![write("default", default)];
    let mut pairs = Vec::new();
    for (at, pair) in sni.iter().enumerate() {
        let (names, explicit) = pair.split_once(':').unwrap_or((pair, ""));
        certificates.push(write(&at.to_string(), names));
        let files = format!("{0}/{at}.crt,{0}/{at}.key", folder.0.display());
        pairs.push(
            if explicit.is_empty() {
                files
            } else {
                format!("{files}:{explicit}")
            }
            .parse()
            .unwrap(),
        );
    }
    let options = with_tls(|tls| {
        tls.certificate = files(&folder.0, "default");
        tls.sni = pairs;
    });
    let server = Running::start(options, open(Router::new()));
    let leaf = served(server.address, name).await.remove(0);
    let at = certificates
        .iter()
        .position(|certificate| *certificate == leaf)
        .unwrap();
    assert_eq!(isize::try_from(at).unwrap() - 1, expected, "{case}");
}

#[rstest]
#[case::default("", &[], "1.2 1.3")]
#[case::only_13("VersionTLS13", &[], "1.3")]
#[case::suites_of_13("", &["TLS_AES_128_GCM_SHA256"], "1.3")]
#[case::suite_the_client_has("", &["TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"], "1.2 1.3")]
#[case::suite_that_does_not_fit_the_key("", &["TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"], "1.3")]
#[tokio::test]
async fn offers_tls_versions(#[case] min_version: &str, #[case] ciphers: &[&str], #[case] expected: &str) {
    let ciphers: Vec<_> = ciphers.iter().map(|name| (*name).to_owned()).collect();
    let profile = Profile::parse(min_version, &ciphers, &[]).unwrap();
    let server = Running::start(with_tls(|tls| tls.profile = profile), open(Router::new()));
    let mut spoken = Vec::new();
    for (name, version) in [("1.2", &rustls::version::TLS12), ("1.3", &rustls::version::TLS13)] {
        let connected = connect_with(server.address, "localhost", ring::default_provider(), &[version]).await;
        spoken.extend(connected.is_ok().then_some(name));
    }
    assert_eq!(spoken.join(" "), expected);
}

#[tokio::test]
async fn offers_the_configured_curves() {
    let profile = Profile::parse("", &[], &[24]).unwrap();
    let server = Running::start(with_tls(|tls| tls.profile = profile), open(Router::new()));
    for (group, expected) in [(ring::kx_group::SECP384R1, true), (ring::kx_group::X25519, false)] {
        let provider = CryptoProvider {
            kx_groups: vec![group],
            ..ring::default_provider()
        };
        let connected = connect_with(server.address, "localhost", provider, rustls::DEFAULT_VERSIONS).await;
        assert_eq!(connected.is_ok(), expected, "{group:?}");
    }
}

#[rstest]
#[case::two(Http2::On { streams: 100 }, Version::HTTP_2)]
#[case::one(Http2::Off, Version::HTTP_11)]
#[tokio::test]
async fn offers_http(#[case] http2: Http2, #[case] expected: Version) {
    let server = Running::start(with_tls(|tls| tls.http2 = http2), open(Router::new()));
    let response = client().get(server.url("/")).send().await.unwrap();
    assert_eq!(response.version(), expected);
    assert_eq!(response.text().await.unwrap(), "ok");
}

#[tokio::test]
async fn listens_in_both_families_by_default() {
    let everywhere = Options {
        address: Ipv4Addr::UNSPECIFIED.into(),
        ..options()
    };
    let server = Running::start(everywhere, open(Router::new()));
    assert_eq!(server.status("/").await, 200);
    let has_six = std::net::TcpListener::bind("[::1]:0").is_ok();
    let url = format!("https://[::1]:{}/", server.address.port());
    assert_eq!(client().get(url).send().await.is_ok(), has_six);

    let only_four = Running::start(options(), open(Router::new()));
    let url = format!("https://[::1]:{}/", only_four.address.port());
    assert!(client().get(url).send().await.is_err());
}

#[tokio::test]
async fn a_port_can_be_shared() {
    let shared = |port| Options {
        sharing: Sharing::Shared,
        port,
        ..options()
    };
    let first = Running::start(shared(0), open(Router::new()));
    let port = first.address.port();
    let second = Running::start(shared(port), open(Router::new()));
    assert_eq!(second.address.port(), port);

    let alone = Running::try_start(Options { port, ..options() }, open(Router::new()));
    let text = crate::logging::chain(&alone.err().unwrap()).to_string();
    assert!(
        text.starts_with(&format!("cannot listen on 127.0.0.1:{port}: Address already in use")),
        "{text}"
    );
}

#[tokio::test]
async fn a_port_can_be_used_again_at_once() {
    let server = Running::start(options(), open(Router::new()));
    let port = server.address.port();
    assert_eq!(server.status("/").await, 200);
    server.stop().await;
    assert_eq!(
        Running::start(Options { port, ..options() }, open(Router::new()))
            .status("/")
            .await,
        200
    );
}

#[tokio::test]
async fn the_access_log_names_the_user_agent_if_there_is_one() {
    let (log, _guard) = Log::start();
    let server = Running::start(options(), open(Router::new()));
    assert_eq!(server.status("/").await, 200);
    log.until("user_agent=\"\" ").await;
    let named = client().get(server.url("/")).header("User-Agent", "curl/8.0").send();
    assert_eq!(named.await.unwrap().status(), 200);
    log.until("user_agent=\"curl/8.0\" ").await;
}

#[tokio::test]
async fn a_port_without_tls_answers_probes_and_nothing_else() {
    let checks = crate::health::Checks::new(crate::metrics::Slis::new().unwrap());
    checks.add("never", crate::health::Scope::Ready, || Err("not yet".to_owned()));
    let chain = Chain::open(health_endpoints(&checks));
    let server = Server::bind_plain((Ipv4Addr::LOCALHOST, 0).into(), chain).unwrap();
    let (address, stop) = (server.local_addr(), CancellationToken::new());
    let running = tokio::spawn(server.run(stop.clone()));
    for (path, status) in [("healthz", 200), ("readyz", 500), ("metrics", 404)] {
        let answer = client().get(format!("http://{address}/{path}")).send().await.unwrap();
        assert_eq!(answer.status().as_u16(), status, "{path}");
    }
    stop.cancel();
    running.await.unwrap();
}
