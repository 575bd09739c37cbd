//! Timing, with the clock paused, against the smallest server that keeps a Lease.

use super::{MS, params};
use crate::{
    fence::{Fence, Fenced},
    lease::{Elector, Invalid, Leadership, Metrics, Params, Status},
};
use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::{Value, json};
use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

const FOREVER: Duration = Duration::from_hours(1);

/// A server that keeps one Lease, and may not be watched.
#[derive(Clone, Default)]
struct Server(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    lease: Option<Value>,
    version: u64,
    mood: Mood,
    /// Method of every request, and when it came.
    requests: Vec<(String, Instant)>,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Mood {
    #[default]
    Answering,
    Silent,
    SlowToWrite(Duration),
}

impl Server {
    fn client(&self) -> kube::Client {
        let server = self.clone();
        let service = tower::service_fn(move |request| {
            let server = server.clone();
            async move { Ok::<_, Infallible>(server.answer(request).await) }
        });
        kube::Client::new(service, "default")
    }

    async fn answer(&self, request: Request<Body>) -> Response<Body> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let mood = self.note(&parts.method, parts.uri.query().unwrap_or_default());
        match mood {
            Mood::Silent => std::future::pending().await,
            Mood::SlowToWrite(time) if parts.method != Method::GET => tokio::time::sleep(time).await,
            Mood::Answering | Mood::SlowToWrite(_) => {}
        }
        if parts.uri.query().is_some_and(|query| query.contains("watch=true")) {
            return status(StatusCode::FORBIDDEN);
        }
        self.serve(&parts.method, serde_json::from_slice(&body).ok())
    }

    fn note(&self, method: &Method, query: &str) -> Mood {
        let watch = if query.contains("watch=true") { " watch" } else { "" };
        let mut state = self.0.lock().unwrap();
        state.requests.push((format!("{method}{watch}"), Instant::now()));
        state.mood
    }

    fn serve(&self, method: &Method, body: Option<Value>) -> Response<Body> {
        let mut state = self.0.lock().unwrap();
        let version = |lease: &Value| lease["metadata"]["resourceVersion"].clone();
        match (method, body, state.lease.clone()) {
            (&Method::GET, _, Some(lease)) => answer(StatusCode::OK, &lease),
            (&Method::GET, _, None) => status(StatusCode::NOT_FOUND),
            (&Method::PUT, Some(new), Some(old)) if version(&new) == version(&old) => {
                answer(StatusCode::OK, &state.put(new))
            }
            (&Method::POST, Some(new), None) => answer(StatusCode::CREATED, &state.put(new)),
            _ => status(StatusCode::CONFLICT),
        }
    }

    fn set(&self, mood: Mood) {
        self.0.lock().unwrap().mood = mood;
    }

    fn requests(&self) -> Vec<(String, Instant)> {
        self.0.lock().unwrap().requests.clone()
    }

    fn holder(&self) -> String {
        let state = self.0.lock().unwrap();
        state
            .lease
            .as_ref()
            .map_or("-", |lease| lease["spec"]["holderIdentity"].as_str().unwrap())
            .to_owned()
    }
}

impl State {
    fn put(&mut self, mut lease: Value) -> Value {
        self.version += 1;
        lease["metadata"]["resourceVersion"] = self.version.to_string().into();
        self.lease.insert(lease).clone()
    }
}

fn answer(code: StatusCode, body: &Value) -> Response<Body> {
    Response::builder()
        .status(code)
        .body(Body::from(body.to_string().into_bytes()))
        .unwrap()
}

fn status(code: StatusCode) -> Response<Body> {
    let body = json!({
        "kind": "Status", "status": "Failure", "code": code.as_u16(), "reason": "", "message": "user cannot do that",
    });
    answer(code, &body)
}

fn elector(server: &Server, identity: &str, fence: &Fence) -> Elector {
    let metrics = Metrics::register(&prometheus::Registry::new()).unwrap();
    let params = Params {
        identity: identity.into(),
        ..params(15_000, 10_000, 2_000)
    };
    Elector::new(server.client(), params, fence.clone(), &metrics, None).unwrap()
}

