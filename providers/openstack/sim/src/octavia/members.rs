//! Members of pools.

use super::{
    Common, Context, Octavia, Operating, Pool, Provisioning, body, error, immutable,
    resource::{Resource, When, kept_in},
};
use crate::exchange::{Fields, Outcome, Response};
use serde_json::{Value, json};
use std::net::IpAddr;
use uuid::Uuid;

#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub(crate) common: Common,
    pub(crate) pool: Uuid,
    pub(crate) address: IpAddr,
    pub(crate) port: u16,
    pub(crate) weight: i64,
    pub(crate) backup: bool,
    pub(crate) subnet: Option<Uuid>,
    pub(crate) monitor_address: Option<IpAddr>,
    pub(crate) monitor_port: Option<u16>,
}

/// The pool of the members.
pub(super) fn pool(
    octavia: &Octavia,
    context: &Context<'_>,
    method: &str,
    pool: &str,
    path: &[&str],
) -> Result<Uuid, Response> {
    let found = octavia.find::<Pool>(pool, context).map(|pool| pool.common.id);
    found.map_err(|refusal| match (method, path) {
        ("GET", []) => {
            let description = format!("Pool {pool} not found.");
            Response::json(
                404,
                json!({"code": 404, "title": "Bad Request", "description": description}),
            )
        }
        _ => refusal,
    })
}

impl Resource for Member {
    const ONE: &'static str = "member";
    const MANY: &'static str = "members";
    const NAME: &'static str = "Member";
    const ARGUMENT: &'static str = "member_";
    const FILTERS: &'static [&'static str] = &[
        "address",
        "protocol_port",
        "weight",
        "subnet_id",
        "backup",
        "monitor_address",
        "monitor_port",
    ];
    const KNOWN: &'static [&'static str] = &[
        "name",
        "admin_state_up",
        "weight",
        "backup",
        "monitor_address",
        "monitor_port",
        "tags",
        "vnic_type",
    ];
    const AT_BIRTH: &'static [&'static str] = &["address", "protocol_port", "subnet_id", "project_id", "tenant_id"];

    kept_in!(members);

    fn is_at(&self, context: &Context<'_>) -> bool {
        context.pool == Some(self.pool)
    }

    fn view(&self, _: &Octavia, minor: u32) -> Value {
        self.common.complete(
            json!({
                "address": self.address, "protocol_port": self.port, "weight": self.weight, "backup": self.backup,
                "subnet_id": self.subnet, "monitor_address": self.monitor_address, "monitor_port": self.monitor_port,
                "vnic_type": "normal",
            }),
            minor,
        )
    }

    fn create(octavia: &mut Octavia, context: &mut Context<'_>, fields: &Fields) -> Result<Uuid, Response> {
        let pool = context.pool.unwrap_or_default();
        let member = Self::parse(context, pool, fields)?;
        context.room_for::<Self>(octavia, 1)?;
        if octavia.pools[&pool].common.provisioning != Provisioning::Active {
            return Err(immutable("Pool", pool));
        }
        member.only(octavia)?;
        octavia.begin_pool(context, pool)?;
        Ok(octavia.keep(member))
    }

    fn update(octavia: &mut Octavia, context: &mut Context<'_>, id: Uuid, fields: &Fields) -> Result<(), Response> {
        octavia.begin_pool(context, octavia.members[&id].pool)?;
        if let Some(member) = octavia.members.get_mut(&id) {
            member.take_over(fields);
            member.common.change();
        }
        Ok(())
    }

    fn begin_deletion(octavia: &mut Octavia, context: &mut Context<'_>, id: Uuid) -> Result<(), Response> {
        octavia.begin_pool(context, octavia.members[&id].pool)
    }

    fn own(octavia: &mut Octavia, context: &mut Context<'_>, method: &str, path: &[&str]) -> Option<Outcome> {
        let pool = context.pool?;
        matches!((method, path), ("PUT", [])).then(|| replace(octavia, context, pool))
    }
}

impl Member {
    /// A member as requested, if it is valid.
    pub(super) fn parse(context: &Context<'_>, pool: Uuid, fields: &Fields) -> Result<Self, Response> {
        body::check(
            fields,
            "members_.members",
            &Self::known(When::AtBirth),
            context.settings.octavia_minor,
        )?;
        let mut common = Common::new(&context.ask.caller.project, context.now);
        common.operating = Operating::NoMonitor;
        let mut member = Self {
            common,
            pool,
            address: body::address(fields, "address")?,
            port: body::port(fields, "protocol_port")?,
            weight: 1,
            backup: false,
            subnet: body::id(fields, "subnet_id")?,
            monitor_address: None,
            monitor_port: None,
        };
        member.take_over(fields);
        Ok(member)
    }

