//! Listeners.

use super::{
    Balancer, Common, Context, Octavia, Provisioning, body,
    common::ids,
    error, ovn,
    resource::{Resource, When, kept_in},
    vip::Vip,
};
use crate::exchange::{Fields, Response};
use serde_json::{Value, json};
use std::{net::IpAddr, sync::LazyLock};
use uuid::Uuid;

#[derive(Debug, Clone)]
pub(crate) struct Listener {
    pub(crate) common: Common,
    pub(crate) balancer: Uuid,
    pub(crate) protocol: &'static str,
    pub(crate) port: u16,
    pub(crate) default_pool: Option<Uuid>,
    /// Everything else, by its name, as it was given or by default.
    pub(crate) settings: Fields,
}

/// The protocols of listeners, in the order of error messages.
const PROTOCOLS: &[&str] = &["HTTP", "SCTP", "TERMINATED_HTTPS", "PROMETHEUS", "UDP", "HTTPS", "TCP"];

/// What can be set and changed, with its default.
static DEFAULTS: LazyLock<Fields> = LazyLock::new(|| {
    let defaults = json!({
        "connection_limit": -1, "default_tls_container_ref": null, "sni_container_refs": [], "insert_headers": {},
        "timeout_client_data": 50000, "timeout_member_connect": 5000, "timeout_member_data": 50000, "timeout_tcp_inspect": 0,
        "client_ca_tls_container_ref": null, "client_authentication": "NONE", "client_crl_container_ref": null,
        "allowed_cidrs": null, "tls_ciphers": null, "tls_versions": null, "alpn_protocols": null, "hsts_max_age": null,
        "hsts_include_subdomains": false, "hsts_preload": false,
    });
    defaults.as_object().cloned().unwrap_or_default()
});

impl Resource for Listener {
    const ONE: &'static str = "listener";
    const MANY: &'static str = "listeners";
    const NAME: &'static str = "Listener";
    const ARGUMENT: &'static str = "listener_";
    const FILTERS: &'static [&'static str] = &[
        "loadbalancer_id",
        "load_balancer_id",
        "protocol",
        "protocol_port",
        "default_pool_id",
        "connection_limit",
        "default_tls_container_ref",
    ];
    const KNOWN: &'static [&'static str] = &["name", "description", "admin_state_up", "tags", "default_pool_id"];
    const AT_BIRTH: &'static [&'static str] = &[
        "loadbalancer_id",
        "load_balancer_id",
        "protocol",
        "protocol_port",
        "project_id",
        "tenant_id",
    ];

    kept_in!(listeners);

    fn known(when: When) -> Vec<&'static str> {
        let at_birth = if when == When::AtBirth { Self::AT_BIRTH } else { &[] };
        let settings = DEFAULTS.keys().map(String::as_str);
        settings
            .chain(Self::KNOWN.iter().copied())
            .chain(at_birth.iter().copied())
            .collect()
    }

    fn view(&self, _: &Octavia, minor: u32) -> Value {
        let mut view = Value::Object(self.settings.clone());
        view["description"] = json!(self.common.description);
        view["protocol"] = json!(self.protocol);
        view["protocol_port"] = json!(self.port);
        view["default_pool_id"] = json!(self.default_pool);
        view["l7policies"] = json!([]);
        view["loadbalancers"] = ids([self.balancer]);
        self.common.complete(view, minor)
    }

    fn create(octavia: &mut Octavia, context: &mut Context<'_>, fields: &Fields) -> Result<Uuid, Response> {
        body::word(fields, "protocol", PROTOCOLS)?;
        let parent = body::text(fields, "loadbalancer_id").or_else(|| body::text(fields, "load_balancer_id"));
        let parent = octavia.find::<Balancer>(parent.unwrap_or_default(), context)?;
        let (parent, status) = (parent.common.id, parent.common.provisioning);
        context.room_for::<Self>(octavia, 1)?;
        if status != Provisioning::Active {
            return Err(super::immutable("Load Balancer", parent));
        }
        let mut listener = Self::parse(octavia, context, parent, fields)?;
        listener.default_pool = body::id(fields, "default_pool_id")?;
        octavia.begin(context, parent, &[])?;
        Ok(octavia.keep(listener))
    }

    fn update(octavia: &mut Octavia, context: &mut Context<'_>, id: Uuid, fields: &Fields) -> Result<(), Response> {
        let listener = &octavia.listeners[&id];
        let balancer = listener.balancer;
        let mut settings = listener.settings.clone();
        merge(&mut settings, fields);
        check(listener.protocol, &settings)?;
        check_families(&octavia.balancers[&balancer].vip, &settings)?;
        let pool = if fields.contains_key("default_pool_id") {
            body::id(fields, "default_pool_id")?
        } else {
            listener.default_pool
        };
        octavia.begin(context, balancer, &[id])?;
        if let Some(listener) = octavia.listeners.get_mut(&id) {
            body::common(&mut listener.common, fields);
            listener.settings = settings;
            listener.default_pool = pool;
        }
        Ok(())
    }

    fn begin_deletion(octavia: &mut Octavia, context: &mut Context<'_>, id: Uuid) -> Result<(), Response> {
        octavia.begin(context, octavia.listeners[&id].balancer, &[])
    }
}

