//! Login, renewal, and a change of credentials, on the simulation.

use crate::fixture::{Fixture, PASSWORD, context, context_in, open};
use cloud::{Detail, Error, NodeRef, Provider as _};
use futures::future::join_all;
use openstack::{
    config::{Config, Credential, Domain, Global, Interface, Method, Scope, User, Verification},
    provider::Provider,
};
use openstack_sim::{Cloud, Endpoint, Fault, Service, Sim};
use prometheus::Registry;
use rstest::rstest;
use std::time::{Duration, Instant};

async fn look(provider: &Provider) -> cloud::Result<cloud::Answer> {
    provider
        .instances()
        .describe(&[NodeRef::named("node-1")], Detail::Full)
        .await
        .remove(0)
}

fn named_demo() -> User {
    User::Name {
        name: "demo".to_owned(),
        domain: Some(Domain::Id("default".to_owned())),
    }
}

fn password(user: User) -> Method {
    Method::Password {
        user,
        password: PASSWORD.into(),
    }
}

#[derive(Clone, Copy)]
enum Means {
    PasswordById,
    PasswordByName,
    DomainByName,
    CredentialById,
    CredentialByName,
    CredentialByNames,
    Token,
    Trust,
}

async fn log_in_by(means: Means, cloud: &Cloud, sim: &Sim, global: &mut Global) {
    let user = User::Id(cloud.user_id("demo").expect("it is there"));
    let project = Scope::ProjectId(cloud.project_id("demo").expect("it is there"));
    let credential = || cloud.add_application_credential("demo", "ccm").expect("it is there");
    (global.method, global.scope) = match means {
        Means::PasswordById => (password(user), project),
        Means::PasswordByName => (password(named_demo()), global.scope.clone()),
        Means::DomainByName => {
            let domain = Some(Domain::Name("Default".to_owned()));
            let user = User::Name {
                name: "demo".to_owned(),
                domain: domain.clone(),
            };
            let name = "demo".to_owned();
            (password(user), Scope::ProjectName { name, domain })
        }
        Means::CredentialById => {
            let made = credential();
            let credential = Credential::Id(made.id);
            let secret = made.secret.into();
            (Method::ApplicationCredential { credential, secret }, Scope::None)
        }
        Means::CredentialByName | Means::CredentialByNames => {
            let secret = credential().secret.into();
            let user = if matches!(means, Means::CredentialByName) {
                user
            } else {
                named_demo()
            };
            let credential = Credential::Name {
                name: "ccm".to_owned(),
                user,
            };
            (Method::ApplicationCredential { credential, secret }, Scope::None)
        }
        Means::Token => (Method::Token(a_token(sim).await.into()), project),
        Means::Trust => {
            let trust = cloud.add_trust("demo", "admin").expect("it is there");
            let trustee = User::Id(cloud.user_id("admin").expect("it is there"));
            (password(trustee), Scope::Trust(trust))
        }
    };
}

/// A token from another session.
async fn a_token(sim: &Sim) -> String {
    let client = cloud_http::Client::new(
        &cloud_http::Config::default(),
        open(),
        &cloud_http::Metrics::register(&Registry::new()).expect("it is there"),
    )
    .expect("it is there");
    let body = serde_json::json!({"auth": {
        "identity": {"methods": ["password"], "password": {"user": {"name": "demo", "domain": {"id": "default"}, "password": PASSWORD}}},
    }});
    let url = cloud_http::Url::parse(&sim.auth_url()).expect("it is there");
    let request = cloud_http::Request::post("token_create", &url)
        .path(["auth", "tokens"])
        .json(&body);
    let response = client.send(request).await.expect("it is there");
    response.header("x-subject-token").expect("it is there").to_owned()
}

#[rstest]
#[case::password_by_id(Means::PasswordById)]
#[case::password_by_name(Means::PasswordByName)]
#[case::domain_by_name(Means::DomainByName)]
#[case::credential_by_id(Means::CredentialById)]
#[case::credential_by_name_and_user_id(Means::CredentialByName)]
#[case::credential_by_name_and_user_name(Means::CredentialByNames)]
#[case::token(Means::Token)]
#[case::trust(Means::Trust)]
#[tokio::test]
async fn logs_in(#[case] means: Means) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let cloud = Cloud::new();
    cloud.boot("node-1");
    let sim = Sim::start(&cloud).await.unwrap();
    let mut config = crate::fixture::config(&sim.auth_url(), "demo", "");
    log_in_by(means, &cloud, &sim, &mut config.global).await;
    let provider = Provider::new(config, context(open())).unwrap();
    let answer = look(&provider)
        .await
        .unwrap_or_else(|error| panic!("{}", error.report()));
    assert!(answer.found().is_some());
}

