//! What the annotations of a Service ask for, with the configuration's defaults filled in. Read once, for every path.

mod node_selector;

use super::{annotations as key, names};
use crate::config::{Class, Config, LoadBalancer};
use cloud::{Result, Spec};
use node_selector::NodeSelector;
use provider_kit::annotations::Annotation;

/// What a Service asks for, besides its spec.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Which clients can reach it.
    pub exposure: Exposure,
    /// What happens to the floating IP.
    pub floating_ip: Retention,
    /// The name of a `[LoadBalancerClass]`.
    pub class: Option<String>,
    /// The Service's own choice of networks and subnets; empty is not given.
    pub networks: Class,
    /// The port that becomes the VIP.
    pub port_id: Option<String>,
    /// The load balancer that is to be used.
    pub load_balancer_id: Option<String>,
    /// The address of its last status: the Service was served before.
    pub address: Option<String>,
    /// -1: no limit.
    pub connection_limit: i64,
    /// Whether members learn the client's address by the PROXY protocol.
    pub proxy: Option<Proxy>,
    /// Headers that are added: `X-Forwarded-For`, ….
    pub headers: Vec<&'static str>,
    /// Headers that the Service controls. Other headers on a listener were added by a user, and are kept.
    pub governed_headers: Vec<&'static str>,
    /// The algorithm of the pools.
    pub method: String,
    /// The timeouts of the listeners.
    pub timeouts: Timeouts,
    /// The certificate.
    pub tls_container_ref: Option<String>,
    /// The monitors of the pools, if they have any.
    pub monitor: Option<Monitoring>,
    /// Octavia's flavor.
    pub flavor_id: Option<String>,
    /// Octavia's zone.
    pub availability_zone: Option<String>,
    /// The nodes that get traffic.
    pub node_selector: NodeSelector,
    /// The host name in the status, instead of the address.
    pub hostname: Option<String>,
    /// More tags of the load balancer.
    pub load_balancer_tags: Vec<String>,
    /// More tags of the listeners.
    pub listener_tags: Vec<String>,
    /// Tags of the pools.
    pub pool_tags: Vec<String>,
}

/// Which clients can reach a Service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exposure {
    /// Clients on its network.
    Internal,
    /// All clients, by a floating IP.
    External,
}

/// What happens to a floating IP of ours that is not needed any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Retention {
    /// It is deleted with the load balancer.
    Delete,
    /// It is detached and kept.
    Detach,
    /// The Service is unknown: it is kept, and logged.
    Unknown,
}

/// A version of the PROXY protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proxy {
    /// `PROXY`
    V1,
    /// `PROXYV2`
    V2,
}

/// In milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Timeouts {
    pub client_data: i64,
    pub member_connect: i64,
    pub member_data: i64,
    pub tcp_inspect: i64,
}

/// Delay and timeout in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Monitoring {
    pub delay: i64,
    pub timeout: i64,
    pub max_retries: i64,
    pub max_retries_down: i64,
}

impl Settings {
    /// Reads and checks them.
    ///
    /// # Errors
    /// [`Error::Invalid`] if two of them exclude each other.
    pub fn of(spec: &Spec, config: &Config) -> Result<Self> {
        Self::unchecked(spec, config).checked()
    }

    /// Reads them without checks; enough to find and to delete a load balancer.
    pub fn unchecked(spec: &Spec, config: &Config) -> Self {
        let defaults = &config.load_balancer;
        Self {
            exposure: exposure(spec, defaults),
            floating_ip: retention(spec),
            class: key::CLASS.non_empty(spec).map(str::to_owned),
            networks: networks(spec),
            port_id: key::PORT_ID.non_empty(spec).map(str::to_owned),
            load_balancer_id: key::LOAD_BALANCER_ID.non_empty(spec).map(str::to_owned),
            address: key::LOAD_BALANCER_ADDRESS.non_empty(spec).map(str::to_owned),
            connection_limit: key::CONNECTION_LIMIT.integer_or(spec, -1),
            proxy: proxy(spec),
            headers: headers(spec),
            governed_headers: governed_headers(spec),
            method: key::LB_METHOD.non_empty(spec).unwrap_or(&defaults.lb_method).to_owned(),
            timeouts: timeouts(spec),
            tls_container_ref: configured(spec, key::TLS_CONTAINER_REF, &defaults.default_tls_container_ref),
            monitor: monitoring(spec, defaults),
            flavor_id: configured(spec, key::FLAVOR_ID, &defaults.flavor_id),
            availability_zone: configured(spec, key::AVAILABILITY_ZONE, &defaults.availability_zone),
            node_selector: NodeSelector::parse(key::NODE_SELECTOR.text(spec).unwrap_or(&defaults.node_selector)),
            hostname: key::HOSTNAME.non_empty(spec).map(str::to_owned),
            load_balancer_tags: key::LOAD_BALANCER_TAGS.list(spec),
            listener_tags: key::LISTENER_TAGS.list(spec),
            pool_tags: key::POOL_TAGS.list(spec),
        }
    }

