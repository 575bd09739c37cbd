//! How the load balancer checks whether a node is healthy.

use super::annotations as key;
use crate::config::Config;
use cloud::{Error, Result, Spec, TrafficPolicy};
use provider_kit::annotations::Annotation;

/// The port of the traffic itself.
pub const TRAFFIC_PORT: &str = "traffic-port";

/// What kube-proxy serves for `externalTrafficPolicy: Local`.
const KUBE_PROXY_PATH: &str = "/healthz";

/// The check of a target group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupCheck {
    /// `TCP`, `HTTP` or `HTTPS`.
    pub protocol: String,
    /// A number, or [`TRAFFIC_PORT`].
    pub port: String,
    /// Of HTTP and HTTPS.
    pub path: Option<String>,
    pub interval: i64,
    /// AWS's default, if not given.
    pub timeout: Option<i64>,
    pub healthy: i64,
    pub unhealthy: i64,
}

/// The check of a classic load balancer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassicCheck {
    /// `TCP:30080` or `HTTP:30080/path`.
    pub target: String,
    pub interval: i64,
    pub timeout: i64,
    pub healthy: i64,
    pub unhealthy: i64,
}

/// Where nodes of a Service without a check of its own are checked.
enum Probe {
    NodePort,
    /// kube-proxy, for all Services.
    Shared,
}

/// The check of all target groups of a Service.
///
/// # Errors
/// [`Error::Invalid`]
pub fn of_groups(spec: &Spec, config: &Config) -> Result<GroupCheck> {
    let mut check = default_check(spec);
    if let Some(protocol) = key::HEALTHCHECK_PROTOCOL.non_empty(spec) {
        check.protocol = protocol.to_uppercase();
    }
    let path = key::HEALTHCHECK_PATH.non_empty(spec).map(str::to_owned);
    check.path = match check.protocol.as_str() {
        "HTTP" | "HTTPS" => path.or(check.path).or_else(|| Some("/".to_owned())),
        "TCP" => None,
        other => return Err(key::HEALTHCHECK_PROTOCOL.invalid(format!("{other:?} is not one of TCP, HTTP, HTTPS"))),
    };
    if let Some(port) = key::HEALTHCHECK_PORT.non_empty(spec) {
        port.clone_into(&mut check.port);
    }
    let is_local = matches!(spec.traffic, TrafficPolicy::Local { .. });
    if let (Probe::Shared, false) = (probe(config)?, is_local) {
        "HTTP".clone_into(&mut check.protocol);
        check.port = config.shared_probe_port.to_string();
        check.path = Some(config.shared_probe_path.clone());
    }
    if check.port != TRAFFIC_PORT && check.port.parse::<u16>().is_err() {
        let reason = format!("{:?} is neither a port nor {TRAFFIC_PORT:?}", check.port);
        return Err(key::HEALTHCHECK_PORT.invalid(reason));
    }
    check.interval = number(key::HEALTHCHECK_INTERVAL, spec, check.interval)?;
    check.timeout = key::HEALTHCHECK_TIMEOUT.given_integer(spec)?;
    check.healthy = number(key::HEALTHCHECK_HEALTHY_THRESHOLD, spec, check.healthy)?;
    check.unhealthy = number(key::HEALTHCHECK_UNHEALTHY_THRESHOLD, spec, check.unhealthy)?;
    Ok(check)
}

fn default_check(spec: &Spec) -> GroupCheck {
    let check = |protocol: &str, port: String, path: Option<&str>, interval, threshold| GroupCheck {
        protocol: protocol.to_owned(),
        port,
        path: path.map(str::to_owned),
        interval,
        timeout: None,
        healthy: threshold,
        unhealthy: threshold,
    };
    match spec.traffic {
        TrafficPolicy::Local {
            health_check_port: Some(port),
        } => check("HTTP", port.to_string(), Some(KUBE_PROXY_PATH), 10, 2),
        _ => check("TCP", TRAFFIC_PORT.to_owned(), None, 30, 3),
    }
}

fn probe(config: &Config) -> Result<Probe> {
    match config.health_probe_mode.as_str() {
        "" | "ServiceNodePort" => Ok(Probe::NodePort),
        "Shared" => Ok(Probe::Shared),
        other => Err(Error::invalid(
            "configuration ClusterServiceLoadBalancerHealthProbeMode",
            format!("{other:?} is neither ServiceNodePort nor Shared"),
        )),
    }
}

/// The check of a classic load balancer. `None` if the Service has no node ports.
///
/// # Errors
/// [`Error::Invalid`]
pub fn of_classic(spec: &Spec, config: &Config) -> Result<Option<ClassicCheck>> {
    let Some(traffic_port) = spec.ports.iter().find_map(|port| port.node_port) else {
        return Ok(None);
    };
    let backend = key::BACKEND_PROTOCOL.text(spec).unwrap_or_default();
    let is_tls = backend == "https" || backend == "ssl";
    let node_port = (traffic_port, traffic_port);
    // The last number is what `traffic-port` stands for: the shared check has no traffic of its own.
    let (protocol, (port, traffic_port), path) = match spec.traffic {
        TrafficPolicy::Local {
            health_check_port: Some(port),
        } => ("HTTP", (port, traffic_port), Some(KUBE_PROXY_PATH)),
        // Other words are ignored, as in the Go program.
        _ if matches!(probe(config), Ok(Probe::Shared)) => (
            "HTTP",
            (config.shared_probe_port, config.shared_probe_port),
            Some(config.shared_probe_path.as_str()),
        ),
        _ if is_tls => ("SSL", node_port, None),
        _ => ("TCP", node_port, None),
    };
    let protocol = key::HEALTHCHECK_PROTOCOL.non_empty(spec).unwrap_or(protocol);
    let port = match key::HEALTHCHECK_PORT.non_empty(spec) {
        None => port.to_string(),
        Some(TRAFFIC_PORT) => traffic_port.to_string(),
        Some(port) => port.to_owned(),
    };
    let path = match protocol.to_uppercase().as_str() {
        "HTTP" | "HTTPS" => key::HEALTHCHECK_PATH.non_empty(spec).or(path).unwrap_or("/"),
        _ => "",
    };
    Ok(Some(ClassicCheck {
        target: format!("{protocol}:{port}{path}"),
        interval: at_least(key::HEALTHCHECK_INTERVAL, spec, 10, 5)?,
        timeout: at_least(key::HEALTHCHECK_TIMEOUT, spec, 5, 2)?,
        healthy: at_least(key::HEALTHCHECK_HEALTHY_THRESHOLD, spec, 2, 2)?,
        unhealthy: at_least(key::HEALTHCHECK_UNHEALTHY_THRESHOLD, spec, 6, 2)?,
    }))
}

fn number(row: Annotation, spec: &Spec, default: i64) -> Result<i64> {
    Ok(row.given_integer(spec)?.unwrap_or(default))
}

fn at_least(row: Annotation, spec: &Spec, default: i64, least: i64) -> Result<i64> {
    match number(row, spec, default)? {
        number if number < least => Err(row.invalid(format!("{number} is less than {least}"))),
        number => Ok(number),
    }
}

#[cfg(test)]
mod tests;