async fn leader(server: &Server, identity: &str, fence: &Fence) -> Leadership {
    elector(server, identity, fence)
        .acquire(&CancellationToken::new())
        .await
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_leader_renews_every_period_with_one_request() {
    let (server, fence) = (Server::default(), Fence::closed());
    let start = Instant::now();
    let leadership = leader(&server, "one", &fence).await;
    tokio::time::sleep(MS(9_000)).await;
    let requests: Vec<_> = server
        .requests()
        .into_iter()
        .map(|(what, at)| format!("{what} {}", (at - start).as_secs()))
        .collect();
    assert_eq!(requests, ["GET 0", "POST 0", "PUT 2", "PUT 4", "PUT 6", "PUT 8"]);
    assert_eq!(fence.check(), Ok(()));
    leadership.release().await.unwrap();
    assert_eq!(fence.check(), Err(Fenced));
    assert_eq!(server.holder(), "");
}

/// As after SIGSTOP and SIGCONT: the time is over when it wakes up.
#[tokio::test(start_paused = true)]
async fn a_leader_that_was_stopped_for_long_sends_no_request() {
    let (server, fence) = (Server::default(), Fence::closed());
    let leadership = leader(&server, "one", &fence).await;
    let before = server.requests().len();
    tokio::time::advance(MS(20_000)).await;
    let lost = leadership.lost().await;
    assert_eq!(
        lost.to_string(),
        "lost lease kube-system/cloud-controller-manager: it was not renewed within 10s"
    );
    assert_eq!(fence.check(), Err(Fenced));
    assert_eq!(server.requests().len(), before);
    assert!(
        leadership.release().await.is_err(),
        "there is nothing to release any more"
    );
    assert_eq!(server.requests().len(), before);
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_gets_no_answer_has_lost_at_its_deadline() {
    let (server, fence) = (Server::default(), Fence::closed());
    let leadership = leader(&server, "one", &fence).await;
    tokio::time::sleep(MS(2_100)).await;
    let renewed = server.requests().last().unwrap().1;
    server.set(Mood::Silent);
    leadership.lost().await;
    assert_eq!(
        (Instant::now() - renewed).as_millis(),
        10_000,
        "begun, not ended, counts"
    );
    assert_eq!(fence.check(), Err(Fenced));
    let deadline = Instant::now();
    tokio::time::sleep(FOREVER).await;
    assert!(
        server.requests().iter().all(|(_, at)| *at < deadline),
        "nothing is sent after that"
    );
}

#[tokio::test(start_paused = true)]
async fn a_standby_that_may_not_watch_takes_a_released_lease_within_a_second() {
    let (server, fence) = (Server::default(), Fence::closed());
    for turn in 0..20 {
        let leadership = leader(&server, &format!("leader-{turn}"), &fence).await;
        let standby = elector(&server, "standby", &Fence::closed());
        let standby = tokio::spawn(async move { standby.acquire(&CancellationToken::new()).await.unwrap() });
        tokio::time::sleep(MS(3_000 + 137 * turn)).await;
        let released = Instant::now();
        leadership.release().await.unwrap();
        let next = standby.await.unwrap();
        assert!(released.elapsed() < MS(800), "took {:?}", released.elapsed());
        next.release().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_standby_without_a_watch_polls_twice_a_second_from_the_cache() {
    let server = Server::default();
    let leadership = leader(&server, "one", &Fence::closed()).await;
    let standby = elector(&server, "standby", &Fence::closed());
    let standby = tokio::spawn(async move { standby.acquire(&CancellationToken::new()).await });
    tokio::time::sleep(MS(600_000)).await;
    let gets = server.requests().iter().filter(|(what, _)| what == "GET").count();
    assert!((1_200..1_600).contains(&gets), "{gets} in ten minutes");
    let watches = server.requests().iter().filter(|(what, _)| what == "GET watch").count();
    assert!(watches <= 3, "{watches} attempts at a forbidden watch in ten minutes");
    standby.abort();
    drop(leadership);
}

#[tokio::test(start_paused = true)]
async fn an_abandoned_lease_is_taken_when_it_runs_out_and_not_before() {
    let server = Server::default();
    drop(leader(&server, "one", &Fence::closed()).await);
    let seen = Instant::now();
    let standby = leader(&server, "two", &Fence::closed()).await;
    let waited = seen.elapsed();
    assert!((MS(15_000)..MS(15_100)).contains(&waited), "took it after {waited:?}");
    assert_eq!(server.holder(), "two");
    drop(standby);
}

#[tokio::test(start_paused = true)]
async fn a_candidate_can_be_stopped_at_once() {
    let server = Server::default();
    let leadership = leader(&server, "one", &Fence::closed()).await;
    let (cancel, standby) = (CancellationToken::new(), elector(&server, "two", &Fence::closed()));
    let standby = tokio::spawn({
        let cancel = cancel.clone();
        async move { standby.acquire(&cancel).await }
    });
    tokio::time::sleep(MS(1_234)).await;
    let before = Instant::now();
    cancel.cancel();
    assert!(standby.await.unwrap().is_none());
    assert_eq!(before.elapsed(), MS(0));
    drop(leadership);
}

#[tokio::test(start_paused = true)]
async fn a_lease_won_while_stopping_is_given_back() {
    let server = Server::default();
    server.set(Mood::SlowToWrite(MS(300)));
    let (cancel, fence) = (CancellationToken::new(), Fence::closed());
    let candidate = elector(&server, "one", &fence);
    let candidate = tokio::spawn({
        let cancel = cancel.clone();
        async move { candidate.acquire(&cancel).await }
    });
    tokio::time::sleep(MS(100)).await;
    cancel.cancel();
    assert!(candidate.await.unwrap().is_none());
    assert_eq!(server.holder(), "");
    assert_eq!(fence.check(), Err(Fenced));
}

#[tokio::test(start_paused = true)]
async fn a_stop_does_not_wait_for_a_server_that_is_silent() {
    let (server, fence) = (Server::default(), Fence::closed());
    let leadership = leader(&server, "one", &fence).await;
    server.set(Mood::Silent);
    let before = Instant::now();
    let error = leadership.release().await.unwrap_err();
    assert!(before.elapsed() <= MS(5_000), "took {:?}", before.elapsed());
    assert!(
        error
            .to_string()
            .starts_with("could not release lease kube-system/cloud-controller-manager: "),
        "{error}"
    );
    assert_eq!(fence.check(), Err(Fenced));
}

#[tokio::test(start_paused = true)]
async fn a_released_lease_is_not_a_lost_one() {
    let server = Server::default();
    let leadership = leader(&server, "one", &Fence::closed()).await;
    let lost = leadership.lost();
    leadership.release().await.unwrap();
    assert!(tokio::time::timeout(FOREVER, lost).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_dropped_leadership_is_lost_and_the_lease_expires() {
    let (server, fence) = (Server::default(), Fence::closed());
    let leadership = leader(&server, "one", &fence).await;
    let lost = leadership.lost();
    drop(leadership);
    assert_eq!(fence.check(), Err(Fenced));
    assert_eq!(
        lost.await.to_string(),
        "lost lease kube-system/cloud-controller-manager: it is not renewed any more"
    );
    let before = server.requests().len();
    tokio::time::sleep(FOREVER).await;
    assert_eq!(server.requests().len(), before);
    assert_eq!(server.holder(), "one", "it has to run out");
}

#[tokio::test(start_paused = true)]
async fn only_a_leader_that_neither_renews_nor_stops_is_unhealthy() {
    let status = Status::new(&params(15_000, 10_000, 2_000));
    assert_eq!(status.check(), Ok(()));
    status.renewed(Instant::now());
    tokio::time::advance(MS(35_000)).await;
    assert_eq!(status.check(), Ok(()));
    tokio::time::advance(MS(1)).await;
    assert_eq!(
        status.check().unwrap_err().to_string(),
        "failed election to renew leadership on lease cloud-controller-manager"
    );
    status.not_leading();
    assert_eq!(status.check(), Ok(()));
}

#[tokio::test]
async fn invalid_parameters_are_refused_before_the_first_request() {
    let server = Server::default();
    let metrics = Metrics::register(&prometheus::Registry::new()).unwrap();
    let elector = Elector::new(
        server.client(),
        params(10_000, 10_000, 9_000),
        Fence::closed(),
        &metrics,
        None,
    );
    let Invalid(problems) = elector.unwrap_err();
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert_eq!(server.requests(), []);
}