impl Listener {
    /// The protocol of the packets, of which each port can be had once.
    fn transport(protocol: &str) -> &str {
        match protocol {
            "UDP" | "SCTP" => protocol,
            _ => "TCP",
        }
    }

    /// A listener as requested, if it is valid.
    pub(super) fn parse(
        octavia: &Octavia,
        context: &Context<'_>,
        balancer: Uuid,
        fields: &Fields,
    ) -> Result<Self, Response> {
        let protocol = body::word(fields, "protocol", PROTOCOLS)?;
        let protocol = protocol.ok_or_else(|| body::bad("protocol", "None", "Mandatory field missing."))?;
        let port = body::port(fields, "protocol_port")?;
        let mut common = Common::new(&context.ask.caller.project, context.now);
        body::common(&mut common, fields);
        let mut settings = DEFAULTS.clone();
        merge(&mut settings, fields);
        if protocol == "TERMINATED_HTTPS" {
            secure(&mut settings)?;
        }
        check(protocol, &settings)?;
        let parent = &octavia.balancers[&balancer];
        ovn::check(parent, Some(("protocol", protocol)))?;
        let taken = |other: &&Listener| {
            other.balancer == balancer
                && other.port == port
                && Self::transport(other.protocol) == Self::transport(protocol)
        };
        if let Some(other) = octavia.listeners.values().find(taken) {
            let message = format!(
                "Another Listener on this Load Balancer is already using protocol {} and protocol_port {port}",
                other.protocol
            );
            return Err(error(409, &message));
        }
        check_families(&parent.vip, &settings)?;
        Ok(Self {
            common,
            balancer,
            protocol,
            port,
            default_pool: None,
            settings,
        })
    }
}

/// Takes over what is given; `null` is the default.
fn merge(settings: &mut Fields, fields: &Fields) {
    let defaults = &*DEFAULTS;
    for (name, value) in fields.iter().filter(|(name, _)| defaults.contains_key(*name)) {
        let value = if value.is_null() {
            defaults[name].clone()
        } else {
            value.clone()
        };
        settings.insert(name.clone(), value);
    }
}

fn secure(settings: &mut Fields) -> Result<(), Response> {
    if settings["default_tls_container_ref"].is_null() && settings["sni_container_refs"] == json!([]) {
        let message =
            "An SNI or default certificate container reference must be provided for a TERMINATED_HTTPS listener.";
        return Err(super::invalid(message));
    }
    let chosen = [
        ("tls_versions", json!(["TLSv1.2", "TLSv1.3"])),
        (
            "tls_ciphers",
            json!("TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256"),
        ),
        ("alpn_protocols", json!(["h2", "http/1.1", "http/1.0"])),
    ];
    for (name, value) in chosen {
        if settings[name].is_null() {
            settings.insert(name.to_owned(), value);
        }
    }
    Ok(())
}

fn check(protocol: &str, settings: &Fields) -> Result<(), Response> {
    let headers = settings["insert_headers"]
        .as_object()
        .is_some_and(|headers| !headers.is_empty());
    if headers && !matches!(protocol, "HTTP" | "TERMINATED_HTTPS") {
        return Err(error(
            400,
            &format!("insert-headers is not a valid option for a {protocol} protocol listener."),
        ));
    }
    for cidr in body::list(settings, "allowed_cidrs") {
        let text = cidr.as_str().unwrap_or_default();
        if text.parse::<ipnet::IpNet>().is_err() {
            return Err(body::bad(
                "allowed_cidrs",
                text,
                "Value should be IPv4 or IPv6 CIDR format",
            ));
        }
    }
    Ok(())
}

/// No client uses a family that the load balancer has no address of.
fn check_families(vip: &Vip, settings: &Fields) -> Result<(), Response> {
    let further = vip.additional.iter().map(|(_, address)| *address);
    let addresses: Vec<IpAddr> = std::iter::once(vip.address).chain(further).collect();
    let allowed = body::list(settings, "allowed_cidrs");
    let ranges = allowed.filter_map(|cidr| cidr.as_str()?.parse::<ipnet::IpNet>().ok());
    for range in ranges {
        if !addresses
            .iter()
            .any(|address| address.is_ipv6() == range.addr().is_ipv6())
        {
            let quoted: Vec<String> = addresses.iter().map(|address| format!("'{address}'")).collect();
            return Err(super::invalid(&format!(
                "CIDR {range} IP version incompatible with all VIPs [{}] IP version.",
                quoted.join(", ")
            )));
        }
    }
    Ok(())
}