#[rstest]
#[case::with_version("/identity/v3", 0)]
#[case::without_version("/identity", 1)]
#[case::with_an_old_version("/identity/v2.0", 1)]
#[tokio::test]
async fn finds_keystone(#[case] path: &str, #[case] asked: usize) {
    let fixture = Fixture::new().await;
    fixture.cloud.boot("node-1");
    let mut config = fixture.config.clone();
    config.global.auth_url = format!("{}{path}", fixture.sim.url());
    let provider = Provider::new(config, context(open())).unwrap();
    let mark = fixture.cloud.mark();
    assert!(look(&provider).await.unwrap().found().is_some());
    fixture.cloud.revoke_tokens();
    assert!(look(&provider).await.unwrap().found().is_some());
    let versions = fixture
        .cloud
        .calls_since(mark)
        .into_iter()
        .filter(|call| call.operation == "version_list");
    assert_eq!(versions.count(), asked);
}

#[rstest]
#[case::wrong_password(|global: &mut Global| global.method = Method::Password { user: named_demo(), password: "s3cr3t-wrong".into() },
    &["does not accept user \"demo\"", "check the password"])]
#[case::wrong_region(|global: &mut Global| global.region = "Atlantis".to_owned(), &["region \"Atlantis\"", "there are RegionOne"])]
#[case::wrong_interface(|global: &mut Global| global.interface = Interface::Admin, &["no admin endpoint"])]
#[case::no_project(|global: &mut Global| global.scope = Scope::None, &["set tenant-id"])]
#[case::wrong_path(|global: &mut Global| global.auth_url = global.auth_url.replace("/identity/v3", "/nothing/v3"),
    &["there is no Keystone at", "check auth-url"])]
#[case::deleted_credential(|global: &mut Global| {
        let credential = Credential::Id("0123".to_owned());
        (global.method, global.scope) = (Method::ApplicationCredential { credential, secret: "s3cr3t".into() }, Scope::None);
    }, &["does not accept application credential 0123", "neither deleted nor expired"])]
#[case::no_url(|global: &mut Global| global.auth_url = String::new(), &["auth-url"])]
#[tokio::test]
async fn errors_name_the_correction(#[case] change: fn(&mut Global), #[case] words: &[&str]) {
    let cloud = Cloud::new();
    cloud.clear_default_project("demo");
    let public = |endpoint: &Endpoint| endpoint.interface == "public";
    let fixture = Fixture::on(cloud, |config| change(&mut config.global)).await;
    fixture
        .cloud
        .set_endpoints(fixture.cloud.endpoints().into_iter().filter(public).collect());
    let error = look(&fixture.provider).await.unwrap_err();
    let text = format!("{} {error:?}", error.report());
    for word in words {
        assert!(error.report().contains(word), "{}", error.report());
    }
    assert!(!text.contains("s3cr3t") && !text.contains(PASSWORD), "{text}");
}

#[tokio::test]
async fn a_missing_service_is_named_with_the_existing_ones() {
    let fixture = Fixture::new().await;
    fixture.cloud.remove_service(Service::Nova);
    let error = look(&fixture.provider).await.unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("no compute endpoint; it has") && text.contains("network"),
        "{text}"
    );
}

// upstream: openstack 65
#[rstest]
#[case("token expiry mid-reconcile: 401 → one re-auth → 404 afterwards recognised")]
#[tokio::test]
async fn expired(#[case] what: &str) {
    let fixture = Fixture::new().await;
    let server = fixture.cloud.boot("node-1");
    let node = NodeRef::named("node-1").with_provider_id(format!("openstack:///{}", server.id));
    let ask = || async {
        let answers = fixture
            .provider
            .instances()
            .describe(std::slice::from_ref(&node), Detail::Liveness)
            .await;
        answers.into_iter().next().unwrap()
    };
    assert!(matches!(ask().await, Ok(cloud::Answer::Found(_))));
    fixture.cloud.delete_server(server.id);
    fixture.cloud.revoke_tokens();
    let mark = fixture.cloud.mark();
    assert!(matches!(ask().await, Ok(cloud::Answer::Missing)));
    assert_eq!(fixture.calls(mark), "2 server_get, 1 token_create", "{what}");
}

