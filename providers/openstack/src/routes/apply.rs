//! Changes routers and ports, without overwriting changes of other clients.

use super::{features::Update, node_route::NodeRoute, observe};
use crate::api::{
    Session,
    neutron::{
        ports::{self, AddressPair, Port, PortChange},
        routers::{self, ExtraRoute, Router},
    },
};
use cloud::{Error, Result};
use cloud_http::{Failure, http::StatusCode};
use std::collections::HashSet;

/// How often an object is read because another client changed it.
const ATTEMPTS: usize = 5;

/// Removes and adds routes.
pub async fn change(
    session: &Session,
    router: Router,
    update: Update,
    remove: &[NodeRoute],
    add: &[NodeRoute],
) -> Result<Router> {
    match update {
        Update::Atomic => {
            let mut router = router;
            if !remove.is_empty() {
                router = routers::remove_routes(session, &router.id, &written(remove)).await?;
            }
            if !add.is_empty() {
                router = routers::add_routes(session, &router.id, &written(add)).await?;
            }
            Ok(router)
        }
        Update::Whole => replace(session, router, remove, add).await,
    }
}

async fn replace(session: &Session, mut router: Router, remove: &[NodeRoute], add: &[NodeRoute]) -> Result<Router> {
    for _ in 0..ATTEMPTS {
        let routes = replaced(&router.routes, remove, add);
        if routes == router.routes {
            return Ok(router);
        }
        match routers::replace_routes(session, &router, &routes).await {
            Err(error) if is_outdated(&error) => router = observe::router(session, &router.id).await?,
            done => return done,
        }
    }
    Err(Error::unusable(
        format!("router {}", router.id),
        "other clients change it all the time",
    ))
}

/// The routes without some and with others. Malformed ones are kept.
fn replaced(routes: &[ExtraRoute], remove: &[NodeRoute], add: &[NodeRoute]) -> Vec<ExtraRoute> {
    let there: HashSet<NodeRoute> = routes.iter().filter_map(NodeRoute::read).collect();
    let kept = routes
        .iter()
        .filter(|route| !NodeRoute::read(route).is_some_and(|hop| remove.contains(&hop)));
    let mut new: Vec<NodeRoute> = Vec::new();
    for hop in add {
        if !there.contains(hop) && !new.contains(hop) {
            new.push(*hop);
        }
    }
    kept.cloned().chain(new.iter().map(NodeRoute::write)).collect()
}

fn written(hops: &[NodeRoute]) -> Vec<ExtraRoute> {
    replaced(&[], &[], hops)
}

/// Allows a port to send from these destinations. Returns those that were not allowed before.
pub async fn allow(session: &Session, port: &Port, hops: &[NodeRoute]) -> Result<Vec<NodeRoute>> {
    let new: Vec<NodeRoute> = hops.iter().copied().filter(|hop| !hop.is_allowed(port)).collect();
    set_pairs(session, port, |pairs| {
        let missing = hops
            .iter()
            .filter(|hop| !pairs.iter().any(|pair| hop.is_pair(&pair.ip_address)));
        let missing = missing.map(|hop| AddressPair {
            ip_address: hop.destination.to_string(),
            mac_address: None,
        });
        pairs.iter().cloned().chain(missing).collect()
    })
    .await?;
    Ok(new)
}

/// Removes these destinations from the allowed addresses of a port.
pub async fn forbid(session: &Session, port: &Port, hops: &[NodeRoute]) -> Result<()> {
    set_pairs(session, port, |pairs| {
        let kept = pairs
            .iter()
            .filter(|pair| !hops.iter().any(|hop| hop.is_pair(&pair.ip_address)));
        kept.cloned().collect()
    })
    .await
}

async fn set_pairs(session: &Session, port: &Port, edit: impl Fn(&[AddressPair]) -> Vec<AddressPair>) -> Result<()> {
    let mut port = port.clone();
    for _ in 0..ATTEMPTS {
        let pairs = edit(&port.allowed_address_pairs);
        // Without port security all addresses are allowed, and Neutron refuses pairs.
        if pairs == port.allowed_address_pairs || port.port_security_enabled == Some(false) {
            return Ok(());
        }
        let change = PortChange {
            allowed_address_pairs: Some(pairs),
            ..PortChange::default()
        };
        match ports::update(session, &port, &change).await {
            Err(error) if is_outdated(&error) => match ports::port(session, &port.id).await? {
                Some(newer) => port = newer,
                None => return Err(Error::unusable(format!("port {}", port.id), "it was deleted")),
            },
            done => return done.map(drop),
        }
    }
    Err(Error::unusable(
        format!("port {}", port.id),
        "other clients change it all the time",
    ))
}

/// Whether another client changed the object meanwhile.
fn is_outdated(error: &Error) -> bool {
    Failure::of(error).is_some_and(|failure| failure.status() == StatusCode::PRECONDITION_FAILED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn hops(text: &str) -> Vec<NodeRoute> {
        let hop = |word: &str| NodeRoute::named(&word.replace('>', " via ")).unwrap();
        text.split_whitespace().map(hop).collect()
    }

    #[rstest]
    #[case::added(
        "10.1.0.0/24>10.0.0.1",
        "",
        "10.1.1.0/24>10.0.0.2",
        "10.1.0.0/24>10.0.0.1 10.1.1.0/24>10.0.0.2"
    )]
    #[case::there_already("10.1.0.0/24>10.0.0.1", "", "10.1.0.0/24>10.0.0.1", "10.1.0.0/24>10.0.0.1")]
    #[case::twice("", "", "10.1.0.0/24>10.0.0.1 10.1.0.0/24>10.0.0.1", "10.1.0.0/24>10.0.0.1")]
    #[case::removed(
        "10.1.0.0/24>10.0.0.1 10.1.1.0/24>10.0.0.2",
        "10.1.0.0/24>10.0.0.1",
        "",
        "10.1.1.0/24>10.0.0.2"
    )]
    #[case::gone_already("10.1.0.0/24>10.0.0.1", "10.9.0.0/24>10.0.0.1", "", "10.1.0.0/24>10.0.0.1")]
    #[case::replaced(
        "10.1.0.0/24>10.0.0.1",
        "10.1.0.0/24>10.0.0.1",
        "10.1.0.0/24>10.0.0.2",
        "10.1.0.0/24>10.0.0.2"
    )]
    fn replaces(#[case] there: &str, #[case] remove: &str, #[case] add: &str, #[case] expected: &str) {
        let there: Vec<ExtraRoute> = hops(there).iter().map(NodeRoute::write).collect();
        let expected: Vec<ExtraRoute> = hops(expected).iter().map(NodeRoute::write).collect();
        assert_eq!(replaced(&there, &hops(remove), &hops(add)), expected);
    }
}
