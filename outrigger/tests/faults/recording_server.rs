//! A server of the cloud that records requests: each replica has its own.

use fakecloud::{Handler, Request, Response};
use memory_sim::{Cloud, Server};
use std::{
    sync::{Arc, Mutex},
    time::Instant,
};

/// The calls that write.
const WRITES: [&str; 5] = [
    "/v1/ensure_load_balancer",
    "/v1/update_hosts",
    "/v1/delete_load_balancer",
    "/v1/create_routes",
    "/v1/delete_routes",
];

/// A server of the cloud for one replica.
pub struct RecordingServer {
    url: String,
    requests: Requests,
    _server: Server,
}

type Requests = Arc<Mutex<Vec<(Instant, String)>>>;

/// The cloud behind the server.
#[derive(Clone)]
struct Recorded {
    cloud: Cloud,
    requests: Requests,
}

impl Handler for Recorded {
    async fn handle(&self, request: Request) -> Response {
        let path = format!("/{}", request.path.join("/"));
        self.requests.lock().unwrap().push((Instant::now(), path));
        self.cloud.handle(request).await
    }
}

impl RecordingServer {
    /// Serves this cloud.
    pub async fn start(cloud: &Cloud) -> Self {
        let requests = Requests::default();
        let recorded = Recorded {
            cloud: cloud.clone(),
            requests: Arc::clone(&requests),
        };
        let server = Server::start(&recorded).await.unwrap();
        Self {
            url: server.url(),
            requests,
            _server: server,
        }
    }

    /// Its URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The paths of all requests that write, oldest first.
    pub fn writes(&self) -> Vec<String> {
        self.timed_writes().into_iter().map(|(_, path)| path).collect()
    }

    /// The same, of the requests after this moment.
    pub fn writes_after(&self, moment: Instant) -> Vec<String> {
        let late = self.timed_writes().into_iter().filter(|(at, _)| *at > moment);
        late.map(|(_, path)| path).collect()
    }

    fn timed_writes(&self) -> Vec<(Instant, String)> {
        let requests = self.requests.lock().unwrap();
        let writes = requests.iter().filter(|(_, path)| WRITES.contains(&path.as_str()));
        writes.cloned().collect()
    }
}
