//! Every key of `cloud.conf`. Keys that are not here are not read.

use provider_kit::keys::{
    Key,
    Kind::{Boolean, Duration, Int, LenientText, List, Path, Secret, Text, Uint, Word},
    Section, Table,
};

/// The section whose subsections are the classes.
pub(super) const CLASS: &str = "LoadBalancerClass";

/// Every key, section by section.
pub const KEYS: Table = Table(&[
    Section::new("Global", GLOBAL),
    Section::new("LoadBalancer", LOAD_BALANCER),
    Section::new("LoadBalancer", NETWORKS),
    Section::new(CLASS, NETWORKS).with_subsections(),
    Section::new("Networking", NETWORKING),
    Section::new("Route", ROUTE),
    Section::new("Metadata", METADATA),
    Section::new("BlockStorage", BLOCK_STORAGE),
]);

/// The page of the reference, in Markdown.
pub fn reference_page() -> String {
    KEYS.page("The keys of cloud.conf for OpenStack")
}

#[rustfmt::skip]
const GLOBAL: &[Key] = &[
    Key::new("auth-url", Text, "", "Keystone's URL; if it does not end with a version, Keystone is asked for it"),
    Key::new("username", Text, "", "the user's name, in user-domain-* or domain-*"),
    Key::new("user-id", Text, "", "the user's ID; wins over username and needs no domain"),
    Key::new("password", Secret, "", "the user's password; wins over an application credential"),
    Key::new("tenant-id", Text, "", "the project's ID; wins over tenant-name"),
    Key::new("tenant-name", Text, "", "the project's name, in tenant-domain-* or domain-*"),
    Key::new("tenant-domain-id", Text, "", "the ID of the project's domain"),
    Key::new("tenant-domain-name", Text, "", "the name of the project's domain"),
    Key::new("user-domain-id", Text, "", "the ID of the user's domain"),
    Key::new("user-domain-name", Text, "", "the name of the user's domain"),
    Key::new("domain-id", Text, "", "the ID of the domain of both user and project; without a project the token is for this domain"),
    Key::new("domain-name", Text, "", "the name of the domain of both user and project; without a project the token is for this domain"),
    Key::new("trust-id", Text, "", "a trust: the token is for what it gives"),
    Key::new("trustee-id", Text, "", "with trust-id: replaces user-id"),
    Key::new("trustee-password", Secret, "", "with trust-id: replaces password"),
    Key::new("application-credential-id", Text, "", "an application credential by ID"),
    Key::new("application-credential-name", Text, "", "an application credential by name, with user-id, or username and its domain"),
    Key::new("application-credential-secret", Secret, "", "the secret of the application credential"),
    Key::new("token", Secret, "", "a token from elsewhere, for the project that is named; wins over every other method but a trust"),
    Key::new("region", Text, "", "the region of the endpoints, and of the nodes' labels; empty: the first endpoint of a service"),
    Key::new("os-endpoint-type", Word, "public", "which of a service's endpoints: public, internal or admin"),
    Key::new("ca-file", Path, "", "PEM file of the authorities to trust, instead of the system's"),
    Key::new("cert-file", Path, "", "PEM file of the client's certificate; only with key-file"),
    Key::new("key-file", Path, "", "PEM file of the client's key; only with cert-file"),
    Key::new("tls-insecure", Text, "", "exactly true: certificates are not checked"),
    Key::new("cafilecontents", Text, "", "what would be in ca-file, with \\n for line ends; only without ca-file"),
    Key::new("use-clouds", Boolean, "false", "fill what is missing here from clouds.yaml"),
    Key::new("clouds-file", Path, "", "where clouds.yaml is; only with use-clouds. Otherwise it is looked for in the usual places"),
    Key::new("cloud", Text, "", "the entry of clouds.yaml; otherwise OS_CLOUD, or the only one"),
    // The Go program does not know these two, so that it accepts any value of them.
    Key::new("secret-name", LenientText, "", "a Secret whose clouds.conf, cloud.conf or clouds.yaml replaces what is here; only with secret-namespace"),
    Key::new("secret-namespace", LenientText, "", "where that Secret is"),
    Key::new("kubeconfig-path", Path, "", "how the in-tree provider reached that Secret; the manager's own client is used").obsolete(),
];

