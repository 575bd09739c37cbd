//! Instances.

use super::{one, page, passes, tag_set};
use crate::{
    Account, Machine, State,
    wire::{Answer, Params, Refusal},
};
use fakecloud::{Now, Value, json};
use std::collections::BTreeSet;

pub fn describe(account: &mut Account, params: &Params, now: Now) -> Answer {
    let ids = params.texts("InstanceId");
    let shown: Vec<&Machine> = if ids.is_empty() {
        candidates(account, params)
            .into_iter()
            .filter(|machine| is_shown(machine, now))
            .collect()
    } else {
        by_ids(account, &ids, now)?
    };
    let mut found = Vec::new();
    for machine in shown {
        let attributes = |name: &str| {
            Some(match name {
                "private-dns-name" => one(&machine.name),
                "instance-state-name" => one(state(machine.state).1),
                "instance-id" => one(&machine.id),
                "vpc-id" => one(&account.vpc),
                "private-ip-address" | "network-interface.addresses.private-ip-address" => one(&machine.address),
                _ => return None,
            })
        };
        if passes(params, &account.tags_of(&machine.id), &attributes)? {
            found.push(machine);
        }
    }
    let items = found.into_iter().map(|machine| item(account, machine));
    let items = items.map(|item| json!({"reservationId": "r-1", "instancesSet": [item]}));
    Ok(page(params, "reservationSet", items.collect()))
}

/// Those that can pass the filter by name, which is an index here: nodes are looked up by it.
fn candidates<'a>(account: &'a Account, params: &Params) -> Vec<&'a Machine> {
    let by_name = params
        .list("Filter")
        .iter()
        .find(|filter| filter["Name"] == "private-dns-name");
    let Some(filter) = by_name else {
        return account.machines();
    };
    let names = filter["Value"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    let names: BTreeSet<&str> = names.collect();
    let ids = names.into_iter().filter_map(|name| account.by_name.get(name));
    ids.filter_map(|id| account.machines.get(id)).collect()
}

fn by_ids<'a>(account: &'a Account, ids: &[&str], now: Now) -> Result<Vec<&'a Machine>, Refusal> {
    let is_hexadecimal = |id: &&str| {
        let digits = id.strip_prefix("i-").unwrap_or_default();
        [8, 17].contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
    };
    if let Some(odd) = ids.iter().find(|id| !is_hexadecimal(id)) {
        return Err(Refusal::new(
            "InvalidInstanceID.Malformed",
            format!("Invalid id: \"{odd}\""),
        ));
    }
    let find = |id: &&str| account.machines.get(*id).filter(|machine| is_shown(machine, now));
    let ids: BTreeSet<&str> = ids.iter().copied().collect();
    let missing: Vec<&str> = ids.iter().filter(|id| find(id).is_none()).copied().collect();
    match missing[..] {
        [] => Ok(ids.iter().filter_map(find).collect()),
        [id] => Err(not_found(format!("The instance ID '{id}' does not exist"))),
        _ => Err(not_found(format!(
            "The instance IDs '{}' do not exist",
            missing.join(", ")
        ))),
    }
}

fn not_found(message: String) -> Refusal {
    Refusal::new("InvalidInstanceID.NotFound", message)
}

fn is_shown(machine: &Machine, now: Now) -> bool {
    machine.shown_from <= now.instant
}

fn state(state: State) -> (u32, &'static str) {
    match state {
        State::Running => (16, "running"),
        State::Terminated => (48, "terminated"),
        State::Stopped => (80, "stopped"),
    }
}

fn item(account: &Account, machine: &Machine) -> Value {
    let (code, name) = state(machine.state);
    let groups: Value = machine
        .groups
        .iter()
        .filter_map(|id| account.groups.get(id))
        .map(|group| json!({"groupId": group.id, "groupName": group.name}))
        .collect();
    let address = &machine.address;
    json!({
        "instanceId": machine.id, "instanceType": machine.kind, "instanceState": {"code": code, "name": name},
        "placement": {"availabilityZone": machine.zone}, "vpcId": account.vpc, "subnetId": machine.subnet,
        "privateDnsName": machine.name, "dnsName": "", "privateIpAddress": address, "groupSet": groups,
        "sourceDestCheck": !machine.forwards,
        "networkInterfaceSet": [{
            "status": "in-use", "attachment": {"deviceIndex": 0, "status": "attached"}, "privateIpAddress": address,
            "privateIpAddressesSet": [{"privateIpAddress": address, "primary": true}],
        }],
        "tagSet": tag_set(&account.tags_of(&machine.id)),
    })
}

/// As for most types, there is nothing to say.
#[expect(clippy::unnecessary_wraps, reason = "as every action")]
pub fn topology(_: &mut Account, _: &Params, _: Now) -> Answer {
    Ok(json!({"instanceSet": []}))
}

/// The interfaces of instances are shown with these; there are no others.
#[expect(clippy::unnecessary_wraps, reason = "as every action")]
pub fn interfaces(_: &mut Account, _: &Params, _: Now) -> Answer {
    Ok(json!({"networkInterfaceSet": []}))
}

pub fn modify(account: &mut Account, params: &Params, now: Now) -> Answer {
    let id = params.required("InstanceId")?;
    by_ids(account, &[id], now)?;
    if let Some(machine) = account.machines.get_mut(id) {
        machine.forwards = params.get("SourceDestCheck")["Value"] == "false";
    }
    Ok(super::done())
}
