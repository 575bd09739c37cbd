//! What a classic load balancer should be like.

use crate::{
    api::{
        ec2::Tag,
        elb::{AccessLog, ClassicAttributes, ConnectionDraining, ConnectionSettings, CrossZone, HealthCheck, Listener},
    },
    cluster::Cluster,
    config::Config,
    load_balancers::{
        annotations as key,
        health::{self, ClassicCheck},
        settings::{self, Kind},
        tags,
    },
};
use cloud::{Port, Protocol, Result, Spec};

/// What a Service asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    pub listeners: Vec<Listener>,
    pub check: Option<HealthCheck>,
    pub attributes: ClassicAttributes,
    pub proxy: Proxy,
    /// The name of a predefined TLS policy.
    pub tls_policy: Option<String>,
    pub tags: Vec<Tag>,
    /// The subnets, sorted. Empty if they are not known.
    pub subnets: Vec<String>,
}

/// Whether the nodes get the PROXY protocol.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Proxy {
    #[default]
    Off,
    On,
}

impl Asked {
    /// What a Service asks for, but for the subnets. A port without a node port is left out.
    ///
    /// # Errors
    /// [`cloud::Error::Invalid`]
    pub fn of(spec: &Spec, config: &Config, cluster: &Cluster) -> Result<Self> {
        settings::check(spec, Kind::Classic)?;
        let listeners = spec.ports.iter().filter_map(|port| listener(spec, port).transpose());
        Ok(Self {
            listeners: listeners.collect::<Result<_>>()?,
            check: health::of_classic(spec, config)?.map(health_check),
            attributes: attributes(spec)?,
            proxy: match key::PROXY_PROTOCOL.word(spec)? {
                Some(_) => Proxy::On,
                None => Proxy::Off,
            },
            tls_policy: key::SSL_NEGOTIATION_POLICY.non_empty(spec).map(str::to_owned),
            tags: tags::of(spec, cluster),
            subnets: Vec::new(),
        })
    }
}

fn listener(spec: &Spec, port: &Port) -> Result<Option<Listener>> {
    let Some(node_port) = port.node_port else {
        return Ok(None);
    };
    let backend = key::BACKEND_PROTOCOL.text(spec).unwrap_or_default();
    let certificate = settings::certificate(spec, port, Kind::Classic);
    let (protocol, instance_protocol) = match (certificate, backend) {
        (Some(_), "https") => ("https", "https"),
        (Some(_), "http") => ("https", "http"),
        (Some(_), "ssl") => ("ssl", "ssl"),
        (Some(_), "" | "tcp") => ("ssl", "tcp"),
        (Some(_), other) => {
            return Err(key::BACKEND_PROTOCOL.invalid(format!("{other:?} is not one of tcp, ssl, http, https")));
        }
        (None, "http") => ("http", "http"),
        (None, _) if port.protocol == Protocol::Tcp => ("tcp", "tcp"),
        (None, _) => ("udp", "udp"),
    };
    Ok(Some(Listener {
        protocol: protocol.to_owned(),
        load_balancer_port: port.port,
        instance_protocol: instance_protocol.to_owned(),
        instance_port: node_port,
        ssl_certificate_id: certificate.map(str::to_owned),
    }))
}

fn health_check(check: ClassicCheck) -> HealthCheck {
    HealthCheck {
        target: check.target,
        interval: check.interval,
        timeout: check.timeout,
        unhealthy_threshold: check.unhealthy,
        healthy_threshold: check.healthy,
    }
}

