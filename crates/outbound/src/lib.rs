//! TLS trust and proxy selection for outbound connections, to the API server and to a cloud, as in Go.
//!
//! Read [`Verifier`] first: which server certificates are trusted; then [`Environment`]: which proxy is used;
//! then [`pair()`]: the client certificate.

mod accept_any;
mod environment;
mod exceptions;
mod pair;
mod pinned;
mod roots;
mod verifier;

pub use accept_any::AcceptAny;
pub use environment::{Environment, Proxy};
pub use exceptions::Exceptions;
pub use pair::pair;
pub use pinned::{Pinned, Thumbprint};
pub use roots::Roots;
pub use verifier::Verifier;