#[tokio::test]
async fn concurrent_refusals_cause_one_login() {
    let fixture = Fixture::new().await;
    fixture.cloud.boot("node-1");
    look(&fixture.provider).await.unwrap();
    fixture.cloud.revoke_tokens();
    fixture.cloud.inject(Fault::delay(Duration::from_millis(50)));
    let before = fixture.cloud.count("token_create");
    let answers = join_all((0..30).map(|_| look(&fixture.provider))).await;
    assert!(
        answers
            .iter()
            .all(|answer| matches!(answer, Ok(cloud::Answer::Found(_))))
    );
    assert_eq!(fixture.cloud.count("token_create") - before, 1);
}

#[tokio::test]
async fn many_first_calls_are_one_login() {
    let fixture = Fixture::new().await;
    fixture.cloud.boot("node-1");
    join_all((0..30).map(|_| look(&fixture.provider))).await;
    assert_eq!(fixture.cloud.count("token_create"), 1);
}

#[tokio::test]
async fn a_token_is_replaced_before_it_ends() {
    let fixture = Fixture::new().await;
    fixture.cloud.boot("node-1");
    fixture.cloud.set_token_lifetime(Duration::from_secs(3));
    let mark = fixture.cloud.mark();
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(5) {
        assert!(look(&fixture.provider).await.is_ok());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let refused = fixture
        .cloud
        .calls_since(mark)
        .into_iter()
        .filter(|call| call.status == Some(401));
    assert_eq!(refused.count(), 0);
    assert!(fixture.cloud.count("token_create") >= 2);
}

/// Only the compute service moves: a new login finds its new URL.
#[tokio::test]
async fn the_catalog_is_read_with_each_login() {
    let fixture = Fixture::new().await;
    fixture.cloud.boot("node-1");
    let (old, new) = (
        Sim::start(&fixture.cloud).await.unwrap(),
        Sim::start(&fixture.cloud).await.unwrap(),
    );
    compute_is_at(&fixture.cloud, &old.url());
    look(&fixture.provider).await.unwrap();
    compute_is_at(&fixture.cloud, &new.url());
    assert!(look(&fixture.provider).await.unwrap().found().is_some());
    let before = fixture.cloud.count("token_create");
    // The old endpoint rejects the token, which leads to another login; then it is removed.
    fixture.cloud.revoke_tokens();
    assert!(look(&fixture.provider).await.unwrap().found().is_some());
    assert_eq!(fixture.cloud.count("token_create"), before + 1);
    drop(old);
    assert!(look(&fixture.provider).await.unwrap().found().is_some());
    drop(new);
    assert!(look(&fixture.provider).await.is_err(), "the old server answered");
}

/// Sets the URL of the compute service only.
fn compute_is_at(cloud: &Cloud, url: &str) {
    let mut endpoints = cloud.endpoints();
    endpoints.retain(|endpoint| endpoint.kind != "compute");
    cloud.set_endpoints(Vec::new());
    cloud.add_endpoints("RegionOne", url);
    let moved = cloud.endpoints().into_iter();
    endpoints.extend(moved.filter(|endpoint| endpoint.kind == "compute"));
    cloud.set_endpoints(endpoints);
}

// upstream: openstack 66
#[rstest]
#[case("429 with Retry-After")]
#[tokio::test]
async fn throttled(#[case] what: &str) {
    let fixture = Fixture::new().await;
    fixture.cloud.boot("node-1");
    fixture.provider.authenticate().await.unwrap();
    fixture
        .cloud
        .inject(Fault::status(429).retry_after("1").operation("server_list").times(1));
    let began = Instant::now();
    assert!(look(&fixture.provider).await.unwrap().found().is_some());
    assert!(began.elapsed() >= Duration::from_secs(1), "{what}");

    fixture
        .cloud
        .inject(Fault::status(429).retry_after("90").operation("server_list"));
    let began = Instant::now();
    let error = look(&fixture.provider).await.unwrap_err();
    assert!(began.elapsed() < Duration::from_mins(1), "no worker sleeps that long");
    let wait = Some(Duration::from_secs(90));
    assert!(
        matches!(error, Error::Throttled { retry_after, .. } if retry_after == wait),
        "{error:?}"
    );
}

/// Whatever fails once during a login: it is an error or retried, and never a missing machine.
#[rstest]
#[case::unauthorized(|| Fault::status(401))]
#[case::forbidden(|| Fault::status(403))]
#[case::not_found(|| Fault::status(404))]
#[case::conflict(|| Fault::status(409))]
#[case::throttled(|| Fault::status(429).retry_after("0"))]
#[case::error(|| Fault::status(500))]
#[case::unavailable(|| Fault::status(503))]
#[case::hanging(Fault::hang)]
#[case::truncated(Fault::truncate)]
#[case::lost(Fault::lose_answer)]
#[case::reset(Fault::reset)]
#[tokio::test]
async fn retries_after_any_failure_of_a_login(
    #[case] fault: fn() -> Fault,
    #[values("token_create", "version_list")] call: &str,
) {
    let fixture = Fixture::on(Cloud::new(), |config| {
        // Without its version, so that it is discovered.
        let root = config.global.auth_url.trim_end_matches("/v3").to_owned();
        config.global.auth_url = root;
        config.request_timeout = Duration::from_millis(500);
    })
    .await;
    fixture.cloud.boot("node-1");
    let fault = fault().service(Service::Keystone).operation(call).times(1);
    let fault = fixture.cloud.inject(fault);
    let began = Instant::now();
    loop {
        match look(&fixture.provider).await {
            Ok(answer) => {
                assert!(answer.found().is_some(), "it was never missing");
                break;
            }
            Err(error) => {
                assert!(!matches!(error, Error::NotFound { .. }), "{error:?}");
                assert!(!format!("{error:?}").contains(PASSWORD), "{error:?}");
            }
        }
        assert!(began.elapsed() < Duration::from_mins(4), "not even once it works again");
        // Rejected credentials are not retried at once.
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(fixture.cloud.struck(fault), 1);
}

/// A login has a deadline, too.
#[tokio::test]
async fn a_request_to_keystone_times_out() {
    let fixture = Fixture::on(Cloud::new(), |config| {
        config.request_timeout = Duration::from_millis(300);
    })
    .await;
    fixture.cloud.inject(Fault::hang().service(Service::Keystone));
    let began = Instant::now();
    assert!(matches!(
        fixture.provider.authenticate().await,
        Err(Error::Unavailable { .. })
    ));
    assert!(matches!(look(&fixture.provider).await, Err(Error::Unavailable { .. })));
    // Without a deadline of its own a request has 30 s.
    assert!(began.elapsed() < Duration::from_secs(25));
}

#[tokio::test]
async fn other_credentials_are_used_only_if_they_work() {
    let cloud = Cloud::new();
    cloud.boot("node-1");
    let sim = Sim::start(&cloud).await.unwrap();
    let registry = Registry::new();
    let config = crate::fixture::config(&sim.auth_url(), "demo", "");
    let provider = Provider::new(config.clone(), context_in(&registry, open())).unwrap();
    look(&provider).await.unwrap();

    let mut wrong = config.clone();
    wrong.global.method = Method::Password {
        user: named_demo(),
        password: "wrong".into(),
    };
    let error = provider.reconfigure(wrong).await.unwrap_err();
    assert!(matches!(error, Error::Denied { .. }), "{error:?}");
    assert!(look(&provider).await.unwrap().found().is_some());

    cloud.set_password("demo", "rotated");
    cloud.revoke_tokens();
    assert!(matches!(look(&provider).await, Err(Error::Denied { .. })));
    provider.refused().await;
    let mut right = config.clone();
    right.global.method = Method::Password {
        user: named_demo(),
        password: "rotated".into(),
    };
    right.router_id = Some("r".to_owned());
    assert!(provider.routes().is_none());
    provider.reconfigure(right).await.unwrap();
    assert!(look(&provider).await.unwrap().found().is_some());
    assert!(provider.routes().is_some());
}

/// How a configuration differs from the one in use.
#[derive(Debug, Clone, Copy)]
enum Other {
    User,
    ApplicationCredential,
    NamedRegion,
    Project,
    Region,
}

impl Other {
    fn config(self, cloud: &Cloud, sim: &Sim) -> Config {
        let mut config = crate::fixture::config(&sim.auth_url(), "demo", "");
        match self {
            Self::User => {
                let project = cloud.project_id("demo").expect("it is there");
                let user = cloud.add_user("deputy", PASSWORD, "default", &project);
                config.global.method = password(User::Id(user));
            }
            Self::ApplicationCredential => {
                let made = cloud.add_application_credential("demo", "ccm").expect("it is there");
                config.global.method = Method::ApplicationCredential {
                    credential: Credential::Id(made.id),
                    secret: made.secret.into(),
                };
                config.global.scope = Scope::None;
            }
            Self::NamedRegion => config.global.region = "RegionOne".into(),
            Self::Project => config = crate::fixture::config(&sim.auth_url(), "admin", ""),
            Self::Region => config.global.region = "RegionTwo".into(),
        }
        config
    }
}

/// The history of the configuration in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Past {
    Works,
    /// The password is changed in Keystone.
    Worked,
    NeverWorked,
}

#[rstest]
#[case::user(Other::User, Past::Works, "")]
#[case::application_credential(Other::ApplicationCredential, Past::Worked, "")]
#[case::the_region_in_use_by_name(Other::NamedRegion, Past::Works, "")]
#[case::project(Other::Project, Past::Works, "restart the manager if you mean it")]
#[case::project_of_late(Other::Project, Past::Worked, "restart the manager if you mean it")]
#[case::region(
    Other::Region,
    Past::Works,
    "is for region RegionTwo, and the running one is for region RegionOne"
)]
#[case::project_at_first(Other::Project, Past::NeverWorked, "")]
#[case::region_at_first(Other::Region, Past::NeverWorked, "")]
#[tokio::test]
async fn project_and_region_cannot_change(#[case] other: Other, #[case] past: Past, #[case] refusal: &str) {
    let fixture = Fixture::new().await;
    fixture.cloud.add_endpoints("RegionTwo", &fixture.sim.url());
    fixture.cloud.boot("node-1");
    if past != Past::NeverWorked {
        look(&fixture.provider).await.unwrap();
    }
    let other = other.config(&fixture.cloud, &fixture.sim);
    if past == Past::Worked {
        fixture.cloud.set_password("demo", "rotated");
        fixture.cloud.revoke_tokens();
        look(&fixture.provider).await.unwrap_err();
    }
    let answer = fixture.provider.reconfigure(other).await;
    let message = answer.err().map(|error| error.report()).unwrap_or_default();
    assert!(
        message.contains(refusal) && message.is_empty() == refusal.is_empty(),
        "{message}"
    );
    if past == Past::Works {
        assert!(look(&fixture.provider).await.unwrap().found().is_some());
    }
}

