//! `OpenStack`: Nova machines, Octavia load balancers, Neutron routes.
//!
//! Start with `provider`. [`config`] reads `cloud.conf` and `clouds.yaml`, and `api` has one method for each endpoint. Instances, load balancers
//! and routes are in modules of their own.

pub mod api;
pub mod config;
pub mod instances;
pub mod load_balancers;
pub mod metrics;
pub mod provider;
pub mod routes;
