//! `/control`: the operator's side.

use super::answer::{Asked, Refusal};
use crate::{
    Cloud, FaultId, Operation,
    wire::{
        control::{
            Calls, LoadBalancer, SettingsPatch, State as WireState, counts,
            faults::{Injected, WireFault},
            machine::Machine,
        },
        each,
        routes::{Route, Routes},
    },
};
use axum::{
    Json, Router,
    extract::{Path, Query, State},
    http::StatusCode,
    routing::get,
};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

type Answered<T> = Result<Json<T>, Refusal>;

pub(super) fn router(cloud: Cloud) -> Router {
    Router::new()
        .route("/control/state", get(state))
        .route("/control/instances", get(instances).post(create_instances))
        .route(
            "/control/instances/{name}",
            get(instance).patch(change_instance).delete(delete_instance),
        )
        .route("/control/load-balancers", get(load_balancers))
        .route("/control/routes", get(routes).post(add_routes))
        .route("/control/calls", get(calls).delete(forget_calls))
        .route("/control/counts", get(count_calls))
        .route("/control/faults", get(faults).post(inject).delete(withdraw_all))
        .route("/control/faults/{id}", axum::routing::delete(withdraw))
        .route("/control/settings", get(settings).patch(change_settings))
        .with_state(cloud)
}

async fn state(State(cloud): State<Cloud>) -> Json<WireState> {
    let instances = each(cloud.machines());
    Json(WireState {
        instances,
        load_balancers: each(cloud.load_balancers()),
        routes: routes_of(&cloud),
    })
}

async fn instances(State(cloud): State<Cloud>) -> Json<Vec<Machine>> {
    Json(each(cloud.machines()))
}

async fn create_instances(State(cloud): State<Cloud>, Asked(asked): Asked<Value>) -> Answered<Vec<Machine>> {
    let list = if asked.is_array() {
        asked
    } else {
        Value::Array(vec![asked])
    };
    let asked: Vec<Machine> =
        serde_json::from_value(list).map_err(|error| Refusal::invalid("body", error.to_string()))?;
    if asked
        .iter()
        .any(|machine| machine.name.as_deref().unwrap_or_default().is_empty())
    {
        return Err(Refusal::invalid("name", "a machine needs one"));
    }
    Ok(Json(
        asked
            .into_iter()
            .filter_map(|machine| create(&cloud, machine))
            .collect(),
    ))
}

fn create(cloud: &Cloud, asked: Machine) -> Option<Machine> {
    let name = asked.name.clone()?;
    cloud.boot_as(&name, |machine| asked.apply(machine));
    cloud.machine(&name).map(Into::into)
}

async fn instance(State(cloud): State<Cloud>, Path(name): Path<String>) -> Answered<Machine> {
    cloud
        .machine(&name)
        .map(|machine| Json(machine.into()))
        .ok_or_else(|| no_instance(&name))
}

async fn change_instance(
    State(cloud): State<Cloud>,
    Path(name): Path<String>,
    Asked(change): Asked<Machine>,
) -> Answered<Machine> {
    if change.name.as_ref().is_some_and(|other| *other != name) {
        return Err(Refusal::invalid("name", "a machine cannot be renamed"));
    }
    let changed = cloud.modify_machine(&name, |machine| {
        change.apply(machine);
        machine.clone()
    });
    changed
        .map(|machine| Json(machine.into()))
        .ok_or_else(|| no_instance(&name))
}

async fn delete_instance(State(cloud): State<Cloud>, Path(name): Path<String>) -> Result<StatusCode, Refusal> {
    cloud
        .delete_machine(&name)
        .map(|_| StatusCode::NO_CONTENT)
        .ok_or_else(|| no_instance(&name))
}

async fn load_balancers(State(cloud): State<Cloud>) -> Json<Vec<LoadBalancer>> {
    Json(each(cloud.load_balancers()))
}

async fn routes(State(cloud): State<Cloud>) -> Json<Vec<Routes<Route>>> {
    Json(routes_of(&cloud))
}

async fn add_routes(State(cloud): State<Cloud>, Asked(asked): Asked<Routes<Route>>) -> StatusCode {
    for route in asked.routes {
        cloud.add_route(&asked.cluster, route.into());
    }
    StatusCode::NO_CONTENT
}

/// Which calls are asked for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Filter {
    operation: Option<String>,
}

async fn calls(State(cloud): State<Cloud>, Query(filter): Query<Filter>) -> Answered<Calls> {
    let calls = match filter.operation.as_deref() {
        None => cloud.calls(),
        Some(name) => {
            cloud.calls_of(Operation::parse(name).ok_or_else(|| Refusal::not_found(format!("operation {name}")))?)
        }
    };
    Ok(Json(Calls {
        counts: counts(|operation| cloud.count(operation)),
        calls: each(calls),
    }))
}

async fn count_calls(State(cloud): State<Cloud>) -> Json<BTreeMap<String, u64>> {
    Json(counts(|operation| cloud.count(operation)))
}

async fn forget_calls(State(cloud): State<Cloud>) -> StatusCode {
    cloud.forget_calls();
    StatusCode::NO_CONTENT
}

async fn faults(State(cloud): State<Cloud>) -> Json<Vec<Injected>> {
    let injected = cloud.faults().into_iter().map(|(id, fault)| Injected {
        id: id.0,
        fault: Some(fault.into()),
    });
    Json(injected.collect())
}

async fn inject(State(cloud): State<Cloud>, Asked(asked): Asked<WireFault>) -> Answered<Injected> {
    let fault = asked.parse().map_err(|reason| Refusal::invalid("fault", reason))?;
    Ok(Json(Injected {
        id: cloud.inject(fault).0,
        fault: None,
    }))
}

async fn withdraw(State(cloud): State<Cloud>, Path(id): Path<u64>) -> StatusCode {
    cloud.withdraw(FaultId(id));
    StatusCode::NO_CONTENT
}

async fn withdraw_all(State(cloud): State<Cloud>) -> StatusCode {
    cloud.withdraw_all();
    StatusCode::NO_CONTENT
}

async fn settings(State(cloud): State<Cloud>) -> Json<SettingsPatch> {
    Json(cloud.settings().into())
}

async fn change_settings(State(cloud): State<Cloud>, Asked(patch): Asked<SettingsPatch>) -> Json<SettingsPatch> {
    cloud.configure(|settings| patch.apply(settings));
    settings(State(cloud)).await
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

fn no_instance(name: &str) -> Refusal {
    Refusal::not_found(format!("instance {name}"))
}
