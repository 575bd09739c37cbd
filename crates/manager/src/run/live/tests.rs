use super::*;
use async_trait::async_trait;
use cloud::{Instances, LiveSource, ObjectRef, Provider};
use http::{Request, Response};
use kube::client::Body;
use memory::{Cloud, Memory};
use rstest::rstest;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard},
};

/// A cloud that accepts one password, and gets the one to use from its sources.
struct Safe {
    memory: Memory,
    state: Mutex<State>,
    refused: Notify,
    /// Its sources besides the Secret.
    more: Vec<LiveSource>,
}

fn credentials() -> ObjectRef {
    ObjectRef::new("kube-system", "credentials")
}

struct State {
    right: &'static str,
    in_use: String,
    /// What it was reloaded with.
    tried: Vec<String>,
    /// All that it was reloaded with last.
    data: LiveData,
}

impl Safe {
    fn new() -> Arc<Self> {
        Self::with([])
    }

    fn with(more: impl Into<Vec<LiveSource>>) -> Arc<Self> {
        Arc::new(Self {
            more: more.into(),
            memory: Memory::new(&Cloud::new()),
            state: Mutex::new(State {
                right: "old",
                in_use: String::new(),
                tried: Vec::new(),
                data: LiveData::default(),
            }),
            refused: Notify::new(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Sends a request to the cloud.
    fn call(&self) {
        let state = self.state();
        if state.in_use != state.right {
            self.refused.notify_one();
        }
    }

    fn tried(&self) -> Vec<String> {
        self.state().tried.clone()
    }
}

impl Provider for Safe {
    fn name(&self) -> &'static str {
        "safe"
    }

    fn instances(&self) -> &dyn Instances {
        self.memory.instances()
    }

    fn live(&self) -> Option<&dyn Live> {
        Some(self)
    }
}

#[async_trait]
impl Live for Safe {
    fn sources(&self) -> Vec<LiveSource> {
        let more = self.more.iter().cloned();
        [LiveSource::Secret(credentials())].into_iter().chain(more).collect()
    }

    fn files(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    async fn reload(&self, data: &LiveData) -> cloud::Result<Vec<String>> {
        let password = String::from_utf8(data.secrets[&credentials()]["password"].clone()).unwrap();
        let mut state = self.state();
        state.data = data.clone();
        state.tried.push(password.clone());
        if password != state.right {
            return Err(cloud::Error::invalid("password", "it is wrong"));
        }
        state.in_use = password;
        Ok(Vec::new())
    }

    async fn refused(&self) {
        self.refused.notified().await;
    }
}

/// An API server with one Secret, the namespace kube-system and the `ConfigMap`s that were created, whose watches never say
/// anything.
#[derive(Clone, Default)]
struct Server {
    password: Arc<Mutex<&'static str>>,
    maps: Arc<Mutex<BTreeMap<String, Value>>>,
}

impl Server {
    fn client(&self) -> kube::Client {
        let server = self.clone();
        let answer = move |request: Request<Body>| {
            let server = server.clone();
            async move {
                let query = request.uri().query().unwrap_or_default();
                if query.contains("watch=") {
                    std::future::pending::<()>().await;
                }
                let (head, body) = request.into_parts();
                let body = body.collect_bytes().await.unwrap();
                let (status, body) = server.answer(&head.method, &head.uri, &body);
                let body = Body::from(body.to_string().into_bytes());
                Ok::<_, kube::Error>(Response::builder().status(status).body(body).unwrap())
            }
        };
        kube::Client::new(tower::service_fn(answer), "default")
    }

    fn set(&self, password: &'static str) {
        *self.password.lock().unwrap() = password;
    }

    fn secret(&self) -> Value {
        let data = k8s_openapi::ByteString(self.password.lock().unwrap().as_bytes().to_vec());
        let metadata = json!({"name": "credentials", "namespace": "kube-system", "resourceVersion": "1"});
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {"password": data}})
    }

    fn answer(&self, method: &http::Method, uri: &http::Uri, body: &[u8]) -> (u16, Value) {
        let (folder, name) = uri.path().rsplit_once('/').unwrap();
        let query = uri.query().unwrap_or_default();
        let mut maps = self.maps.lock().unwrap();
        match (method.as_str(), folder.rsplit('/').next().unwrap(), name) {
            ("GET", "secrets", _) => (200, self.secret()),
            ("GET", "namespaces", "kube-system") => (200, json!({"metadata": {"name": name, "uid": "1-2-3"}})),
            ("GET", "configmaps", name) if maps.contains_key(name) => (200, maps[name].clone()),
            ("GET", _, "secrets") => (200, list("Secret", &[self.secret()])),
            ("GET", _, "configmaps") => {
                let is_one = |name: &&String| query.contains(&format!("metadata.name%3D{name}"));
                let found = maps.keys().filter(is_one).map(|name| maps[name].clone());
                (200, list("ConfigMap", &found.collect::<Vec<_>>()))
            }
            ("POST", _, "configmaps") => {
                let mut new: Value = serde_json::from_slice(body).unwrap();
                new["metadata"]["resourceVersion"] = json!("1");
                let name = new["metadata"]["name"].as_str().unwrap().to_owned();
                maps.insert(name, new.clone());
                (201, new)
            }
            _ => (
                404,
                json!({"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404}),
            ),
        }
    }
}

fn list(kind: &str, items: &[Value]) -> Value {
    let kind = format!("{kind}List");
    json!({"apiVersion": "v1", "kind": kind, "metadata": {"resourceVersion": "1"}, "items": items})
}

fn follower(provider: Arc<Safe>, server: &Server) -> (Follower, watch::Receiver<bool>) {
    let (accepted, receiver) = watch::channel(false);
    let follower = Follower {
        provider,
        client: server.client(),
        recorder: Recorder::new("test", tokio::sync::mpsc::channel(100).0),
        changed: Arc::default(),
        watch_refusals_from: Instant::now(),
        sources: Vec::new(),
        reloads: register(&prometheus::Registry::new()).unwrap(),
        accepted,
        problem: watch::channel(None).0,
        reloaded: watch::Sender::new(0),
    };
    (follower, receiver)
}

#[tokio::test(start_paused = true)]
async fn refused_credentials_are_read_again_without_a_change_notification() {
    let (safe, server) = (Safe::new(), Server::default());
    server.set("old");
    let (follower, mut accepted) = follower(safe.clone(), &server);
    let running = tokio::spawn(follower.run());
    accepted.wait_for(|accepted| *accepted).await.unwrap();

    server.set("new");
    tokio::time::sleep(LAST_RETRY).await;
    assert_eq!(safe.tried(), ["old"], "the watch reported it");
    safe.state().right = "new";
    safe.call();
    let began = Instant::now();
    while safe.state().in_use != "new" {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(began.elapsed() < FIRST_RETRY, "{:?}", began.elapsed());
    assert_eq!(safe.tried(), ["old", "new"]);
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn refused_credentials_are_not_read_again_for_every_call() {
    const CALLS: u64 = 6_000;
    let (safe, server) = (Safe::new(), Server::default());
    server.set("old");
    let (follower, mut accepted) = follower(safe.clone(), &server);
    let running = tokio::spawn(follower.run());
    accepted.wait_for(|accepted| *accepted).await.unwrap();
    safe.state().right = "new";
    for _ in 0..CALLS {
        safe.call();
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let tried = safe.tried().len();
    // The first ones come in quick succession, in case the two changes were made one after the other.
    assert!((30..=70).contains(&tried), "{tried} times in ten minutes");
    assert_eq!(safe.state().in_use, "old", "what does not work was taken over");

    server.set("new");
    safe.call();
    tokio::time::sleep(BETWEEN_REFUSALS).await;
    assert_eq!(safe.state().in_use, "new");
    running.abort();
}

fn map(name: &str, create: Option<&str>) -> LiveSource {
    LiveSource::ConfigMap {
        object: ObjectRef::new("kube-system", name),
        create: create.map(|uid| [("uid".to_owned(), uid.to_owned())].into()),
    }
}

#[tokio::test(start_paused = true)]
async fn all_sources_are_read_and_what_is_missing_is_created() {
    let server = Server::default();
    server.set("old");
    let there = json!({"metadata": {"name": "there", "resourceVersion": "1"}, "data": {"uid": "theirs"}});
    server.maps.lock().unwrap().insert("there".to_owned(), there);
    let safe = Safe::with([
        map("there", Some("mine")),
        map("new", Some("mine")),
        LiveSource::NamespaceUid("kube-system".to_owned()),
    ]);
    let (follower, mut accepted) = follower(safe.clone(), &server);
    let running = tokio::spawn(follower.run());
    accepted.wait_for(|accepted| *accepted).await.unwrap();
    running.abort();
    let LiveData {
        secrets,
        config_maps,
        namespace_uids,
    } = safe.state().data.clone();
    assert_eq!(secrets[&credentials()]["password"], b"old");
    let uids: Vec<_> = config_maps
        .iter()
        .map(|(which, data)| format!("{which}={}", data["uid"]))
        .collect();
    assert_eq!(uids, ["kube-system/new=mine", "kube-system/there=theirs"]);
    assert_eq!(namespace_uids["kube-system"], "1-2-3");
    assert!(server.maps.lock().unwrap().contains_key("new"));
}

#[rstest]
#[case::config_map(
    map("absent", None),
    "ConfigMap kube-system/absent does not exist: create it, or correct the configuration that names it"
)]
#[case::namespace(LiveSource::NamespaceUid("absent".to_owned()), "Namespace absent does not exist")]
#[tokio::test(start_paused = true)]
async fn a_source_that_is_missing_is_a_problem(#[case] source: LiveSource, #[case] expected: &str) {
    let server = Server::default();
    server.set("old");
    let safe = Safe::with([source]);
    let (mut follower, _accepted) = follower(safe.clone(), &server);
    let (problem, mut problems) = watch::channel(None);
    follower.problem = problem;
    let running = tokio::spawn(follower.run());
    let problem = problems.wait_for(Option::is_some).await.unwrap().clone();
    running.abort();
    assert_eq!((problem.as_deref(), safe.tried()), (Some(expected), Vec::new()));
}

/// Follows by doing this.
fn following(accepted: watch::Receiver<bool>, task: impl Future<Output = ()> + Send + 'static) -> Following {
    let mut tasks = JoinSet::new();
    tasks.spawn(task);
    Following {
        accepted,
        cancel: CancellationToken::new(),
        tasks,
    }
}

#[tokio::test]
async fn a_requested_stop_is_not_a_failure() {
    let stop = CancellationToken::new();
    let (sender, accepted) = watch::channel(false);
    let mut waiting = following(accepted, std::future::pending());
    stop.cancel();
    assert_eq!(waiting.accepted(&stop).await, Ok(First::Stop));
    drop(sender);

    let (sender, accepted) = watch::channel(false);
    let mut dying = following(accepted, async move {
        let _told = sender;
        panic!("on purpose")
    });
    let message = dying.accepted(&CancellationToken::new()).await.unwrap_err();
    assert!(
        message.starts_with("the watch on the configuration of the cloud failed: ") && message.contains("on purpose"),
        "{message}"
    );
}

#[tokio::test]
async fn work_stops_in_order_when_no_follower_is_left() {
    let mut dying = following(watch::channel(true).1, async { panic!("on purpose") });
    let stop = CancellationToken::new();
    let mut finished = false;
    let work = async {
        stop.cancelled().await;
        finished = true;
        Ok(())
    };
    let message = dying.beside(work, &stop).await.unwrap_err();
    assert!(message.contains("on purpose"), "{message}");
    assert!(finished, "the work was cut off");
}
