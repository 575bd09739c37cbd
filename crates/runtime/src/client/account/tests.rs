use super::*;
use http::{Method, Request, Response};
use jiff::SignedDuration;
use kube::client::Body;
use rstest::rstest;
use std::sync::{
    Mutex as StdMutex,
    atomic::{AtomicU32, Ordering},
};

#[rstest]
#[case::an_hour(3600, 2880)]
#[case::a_year(31_536_000, 25_228_800)]
#[case::our_clock_is_fast(120, 480)]
#[case::our_clock_is_very_fast(-7200, 480)]
fn renews_when_a_fifth_of_the_lifetime_is_left(#[case] lifetime: i64, #[case] after: u64) {
    let now: Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
    let expires = now + SignedDuration::from_secs(lifetime);
    assert_eq!(renew_after(expires, now), Duration::from_secs(after));
}

/// An API server that knows the account, and gives `token-1`, `token-2`, … for an hour each, unless it is broken.
#[derive(Clone, Default)]
struct Server {
    requests: Arc<AtomicU32>,
    broken: Arc<StdMutex<Broken>>,
}

#[derive(Clone, Copy, PartialEq, Default)]
enum Broken {
    #[default]
    No,
    Yes,
}

impl Server {
    fn set(&self, broken: Broken) {
        *self.broken.lock().unwrap() = broken;
    }

    fn account(&self) -> Account {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let answer = server.answer(request.method());
            async move { Ok::<_, tower::BoxError>(answer) }
        });
        Account::new(Client::new(service, "default"), "kube-system", "node-controller")
    }

    fn answer(&self, method: &Method) -> Response<Body> {
        let body = if method == Method::GET {
            serde_json::json!({"metadata": {"name": "node-controller"}})
        } else {
            let number = self.requests.fetch_add(1, Ordering::Relaxed) + 1;
            if *self.broken.lock().unwrap() == Broken::Yes {
                return Response::builder()
                    .status(500)
                    .body(Body::from(b"{}".to_vec()))
                    .unwrap();
            }
            let expires = Timestamp::now() + SignedDuration::from_hours(1);
            let status =
                serde_json::json!({"token": format!("token-{number}"), "expirationTimestamp": expires.to_string()});
            serde_json::json!({"metadata": {}, "spec": {"audiences": []}, "status": status})
        };
        Response::new(Body::from(body.to_string().into_bytes()))
    }
}

const REFRESH: Duration = Duration::from_mins(48);
const MINUTE: Duration = Duration::from_mins(1);

// upstream: TestCachingTokenSource
#[rstest]
#[case(
    "valid token returned from cache",
    Some(Duration::ZERO),
    Broken::No,
    "Bearer token-1 after 1"
)]
#[case(
    "valid token returned from cache 1 minute before scheduled refresh",
    Some(Duration::from_mins(47)),
    Broken::No,
    "Bearer token-1 after 1"
)]
#[case("new token created when cache is empty", None, Broken::No, "Bearer token-1 after 1")]
#[case(
    "new token created 1 minute after scheduled refresh",
    Some(Duration::from_mins(49)),
    Broken::No,
    "Bearer token-2 after 2"
)]
#[case("error on create token returns error", None, Broken::Yes, "no token after 4")]
#[case(
    "the old token is kept without a new one",
    Some(Duration::from_mins(49)),
    Broken::Yes,
    "Bearer token-1 after 5"
)]
#[tokio::test(start_paused = true)]
async fn tokens_are_kept(
    #[case] name: &str,
    #[case] had_one_for: Option<Duration>,
    #[case] broken: Broken,
    #[case] expected: &str,
) {
    let server = Server::default();
    let account = server.account();
    if let Some(since) = had_one_for {
        account.header().await.unwrap();
        tokio::time::advance(since).await;
    }
    server.set(broken);
    let header = account.header().await.ok();
    let header = header.as_ref().map_or("no token", |header| header.to_str().unwrap());
    let requests = server.requests.load(Ordering::Relaxed);
    assert_eq!(format!("{header} after {requests}"), expected, "{name}");
}

#[tokio::test(start_paused = true)]
async fn retries_four_times_and_doubles_the_wait() {
    let server = Server::default();
    server.set(Broken::Yes);
    let started = Instant::now();
    assert!(server.account().header().await.is_err());
    assert_eq!(started.elapsed(), Duration::from_millis(500 + 1000 + 2000));
}

#[tokio::test(start_paused = true)]
async fn does_not_hold_up_requests_while_there_is_no_new_token() {
    let server = Server::default();
    let account = server.account();
    account.header().await.unwrap();
    tokio::time::advance(REFRESH).await;
    server.set(Broken::Yes);
    let (started, first) = (Instant::now(), account.header());
    let (first, second) = futures::join!(first, async {
        let header = account.header().await;
        (header, started.elapsed())
    });
    assert_eq!(first.unwrap(), "Bearer token-1");
    assert_eq!(
        (second.0.unwrap(), second.1),
        (HeaderValue::from_static("Bearer token-1"), Duration::ZERO)
    );
    account.header().await.unwrap();
    assert_eq!(server.requests.load(Ordering::Relaxed), 5, "the next try is later");
    tokio::time::advance(RETRY).await;
    server.set(Broken::No);
    assert_eq!(account.header().await.unwrap(), "Bearer token-6");
}

#[tokio::test(start_paused = true)]
async fn forgets_a_token_that_was_rejected_unless_there_is_a_newer_one() {
    let server = Server::default();
    let account = server.account();
    account.header().await.unwrap();
    tokio::time::advance(MINUTE).await;
    let sent = Instant::now();
    assert!(account.forget_older_than(sent));
    assert_eq!(account.header().await.unwrap(), "Bearer token-2");
    assert!(account.forget_older_than(sent));
    assert_eq!(account.header().await.unwrap(), "Bearer token-2");
}
