//! The services, and the names of their calls.

use Service::{Barbican, Keystone, Neutron, Nova, Octavia};
use fakecloud::path_matches;
use http::Method;
use std::fmt;

/// One of the services that are simulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Service {
    /// Identity.
    Keystone,
    /// Compute.
    Nova,
    /// Networks.
    Neutron,
    /// Load balancers.
    Octavia,
    /// Secrets.
    Barbican,
    /// Images: only their list.
    Glance,
}

impl Service {
    /// Every service.
    pub const ALL: [Self; 6] = [
        Self::Keystone,
        Self::Nova,
        Self::Neutron,
        Self::Octavia,
        Self::Barbican,
        Self::Glance,
    ];

    /// The first segment of its paths.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Keystone => "identity",
            Self::Nova => "compute",
            Self::Neutron => "network",
            Self::Octavia => "load-balancer",
            Self::Barbican => "key-manager",
            Self::Glance => "image",
        }
    }

    /// Its type in the catalog, which is the prefix of its paths, too.
    pub fn kind(self) -> &'static str {
        self.prefix()
    }

    /// Its name in the catalog.
    pub fn name(self) -> &'static str {
        match self {
            Self::Keystone => "keystone",
            Self::Nova => "nova",
            Self::Neutron => "neutron",
            Self::Octavia => "octavia",
            Self::Barbican => "barbican",
            Self::Glance => "glance",
        }
    }

    /// What its endpoint in the catalog ends with.
    pub(crate) fn version_path(self) -> &'static str {
        match self {
            Self::Keystone => "/v3",
            Self::Nova => "/v2.1",
            Self::Neutron | Self::Octavia | Self::Barbican | Self::Glance => "",
        }
    }

    pub(crate) fn of_prefix(prefix: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|service| service.prefix() == prefix)
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.prefix())
    }
}

impl From<Service> for String {
    fn from(service: Service) -> Self {
        service.name().to_owned()
    }
}

