//! A way to the API server that counts writes, and that closes behind one of them.

use super::{Folder, Manager};
use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    response::Response,
};
use http::{HeaderMap, Method, header};
use kube::Client;
use serde_json::json;
use std::{
    net::Ipv4Addr,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};

/// More than a request of ours ever is.
const LIMIT: usize = 1 << 22;

/// One way to the API server.
pub struct Door {
    /// What those use who go this way.
    pub kubeconfig: PathBuf,
    hall: Hall,
    task: JoinHandle<()>,
}

#[derive(Clone)]
struct Hall {
    server: Client,
    writes: Arc<Mutex<Vec<String>>>,
    /// How many more writes pass before the last one; without a number all do.
    left: Arc<Mutex<Option<usize>>>,
    /// Whether the last write is under way: no other passes beside it.
    closing: Arc<AtomicBool>,
    closed: Arc<watch::Sender<bool>>,
}

impl Door {
    /// How often it is looked whether everything is done.
    pub const STEP: Duration = Duration::from_millis(60);

    /// Opens a way to an API server; its file is in this folder.
    pub async fn to(server: &Client, folder: &Folder) -> Self {
        let hall = Hall {
            server: server.clone(),
            writes: Arc::default(),
            left: Arc::default(),
            closing: Arc::default(),
            closed: Arc::new(watch::Sender::new(false)),
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(pass).with_state(hall.clone());
        let task = tokio::spawn(async { axum::serve(listener, router).await.unwrap() });
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "lab",
            "clusters": [{"name": "lab", "cluster": {"server": url}}],
            "users": [{"name": "lab", "user": {}}],
            "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "lab"}}],
        });
        Self {
            kubeconfig: folder.write(&format!("{}.kubeconfig", lab::unique("door")), &config.to_string()),
            hall,
            task,
        }
    }

    /// What was written so far, oldest first.
    pub fn writes(&self) -> Vec<String> {
        self.hall.writes.lock().unwrap().clone()
    }

    /// Closes behind one write, after so many others: that one is done, and nobody hears of it or of anything later.
    pub fn close_after(&self, writes: usize) {
        *self.hall.left.lock().unwrap() = Some(writes);
    }

    /// Whether it has closed.
    pub fn is_closed(&self) -> bool {
        *self.hall.closed.borrow()
    }

    /// Waits until it has closed.
    pub async fn closed(&self) {
        let mut closed = self.hall.closed.subscribe();
        closed.wait_for(|closed| *closed).await.unwrap();
    }

    /// Kills a process that goes this way behind one write, after so many others; false if everything was done before.
    pub async fn kill_behind(
        &self,
        write: usize,
        start: impl FnOnce() -> Manager,
        is_done: impl AsyncFn() -> bool,
    ) -> bool {
        self.close_after(write);
        let process = start();
        let (mut quiet, mut seen) = (0, 0);
        while !self.is_closed() && quiet < 10 {
            tokio::time::sleep(Self::STEP).await;
            let (done, writes) = (is_done().await, self.writes().len());
            quiet = if done && writes == seen { quiet + 1 } else { 0 };
            seen = writes;
        }
        process.signal("KILL");
        process.exited().await;
        let closed = self.is_closed();
        self.reopen();
        closed
    }

    /// Opens it again.
    pub fn reopen(&self) {
        *self.hall.left.lock().unwrap() = None;
        self.hall.closing.store(false, Ordering::SeqCst);
        self.hall.closed.send_replace(false);
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Hall {
    /// Counts a write that passes.
    fn count(&self, what: String) -> Passage {
        let mut left = self.left.lock().unwrap();
        let passage = match &mut *left {
            Some(0) if self.closing.swap(true, Ordering::SeqCst) => return Passage::Never,
            Some(0) => Passage::Last,
            Some(more) => {
                *more -= 1;
                Passage::Free
            }
            None => Passage::Free,
        };
        self.writes.lock().unwrap().push(what);
        passage
    }

    async fn forward(&self, request: Request) -> Response {
        let (mut parts, body) = request.into_parts();
        strip(&mut parts.headers);
        let bytes = axum::body::to_bytes(body, LIMIT).await.unwrap();
        let request = http::Request::from_parts(parts, kube::client::Body::from(bytes.to_vec()));
        let (mut parts, body) = self.server.send(request).await.unwrap().into_parts();
        strip(&mut parts.headers);
        Response::from_parts(parts, Body::new(body))
    }
}

/// What becomes of a request.
#[derive(PartialEq, Eq)]
enum Passage {
    Free,
    /// It passes, and the door closes behind it.
    Last,
    Never,
}

async fn pass(State(hall): State<Hall>, request: Request) -> Response {
    let passage = if *hall.closed.borrow() {
        Passage::Never
    } else if is_write(&request) {
        hall.count(format!("{} {}", request.method(), request.uri().path()))
    } else {
        Passage::Free
    };
    if passage == Passage::Never {
        std::future::pending::<()>().await;
    }
    let answer = hall.forward(request).await;
    if passage == Passage::Last {
        hall.closed.send_replace(true);
        std::future::pending::<()>().await;
    }
    answer
}

/// Events are told in the background, and nothing waits for them.
fn is_write(request: &Request) -> bool {
    request.method() != Method::GET && !request.uri().path().contains("/events")
}

/// What is between two neighbours only.
fn strip(headers: &mut HeaderMap) {
    for name in [
        header::HOST,
        header::CONNECTION,
        header::CONTENT_LENGTH,
        header::TRANSFER_ENCODING,
    ] {
        headers.remove(name);
    }
}
