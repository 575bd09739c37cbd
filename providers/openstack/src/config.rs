//! The configuration: `cloud.conf` and `clouds.yaml`.
//!
//! [`load`] reads a [`Config`]; it reads other files through [`Files`], and needs no disk. [`KEYS`] is the table of keys.

mod clouds;
mod credentials;
mod environment;
mod error;
mod global;
mod keys;
mod load;
mod sections;
mod tls;

#[cfg(test)]
mod tests;

pub use environment::Environment;
pub use error::Error;
pub use keys::{KEYS, reference_page};
pub use load::{Loaded, load};
pub use provider_kit::live_config::{Disk, File, Files, Sources};

use cloud::ObjectRef;
use ipnet::IpNet;
use secrecy::SecretString;
use std::{collections::BTreeMap, path::PathBuf, time::Duration};

/// The configuration, with defaults.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// The URL of Keystone, and the credentials.
    pub global: Global,
    /// `[LoadBalancer]`
    pub load_balancer: LoadBalancer,
    /// `[LoadBalancerClass "name"]`
    pub classes: BTreeMap<String, Class>,
    /// `[Networking]`
    pub networking: Networking,
    /// `[Route] router-id`; without one there are no routes.
    pub router_id: Option<String>,
    /// `[Metadata] search-order`, which nothing uses.
    pub search_order: String,
    /// `[Metadata] request-timeout`: the deadline of every call of every service.
    pub request_timeout: Duration,
    /// `secret-name` and `secret-namespace`, if both are given.
    pub secret: Option<ObjectRef>,
}

/// The URL of Keystone, and the credentials.
#[derive(Debug, Clone, Default)]
pub struct Global {
    /// `auth-url`, as given.
    pub auth_url: String,
    /// The authentication method.
    pub method: Method,
    /// The scope of the token.
    pub scope: Scope,
    /// `region`; empty: the first endpoint of a type.
    pub region: String,
    /// Whether provider IDs contain the region: `OS_CCM_REGIONAL=true`.
    pub provider_ids: ProviderIds,
    /// `os-endpoint-type`
    pub interface: Interface,
    /// Certificate authorities and the client certificate.
    pub tls: Tls,
}

/// Whether provider IDs contain the region.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ProviderIds {
    /// `openstack:///<id>`
    #[default]
    Plain,
    /// `openstack://<region>/<id>`
    Regional,
}

/// The authentication method.
#[derive(Debug, Clone)]
pub enum Method {
    /// Name (or ID) and password.
    Password {
        /// The user.
        user: User,
        /// The password.
        password: SecretString,
    },
    /// An application credential; its scope is its own.
    ApplicationCredential {
        /// Which one.
        credential: Credential,
        /// Its secret.
        secret: SecretString,
    },
    /// A token from elsewhere, to be re-scoped.
    Token(SecretString),
}

impl Default for Method {
    fn default() -> Self {
        Self::Token(SecretString::default())
    }
}

/// A user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum User {
    /// By ID.
    Id(String),
    /// By name, in a domain.
    Name {
        /// The name.
        name: String,
        /// Its domain.
        domain: Option<Domain>,
    },
}

/// A domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Domain {
    /// By ID.
    Id(String),
    /// By name.
    Name(String),
}

/// An application credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credential {
    /// By ID.
    Id(String),
    /// By name, of a user.
    Name {
        /// The name.
        name: String,
        /// The owner.
        user: User,
    },
}

/// The scope of the token.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Scope {
    /// Whatever the means of authentication implies.
    #[default]
    None,
    /// A project by ID.
    ProjectId(String),
    /// A project by name, in a domain.
    ProjectName {
        /// The name.
        name: String,
        /// Its domain.
        domain: Option<Domain>,
    },
    /// A domain.
    Domain(Domain),
    /// A trust.
    Trust(String),
}

/// Which of a service's endpoints to use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Interface {
    /// `public`
    #[default]
    Public,
    /// `internal`
    Internal,
    /// `admin`
    Admin,
}

/// Certificate authorities and the client certificate.
#[derive(Debug, Clone, Default)]
pub struct Tls {
    /// PEM of the authorities that replace the system's; `None`: the system's.
    pub authorities: Option<Vec<u8>>,
    /// PEM of the client's certificate and key.
    pub identity: Option<Identity>,
    /// Whether the server's certificate is checked.
    pub verification: Verification,
    /// The files that were read, to be watched.
    pub files: Vec<PathBuf>,
}