/// The calls that have a name: the service, the method, the path below the version (`*` is one segment), and the name, which
/// is the `request` label of the metrics where there is one.
pub const OPERATIONS: &[(Service, &str, &str, &str)] = &[
    (Keystone, "POST", "auth/tokens", "token_create"),
    (Nova, "GET", "servers", "server_list"),
    (Nova, "GET", "servers/detail", "server_list"),
    (Nova, "GET", "servers/*", "server_get"),
    (Nova, "GET", "servers/*/os-interface", "server_interface_list"),
    (Nova, "GET", "flavors", "flavor_list"),
    (Nova, "GET", "flavors/detail", "flavor_list"),
    (Nova, "GET", "flavors/*", "flavor_get"),
    (Neutron, "GET", "extensions", "network_extension_list"),
    (Neutron, "GET", "networks", "network_list"),
    (Neutron, "GET", "networks/*", "network_get"),
    (Neutron, "GET", "subnets", "subnet_list"),
    (Neutron, "GET", "subnets/*", "subnet_get"),
    (Neutron, "GET", "ports", "port_list"),
    (Neutron, "GET", "ports/*", "port_get"),
    (Neutron, "PUT", "ports/*", "port_update"),
    (Neutron, "PUT", "ports/*/tags/*", "port_tag_add"),
    (Neutron, "DELETE", "ports/*/tags/*", "port_tag_delete"),
    (Neutron, "GET", "trunks", "trunk_list"),
    (Neutron, "GET", "routers/*", "router_get"),
    (Neutron, "PUT", "routers/*", "router_update"),
    (Neutron, "PUT", "routers/*/add_extraroutes", "router_update"),
    (Neutron, "PUT", "routers/*/remove_extraroutes", "router_update"),
    (Neutron, "GET", "floatingips", "floating_ip_list"),
    (Neutron, "GET", "floatingips/*", "floating_ip_get"),
    (Neutron, "POST", "floatingips", "floating_ip_create"),
    (Neutron, "PUT", "floatingips/*", "floating_ip_update"),
    (Neutron, "DELETE", "floatingips/*", "floating_ip_delete"),
    (Neutron, "GET", "security-groups", "security_group_list"),
    (Neutron, "GET", "security-groups/*", "security_group_get"),
    (Neutron, "POST", "security-groups", "security_group_create"),
    (Neutron, "PUT", "security-groups/*", "security_group_update"),
    (Neutron, "DELETE", "security-groups/*", "security_group_delete"),
    (Neutron, "GET", "security-group-rules", "security_group_rule_list"),
    (Neutron, "POST", "security-group-rules", "security_group_rule_create"),
    (
        Neutron,
        "DELETE",
        "security-group-rules/*",
        "security_group_rule_delete",
    ),
    (Octavia, "GET", "lbaas/loadbalancers", "loadbalancer_list"),
    (Octavia, "GET", "lbaas/loadbalancers/*", "loadbalancer_get"),
    (Octavia, "GET", "lbaas/loadbalancers/*/status", "loadbalancer_status"),
    (Octavia, "POST", "lbaas/loadbalancers", "loadbalancer_create"),
    (Octavia, "PUT", "lbaas/loadbalancers/*", "loadbalancer_update"),
    (
        Octavia,
        "PUT",
        "lbaas/loadbalancers/*/failover",
        "loadbalancer_failover",
    ),
    (Octavia, "DELETE", "lbaas/loadbalancers/*", "loadbalancer_delete"),
    (Octavia, "GET", "lbaas/listeners", "loadbalancer_listener_list"),
    (Octavia, "GET", "lbaas/listeners/*", "loadbalancer_listener_get"),
    (Octavia, "POST", "lbaas/listeners", "loadbalancer_listener_create"),
    (Octavia, "PUT", "lbaas/listeners/*", "loadbalancer_listener_update"),
    (Octavia, "DELETE", "lbaas/listeners/*", "loadbalancer_listener_delete"),
    (Octavia, "GET", "lbaas/pools", "loadbalancer_pool_list"),
    (Octavia, "GET", "lbaas/pools/*", "loadbalancer_pool_get"),
    (Octavia, "POST", "lbaas/pools", "loadbalancer_pool_create"),
    (Octavia, "PUT", "lbaas/pools/*", "loadbalancer_pool_update"),
    (Octavia, "DELETE", "lbaas/pools/*", "loadbalancer_pool_delete"),
    (Octavia, "GET", "lbaas/pools/*/members", "loadbalancer_member_list"),
    (Octavia, "PUT", "lbaas/pools/*/members", "loadbalancer_members_update"),
    (Octavia, "POST", "lbaas/pools/*/members", "loadbalancer_member_create"),
    (Octavia, "PUT", "lbaas/pools/*/members/*", "loadbalancer_member_update"),
    (
        Octavia,
        "DELETE",
        "lbaas/pools/*/members/*",
        "loadbalancer_member_delete",
    ),
    (
        Octavia,
        "GET",
        "lbaas/healthmonitors",
        "loadbalancer_healthmonitor_list",
    ),
    (
        Octavia,
        "GET",
        "lbaas/healthmonitors/*",
        "loadbalancer_healthmonitor_get",
    ),
    (
        Octavia,
        "POST",
        "lbaas/healthmonitors",
        "loadbalancer_healthmonitor_create",
    ),
    (
        Octavia,
        "PUT",
        "lbaas/healthmonitors/*",
        "loadbalancer_healthmonitor_update",
    ),
    (
        Octavia,
        "DELETE",
        "lbaas/healthmonitors/*",
        "loadbalancer_healthmonitor_delete",
    ),
    (Barbican, "GET", "secrets/*", "secret_get"),
    (Barbican, "GET", "containers/*", "container_get"),
];

/// The name of a call: one of [`OPERATIONS`], `version_list` for the documents at and above the version, or nothing.
pub(crate) fn operation(service: Service, method: &Method, path: &[String]) -> &'static str {
    let below = match path.first() {
        Some(version) if version.starts_with('v') => &path[1..],
        _ => path,
    };
    if below.is_empty() || below == ["lbaas"] {
        return "version_list";
    }
    OPERATIONS
        .iter()
        .find(|(of, verb, pattern, _)| *of == service && method == verb && path_matches(pattern, below))
        .map_or("", |(.., name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(Service::Nova, "GET", "v2.1/servers/detail", "server_list")]
    #[case(Service::Nova, "GET", "v2.1/servers/1", "server_get")]
    #[case(Service::Octavia, "PUT", "v2.0/lbaas/pools/1/members", "loadbalancer_members_update")]
    #[case(Service::Octavia, "GET", "v2/lbaas/loadbalancers", "loadbalancer_list")]
    #[case(Service::Octavia, "GET", "", "version_list")]
    #[case(Service::Neutron, "GET", "v2.0", "version_list")]
    #[case(Service::Neutron, "POST", "v2.0/networks", "")]
    fn names(#[case] service: Service, #[case] method: &str, #[case] path: &str, #[case] name: &str) {
        let path: Vec<String> = path
            .split('/')
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
            .collect();
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        assert_eq!(operation(service, &method, &path), name);
    }
}
