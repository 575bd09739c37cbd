//! Every key of `cloud.conf`. What is not here is not read.

use std::fmt;

/// What there is to know about a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyDoc {
    /// The section.
    pub section: &'static str,
    /// The key.
    pub key: &'static str,
    /// What its value is.
    pub kind: Kind,
    /// What it is if it is not given, as it would be written; empty: nothing.
    pub default: &'static str,
    /// What it is for.
    pub meaning: &'static str,
    /// Whether it does anything.
    pub effect: Effect,
}

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Any text.
    Text,
    /// A text that nobody may see.
    Secret,
    /// The path of a file.
    Path,
    /// `true` or `false`.
    Boolean,
    /// A whole number.
    Int,
    /// A whole number without a sign.
    Uint,
    /// A duration with its unit.
    Duration,
    /// A single word.
    Word,
    /// A text; the key may be repeated.
    List,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "text",
            Self::Secret => "secret",
            Self::Path => "path",
            Self::Boolean => "boolean",
            Self::Int | Self::Uint => "number",
            Self::Duration => "duration",
            Self::Word => "word",
            Self::List => "text, repeatable",
        })
    }
}

/// Whether a key does anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It does.
    Used,
    /// It never did here, or does no longer; the user is told to remove it.
    Obsolete,
    /// It is for another program that reads the same file.
    Foreign,
}

/// Every key, section by section: what a reference page is made of.
pub fn reference() -> Vec<KeyDoc> {
    let sections = [
        ("Global", GLOBAL),
        ("LoadBalancer", LOAD_BALANCER),
        ("LoadBalancer", NETWORKS),
        ("LoadBalancerClass", NETWORKS),
        ("Networking", NETWORKING),
        ("Route", ROUTE),
        ("Metadata", METADATA),
        ("BlockStorage", BLOCK_STORAGE),
    ];
    let rows = sections
        .iter()
        .flat_map(|(section, rows)| rows.iter().map(move |row| (*section, row)));
    rows.map(|(section, row)| row.doc(section)).collect()
}