    fn checked(self) -> Result<Self> {
        let header = HEADERS.iter().find(|(_, header)| self.headers.contains(header));
        if let (Some(_), Some((annotation, _))) = (self.proxy, header) {
            let reason = format!("it cannot be used together with {}", annotation.key);
            return Err(key::PROXY_PROTOCOL.invalid(reason));
        }
        let tags = [
            (key::LOAD_BALANCER_TAGS, &self.load_balancer_tags),
            (key::LISTENER_TAGS, &self.listener_tags),
            (key::POOL_TAGS, &self.pool_tags),
        ];
        let taken = tags
            .into_iter()
            .flat_map(|(annotation, tags)| tags.iter().map(move |tag| (annotation, tag)))
            .find(|(_, tag)| names::is_service_tag(tag));
        if let Some((annotation, tag)) = taken {
            return Err(annotation.invalid(format!(
                "the tag {tag:?} would be taken for a Service: it must not begin with {}",
                names::PREFIX
            )));
        }
        Ok(self)
    }
}

/// The text of an annotation, else the configured one. An annotation that is empty turns what is configured off.
fn configured(spec: &Spec, annotation: Annotation, default: &str) -> Option<String> {
    let text = annotation.text(spec).unwrap_or(default);
    (!text.is_empty()).then(|| text.to_owned())
}

/// A Service that has or had a load balancer has ports, or the manager's annotations if its type changed. If it has neither, it is deleted and
/// only its name is known: it may have asked to keep its address.
fn retention(spec: &Spec) -> Retention {
    if key::KEEP_FLOATING_IP.boolean_or(spec, false) {
        Retention::Detach
    } else if spec.ports.is_empty() && spec.annotations.is_empty() {
        Retention::Unknown
    } else {
        Retention::Delete
    }
}

fn exposure(spec: &Spec, defaults: &LoadBalancer) -> Exposure {
    if defaults.internal_lb || key::INTERNAL.boolean_or(spec, false) {
        Exposure::Internal
    } else {
        Exposure::External
    }
}

fn networks(spec: &Spec) -> Class {
    let text = |annotation: Annotation| annotation.text(spec).unwrap_or_default().to_owned();
    Class {
        floating_network_id: text(key::FLOATING_NETWORK_ID),
        floating_subnet_id: text(key::FLOATING_SUBNET_ID),
        floating_subnet: text(key::FLOATING_SUBNET),
        floating_subnet_tags: text(key::FLOATING_SUBNET_TAGS),
        network_id: text(key::NETWORK_ID),
        subnet_id: text(key::SUBNET_ID),
        member_subnet_id: text(key::MEMBER_SUBNET_ID),
    }
}

fn proxy(spec: &Spec) -> Option<Proxy> {
    match key::PROXY_PROTOCOL.text(spec)? {
        "true" | "v1" => Some(Proxy::V1),
        "v2" => Some(Proxy::V2),
        _ => None,
    }
}

/// Annotations and the headers that they are about, by their names on the wire.
const HEADERS: [(Annotation, &str); 3] = [
    (key::X_FORWARDED_FOR, "X-Forwarded-For"),
    (key::X_FORWARDED_PORT, "X-Forwarded-Port"),
    (key::X_FORWARDED_PROTO, "X-Forwarded-Proto"),
];

fn headers(spec: &Spec) -> Vec<&'static str> {
    let on = HEADERS
        .iter()
        .filter(|(annotation, _)| annotation.boolean_or(spec, false));
    on.map(|(_, header)| *header).collect()
}

