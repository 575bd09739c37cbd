//! Timestamps, as each service writes them.

use jiff::Timestamp;

/// `2026-11-16T02:14:53Z`: Nova, Neutron.
pub(crate) fn seconds(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// `2026-11-16T02:14:53.000000Z`: Keystone.
pub(crate) fn micros(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

/// `2026-11-16T02:14:53`: Octavia.
pub(crate) fn bare(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S").to_string()
}
