//! Pools.

use super::{
    Balancer, Common, Context, Listener, Octavia, body,
    common::ids,
    error, invalid, ovn,
    resource::{Resource, kept_in},
};
use crate::exchange::{Fields, Response};
use serde_json::{Value, json};
use uuid::Uuid;

#[derive(Debug, Clone)]
pub(crate) struct Pool {
    pub(crate) common: Common,
    pub(crate) balancer: Uuid,
    pub(crate) protocol: &'static str,
    pub(crate) algorithm: &'static str,
    pub(crate) persistence: Option<Persistence>,
}

/// How a client keeps its member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Persistence {
    pub(crate) kind: &'static str,
    pub(crate) cookie: Option<String>,
    pub(crate) timeout: Option<i64>,
}

const PROTOCOLS: &[&str] = &["HTTP", "HTTPS", "PROXY", "PROXYV2", "SCTP", "TCP", "UDP"];
const ALGORITHMS: &[&str] = &["LEAST_CONNECTIONS", "SOURCE_IP_PORT", "SOURCE_IP", "ROUND_ROBIN"];
const PERSISTENCES: &[&str] = &["SOURCE_IP", "HTTP_COOKIE", "APP_COOKIE"];

impl Resource for Pool {
    const ONE: &'static str = "pool";
    const MANY: &'static str = "pools";
    const NAME: &'static str = "Pool";
    const ARGUMENT: &'static str = "pool_";
    const FILTERS: &'static [&'static str] = &[
        "loadbalancer_id",
        "load_balancer_id",
        "protocol",
        "lb_algorithm",
        "listeners",
        "healthmonitor_id",
    ];
    const KNOWN: &'static [&'static str] = &[
        "name",
        "description",
        "admin_state_up",
        "tags",
        "lb_algorithm",
        "session_persistence",
        "tls_container_ref",
        "ca_tls_container_ref",
        "crl_container_ref",
        "tls_enabled",
        "tls_ciphers",
        "tls_versions",
        "alpn_protocols",
    ];
    const AT_BIRTH: &'static [&'static str] =
        &["listener_id", "loadbalancer_id", "protocol", "project_id", "tenant_id"];

    kept_in!(pools);

    fn view(&self, octavia: &Octavia, minor: u32) -> Value {
        let id = self.common.id;
        let persistence = self.persistence.as_ref().map(|one| {
            json!({
                "type": one.kind, "cookie_name": one.cookie, "persistence_timeout": one.timeout, "persistence_granularity": null,
            })
        });
        let members = octavia.members.values().filter(|member| member.pool == id);
        let mut view = json!({
            "description": self.common.description, "protocol": self.protocol, "lb_algorithm": self.algorithm,
            "session_persistence": persistence, "loadbalancers": ids([self.balancer]), "listeners": ids(octavia.listeners_of(id)),
            "members": ids(members.map(|member| member.common.id)), "tls_container_ref": null, "ca_tls_container_ref": null,
            "crl_container_ref": null, "tls_enabled": false, "tls_ciphers": null, "tls_versions": null, "alpn_protocols": null,
        });
        if let Some(monitor) = octavia.monitors.values().find(|monitor| monitor.pool == id) {
            view["healthmonitor_id"] = json!(monitor.common.id);
        }
        self.common.complete(view, minor)
    }

    fn create(octavia: &mut Octavia, context: &mut Context<'_>, fields: &Fields) -> Result<Uuid, Response> {
        body::word(fields, "protocol", PROTOCOLS)?;
        body::word(fields, "lb_algorithm", ALGORITHMS)?;
        let (balancer, listener) = parents(octavia, context, fields)?;
        context.room_for::<Self>(octavia, 1)?;
        let listeners: Vec<Uuid> = listener.into_iter().collect();
        let pool = Self::parse(octavia, context, balancer, fields)?;
        if let Some(listener) = listener.and_then(|id| octavia.listeners.get(&id)) {
            if listener.default_pool.is_some() {
                return Err(error(409, "This listener already has a default pool"));
            }
            fits(listener.protocol, pool.protocol)?;
        }
        octavia.begin(context, balancer, &listeners)?;
        let id = octavia.keep(pool);
        if let Some(listener) = listener.and_then(|id| octavia.listeners.get_mut(&id)) {
            listener.default_pool = Some(id);
        }
        Ok(id)
    }

    fn update(octavia: &mut Octavia, context: &mut Context<'_>, id: Uuid, fields: &Fields) -> Result<(), Response> {
        let pool = &octavia.pools[&id];
        let balancer = pool.balancer;
        let algorithm = body::word(fields, "lb_algorithm", ALGORITHMS)?;
        let sticky = if fields.contains_key("session_persistence") {
            persistence(fields)?
        } else {
            pool.persistence.clone()
        };
        ovn::check(&octavia.balancers[&balancer], algorithm.map(|name| ("algorithm", name)))?;
        octavia.begin(context, balancer, &octavia.listeners_of(id))?;
        if let Some(pool) = octavia.pools.get_mut(&id) {
            pool.common.change();
            body::common(&mut pool.common, fields);
            pool.algorithm = algorithm.unwrap_or(pool.algorithm);
            pool.persistence = sticky;
        }
        Ok(())
    }

    fn begin_deletion(octavia: &mut Octavia, context: &mut Context<'_>, id: Uuid) -> Result<(), Response> {
        octavia.begin(context, octavia.pools[&id].balancer, &octavia.listeners_of(id))
    }
}

