//! Why a client is not authenticated.

use crate::serve::review;
use x509_parser::{error::X509Error, nom};

/// Why a client is not authenticated, for the log.
#[derive(Debug, Clone, thiserror::Error)]
pub(in crate::serve) enum Rejection {
    /// The certificate does not end in a trusted authority, is not valid now, or is not for clients.
    #[error("verifying the client certificate failed: {0}")]
    Certificate(rustls::Error),
    /// The same for the certificate of a front proxy.
    #[error("not a front proxy: {0}")]
    Proxy(rustls::Error),
    /// The certificate of a front proxy has another common name.
    #[error("x509: subject with cn={0} is not in the allowed list")]
    ProxyName(String),
    /// The certificate cannot be parsed.
    #[error("cannot read the client certificate: {0}")]
    Malformed(nom::Err<X509Error>),
    /// The certificate has an invalid UID.
    #[error("{0}")]
    Uid(&'static str),
    /// The API server does not know the token.
    #[error("invalid bearer token")]
    Token,
    /// The API server did not review the token, or reported an error.
    #[error(transparent)]
    Review(#[from] review::Error),
    /// Several methods failed.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    All(Vec<Self>),
}
