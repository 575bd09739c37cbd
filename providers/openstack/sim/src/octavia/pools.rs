//! Pools.

use super::{
    Common, Context, Octavia, Provisioning, body,
    common::ids,
    error, invalid,
    list::{List, select},
    missing, ovn,
};
use crate::{
    exchange::{Answer, Fields, Outcome, unknown},
    keystone::Caller,
};
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
const KNOWN: &[&str] = &[
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

pub(super) fn answer(octavia: &mut Octavia, context: &mut Context<'_>, method: &str, path: &[&str]) -> Outcome {
    match (method, path) {
        ("GET", []) => list(octavia, context),
        ("GET", [id]) => show(octavia, context, id),
        ("POST", []) => create(octavia, context),
        ("PUT", [id]) => update(octavia, context, id),
        ("DELETE", [id]) => delete(octavia, context, id),
        _ => Err(unknown(context.ask)),
    }
}

impl Octavia {
    pub(super) fn pool(&self, id: &str, caller: &Caller) -> Result<&Pool, Answer> {
        let found = Uuid::parse_str(id).ok().and_then(|id| self.pools.get(&id));
        found
            .filter(|pool| caller.sees(&pool.common.project))
            .ok_or_else(|| missing("Pool", id))
    }

    /// The listeners that send to a pool.
    pub(super) fn listeners_of(&self, pool: Uuid) -> Vec<Uuid> {
        let sends = |listener: &&super::Listener| listener.default_pool == Some(pool);
        self.listeners
            .values()
            .filter(sends)
            .map(|listener| listener.common.id)
            .collect()
    }

    pub(super) fn pool_view(&self, pool: &Pool, minor: u32) -> Value {
        let id = pool.common.id;
        let persistence = pool.persistence.as_ref().map(|one| {
            json!({
                "type": one.kind, "cookie_name": one.cookie, "persistence_timeout": one.timeout, "persistence_granularity": null,
            })
        });
        let members = self
            .members
            .values()
            .filter(|member| member.pool == id)
            .map(|member| member.common.id);
        let mut view = json!({
            "description": pool.common.description, "protocol": pool.protocol, "lb_algorithm": pool.algorithm,
            "session_persistence": persistence, "loadbalancers": ids([pool.balancer]), "listeners": ids(self.listeners_of(id)),
            "members": ids(members), "tls_container_ref": null, "ca_tls_container_ref": null, "crl_container_ref": null,
            "tls_enabled": false, "tls_ciphers": null, "tls_versions": null, "alpn_protocols": null,
        });
        if let Some(monitor) = self.monitors.values().find(|monitor| monitor.pool == id) {
            view["healthmonitor_id"] = json!(monitor.common.id);
        }
        pool.common.complete(view, minor)
    }
}

impl Pool {
    /// A pool as it is asked for, if it is sound.
    pub(super) fn parse(
        octavia: &Octavia,
        context: &Context<'_>,
        balancer: Uuid,
        fields: &Fields,
    ) -> Result<Self, Answer> {
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
pub(super) fn fits(listener: &str, pool: &str) -> Result<(), Answer> {
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

fn persistence(fields: &Fields) -> Result<Option<Persistence>, Answer> {
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

fn list(octavia: &Octavia, context: &Context<'_>) -> Outcome {
    let list = List {
        many: "pools",
        filters: &[
            "loadbalancer_id",
            "load_balancer_id",
            "protocol",
            "lb_algorithm",
            "listeners",
            "healthmonitor_id",
        ],
        limit: context.settings.octavia_page,
    };
    let minor = context.settings.octavia_minor;
    let rows = octavia
        .pools
        .values()
        .map(|pool| (&pool.common, octavia.pool_view(pool, minor)))
        .collect();
    list.answer(context.ask, rows)
}

fn show(octavia: &Octavia, context: &Context<'_>, id: &str) -> Outcome {
    let pool = octavia.pool(id, &context.ask.caller)?;
    let fields: Vec<&str> = context.ask.query.all("fields").collect();
    let view = octavia.pool_view(pool, context.settings.octavia_minor);
    Ok(Answer::ok(json!({"pool": select(view, &fields)})))
}

fn create(octavia: &mut Octavia, context: &mut Context<'_>) -> Outcome {
    let known = [
        KNOWN,
        &["listener_id", "loadbalancer_id", "protocol", "project_id", "tenant_id"],
    ]
    .concat();
    let minor = context.settings.octavia_minor;
    let fields = body::object(context.ask, "pool_", "pool", &known, minor)?;
    body::word(&fields, "protocol", PROTOCOLS)?;
    body::word(&fields, "lb_algorithm", ALGORITHMS)?;
    let (balancer, listener) = parents(octavia, context, &fields)?;
    context.quota("pool", "Pool", octavia.pools.values().map(|pool| &pool.common), 1)?;
    let listeners: Vec<Uuid> = listener.into_iter().collect();
    let pool = Pool::parse(octavia, context, balancer, &fields)?;
    if let Some(listener) = listener.and_then(|id| octavia.listeners.get(&id)) {
        if listener.default_pool.is_some() {
            return Err(error(409, "This listener already has a default pool"));
        }
        fits(listener.protocol, pool.protocol)?;
    }
    octavia.begin(context, balancer, &listeners)?;
    let id = pool.common.id;
    octavia.pools.insert(id, pool);
    if let Some(listener) = listener.and_then(|id| octavia.listeners.get_mut(&id)) {
        listener.default_pool = Some(id);
    }
    Ok(Answer::json(
        201,
        json!({"pool": octavia.pool_view(&octavia.pools[&id], minor)}),
    ))
}

fn parents(octavia: &Octavia, context: &Context<'_>, fields: &Fields) -> Result<(Uuid, Option<Uuid>), Answer> {
    if let Some(listener) = body::text(fields, "listener_id") {
        let listener = octavia.listener(listener, &context.ask.caller)?;
        return Ok((listener.balancer, Some(listener.common.id)));
    }
    let nothing = || invalid("Must provide at least one of: loadbalancer_id, listener_id");
    let balancer = body::text(fields, "loadbalancer_id").ok_or_else(nothing)?;
    Ok((octavia.balancer(balancer, &context.ask.caller)?.common.id, None))
}

fn update(octavia: &mut Octavia, context: &mut Context<'_>, id: &str) -> Outcome {
    let fields = body::object(context.ask, "pool_", "pool", KNOWN, context.settings.octavia_minor)?;
    let pool = octavia.pool(id, &context.ask.caller)?;
    let (id, balancer) = (pool.common.id, pool.balancer);
    let algorithm = body::word(&fields, "lb_algorithm", ALGORITHMS)?;
    let sticky = if fields.contains_key("session_persistence") {
        persistence(&fields)?
    } else {
        pool.persistence.clone()
    };
    ovn::check(&octavia.balancers[&balancer], algorithm.map(|name| ("algorithm", name)))?;
    octavia.begin(context, balancer, &octavia.listeners_of(id))?;
    if let Some(pool) = octavia.pools.get_mut(&id) {
        pool.common.change();
        body::common(&mut pool.common, &fields);
        pool.algorithm = algorithm.unwrap_or(pool.algorithm);
        pool.persistence = sticky;
    }
    show(octavia, context, &id.to_string())
}

fn delete(octavia: &mut Octavia, context: &mut Context<'_>, id: &str) -> Outcome {
    let pool = octavia.pool(id, &context.ask.caller)?;
    let (id, balancer) = (pool.common.id, pool.balancer);
    octavia.begin(context, balancer, &octavia.listeners_of(id))?;
    if let Some(pool) = octavia.pools.get_mut(&id) {
        pool.common.provisioning = Provisioning::PendingDelete;
    }
    Ok(Answer::empty(204))
}
