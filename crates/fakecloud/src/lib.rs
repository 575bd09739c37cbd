//! What every simulated cloud needs: an HTTP server, faults, latency, a clock, recording and paging.
//!
//! A fake implements [`Api`] for its state: one function that answers a [`Request`] with a [`Response`]. [`Cloud`] holds that
//! state, records every [`Call`], injects [`Fault`]s and [`Latency`], and moves the clock. [`Server`] serves it on loopback.
//!
//! ```
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! use fakecloud::{Api, Cloud, Fault, Now, Outcome, Page, Request, Response, Server, json};
//!
//! #[derive(Default)]
//! struct Machines(Vec<String>);
//!
//! impl Api for Machines {
//!     fn answer(&mut self, request: &Request, _: Now) -> Outcome {
//!         let (method, path) = request.route();
//!         match (method, path.as_slice()) {
//!             ("GET", ["v2", "machines"]) => {
//!                 let number = request.query.number("page").unwrap_or(1);
//!                 let page = Page::numbered(self.0.clone(), number, 20);
//!                 let next = page.links(request, "page").next;
//!                 Ok(Response::ok(json!({"machines": page.items, "total": page.total, "next": next})))
//!             }
//!             ("POST", ["v2", "machines"]) => {
//!                 let body = request.json().map_err(|error| Response::text(422, error.to_string()))?;
//!                 self.0.push(body["name"].as_str().unwrap_or_default().to_owned());
//!                 Ok(Response::json(201, &body))
//!             }
//!             _ => Err(Response::unknown(request)),
//!         }
//!     }
//! }
//!
//! let cloud = Cloud::new(Machines::default());
//! let server = Server::start(&cloud).await.unwrap();
//!
//! cloud.inject(Fault::status(503).retry_after("1").path("/v2/machines").times(1));
//! let mark = cloud.mark();
//! // … a client calls server.url() …
//! assert_eq!(cloud.calls_since(mark).len(), 0);
//! assert!(cloud.unknown().is_empty(), "every request is implemented");
//! assert!(cloud.read(|machines| machines.0.is_empty()));
//! # });
//! ```
//!
//! A cloud without HTTP implements [`Model`] in place of [`Api`] and uses [`Cloud::perform`] for each of its calls.

mod api;
mod clock;
mod cloud;
mod failure;
mod fault;
mod ids;
mod latency;
mod page;
mod query;
mod recorder;
mod request;
mod response;
mod server;

pub use api::{Api, Exchange};
pub use clock::Now;
pub use cloud::{Cloud, Model};
pub use failure::Failure;
pub use fault::{Access, Action, Fault, FaultId, Subject, Verdict};
pub use ids::Ids;
pub use latency::Latency;
pub use page::{Links, Page};
pub use query::Query;
pub use recorder::{Call, Details, Mark};
pub use request::{Request, path_matches};
pub use response::{Outcome, Response};
pub use serde_json::{Value, json};
pub use server::{Handler, Server};