impl Octavia {
    /// The listeners that send to a pool.
    pub(super) fn listeners_of(&self, pool: Uuid) -> Vec<Uuid> {
        let sends = |listener: &&Listener| listener.default_pool == Some(pool);
        self.listeners
            .values()
            .filter(sends)
            .map(|listener| listener.common.id)
            .collect()
    }
}

impl Pool {
    /// A pool as requested, if it is valid.
    pub(super) fn parse(
        octavia: &Octavia,
        context: &Context<'_>,
        balancer: Uuid,
        fields: &Fields,
    ) -> Result<Self, Response> {
        let required = |name: &str, words: &[&'static str]| {
            let word = body::word(fields, name, words)?;
            word.ok_or_else(|| body::bad(name, "None", "Mandatory field missing."))
        };
        let (protocol, algorithm) = (required("protocol", PROTOCOLS)?, required("lb_algorithm", ALGORITHMS)?);
        let parent = &octavia.balancers[&balancer];
        ovn::check(parent, Some(("protocol", protocol)))?;
        ovn::check(parent, Some(("algorithm", algorithm)))?;
        let mut common = Common::new(&context.ask.caller.project, context.now);
        body::common(&mut common, fields);
        Ok(Self {
            common,
            balancer,
            protocol,
            algorithm,
            persistence: persistence(fields)?,
        })
    }
}

/// Whether a listener may send to such a pool.
pub(super) fn fits(listener: &str, pool: &str) -> Result<(), Response> {
    let fine = match listener {
        "TCP" => matches!(pool, "HTTP" | "HTTPS" | "PROXY" | "PROXYV2" | "TCP"),
        "HTTP" | "TERMINATED_HTTPS" => matches!(pool, "HTTP" | "PROXY" | "PROXYV2"),
        "HTTPS" => matches!(pool, "HTTPS" | "PROXY" | "PROXYV2" | "TCP"),
        other => other == pool,
    };
    if fine {
        return Ok(());
    }
    Err(invalid(&format!(
        "The pool protocol '{pool}' is invalid while the listener protocol is '{listener}'."
    )))
}

fn persistence(fields: &Fields) -> Result<Option<Persistence>, Response> {
    let Some(given) = fields.get("session_persistence").and_then(Value::as_object) else {
        return Ok(None);
    };
    let kind = body::word(given, "type", PERSISTENCES)?;
    let kind = kind.ok_or_else(|| body::bad("type", "None", "Mandatory field missing."))?;
    Ok(Some(Persistence {
        kind,
        cookie: body::text(given, "cookie_name").map(str::to_owned),
        timeout: body::number(given, "persistence_timeout"),
    }))
}

fn parents(octavia: &Octavia, context: &Context<'_>, fields: &Fields) -> Result<(Uuid, Option<Uuid>), Response> {
    if let Some(listener) = body::text(fields, "listener_id") {
        let listener = octavia.find::<Listener>(listener, context)?;
        return Ok((listener.balancer, Some(listener.common.id)));
    }
    let nothing = || invalid("Must provide at least one of: loadbalancer_id, listener_id");
    let balancer = body::text(fields, "loadbalancer_id").ok_or_else(nothing)?;
    Ok((octavia.find::<Balancer>(balancer, context)?.common.id, None))
}
