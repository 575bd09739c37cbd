//! The controllers: node, node lifecycle, service, route, node IPAM and node firewall.
//!
//! Each of them has the same parts, as far as it needs them: `options` (its settings), `spec` (what an object asks for),
//! `plan` (the decision, pure), `reconcile` (observe, plan, act), `write` (calls to the API server), `status` (what it
//! reports on the object), `state` (what it remembers of the object) and `controller` (the run loop).

mod api_server;
mod cloud_call;
mod ip;
pub mod node;
pub mod node_firewall;
pub mod node_ipam;
pub mod node_lifecycle;
pub mod node_tags;
pub mod nodes;
mod requeue;
pub mod route;
pub mod service;
mod trim;
