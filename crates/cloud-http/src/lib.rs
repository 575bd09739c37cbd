//! The one way to talk to a cloud over HTTP.
