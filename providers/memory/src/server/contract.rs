//! `/v1`: the contract.

use super::answer::{Asked, Refusal, batch};
use crate::{
    Memory,
    wire::{
        Answers, Cluster, Written,
        balancers::About,
        each,
        instances::{Answer, Describe},
        outcomes::{Deletion, Found, Outcome, OwnedList},
        routes::{NewRoute, Route, Routes as RouteList},
    },
};
use axum::{Json, Router, extract::State, routing::post};
use cloud::{Instances, LoadBalancers, Routes};

type Answered<T> = Result<Json<T>, Refusal>;

pub(super) fn router(memory: Memory) -> Router {
    Router::new()
        .route("/v1/describe", post(describe))
        .route("/v1/load-balancers/find", post(find))
        .route("/v1/load-balancers/ensure", post(ensure))
        .route("/v1/load-balancers/update-hosts", post(update_hosts))
        .route("/v1/load-balancers/delete", post(delete))
        .route("/v1/load-balancers/owned", post(owned))
        .route("/v1/routes/list", post(list_routes))
        .route("/v1/routes/create", post(create_routes))
        .route("/v1/routes/delete", post(delete_routes))
        .with_state(memory)
}

async fn describe(State(memory): State<Memory>, Asked(asked): Asked<Describe>) -> Answered<Answers<Answer>> {
    let Describe { detail, nodes } = asked;
    batch(memory.describe(&each::<_, cloud::NodeRef>(nodes), detail.into()).await)
}

async fn find(State(memory): State<Memory>, Asked(About { spec }): Asked<About>) -> Answered<Found> {
    Ok(Json(memory.find(&spec.into()).await?.into()))
}

async fn ensure(State(memory): State<Memory>, Asked(About { spec }): Asked<About>) -> Answered<Outcome> {
    Ok(Json(memory.ensure(&spec.into()).await?.answer.into()))
}

async fn update_hosts(State(memory): State<Memory>, Asked(About { spec }): Asked<About>) -> Answered<Outcome> {
    Ok(Json(memory.update_hosts(&spec.into()).await?.answer.into()))
}

async fn delete(State(memory): State<Memory>, Asked(About { spec }): Asked<About>) -> Answered<Deletion> {
    Ok(Json(LoadBalancers::delete(&memory, &spec.into()).await?.answer.into()))
}

async fn owned(State(memory): State<Memory>, Asked(Cluster { cluster }): Asked<Cluster>) -> Answered<OwnedList> {
    Ok(Json(OwnedList {
        owned: memory.owned(&cluster).await?,
    }))
}

async fn list_routes(
    State(memory): State<Memory>,
    Asked(Cluster { cluster }): Asked<Cluster>,
) -> Answered<RouteList<Route>> {
    let routes = each(memory.list(&cluster).await?);
    Ok(Json(RouteList { cluster, routes }))
}

async fn create_routes(
    State(memory): State<Memory>,
    Asked(RouteList { cluster, routes }): Asked<RouteList<NewRoute>>,
) -> Answered<Answers<Written>> {
    batch(memory.create(&cluster, &each::<_, cloud::NewRoute>(routes)).await)
}

async fn delete_routes(
    State(memory): State<Memory>,
    Asked(RouteList { cluster, routes }): Asked<RouteList<Route>>,
) -> Answered<Answers<Written>> {
    batch(Routes::delete(&memory, &cluster, &each::<_, cloud::Route>(routes)).await)
}
