//! `/v1`: the contract.

use super::{
    Answer,
    answer::{batch, parse},
};
use crate::{
    Memory,
    wire::{
        Cluster, Written,
        balancers::About,
        each,
        instances::{Answer as Described, Describe},
        outcomes::{Deletion, Found, Outcome, OwnedList},
        routes::{NewRoute, Route, Routes as RouteList},
    },
};
use cloud::{Instances, LoadBalancers, Routes, Spec};
use fakecloud::{Request, Response};

pub(super) async fn answer(memory: &Memory, path: &[&str], request: &Request) -> Answer {
    match path {
        ["describe"] => {
            let Describe { detail, nodes } = parse(request)?;
            let nodes: Vec<cloud::NodeRef> = each(nodes);
            batch::<_, Described>(memory.describe(&nodes, detail.into()).await)
        }
        ["load-balancers", "find"] => Ok(Response::ok(Found::from(memory.find(&spec(request)?).await?))),
        ["load-balancers", "ensure"] => Ok(Response::ok(Outcome::from(
            memory.ensure(&spec(request)?).await?.answer,
        ))),
        ["load-balancers", "update-hosts"] => Ok(Response::ok(Outcome::from(
            memory.update_hosts(&spec(request)?).await?.answer,
        ))),
        ["load-balancers", "delete"] => Ok(Response::ok(Deletion::from(
            LoadBalancers::delete(memory, &spec(request)?).await?.answer,
        ))),
        ["load-balancers", "owned"] => {
            let Cluster { cluster } = parse(request)?;
            let owned = memory.owned(&cluster).await?;
            Ok(Response::ok(OwnedList { owned }))
        }
        ["routes", "list"] => {
            let Cluster { cluster } = parse(request)?;
            let routes: Vec<Route> = each(memory.list(&cluster).await?);
            Ok(Response::ok(RouteList { cluster, routes }))
        }
        ["routes", "create"] => {
            let RouteList::<NewRoute> { cluster, routes } = parse(request)?;
            let routes: Vec<cloud::NewRoute> = each(routes);
            batch::<_, Written>(memory.create(&cluster, &routes).await)
        }
        ["routes", "delete"] => {
            let RouteList::<Route> { cluster, routes } = parse(request)?;
            let routes: Vec<cloud::Route> = each(routes);
            batch::<_, Written>(Routes::delete(memory, &cluster, &routes).await)
        }
        _ => Ok(Response::empty(404)),
    }
}

fn spec(request: &Request) -> cloud::Result<Spec> {
    parse::<About>(request).map(|about| about.spec.into())
}
