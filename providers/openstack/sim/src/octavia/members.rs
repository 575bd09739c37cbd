//! Members of pools.

use super::{
    Common, Context, Octavia, Operating, Provisioning, body, error, immutable,
    list::{List, select},
    missing,
};
use crate::exchange::{Answer, Fields, Outcome, unknown};
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

const KNOWN: &[&str] = &[
    "name",
    "admin_state_up",
    "weight",
    "backup",
    "monitor_address",
    "monitor_port",
    "tags",
    "vnic_type",
];
const AT_BIRTH: &[&str] = &["address", "protocol_port", "subnet_id", "project_id", "tenant_id"];

pub(super) fn answer(
    octavia: &mut Octavia,
    context: &mut Context<'_>,
    method: &str,
    pool: &str,
    path: &[&str],
) -> Outcome {
    let lost = |refusal: Answer| match (method, path) {
        ("GET", []) => {
            let description = format!("Pool {pool} not found.");
            Answer::json(
                404,
                json!({"code": 404, "title": "Bad Request", "description": description}),
            )
        }
        _ => refusal,
    };
    let pool = octavia.pool(pool, &context.ask.caller).map_err(lost)?.common.id;
    match (method, path) {
        ("GET", []) => list(octavia, context, pool),
        ("GET", [id]) => show(octavia, context, pool, id),
        ("POST", []) => create(octavia, context, pool),
        ("PUT", []) => replace(octavia, context, pool),
        ("PUT", [id]) => update(octavia, context, pool, id),
        ("DELETE", [id]) => delete(octavia, context, pool, id),
        _ => Err(unknown(context.ask)),
    }
}

impl Member {
    pub(super) fn view(&self, minor: u32) -> Value {
        self.common.complete(
            json!({
                "address": self.address, "protocol_port": self.port, "weight": self.weight, "backup": self.backup,
                "subnet_id": self.subnet, "monitor_address": self.monitor_address, "monitor_port": self.monitor_port,
                "vnic_type": "normal",
            }),
            minor,
        )
    }

    /// A member as it is asked for, if it is sound.
    pub(super) fn parse(context: &Context<'_>, pool: Uuid, fields: &Fields) -> Result<Self, Answer> {
        body::check(
            fields,
            "members_.members",
            &[KNOWN, AT_BIRTH].concat(),
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

fn list(octavia: &Octavia, context: &Context<'_>, pool: Uuid) -> Outcome {
    let list = List {
        many: "members",
        filters: &[
            "address",
            "protocol_port",
            "weight",
            "subnet_id",
            "backup",
            "monitor_address",
            "monitor_port",
        ],
        limit: context.settings.octavia_page,
    };
    let minor = context.settings.octavia_minor;
    let own = octavia.members.values().filter(|member| member.pool == pool);
    list.answer(
        context.ask,
        own.map(|member| (&member.common, member.view(minor))).collect(),
    )
}

fn find<'a>(octavia: &'a Octavia, pool: Uuid, id: &str) -> Result<&'a Member, Answer> {
    let found = Uuid::parse_str(id).ok().and_then(|id| octavia.members.get(&id));
    found
        .filter(|member| member.pool == pool)
        .ok_or_else(|| missing("Member", id))
}

fn show(octavia: &Octavia, context: &Context<'_>, pool: Uuid, id: &str) -> Outcome {
    let member = find(octavia, pool, id)?;
    let fields: Vec<&str> = context.ask.query.all("fields").collect();
    Ok(Answer::ok(
        json!({"member": select(member.view(context.settings.octavia_minor), &fields)}),
    ))
}

impl Octavia {
    /// Begins a change of a pool's members or monitor.
    pub(super) fn begin_pool(&mut self, context: &mut Context<'_>, pool: Uuid) -> Result<(), Answer> {
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

fn create(octavia: &mut Octavia, context: &mut Context<'_>, pool: Uuid) -> Outcome {
    let minor = context.settings.octavia_minor;
    let fields = body::object(context.ask, "member_", "member", &[KNOWN, AT_BIRTH].concat(), minor)?;
    let member = Member::parse(context, pool, &fields)?;
    context.quota(
        "member",
        "Member",
        octavia.members.values().map(|member| &member.common),
        1,
    )?;
    if octavia.pools[&pool].common.provisioning != Provisioning::Active {
        return Err(immutable("Pool", pool));
    }
    let mut others = octavia.members.values();
    if others.any(|other| other.pool == pool && (other.address, other.port) == (member.address, member.port)) {
        return Err(double(&member));
    }
    octavia.begin_pool(context, pool)?;
    let view = member.view(minor);
    octavia.members.insert(member.common.id, member);
    Ok(Answer::json(201, json!({"member": view})))
}

fn double(member: &Member) -> Answer {
    let message = format!(
        "Another member on this pool is already using ip {} on protocol_port {}",
        member.address, member.port
    );
    error(409, &message)
}

fn update(octavia: &mut Octavia, context: &mut Context<'_>, pool: Uuid, id: &str) -> Outcome {
    let fields = body::object(context.ask, "member_", "member", KNOWN, context.settings.octavia_minor)?;
    let id = find(octavia, pool, id)?.common.id;
    octavia.begin_pool(context, pool)?;
    if let Some(member) = octavia.members.get_mut(&id) {
        member.take_over(&fields);
        member.common.change();
    }
    show(octavia, context, pool, &id.to_string())
}

fn delete(octavia: &mut Octavia, context: &mut Context<'_>, pool: Uuid, id: &str) -> Outcome {
    let id = find(octavia, pool, id)?.common.id;
    octavia.begin_pool(context, pool)?;
    if let Some(member) = octavia.members.get_mut(&id) {
        member.common.provisioning = Provisioning::PendingDelete;
    }
    Ok(Answer::empty(204))
}

/// Refuses two of the same.
fn once(wanted: &[(Member, Fields)], known: &[Option<Uuid>]) -> Result<(), Answer> {
    for (at, (member, _)) in wanted.iter().enumerate() {
        let same = |(other, _): &(Member, Fields)| (other.address, other.port) == (member.address, member.port);
        if wanted[..at].iter().any(same) {
            let twice = || super::invalid("Member must be updated only once in the same request.");
            return Err(known[at].map_or_else(|| double(member), |_| twice()));
        }
    }
    Ok(())
}

/// All members of a pool at once: those that are there are changed, the others come and go.
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
        let mut all = octavia.members.values();
        all.find(|other| other.pool == pool && (other.address, other.port) == (member.address, member.port))
            .map(|other| other.common.id)
    };
    let known: Vec<Option<Uuid>> = wanted.iter().map(|(member, _)| there(member)).collect();
    once(&wanted, &known)?;
    let new = known.iter().filter(|id| id.is_none()).count();
    context.quota(
        "member",
        "Member",
        octavia.members.values().map(|member| &member.common),
        new,
    )?;
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
    Ok(Answer::empty(202))
}