struct Row(&'static str, Kind, &'static str, &'static str);

impl Row {
    fn doc(&self, section: &'static str) -> KeyDoc {
        let Self(key, kind, default, meaning) = *self;
        let effect = match (section, key) {
            ("BlockStorage", _) => Effect::Foreign,
            (_, "kubeconfig-path" | "use-octavia" | "node-security-group") => Effect::Obsolete,
            _ => Effect::Used,
        };
        KeyDoc {
            section,
            key,
            kind,
            default,
            meaning,
            effect,
        }
    }
}

use Kind::{Boolean, Duration, Int, List, Path, Secret, Text, Uint, Word};

#[rustfmt::skip]
const GLOBAL: &[Row] = &[
    Row("auth-url", Text, "", "Keystone's URL; if it does not end with a version, Keystone is asked for it"),
    Row("username", Text, "", "the user's name, in user-domain-* or domain-*"),
    Row("user-id", Text, "", "the user's ID; wins over username and needs no domain"),
    Row("password", Secret, "", "the user's password; wins over an application credential"),
    Row("tenant-id", Text, "", "the project's ID; wins over tenant-name"),
    Row("tenant-name", Text, "", "the project's name, in tenant-domain-* or domain-*"),
    Row("tenant-domain-id", Text, "", "the ID of the project's domain"),
    Row("tenant-domain-name", Text, "", "the name of the project's domain"),
    Row("user-domain-id", Text, "", "the ID of the user's domain"),
    Row("user-domain-name", Text, "", "the name of the user's domain"),
    Row("domain-id", Text, "", "the ID of the domain of both user and project; without a project the token is for this domain"),
    Row("domain-name", Text, "", "the name of the domain of both user and project; without a project the token is for this domain"),
    Row("trust-id", Text, "", "a trust: the token is for what it gives"),
    Row("trustee-id", Text, "", "with trust-id: replaces user-id"),
    Row("trustee-password", Secret, "", "with trust-id: replaces password"),
    Row("application-credential-id", Text, "", "an application credential by ID"),
    Row("application-credential-name", Text, "", "an application credential by name, with user-id, or username and its domain"),
    Row("application-credential-secret", Secret, "", "the secret of the application credential"),
    Row("token", Secret, "", "a token made elsewhere, for the project that is named; wins over every other means but a trust"),
    Row("region", Text, "", "the region of the endpoints, and of the nodes' labels; empty: the first endpoint of a service"),
    Row("os-endpoint-type", Word, "public", "which of a service's endpoints: public, internal or admin"),
    Row("ca-file", Path, "", "PEM file of the authorities to trust, instead of the system's"),
    Row("cert-file", Path, "", "PEM file of the client's certificate; only with key-file"),
    Row("key-file", Path, "", "PEM file of the client's key; only with cert-file"),
    Row("tls-insecure", Text, "", "exactly true: certificates are not checked"),
    Row("cafilecontents", Text, "", "what would be in ca-file, with \\n for line ends; only without ca-file"),
    Row("use-clouds", Boolean, "false", "fill what is missing here from clouds.yaml"),
    Row("clouds-file", Path, "", "where clouds.yaml is; only with use-clouds. Otherwise it is looked for in the usual places"),
    Row("cloud", Text, "", "the entry of clouds.yaml; otherwise OS_CLOUD, or the only one"),
    Row("secret-name", Text, "", "a Secret whose clouds.conf, cloud.conf or clouds.yaml replaces what is here; only with secret-namespace"),
    Row("secret-namespace", Text, "", "where that Secret is"),
    Row("kubeconfig-path", Path, "", "how the in-tree provider reached that Secret; the manager's own client is used"),
];

#[rustfmt::skip]
const LOAD_BALANCER: &[Row] = &[
    Row("enabled", Boolean, "true", "whether there are load balancers at all"),
    Row("lb-version", Text, "", "only v2, which is also the default"),
    Row("lb-provider", Text, "amphora", "Octavia's provider: amphora, octavia, amphorav2, ovn, f5, or another that is not tested"),
    Row("lb-method", Text, "ROUND_ROBIN", "how members are chosen; ovn needs SOURCE_IP_PORT"),
    Row("create-monitor", Boolean, "false", "whether members are checked"),
    Row("monitor-delay", Duration, "5s", "time between two checks of a member, in whole seconds"),
    Row("monitor-timeout", Duration, "3s", "time that a check may take, in whole seconds"),
    Row("monitor-max-retries", Uint, "1", "successful checks until a member is up"),
    Row("monitor-max-retries-down", Uint, "3", "failed checks until a member is down"),
    Row("manage-security-groups", Boolean, "false", "whether node ports are opened by a security group for each Service"),
    Row("internal-lb", Boolean, "false", "true: no Service gets a floating IP, whatever its annotations say"),
    Row("node-selector", Text, "", "labels of the nodes that become members: key=value,key"),
    Row("cascade-delete", Boolean, "true", "whether Octavia deletes a load balancer's parts with it"),
    Row("flavor-id", Text, "", "Octavia's flavor"),
    Row("availability-zone", Text, "", "Octavia's availability zone"),
    Row("enable-ingress-hostname", Boolean, "false", "with PROXY protocol, give Services a host name instead of an address"),
    Row("ingress-hostname-suffix", Text, "nip.io", "what such a host name ends with"),
    Row("default-tls-container-ref", Text, "", "the secret of every Service's certificate in Barbican"),
    Row("container-store", Text, "barbican", "barbican, or external: whether that secret exists is not checked"),
    Row("max-shared-lb", Int, "2", "how many Services may share a load balancer"),
    Row("provider-requires-serial-api-calls", Boolean, "false", "whether Octavia's provider takes one change at a time"),
    Row("use-octavia", Boolean, "", "there is nothing but Octavia"),
    Row("node-security-group", Text, "", "manage-security-groups needs none"),
];

#[rustfmt::skip]
const NETWORKS: &[Row] = &[
    Row("floating-network-id", Text, "", "the external network of floating IPs; otherwise the first one that fits"),
    Row("floating-subnet-id", Text, "", "the subnet of floating IPs"),
    Row("floating-subnet", Text, "", "a pattern of the subnet's name: a glob, or after ~ a regular expression, negated by !"),
    Row("floating-subnet-tags", Text, "", "the subnet's tags: a,b any, &a,b all, negated by !"),
    Row("network-id", Text, "", "the network of load balancers"),
    Row("subnet-id", Text, "", "the subnet of load balancers; otherwise the nodes'"),
    Row("member-subnet-id", Text, "", "the subnet of members; otherwise the load balancer's"),
];

#[rustfmt::skip]
const NETWORKING: &[Row] = &[
    Row("ipv6-support-disabled", Boolean, "false", "whether nodes' IPv6 addresses are left out"),
    Row("public-network-name", List, "", "networks whose addresses are external"),
    Row("internal-network-name", List, "", "the only networks whose addresses are internal"),
    Row("address-sort-order", Text, "", "ranges in the order that nodes' addresses shall have: 10.0.0.0/8, 2001:db8::/32"),
];

#[rustfmt::skip]
const ROUTE: &[Row] = &[
    Row("router-id", Text, "", "the router that gets the nodes' routes; empty: no routes"),
];

#[rustfmt::skip]
const METADATA: &[Row] = &[
    Row("search-order", Text, "configDrive,metadataService", "checked and not used: one or two of configDrive, metadataService"),
    Row("request-timeout", Duration, "60s", "time that a call to any OpenStack service may take"),
];

#[rustfmt::skip]
const BLOCK_STORAGE: &[Row] = &[
    Row("bs-version", Text, "", "of the Cinder CSI driver"),
    Row("trust-device-path", Boolean, "", "of the in-tree provider"),
    Row("ignore-volume-az", Boolean, "", "of the Cinder CSI driver"),
    Row("ignore-volume-microversion", Boolean, "", "of the Cinder CSI driver"),
    Row("node-volume-attach-limit", Int, "", "of the Cinder CSI driver"),
    Row("rescan-on-resize", Boolean, "", "of the Cinder CSI driver"),
];
