//! Changes routers and ports, never over somebody else's change.

use super::{abilities::Update, hop::Hop, look};
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

/// How often something is looked at anew because somebody else has changed it.
const ATTEMPTS: usize = 5;

/// Removes and adds routes.
pub async fn change(session: &Session, router: Router, update: Update, remove: &[Hop], add: &[Hop]) -> Result<Router> {
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

async fn replace(session: &Session, mut router: Router, remove: &[Hop], add: &[Hop]) -> Result<Router> {
    for _ in 0..ATTEMPTS {
        let routes = replaced(&router.routes, remove, add);
        if routes == router.routes {
            return Ok(router);
        }
        match routers::replace_routes(session, &router, &routes).await {
            Err(error) if is_outdated(&error) => router = look::router(session, &router.id).await?,
            done => return done,
        }
    }
    Err(Error::unusable(
        format!("router {}", router.id),
        "other clients change it all the time",
    ))
}

/// The routes without these and with those. What cannot be read stays.
fn replaced(routes: &[ExtraRoute], remove: &[Hop], add: &[Hop]) -> Vec<ExtraRoute> {
    let there: HashSet<Hop> = routes.iter().filter_map(Hop::read).collect();
    let kept = routes
        .iter()
        .filter(|route| !Hop::read(route).is_some_and(|hop| remove.contains(&hop)));
    let mut new: Vec<Hop> = Vec::new();
    for hop in add {
        if !there.contains(hop) && !new.contains(hop) {
            new.push(*hop);
        }
    }
    kept.cloned().chain(new.iter().map(Hop::write)).collect()
}

fn written(hops: &[Hop]) -> Vec<ExtraRoute> {
    replaced(&[], &[], hops)
}

/// Lets a port send from these destinations. Says which of them it could not before.
pub async fn allow(session: &Session, port: &Port, hops: &[Hop]) -> Result<Vec<Hop>> {
    let new: Vec<Hop> = hops.iter().copied().filter(|hop| !hop.is_allowed(port)).collect();
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

/// Does not let a port send from these destinations any more.
pub async fn forbid(session: &Session, port: &Port, hops: &[Hop]) -> Result<()> {
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
        // Without port security a port sends what it likes, and Neutron refuses pairs.
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

/// Whether somebody else was faster.
fn is_outdated(error: &Error) -> bool {
    Failure::of(error).is_some_and(|failure| failure.status() == StatusCode::PRECONDITION_FAILED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn hops(text: &str) -> Vec<Hop> {
        let hop = |word: &str| Hop::named(&word.replace('>', " via ")).unwrap();
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
        let there: Vec<ExtraRoute> = hops(there).iter().map(Hop::write).collect();
        let expected: Vec<ExtraRoute> = hops(expected).iter().map(Hop::write).collect();
        assert_eq!(replaced(&there, &hops(remove), &hops(add)), expected);
    }
}
