//! What AWS's error codes mean, in one place.

use cloud::Error;
use cloud_http::{Failure, http::StatusCode};

/// What a code means for the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// The object does not exist: [`Error::NotFound`].
    NotFound,
    /// [`Error::Throttled`].
    Throttled,
    /// The credentials expired or were rotated: they are renewed, and the call is sent again, once.
    Stale,
    /// [`Error::Denied`].
    Denied,
    /// [`Error::Quota`].
    Quota,
    /// The request is wrong for good: [`Error::Invalid`].
    Invalid,
    /// Something in the account that the request names does not fit, and may do so later: [`Error::Unusable`].
    Unusable,
    /// The clock of this machine is wrong: [`Error::Denied`], with that advice.
    Clock,
    /// An [`Error::Unavailable`] that is not sent again at once. The caller may act on its [`code`].
    State,
}

/// Codes that do not follow [`by_pattern`].
#[rustfmt::skip]
const CODES: &[(&str, Meaning)] = &[
    ("RequestLimitExceeded", Meaning::Throttled),
    ("Throttling", Meaning::Throttled),
    ("ThrottlingException", Meaning::Throttled),
    ("ThrottledException", Meaning::Throttled),
    ("RequestThrottled", Meaning::Throttled),
    ("RequestThrottledException", Meaning::Throttled),
    ("TooManyRequestsException", Meaning::Throttled),
    ("EC2ThrottledException", Meaning::Throttled),
    ("BandwidthLimitExceeded", Meaning::Throttled),
    ("PriorRequestNotComplete", Meaning::Throttled),
    ("SlowDown", Meaning::Throttled),
    ("ExpiredToken", Meaning::Stale),
    ("ExpiredTokenException", Meaning::Stale),
    ("RequestExpired", Meaning::Stale),
    ("InvalidClientTokenId", Meaning::Stale),
    ("AuthFailure", Meaning::Stale),
    ("UnrecognizedClientException", Meaning::Stale),
    ("RequestTimeTooSkewed", Meaning::Clock),
    ("SignatureDoesNotMatch", Meaning::Denied),
    ("MissingAuthenticationToken", Meaning::Denied),
    ("IncompleteSignature", Meaning::Denied),
    ("OptInRequired", Meaning::Denied),
    ("Blocked", Meaning::Denied),
    ("UnauthorizedOperation", Meaning::Denied),
    ("AccessDenied", Meaning::Denied),
    ("AccessDeniedException", Meaning::Denied),
    ("OperationNotPermitted", Meaning::Denied),
    // The caller reads the IDs out of the message.
    ("InvalidInstanceID.NotFound", Meaning::State),
    ("InvalidInstanceID.Malformed", Meaning::State),
    ("InvalidID", Meaning::State),
    // A region without the action.
    ("InvalidAction", Meaning::State),
    ("LoadBalancerNotFound", Meaning::NotFound),
    ("AccessPointNotFound", Meaning::NotFound),
    ("TargetGroupNotFound", Meaning::NotFound),
    ("ListenerNotFound", Meaning::NotFound),
    ("PolicyNotFound", Meaning::NotFound),
    // Objects that the user names; the load balancer itself is not concerned. They may be created or corrected later.
    ("SubnetNotFound", Meaning::Unusable),
    ("CertificateNotFound", Meaning::Unusable),
    ("UnsupportedCertificate", Meaning::Unusable),
    ("AllocationIdNotFound", Meaning::Unusable),
    ("InvalidSecurityGroup", Meaning::Unusable),
    ("InvalidSubnet", Meaning::Unusable),
    // Also a bucket that does not let AWS write.
    ("InvalidConfigurationRequest", Meaning::Unusable),
    ("ALPNPolicyNotFound", Meaning::Invalid),
    ("SSLPolicyNotFound", Meaning::Invalid),
    ("ResourceInUse", Meaning::State),
    ("DependencyViolation", Meaning::State),
    ("InvalidGroup.Duplicate", Meaning::State),
    ("InvalidGroup.InUse", Meaning::State),
    ("InvalidPermission.Duplicate", Meaning::State),
    ("InvalidTarget", Meaning::State),
    ("InvalidInstance", Meaning::State),
    ("InvalidParameterCombination", Meaning::Invalid),
    ("DuplicateLoadBalancerName", Meaning::State),
    ("DuplicateTargetGroupName", Meaning::State),
    ("DuplicateListener", Meaning::State),
    ("DuplicatePolicyName", Meaning::State),
    ("RouteAlreadyExists", Meaning::State),
    ("IncorrectState", Meaning::State),
    ("IncorrectInstanceState", Meaning::State),
    ("OperationNotPermittedException", Meaning::Denied),
    ("UnsupportedOperation", Meaning::State),
    ("RulesPerSecurityGroupLimitExceeded", Meaning::Quota),
    ("SecurityGroupsPerInterfaceLimitExceeded", Meaning::Quota),
    ("TagLimitExceeded", Meaning::Quota),
    ("InsufficientFreeAddressesInSubnet", Meaning::Quota),
    ("ResourceLimitExceeded", Meaning::Quota),
];

