//! How a server is reached and trusted, as Go does it: what the API server and a cloud have in common.
//!
//! Read [`Verifier`] first: whose certificates are believed; then [`Environment`]: which way leads to whom;
//! then [`pair()`]: who we say we are.

mod anything;
mod environment;
mod exceptions;
mod pair;
mod roots;
mod verifier;

pub use anything::Anything;
pub use environment::{Environment, Proxy};
pub use exceptions::Exceptions;
pub use pair::pair;
pub use roots::Roots;
pub use verifier::Verifier;
