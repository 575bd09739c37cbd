//! What a Service asks for, as the body of a request. Pure.

mod hosts;

pub use hosts::usable;

use crate::{
    annotations as key,
    api::{Api, types::LoadBalancer},
    config::Config,
};
use cloud::{Error, Port, Protocol, RangesFrom, Result, Spec, TrafficPolicy, default_name};
use provider_kit::{
    annotations::Annotation,
    json::{self, Object},
};
use serde_json::{Value, json};

/// The type of load balancer that passes packets through.
pub const NETWORK: &str = "REGIONAL_NETWORK";

pub fn name(spec: &Spec) -> String {
    key::NAME
        .non_empty(spec)
        .map_or_else(|| default_name(&spec.service.uid), str::to_owned)
}

/// The type: as it is, as asked for, or the default.
pub fn kind(spec: &Spec, config: &Config, existing: Option<&LoadBalancer>) -> Result<&'static str> {
    let asked = key::TYPE.word(spec)?;
    let exists = existing.map(|existing| match json::text(&existing.settings, "type") {
        NETWORK => NETWORK,
        _ => "REGIONAL",
    });
    match (asked, exists) {
        (Some(asked), Some(exists)) if asked != exists => Err(key::TYPE.invalid(format!(
            "the load balancer exists with type {exists}, which cannot change; delete the Service and create it again"
        ))),
        (asked, exists) => Ok(exists.or(asked).unwrap_or(config.default_type)),
    }
}

/// `EXTERNAL` or `INTERNAL`: as it is, as asked for, or the default.
pub fn network<'a>(spec: &Spec, existing: Option<&'a LoadBalancer>) -> Result<&'a str> {
    let asked = key::NETWORK.word(spec)?.unwrap_or("EXTERNAL");
    Ok(shown(existing, "network").unwrap_or(asked))
}

/// What an existing load balancer shows.
fn shown<'a>(existing: Option<&'a LoadBalancer>, field: &str) -> Option<&'a str> {
    let text = existing.map(|existing| json::text(&existing.settings, field));
    text.filter(|text| !text.is_empty())
}

/// The clients that `spec.loadBalancerSourceRanges` names. The annotation that other clouds read has no meaning here.
pub fn ranges(spec: &Spec) -> Vec<String> {
    let counts = spec.ranges_from == RangesFrom::Spec;
    let ranges = spec.source_ranges.iter().filter(|_| counts);
    ranges.map(ToString::to_string).collect()
}

/// What the load balancer should be like, as the body of a request. What cannot change on an existing one is kept.
pub fn body(
    spec: &Spec,
    api: &Api,
    kind: &str,
    certificate: Option<&str>,
    droplet_ids: &[u64],
    existing: Option<&LoadBalancer>,
) -> Result<Object> {
    let network = network(spec, existing)?;
    let (size, size_unit) = size(spec)?;
    let is_set = |row: Annotation| row.boolean(spec).map(Option::unwrap_or_default);
    let rules = match kind {
        NETWORK => passed_through(spec)?,
        _ => forwarding_rules(spec, certificate)?,
    };
    Ok(json::object(json!({
        "name": name(spec),
        "region": api.region(),
        "vpc_uuid": api.config.vpc_id,
        "subnet_uuid": key::SUBNET_UUID.non_empty(spec),
        "tags": api.config.tag.as_ref().map(|tag| [tag]),
        "ip": key::IP.non_empty(spec).filter(|_| existing.is_none()),
        "type": kind,
        "network": network,
        "network_stack": hosts::network_stack(spec, kind, network, existing)?,
        "size": size,
        "size_unit": size_unit,
        "algorithm": key::ALGORITHM.word(spec)?.unwrap_or("round_robin"),
        "forwarding_rules": rules,
        "health_check": health_check(spec)?,
        "sticky_sessions": sticky_sessions(spec)?,
        "droplet_ids": droplet_ids,
        "redirect_http_to_https": is_set(key::REDIRECT_HTTP_TO_HTTPS)?,
        "enable_proxy_protocol": is_set(key::ENABLE_PROXY_PROTOCOL)?,
        "enable_backend_keepalive": is_set(key::ENABLE_BACKEND_KEEPALIVE)?,
        "disable_lets_encrypt_dns_records": is_set(key::DISABLE_LETS_ENCRYPT_DNS_RECORDS)?,
        "http_idle_timeout_seconds": key::HTTP_IDLE_TIMEOUT_SECONDS.integer(spec)?,
        "firewall": access_rules(spec),
    })))
}