/// What AWS writes if the time of a request is too far from its own; the code differs from service to service.
const CLOCK: [&str; 3] = ["Signature expired", "Signature not yet current", "Request has expired"];

/// What a code means.
pub fn meaning(code: &str) -> Option<Meaning> {
    let known = CODES.iter().find(|(known, _)| *known == code);
    known.map(|(_, meaning)| *meaning).or_else(|| by_pattern(code))
}

/// AWS names new codes as the old ones.
fn by_pattern(code: &str) -> Option<Meaning> {
    let code = code.strip_suffix("Exception").unwrap_or(code);
    match code {
        _ if code.ends_with(".NotFound") => Some(Meaning::NotFound),
        _ if code.ends_with(".InUse") || code.ends_with("State") => Some(Meaning::State),
        _ if code.ends_with("LimitExceeded") || code.starts_with("TooMany") => Some(Meaning::Quota),
        _ if [
            "Invalid",
            "Missing",
            "Malformed",
            "Unknown",
            "Unsupported",
            "Validation",
        ]
        .iter()
        .any(|prefix| code.starts_with(prefix)) =>
        {
            Some(Meaning::Invalid)
        }
        _ => None,
    }
}

/// The error that an answer is. An answer that is not AWS's own is left to its status.
pub fn explain(failure: &Failure) -> Option<Error> {
    let code = code_in(failure)?;
    let call = failure.call().to_owned();
    let source = || failure.clone();
    let meaning = match meaning(code) {
        Some(Meaning::Stale | Meaning::Denied) if is_about_time(failure) => Some(Meaning::Clock),
        meaning => meaning,
    };
    Some(match meaning {
        Some(Meaning::NotFound) => Error::not_found(failure.what()),
        Some(Meaning::Throttled) => Error::Throttled {
            call,
            retry_after: failure.retry_after(),
        },
        Some(Meaning::Quota) => Error::quota(limit(failure, code), source()),
        Some(Meaning::Stale | Meaning::Denied) => Error::denied(call, source()),
        Some(Meaning::Clock) => Error::denied(
            call,
            format!(
                "the clock of this machine differs too much from AWS's, correct it: {}",
                message_in(failure).unwrap_or(code)
            ),
        ),
        Some(Meaning::Invalid) => {
            let message = message_in(failure).unwrap_or("no message");
            Error::invalid("request", format!("{call} was refused: {code}: {message}"))
        }
        Some(Meaning::Unusable) => {
            let message = message_in(failure).unwrap_or("no message");
            Error::unusable(failure.what(), format!("{call} was refused: {code}: {message}"))
        }
        None if failure.status() == StatusCode::TOO_MANY_REQUESTS => Error::Throttled {
            call,
            retry_after: failure.retry_after(),
        },
        None if failure.status() == StatusCode::FORBIDDEN => Error::denied(call, source()),
        Some(Meaning::State) | None => Error::unavailable(call, source()),
    })
}

fn is_about_time(failure: &Failure) -> bool {
    message_in(failure).is_some_and(|message| CLOCK.iter().any(|start| message.starts_with(start)))
}

/// Whether an answer says that the credentials expired or were rotated.
pub fn is_stale(failure: &Failure) -> bool {
    code_in(failure).and_then(meaning) == Some(Meaning::Stale)
}

/// Whether AWS itself answered.
pub fn is_own(failure: &Failure) -> bool {
    code_in(failure).is_some()
}

/// The code that AWS answered, beneath an error that has a source: not of [`Error::NotFound`], [`Error::Invalid`],
/// [`Error::Unusable`] or [`Error::Throttled`].
pub fn code(error: &Error) -> Option<&str> {
    Failure::of(error).and_then(code_in)
}

/// The message that AWS answered, as [`code`].
pub fn message(error: &Error) -> Option<&str> {
    Failure::of(error).and_then(message_in)
}

/// The code in an answer.
pub fn code_in(failure: &Failure) -> Option<&str> {
    within(failure.text(), "Code").filter(|code| !code.is_empty() && !code.contains(char::is_whitespace))
}

fn message_in(failure: &Failure) -> Option<&str> {
    within(failure.text(), "Message")
}

fn within<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    rest.split_once(&format!("</{name}>")).map(|(value, _)| value.trim())
}

/// Which limit: with the object, because AWS names only the kind.
fn limit(failure: &Failure, code: &str) -> String {
    format!("{} ({code})", failure.what())
}
