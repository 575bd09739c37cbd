//! What an answer that says no means, where the status alone does not tell.

use cloud::Error;
use cloud_http::{Failure, http::StatusCode};
use serde::Deserialize;

/// Quotas: Neutron answers 409 with the type `OverQuota`, and 400 where a router has no room for more routes, Octavia 403
/// with words, Nova 403 or 413 with words.
pub(super) fn explain(failure: &Failure) -> Option<Error> {
    let quota = match failure.status() {
        StatusCode::CONFLICT => neutron_type(failure)? == "OverQuota",
        StatusCode::BAD_REQUEST => neutron_type(failure)? == "RoutesExhausted",
        StatusCode::FORBIDDEN | StatusCode::PAYLOAD_TOO_LARGE => failure.text().to_ascii_lowercase().contains("quota"),
        _ => false,
    };
    quota.then(|| Error::Quota {
        what: resource(failure),
        source: Box::new(failure.clone()),
    })
}

/// The type of Neutron's error, like `IpAddressGenerationFailure`.
pub fn neutron_type(failure: &Failure) -> Option<String> {
    #[derive(Deserialize)]
    struct Body {
        #[serde(rename = "NeutronError")]
        error: NeutronError,
    }
    #[derive(Deserialize)]
    struct NeutronError {
        #[serde(rename = "type")]
        kind: String,
    }
    Some(failure.json::<Body>()?.error.kind)
}

/// `floating ips` from `floating ip create`.
fn resource(failure: &Failure) -> String {
    let call = failure.call();
    let noun = call.rsplit_once(' ').map_or(call, |(noun, _)| noun);
    format!("{noun}s")
}
