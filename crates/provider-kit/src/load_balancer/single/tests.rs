use super::*;
use crate::rest::Rest;
use cloud::{Host, Ingress, RangesFrom, ServiceRef};
use cloud_http::{Client, Config, Failure, Metrics, http::StatusCode};
use fakecloud::{Api, Fault, Now, Outcome, Request, Response, Server, json};
use std::collections::BTreeMap;

crate::annotations! {
    ID = "x.dev/id", Text, Refused, "none", Written, "the ID";
    DISOWN = "x.dev/disown", GoBoolean, Refused, "`false`", Always, "leaves it alone";
    SIZE = "x.dev/size", Text, Refused, "none", Always, "the size";
}

/// A cloud of load balancers: name, size, hosts, and a status that a test may change.
#[derive(Default)]
struct Fake {
    all: BTreeMap<String, Value>,
    created: usize,
    busy: bool,
}

impl Api for Fake {
    fn answer(&mut self, request: &Request, _: Now) -> Outcome {
        let (method, path) = request.route();
        let missing = || Response::json(404, json!({"error": "missing"}));
        match (method, path.as_slice()) {
            ("GET", ["v1", "balancers"]) => Ok(Response::ok(
                json!({"balancers": self.all.values().collect::<Vec<_>>()}),
            )),
            ("GET", ["v1", "balancers", id]) => {
                let one = self.all.get(*id).ok_or_else(missing)?;
                Ok(Response::ok(json!({"balancer": one})))
            }
            ("POST", _) => {
                self.created += 1;
                let id = self.created.to_string();
                let mut one = request.json().unwrap();
                (one["id"], one["status"]) = (id.as_str().into(), "active".into());
                self.all.insert(id, one.clone());
                Ok(Response::json(201, json!({"balancer": one})))
            }
            (_, [.., id]) if !self.all.contains_key(*id) => Err(missing()),
            (_, _) if self.busy => Err(Response::json(409, json!({"error": "busy"}))),
            ("PUT", [.., id]) => {
                let mut one = request.json().unwrap();
                (one["id"], one["status"]) = ((*id).into(), "active".into());
                self.all.insert((*id).to_owned(), one.clone());
                Ok(Response::ok(json!({"balancer": one})))
            }
            ("DELETE", [.., id]) => {
                self.all.remove(*id);
                Ok(Response::empty(204))
            }
            _ => Err(Response::unknown(request)),
        }
    }
}

#[derive(Clone, Serialize, serde::Deserialize)]
struct One {
    id: String,
    status: String,
    #[serde(flatten)]
    settings: Object,
}

impl Whole for One {
    fn id(&self) -> &str {
        &self.id
    }

    fn name(&self) -> &str {
        crate::json::text(&self.settings, "name")
    }

    fn condition(&self) -> Condition {
        match self.status.as_str() {
            "active" => Condition::Ready,
            _ => Condition::Broken,
        }
    }
}

struct Small(Collection<One>);

#[async_trait]
impl Single for Small {
    type Object = One;
    const ID: Annotation = ID;
    const DISOWN: Annotation = DISOWN;
    const ANNOTATIONS: &'static [Annotation] = ROWS;

    fn name(&self, spec: &Spec) -> String {
        default_name(&spec.service.uid)
    }

    fn configuration(&self) -> Value {
        Value::Null
    }

    fn is_marked(&self, object: &One) -> bool {
        object.settings["cluster"] == "c1"
    }

    fn collection(&self) -> &Collection<One> {
        &self.0
    }

    async fn body(&self, spec: &Spec, existing: Option<&One>, scope: Scope) -> Result<Object> {
        if spec.hosts.is_empty() {
            return Err(Error::invalid("nodes", "there are none"));
        }
        let hosts: Vec<&str> = spec.hosts.iter().map(|host| host.name.as_str()).collect();
        let mut body = match (existing, scope) {
            (Some(existing), Scope::Hosts) => existing.settings.clone(),
            _ => crate::json::object(json!({"name": self.name(spec), "cluster": "c1", "size": SIZE.text(spec)})),
        };
        body.insert("hosts".to_owned(), json!(hosts));
        Ok(body)
    }

    fn differences(&self, object: &One, body: &Object) -> Vec<String> {
        crate::json::differences(&object.settings, body, &Value::Null)
    }

    fn is_busy(&self, error: &Error) -> bool {
        Failure::of(error).is_some_and(|failure| failure.status() == StatusCode::CONFLICT)
    }

    async fn finish(&self, _: &Spec, _: &One, _: &mut Notes) -> Result<()> {
        Ok(())
    }

