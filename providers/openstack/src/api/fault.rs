//! The meaning of a refusal, if the status alone does not determine it.

use super::service::Service;
use cloud::Error;
use cloud_http::{Failure, http::StatusCode};
use serde::Deserialize;

/// The beginning of Octavia's message about a value that its API does not accept in any state of the cloud.
const MALFORMED: &str = "Invalid input for field/attribute ";

/// The meaning of a refusal, if it differs from that of its status.
pub(super) fn explain(failure: &Failure) -> Option<Error> {
    quota(failure).or_else(|| refusal(failure))
}

/// Whether Octavia or Neutron refused a request with a 400 that may pass.
pub fn is_refusal(error: &Error) -> bool {
    Failure::of(error).is_some_and(is_refused)
}

/// Quotas: Neutron answers 409 with the type `OverQuota`, and 400 where a router has no room for more routes, Octavia 403
/// with words, Nova 403 or 413 with words.
fn quota(failure: &Failure) -> Option<Error> {
    let quota = match failure.status() {
        StatusCode::CONFLICT => neutron_type(failure)? == "OverQuota",
        StatusCode::BAD_REQUEST => neutron_type(failure)? == "RoutesExhausted",
        StatusCode::FORBIDDEN | StatusCode::PAYLOAD_TOO_LARGE => failure.text().to_ascii_lowercase().contains("quota"),
        _ => false,
    };
    quota.then(|| Error::quota(resource(failure), failure.clone()))
}

/// A 400 is not always a mistake of the user: Octavia sends it also if it cannot read a subnet from Neutron or a certificate from Barbican, and
/// Neutron if an object does not exist yet. So it is retried with back-off, unless a value is malformed.
fn refusal(failure: &Failure) -> Option<Error> {
    is_refused(failure).then(|| Error::unavailable(failure.call(), failure.clone()))
}

fn is_refused(failure: &Failure) -> bool {
    let no = matches!(
        failure.status(),
        StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY
    );
    let own = [Service::LoadBalancer, Service::Network]
        .iter()
        .any(|service| service.recognises(failure));
    no && own && !is_malformed(failure)
}

fn is_malformed(failure: &Failure) -> bool {
    #[derive(Deserialize)]
    struct Body {
        faultstring: String,
    }
    let body = failure.json::<Body>();
    body.is_some_and(|body| body.faultstring.starts_with(MALFORMED))
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

/// The resource whose quota is exceeded: as the service names it, because a load balancer is created with everything on it, or else by the call,
/// `floating ips` for `floating ip create`.
fn resource(failure: &Failure) -> String {
    let call = failure.call();
    let noun = call.rsplit_once(' ').map_or(call, |(noun, _)| noun);
    named(failure.text()).unwrap_or_else(|| format!("{noun}s"))
}

/// `health monitors` from Octavia's `Quota has been met for resources: Health Monitor`, `security groups` from Neutron's
/// `Quota exceeded for resources: ['security_group'].`.
fn named(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("for resources: ")?;
    let rest = rest.trim_start_matches(['[', '\'']);
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '_' | ' '));
    let noun = rest[..end.unwrap_or(rest.len())].trim().replace('_', " ");
    match noun.to_ascii_lowercase().as_str() {
        "" => None,
        "floatingip" => Some("floating ips".to_owned()),
        noun => Some(format!("{noun}s")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::octavia(
        r#"{"faultstring": "Quota has been met for resources: Health Monitor"}"#,
        Some("health monitors")
    )]
    #[case::of_octavia_itself(
        r#"{"faultstring": "Quota has been met for resources: Load Balancer", "debuginfo": null}"#,
        Some("load balancers")
    )]
    #[case::neutron(
        r#"{"NeutronError": {"message": "Quota exceeded for resources: ['security_group_rule']."}}"#,
        Some("security group rules")
    )]
    #[case::neutron_s_floating_ips("Quota exceeded for resources: ['floatingip'].", Some("floating ips"))]
    #[case::several("Quota exceeded for resources: ['port', 'subnet'].", Some("ports"))]
    #[case::nova(
        "Quota exceeded for instances: Requested 1, but already used 10 of 10 instances",
        None
    )]
    #[case::nothing("Quota exceeded for resources: ", None)]
    fn names_the_exceeded_quota(#[case] text: &str, #[case] expected: Option<&str>) {
        assert_eq!(named(text).as_deref(), expected);
    }
}
