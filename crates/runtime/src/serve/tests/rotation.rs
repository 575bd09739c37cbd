//! Certificates and authorities that change while the server runs.

use super::*;
use testkit::wait;

async fn until_served(server: &Running, expected: &CertificateDer<'_>) {
    wait::until("the new certificate", || async {
        let leaf = served(server.address, "localhost").await.remove(0);
        if leaf == *expected {
            Ok(())
        } else {
            Err("the old one is still served")
        }
    })
    .await;
}

#[tokio::test]
async fn a_new_certificate_is_served_and_a_broken_one_is_not() {
    let (log, _guard) = Log::start();
    let folder = Folder::new();
    let first = folder.write_pair("a", &["localhost"]);
    let mut options = options();
    options.tls.certificate = files(&folder.0, "a");
    let server = Running::start(options, open(Router::new()));
    assert_eq!(served(server.address, "localhost").await[0], first);

    let second = folder.write_pair("a", &["localhost"]);
    until_served(&server, &second).await;

    for (broken, problem) in [
        (Pair::new(&["localhost"]).certificate.pem(), "do not fit together"),
        ("nonsense".to_owned(), "the certificate for all names is empty"),
    ] {
        folder.write("a.crt", broken);
        log.until(problem).await;
        assert_eq!(served(server.address, "localhost").await[0], second);
    }
    std::fs::remove_file(folder.0.join("a.crt")).unwrap();
    log.until("cannot read").await;
    assert_eq!(
        log.count("keeping the old one"),
        3,
        "each problem is logged once:\n{}",
        log.text()
    );

    let third = folder.write_pair("a", &["localhost"]);
    until_served(&server, &third).await;
}

/// W21 of the operator: a certificate that comes late is served all the same.
#[tokio::test]
async fn a_late_certificate_replaces_the_self_signed_one() {
    let folder = Folder::new();
    let mut options = options();
    options.tls.certificate = Certificate::FilesOnceThere {
        cert: folder.0.join("late.crt"),
        key: folder.0.join("late.key"),
    };
    let server = Running::start(options, open(Router::new()));
    let own = served(server.address, "localhost").await.remove(0);
    let late = folder.write_pair("late", &["localhost"]);
    assert_ne!(own, late);
    until_served(&server, &late).await;
}

#[tokio::test]
async fn a_new_certificate_for_a_name_is_served() {
    let folder = Folder::new();
    folder.write_pair("a", &["a"]);
    let mut options = options();
    options.tls.sni = vec![
        format!("{0}/a.crt,{0}/a.key:localhost", folder.0.display())
            .parse()
            .unwrap(),
    ];
    let server = Running::start(options, open(Router::new()));
    let second = folder.write_pair("a", &["b"]);
    until_served(&server, &second).await;
}

#[tokio::test(start_paused = true)]
async fn a_certificate_of_our_own_is_replaced_before_it_expires() {
    lab::install_crypto();
    let settings = tls::Settings {
        reload: Duration::from_hours(1),
        ..options().tls
    };
    let (_trust, trust) = watch::channel(trust::Trust::default());
    let tls = Tls::load(settings, Ipv4Addr::LOCALHOST.into(), trust).unwrap();
    let now = || Arc::as_ptr(&tls.config(None, Ipv4Addr::LOCALHOST.into()));
    let first = now();
    let run = |days: u64| tokio::time::timeout(Duration::from_hours(24 * days), tls.run(CancellationToken::new()));
    run(330).await.unwrap_err();
    assert_eq!(now(), first);
    run(10).await.unwrap_err();
    assert_ne!(now(), first);
}

#[tokio::test]
async fn authorities_are_exchanged_on_old_connections_too() {
    let (log, _guard) = Log::start();
    let folder = Folder::new();
    let (old, new) = (Authority::new("old"), Authority::new("new"));
    let path = folder.write("ca.crt", old.pem());
    let identify = authn::Options {
        client_ca_file: Some(path),
        lookup: authn::Lookup::Skip,
        reload: Duration::from_millis(20),
        ..authn::Options::default()
    };
    let server = Running::start(options(), |metrics| {
        guarded(identify, authz::Options::default(), metrics)
    });
    let keeping = |identity| {
        client_builder()
            .http1_only()
            .pool_max_idle_per_host(1)
            .identity(identity)
            .build()
            .unwrap()
    };
    let as_old = keeping(old.client("bob", &["system:masters"]));
    let as_new = keeping(new.client("eve", &["system:masters"]));
    let status = |client: &reqwest::Client| {
        let request = client.get(server.url("/")).send();
        async move { request.await.unwrap().status().as_u16() }
    };
    assert_eq!(status(&as_old).await, 200);
    assert_eq!(status(&as_new).await, 401);

    folder.write("ca.crt", "nonsense");
    log.until("keeping the old ones").await;
    assert_eq!(status(&as_old).await, 200);

    folder.write("ca.crt", old.pem() + &new.pem());
    wait::until("the new authority", || async {
        let status = status(&as_new).await;
        if status == 200 { Ok(()) } else { Err(status) }
    })
    .await;

    folder.write("ca.crt", new.pem());
    wait::until("the old authority to be forgotten", || async {
        let status = status(&as_old).await;
        if status == 401 { Ok(()) } else { Err(status) }
    })
    .await;
    assert_eq!(status(&as_new).await, 200);
}

/// Signs the certificates of clients.
pub(super) struct Authority(rcgen::CertifiedIssuer<'static, rcgen::KeyPair>);

impl Authority {
    pub(super) fn new(name: &str) -> Self {
        let mut params = rcgen::CertificateParams::default();
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        Self(rcgen::CertifiedIssuer::self_signed(params, rcgen::KeyPair::generate().unwrap()).unwrap())
    }

    pub(super) fn pem(&self) -> String {
        self.0.pem()
    }

    pub(super) fn client(&self, user: &str, groups: &[&str]) -> reqwest::Identity {
        let mut params = rcgen::CertificateParams::default();
        params.distinguished_name.push(rcgen::DnType::CommonName, user);
        for group in groups {
            params.distinguished_name.push(rcgen::DnType::OrganizationName, *group);
        }
        params.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ClientAuth];
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        reqwest::Identity::from_pem((certificate.pem() + &key.serialize_pem()).as_bytes()).unwrap()
    }
}

pub(super) fn guarded(identify: authn::Options, permit: authz::Options, metrics: &Metrics) -> Chain {
    let name = async |request: axum::extract::Request| {
        let has = |name| request.headers().contains_key(name);
        let name = request.extensions().get::<User>().map(|user| user.name.clone());
        let text = if has("authorization") || has("x-remote-user") {
            "the request still has credentials".to_owned()
        } else {
            name.unwrap_or_default()
        };
        response::text(http::StatusCode::OK, text)
    };
    let endpoints = Router::new().route("/", any(name)).route("/{*path}", any(name));
    let authenticator = authn::Authenticator::new(identify, metrics.clone()).unwrap();
    let authorizer = authz::Authorizer::new(permit, metrics.clone()).unwrap();
    Chain::guarded(endpoints, authenticator, authorizer)
}
