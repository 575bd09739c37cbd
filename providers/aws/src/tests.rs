//! The provider on a small fake of EC2, of the metadata service and of an agent that gives keys.

mod auth;
mod cluster;
mod faults;
mod fixture;
mod instances;
mod metrics;
mod permissions;
mod routes;
mod signature;
mod tagging;
