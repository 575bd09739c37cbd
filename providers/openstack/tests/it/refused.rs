//! Credentials that Keystone refuses: one login for all calls, then retries with back-off; corrected credentials are used at once.

use crate::fixture::{Fixture, PASSWORD};
use cloud::{Detail, Error, NodeRef, Provider as _};
use futures::future::join_all;
use openstack::{
    config::{Config, Credential, Method, Scope},
    provider::Provider,
};
use openstack_sim::{Cloud, Fault, Service};
use rstest::rstest;
use std::time::Duration;

/// A busy machine may be late by so many seconds; this is less than a doubled time between two logins.
const SLOW: u64 = 25;

async fn look(provider: &Provider) -> cloud::Result<cloud::Answer> {
    let node = [NodeRef::named("node-1")];
    provider.instances().describe(&node, Detail::Full).await.remove(0)
}

fn set_password(config: &mut Config, new: &str) {
    if let Method::Password { password, .. } = &mut config.global.method {
        *password = new.into();
    }
}

/// A cloud with one server, and a provider with a wrong password.
async fn refused() -> Fixture {
    let cloud = Cloud::new();
    cloud.boot("node-1");
    Fixture::on(cloud, |config| set_password(config, "s3cr3t-wrong")).await
}

/// The error, which is `Denied`, has a hint, and contains no secret.
fn denied(answer: cloud::Result<cloud::Answer>) -> String {
    let error = answer.expect_err("the password is wrong");
    assert!(matches!(error, Error::Denied { .. }), "{error:?}");
    let text = format!("{} {error:?}", error.report());
    assert!(text.contains("does not accept"), "{text}");
    assert!(!text.contains("s3cr3t") && !text.contains(PASSWORD), "{text}");
    error.report()
}

fn logins(fixture: &Fixture) -> u64 {
    fixture.cloud.count("token_create")
}

#[rstest]
#[case::unauthorized(401)]
#[case::forbidden(403)]
#[tokio::test]
async fn fifty_calls_are_one_login(#[case] status: u16) {
    let fixture = refused().await;
    let keystone = Fault::status(status).service(Service::Keystone);
    fixture.cloud.inject(keystone);
    fixture.cloud.inject(Fault::delay(Duration::from_millis(50)));
    let answers = join_all((0..50).map(|_| look(&fixture.provider))).await;
    let mut reports: Vec<_> = answers.into_iter().map(denied).collect();
    reports.dedup();
    assert_eq!(reports.len(), 1, "{reports:?}");
    assert_eq!(logins(&fixture), 1);
}

/// For Keystone, a deleted application credential does not exist: 404.
#[tokio::test]
async fn fifty_calls_with_a_deleted_credential_are_one_login() {
    let fixture = Fixture::on(Cloud::new(), |config| {
        let (credential, secret) = (Credential::Id("0123".to_owned()), "s3cr3t".into());
        config.global.method = Method::ApplicationCredential { credential, secret };
        config.global.scope = Scope::None;
    })
    .await;
    join_all((0..50).map(|_| look(&fixture.provider)))
        .await
        .into_iter()
        .for_each(|answer| drop(denied(answer)));
    assert_eq!(logins(&fixture), 1);
}

/// Calls whose token expires while they run: the services are not called with it again.
#[tokio::test]
async fn a_password_changed_in_keystone_is_one_login_too() {
    let fixture = Fixture::new().await;
    fixture.cloud.boot("node-1");
    look(&fixture.provider).await.unwrap();
    fixture.cloud.revoke_tokens();
    // Long enough, also on a busy machine.
    fixture
        .cloud
        .inject(Fault::status(401).retry_after("60").operation("token_create"));
    let before = logins(&fixture);
    join_all((0..50).map(|_| look(&fixture.provider))).await;
    denied(look(&fixture.provider).await);
    assert_eq!(logins(&fixture) - before, 1);
    let mark = fixture.cloud.mark();
    denied(look(&fixture.provider).await);
    assert_eq!(fixture.calls(mark), "");
}

/// Calls until this many logins were made; returns the seconds.
async fn seconds_of_logins(fixture: &Fixture, times: usize) -> Vec<u64> {
    let began = tokio::time::Instant::now();
    let mut seconds = Vec::new();
    while seconds.len() < times {
        let before = logins(fixture);
        let _ = look(&fixture.provider).await;
        if logins(fixture) > before {
            seconds.push(began.elapsed().as_secs());
        }
        step(Duration::from_millis(250)).await;
    }
    seconds
}

/// Advances the paused clock: a running clock would not wait for sockets.
async fn step(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

#[tokio::test]
async fn logins_are_retried_with_back_off() {
    let fixture = refused().await;
    let seconds = seconds_of_logins(&fixture, 9).await;
    let gaps: Vec<u64> = seconds.windows(2).map(|pair| pair[1] - pair[0]).collect();
    for (gap, least) in gaps.iter().zip([1, 2, 4, 8, 16, 32, 60, 60]) {
        assert!((least..least + SLOW).contains(gap), "{seconds:?}");
    }
}

#[tokio::test]
async fn retry_after_of_keystone_is_respected() {
    let fixture = refused().await;
    fixture
        .cloud
        .inject(Fault::status(401).retry_after("25").service(Service::Keystone));
    let seconds = seconds_of_logins(&fixture, 2).await;
    assert!((25..25 + SLOW).contains(&(seconds[1] - seconds[0])), "{seconds:?}");
}

#[tokio::test]
async fn a_password_corrected_in_keystone_is_noticed() {
    let fixture = refused().await;
    seconds_of_logins(&fixture, 5).await;
    fixture.cloud.set_password("demo", "s3cr3t-wrong");
    denied(look(&fixture.provider).await);
    step(Duration::from_secs(61)).await;
    assert!(look(&fixture.provider).await.unwrap().found().is_some());
}

#[tokio::test]
async fn other_credentials_do_not_wait() {
    let fixture = refused().await;
    seconds_of_logins(&fixture, 5).await;
    let before = logins(&fixture);
    fixture.provider.reconfigure(fixture.config.clone()).await.unwrap_err();
    assert_eq!(logins(&fixture), before, "the same ones are not tried again");

    let mut other = fixture.config.clone();
    set_password(&mut other, "s3cr3t-also-wrong");
    fixture.provider.reconfigure(other.clone()).await.unwrap_err();
    fixture.provider.reconfigure(other).await.unwrap_err();
    assert_eq!(logins(&fixture) - before, 1, "others are tried at once, and once");

    let mut right = fixture.config.clone();
    set_password(&mut right, PASSWORD);
    fixture.provider.reconfigure(right).await.unwrap();
    assert!(look(&fixture.provider).await.unwrap().found().is_some());
    assert_eq!(logins(&fixture) - before, 2);
}

/// The configuration is read again for each refusal of Keystone, not for each call.
#[tokio::test]
async fn only_refusals_of_keystone_are_passed_on() {
    let fixture = refused().await;
    seconds_of_logins(&fixture, 5).await;
    fixture.provider.refused().await;
    denied(look(&fixture.provider).await);
    let refused = tokio::time::timeout(Duration::from_millis(100), fixture.provider.refused()).await;
    assert!(refused.is_err(), "Keystone was asked");
}