#[rustfmt::skip]
const LOAD_BALANCER: &[Key] = &[
    Key::new("enabled", Boolean, "true", "whether there are load balancers at all"),
    Key::new("lb-version", Text, "", "only v2, which is also the default"),
    Key::new("lb-provider", Text, "amphora", "Octavia's provider: amphora, octavia, amphorav2, ovn, f5, or another that is not tested"),
    Key::new("lb-method", Text, "ROUND_ROBIN", "how members are chosen; ovn needs SOURCE_IP_PORT"),
    Key::new("create-monitor", Boolean, "false", "whether members are checked"),
    Key::new("monitor-delay", Duration, "5s", "time between two checks of a member, in whole seconds"),
    Key::new("monitor-timeout", Duration, "3s", "time that a check may take, in whole seconds"),
    Key::new("monitor-max-retries", Uint, "1", "successful checks until a member is up"),
    Key::new("monitor-max-retries-down", Uint, "3", "failed checks until a member is down"),
    Key::new("manage-security-groups", Boolean, "false", "whether node ports are opened by a security group for each Service"),
    Key::new("internal-lb", Boolean, "false", "true: no Service gets a floating IP, whatever its annotations say"),
    Key::new("node-selector", Text, "", "labels of the nodes that become members: key=value,key"),
    Key::new("cascade-delete", Boolean, "true", "whether Octavia deletes a load balancer's parts with it"),
    Key::new("flavor-id", Text, "", "Octavia's flavor"),
    Key::new("availability-zone", Text, "", "Octavia's availability zone"),
    Key::new("enable-ingress-hostname", Boolean, "false", "with PROXY protocol, give Services a host name instead of an address"),
    Key::new("ingress-hostname-suffix", Text, "nip.io", "what such a host name ends with"),
    Key::new("default-tls-container-ref", Text, "", "the secret of every Service's certificate in Barbican"),
    Key::new("container-store", Text, "barbican", "barbican, or external: whether that secret exists is not checked"),
    Key::new("max-shared-lb", Int, "2", "how many Services may share a load balancer"),
    Key::new("provider-requires-serial-api-calls", Boolean, "false", "whether Octavia's provider takes one change at a time"),
    Key::new("use-octavia", Boolean, "", "there is nothing but Octavia").obsolete(),
    Key::new("node-security-group", Text, "", "manage-security-groups needs none").obsolete(),
];

#[rustfmt::skip]
const NETWORKS: &[Key] = &[
    Key::new("floating-network-id", Text, "", "the external network of floating IPs; otherwise the first one that fits"),
    Key::new("floating-subnet-id", Text, "", "the subnet of floating IPs"),
    Key::new("floating-subnet", Text, "", "a pattern of the subnet's name: a glob, or after ~ a regular expression, negated by !"),
    Key::new("floating-subnet-tags", Text, "", "the subnet's tags: a,b any, &a,b all, negated by !"),
    Key::new("network-id", Text, "", "the network of load balancers"),
    Key::new("subnet-id", Text, "", "the subnet of load balancers; otherwise the nodes'"),
    Key::new("member-subnet-id", Text, "", "the subnet of members; otherwise the load balancer's"),
];

#[rustfmt::skip]
const NETWORKING: &[Key] = &[
    Key::new("ipv6-support-disabled", Boolean, "false", "whether nodes' IPv6 addresses are left out"),
    Key::new("public-network-name", List, "", "networks whose addresses are external"),
    Key::new("internal-network-name", List, "", "the only networks whose addresses are internal"),
    Key::new("address-sort-order", Text, "", "ranges in the order that nodes' addresses shall have: 10.0.0.0/8, 2001:db8::/32"),
];

#[rustfmt::skip]
const ROUTE: &[Key] = &[
    Key::new("router-id", Text, "", "the router that gets the nodes' routes; empty: no routes"),
];

#[rustfmt::skip]
const METADATA: &[Key] = &[
    Key::new("search-order", Text, "configDrive,metadataService", "checked and not used: one or two of configDrive, metadataService"),
    Key::new("request-timeout", Duration, "60s", "time that a call to any OpenStack service may take"),
];

#[rustfmt::skip]
const BLOCK_STORAGE: &[Key] = &[
    Key::new("bs-version", Text, "", "of the Cinder CSI driver").foreign(),
    Key::new("trust-device-path", Boolean, "", "of the in-tree provider").foreign(),
    Key::new("ignore-volume-az", Boolean, "", "of the Cinder CSI driver").foreign(),
    Key::new("ignore-volume-microversion", Boolean, "", "of the Cinder CSI driver").foreign(),
    Key::new("node-volume-attach-limit", Int, "", "of the Cinder CSI driver").foreign(),
    Key::new("rescan-on-resize", Boolean, "", "of the Cinder CSI driver").foreign(),
];
