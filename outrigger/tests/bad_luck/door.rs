//! A way into a cloud that keeps a list of who came in: each replica has its own.

use axum::{extract::Request, middleware::map_request};
use memory::Cloud;
use std::{
    net::Ipv4Addr,
    sync::{Arc, Mutex},
    time::Instant,
};
use tokio::{net::TcpListener, task::JoinHandle};

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
    asked: Arc<Mutex<Vec<(Instant, String)>>>,
    task: JoinHandle<()>,
}

impl Door {
    /// Opens one more door to this cloud.
    pub async fn open(cloud: &Cloud) -> Self {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let list = asked.clone();
        let note = map_request(move |request: Request| {
            let path = request.uri().path().to_owned();
            list.lock().unwrap().push((Instant::now(), path));
            std::future::ready(request)
        });
        let router = memory::server::router(cloud).layer(note);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let serve = async { axum::serve(listener, router).await.unwrap() };
        let task = tokio::spawn(serve);
        Self { url, asked, task }
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

impl Drop for Door {
    fn drop(&mut self) {
        self.task.abort();
    }
}
