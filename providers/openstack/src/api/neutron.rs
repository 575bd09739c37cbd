//! Neutron, a file a resource.

pub mod extensions;
pub mod floating_ips;
pub mod networks;
pub mod ports;
pub mod routers;
pub mod security_groups;

/// How many values a filter may repeat: about 5 kB of URL, and servers begin to refuse at 8.
pub const FILTER_VALUES: usize = 100;
