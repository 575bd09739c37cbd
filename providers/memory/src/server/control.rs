//! `/control`: the machines, faults, calls and settings of the cloud, for tests.

use super::{Answer, answer::parse};
use crate::{
    Cloud, FaultId, Operation,
    wire::{
        control::{
            Calls, LoadBalancer, SettingsPatch, State, counts,
            faults::{Injected, WireFault},
            machine::Machine,
        },
        each,
        routes::{Route, Routes},
    },
};
use cloud::Error;
use fakecloud::{Request, Response};
use serde_json::Value;
use std::collections::BTreeMap;

pub(super) fn answer(cloud: &Cloud, route: (&str, &[&str]), request: &Request) -> Answer {
    let done = Response::empty(204);
    Ok(match route {
        ("GET", ["state"]) => Response::ok(state(cloud)),
        ("GET", ["instances"]) => Response::ok(each::<_, Machine>(cloud.machines())),
        ("POST", ["instances"]) => Response::ok(create_instances(cloud, parse(request)?)?),
        ("GET", ["instances", name]) => shown(cloud.machine(name), name)?,
        ("PATCH", ["instances", name]) => change_instance(cloud, name, parse(request)?)?,
        ("DELETE", ["instances", name]) => cloud
            .delete_machine(name)
            .map(|_| done)
            .ok_or_else(|| no_instance(name))?,
        ("GET", ["load-balancers"]) => Response::ok(each::<_, LoadBalancer>(cloud.load_balancers())),
        ("GET", ["routes"]) => Response::ok(routes_of(cloud)),
        ("POST", ["routes"]) => {
            add_routes(cloud, parse(request)?);
            done
        }
        ("GET", ["calls"]) => Response::ok(calls(cloud, request.query.get("operation"))?),
        ("DELETE", ["calls"]) => {
            cloud.forget_calls();
            done
        }
        ("GET", ["counts"]) => Response::ok(counts(|operation| cloud.count(operation))),
        ("GET", ["faults"]) => Response::ok(faults(cloud)),
        ("POST", ["faults"]) => Response::ok(inject(cloud, parse(request)?)?),
        ("DELETE", ["faults"]) => {
            cloud.withdraw_all();
            done
        }
        ("DELETE", ["faults", id]) => {
            cloud.withdraw(FaultId(id.parse().map_err(|_| not_found("fault", id))?));
            done
        }
        ("GET", ["settings"]) => Response::ok(SettingsPatch::from(cloud.settings())),
        ("PATCH", ["settings"]) => {
            let patch: SettingsPatch = parse(request)?;
            cloud.configure(|settings| patch.apply(settings));
            Response::ok(SettingsPatch::from(cloud.settings()))
        }
        _ => Response::empty(404),
    })
}

fn state(cloud: &Cloud) -> State {
    State {
        instances: each(cloud.machines()),
        load_balancers: each(cloud.load_balancers()),
        routes: routes_of(cloud),
    }
}

/// One machine, or each of a list.
fn create_instances(cloud: &Cloud, asked: Value) -> cloud::Result<Vec<Machine>> {
    let list = if asked.is_array() {
        asked
    } else {
        Value::Array(vec![asked])
    };
    let asked: Vec<Machine> =
        serde_json::from_value(list).map_err(|error| Error::invalid("body", error.to_string()))?;
    let named = |machine: &Machine| machine.name.as_ref().is_some_and(|name| !name.is_empty());
    if !asked.iter().all(named) {
        return Err(Error::invalid("name", "a machine needs one"));
    }
    let created = asked.into_iter().filter_map(|machine| create(cloud, machine));
    Ok(created.collect())
}

fn create(cloud: &Cloud, asked: Machine) -> Option<Machine> {
    let name = asked.name.clone()?;
    cloud.boot_as(&name, |machine| asked.apply(machine));
    cloud.machine(&name).map(Into::into)
}

fn change_instance(cloud: &Cloud, name: &str, change: Machine) -> Answer {
    if change.name.as_ref().is_some_and(|other| other != name) {
        return Err(Error::invalid("name", "a machine cannot be renamed"));
    }
    let changed = cloud.modify_machine(name, |machine| {
        change.apply(machine);
        machine.clone()
    });
    shown(changed, name)
}

fn shown(machine: Option<crate::Machine>, name: &str) -> Answer {
    let machine = machine.map(Machine::from).ok_or_else(|| no_instance(name))?;
    Ok(Response::ok(machine))
}

fn add_routes(cloud: &Cloud, asked: Routes<Route>) {
    for route in asked.routes {
        cloud.add_route(&asked.cluster, route.into());
    }
}

fn calls(cloud: &Cloud, operation: Option<&str>) -> cloud::Result<Calls> {
    let calls = match operation {
        None => cloud.calls(),
        Some(name) => cloud.calls_of(Operation::parse(name).ok_or_else(|| not_found("operation", name))?),
    };
    Ok(Calls {
        counts: counts(|operation| cloud.count(operation)),
        calls: each(calls),
    })
}

fn faults(cloud: &Cloud) -> Vec<Injected> {
    let injected = cloud.faults().into_iter().map(|(id, fault)| Injected {
        id: id.0,
        fault: Some(fault.into()),
    });
    injected.collect()
}

fn inject(cloud: &Cloud, asked: WireFault) -> cloud::Result<Injected> {
    let fault = asked.parse().map_err(|reason| Error::invalid("fault", reason))?;
    Ok(Injected {
        id: cloud.inject(fault).0,
        fault: None,
    })
}

fn routes_of(cloud: &Cloud) -> Vec<Routes<Route>> {
    let mut by_cluster: BTreeMap<String, Vec<Route>> = BTreeMap::new();
    for (cluster, route) in cloud.all_routes() {
        by_cluster.entry(cluster).or_default().push(route.into());
    }
    by_cluster
        .into_iter()
        .map(|(cluster, routes)| Routes { cluster, routes })
        .collect()
}

fn no_instance(name: &str) -> Error {
    not_found("instance", name)
}

fn not_found(kind: &str, name: &str) -> Error {
    Error::NotFound {
        what: format!("{kind} {name}"),
    }
}
