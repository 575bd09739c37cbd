//! A memory cloud over HTTP, for other processes: the demo, the benchmark, programs in other languages.
//!
//! All bodies are JSON. Unknown fields are refused; optional fields are marked `?`. The server listens on loopback only: it
//! does not authenticate clients.
//!
//! # The contract: `POST /v1/…`
//!
//! | path | request | response |
//! |---|---|---|
//! | `describe` | `{"detail"?: "full" or "liveness", "nodes": [Node]}` | `{"answers": [Answer]}` |
//! | `load-balancers/find` | `{"spec": Spec}` | `{"status": "found", "ingress": [Ingress]}` or `{"status": "missing"}` |
//! | `load-balancers/ensure`, `load-balancers/update-hosts` | `{"spec": Spec}` | `{"status": "ready", "ingress": [Ingress]}` or `{"status": "pending", "pollAfterMs": 1000, "waitingFor": "…"}` |
//! | `load-balancers/delete` | `{"spec": Spec}` | `{"status": "gone"}` or `pending` as above |
//! | `load-balancers/owned` | `{"cluster": "…"}` | `{"owned": [{"kind", "id", "name", "service"}]}` |
//! | `routes/list` | `{"cluster": "…"}` | `{"routes": [Route]}` |
//! | `routes/create` | `{"cluster": "…", "routes": [NewRoute]}` | `{"answers": [Written]}` |
//! | `routes/delete` | `{"cluster": "…", "routes": [Route]}` | `{"answers": [Written]}` |
//!
//! - `Node`: `{"name", "providerID"?, "systemUUID"?, "labels"?: {}, "annotations"?: {}}`
//! - `Answer`: `{"status": "found", "instance": Instance}`, `{"status": "missing"}`, `{"status": "notYet"}` or
//!   `{"status": "error", "error": Error}`; one a node, in order
//! - `Instance`: `{"providerID"?, "instanceType"?, "zone"?, "region"?, "addresses"?: [Address], "labels"?: {}, "power": "on",
//!   "off" or "unknown"}`
//! - `Address`: `{"type": "InternalIP", "address": "10.0.0.1"}`
//! - `Spec`: `{"cluster", "service": {"namespace", "name", "uid"}, "annotations"?: {}, "class"?, "ip"?, "ports"?: [Port],
//!   "sourceRanges"?: ["0.0.0.0/0"], "affinitySeconds"?, "traffic"?: "Cluster" or "Local", "healthCheckPort"?, "families"?:
//!   ["IPv4"], "externalIPs"?: [], "hosts"?: [Host], "ingress"?: [Ingress]}`
//! - `Port`: `{"name"?, "protocol"?: "TCP", "port": 80, "nodePort"?, "appProtocol"?}`
//! - `Host`: `{"name", "providerID"?, "addresses"?: [Address], "labels"?: {}}`
//! - `Ingress`: `{"ip"?, "hostname"?, "ipMode"?: "VIP" or "Proxy", "ports"?: [{"port", "protocol", "error"?}]}`
//! - `Route`: `{"name", "destination": "10.0.0.0/24", "target"?: "node", "blackhole" or "unknown", "node"?, "addresses"?: [Address]}`
//! - `NewRoute`: `{"hint"?, "node", "providerID"?, "addresses"?: [Address], "destination"}`
//! - `Written`: `{"status": "ok"}` or `{"status": "error", "error": Error}`; one a route, in order
//! - `Error`: `{"kind", "subject"?, "message"?, "afterMs"?}`. As an answer of its own it is `{"error": Error}` with an HTTP status:
//!   `notFound` 404, `invalid` 422, `pending`, `implementedElsewhere` 409, `throttled` 429 (with `Retry-After`, in whole
//!   seconds), `unavailable` 503, `denied`, `quota` 403, `notSupported` 501. A batch that fails as a whole is such an answer.
//!
//! # The cloud behind it: `/control/…`
//!
//! | request | effect |
//! |---|---|
//! | `GET state` | `{"instances": [Machine], "loadBalancers": [Balancer], "routes": [{"cluster", "routes": [Route]}]}` |
//! | `POST instances` | creates one `Machine`, or each of a list; answers `[Machine]` |
//! | `GET instances`, `GET instances/{name}` | lists, shows |
//! | `PATCH instances/{name}` | changes what is given, for example `{"power": "off"}`; answers `Machine` |
//! | `DELETE instances/{name}` | deletes; 404 if there is none |
//! | `GET load-balancers`, `GET routes` | these parts of the state |
//! | `POST routes` | `{"cluster", "routes": [Route]}` adds routes as they are, for example blackholes |
//! | `GET calls`, `GET calls?operation=describe` | `{"counts": {"describe": 1, …}, "calls": [Call]}` |
//! | `GET counts` | `{"describe": 1, …}` |
//! | `DELETE calls` | forgets calls and counts |
//! | `POST faults` | injects a `Fault`; answers `{"id": 0}` |
//! | `GET faults` | `[{"id", "fault": Fault}]` |
//! | `DELETE faults`, `DELETE faults/{id}` | withdraws all or one; calls that it holds up continue |
//! | `GET settings`, `PATCH settings` | `{"provisioningMs", "deletionMs", "autoCreate": false, "routeAddresses": false}` |
//!
//! - `Machine`: `{"name", "providerID"?, "instanceType"?, "zone"?, "region"?, "addresses"?: [Address], "labels"?: {}, "power"?,
//!   "readiness"?: "known" or "notYet"}`. `{"name": "node-1"}` alone creates a typical machine; `""` and `[]` are nothing.
//! - `Balancer`: `{"id", "name", "cluster", "service", "ips", "ports", "hosts": ["node-1"], "sourceRanges", "phase": "ready",
//!   "provisioning" or "deleting"}`
//! - `Call`: `{"number", "operation", "atMs", "tookMs"?, "detail"?, "cluster"?, "service"?, "names": [], "effect": "open",
//!   "nothing", "changed" or "failed", "changes": ["+host node-1"]}`
//! - `Fault`: exactly one of `{"delayMs": 100}`, `{"hang": true}`, `{"withhold": true}` and `{"fail": Error}`, with `"operations"?: ["describe"]`,
//!   `"subject"?: "node-1"` or `"default/web"`, and `"times"?: 3`. Besides the kinds of `Error`, `fail` knows
//!   `{"kind": "lostAnswer"}`, `{"kind": "afterSteps", "steps": 2}`, `{"kind": "blind"}` (nothing is found any more), and the
//!   answers that make no sense: `truncated`, `notJson`, `wrongShape`, `empty`.
//! - Operations: `describe`, `find-load-balancer`, `ensure-load-balancer`, `update-hosts`, `delete-load-balancer`,
//!   `owned-load-balancers`, `list-routes`, `create-routes`, `delete-routes`.

mod answer;
mod contract;
mod control;

use crate::{Cloud, Memory};
pub use fakecloud::{Handler, Request, Response};

/// The answer to a request; an error is a refusal.
type Answer = cloud::Result<Response>;

impl Handler for Cloud {
    async fn handle(&self, request: Request) -> Response {
        let (method, path) = request.route();
        let answer = match (method, path.as_slice()) {
            ("POST", ["v1", path @ ..]) => contract::answer(&Memory::new(self), path, &request).await,
            (_, ["control", path @ ..]) => control::answer(self, (method, path), &request),
            _ => Ok(Response::empty(404)),
        };
        answer.unwrap_or_else(|error| answer::refusal(&error))
    }
}
