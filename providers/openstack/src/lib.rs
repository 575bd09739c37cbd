//! `OpenStack`: Nova machines, Octavia load balancers, Neutron routes.
//!
//! Read `provider` first. [`config`] is what `cloud.conf` and `clouds.yaml` say, `api` has one method an endpoint, and
//! `instances`, `load_balancers` and `routes` are the contract's three parts: observe, plan purely, act.

pub mod api;
pub mod config;
pub mod instances;
pub mod load_balancers;
pub mod metrics;
pub mod provider;
pub mod routes;
