//! What the OVN provider cannot do.

use super::{Balancer, error};
use crate::exchange::Response;

/// Refuses what the provider of a load balancer does not have.
pub(super) fn check(balancer: &Balancer, option: Option<(&str, &str)>) -> Result<(), Response> {
    let Some((what, value)) = option.filter(|_| balancer.provider == "ovn") else {
        return Ok(());
    };
    let fine = match what {
        "protocol" => matches!(value, "TCP" | "UDP" | "SCTP"),
        "algorithm" => value == "SOURCE_IP_PORT",
        "health monitor" => matches!(value, "TCP" | "UDP-CONNECT"),
        _ => true,
    };
    if fine {
        return Ok(());
    }
    let message =
        format!("Provider 'ovn' does not support a requested option: OVN provider does not support {value} {what}");
    Err(error(501, &message))
}
