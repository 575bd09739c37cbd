//! The controllers: node, node lifecycle, service, route, node IPAM.
mod answers;
mod ip;
mod kubectl;
pub mod node;
pub mod node_firewall;
pub mod node_ipam;
pub mod node_lifecycle;
pub mod nodes;
mod retry;
pub mod route;
pub mod service;