    /// Refuses a second one at the same place of its pool.
    pub(super) fn only(&self, octavia: &Octavia) -> Result<(), Response> {
        let mut others = octavia.members.values();
        let double = others.any(|other| other.is_like(self)).then(|| double(self));
        double.map_or(Ok(()), Err)
    }

    fn is_like(&self, other: &Self) -> bool {
        (self.pool, self.address, self.port) == (other.pool, other.address, other.port)
    }

    fn take_over(&mut self, fields: &Fields) {
        body::common(&mut self.common, fields);
        self.weight = body::number(fields, "weight").unwrap_or(self.weight);
        self.backup = body::switch(fields, "backup").unwrap_or(self.backup);
        if fields.contains_key("monitor_address") {
            self.monitor_address = body::text(fields, "monitor_address").and_then(|text| text.parse().ok());
        }
        if fields.contains_key("monitor_port") {
            self.monitor_port = body::number(fields, "monitor_port").and_then(|port| u16::try_from(port).ok());
        }
    }
}

impl Octavia {
    /// Begins a change of a pool's members or monitor.
    pub(super) fn begin_pool(&mut self, context: &mut Context<'_>, pool: Uuid) -> Result<(), Response> {
        let found = self
            .pools
            .get(&pool)
            .filter(|pool| pool.common.provisioning == Provisioning::Active);
        let balancer = found.ok_or_else(|| immutable("Pool", pool))?.balancer;
        self.begin(context, balancer, &self.listeners_of(pool))?;
        if let Some(pool) = self.pools.get_mut(&pool) {
            pool.common.change();
        }
        Ok(())
    }
}

fn double(member: &Member) -> Response {
    let message = format!(
        "Another member on this pool is already using ip {} on protocol_port {}",
        member.address, member.port
    );
    error(409, &message)
}

/// Refuses two of the same.
fn once(wanted: &[(Member, Fields)], known: &[Option<Uuid>]) -> Result<(), Response> {
    for (at, (member, _)) in wanted.iter().enumerate() {
        if wanted[..at].iter().any(|(other, _)| other.is_like(member)) {
            let twice = || super::invalid("Member must be updated only once in the same request.");
            return Err(known[at].map_or_else(|| double(member), |_| twice()));
        }
    }
    Ok(())
}

/// Replaces all members of a pool: existing ones are changed, others are created or deleted.
fn replace(octavia: &mut Octavia, context: &mut Context<'_>, pool: Uuid) -> Outcome {
    let body = context
        .ask
        .json()
        .ok_or_else(|| error(400, "Request is not in valid JSON format"))?;
    let mut wanted: Vec<(Member, Fields)> = Vec::new();
    for one in body["members"].as_array().into_iter().flatten() {
        let fields = one.as_object().cloned().unwrap_or_default();
        let member = Member::parse(context, pool, &fields)?;
        wanted.push((member, fields));
    }
    if octavia.pools[&pool].common.provisioning != Provisioning::Active {
        return Err(immutable("Pool", pool));
    }
    let there = |member: &Member| {
        let there = octavia.members.values().find(|other| other.is_like(member));
        there.map(|other| other.common.id)
    };
    let known: Vec<Option<Uuid>> = wanted.iter().map(|(member, _)| there(member)).collect();
    once(&wanted, &known)?;
    let new = known.iter().filter(|id| id.is_none()).count();
    context.room_for::<Member>(octavia, new)?;
    octavia.begin_pool(context, pool)?;
    if context.ask.query.get("additive_only") != Some("true") {
        for member in octavia
            .members
            .values_mut()
            .filter(|member| member.pool == pool && !known.contains(&Some(member.common.id)))
        {
            member.common.provisioning = Provisioning::PendingDelete;
        }
    }
    for ((member, fields), id) in wanted.into_iter().zip(known) {
        match id.and_then(|id| octavia.members.get_mut(&id)) {
            Some(there) => {
                there.take_over(&fields);
                (there.monitor_port, there.monitor_address) = (member.monitor_port, member.monitor_address);
                there.common.change();
            }
            None => drop(octavia.members.insert(member.common.id, member)),
        }
    }
    Ok(Response::empty(202))
}
