//! The names of the objects of a Service. They are those of the Go program, so that its objects are found.

use cloud::ServiceRef;
use ring::digest::{Algorithm, SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest};
use std::fmt::Write;

/// The description of the security group of a network load balancer.
pub const NETWORK_GROUP_DESCRIPTION: &str = "[k8s] Managed SecurityGroup for LoadBalancer";

/// The policy that makes a port of the nodes use the PROXY protocol.
pub const PROXY_POLICY: &str = "k8s-proxyprotocol-enabled";

/// How the description of the security group of a classic load balancer begins.
const CLASSIC_GROUP: &str = "Security group for Kubernetes ELB ";

/// The length of a UID.
const UID: usize = 36;

/// What the name of a target group is made of.
#[derive(Debug, Clone, Copy)]
pub struct TargetGroup<'a> {
    /// The cluster's ID, as in its tags.
    pub cluster: &'a str,
    pub service: &'a ServiceRef,
    pub port: u16,
    pub node_port: u16,
    /// Of the traffic to the nodes.
    pub protocol: &'a str,
    pub check_protocol: &'a str,
    pub check_interval: i64,
}

impl TargetGroup<'_> {
    /// The name of the target group.
    pub fn name(&self) -> String {
        let Self {
            cluster,
            service: ServiceRef { namespace, name, .. },
            port,
            node_port,
            protocol,
            check_protocol,
            check_interval,
        } = self;
        let text =
            format!("{cluster}{namespace}{name}{port}{node_port}{protocol}instance{check_protocol}{check_interval}");
        format!(
            "{}{}",
            target_group_prefix(self.service),
            start(&SHA1_FOR_LEGACY_USE_ONLY, &text)
        )
    }
}

/// How the names of all target groups of a Service begin. Those of another Service may begin in the same way.
pub fn target_group_prefix(service: &ServiceRef) -> String {
    let ServiceRef { namespace, name, .. } = service;
    format!("k8s-{}-{}-", short(namespace), short(name))
}

/// The security group of a network load balancer. `cluster` is `--cluster-name`.
pub fn network_group(cluster: &str, service: &ServiceRef) -> String {
    let ServiceRef { namespace, name, uid } = service;
    let text = format!("{cluster}{name}{namespace}{uid}");
    format!("{}{}", target_group_prefix(service), start(&SHA256, &text))
}

/// The security groups that a network load balancer may have: one, unless the UID is one of [`uid_of`].
pub fn network_groups(cluster: &str, service: &ServiceRef) -> Vec<String> {
    if service.uid.len() != UID - 1 {
        return vec![network_group(cluster, service)];
    }
    let with = |digit: char| ServiceRef {
        uid: format!("{}{digit}", service.uid),
        ..service.clone()
    };
    let all = "0123456789abcdef".chars().map(with);
    all.map(|service| network_group(cluster, &service)).collect()
}

/// The UID of the Service that a load balancer of this name was created for. Its last digit is missing, as in the name: for the name of the
/// load balancer it does not count.
pub fn uid_of(load_balancer: &str) -> Option<String> {
    let digits = load_balancer.strip_prefix('a')?;
    let is_uid = digits.len() == 31 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let parts = || {
        [
            &digits[..8],
            &digits[8..12],
            &digits[12..16],
            &digits[16..20],
            &digits[20..],
        ]
    };
    is_uid.then(|| parts().join("-"))
}

/// The Service whose load balancer has a security group of this description.
pub fn service_of_classic_group(description: &str) -> Option<ServiceRef> {
    let rest = description.strip_prefix(CLASSIC_GROUP)?;
    let (load_balancer, rest) = rest.split_once(" (")?;
    let (namespace, name) = rest.strip_suffix(')')?.split_once('/')?;
    Some(ServiceRef {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        uid: uid_of(load_balancer)?,
    })
}

/// The security group of a classic load balancer.
pub fn classic_group(load_balancer: &str) -> String {
    format!("k8s-elb-{load_balancer}")
}

/// Whether a security group has such a name.
pub fn is_classic_group(name: &str) -> bool {
    name.starts_with("k8s-elb-a")
}