/// A slug or a number of units, and not both.
fn size(spec: &Spec) -> Result<(Option<&'static str>, Option<i64>)> {
    let size = key::SIZE_SLUG.word(spec)?;
    let unit = key::SIZE_UNIT.given_integer(spec)?.filter(|unit| *unit > 0);
    if size.is_some() && unit.is_some() {
        let reason = format!("it cannot be used together with {}", key::SIZE_SLUG.key);
        return Err(key::SIZE_UNIT.invalid(reason));
    }
    Ok((size, unit))
}

/// A network load balancer delivers to the port of the Service: kube-proxy answers on the load balancer's address.
fn passed_through(spec: &Spec) -> Result<Vec<Value>> {
    let rule = |port: &Port| Ok(rule(transport(port)?, port.port, transport(port)?, port.port));
    spec.ports.iter().map(rule).collect()
}

fn rule(entry_protocol: &str, entry_port: u16, target_protocol: &str, target_port: u16) -> Value {
    json!({
        "entry_protocol": entry_protocol,
        "entry_port": entry_port,
        "target_protocol": target_protocol,
        "target_port": target_port,
    })
}

fn transport(port: &Port) -> Result<&'static str> {
    match port.protocol {
        Protocol::Tcp => Ok("tcp"),
        Protocol::Udp => Ok("udp"),
        Protocol::Sctp => Err(Error::invalid(
            "spec.ports",
            format!("port {}: only TCP and UDP are supported", port.port),
        )),
    }
}

fn forwarding_rules(spec: &Spec, certificate: Option<&str>) -> Result<Vec<Value>> {
    let protocols = Protocols::of(spec, certificate)?;
    let rule = |port: &Port| {
        let protocol = match transport(port)? {
            "udp" => "udp",
            _ => protocols.of_port(port.port),
        };
        protocols.rule(protocol, port)
    };
    let rules = spec.ports.iter().map(rule);
    rules.chain(protocols.http3_rule(spec).transpose()).collect()
}

/// A proxy reaches the pods by the node port.
fn node_port(port: &Port) -> Result<u16> {
    port.node_port.ok_or_else(|| {
        let reason = format!(
            "port {} has no node port: set spec.allocateLoadBalancerNodePorts",
            port.port
        );
        Error::invalid("spec.ports", reason)
    })
}

/// Which protocol a port has.
struct Protocols<'a> {
    default: &'static str,
    lists: [(&'static str, Vec<u16>); 3],
    certificate: Option<&'a str>,
    passthrough: bool,
}

impl<'a> Protocols<'a> {
    fn of(spec: &Spec, certificate: Option<&'a str>) -> Result<Self> {
        let passthrough = key::TLS_PASSTHROUGH.boolean_or(spec, false);
        let (http, mut https) = (key::HTTP_PORTS.ports(spec)?, key::TLS_PORTS.ports(spec)?);
        let http2 = key::HTTP2_PORTS.ports(spec)?;
        let mut all: Vec<u16> = [&http[..], &https, &http2].concat();
        all.sort_unstable();
        if let Some([port, _]) = all.array_windows().find(|[one, other]| one == other) {
            let reason = format!("port {port} is named twice in http-ports, tls-ports and http2-ports");
            return Err(key::TLS_PORTS.invalid(reason));
        }
        if (certificate.is_some() || passthrough) && https.is_empty() && !http2.contains(&443) {
            https.push(443);
        }
        Ok(Self {
            default: key::PROTOCOL.word(spec)?.unwrap_or("tcp"),
            lists: [("http2", http2), ("https", https), ("http", http)],
            certificate,
            passthrough,
        })
    }

    fn of_port(&self, port: u16) -> &'static str {
        let listed = self.lists.iter().find(|(_, ports)| ports.contains(&port));
        listed.map_or(self.default, |(protocol, _)| protocol)
    }

    /// Encrypted connections end on the load balancer, or on the pods.
    fn rule(&self, protocol: &str, port: &Port) -> Result<Value> {
        let mut rule = rule(protocol, port.port, protocol, node_port(port)?);
        match (self.certificate, self.passthrough) {
            _ if !["https", "http2", "http3"].contains(&protocol) => {}
            (Some(certificate), false) => {
                rule["target_protocol"] = "http".into();
                rule["certificate_id"] = certificate.into();
            }
            (None, true) => rule["tls_passthrough"] = true.into(),
            (None, false) => {
                let reason = format!("port {} uses {protocol}: set this, or tls-passthrough", port.port);
                return Err(key::CERTIFICATE_ID.invalid(reason));
            }
            (Some(_), true) => {
                return Err(key::TLS_PASSTHROUGH.invalid("it cannot be used together with a certificate"));
            }
        }
        Ok(rule)
    }

    /// HTTP/3 shares its port with HTTPS or HTTP/2.
    fn http3_rule(&self, spec: &Spec) -> Result<Option<Value>> {
        let Some(number) = key::HTTP3_PORT.integer(spec)? else {
            return Ok(None);
        };
        let Some(port) = spec.ports.iter().find(|port| i64::from(port.port) == number) else {
            return Err(key::HTTP3_PORT.invalid(format!("{number} is not a port of the Service")));
        };
        if self.passthrough || self.certificate.is_none() {
            return Err(key::HTTP3_PORT.invalid("HTTP/3 needs a certificate, and no tls-passthrough"));
        }
        self.rule("http3", port).map(Some)
    }
}

