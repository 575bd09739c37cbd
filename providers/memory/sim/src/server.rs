//! A memory cloud over HTTP, for other processes: the demo, the benchmark, programs in other languages.
//!
//! The server listens on loopback only: it does not authenticate clients.
//!
//! `POST /v1/<call>` is a call of the contract. The body is its argument (several arguments are an array), the response its result, both
//! in the JSON of the contract's own types. A call that fails as a whole has another status than 200 and the body `{"error": Error}`.
//!
//! | call | body | response |
//! |---|---|---|
//! | `describe` | `[[NodeRef], Detail]` | `[Result<Answer>]` |
//! | `find_load_balancer` | `Spec` | `Status` or `null` |
//! | `ensure_load_balancer`, `update_hosts` | `Spec` | `Progress<Status>` |
//! | `delete_load_balancer` | `Spec` | `Progress<()>` |
//! | `owned_load_balancers` | the cluster | `[Owned]` |
//! | `list_routes` | the cluster | `[Route]` |
//! | `create_routes` | `[the cluster, [NewRoute]]` | `[Result<()>]` |
//! | `delete_routes` | `[the cluster, [Route]]` | `[Result<()>]` |
//!
//! `GET /state` shows all machines, load balancers and routes.

use crate::{Balancer, Cloud, Garbage, Memory, Phase, fault::Garbled};
use cloud::{Error, Instances, LoadBalancers, NewRoute, NodeRef, Route, Routes};
use fakecloud::{Handler, Request, Response};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json, to_value};
use std::time::Duration;

/// An error is a call that failed as a whole.
type Answer = cloud::Result<Response>;

impl Handler for Cloud {
    async fn handle(&self, request: Request) -> Response {
        let answer = match request.route() {
            ("POST", path) if path.len() == 2 && path[0] == "v1" => call(&Memory::new(self), path[1], &request).await,
            ("GET", path) if path == ["state"] => Ok(Response::ok(state(self))),
            _ => Ok(Response::empty(404)),
        };
        answer.unwrap_or_else(|error| failed(&error))
    }
}

async fn call(memory: &Memory, call: &str, request: &Request) -> Answer {
    match call {
        "describe" => {
            let (nodes, detail): (Vec<NodeRef>, _) = parse(request)?;
            batch(memory.describe(&nodes, detail).await)
        }
        "find_load_balancer" => memory.find(&parse(request)?).await.map(Response::ok),
        "ensure_load_balancer" => memory
            .ensure(&parse(request)?)
            .await
            .map(|noted| Response::ok(noted.answer)),
        "update_hosts" => {
            let noted = memory.update_hosts(&parse(request)?).await?;
            Ok(Response::ok(noted.answer))
        }
        "delete_load_balancer" => {
            let noted = LoadBalancers::delete(memory, &parse(request)?).await?;
            Ok(Response::ok(noted.answer))
        }
        "owned_load_balancers" => memory.owned(&parse::<String>(request)?).await.map(Response::ok),
        "list_routes" => memory.list(&parse::<String>(request)?).await.map(Response::ok),
        "create_routes" => {
            let (cluster, routes): (String, Vec<NewRoute>) = parse(request)?;
            batch(memory.create(&cluster, &routes).await)
        }
        "delete_routes" => {
            let (cluster, routes): (String, Vec<Route>) = parse(request)?;
            batch(Routes::delete(memory, &cluster, &routes).await)
        }
        _ => Ok(Response::empty(404)),
    }
}

fn parse<T: DeserializeOwned>(request: &Request) -> cloud::Result<T> {
    let invalid = |error: serde_json::Error| Error::invalid("body", error.to_string());
    request.parse().map_err(invalid)
}

/// If every answer is the same error, the call failed as a whole.
fn batch<T: Serialize>(answers: Vec<cloud::Result<T>>) -> Answer {
    let error = |answer: &cloud::Result<T>| answer.as_ref().err().and_then(|error| to_value(error).ok());
    let first = answers.first().and_then(error);
    match answers.first() {
        Some(Err(same)) if answers.iter().all(|answer| error(answer) == first) => Err(same.clone()),
        _ => Ok(Response::ok(answers)),
    }
}

fn failed(error: &Error) -> Response {
    if let Some(garbage) = garbage(error) {
        return invalid(garbage);
    }
    let response = Response::json(status(error), json!({ "error": error }));
    match error {
        Error::Throttled {
            retry_after: Some(wait),
            ..
        } => response.header("Retry-After", seconds(*wait)),
        _ => response,
    }
}

/// In whole seconds, rounded up.
fn seconds(wait: Duration) -> String {
    wait.as_millis().div_ceil(1000).to_string()
}

fn status(error: &Error) -> u16 {
    match error {
        Error::NotFound { .. } => 404,
        Error::Invalid { .. } => 422,
        Error::Unusable { .. } | Error::ImplementedElsewhere | Error::NotLeader => 409,
        Error::Throttled { .. } => 429,
        Error::Denied { .. } | Error::Quota { .. } => 403,
        Error::NotSupported { .. } => 501,
        _ => 503,
    }
}

fn garbage(error: &Error) -> Option<Garbage> {
    let Error::Unavailable { source, .. } = error else {
        return None;
    };
    source.downcast_ref::<Garbled>().map(|garbled| garbled.0)
}

fn invalid(garbage: Garbage) -> Response {
    let json = |body: &'static str| Response::new(200, "application/json", body);
    match garbage {
        Garbage::NotJson => json("<html><body>It works!</body></html>"),
        Garbage::WrongShape => json(r#"{"answers": "forty-two", "status": 42}"#),
        Garbage::Empty => json(""),
        Garbage::Truncated => json(r#"[{"Ok": "Missing"}]"#).truncated(),
    }
}

fn state(cloud: &Cloud) -> Value {
    let balancers: Vec<Value> = cloud.load_balancers().iter().map(balancer).collect();
    json!({"machines": cloud.machines(), "load_balancers": balancers, "routes": cloud.all_routes()})
}

fn balancer(balancer: &Balancer) -> Value {
    let phase = match balancer.phase {
        Phase::Provisioning { .. } => "provisioning",
        Phase::Ready => "ready",
        Phase::Deleting { .. } => "deleting",
    };
    json!({
        "id": balancer.id, "name": balancer.name, "cluster": balancer.cluster, "service": balancer.service, "ips": balancer.ips,
        "ports": balancer.ports, "hosts": balancer.host_names(), "source_ranges": balancer.source_ranges, "phase": phase,
    })
}