/// As in occm, `X-Forwarded-For` is controlled even without the annotation, and no other header is.
fn governed_headers(spec: &Spec) -> Vec<&'static str> {
    let is_governed = |annotation: Annotation| annotation == key::X_FORWARDED_FOR || annotation.is_present(spec);
    let governed = HEADERS.iter().filter(|(annotation, _)| is_governed(*annotation));
    governed.map(|(_, header)| *header).collect()
}

fn timeouts(spec: &Spec) -> Timeouts {
    Timeouts {
        client_data: key::TIMEOUT_CLIENT_DATA.integer_or(spec, 50_000),
        member_connect: key::TIMEOUT_MEMBER_CONNECT.integer_or(spec, 5_000),
        member_data: key::TIMEOUT_MEMBER_DATA.integer_or(spec, 50_000),
        tcp_inspect: key::TIMEOUT_TCP_INSPECT.integer_or(spec, 0),
    }
}

fn monitoring(spec: &Spec, defaults: &LoadBalancer) -> Option<Monitoring> {
    let seconds = |duration: std::time::Duration| i64::try_from(duration.as_secs()).unwrap_or(i64::MAX);
    key::ENABLE_HEALTH_MONITOR
        .boolean_or(spec, defaults.create_monitor)
        .then(|| Monitoring {
            delay: key::HEALTH_MONITOR_DELAY.integer_or(spec, seconds(defaults.monitor_delay)),
            timeout: key::HEALTH_MONITOR_TIMEOUT.integer_or(spec, seconds(defaults.monitor_timeout)),
            max_retries: key::HEALTH_MONITOR_MAX_RETRIES.integer_or(spec, defaults.monitor_max_retries.into()),
            max_retries_down: key::HEALTH_MONITOR_MAX_RETRIES_DOWN
                .integer_or(spec, defaults.monitor_max_retries_down.into()),
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use cloud::Error;
    use rstest::rstest;

    const P: &str = "loadbalancer.openstack.org/";

    /// `proxy-protocol=true flavor-id=`: annotations without their prefix.
    fn spec(annotations: &str) -> Spec {
        let pair = |text: &str| {
            let (name, value) = text.split_once('=').expect("name=value");
            let name = if name == "internal" {
                key::INTERNAL.key.to_owned()
            } else {
                format!("{P}{name}")
            };
            (name, value.to_owned())
        };
        Spec {
            annotations: annotations.split_whitespace().map(pair).collect(),
            ..Spec::default()
        }
    }

    fn config(change: impl FnOnce(&mut LoadBalancer)) -> Config {
        let mut config = Config::default();
        change(&mut config.load_balancer);
        config
    }

    fn settings(annotations: &str) -> Settings {
        Settings::of(&spec(annotations), &Config::default()).unwrap()
    }

    // upstream: openstack 39
    #[rstest]
    #[case("false", "proxy-protocol=false", None)]
    #[case("absent", "", None)]
    #[case("garbage", "proxy-protocol=v3", None)]
    #[case("true", "proxy-protocol=true", Some(Proxy::V1))]
    #[case("v1", "proxy-protocol=v1", Some(Proxy::V1))]
    #[case("v2", "proxy-protocol=v2", Some(Proxy::V2))]
    fn proxies(#[case] row: &str, #[case] annotations: &str, #[case] expected: Option<Proxy>) {
        assert_eq!(settings(annotations).proxy, expected, "{row}");
    }

    #[rstest]
    #[case::no_annotation("", false, Exposure::External)]
    #[case::asked("internal=true", false, Exposure::Internal)]
    #[case::configured("", true, Exposure::Internal)]
    #[case::cannot_be_undone("internal=false", true, Exposure::Internal)]
    #[case::garbage("internal=yes", false, Exposure::External)]
    fn exposures(#[case] annotations: &str, #[case] internal_lb: bool, #[case] expected: Exposure) {
        let config = config(|defaults| defaults.internal_lb = internal_lb);
        assert_eq!(Settings::of(&spec(annotations), &config).unwrap().exposure, expected);
    }

    #[test]
    fn an_empty_annotation_turns_a_default_off() {
        let config = config(|defaults| {
            defaults.flavor_id = "f".into();
            defaults.availability_zone = "z".into();
            defaults.default_tls_container_ref = "r".into();
            defaults.lb_method = "SOURCE_IP".into();
            defaults.node_selector = "k".into();
        });
        let parsed = Settings::of(&spec(""), &config).unwrap();
        assert_eq!(
            (
                parsed.flavor_id.as_deref(),
                parsed.availability_zone.as_deref(),
                parsed.tls_container_ref.as_deref()
            ),
            (Some("f"), Some("z"), Some("r"))
        );
        assert_eq!(
            (parsed.method.as_str(), parsed.node_selector),
            ("SOURCE_IP", NodeSelector::parse("k"))
        );
        let off = "flavor-id= availability-zone= default-tls-container-ref= lb-method= node-selector=";
        let off = Settings::of(&spec(off), &config).unwrap();
        assert_eq!(
            (off.flavor_id, off.availability_zone, off.tls_container_ref),
            (None, None, None)
        );
        assert_eq!(
            (off.method.as_str(), off.node_selector),
            ("SOURCE_IP", NodeSelector::default())
        );
    }

    #[test]
    fn defaults_are_those_of_occm() {
        let Settings {
            connection_limit,
            timeouts,
            monitor,
            method,
            headers,
            ..
        } = settings("");
        let expected = Timeouts {
            client_data: 50_000,
            member_connect: 5_000,
            member_data: 50_000,
            tcp_inspect: 0,
        };
        assert_eq!((connection_limit, timeouts, monitor), (-1, expected, None));
        assert_eq!((method.as_str(), headers), ("ROUND_ROBIN", vec![]));
    }

    #[rstest]
    #[case::asked("enable-health-monitor=true", Some((5, 3, 1, 3)))]
    #[case::each_of_them(
        "enable-health-monitor=true health-monitor-delay=10 health-monitor-timeout=9 health-monitor-max-retries=8 health-monitor-max-retries-down=7",
        Some((10, 9, 8, 7))
    )]
    #[case::garbage("enable-health-monitor=maybe", None)]
    fn monitors(#[case] annotations: &str, #[case] expected: Option<(i64, i64, i64, i64)>) {
        let monitor = settings(annotations).monitor;
        let parsed = monitor.map(|parsed| {
            (
                parsed.delay,
                parsed.timeout,
                parsed.max_retries,
                parsed.max_retries_down,
            )
        });
        assert_eq!(parsed, expected);
    }

    #[rstest]
    #[case::proxy_and_header("proxy-protocol=v2 x-forwarded-for=true", "x-forwarded-for")]
    #[case::proxy_and_another_header("proxy-protocol=v1 x-forwarded-proto=true", "x-forwarded-proto")]
    #[case::proxy_and_a_port("proxy-protocol=v1 x-forwarded-port=true", "x-forwarded-port")]
    #[case::tag_like_a_service("listener-tags=a,kube_service_x", "kube_service_x")]
    #[case::tag_of_a_load_balancer("load-balancer-tags=kube_service_x", "org/load-balancer-tags")]
    #[case::tag_of_a_listener("listener-tags=a,kube_service_x", "org/listener-tags")]
    #[case::tag_of_a_pool("pool-tags=a,kube_service_x", "org/pool-tags")]
    fn refuses(#[case] annotations: &str, #[case] why: &str) {
        let error = Settings::of(&spec(annotations), &Config::default()).unwrap_err();
        assert!(
            matches!(error, Error::Invalid { .. }) && error.to_string().contains(why),
            "{error}"
        );
    }

    #[rstest]
    #[case::no_annotation("", &["X-Forwarded-For"])]
    #[case::switched_off("x-forwarded-proto=false", &["X-Forwarded-For", "X-Forwarded-Proto"])]
    #[case::all("x-forwarded-port=true x-forwarded-proto=", &["X-Forwarded-For", "X-Forwarded-Port", "X-Forwarded-Proto"])]
    fn decides_on_headers(#[case] annotations: &str, #[case] expected: &[&str]) {
        assert_eq!(settings(annotations).governed_headers, expected);
    }

    #[test]
    fn headers_and_tags() {
        let parsed = settings("x-forwarded-for=true x-forwarded-proto=true load-balancer-tags=a,b pool-tags=c");
        assert_eq!(parsed.headers, ["X-Forwarded-For", "X-Forwarded-Proto"]);
        assert_eq!(
            (parsed.load_balancer_tags, parsed.pool_tags),
            (vec!["a".to_owned(), "b".to_owned()], vec!["c".to_owned()])
        );
    }
}
