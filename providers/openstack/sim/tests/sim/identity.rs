//! Tokens, credentials, catalogs.

use crate::fixture::{Fixture, login, password};
use openstack_sim::{Cloud, Service, Settings, Sim};
use reqwest::{Certificate, Client};
use rstest::rstest;
use serde_json::{Value, json};
use std::time::Duration;

#[tokio::test]
async fn a_token_expires_and_is_revoked() {
    let mut fixture = Fixture::new().await;
    fixture.cloud.set_token_lifetime(Duration::from_mins(1));
    fixture.token = login(&fixture.http, &fixture.sim.auth_url(), &password("demo", "labpass"))
        .await
        .unwrap();
    assert_eq!(fixture.get(Service::Nova, "/v2.1/servers").await.0, 200);
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(61)).await;
    tokio::time::resume();
    assert_eq!(fixture.get(Service::Nova, "/v2.1/servers").await.0, 401);
    fixture.token = login(&fixture.http, &fixture.sim.auth_url(), &password("demo", "labpass"))
        .await
        .unwrap();
    assert_eq!(fixture.get(Service::Nova, "/v2.1/servers").await.0, 200);
    fixture.cloud.revoke_tokens();
    assert_eq!(fixture.get(Service::Nova, "/v2.1/servers").await.0, 401);
}

#[tokio::test]
async fn another_password_ends_the_tokens() {
    let fixture = Fixture::new().await;
    fixture.cloud.set_password("demo", "other");
    assert_eq!(fixture.get(Service::Nova, "/v2.1/servers").await.0, 401);
    assert_eq!(
        login(&fixture.http, &fixture.sim.auth_url(), &password("demo", "labpass")).await,
        Err(401)
    );
    assert!(
        login(&fixture.http, &fixture.sim.auth_url(), &password("demo", "other"))
            .await
            .is_ok()
    );
}

fn trust(id: &str) -> Value {
    let user = json!({"name": "admin", "domain": {"name": "Default"}, "password": "labpass"});
    json!({"identity": {"methods": ["password"], "password": {"user": user}}, "scope": {"OS-TRUST:trust": {"id": id}}})
}

fn credential(secret: &str, rest: &Value) -> Value {
    let mut given = json!({"secret": secret});
    for (name, value) in rest.as_object().unwrap() {
        given[name] = value.clone();
    }
    json!({"identity": {"methods": ["application_credential"], "application_credential": given}})
}

#[rstest]
#[case::by_trust("trust", true)]
#[case::by_credential_id("id", true)]
#[case::by_credential_name("name", true)]
#[case::by_a_credential_that_is_gone("gone", false)]
#[tokio::test]
async fn other_methods_of_authentication(#[case] way: &str, #[case] works: bool) {
    let fixture = Fixture::new().await;
    let made = fixture.cloud.add_application_credential("demo", "ci").unwrap();
    let auth = match way {
        "trust" => trust(&fixture.cloud.add_trust("demo", "admin").unwrap()),
        "name" => credential(
            &made.secret,
            &json!({"name": "ci", "user": {"name": "demo", "domain": {"id": "default"}}}),
        ),
        _ => credential(&made.secret, &json!({"id": made.id})),
    };
    if way == "gone" {
        fixture.cloud.remove_application_credential(&made.id);
    }
    assert_eq!(
        login(&fixture.http, &fixture.sim.auth_url(), &auth).await.is_ok(),
        works
    );
}

async fn urls(fixture: &Fixture, kind: &str) -> Vec<(String, String)> {
    let (_, body) = fixture.get(Service::Keystone, "/v3/auth/catalog").await;
    let services = body["catalog"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|service| service["type"] == kind);
    let endpoints = services.flat_map(|service| service["endpoints"].as_array().unwrap());
    let public = endpoints.filter(|endpoint| endpoint["interface"] == "public");
    public
        .map(|one| {
            (
                one["region"].as_str().unwrap().to_owned(),
                one["url"].as_str().unwrap().to_owned(),
            )
        })
        .collect()
}

#[tokio::test]
async fn regions_share_keystone_and_nothing_else() {
    let fixture = Fixture::new().await;
    let other = fixture.cloud.region(Settings::default());
    let there = Sim::start(&other).await.unwrap();
    fixture.cloud.add_endpoints("RegionTwo", &there.url());
    other.boot("elsewhere");
    let urls = urls(&fixture, "compute").await;
    assert_eq!(
        urls.iter().map(|(region, _)| region.as_str()).collect::<Vec<_>>(),
        ["RegionOne", "RegionTwo"]
    );
    let ask = |url: String| {
        fixture
            .http
            .get(format!("{url}/servers"))
            .header("X-Auth-Token", &fixture.token)
            .send()
    };
    let mut counts = Vec::new();
    for (_, url) in urls {
        let body: Value = ask(url).await.unwrap().json().await.unwrap();
        counts.push(body["servers"].as_array().unwrap().len());
    }
    assert_eq!(counts, [0, 1]);
}

#[tokio::test]
async fn a_service_can_be_missing_from_the_catalog() {
    let fixture = Fixture::new().await;
    fixture.cloud.remove_service(Service::Octavia);
    fixture.cloud.rename_region("Elsewhere");
    assert_eq!(urls(&fixture, "load-balancer").await, []);
    assert_eq!(
        urls(&fixture, "network").await,
        [("Elsewhere".to_owned(), fixture.sim.endpoint(Service::Neutron))]
    );
}

#[tokio::test]
async fn it_speaks_tls() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let cloud = Cloud::new();
    let sim = Sim::start_tls(&cloud).await.unwrap();
    let authority = Certificate::from_pem(sim.authority().unwrap().as_bytes()).unwrap();
    let http = Client::builder()
        .no_proxy()
        .tls_certs_only([authority])
        .build()
        .unwrap();
    assert!(sim.auth_url().starts_with("https://127.0.0.1"));
    assert!(
        login(&http, &sim.auth_url(), &password("demo", "labpass"))
            .await
            .is_ok()
    );
    let stranger = Client::builder().no_proxy().tls_certs_only([]).build().unwrap();
    assert!(stranger.get(sim.auth_url()).send().await.is_err());
}