/// How nodes are probed.
fn health_check(spec: &Spec) -> Result<Value> {
    let path = key::HEALTHCHECK_PATH.non_empty(spec);
    let (protocol, path, proxy_protocol) = if key::OVERRIDE_HEALTH_CHECK.is_present(spec) {
        let default = path.map_or("tcp", |_| "http");
        (key::HEALTHCHECK_PROTOCOL.word(spec)?.unwrap_or(default), path, None)
    } else {
        // Neither kube-proxy nor the health check node port understands the PROXY protocol.
        ("http", Some("/healthz"), Some(false))
    };
    Ok(json!({
        "protocol": protocol,
        "port": health_port(spec)?,
        "path": path,
        "check_interval_seconds": key::HEALTHCHECK_CHECK_INTERVAL_SECONDS.integer(spec)?.unwrap_or(3),
        "response_timeout_seconds": key::HEALTHCHECK_RESPONSE_TIMEOUT_SECONDS.integer(spec)?.unwrap_or(5),
        "unhealthy_threshold": key::HEALTHCHECK_UNHEALTHY_THRESHOLD.integer(spec)?.unwrap_or(3),
        "healthy_threshold": key::HEALTHCHECK_HEALTHY_THRESHOLD.integer(spec)?.unwrap_or(5),
        "proxy_protocol": proxy_protocol,
    }))
}

/// The port that is probed; by default that of kube-proxy itself.
pub fn health_port(spec: &Spec) -> Result<u16> {
    match spec.traffic {
        _ if key::OVERRIDE_HEALTH_CHECK.is_present(spec) => checked_port(spec),
        TrafficPolicy::Local {
            health_check_port: Some(port),
        } => Ok(port),
        _ => Ok(10256),
    }
}

/// The node port of the port that the annotation names, or of the first TCP port.
fn checked_port(spec: &Spec) -> Result<u16> {
    let named = key::HEALTHCHECK_PORT.ports(spec)?;
    let invalid = |reason: String| Err(key::HEALTHCHECK_PORT.invalid(reason));
    let port = match named[..] {
        [] => spec.ports.iter().find(|port| port.protocol == Protocol::Tcp),
        [number] => spec.ports.iter().find(|port| port.port == number),
        _ => return invalid("only one port can be checked".to_owned()),
    };
    match (port, &named[..]) {
        (Some(port), _) if port.protocol == Protocol::Tcp => node_port(port),
        (Some(port), _) => invalid(format!("port {} is not a TCP port", port.port)),
        (None, [number, ..]) => invalid(format!("{number} is not a port of the Service")),
        (None, []) => invalid("the Service has no TCP port to check".to_owned()),
    }
}

fn sticky_sessions(spec: &Spec) -> Result<Value> {
    let Some("cookies") = key::STICKY_SESSIONS_TYPE.word(spec)? else {
        return Ok(json!({"type": "none"}));
    };
    let needed = "sticky sessions with cookies need it";
    let (name, ttl) = (key::STICKY_SESSIONS_COOKIE_NAME, key::STICKY_SESSIONS_COOKIE_TTL);
    Ok(json!({
        "type": "cookies",
        "cookie_name": name.non_empty(spec).ok_or_else(|| name.invalid(needed))?,
        "cookie_ttl_seconds": ttl.given_integer(spec)?.ok_or_else(|| ttl.invalid(needed))?,
    }))
}

/// The Service's own ranges win over the annotation.
fn access_rules(spec: &Spec) -> Value {
    let own: Vec<String> = ranges(spec).iter().map(|range| format!("cidr:{range}")).collect();
    let allow = if own.is_empty() {
        key::ALLOW_RULES.list(spec)
    } else {
        own
    };
    json!({"allow": allow, "deny": key::DENY_RULES.list(spec)})
}

#[cfg(test)]
mod tests;
