//! The services, one method for each endpoint.
//!
//! Start with [`session::Session`]. Typed bodies have only the fields that are used; nothing here decides.

pub mod auth_url;
pub mod barbican;
pub mod call;
pub mod catalog;
pub mod fault;
pub mod keystone;
pub mod login;
pub mod neutron;
pub mod nova;
pub mod octavia;
pub mod project;
pub mod service;
pub mod session;

pub use call::{Call, Resource};
pub use service::Service;
pub use session::{ApiVersion, Deleted, Session, SessionContext};
