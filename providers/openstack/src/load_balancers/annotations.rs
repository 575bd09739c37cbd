//! The annotations of a Service: their names, how their values are read, and the table that the documentation is made of.

use cloud::Spec;
use tracing::debug;

macro_rules! annotations {
    ($($(#[$doc:meta])* $name:ident = $key:literal, $default:literal, $applied:ident, $meaning:literal;)+) => {
        $($(#[$doc])* #[doc = concat!("`", $key, "`: ", $meaning)] pub(crate) const $name: &str = $key;)+

        /// Every annotation, in the order of the documentation.
        pub fn reference() -> &'static [Annotation] {
            const ALL: &[Annotation] = &[
                $(Annotation { key: $key, default: $default, applied: Applied::$applied, meaning: $meaning },)+
            ];
            ALL
        }
    };
}

/// One annotation, as the documentation shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Annotation {
    /// Its name.
    pub key: &'static str,
    /// What holds without it.
    pub default: &'static str,
    /// Whether a change of it reaches a load balancer that exists.
    pub applied: Applied,
    /// What it does.
    pub meaning: &'static str,
}

/// Whether a change of an annotation reaches a load balancer that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applied {
    /// It does.
    Always,
    /// It counts only when the load balancer, or the floating IP, is made.
    AtCreation,
    /// It counts when the load balancer is deleted or becomes internal.
    AtDeletion,
    /// It is written by us.
    Written,
}

annotations! {
    INTERNAL = "service.beta.kubernetes.io/openstack-internal-load-balancer", "`internal-lb`", Always,
        "no floating IP; `loadBalancerIP` is the VIP. Cannot undo `internal-lb=true`";
    #[expect(dead_code, reason = "the service controller reads it; the documentation is ours")]
    SOURCE_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges", "everybody", Always,
        "comma-separated CIDRs that may connect, if `spec.loadBalancerSourceRanges` is empty";
    FLOATING_NETWORK_ID = "loadbalancer.openstack.org/floating-network-id", "class, `floating-network-id`, else the first external network", AtCreation,
        "the network that the floating IP comes from";
    FLOATING_SUBNET_ID = "loadbalancer.openstack.org/floating-subnet-id", "class, `floating-subnet-id`", AtCreation,
        "the subnet that the floating IP comes from";
    FLOATING_SUBNET = "loadbalancer.openstack.org/floating-subnet", "class, `floating-subnet`", AtCreation,
        "a pattern of the name of the subnet that the floating IP comes from";
    FLOATING_SUBNET_TAGS = "loadbalancer.openstack.org/floating-subnet-tags", "class, `floating-subnet-tags`", AtCreation,
        "tags of the subnet that the floating IP comes from";
    CLASS = "loadbalancer.openstack.org/class", "none", AtCreation,
        "the `[LoadBalancerClass]` that networks and subnets are taken from";
    KEEP_FLOATING_IP = "loadbalancer.openstack.org/keep-floatingip", "`false`", AtDeletion,
        "the floating IP outlives the load balancer";
    PORT_ID = "loadbalancer.openstack.org/port-id", "none", AtCreation,
        "the Neutron port that becomes the VIP";
    SUBNET_ID = "loadbalancer.openstack.org/subnet-id", "class, `subnet-id`, else that of the first node", AtCreation,
        "the subnet of the VIP";
    NETWORK_ID = "loadbalancer.openstack.org/network-id", "class, `network-id`", AtCreation,
        "the network of the VIP";
    MEMBER_SUBNET_ID = "loadbalancer.openstack.org/member-subnet-id", "class, `member-subnet-id`, else the subnet of the VIP", Always,
        "the subnet of the members; existing members keep theirs until they change";
    CONNECTION_LIMIT = "loadbalancer.openstack.org/connection-limit", "`-1`", Always,
        "how many connections a port takes at most; -1 is no limit";
    PROXY_PROTOCOL = "loadbalancer.openstack.org/proxy-protocol", "`false`", Always,
        "`true` or `v1`: PROXY, `v2`: PROXYV2, on the TCP ports. A change makes the pools anew";
    X_FORWARDED_FOR = "loadbalancer.openstack.org/x-forwarded-for", "`false`", Always,
        "TCP ports become HTTP, and `X-Forwarded-For` is added. Not together with `proxy-protocol`. A change makes the ports anew";
    X_FORWARDED_PORT = "loadbalancer.openstack.org/x-forwarded-port", "`false`", Always,
        "TCP ports become HTTP, and `X-Forwarded-Port` is added";
    X_FORWARDED_PROTO = "loadbalancer.openstack.org/x-forwarded-proto", "`false`", Always,
        "TCP ports become HTTP, and `X-Forwarded-Proto` is added";
    LB_METHOD = "loadbalancer.openstack.org/lb-method", "`lb-method`", Always,
        "the algorithm of the pools, such as `LEAST_CONNECTIONS`";
    TIMEOUT_CLIENT_DATA = "loadbalancer.openstack.org/timeout-client-data", "`50000`", Always,
        "how long a client may be silent, in milliseconds";
    TIMEOUT_MEMBER_CONNECT = "loadbalancer.openstack.org/timeout-member-connect", "`5000`", Always,
        "how long a connection to a member may take, in milliseconds";
    TIMEOUT_MEMBER_DATA = "loadbalancer.openstack.org/timeout-member-data", "`50000`", Always,
        "how long a member may be silent, in milliseconds";
    TIMEOUT_TCP_INSPECT = "loadbalancer.openstack.org/timeout-tcp-inspect", "`0`", Always,
        "how long to wait for more TCP packets for inspection, in milliseconds";
    TLS_CONTAINER_REF = "loadbalancer.openstack.org/default-tls-container-ref", "`default-tls-container-ref`", Always,
        "the certificate in Barbican; TCP ports become `TERMINATED_HTTPS`. Turning it on or off makes the ports anew";
    ENABLE_HEALTH_MONITOR = "loadbalancer.openstack.org/enable-health-monitor", "`create-monitor`", Always,
        "whether the pools have monitors";
    HEALTH_MONITOR_DELAY = "loadbalancer.openstack.org/health-monitor-delay", "`monitor-delay`", Always,
        "the time between two probes, in seconds";
    HEALTH_MONITOR_TIMEOUT = "loadbalancer.openstack.org/health-monitor-timeout", "`monitor-timeout`", Always,
        "how long a probe may take, in seconds";
    HEALTH_MONITOR_MAX_RETRIES = "loadbalancer.openstack.org/health-monitor-max-retries", "`monitor-max-retries`", Always,
        "successes until a member is up";
    HEALTH_MONITOR_MAX_RETRIES_DOWN = "loadbalancer.openstack.org/health-monitor-max-retries-down", "`monitor-max-retries-down`", Always,
        "failures until a member is down";
    FLAVOR_ID = "loadbalancer.openstack.org/flavor-id", "`flavor-id`", AtCreation,
        "Octavia's flavor";
    AVAILABILITY_ZONE = "loadbalancer.openstack.org/availability-zone", "`availability-zone`", AtCreation,
        "Octavia's availability zone";
    NODE_SELECTOR = "loadbalancer.openstack.org/node-selector", "`node-selector`", Always,
        "labels, `k=v,k2`, of the nodes that traffic goes to";
    HOSTNAME = "loadbalancer.openstack.org/hostname", "none", Always,
        "stands in the Service's status instead of the address";
    LOAD_BALANCER_TAGS = "loadbalancer.openstack.org/load-balancer-tags", "none", Always,
        "comma-separated tags that are added to the load balancer; none is ever taken away";
    LISTENER_TAGS = "loadbalancer.openstack.org/listener-tags", "none", Always,
        "comma-separated tags that are added to the listeners; none is ever taken away";
    POOL_TAGS = "loadbalancer.openstack.org/pool-tags", "none", Always,
        "comma-separated tags that are added to the pools; none is ever taken away";
    LOAD_BALANCER_ID = "loadbalancer.openstack.org/load-balancer-id", "written once the load balancer serves", Written,
        "the load balancer; set it to use one that exists, also one of another Service";
    LOAD_BALANCER_ADDRESS = "loadbalancer.openstack.org/load-balancer-address", "written", Written,
        "the address that the load balancer is reached by";
    RECORD = "outrigger.dev/load-balancer", "written", Written,
        "the load balancer that served this Service last, and when both matched, so that it need not be read again";
}

/// The text of an annotation; one that is there but empty is the empty text, which turns a configured default off.
pub(crate) fn text<'a>(spec: &'a Spec, key: &str, default: &'a str) -> &'a str {
    spec.annotations.get(key).map_or(default, String::as_str)
}

/// The text of an annotation, unless it is empty.
pub(crate) fn non_empty(spec: &Spec, key: &str, default: &str) -> Option<String> {
    Some(text(spec, key, default))
        .filter(|text| !text.is_empty())
        .map(str::to_owned)
}

/// The number of an annotation; what is no number counts as not given.
pub(crate) fn number(spec: &Spec, key: &str, default: i64) -> i64 {
    parsed(spec, key, default, |text| text.parse().ok())
}

/// The truth of an annotation: `true` or `false`, anything else counts as not given.
pub(crate) fn truth(spec: &Spec, key: &str, default: bool) -> bool {
    parsed(spec, key, default, |text| text.parse().ok())
}

/// The items of a comma-separated annotation, each once.
pub(crate) fn items(spec: &Spec, key: &str) -> Vec<String> {
    let mut items = Vec::new();
    for item in text(spec, key, "")
        .split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty())
    {
        if !items.iter().any(|known| known == item) {
            items.push(item.to_owned());
        }
    }
    items
}

