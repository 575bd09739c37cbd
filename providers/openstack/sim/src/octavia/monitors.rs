//! Health monitors.

use super::{
    Common, Context, Octavia, Pool, Provisioning, body,
    common::ids,
    error, invalid, ovn,
    resource::{Resource, kept_in},
};
use crate::exchange::{Fields, Response};
use serde_json::{Value, json};
use uuid::Uuid;

#[derive(Debug, Clone)]
pub(crate) struct Monitor {
    pub(crate) common: Common,
    pub(crate) pool: Uuid,
    pub(crate) kind: &'static str,
    pub(crate) delay: i64,
    pub(crate) timeout: i64,
    pub(crate) max_retries: i64,
    pub(crate) max_retries_down: i64,
    pub(crate) http_method: Option<String>,
    pub(crate) url_path: Option<String>,
    pub(crate) expected_codes: Option<String>,
}

const KINDS: &[&str] = &["HTTP", "HTTPS", "PING", "SCTP", "TCP", "TLS-HELLO", "UDP-CONNECT"];

impl Resource for Monitor {
    const ONE: &'static str = "healthmonitor";
    const MANY: &'static str = "healthmonitors";
    const NAME: &'static str = "Health Monitor";
    const ARGUMENT: &'static str = "health_monitor_";
    const QUOTA: &'static str = "health_monitor";
    const FILTERS: &'static [&'static str] = &[
        "pool_id",
        "type",
        "delay",
        "timeout",
        "max_retries",
        "url_path",
        "http_method",
        "expected_codes",
    ];
    const KNOWN: &'static [&'static str] = &[
        "name",
        "admin_state_up",
        "tags",
        "delay",
        "timeout",
        "max_retries",
        "max_retries_down",
        "http_method",
        "url_path",
        "expected_codes",
        "http_version",
        "domain_name",
    ];
    const AT_BIRTH: &'static [&'static str] = &["pool_id", "type", "project_id", "tenant_id"];

    kept_in!(monitors);

    fn view(&self, _: &Octavia, minor: u32) -> Value {
        self.common.complete(
            json!({
                "type": self.kind, "delay": self.delay, "timeout": self.timeout, "max_retries": self.max_retries,
                "max_retries_down": self.max_retries_down, "http_method": self.http_method, "url_path": self.url_path,
                "expected_codes": self.expected_codes, "pools": ids([self.pool]), "http_version": null, "domain_name": null,
            }),
            minor,
        )
    }

    fn create(octavia: &mut Octavia, context: &mut Context<'_>, fields: &Fields) -> Result<Uuid, Response> {
        let pool = body::text(fields, "pool_id").unwrap_or_default();
        let pool = octavia.find::<Pool>(pool, context)?.common.id;
        let monitor = Self::parse(octavia, context, pool, fields)?;
        context.room_for::<Self>(octavia, 1)?;
        if octavia.pools[&pool].common.provisioning != Provisioning::Active {
            return Err(super::immutable("Pool", pool));
        }
        if octavia.monitors.values().any(|other| other.pool == pool) {
            return Err(error(409, "This pool already has a health monitor"));
        }
        octavia.begin_pool(context, pool)?;
        Ok(octavia.keep(monitor))
    }

    fn update(octavia: &mut Octavia, context: &mut Context<'_>, id: Uuid, fields: &Fields) -> Result<(), Response> {
        octavia.begin_pool(context, octavia.monitors[&id].pool)?;
        if let Some(monitor) = octavia.monitors.get_mut(&id) {
            body::common(&mut monitor.common, fields);
            monitor.common.change();
            take_over(monitor, fields);
        }
        Ok(())
    }

    fn begin_deletion(octavia: &mut Octavia, context: &mut Context<'_>, id: Uuid) -> Result<(), Response> {
        octavia.begin_pool(context, octavia.monitors[&id].pool)
    }
}

impl Monitor {
    /// A monitor as requested, if it is valid.
    pub(super) fn parse(
        octavia: &Octavia,
        context: &Context<'_>,
        pool: Uuid,
        fields: &Fields,
    ) -> Result<Self, Response> {
        let kind =
            body::word(fields, "type", KINDS)?.ok_or_else(|| body::bad("type", "None", "Mandatory field missing."))?;
        let parent = &octavia.pools[&pool];
        check(kind, parent.protocol, context.settings.octavia_minor)?;
        ovn::check(&octavia.balancers[&parent.balancer], Some(("health monitor", kind)))?;
        let required = |name: &str| {
            let number = body::number(fields, name);
            number.ok_or_else(|| body::bad(name, "None", "Mandatory field missing."))
        };
        let max_retries = required("max_retries")?;
        let max_retries_down = body::number(fields, "max_retries_down").unwrap_or(3);
        for (name, number) in [("max_retries", max_retries), ("max_retries_down", max_retries_down)] {
            if number < 1 {
                let least = "Value should be greater or equal to 1";
                return Err(body::bad(name, &number.to_string(), least));
            }
        }
        let http = matches!(kind, "HTTP" | "HTTPS");
        let or = |name: &str, default: &str| {
            let given = body::text(fields, name).map(str::to_owned);
            given.or_else(|| http.then(|| default.to_owned()))
        };
        let mut common = Common::new(&context.ask.caller.project, context.now);
        body::common(&mut common, fields);
        Ok(Self {
            common,
            pool,
            kind,
            delay: required("delay")?,
            timeout: required("timeout")?,
            max_retries,
            max_retries_down,
            http_method: or("http_method", "GET"),
            url_path: or("url_path", "/"),
            expected_codes: or("expected_codes", "200"),
        })
    }
}

fn check(kind: &str, protocol: &str, minor: u32) -> Result<(), Response> {
    let datagrams = matches!(protocol, "UDP" | "SCTP");
    if kind == "UDP-CONNECT" && !datagrams {
        return Err(invalid(
            "The UDP-CONNECT type is only supported for pools of type UDP/SCTP.",
        ));
    }
    let kinds = if minor >= 16 {
        "UDP-CONNECT/SCTP/TCP/HTTP"
    } else {
        "UDP-CONNECT"
    };
    if datagrams && !kinds.split('/').any(|allowed| allowed == kind) {
        let message =
            format!("The associated pool protocol is {protocol}, so only a {kinds} health monitor is supported.");
        return Err(invalid(&message));
    }
    Ok(())
}

fn take_over(monitor: &mut Monitor, fields: &Fields) {
    let number = |name: &str, old: i64| body::number(fields, name).unwrap_or(old);
    monitor.delay = number("delay", monitor.delay);
    monitor.timeout = number("timeout", monitor.timeout);
    monitor.max_retries = number("max_retries", monitor.max_retries);
    monitor.max_retries_down = number("max_retries_down", monitor.max_retries_down);
    let text = |name: &str, old: &mut Option<String>| {
        if let Some(new) = body::text(fields, name) {
            *old = Some(new.to_owned());
        }
    };
    text("http_method", &mut monitor.http_method);
    text("url_path", &mut monitor.url_path);
    text("expected_codes", &mut monitor.expected_codes);
}
