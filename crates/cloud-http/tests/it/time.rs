//! Deadlines, waits and giving up.

use crate::{
    MS, Subject, config, kind,
    server::{Reply, Server},
};
use cloud::Error;
use cloud_http::{Config, Fault, Reason, Request, Retries};
use rstest::rstest;
use std::time::{Duration, Instant};

fn patient() -> Config {
    Config {
        retries: Retries {
            longest_wait: 3000 * MS,
            ..config().retries
        },
        ..config()
    }
}

#[rstest]
#[case::seconds(None, "0.3", 300)]
#[case::date(Some("Sun, 15 Nov 2026 10:00:00 GMT"), "Sun, 15 Nov 2026 10:00:01 GMT", 1000)]
#[tokio::test]
async fn retry_after_is_waited_for(#[case] date: Option<&str>, #[case] retry_after: &str, #[case] ms: u64) {
    let mut throttled = Reply::status(503).header("retry-after", retry_after);
    if let Some(date) = date {
        throttled = throttled.header("date", date);
    }
    let server = Server::script(vec![throttled, Reply::status(200)]).await;
    Subject::new(&patient())
        .client
        .send(Request::post("try_it", &server.url()))
        .await
        .unwrap();
    let seen = server.seen();
    let gap = seen[1].at - seen[0].at;
    assert!(gap >= Duration::from_millis(ms), "{gap:?}");
}

/// A worker never sleeps long: a longer wait is returned to the caller.
#[rstest]
#[case::more_than_anybody_waits(patient(), "60", 60)]
#[case::more_than_the_deadline(Config { deadline: 1000 * MS, ..patient() }, "2", 2)]
#[tokio::test]
async fn a_long_retry_after_is_reported_at_once(
    #[case] config: Config,
    #[case] retry_after: &str,
    #[case] seconds: u64,
) {
    let server = Server::script(vec![
        Reply::status(429).header("retry-after", retry_after),
        Reply::status(200),
    ])
    .await;
    let subject = Subject::new(&config);
    let start = Instant::now();
    let error = subject
        .client
        .send(Request::get("try_it", &server.url()))
        .await
        .unwrap_err();
    assert!(
        matches!(error, Error::Throttled { retry_after: Some(wait), .. } if wait.as_secs() == seconds),
        "{error:?}"
    );

    // Neither does the next call of this kind go out before the time; others do.
    let error = subject
        .client
        .send(Request::get("try_it", &server.url()))
        .await
        .unwrap_err();
    assert!(
        matches!(
            error,
            Error::Throttled {
                retry_after: Some(_),
                ..
            }
        ),
        "{error:?}"
    );
    assert_eq!(server.count(), 1);
    subject.client.send(Request::get("other", &server.url())).await.unwrap();
    assert!(start.elapsed() < 900 * MS, "{:?}", start.elapsed());
}

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n[";

#[rstest]
#[case::no_answer(Reply::Stall(Vec::new()))]
#[case::slow_body(Reply::Stall(HEAD.to_vec()))]
#[case::slow_body_of_a_failure(Reply::Stall(b"HTTP/1.1 404 Not Found\r\ncontent-length: 9\r\n\r\n{".to_vec()))]
#[tokio::test]
async fn the_deadline_holds(#[case] reply: Reply) {
    let server = Server::script(vec![reply]).await;
    let subject = Subject::new(&config());
    let start = Instant::now();
    let error = subject
        .client
        .find(Request::get("try_it", &server.url()).deadline(100 * MS))
        .await
        .unwrap_err();
    assert_eq!(Fault::of(&error).map(Fault::reason), Some(Reason::Timeout), "{error:?}");
    assert!(
        (100 * MS..1500 * MS).contains(&start.elapsed()),
        "{:?}",
        start.elapsed()
    );
    assert_eq!(
        subject.sample(r#"cloud_api_connection_failures_total{operation="try_it",reason="timeout"}"#),
        1
    );
}

#[tokio::test]
async fn the_deadline_holds_over_all_attempts() {
    let server = Server::script(vec![Reply::status(500).after(40 * MS)]).await;
    let retries = Retries {
        attempts: 1000,
        ..config().retries
    };
    let subject = Subject::new(&Config {
        retries,
        deadline: 200 * MS,
        ..config()
    });
    let start = Instant::now();
    let error = subject
        .client
        .send(Request::get("try_it", &server.url()))
        .await
        .unwrap_err();
    assert_eq!(kind(&error), "unavailable");
    assert!(start.elapsed() < 1500 * MS, "{:?}", start.elapsed());
    assert!((1..=5).contains(&server.count()), "{}", server.count());
}

#[tokio::test]
async fn waiting_for_a_slot_counts_too() {
    let server = Server::script(vec![Reply::Stall(Vec::new())]).await;
    let subject = Subject::new(&Config {
        in_flight: Some(1),
        ..config()
    });
    let first = subject
        .client
        .send(Request::get("try_it", &server.url()).deadline(300 * MS));
    let second = subject
        .client
        .send(Request::get("try_it", &server.url()).deadline(100 * MS));
    let (_, second) = tokio::join!(first, second);
    assert!(
        second
            .unwrap_err()
            .report()
            .contains("timed out: neither a turn nor a credential within 100ms")
    );
    assert_eq!(server.count(), 1);
}

#[tokio::test]
async fn dropping_a_call_cancels_it() {
    let server = Server::script(vec![Reply::Stall(Vec::new())]).await;
    let subject = Subject::new(&config());
    tokio::select! {
        sent = subject.client.send(Request::get("try_it", &server.url())) => panic!("{sent:?}"),
        () = async { while server.count() == 0 { tokio::task::yield_now().await } } => {}
    }
    tokio::time::timeout(2000 * MS, server.hung_up())
        .await
        .expect("the connection is closed");
    assert_eq!(subject.sample(r#"cloud_api_requests_in_flight{operation="try_it"}"#), 0);
    assert_eq!(
        subject.sample(r#"cloud_api_requests_total{code="error",operation="try_it"}"#),
        1
    );
}
