//! Services for tests.

use k8s_openapi::{
    api::core::v1::{LoadBalancerIngress, Service, ServicePort},
    apimachinery::pkg::{apis::meta::v1::Time, util::intstr::IntOrString},
    jiff::Timestamp,
};

/// Builds a Service.
///
/// ```
/// let service = testkit::service::load_balancer("web").annotation("a", "b").finalizer("example.com/x").build();
/// assert_eq!(service.metadata.name.as_deref(), Some("web"));
/// ```
#[derive(Debug, Clone)]
pub struct Builder(Service);

/// A Service of type `LoadBalancer` in namespace `default`, with TCP port 80 and a UID from its name.
#[must_use]
pub fn load_balancer(name: &str) -> Builder {
    of_type(name, "LoadBalancer")
}

/// The same, of type `ClusterIP`.
#[must_use]
pub fn cluster_ip(name: &str) -> Builder {
    of_type(name, "ClusterIP")
}

/// The same, of type `NodePort`.
#[must_use]
pub fn node_port(name: &str) -> Builder {
    of_type(name, "NodePort")
}

/// The same, of this type.
#[must_use]
pub fn of_type(name: &str, kind: &str) -> Builder {
    let mut service = Service::default();
    service.metadata.name = Some(name.to_owned());
    service.metadata.namespace = Some("default".to_owned());
    service.metadata.uid = Some(format!("uid-{name}"));
    let spec = service.spec.get_or_insert_default();
    spec.type_ = Some(kind.to_owned());
    spec.ports = Some(vec![port("TCP", 80)]);
    Builder(service)
}

/// A port of a Service.
#[must_use]
pub fn port(protocol: &str, port: i32) -> ServicePort {
    ServicePort {
        protocol: Some(protocol.to_owned()),
        port,
        ..ServicePort::default()
    }
}

impl Builder {
    /// The Service.
    #[must_use]
    pub fn build(self) -> Service {
        self.0
    }

    /// Changes anything.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Service)) -> Self {
        change(&mut self.0);
        self
    }

    /// In this namespace.
    #[must_use]
    pub fn namespace(self, namespace: &str) -> Self {
        self.with(|service| service.metadata.namespace = Some(namespace.to_owned()))
    }

    /// With this UID.
    #[must_use]
    pub fn uid(self, uid: &str) -> Self {
        self.with(|service| service.metadata.uid = Some(uid.to_owned()))
    }

    /// With this resource version.
    #[must_use]
    pub fn version(self, version: &str) -> Self {
        self.with(|service| service.metadata.resource_version = Some(version.to_owned()))
    }

    /// With one more annotation.
    #[must_use]
    pub fn annotation(self, key: &str, value: &str) -> Self {
        self.with(|service| {
            service
                .metadata
                .annotations
                .get_or_insert_default()
                .insert(key.to_owned(), value.to_owned());
        })
    }

    /// With one more finalizer.
    #[must_use]
    pub fn finalizer(self, finalizer: &str) -> Self {
        self.with(|service| {
            service
                .metadata
                .finalizers
                .get_or_insert_default()
                .push(finalizer.to_owned());
        })
    }

    /// Deleted, at the beginning of time.
    #[must_use]
    pub fn deleted(self) -> Self {
        self.with(|service| service.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH)))
    }

    /// With these ports.
    #[must_use]
    pub fn ports(self, ports: impl IntoIterator<Item = ServicePort>) -> Self {
        self.spec(|spec| spec.ports = Some(ports.into_iter().collect()))
    }

    /// With this target of its first port: a number or a name.
    #[must_use]
    pub fn target_port(self, target: impl Into<Target>) -> Self {
        let Target(target) = target.into();
        self.first_port(|port| port.target_port = Some(target))
    }

    /// With this `appProtocol` of its first port.
    #[must_use]
    pub fn app_protocol(self, protocol: &str) -> Self {
        self.first_port(|port| port.app_protocol = Some(protocol.to_owned()))
    }

    /// Of this load-balancer class.
    #[must_use]
    pub fn class(self, class: &str) -> Self {
        self.spec(|spec| spec.load_balancer_class = Some(class.to_owned()))
    }

    /// With this `externalTrafficPolicy`.
    #[must_use]
    pub fn traffic_policy(self, policy: &str) -> Self {
        self.spec(|spec| spec.external_traffic_policy = Some(policy.to_owned()))
    }

    /// With these IP families.
    #[must_use]
    pub fn families<'a>(self, families: impl IntoIterator<Item = &'a str>) -> Self {
        self.spec(|spec| spec.ip_families = Some(owned(families)))
    }

    /// With these `externalIPs`.
    #[must_use]
    pub fn external_ips<'a>(self, ips: impl IntoIterator<Item = &'a str>) -> Self {
        self.spec(|spec| spec.external_ips = Some(owned(ips)))
    }

    /// With these `loadBalancerSourceRanges`.
    #[must_use]
    pub fn source_ranges<'a>(self, ranges: impl IntoIterator<Item = &'a str>) -> Self {
        self.spec(|spec| spec.load_balancer_source_ranges = Some(owned(ranges)))
    }

    /// With one more ingress by this address.
    #[must_use]
    pub fn ingress_ip(self, ip: &str) -> Self {
        self.with(|service| {
            let status = service
                .status
                .get_or_insert_default()
                .load_balancer
                .get_or_insert_default();
            let ingress = LoadBalancerIngress {
                ip: Some(ip.to_owned()),
                ..LoadBalancerIngress::default()
            };
            status.ingress.get_or_insert_default().push(ingress);
        })
    }

    /// With its spec changed.
    #[must_use]
    pub fn spec(self, change: impl FnOnce(&mut k8s_openapi::api::core::v1::ServiceSpec)) -> Self {
        self.with(|service| change(service.spec.get_or_insert_default()))
    }

    fn first_port(self, change: impl FnOnce(&mut ServicePort)) -> Self {
        self.spec(|spec| {
            if let Some(port) = spec.ports.as_mut().and_then(|ports| ports.first_mut()) {
                change(port);
            }
        })
    }
}

/// The target of a port.
#[derive(Debug, Clone)]
pub struct Target(IntOrString);

impl From<i32> for Target {
    fn from(number: i32) -> Self {
        Self(IntOrString::Int(number))
    }
}

impl From<&str> for Target {
    fn from(name: &str) -> Self {
        Self(IntOrString::String(name.to_owned()))
    }
}

fn owned<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    texts.into_iter().map(str::to_owned).collect()
}