    fn status(&self, _: &Spec, object: &One) -> Status {
        let ip = Some(format!("192.0.2.{}", object.id));
        Status {
            ingress: vec![Ingress {
                ip,
                ..Ingress::default()
            }],
        }
    }

    fn event(&self, error: &Error) -> Option<&'static str> {
        matches!(error, Error::Invalid { field, .. } if field == "nodes").then_some("NoNodes")
    }
}

struct Fixture {
    cloud: fakecloud::Cloud<Fake>,
    balancers: SingleObjects<Small>,
    _server: Server,
}

impl Fixture {
    async fn start() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let cloud = fakecloud::Cloud::new(Fake::default());
        let server = Server::start(&cloud).await.unwrap();
        let metrics = Metrics::register(&prometheus::Registry::new()).unwrap();
        let rest = Arc::new(Rest {
            client: Client::new(&Config::default(), Arc::new(|| Ok(())), &metrics).unwrap(),
            url: server.url().parse().unwrap(),
            version: "v1",
            page_size: ("size", "100"),
            next: |_| None,
        });
        let small = Small(Collection::new(&rest, crate::names!("balancer")));
        Self {
            cloud,
            balancers: SingleObjects::new(small),
            _server: server,
        }
    }

    /// Ensures until it is done or fails; annotations are written as the controller does.
    async fn ensure(&self, spec: &mut Spec) -> Result<String> {
        loop {
            let noted = self.balancers.ensure(spec).await?;
            write(spec, &noted.notes);
            match noted.answer {
                Progress::Done(status) => return Ok(status.ingress[0].ip.clone().unwrap()),
                Progress::Pending { waiting_for, .. }
                    if noted.notes.annotations.is_empty() && !waiting_for.starts_with("load balancer") =>
                {
                    return Ok(waiting_for);
                }
                Progress::Pending { poll_after, .. } => tokio::time::sleep(poll_after).await,
            }
        }
    }

    async fn delete(&self, spec: &Spec) {
        while let Progress::Pending { poll_after, .. } =
            LoadBalancers::delete(&self.balancers, spec).await.unwrap().answer
        {
            tokio::time::sleep(poll_after).await;
        }
    }

    /// The calls since the last call of this function: `GET, PUT`.
    fn writes(&self) -> String {
        let calls = self.cloud.calls();
        self.cloud.forget_calls();
        let writes = calls.iter().filter(|call| call.is_write());
        writes.map(|call| call.method.clone()).collect::<Vec<_>>().join(", ")
    }

    fn count(&self) -> usize {
        self.cloud.read(|fake| fake.all.len())
    }
}

fn write(spec: &mut Spec, notes: &Notes) {
    for (key, value) in notes.annotations.clone() {
        match value {
            Some(value) => drop(spec.annotations.insert(key, value)),
            None => drop(spec.annotations.remove(&key)),
        }
    }
}

fn service(digit: char, hosts: &str) -> Spec {
    let host = |name: &str| {
        Arc::new(Host {
            name: name.to_owned(),
            ..Host::default()
        })
    };
    Spec {
        service: ServiceRef {
            namespace: "default".into(),
            name: "web".into(),
            uid: digit.to_string().repeat(32),
        },
        hosts: hosts.split_whitespace().map(host).collect(),
        ..Spec::default()
    }
}

fn annotate(spec: &mut Spec, row: Annotation, value: &str) {
    spec.annotations.insert(row.key.to_owned(), value.to_owned());
}

#[tokio::test]
async fn a_load_balancer_is_created_updated_only_on_a_difference_and_deleted() {
    let fixture = Fixture::start().await;
    let mut spec = service('1', "a b");
    assert_eq!(fixture.ensure(&mut spec).await.unwrap(), "192.0.2.1");
    assert_eq!(
        (spec.annotations[ID.key].as_str(), fixture.writes().as_str()),
        ("1", "POST")
    );
    fixture.ensure(&mut spec).await.unwrap();
    assert_eq!(fixture.writes(), "");
    annotate(&mut spec, SIZE, "large");
    fixture.ensure(&mut spec).await.unwrap();
    assert_eq!(fixture.writes(), "PUT");
    assert_eq!(fixture.cloud.read(|fake| fake.all["1"]["size"].clone()), "large");
    fixture.delete(&spec).await;
    assert_eq!((fixture.writes().as_str(), fixture.count()), ("DELETE", 0));
}

