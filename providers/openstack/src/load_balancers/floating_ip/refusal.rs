//! The meaning of Neutron's refusals.

use super::{FloatingIp, Target};
use crate::api::{fault, neutron::floating_ips::Refusal};
use cloud::Error;
use cloud_http::{Failure, http::StatusCode};
use provider_kit::load_balancer::Halt;
use std::{error::Error as _, time::Duration};

/// An object changed between the read and the write: retry soon.
const SOON: Duration = Duration::from_secs(1);

/// Whether another subnet may succeed: this one is full, unsuitable or deleted.
pub(super) fn is_of_the_subnet(error: &Error) -> bool {
    const KINDS: [&str; 5] = [
        "IpAddressGenerationFailure",
        "ExternalIpAddressExhausted",
        "InvalidInput",
        "InvalidIpForSubnet",
        "SubnetNotFound",
    ];
    kind(error).is_some_and(|kind| KINDS.contains(&kind.as_str()))
}

/// The next reconcile finds the floating IP that the port got meanwhile.
pub(super) fn raced(target: Target<'_>, error: Error) -> Halt {
    if kind(&error).as_deref() == Some("FloatingIPPortAlreadyAssociated") {
        return Halt::Pending {
            poll_after: SOON,
            waiting_for: format!("the floating IP of port {}", target.port),
        };
    }
    error.into()
}

/// A floating IP that changed since it was read is read again.
pub(super) fn soon(fip: &FloatingIp, error: Error) -> Halt {
    if Failure::of(&error).is_some_and(|failure| failure.status() == StatusCode::PRECONDITION_FAILED) {
        return Halt::Pending {
            poll_after: SOON,
            waiting_for: format!("floating IP {}", fip.floating_ip_address),
        };
    }
    error.into()
}

/// What Neutron calls an error.
fn kind(error: &Error) -> Option<String> {
    if let Some(failure) = Failure::of(error) {
        return fault::neutron_type(failure);
    }
    let refusal = error.source()?.downcast_ref::<Refusal>()?;
    Some(refusal.kind.clone())
}
