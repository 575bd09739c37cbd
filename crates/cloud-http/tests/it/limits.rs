//! How much at once and how fast.

use crate::{
    MS, Subject, config, kind,
    server::{Reply, Server},
};
use cloud::Error;
use cloud_http::{Config, Rate, Request};
use rstest::rstest;
use std::{sync::Arc, time::Instant};
use tokio::sync::Barrier;

async fn burst(subject: &Subject, server: &Server, calls: usize) {
    let call = || subject.client.send(Request::get("try_it", &server.url()));
    futures::future::try_join_all((0..calls).map(|_| call())).await.unwrap();
}

/// The server only answers once as many are there as may be, and counts whether there were more.
#[rstest]
#[case::none(None, 12)]
#[case::three(Some(3), 3)]
#[case::one(Some(1), 1)]
#[tokio::test]
async fn in_flight(#[case] limit: Option<usize>, #[case] peak: usize) {
    let subject = Subject::new(&Config {
        in_flight: limit,
        ..config()
    });
    let together = Arc::new(Barrier::new(peak));
    let server = Server::start(move |_| {
        let together = Arc::clone(&together);
        async move {
            together.wait().await;
            Reply::status(200)
        }
    })
    .await;
    burst(&subject, &server, 12).await;
    assert_eq!((server.peak(), server.count()), (peak, 12));
}

#[tokio::test]
async fn a_slot_is_free_while_a_call_waits_to_try_again() {
    let mut config = Config {
        in_flight: Some(1),
        ..config()
    };
    config.retries.longest_wait = 5000 * MS;
    let subject = Subject::new(&config);
    let server = Server::start(|seen| async move {
        match &*seen.target {
            "/throttled" => Reply::status(429).header("retry-after", "0.3"),
            _ => Reply::status(200),
        }
    })
    .await;
    let throttled = subject
        .client
        .send(Request::get("throttled", &server.url()).path(["throttled"]));
    let other = async {
        while server.count() == 0 {
            tokio::task::yield_now().await;
        }
        subject
            .client
            .send(Request::get("other", &server.url()).path(["other"]))
            .await
    };
    let (throttled, other) = tokio::join!(throttled, other);
    assert_eq!(kind(&throttled.unwrap_err()), "throttled");
    other.unwrap();
    let targets: Vec<_> = server.seen().into_iter().map(|seen| seen.target).collect();
    assert_eq!(targets, ["/throttled", "/other", "/throttled", "/throttled"]);
}

#[tokio::test]
async fn rate() {
    let subject = Subject::new(&Config {
        rate: Some(Rate {
            per_second: 50.0,
            burst: 5,
        }),
        ..config()
    });
    let server = Server::script(vec![Reply::status(200)]).await;
    let start = Instant::now();
    burst(&subject, &server, 15).await;
    // Five at once and ten at 20 ms each.
    assert!(start.elapsed() >= 200 * MS, "{:?}", start.elapsed());
}

#[tokio::test]
async fn a_turn_after_the_deadline_is_reported_at_once() {
    let subject = Subject::new(&Config {
        rate: Some(Rate {
            per_second: 0.01,
            burst: 1,
        }),
        ..config()
    });
    let server = Server::script(vec![Reply::status(200)]).await;
    burst(&subject, &server, 1).await;
    let start = Instant::now();
    let error = subject
        .client
        .send(Request::get("try_it", &server.url()))
        .await
        .unwrap_err();
    let Error::Throttled {
        retry_after: Some(wait),
        ..
    } = error
    else {
        panic!("{error:?}")
    };
    assert!((95..=100).contains(&wait.as_secs()), "{wait:?}");
    assert!(start.elapsed() < 30_000 * MS);
    assert_eq!(server.count(), 1);
}

#[rstest]
#[case::zero(0.0)]
#[case::negative(-1.0)]
#[case::no_number(f64::NAN)]
fn an_invalid_rate_is_refused(#[case] per_second: f64) {
    let metrics = cloud_http::Metrics::register(&prometheus::Registry::new()).unwrap();
    let config = Config {
        rate: Some(Rate { per_second, burst: 1 }),
        ..config()
    };
    let error = cloud_http::Client::new(&config, Arc::new(|| Ok(())), &metrics).unwrap_err();
    assert_eq!(
        error.to_string(),
        "invalid rate: the requests a second must be more than 0"
    );
}
