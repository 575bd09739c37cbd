//! Credentials that run out.

use crate::{
    MS, Subject, config, kind,
    server::{Reply, Seen, Server},
};
use cloud::Error;
use cloud_http::{Auth, Authorized, Credentials, Request, http};
use rstest::rstest;
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};
use tokio::sync::Barrier;

/// Tokens are numbered; the number is how many logins there were.
#[derive(Clone, Default)]
struct Login {
    logins: Arc<AtomicUsize>,
    slow: Duration,
    fails: Option<fn() -> Error>,
}

#[async_trait::async_trait]
impl Auth for Login {
    async fn authorize(&self, request: &mut http::Request<bytes::Bytes>) -> cloud::Result<Authorized> {
        let token = match self.logins.load(SeqCst) {
            0 => return Ok(Authorized::Stale),
            login => format!("token-{login}"),
        };
        request.headers_mut().insert("x-auth-token", token.parse().unwrap());
        Ok(Authorized::Ready)
    }

    async fn refresh(&self) -> cloud::Result<()> {
        tokio::time::sleep(self.slow).await;
        self.logins.fetch_add(1, SeqCst);
        self.fails.map_or(Ok(()), |error| Err(error()))
    }
}

impl Login {
    /// As after a first login.
    fn with_a_token() -> Self {
        Self {
            logins: Arc::new(AtomicUsize::new(1)),
            ..Self::default()
        }
    }

    fn count(&self) -> usize {
        self.logins.load(SeqCst)
    }
}

fn token(seen: &Seen) -> &str {
    seen.header("x-auth-token").unwrap()
}

#[tokio::test]
async fn twenty_refusals_cause_one_login() {
    let barrier = Arc::new(Barrier::new(20));
    let server = Server::start(move |seen| {
        let barrier = Arc::clone(&barrier);
        async move {
            if token(&seen) == "token-1" {
                barrier.wait().await;
                return Reply::json(401, "{}");
            }
            Reply::json(200, "1")
        }
    })
    .await;
    let login = Login {
        slow: 20 * MS,
        ..Login::with_a_token()
    };
    let client = Subject::new(&config())
        .client
        .with_credentials(Credentials::new(login.clone()));
    let call = || client.send_json::<u8>(Request::post("try_it", &Server::url(&server)));
    let answers = futures::future::try_join_all((0..20).map(|_| call())).await.unwrap();
    assert_eq!(answers, [1; 20]);
    assert_eq!((login.count(), server.count()), (2, 40));
}

#[tokio::test]
async fn concurrent_first_calls_share_one_login() {
    let server = Server::script(vec![Reply::status(200)]).await;
    let login = Login {
        slow: 20 * MS,
        ..Login::default()
    };
    let client = Subject::new(&config())
        .client
        .with_credentials(Credentials::new(login.clone()));
    let call = || client.send(Request::get("try_it", &Server::url(&server)));
    futures::future::try_join_all((0..20).map(|_| call())).await.unwrap();
    assert_eq!((login.count(), server.count()), (1, 20));
}

#[tokio::test]
async fn a_late_refusal_of_an_old_token_causes_no_login() {
    let late = Arc::new(Barrier::new(2));
    let hold = Arc::clone(&late);
    let server = Server::start(move |seen| {
        let hold = Arc::clone(&hold);
        async move {
            match (token(&seen), &*seen.target) {
                ("token-1", "/late") => {
                    hold.wait().await;
                    Reply::json(401, "{}")
                }
                ("token-1", _) => Reply::json(401, "{}"),
                _ => Reply::json(200, "1"),
            }
        }
    })
    .await;
    let login = Login::with_a_token();
    let client = Subject::new(&config())
        .client
        .with_credentials(Credentials::new(login.clone()));
    let slow = client.send(Request::get("try_it", &server.url()).path(["late"]));
    let fast = async {
        client.send(Request::get("try_it", &server.url())).await.unwrap();
        assert_eq!(login.count(), 2);
        late.wait().await;
    };
    let (slow, ()) = tokio::join!(slow, fast);
    slow.unwrap();
    assert_eq!(login.count(), 2);
}

