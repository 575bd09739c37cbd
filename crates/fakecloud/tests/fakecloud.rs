//! A small fake cloud, called over HTTP.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use fakecloud::{
    Access, Api, Cloud, Exchange, Fault, Latency, Now, Outcome, Page, Request, Response, Server, Value, json,
};
use reqwest::{Certificate, Client, Identity};
use rstest::rstest;
use std::time::{Duration, Instant};

const OPERATIONS: &[(&str, &str, &str)] = &[
    ("GET", "v2/volumes", "volume_list"),
    ("POST", "v2/volumes", "volume_create"),
];

/// How long a volume is being created.
const CREATION: Duration = Duration::from_mins(1);

#[derive(Default)]
struct Volumes {
    creating: Vec<(tokio::time::Instant, String)>,
    names: Vec<String>,
}

impl Api for Volumes {
    fn answer(&mut self, request: &Request, now: Now) -> Outcome {
        let (method, path) = request.route();
        match (method, path.as_slice()) {
            ("GET", ["v2", "volumes"]) => {
                let page = Page::numbered(self.names.clone(), request.query.number("page").unwrap_or(1), 2);
                let next = page.links(request, "page").next;
                Ok(Response::ok(json!({"volumes": page.items, "next": next})))
            }
            ("POST", ["v2", "volumes"]) => {
                let body = request.json().map_err(|error| Response::text(422, error.to_string()))?;
                let name = body["name"].as_str().unwrap_or_default().to_owned();
                self.creating.push((now.instant + CREATION, name));
                Ok(Response::json(201, &body).header("Location", request.origin.clone()))
            }
            ("POST", []) => Ok(Response::new(200, "text/xml", request.form().with(&[("Version", "1")]))),
            _ => Err(Response::unknown(request)),
        }
    }

    fn label(&self, request: &Request, _: Now) -> Exchange {
        Exchange {
            user: request.bearer().map(str::to_owned),
            ..Exchange::in_table(request, OPERATIONS)
        }
    }

    fn error(&self, _: &Request, status: u16) -> Response {
        Response::json(status, json!({"id": "error", "message": status}))
    }

    fn settle(&mut self, now: Now) {
        let due = self.creating.extract_if(.., |(due, _)| *due <= now.instant);
        self.names.extend(due.map(|(_, name)| name));
    }

    fn next_due(&self) -> Option<tokio::time::Instant> {
        self.creating.iter().map(|(due, _)| *due).min()
    }
}

struct Fixture {
    cloud: Cloud<Volumes>,
    server: Server,
    client: Client,
}

impl Fixture {
    async fn new() -> Self {
        // Another test may have installed it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let cloud = Cloud::default();
        Self {
            server: Server::start(&cloud).await.unwrap(),
            client: Client::builder().no_proxy().build().unwrap(),
            cloud,
        }
    }

    async fn send(&self, line: &str, body: &str) -> reqwest::Result<reqwest::Response> {
        let (method, path) = line.split_once(' ').unwrap();
        let url = format!("{}{path}", self.server.url());
        let request = self.client.request(method.parse().unwrap(), url).bearer_auth("alice");
        request.body(body.to_owned()).send().await
    }

    async fn call(&self, line: &str, body: &str) -> (u16, String) {
        let response = self.send(line, body).await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    }

    async fn list(&self) -> Value {
        serde_json::from_str(&self.call("GET /v2/volumes", "").await.1).unwrap()
    }

    fn creating(&self) -> usize {
        self.cloud.read(|volumes| volumes.creating.len())
    }
}

