//! The annotations of a Service, as one table: it feeds parsing and the reference page.

use provider_kit::annotations::Table;

/// Every annotation that the load balancers of this cloud know.
pub const TABLE: Table = Table {
    cloud: "openstack",
    title: "OpenStack",
    prefixes: &["loadbalancer.openstack.org/"],
    rows: ROWS,
    rules: &[],
};

provider_kit::annotations! {
    INTERNAL = "service.beta.kubernetes.io/openstack-internal-load-balancer", Boolean, Ignored, "`internal-lb`", Always,
        "no floating IP; `loadBalancerIP` is the VIP. Cannot undo `internal-lb=true`";
    /// Read by the service controller.
    SOURCE_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges", Cidrs, Ignored, "all clients", Always,
        "comma-separated CIDRs that may connect, if `spec.loadBalancerSourceRanges` is empty";
    FLOATING_NETWORK_ID = "loadbalancer.openstack.org/floating-network-id", Text, Ignored, "class, `floating-network-id`, else the first external network", AtCreation,
        "the network that the floating IP comes from";
    FLOATING_SUBNET_ID = "loadbalancer.openstack.org/floating-subnet-id", Text, Ignored, "class, `floating-subnet-id`", AtCreation,
        "the subnet that the floating IP comes from";
    FLOATING_SUBNET = "loadbalancer.openstack.org/floating-subnet", Text, Ignored, "class, `floating-subnet`", AtCreation,
        "a pattern of the name of the subnet that the floating IP comes from";
    FLOATING_SUBNET_TAGS = "loadbalancer.openstack.org/floating-subnet-tags", Text, Ignored, "class, `floating-subnet-tags`", AtCreation,
        "tags of the subnet that the floating IP comes from";
    CLASS = "loadbalancer.openstack.org/class", Text, Ignored, "none", AtCreation,
        "the `[LoadBalancerClass]` that networks and subnets are taken from";
    KEEP_FLOATING_IP = "loadbalancer.openstack.org/keep-floatingip", Boolean, Ignored, "`false`", AtDeletion,
        "the floating IP outlives the load balancer";
    PORT_ID = "loadbalancer.openstack.org/port-id", Text, Ignored, "none", AtCreation,
        "the Neutron port that becomes the VIP";
    SUBNET_ID = "loadbalancer.openstack.org/subnet-id", Text, Ignored, "class, `subnet-id`, else that of the first node", AtCreation,
        "the subnet of the VIP";
    NETWORK_ID = "loadbalancer.openstack.org/network-id", Text, Ignored, "class, `network-id`", AtCreation,
        "the network of the VIP";
    MEMBER_SUBNET_ID = "loadbalancer.openstack.org/member-subnet-id", Text, Ignored, "class, `member-subnet-id`, else the subnet of the VIP", Always,
        "the subnet of the members; existing members keep theirs until they change";
    CONNECTION_LIMIT = "loadbalancer.openstack.org/connection-limit", Integer { least: i64::MIN, most: i64::MAX }, Ignored, "`-1`", Always,
        "how many connections a port takes at most; -1 is no limit";
    PROXY_PROTOCOL = "loadbalancer.openstack.org/proxy-protocol", Words(&["true", "v1", "v2", "false"]), Ignored, "`false`", Always,
        "`true` or `v1`: PROXY, `v2`: PROXYV2, on the TCP ports. A change recreates the pools";
    X_FORWARDED_FOR = "loadbalancer.openstack.org/x-forwarded-for", Boolean, Ignored, "`false`", Always,
        "TCP ports become HTTP, and `X-Forwarded-For` is added. Not together with `proxy-protocol`. A change recreates the ports";
    X_FORWARDED_PORT = "loadbalancer.openstack.org/x-forwarded-port", Boolean, Ignored, "`false`", Always,
        "TCP ports become HTTP, and `X-Forwarded-Port` is added";
    X_FORWARDED_PROTO = "loadbalancer.openstack.org/x-forwarded-proto", Boolean, Ignored, "`false`", Always,
        "TCP ports become HTTP, and `X-Forwarded-Proto` is added";
    LB_METHOD = "loadbalancer.openstack.org/lb-method", Text, Ignored, "`lb-method`", Always,
        "the algorithm of the pools, such as `LEAST_CONNECTIONS`";
    TIMEOUT_CLIENT_DATA = "loadbalancer.openstack.org/timeout-client-data", Integer { least: i64::MIN, most: i64::MAX }, Ignored, "`50000`", Always,
        "how long a client may be silent, in milliseconds";
    TIMEOUT_MEMBER_CONNECT = "loadbalancer.openstack.org/timeout-member-connect", Integer { least: i64::MIN, most: i64::MAX }, Ignored, "`5000`", Always,
        "how long a connection to a member may take, in milliseconds";
    TIMEOUT_MEMBER_DATA = "loadbalancer.openstack.org/timeout-member-data", Integer { least: i64::MIN, most: i64::MAX }, Ignored, "`50000`", Always,
        "how long a member may be silent, in milliseconds";
    TIMEOUT_TCP_INSPECT = "loadbalancer.openstack.org/timeout-tcp-inspect", Integer { least: i64::MIN, most: i64::MAX }, Ignored, "`0`", Always,
        "how long to wait for more TCP packets for inspection, in milliseconds";
    TLS_CONTAINER_REF = "loadbalancer.openstack.org/default-tls-container-ref", Text, Ignored, "`default-tls-container-ref`", Always,
        "the certificate in Barbican; TCP ports become `TERMINATED_HTTPS`. Turning it on or off recreates the ports";
    ENABLE_HEALTH_MONITOR = "loadbalancer.openstack.org/enable-health-monitor", Boolean, Ignored, "`create-monitor`", Always,
        "whether the pools have monitors";
    HEALTH_MONITOR_DELAY = "loadbalancer.openstack.org/health-monitor-delay", Integer { least: i64::MIN, most: i64::MAX }, Ignored, "`monitor-delay`", Always,
        "the time between two probes, in seconds";
    HEALTH_MONITOR_TIMEOUT = "loadbalancer.openstack.org/health-monitor-timeout", Integer { least: i64::MIN, most: i64::MAX }, Ignored, "`monitor-timeout`", Always,
        "how long a probe may take, in seconds";
    HEALTH_MONITOR_MAX_RETRIES = "loadbalancer.openstack.org/health-monitor-max-retries", Integer { least: i64::MIN, most: i64::MAX }, Ignored, "`monitor-max-retries`", Always,
        "successes until a member is up";
    HEALTH_MONITOR_MAX_RETRIES_DOWN = "loadbalancer.openstack.org/health-monitor-max-retries-down", Integer { least: i64::MIN, most: i64::MAX }, Ignored, "`monitor-max-retries-down`", Always,
        "failures until a member is down";
    FLAVOR_ID = "loadbalancer.openstack.org/flavor-id", Text, Ignored, "`flavor-id`", AtCreation,
        "Octavia's flavor";
    AVAILABILITY_ZONE = "loadbalancer.openstack.org/availability-zone", Text, Ignored, "`availability-zone`", AtCreation,
        "Octavia's availability zone";
    NODE_SELECTOR = "loadbalancer.openstack.org/node-selector", Text, Ignored, "`node-selector`", Always,
        "labels, `k=v,k2`, of the nodes that get traffic";
    HOSTNAME = "loadbalancer.openstack.org/hostname", Text, Ignored, "none", Always,
        "stands in the Service's status instead of the address";
    LOAD_BALANCER_TAGS = "loadbalancer.openstack.org/load-balancer-tags", List, Ignored, "none", Always,
        "comma-separated tags that are added to the load balancer; none is ever taken away";
    LISTENER_TAGS = "loadbalancer.openstack.org/listener-tags", List, Ignored, "none", Always,
        "comma-separated tags that are added to the listeners; none is ever taken away";
    POOL_TAGS = "loadbalancer.openstack.org/pool-tags", List, Ignored, "none", Always,
        "comma-separated tags that are added to the pools; none is ever taken away";
    LOAD_BALANCER_ID = "loadbalancer.openstack.org/load-balancer-id", Text, Ignored, "written once the load balancer serves", Written,
        "the load balancer; set it to use one that exists, also one of another Service";
    LOAD_BALANCER_ADDRESS = "loadbalancer.openstack.org/load-balancer-address", Text, Ignored, "written", Written,
        "the address that the load balancer is reached by";
    RECORD = "outrigger.dev/load-balancer", Text, Ignored, "written", Written,
        "the load balancer that served this Service last, and when both matched, so that it need not be read again";
}