/// The description of the security group of a classic load balancer.
pub fn classic_group_description(load_balancer: &str, service: &ServiceRef) -> String {
    let ServiceRef { namespace, name, .. } = service;
    format!("{CLASSIC_GROUP}{load_balancer} ({namespace}/{name})")
}

/// The policy that refers to a predefined TLS policy.
pub fn tls_policy(predefined: &str) -> String {
    format!("k8s-SSLNegotiationPolicy-{predefined}")
}

/// The first eight letters and digits.
fn short(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).take(8).collect()
}

/// The first ten hexadecimal digits of a hash.
fn start(algorithm: &'static Algorithm, text: &str) -> String {
    let hash = digest(algorithm, text.as_bytes());
    hash.as_ref().iter().take(5).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn service(namespace: &str, name: &str, uid: &str) -> ServiceRef {
        ServiceRef {
            namespace: namespace.into(),
            name: name.into(),
            uid: uid.into(),
        }
    }

    #[rstest]
    #[case("service-a", 80, 8080, "", 0, "k8s-default-servicea-7fa2e07508")]
    #[case("web", 80, 30080, "TCP", 30, "k8s-default-web-08ed573a38")]
    fn target_groups(
        #[case] name: &str,
        #[case] port: u16,
        #[case] node_port: u16,
        #[case] check_protocol: &str,
        #[case] check_interval: i64,
        #[case] expected: &str,
    ) {
        let group = TargetGroup {
            cluster: "cluster-a",
            service: &service("default", name, ""),
            port,
            node_port,
            protocol: "TCP",
            check_protocol,
            check_interval,
        };
        assert_eq!(group.name(), expected);
    }

    #[test]
    fn a_target_group_in_another_namespace() {
        let group = TargetGroup {
            cluster: "cluster-a",
            service: &service("shop", "web.api", ""),
            port: 443,
            node_port: 31443,
            protocol: "TCP",
            check_protocol: "HTTP",
            check_interval: 10,
        };
        assert_eq!(group.name(), "k8s-shop-webapi-fa75a71981");
    }

    #[rstest]
    #[case(
        "test-cluster",
        "my-service",
        "12345678-1234-1234-1234-123456789abc",
        "k8s-default-myservic-b7cb8b02f0"
    )]
    #[case(
        "kubernetes",
        "web",
        "8c4d4a2e-0b0c-4f5e-9a5d-2d9a6f1b7c3e",
        "k8s-default-web-abfdd5936a"
    )]
    fn network_groups(#[case] cluster: &str, #[case] name: &str, #[case] uid: &str, #[case] expected: &str) {
        assert_eq!(network_group(cluster, &service("default", name, uid)), expected);
    }

    #[test]
    fn names_tell_the_service() {
        let whole = service("default", "web", "8c4d4a2e-0b0c-4f5e-9a5d-2d9a6f1b7c3e");
        let name = cloud::default_name(&whole.uid);
        let uid = uid_of(&name).unwrap();
        assert_eq!((cloud::default_name(&uid), uid.len()), (name.clone(), 35));
        let found = service_of_classic_group(&classic_group_description(&name, &whole)).unwrap();
        assert_eq!(found, service("default", "web", &uid));
        let candidates = super::network_groups("kubernetes", &found);
        assert!(
            candidates.contains(&network_group("kubernetes", &whole)),
            "{candidates:?}"
        );
        assert_eq!(
            super::network_groups("kubernetes", &whole),
            [network_group("kubernetes", &whole)]
        );
        assert_eq!((uid_of("my-load-balancer"), uid_of("")), (None, None));
    }

    #[test]
    fn others() {
        assert_eq!(classic_group("a1"), "k8s-elb-a1");
        assert_eq!(
            classic_group_description("a1", &service("shop", "web", "")),
            "Security group for Kubernetes ELB a1 (shop/web)"
        );
        assert_eq!(
            tls_policy("ELBSecurityPolicy-TLS-1-2-2017-01"),
            "k8s-SSLNegotiationPolicy-ELBSecurityPolicy-TLS-1-2-2017-01"
        );
    }
}
