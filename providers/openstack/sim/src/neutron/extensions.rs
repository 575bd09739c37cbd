//! What this Neutron can do, by the names of the extensions.

use crate::{
    Settings,
    errors::not_found_page,
    exchange::{Outcome, Response},
};
use serde_json::{Value, json};

pub(super) fn list(settings: &Settings) -> Response {
    let on = EXTENSIONS.iter().filter(|(alias, _)| is_on(settings, alias));
    let views: Vec<Value> = on.map(|(alias, name)| view(alias, name)).collect();
    Response::ok(json!({"extensions": views}))
}

pub(super) fn show(settings: &Settings, alias: &str) -> Outcome {
    let found = EXTENSIONS
        .iter()
        .find(|(have, _)| *have == alias && is_on(settings, have));
    let missing = || not_found_page(&format!("Extension with alias {alias} does not exist"));
    let (alias, name) = found.ok_or_else(missing)?;
    Ok(Response::ok(json!({"extension": view(alias, name)})))
}

/// Whether an extension is on.
pub(super) fn is_on(settings: &Settings, alias: &str) -> bool {
    !settings.extensions_off.contains(alias)
}

fn view(alias: &str, name: &str) -> Value {
    json!({"alias": alias, "name": name, "description": name, "updated": "2020-01-01T00:00:00-00:00", "links": []})
}

/// Every extension that can be on, with its name.
const EXTENSIONS: &[(&str, &str)] = &[
    ("address-group", "Address group"),
    ("address-scope", "Address scope"),
    ("agent", "agent"),
    ("agent-resources-synced", "Agent's Resource View Synced to Placement"),
    ("allowed-address-pairs", "Allowed Address Pairs"),
    ("auto-allocated-topology", "Auto Allocated Topology Services"),
    ("availability_zone", "Availability Zone"),
    ("availability_zone_filter", "Availability Zone Filter Extension"),
    ("binding", "Port Binding"),
    ("binding-extended", "Port Bindings Extended"),
    ("default-subnetpools", "Default Subnetpools"),
    ("dhcp_agent_scheduler", "DHCP Agent Scheduler"),
    ("dns-integration", "DNS Integration"),
    ("dvr", "Distributed Virtual Router"),
    ("empty-string-filtering", "Empty String Filtering Extension"),
    ("expose-port-forwarding-in-fip", "Expose Floating IP port forwardings"),
    ("ext-gw-mode", "Neutron L3 Configurable external gateway mode"),
    ("external-net", "Neutron external network"),
    ("extra_dhcp_opt", "Neutron Extra DHCP options"),
    ("extraroute", "Neutron Extra Route"),
    ("extraroute-atomic", "Atomically add/remove extra routes"),
    ("filter-validation", "Filter parameters validation"),
    ("fip-port-details", "Floating IP Port Details Extension"),
    ("flavors", "Neutron Service Flavors"),
    ("floating-ip-port-forwarding", "Floating IP Port Forwarding"),
    (
        "floating-ip-port-forwarding-description",
        "Floating IP Port Forwarding new attribute description",
    ),
    (
        "floating-ip-port-forwarding-detail",
        "Floating IP port forwarding detail",
    ),
    (
        "floating-ip-port-forwarding-port-ranges",
        "Floating IP Port Forwarding support port ranges",
    ),
    ("floatingip-pools", "Floating IP Pools Extension"),
    ("ip-substring-filtering", "IP address substring filtering"),
    ("l3-flavors", "Router Flavor Extension"),
    ("l3-ha", "HA Router extension"),
    (
        "l3-port-ip-change-not-allowed",
        "Prevent L3 router ports IP address change extension",
    ),
    ("l3_agent_scheduler", "L3 Agent Scheduler"),
    ("multi-provider", "Multi Provider Network"),
    ("net-mtu", "Network MTU"),
    ("net-mtu-writable", "Network MTU (writable)"),
    ("network-ip-availability", "Network IP Availability"),
    (
        "network-ip-availability-details",
        "Network IP Availability Details Extension",
    ),
    ("network_availability_zone", "Network Availability Zone"),
    ("network_ha", "Network HA creation flag"),
    ("pagination", "Pagination support"),
    ("port-device-profile", "Port device profile"),
    ("port-mac-address-regenerate", "Neutron Port MAC address regenerate"),
    ("port-mac-override", "Neutron Port MAC address override"),
    ("port-numa-affinity-policy", "Port NUMA affinity policy"),
    (
        "port-numa-affinity-policy-socket",
        "Port NUMA affinity policy \"socket\"",
    ),
    ("port-security", "Port Security"),
    ("port-security-groups-filtering", "Port filtering on security groups"),
    ("project-id", "project_id field enabled"),
    ("provider", "Provider Network"),
    ("qinq", "QinQ networks"),
    ("quota-check-limit", "Quota engine limit check"),
    ("quota-check-limit-default", "Quota engine limit check by default"),
    ("quotas", "Quota management support"),
    ("rbac-address-group", "Add address_group type to RBAC"),
    ("rbac-address-scope", "Add address_scope type to RBAC"),
    ("rbac-policies", "RBAC Policies"),
    ("rbac-security-groups", "Add security_group type to network RBAC"),
    ("rbac-subnetpool", "Add subnetpool type to RBAC"),
    ("revision-if-match", "If-Match constraints based on revision_number"),
    ("router", "Neutron L3 Router"),
    (
        "router-admin-state-down-before-update",
        "Enforce Router's Admin State Down Before Update Extension",
    ),
    ("router_availability_zone", "Router Availability Zone"),
    ("security-group", "security-group"),
    ("security-groups-default-rules", "Default rules for security groups"),
    (
        "security-groups-normalized-cidr",
        "Normalized CIDR field for security group rules",
    ),
    (
        "security-groups-remote-address-group",
        "Remote address group id field for security group rules",
    ),
    (
        "security-groups-rules-belongs-to-default-sg",
        "Security group rule belongs to the project's default security group",
    ),
    (
        "security-groups-shared-filtering",
        "Security group filtering on the shared field",
    ),
    ("service-type", "Neutron Service Type Management"),
    ("sorting", "Sorting support"),
    ("standard-attr-description", "standard-attr-description"),
    ("standard-attr-revisions", "Resource revision numbers"),
    (
        "standard-attr-tag",
        "Tag support for resources with standard attribute: port, subnet, subnetpool, network, security_group, router, floatingip, policy, trunk, network_segment_range",
    ),
    ("standard-attr-timestamp", "Resource timestamps"),
    ("stateful-security-group", "Stateful security group"),
    ("subnet-external-network", "Subnet belongs to an external network"),
    ("subnet-service-types", "Subnet service types"),
    ("subnet_allocation", "Subnet Allocation"),
    ("subnet_onboard", "Subnet Onboard"),
    ("subnetpool-prefix-ops", "Subnet Pool Prefix Operations"),
    ("tag-creation", "Tag creation extension"),
    ("trunk", "Trunk Extension"),
    ("trunk-details", "Trunk port details"),
    ("vlan-transparent", "Vlantransparent"),
];