#[tokio::test]
async fn other_hosts_change_nothing_else() {
    let fixture = Fixture::start().await;
    let mut spec = service('1', "a b");
    fixture.ensure(&mut spec).await.unwrap();
    annotate(&mut spec, SIZE, "large");
    spec.hosts = service('1', "c").hosts;
    while let Progress::Pending { poll_after, .. } = fixture.balancers.update_hosts(&spec).await.unwrap().answer {
        tokio::time::sleep(poll_after).await;
    }
    let one = fixture.cloud.read(|fake| fake.all["1"].clone());
    assert_eq!((&one["hosts"], one.get("size")), (&json!(["c"]), None));
    let missing = fixture.balancers.update_hosts(&service('2', "a")).await;
    assert!(matches!(missing, Err(Error::NotFound { .. })));
}

#[tokio::test]
async fn a_lost_answer_does_not_create_a_second_one() {
    let fixture = Fixture::start().await;
    fixture.cloud.inject(Fault::lose_answer().method("POST").times(1));
    let mut spec = service('1', "a");
    assert!(fixture.ensure(&mut spec).await.is_err());
    assert_eq!(fixture.ensure(&mut spec).await.unwrap(), "192.0.2.1");
    assert_eq!(fixture.count(), 1);
}

#[tokio::test]
async fn another_service_may_use_it_only_once_it_is_disowned() {
    let fixture = Fixture::start().await;
    let (mut one, mut other) = (service('1', "a"), service('2', "b"));
    fixture.ensure(&mut one).await.unwrap();
    annotate(&mut other, ID, "1");
    let refused = fixture.ensure(&mut other).await.unwrap_err().to_string();
    assert!(refused.contains("another Service uses it"), "{refused}");
    fixture.delete(&other).await;
    assert_eq!(fixture.count(), 1);
    annotate(&mut one, DISOWN, "true");
    assert_eq!(fixture.ensure(&mut one).await.unwrap(), "192.0.2.1");
    assert_eq!(fixture.ensure(&mut other).await.unwrap(), "192.0.2.1");
    fixture.delete(&one).await;
    assert_eq!(fixture.cloud.read(|fake| fake.all["1"]["hosts"].clone()), json!(["b"]));
}

#[rstest::rstest]
#[case::of_the_service(
    RangesFrom::Spec,
    "invalid spec.loadBalancerSourceRanges: \"all\" is not an IP range; write ranges like 10.0.0.0/24 or 2001:db8::/64"
)]
#[case::of_the_annotation(RangesFrom::Annotation, "192.0.2.1")]
#[tokio::test]
async fn only_source_ranges_of_the_service_count(#[case] from: RangesFrom, #[case] expected: &str) {
    let fixture = Fixture::start().await;
    let mut spec = service('1', "a");
    (spec.ranges_from, spec.bad_ranges) = (from, vec!["all".into()]);
    let answer = fixture.ensure(&mut spec).await;
    assert_eq!(answer.unwrap_or_else(|error| error.to_string()), expected);
}

#[tokio::test]
async fn an_event_names_what_the_user_has_to_change() {
    let fixture = Fixture::start().await;
    let noted = fixture.balancers.ensure(&service('1', "")).await.unwrap();
    assert!(matches!(noted.answer, Progress::Pending { poll_after, .. } if poll_after == RECHECK));
    assert_eq!(noted.notes.events[0].reason, "NoNodes");
}

#[tokio::test]
async fn a_broken_one_is_reported_and_a_busy_one_is_waited_for() {
    let fixture = Fixture::start().await;
    let mut spec = service('1', "a");
    fixture.ensure(&mut spec).await.unwrap();
    fixture.cloud.write(|fake, _| fake.busy = true);
    annotate(&mut spec, SIZE, "large");
    let answer = fixture.balancers.ensure(&spec).await.unwrap().answer;
    assert!(
        matches!(&answer, Progress::Pending { waiting_for, .. } if waiting_for.contains("another change")),
        "{answer:?}"
    );
    fixture.cloud.write(|fake, _| {
        fake.busy = false;
        fake.all.get_mut("1").unwrap()["status"] = "errored".into();
    });
    let error = fixture.ensure(&mut spec).await.unwrap_err();
    assert!(matches!(error, Error::Unusable { .. }), "{error}");
    fixture.delete(&spec).await;
    assert_eq!(fixture.count(), 0);
}

#[tokio::test]
async fn marked_load_balancers_are_owned_and_missing_ones_recreated() {
    let fixture = Fixture::start().await;
    let mut spec = service('1', "a");
    fixture.ensure(&mut spec).await.unwrap();
    let owned = fixture.balancers.owned("c1").await.unwrap();
    assert_eq!((owned.len(), owned[0].id.as_str()), (1, "1"));
    fixture.cloud.write(|fake, _| fake.all.clear());
    assert_eq!(fixture.balancers.find(&spec).await.unwrap(), None);
    assert_eq!(fixture.ensure(&mut spec).await.unwrap(), "192.0.2.2");
    assert_eq!(spec.annotations[ID.key], "2");
}