#[tokio::test]
async fn a_new_token_that_is_refused_too_is_the_end() {
    let server = Server::script(vec![Reply::json(401, r#"{"m": "no"}"#)]).await;
    let login = Login::with_a_token();
    let client = Subject::new(&config())
        .client
        .with_credentials(Credentials::new(login.clone()));
    let error = client.send(Request::get("try_it", &server.url())).await.unwrap_err();
    assert_eq!((kind(&error), login.count(), server.count()), ("denied", 2, 2));
}

/// Not every cloud answers 401.
#[rstest]
#[case::expired(Reply::json(400, r#"{"code": "ExpiredToken"}"#), 2)]
#[case::something_else(Reply::json(400, r#"{"code": "Malformed"}"#), 1)]
#[case::plain_401(Reply::json(401, "{}"), 1)]
#[tokio::test]
async fn a_provider_can_recognise_a_stale_credential(#[case] refusal: Reply, #[case] logins: usize) {
    let server = Server::script(vec![refusal, Reply::json(200, "1")]).await;
    let login = Login::with_a_token();
    let client = Subject::new(&config())
        .client
        .with_credentials(Credentials::new(login.clone()))
        .expiring(|failure| failure.text().contains("ExpiredToken"));
    let answer = client.send_json::<u8>(Request::post("try_it", &server.url())).await;
    assert_eq!(
        (answer.is_ok(), login.count(), server.count()),
        (logins == 2, logins, logins)
    );
}

#[tokio::test]
async fn missing_is_recognised_after_a_new_login() {
    let server = Server::script(vec![Reply::json(401, "{}"), Reply::json(404, r#"{"m": "no"}"#)]).await;
    let client = Subject::new(&config())
        .client
        .with_credentials(Credentials::new(Login::with_a_token()));
    let found = client.find(Request::get("get_thing", &server.url())).await.unwrap();
    assert!(found.is_none());
}

/// A failed login never means that the object is missing or the request invalid.
#[rstest]
#[case::denied(|| Error::Denied { call: "log in".into(), source: "wrong password".into() }, "denied")]
#[case::unavailable(|| Error::unavailable("log in", "wrong password"), "unavailable")]
#[case::throttled(|| Error::Throttled { call: "log in".into(), retry_after: None }, "throttled")]
#[case::not_found(|| Error::NotFound { what: "wrong password".into() }, "denied")]
#[case::invalid(|| Error::invalid("user", "wrong password"), "denied")]
#[tokio::test]
async fn a_failed_login_fails_all_waiting_callers(#[case] fails: fn() -> Error, #[case] expected: &str) {
    let server = Server::script(vec![Reply::json(200, "1")]).await;
    let login = Login {
        fails: Some(fails),
        slow: 20 * MS,
        ..Login::default()
    };
    let client = Subject::new(&config())
        .client
        .with_credentials(Credentials::new(login.clone()));
    let call = || client.find_json::<u8>(Request::get("get_thing", &Server::url(&server)));
    for answer in futures::future::join_all((0..5).map(|_| call())).await {
        let error = answer.unwrap_err();
        assert_eq!(kind(&error), expected);
        assert!(
            expected == "throttled" || error.report().contains("wrong password"),
            "{}",
            error.report()
        );
    }
    assert_eq!((login.count(), server.count()), (1, 0));
}

#[tokio::test]
async fn a_login_continues_when_the_first_caller_gives_up() {
    let server = Server::script(vec![Reply::json(200, "1")]).await;
    let login = Login {
        slow: 100 * MS,
        ..Login::default()
    };
    let client = Subject::new(&config())
        .client
        .with_credentials(Credentials::new(login.clone()));
    let hasty = client.send(Request::get("try_it", &server.url()).deadline(20 * MS));
    let patient = client.send(Request::get("try_it", &server.url()));
    let (hasty, patient) = tokio::join!(hasty, patient);
    assert_eq!(kind(&hasty.unwrap_err()), "unavailable");
    patient.unwrap();
    assert_eq!((login.count(), server.count()), (1, 1));
}

#[tokio::test]
async fn a_login_without_a_waiting_call_is_cancelled() {
    let server = Server::script(vec![Reply::json(200, "1")]).await;
    let login = Login {
        slow: 50 * MS,
        ..Login::default()
    };
    let client = Subject::new(&config())
        .client
        .with_credentials(Credentials::new(login.clone()));
    client
        .send(Request::get("try_it", &server.url()).deadline(5 * MS))
        .await
        .unwrap_err();
    assert_eq!(login.count(), 0);
    client.send(Request::get("try_it", &server.url())).await.unwrap();
    assert_eq!(login.count(), 1);
}

#[tokio::test]
async fn a_user_in_the_url_is_sent_as_a_header() {
    let server = Server::script(vec![Reply::status(200)]).await;
    let mut url = server.url();
    url.set_username("me").unwrap();
    url.set_password(Some("p@ss")).unwrap();
    Subject::new(&config())
        .client
        .send(Request::get("try_it", &url))
        .await
        .unwrap();
    assert_eq!(server.seen()[0].header("authorization"), Some("Basic bWU6cEBzcw=="));
}