#[cfg(test)]
mod tests {
    use super::*;
    use cloud::Spec;
    use rstest::rstest;

    fn spec(key: &str, value: Option<&str>) -> Spec {
        let annotation = value.map(|value| (key.to_owned(), value.to_owned()));
        Spec {
            annotations: annotation.into_iter().collect(),
            ..Spec::default()
        }
    }

    // upstream: openstack 38
    #[rstest]
    #[case("int annotation absent", None, 4)]
    #[case("int annotation valid", Some("3"), 3)]
    #[case("int annotation negative", Some("-1"), -1)]
    #[case("int annotation invalid", Some("bad-value"), 4)]
    #[case("int annotation empty", Some(""), 4)]
    fn numbers(#[case] row: &str, #[case] value: Option<&str>, #[case] expected: i64) {
        let number = CONNECTION_LIMIT.integer_or(&spec(CONNECTION_LIMIT.key, value), 4);
        assert_eq!(number, expected, "{row}");
    }

    // upstream: openstack 38
    #[rstest]
    #[case("bool absent", None, true, true)]
    #[case("bool true", Some("true"), false, true)]
    #[case("bool false", Some("false"), true, false)]
    #[case("bool other", Some("yes"), true, true)]
    #[case("bool in capitals", Some("True"), false, false)]
    fn truths(#[case] row: &str, #[case] value: Option<&str>, #[case] default: bool, #[case] expected: bool) {
        let truth = INTERNAL.boolean_or(&spec(INTERNAL.key, value), default);
        assert_eq!(truth, expected, "{row}");
    }

    // upstream: openstack 38
    #[rstest]
    #[case("string present", Some("value"), Some("value"))]
    #[case("string present and empty", Some(""), Some(""))]
    #[case("string absent", None, None)]
    fn texts(#[case] row: &str, #[case] value: Option<&str>, #[case] expected: Option<&str>) {
        assert_eq!(CLASS.text(&spec(CLASS.key, value)), expected, "{row}");
    }

    #[test]
    fn every_annotation_is_documented_once() {
        let mut keys: Vec<_> = ROWS.iter().map(|annotation| annotation.key).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), ROWS.len());
        assert!(ROWS.iter().all(|annotation| !annotation.meaning.is_empty()));
    }

    #[test]
    fn recipes_of_the_documentation_use_known_annotations() {
        let page = include_str!("../../../../docs/expose-a-service.md");
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || "./-".contains(letter);
        let words = page.split(|letter: char| !is_part(letter));
        let used: Vec<_> = words
            .filter(|word| word.starts_with("loadbalancer.openstack.org/"))
            .collect();
        assert!(used.len() > 5, "{used:?}");
        let unknown: Vec<_> = used
            .iter()
            .filter(|used| ROWS.iter().all(|annotation| annotation.key != **used))
            .collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}
