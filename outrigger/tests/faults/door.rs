//! A way into a cloud that keeps a list of who came in: each replica has its own.

use memory::{
    Cloud, Server,
    server::{Handler, Request, Response},
};
use std::{
    sync::{Arc, Mutex},
    time::Instant,
};

/// What changes a cloud, or would if there were anything to change.
const WRITES: [&str; 5] = [
    "/v1/load-balancers/ensure",
    "/v1/load-balancers/update-hosts",
    "/v1/load-balancers/delete",
    "/v1/routes/create",
    "/v1/routes/delete",
];

/// One server of a cloud, for one replica.
pub struct Door {
    url: String,
    asked: Asked,
    _server: Server,
}

type Asked = Arc<Mutex<Vec<(Instant, String)>>>;

/// The cloud behind the list.
#[derive(Clone)]
struct Listed {
    cloud: Cloud,
    asked: Asked,
}

impl Handler for Listed {
    async fn handle(&self, request: Request) -> Response {
        let path = format!("/{}", request.path.join("/"));
        self.asked.lock().unwrap().push((Instant::now(), path));
        self.cloud.handle(request).await
    }
}

impl Door {
    /// Opens one more door to this cloud.
    pub async fn open(cloud: &Cloud) -> Self {
        let asked = Asked::default();
        let listed = Listed {
            cloud: cloud.clone(),
            asked: Arc::clone(&asked),
        };
        let server = Server::start(&listed).await.unwrap();
        Self {
            url: server.url(),
            asked,
            _server: server,
        }
    }

    /// Where it is.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// All that was asked for by this door to change the cloud, oldest first.
    pub fn writes(&self) -> Vec<String> {
        self.timed_writes().into_iter().map(|(_, path)| path).collect()
    }

    /// The same, of what came after this moment.
    pub fn writes_after(&self, moment: Instant) -> Vec<String> {
        let late = self.timed_writes().into_iter().filter(|(at, _)| *at > moment);
        late.map(|(_, path)| path).collect()
    }

    fn timed_writes(&self) -> Vec<(Instant, String)> {
        let asked = self.asked.lock().unwrap();
        let writes = asked.iter().filter(|(_, path)| WRITES.contains(&path.as_str()));
        writes.cloned().collect()
    }
}
