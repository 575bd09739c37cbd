//! What Neutron's refusals mean.

use super::{FloatingIp, Target};
use crate::api::{fault, neutron::floating_ips::Refusal};
use cloud::Error;
use cloud_http::{Failure, http::StatusCode};
use provider_kit::load_balancer::Halt;
use std::{error::Error as _, time::Duration};

/// Something changed between our look and our write: look again soon.
const SOON: Duration = Duration::from_secs(1);

/// Whether another subnet may have what this one has not: it is full, or not fit, or gone.
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

/// That the port got a floating IP in the meantime shows at the next look.
pub(super) fn raced(target: Target<'_>, error: Error) -> Halt {
    if kind(&error).as_deref() == Some("FloatingIPPortAlreadyAssociated") {
        return Halt::Pending {
            poll_after: SOON,
            waiting_for: format!("the floating IP of port {}", target.port),
        };
    }
    error.into()
}

/// A floating IP that changed since it was read is looked at again.
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
