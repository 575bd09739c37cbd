//! A client whose requests can be counted and refused.

use http::{Request, Response, StatusCode};
use kube::{Client, client::Body};
use runtime::{client::Failure, fence::Fenced};
use serde_json::json;
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

/// What a client asks of the API server. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Wire {
    patches: Arc<Mutex<Vec<String>>>,
    refusals: Arc<Mutex<VecDeque<(StatusCode, &'static str)>>>,
}

impl Wire {
    /// A client to this API server.
    pub fn to(&self, server: Client) -> Client {
        let wire = self.clone();
        let send = move |request: Request<Body>| {
            let refusal = wire.heed(&request);
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

    /// A client to nowhere: whatever it is asked for, the test fails.
    pub fn nowhere() -> Client {
        let send = |request: Request<Body>| async move {
            panic!("nobody was to ask for {} {}", request.method(), request.uri());
            #[expect(unreachable_code, reason = "says the type")]
            Ok::<Response<Body>, kube::Error>(Response::new(Body::empty()))
        };
        Client::new(tower::service_fn(send), "default")
    }

    /// The client of a replica that may not write any more.
    pub fn fenced() -> Client {
        let send = |_: Request<Body>| async move { Err::<Response<Body>, _>(Failure::Fenced(Fenced)) };
        Client::new(tower::service_fn(send), "default")
    }

    /// The paths that were patched so far, oldest first.
    pub fn patches(&self) -> Vec<String> {
        self.patches.lock().unwrap().clone()
    }

    pub fn forget(&self) {
        self.patches.lock().unwrap().clear();
    }

    /// Refuses the next patch.
    pub fn refuse(&self, code: u16, reason: &'static str) {
        self.refusals
            .lock()
            .unwrap()
            .push_back((StatusCode::from_u16(code).unwrap(), reason));
    }

    fn heed(&self, request: &Request<Body>) -> Option<(StatusCode, &'static str)> {
        if request.method() != http::Method::PATCH {
            return None;
        }
        self.patches.lock().unwrap().push(request.uri().path().to_owned());
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
