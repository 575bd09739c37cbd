//! A client whose patches are counted and can be refused.

use http::{Request, Response, StatusCode};
use kube::{Client, client::Body};
use runtime::{client::Failure, fence::Fenced};
use serde_json::json;
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

/// The patches of a client. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Patches {
    paths: Arc<Mutex<Vec<String>>>,
    refusals: Arc<Mutex<VecDeque<(StatusCode, &'static str)>>>,
}

impl Patches {
    /// A client to this API server.
    pub fn to(&self, server: Client) -> Client {
        let patches = self.clone();
        let send = move |request: Request<Body>| {
            let refusal = patches.record(&request);
            let server = server.clone();
            async move {
                match refusal {
                    Some(refusal) => Ok(refuse(refusal)),
                    None => server.send(request).await,
                }
            }
        };
        Client::new(tower::service_fn(send), "default")
    }

    /// A client without an API server: every request fails the test.
    pub fn none() -> Client {
        let send = |request: Request<Body>| async move {
            panic!("unexpected {} {}", request.method(), request.uri());
            #[expect(unreachable_code, reason = "for the type")]
            Ok::<Response<Body>, kube::Error>(Response::new(Body::empty()))
        };
        Client::new(tower::service_fn(send), "default")
    }

    /// The client of a replica that is not the leader any more.
    pub fn fenced() -> Client {
        let send = |_: Request<Body>| async move { Err::<Response<Body>, _>(Failure::Fenced(Fenced)) };
        Client::new(tower::service_fn(send), "default")
    }

    /// The paths of all patches, oldest first.
    pub fn all(&self) -> Vec<String> {
        self.paths.lock().unwrap().clone()
    }

    /// How many there were.
    pub fn count(&self) -> usize {
        self.paths.lock().unwrap().len()
    }

    pub fn clear(&self) {
        self.paths.lock().unwrap().clear();
    }

    /// Refuses the next patch.
    pub fn refuse(&self, code: u16, reason: &'static str) {
        self.refusals
            .lock()
            .unwrap()
            .push_back((StatusCode::from_u16(code).unwrap(), reason));
    }

    fn record(&self, request: &Request<Body>) -> Option<(StatusCode, &'static str)> {
        if request.method() != http::Method::PATCH {
            return None;
        }
        self.paths.lock().unwrap().push(request.uri().path().to_owned());
        self.refusals.lock().unwrap().pop_front()
    }
}

fn refuse((code, reason): (StatusCode, &'static str)) -> Response<Body> {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure",
        "code": code.as_u16(), "reason": reason, "message": format!("refused: {reason}"),
    });
    Response::builder()
        .status(code)
        .body(Body::from(status.to_string().into_bytes()))
        .unwrap()
}
