//! A stand-in for the API of the Acme cloud: `acme-api ADDRESS SERVER…`.

use axum::{
    Json, Router,
    extract::{Path, State},
    http::StatusCode,
    routing::get,
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, env, io, sync::Arc};
use tokio::{net::TcpListener, sync::Mutex};

/// Everything there is, by kind and ID.
type Objects = Arc<Mutex<BTreeMap<(String, String), Value>>>;
type Key = Path<(String, String)>;

#[tokio::main]
async fn main() -> io::Result<()> {
    let mut arguments = env::args().skip(1);
    let listener = TcpListener::bind(arguments.next().unwrap_or_default()).await?;
    println!("the Acme cloud is at http://{}", listener.local_addr()?);
    let servers = (1..).zip(arguments).map(|(number, name)| {
        let (id, address) = (format!("server-{number}"), format!("10.0.0.{number}"));
        let server = json!({"id": id, "name": name, "zone": "zone-a", "running": true, "address": address});
        (("servers".to_owned(), id), server)
    });
    let objects: Objects = Arc::new(Mutex::new(servers.collect()));
    let routes = Router::new().route("/{kind}", get(list)).route("/{kind}/{id}", get(find).put(put).delete(delete));
    axum::serve(listener, routes.with_state(objects)).await
}

async fn list(State(objects): State<Objects>, Path(kind): Path<String>) -> Json<Value> {
    Json(objects.lock().await.iter().filter(|(key, _)| key.0 == kind).map(|(_, object)| object.clone()).collect())
}

async fn find(State(objects): State<Objects>, Path(key): Key) -> (StatusCode, Json<Value>) {
    answer(objects.lock().await.get(&key).cloned())
}

async fn put(State(objects): State<Objects>, Path(key): Key, Json(mut object): Json<Value>) -> StatusCode {
    let mut objects = objects.lock().await;
    if object["address"].is_null() {
        object["address"] = json!(format!("203.0.113.{}", objects.len()));
    }
    objects.insert(key, object);
    StatusCode::NO_CONTENT
}

async fn delete(State(objects): State<Objects>, Path(key): Key) -> (StatusCode, Json<Value>) {
    answer(objects.lock().await.remove(&key))
}

/// A 404 has a body in JSON: a client distinguishes the cloud's own answers from those of a proxy by it.
fn answer(object: Option<Value>) -> (StatusCode, Json<Value>) {
    let missing = || (StatusCode::NOT_FOUND, Json(json!({"error": "it does not exist"})));
    object.map_or_else(missing, |object| (StatusCode::OK, Json(object)))
}