/// The client's certificate and key, both PEM.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The certificate chain.
    pub certificate: Vec<u8>,
    /// The key.
    pub key: SecretString,
}

/// Whether the server's certificate is checked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Verification {
    /// It is.
    #[default]
    On,
    /// It is not: `tls-insecure=true`, `verify: false`.
    Off,
}

/// `[LoadBalancer]`; the fields have the names of the keys.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a key of cloud.conf with a default of its own"
)]
pub struct LoadBalancer {
    /// Whether load balancers are managed.
    pub enabled: bool,
    /// Octavia's provider: `amphora`, `ovn`, ….
    pub lb_provider: String,
    /// `ROUND_ROBIN`, …: not checked.
    pub lb_method: String,
    /// The networks and subnets for Services that do not choose their own.
    pub networks: Class,
    /// Whether pools have monitors by default.
    pub create_monitor: bool,
    /// In whole seconds.
    pub monitor_delay: Duration,
    /// In whole seconds.
    pub monitor_timeout: Duration,
    /// Successes until a member is up.
    pub monitor_max_retries: u32,
    /// Failures until a member is down.
    pub monitor_max_retries_down: u32,
    /// Whether node ports are opened.
    pub manage_security_groups: bool,
    /// Whether every Service is internal.
    pub internal_lb: bool,
    /// `k=v,k2`, as given.
    pub node_selector: String,
    /// Whether Octavia deletes the children.
    pub cascade_delete: bool,
    /// Octavia's flavor; empty: none.
    pub flavor_id: String,
    /// Octavia's zone; empty: none.
    pub availability_zone: String,
    /// Whether a load balancer with the PROXY protocol has a host name instead of an address.
    pub enable_ingress_hostname: bool,
    /// What that name ends with.
    pub ingress_hostname_suffix: String,
    /// A reference to a certificate in Barbican; every TCP port then uses TLS.
    pub default_tls_container_ref: String,
    /// `barbican`, or `external`: no check that the reference exists.
    pub container_store: String,
    /// The most Services on one load balancer.
    pub max_shared_lb: u32,
    /// Whether Octavia's provider accepts one change at a time only.
    pub provider_requires_serial_api_calls: bool,
}

impl Default for LoadBalancer {
    fn default() -> Self {
        Self {
            enabled: true,
            lb_provider: "amphora".to_owned(),
            lb_method: "ROUND_ROBIN".to_owned(),
            networks: Class::default(),
            create_monitor: false,
            monitor_delay: Duration::from_secs(5),
            monitor_timeout: Duration::from_secs(3),
            monitor_max_retries: 1,
            monitor_max_retries_down: 3,
            manage_security_groups: false,
            internal_lb: false,
            node_selector: String::new(),
            cascade_delete: true,
            flavor_id: String::new(),
            availability_zone: String::new(),
            enable_ingress_hostname: false,
            ingress_hostname_suffix: "nip.io".to_owned(),
            default_tls_container_ref: String::new(),
            container_store: "barbican".to_owned(),
            max_shared_lb: 2,
            provider_requires_serial_api_calls: false,
        }
    }
}

/// Networks and subnets: of a `[LoadBalancerClass]`, or of `[LoadBalancer]` itself. Empty is not given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Class {
    /// The external network that floating IPs come from.
    pub floating_network_id: String,
    /// The subnet that floating IPs come from,
    pub floating_subnet_id: String,
    /// or a pattern of its name,
    pub floating_subnet: String,
    /// or its tags.
    pub floating_subnet_tags: String,
    /// The network of the balancer's own address.
    pub network_id: String,
    /// The subnet of the balancer's own address.
    pub subnet_id: String,
    /// The subnet of the members.
    pub member_subnet_id: String,
}

/// `[Networking]`
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Networking {
    /// Whether IPv6 addresses are left out.
    pub ipv6: Ipv6,
    /// Networks whose addresses are external.
    pub public_network_names: Vec<String>,
    /// The only networks whose addresses are internal, if any is named.
    pub internal_network_names: Vec<String>,
    /// The order of addresses.
    pub address_sort_order: Vec<IpNet>,
}

/// Whether IPv6 addresses count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Ipv6 {
    /// They do.
    #[default]
    Enabled,
    /// `ipv6-support-disabled`
    Disabled,
}