#[tokio::test]
async fn every_call_is_counted_under_occms_names() {
    let cloud = Cloud::new();
    let server = cloud.boot("node-1");
    let sim = Sim::start(&cloud).await.unwrap();
    let registry = Registry::new();
    let config = crate::fixture::config(&sim.auth_url(), "demo", "");
    let provider = Provider::new(config, context_in(&registry, open())).unwrap();
    let node = NodeRef::named("node-1").with_provider_id(format!("openstack:///{}", server.id));
    provider.instances().describe(&[node], Detail::Full).await;
    look(&provider).await.unwrap();
    cloud.inject(Fault::status(403).operation("port_list"));
    look(&provider).await.unwrap_err();

    let count = |name: &str| -> Vec<String> {
        let family = registry
            .gather()
            .into_iter()
            .find(|family| family.name() == name)
            .unwrap();
        let one = |metric: &prometheus::proto::Metric| {
            format!("{}={}", metric.get_label()[0].value(), metric.get_counter().get_value())
        };
        family.get_metric().iter().map(one).collect()
    };
    assert_eq!(
        count("openstack_api_requests_total"),
        ["port_list=3", "server_get=1", "server_list=2", "token_create=1"]
    );
    assert_eq!(count("openstack_api_request_errors_total"), ["port_list=1"]);
}

#[tokio::test]
async fn the_user_agent_is_occms() {
    let fixture = Fixture::new().await;
    fixture.provider.authenticate().await.unwrap();
    let agent = fixture.cloud.calls().remove(0).details.agent.unwrap();
    assert!(agent.starts_with("test openstack-cloud-controller-manager/"), "{agent}");
}

#[rstest]
#[case::with_its_authority(true, Verification::On, true)]
#[case::without(false, Verification::On, false)]
#[case::not_checked(false, Verification::Off, true)]
#[tokio::test]
async fn trusts(#[case] authority: bool, #[case] verification: Verification, #[case] expected: bool) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let cloud = Cloud::new();
    let sim = Sim::start_tls(&cloud).await.unwrap();
    let mut config = crate::fixture::config(&sim.auth_url(), "demo", "");
    config.global.tls.verification = verification;
    config.global.tls.authorities = authority.then(|| sim.authority().unwrap().as_bytes().to_vec());
    let provider = Provider::new(config, context(open())).unwrap();
    let answer = provider.authenticate().await;
    assert_eq!(answer.is_ok(), expected, "{answer:?}");
}