fn attributes(spec: &Spec) -> Result<ClassicAttributes> {
    Ok(ClassicAttributes {
        access_log: AccessLog {
            enabled: key::ACCESS_LOG_ENABLED.given_boolean(spec)?.unwrap_or(false),
            emit_interval: key::ACCESS_LOG_EMIT_INTERVAL.given_integer(spec)?,
            s3_bucket_name: key::ACCESS_LOG_S3_BUCKET_NAME.non_empty(spec).map(str::to_owned),
            s3_bucket_prefix: key::ACCESS_LOG_S3_BUCKET_PREFIX.non_empty(spec).map(str::to_owned),
        },
        connection_draining: ConnectionDraining {
            enabled: key::CONNECTION_DRAINING_ENABLED.given_boolean(spec)?.unwrap_or(false),
            timeout: key::CONNECTION_DRAINING_TIMEOUT.given_integer(spec)?,
        },
        connection_settings: ConnectionSettings {
            idle_timeout: Some(key::CONNECTION_IDLE_TIMEOUT.given_integer(spec)?.unwrap_or(60)),
        },
        cross_zone_load_balancing: CrossZone {
            enabled: key::CROSS_ZONE.given_boolean(spec)?.unwrap_or(false),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load_balancers::fixture::{cluster, config, spec};
    use provider_kit::annotations::Annotation;
    use rstest::rstest;

    // upstream: BuildListener
    #[rstest]
    #[case::no_cert(&[], "80 tcp/tcp; 443 tcp/tcp")]
    #[case::cert(&[(key::SSL_CERT, "c")], "80 ssl/tcp c; 443 ssl/tcp c")]
    #[case::cert_and_https(&[(key::SSL_CERT, "c"), (key::BACKEND_PROTOCOL, "https")], "80 https/https c; 443 https/https c")]
    #[case::cert_and_http(&[(key::SSL_CERT, "c"), (key::BACKEND_PROTOCOL, "http")], "80 https/http c; 443 https/http c")]
    #[case::cert_and_ssl(&[(key::SSL_CERT, "c"), (key::BACKEND_PROTOCOL, "ssl")], "80 ssl/ssl c; 443 ssl/ssl c")]
    #[case::cert_and_unknown(&[(key::SSL_CERT, "c"), (key::BACKEND_PROTOCOL, "bacon")], "is not one of tcp, ssl, http, https")]
    #[case::cert_limited_to_443(&[(key::SSL_CERT, "c"), (key::SSL_PORTS, "443")], "80 tcp/tcp; 443 ssl/tcp c")]
    #[case::cert_limited_by_name(&[(key::SSL_CERT, "c"), (key::SSL_PORTS, "https")], "80 tcp/tcp; 443 ssl/tcp c")]
    #[case::http_without_cert(&[(key::BACKEND_PROTOCOL, "http")], "80 http/http; 443 http/http")]
    #[case::unknown_without_cert(&[(key::BACKEND_PROTOCOL, "bacon")], "80 tcp/tcp; 443 tcp/tcp")]
    fn listeners(#[case] annotations: &[(Annotation, &str)], #[case] expected: &str) {
        let mut spec = spec(&[80, 443]);
        spec.ports[1].name = "https".into();
        spec.annotations
            .extend(annotations.iter().map(|(row, value)| (row.key.into(), (*value).into())));
        let text = match Asked::of(&spec, &config(&[]), &cluster()) {
            Ok(asked) => {
                let line = |one: &Listener| {
                    let certificate = one.ssl_certificate_id.as_deref().unwrap_or_default();
                    let text = format!(
                        "{} {}/{} {certificate}",
                        one.load_balancer_port, one.protocol, one.instance_protocol
                    );
                    text.trim_end().to_owned()
                };
                asked.listeners.iter().map(line).collect::<Vec<_>>().join("; ")
            }
            Err(error) => error.to_string(),
        };
        assert!(text.ends_with(expected), "{text}");
    }

    #[rstest]
    #[case::off(None, Proxy::Off)]
    #[case::empty(Some(""), Proxy::Off)]
    #[case::on(Some("*"), Proxy::On)]
    fn proxy(#[case] text: Option<&str>, #[case] expected: Proxy) {
        let mut spec = spec(&[80]);
        if let Some(text) = text {
            spec.annotations.insert(key::PROXY_PROTOCOL.key.into(), text.into());
        }
        assert_eq!(Asked::of(&spec, &config(&[]), &cluster()).unwrap().proxy, expected);
    }

    #[test]
    fn other_words_of_proxy_protocol_are_refused() {
        let mut spec = spec(&[80]);
        spec.annotations.insert(key::PROXY_PROTOCOL.key.into(), "80".into());
        assert!(Asked::of(&spec, &config(&[]), &cluster()).is_err());
    }
}