const CREATE: (&str, &str) = ("POST /v2/volumes", r#"{"name": "a"}"#);

#[tokio::test]
async fn answers_records_and_pages() {
    let fixture = Fixture::new().await;
    fixture
        .cloud
        .write(|volumes, _| volumes.names = ["a", "b", "c"].map(str::to_owned).into());
    let mark = fixture.cloud.mark();
    let list = fixture.list().await;
    assert_eq!(list["volumes"], json!(["a", "b"]));
    let next: Value = fixture
        .client
        .get(list["next"].as_str().unwrap())
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert_eq!(next, json!({"volumes": ["c"], "next": null}));
    assert_eq!(fixture.call(CREATE.0, CREATE.1).await.0, 201);
    assert_eq!(
        fixture.call("POST /", "Action=Describe&Id=a%20b").await.1,
        "Action=Describe&Id=a%20b&Version=1"
    );
    assert_eq!(fixture.call("GET /v2/colours?x=1", "").await.0, 501);

    let calls = fixture.cloud.calls_since(mark);
    let seen: Vec<_> = calls
        .iter()
        .map(|call| (call.operation, call.query.as_str(), call.status))
        .collect();
    let expected = [
        ("volume_list", "", Some(200)),
        ("volume_list", "page=2", Some(200)),
        ("volume_create", "", Some(201)),
        ("", "", Some(200)),
        ("", "x=1", Some(501)),
    ];
    assert_eq!(seen, expected);
    assert!(calls.iter().all(|call| call.took.is_some() && call.number < 5));
    assert_eq!(
        (calls[0].user.as_deref(), calls[2].body.as_str()),
        (Some("alice"), CREATE.1)
    );
    assert!(calls[2].is("POST", "/v2/*") && calls[2].access == Access::Write);
    assert_eq!((fixture.cloud.count("volume_list"), fixture.cloud.total()), (2, 5));
    assert_eq!(fixture.cloud.writes_since(mark).len(), 2);
    assert_eq!(fixture.cloud.unknown(), ["GET v2/colours"]);
    fixture.cloud.forget_calls();
    assert_eq!(
        (fixture.cloud.calls().len(), fixture.cloud.count("volume_list")),
        (0, 0)
    );
}

#[rstest]
#[case::status(Fault::status(503).retry_after("7"), Some((503, r#"{"id":"error","message":503}"#)), 0)]
#[case::answer(Fault::answer(502, "<html>"), Some((502, "<html>")), 0)]
#[case::reset(Fault::reset(), None, 0)]
#[case::lost_answer(Fault::lose_answer(), None, 1)]
#[case::replaced_body(Fault::replace_body("{"), Some((201, "{")), 1)]
#[case::another_operation(Fault::reset().operation("volume_list"), Some((201, r#"{"name":"a"}"#)), 1)]
#[tokio::test]
async fn a_call_fails(#[case] fault: Fault, #[case] answer: Option<(u16, &str)>, #[case] created: usize) {
    let fixture = Fixture::new().await;
    fixture.cloud.inject(fault.clone().times(1));
    let response = fixture.send(CREATE.0, CREATE.1).await.ok();
    let retry_after = response
        .as_ref()
        .and_then(|response| response.headers().get("retry-after").cloned());
    assert_eq!(retry_after.is_some(), answer.is_some_and(|(status, _)| status == 503));
    let status = response.as_ref().map(|response| response.status().as_u16());
    let text = match response {
        Some(response) => response.text().await.unwrap(),
        None => String::new(),
    };
    assert_eq!(
        (status, text.as_str()),
        (answer.map(|(status, _)| status), answer.map_or("", |(_, body)| body))
    );
    assert_eq!(fixture.creating(), created);
    assert_eq!(fixture.cloud.calls()[0].status, status);
    assert_eq!(fixture.call(CREATE.0, CREATE.1).await.0, 201, "only once");
}

#[tokio::test]
async fn a_truncated_body_breaks_off() {
    let fixture = Fixture::new().await;
    fixture.cloud.inject(Fault::truncate().path("/v2/vol*"));
    let response = fixture.send("GET /v2/volumes", "").await.unwrap();
    assert_eq!(
        (response.status().as_u16(), response.text().await.is_err()),
        (200, true)
    );
}

#[tokio::test]
async fn a_slow_body_arrives_complete() {
    let fixture = Fixture::new().await;
    fixture.cloud.inject(Fault::slow_body(Duration::from_millis(5)));
    let began = Instant::now();
    assert_eq!(fixture.list().await["volumes"], json!([]));
    assert!(began.elapsed() >= Duration::from_millis(45));
}

#[tokio::test]
async fn a_call_hangs_and_an_answer_is_withheld_until_the_fault_is_withdrawn() {
    let fixture = Fixture::new().await;
    let hang = fixture.cloud.inject(Fault::hang().writes());
    let withheld = fixture.cloud.inject(Fault::withhold_answer().method("POST"));
    let release = async {
        fixture.cloud.until(|| fixture.cloud.struck(hang) == 1).await;
        assert_eq!(fixture.creating(), 0);
        fixture.cloud.withdraw(hang);
        fixture.cloud.until(|| fixture.creating() == 1).await;
        assert_eq!(fixture.cloud.calls()[0].status, None);
        fixture.cloud.withdraw(withheld);
    };
    let ((status, _), ()) = tokio::join!(fixture.call(CREATE.0, CREATE.1), release);
    assert_eq!((status, fixture.cloud.calls()[0].status), (201, Some(201)));
}

#[tokio::test]
async fn latency_grows_with_the_calls_in_flight() {
    let fixture = Fixture::new().await;
    let step = Duration::from_millis(20);
    fixture.cloud.set_latency(Latency::fixed(step).growing(step));
    tokio::join!(fixture.list(), fixture.list(), fixture.list());
    let mut took: Vec<_> = fixture.cloud.calls().iter().filter_map(|call| call.took).collect();
    took.sort();
    assert!(took[0] >= step && took[2] >= 2 * step, "{took:?}");
}

#[tokio::test]
async fn the_clock_advances() {
    let fixture = Fixture::new().await;
    let before = fixture.cloud.now();
    fixture.call(CREATE.0, CREATE.1).await;
    assert_eq!(fixture.list().await["volumes"], json!([]));
    let created = fixture.cloud.until(|| fixture.creating() == 0);
    let advance = async { fixture.cloud.advance(CREATION) };
    tokio::join!(created, advance);
    assert_eq!(fixture.list().await["volumes"], json!(["a"]));
    assert!(fixture.cloud.age() >= CREATION);
    assert!((fixture.cloud.now().wall - before.wall).get_seconds() >= 60);
}

#[tokio::test(start_paused = true)]
async fn a_paused_clock_runs_to_the_next_change() {
    let cloud = Cloud::<Volumes>::default();
    cloud.write(|volumes, now| volumes.creating.push((now.instant + CREATION, "a".to_owned())));
    cloud.until(|| cloud.read(|volumes| volumes.names == ["a"])).await;
    assert!(cloud.age() >= CREATION);
}

#[rstest]
#[case::any_client(false)]
#[case::known_clients(true)]
#[tokio::test]
async fn tls(#[case] mutual: bool) {
    let fixture = Fixture::new().await;
    let server = if mutual {
        Server::start_mutual_tls(&fixture.cloud).await.unwrap()
    } else {
        Server::start_tls(&fixture.cloud).await.unwrap()
    };
    let (certificate, key) = server.client_certificate().unwrap();
    let identity = Identity::from_pem(format!("{certificate}{key}").as_bytes()).unwrap();
    let authority = Certificate::from_pem(server.authority().unwrap().as_bytes()).unwrap();
    let trusting = || Client::builder().no_proxy().tls_certs_only([authority.clone()]);
    let get = async |client: Client| client.get(format!("{}/v2/volumes", server.url())).send().await.is_ok();
    assert!(get(trusting().identity(identity).build().unwrap()).await);
    assert_eq!(get(trusting().build().unwrap()).await, !mutual);
    assert!(!get(fixture.client.clone()).await, "does not trust the authority");
}

#[tokio::test]
async fn listens_on_loopback_until_it_is_stopped() {
    let fixture = Fixture::new().await;
    let error = Server::bind(&fixture.cloud, ([0, 0, 0, 0], 0).into())
        .await
        .unwrap_err();
    assert!(error.to_string().contains("is not on loopback"), "{error}");
    let address = fixture.server.address();
    fixture.server.stop().await;
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
}
