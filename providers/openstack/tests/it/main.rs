//! The provider on the simulation, and its page of evidence.

mod balancers;
mod documented;
mod fixture;
mod instances;
mod refused;
mod routes;
mod session;
