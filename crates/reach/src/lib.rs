//! How a server is reached and trusted, as Go does it: what the API server and a cloud have in common.
//!
//! Read [`Verifier`] first: whose certificates are believed.

mod anything;
mod roots;
mod verifier;

pub use anything::Anything;
pub use roots::Roots;
pub use verifier::Verifier;
