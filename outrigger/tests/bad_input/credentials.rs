//! Credentials that the API server, or our secure port, does not accept: the process waits, reports why, and continues when they
//! are valid.

use crate::fixture::{Fixture, Manager};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD as BASE64};
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use rcgen::{KeyPair, SigningKey};
use serde_json::json;
use std::{fs, path::Path};

const DENIED: &str =
    "the API server does not accept our credentials (401 Unauthorized): renew the token or certificate";

/// It runs, is not ready, and logs this reason once.
async fn waits(manager: &Manager, reason: &str) {
    let line = manager.logged("cannot use the lease; retrying").await;
    assert!(line.contains(&format!("problem=\"{reason}\"")), "{line}");
    assert!(line.starts_with('W'), "{line}");
    manager.answers("/readyz", 500).await;
    manager.answers("/livez", 200).await;
    let warnings = manager
        .lines_with(reason)
        .into_iter()
        .filter(|line| line.starts_with('W'));
    assert_eq!(
        warnings.count(),
        2,
        "once when it happens, once for the probe:{}",
        manager.log_tail()
    );
}

fn start(fixture: &Fixture, kubeconfig: &Path) -> Manager {
    fixture
        .manager()
        .flag(&format!("--kubeconfig={}", kubeconfig.display()))
        .start()
}

#[tokio::test]
async fn authority_that_did_not_sign_the_api_server() {
    let fixture = Fixture::shared().await;
    let user = json!({"token": "any"});
    let kubeconfig = fixture.write_kubeconfig(fixture.plane().url(), &fixture.plane().pki("front-proxy-ca.crt"), &user);
    let manager = start(&fixture, &kubeconfig);
    let url = fixture.plane().url();
    let reason =
        format!("cannot connect to {url}: its certificate is not signed by the configured certificate authority");
    waits(&manager, &reason).await;
}

#[tokio::test]
async fn an_unknown_token_is_rejected() {
    let fixture = Fixture::shared().await;
    let manager = start(&fixture, &fixture.kubeconfig_with(&json!({"token": "not-a-token"})));
    waits(&manager, DENIED).await;
}

#[tokio::test]
async fn client_certificate_of_another_authority() {
    let fixture = Fixture::shared().await;
    let pki = |file| fixture.plane().pki(file);
    let user =
        json!({"client-certificate": pki("front-proxy-client.crt"), "client-key": pki("front-proxy-client.key")});
    let manager = start(&fixture, &fixture.kubeconfig_with(&user));
    waits(&manager, DENIED).await;
}

/// The file is read again: it is enough to renew the token, in time or late.
#[tokio::test]
async fn expired_token_is_replaced_without_a_restart() {
    let fixture = Fixture::shared().await;
    let (user, good) = fixture.service_account().await;
    fixture.authorise(&user).await;
    let hour = SignedDuration::from_hours(1);
    let file = fixture.folder.write("token", &token(&fixture, &user, -hour).await);
    let manager = start(&fixture, &fixture.kubeconfig_with(&json!({"tokenFile": file})));
    waits(&manager, DENIED).await;

    // The key is the API server's: in the other token only the time is wrong.
    let own = fixture.folder.write("own-token", &token(&fixture, &user, hour).await);
    let client = fixture
        .client_of(&fixture.kubeconfig_with(&json!({"tokenFile": own})))
        .await;
    client.apiserver_version().await.unwrap();

    fs::write(&file, &good).unwrap();
    manager.ready().await;
    let node = fixture.join("a").await;
    fixture.initialised(&manager, &node).await;
}

/// A token of a `ServiceAccount`, signed with the API server's key, that is valid until so long after now.
async fn token(fixture: &Fixture, user: &str, until: SignedDuration) -> String {
    let name = user.rsplit(':').next().unwrap();
    let accounts: kube::Api<k8s_openapi::api::core::v1::ServiceAccount> =
        kube::Api::default_namespaced(fixture.client.clone());
    let account = accounts.get(name).await.unwrap().metadata;
    let issuer = "https://kubernetes.default.svc";
    let (now, hours) = (Timestamp::now(), SignedDuration::from_hours(2));
    let claims = json!({
        "iss": issuer, "aud": [issuer], "sub": user,
        "iat": (now - hours).as_second(), "nbf": (now - hours).as_second(), "exp": (now + until).as_second(),
        "kubernetes.io": {"namespace": "default", "serviceaccount": {"name": name, "uid": account.uid}},
    });
    let header = json!({"alg": "ES256", "typ": "JWT"});
    let text = format!(
        "{}.{}",
        BASE64.encode(header.to_string()),
        BASE64.encode(claims.to_string())
    );
    let key = KeyPair::from_pem(&fs::read_to_string(fixture.plane().pki("sa.key")).unwrap()).unwrap();
    let signature = flat(&key.sign(text.as_bytes()).unwrap());
    format!("{text}.{}", BASE64.encode(signature))
}

/// The two numbers of an ECDSA signature in the format of JWT: 32 bytes each, instead of ASN.1.
fn flat(der: &[u8]) -> Vec<u8> {
    let mut rest = &der[2..];
    let mut flat = Vec::new();
    while let [_, length, tail @ ..] = rest {
        let (number, next) = tail.split_at(usize::from(*length));
        let digits = &number[number.len().saturating_sub(32)..];
        flat.extend(std::iter::repeat_n(0, 32 - digits.len()));
        flat.extend(digits);
        rest = next;
    }
    flat
}