fn parsed<T>(spec: &Spec, key: &str, default: T, parse: impl Fn(&str) -> Option<T>) -> T {
    let Some(text) = spec.annotations.get(key) else {
        return default;
    };
    parse(text).unwrap_or_else(|| {
        debug!(annotation = key, value = text, "cannot be read, the default counts");
        default
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn spec(value: Option<&str>) -> Spec {
        Spec {
            annotations: value
                .map(|value| ("key".to_owned(), value.to_owned()))
                .into_iter()
                .collect(),
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
        assert_eq!(number(&spec(value), "key", 4), expected, "{row}");
    }

    // upstream: openstack 38
    #[rstest]
    #[case("bool absent", None, true, true)]
    #[case("bool true", Some("true"), false, true)]
    #[case("bool false", Some("false"), true, false)]
    #[case("bool other", Some("yes"), true, true)]
    #[case("bool in capitals", Some("True"), false, false)]
    fn truths(#[case] row: &str, #[case] value: Option<&str>, #[case] default: bool, #[case] expected: bool) {
        assert_eq!(truth(&spec(value), "key", default), expected, "{row}");
    }

    // upstream: openstack 38
    #[rstest]
    #[case("string present", Some("value"), "value")]
    #[case("string present and empty", Some(""), "")]
    #[case("string absent", None, "default")]
    fn texts(#[case] row: &str, #[case] value: Option<&str>, #[case] expected: &str) {
        assert_eq!(text(&spec(value), "key", "default"), expected, "{row}");
    }

    #[rstest]
    #[case(None, &[])]
    #[case(Some("a, b ,a,,c"), &["a", "b", "c"])]
    fn lists(#[case] value: Option<&str>, #[case] expected: &[&str]) {
        assert_eq!(items(&spec(value), "key"), expected);
    }

    #[test]
    fn every_annotation_is_documented_once() {
        let mut keys: Vec<_> = reference().iter().map(|annotation| annotation.key).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), reference().len());
        assert!(reference().iter().all(|annotation| !annotation.meaning.is_empty()));
    }
}
