use super::*;
use async_trait::async_trait;
use cloud::{Instances, Provider, SecretRef};
use http::{Request, Response};
use kube::client::Body;
use memory::{Cloud, Memory};
use serde_json::{Value, json};
use std::sync::{Mutex, MutexGuard};

/// A cloud that accepts one password, and is told by its sources which one to use.
struct Safe {
    memory: Memory,
    state: Mutex<State>,
    refused: Notify,
}

struct State {
    right: &'static str,
    in_use: String,
    /// What it was reloaded with.
    tried: Vec<String>,
}

impl Safe {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            memory: Memory::new(&Cloud::new()),
            state: Mutex::new(State {
                right: "old",
                in_use: String::new(),
                tried: Vec::new(),
            }),
            refused: Notify::new(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Somebody asks the cloud for something.
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
    fn secret(&self) -> Option<SecretRef> {
        Some(SecretRef {
            namespace: "kube-system".to_owned(),
            name: "credentials".to_owned(),
        })
    }

    fn files(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    async fn reload(&self, secret: Option<&SecretData>) -> cloud::Result<Vec<String>> {
        let password = String::from_utf8(secret.unwrap()["password"].clone()).unwrap();
        let mut state = self.state();
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

/// An API server with one Secret, whose watches never say anything.
#[derive(Clone, Default)]
struct Server(Arc<Mutex<&'static str>>);

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
                let is_one = request.uri().path().ends_with("/credentials");
                let body = if is_one { server.secret() } else { server.list() };
                Ok::<_, kube::Error>(Response::new(Body::from(body.to_string().into_bytes())))
            }
        };
        kube::Client::new(tower::service_fn(answer), "default")
    }

    fn set(&self, password: &'static str) {
        *self.0.lock().unwrap() = password;
    }

    fn secret(&self) -> Value {
        let data = k8s_openapi::ByteString(self.0.lock().unwrap().as_bytes().to_vec());
        let metadata = json!({"name": "credentials", "namespace": "kube-system", "resourceVersion": "1"});
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {"password": data}})
    }

    fn list(&self) -> Value {
        let items = [self.secret()];
        json!({"apiVersion": "v1", "kind": "SecretList", "metadata": {"resourceVersion": "1"}, "items": items})
    }
}

fn follower(provider: Arc<Safe>, server: &Server) -> (Follower, watch::Receiver<bool>) {
    let (accepted, receiver) = watch::channel(false);
    let follower = Follower {
        provider,
        secrets: server.client(),
        recorder: Recorder::new("test", tokio::sync::mpsc::channel(100).0),
        changed: Arc::default(),
        heed_refusals: Instant::now(),
        secret: None,
        reloads: register(&prometheus::Registry::new()).unwrap(),
        accepted,
        problem: watch::channel(None).0,
        reloaded: watch::Sender::new(0),
    };
    (follower, receiver)
}

// openstack.md §1.8, item 5
#[tokio::test(start_paused = true)]
async fn refused_credentials_are_read_anew_though_nobody_told_of_a_change() {
    let (safe, server) = (Safe::new(), Server::default());
    server.set("old");
    let (follower, mut accepted) = follower(safe.clone(), &server);
    let running = tokio::spawn(follower.run());
    accepted.wait_for(|accepted| *accepted).await.unwrap();

    server.set("new");
    tokio::time::sleep(LAST_RETRY).await;
    assert_eq!(safe.tried(), ["old"], "the watch told of it");
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
async fn refused_credentials_are_not_read_anew_for_every_call() {
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
async fn an_order_to_stop_is_not_an_end_by_itself() {
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
    let said = dying.accepted(&CancellationToken::new()).await.unwrap_err();
    assert!(
        said.starts_with("what follows the configuration of the cloud failed: ") && said.contains("on purpose"),
        "{said}"
    );
}

#[tokio::test]
async fn work_stops_in_order_when_nobody_follows_any_more() {
    let mut dying = following(watch::channel(true).1, async { panic!("on purpose") });
    let stop = CancellationToken::new();
    let mut finished = false;
    let work = async {
        stop.cancelled().await;
        finished = true;
        Ok(())
    };
    let said = dying.beside(work, &stop).await.unwrap_err();
    assert!(said.contains("on purpose"), "{said}");
    assert!(finished, "the work was cut off");
}
