//! The routes of a memory cloud. Pure.

use crate::RouteAddresses;
use cloud::{Error, NewRoute, Result, Route, RouteTarget};
use std::collections::BTreeMap;

/// The routes of each cluster, in the order of their creation.
#[derive(Debug, Default)]
pub struct RouteTables {
    by_cluster: BTreeMap<String, Vec<Route>>,
}

impl RouteTables {
    /// All routes, with their clusters.
    pub fn all(&self) -> impl Iterator<Item = (&str, &Route)> {
        self.by_cluster
            .iter()
            .flat_map(|(cluster, routes)| routes.iter().map(|route| (cluster.as_str(), route)))
    }

    /// [`cloud::Routes::list`]
    pub fn list(&self, cluster: &str) -> Vec<Route> {
        self.by_cluster.get(cluster).cloned().unwrap_or_default()
    }

    /// Adds a route as it is.
    pub fn insert(&mut self, cluster: &str, route: Route) {
        self.by_cluster.entry(cluster.to_owned()).or_default().push(route);
    }

    /// Creates a route; returns what changed.
    pub(crate) fn create(&mut self, cluster: &str, new: &NewRoute, tracking: RouteAddresses) -> Result<Option<String>> {
        let wanted = Route {
            name: format!("{cluster}-{}-{}", new.node, new.destination),
            destination: new.destination,
            target: RouteTarget::Node(new.node.clone()),
            addresses: (tracking == RouteAddresses::Tracked).then(|| new.addresses.clone()),
        };
        let table = self.by_cluster.entry(cluster.to_owned()).or_default();
        let current = table
            .iter_mut()
            .find(|route| route.destination.trunc() == new.destination.trunc());
        match current {
            None => table.push(wanted.clone()),
            Some(current) if current.target != wanted.target => return Err(taken(current)),
            Some(current) if current.addresses == wanted.addresses => return Ok(None),
            Some(current) => current.addresses.clone_from(&wanted.addresses),
        }
        Ok(Some(format!("+route {}", wanted.name)))
    }

    /// Deletes a route as it was listed; returns what changed.
    pub(crate) fn delete(&mut self, cluster: &str, route: &Route) -> Option<String> {
        let table = self.by_cluster.get_mut(cluster)?;
        let index = table
            .iter()
            .position(|other| other.name == route.name && other.destination == route.destination)?;
        let route = table.remove(index);
        Some(format!("-route {}", route.name))
    }
}

/// The other route may be deleted soon, so the error is one that is retried.
fn taken(current: &Route) -> Error {
    let holder = match &current.target {
        RouteTarget::Node(node) => format!("node {node}"),
        RouteTarget::Machine(id) => format!("machine {id}"),
        RouteTarget::Blackhole => "a deleted machine".to_owned(),
        RouteTarget::Unknown => "something else".to_owned(),
    };
    Error::unavailable(
        "create-routes",
        format!("{} already leads to {holder}", current.destination),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use cloud::{Address, AddressKind};
    use rstest::rstest;

    fn new(node: &str, destination: &str, ip: &str) -> NewRoute {
        NewRoute {
            hint: "uid".into(),
            node: node.into(),
            provider_id: None,
            addresses: vec![Address::new(AddressKind::InternalIP, ip)],
            destination: destination.parse().expect("a destination"),
        }
    }

    fn create(tables: &mut RouteTables, new: &NewRoute, tracking: RouteAddresses) -> String {
        tables
            .create("c", new, tracking)
            .map_or_else(|error| error.report(), Option::unwrap_or_default)
    }

    #[rstest]
    #[case::new("b", "10.1.0.0/24", "1.1.1.1", "+route c-b-10.1.0.0/24")]
    #[case::v6("a", "fd00::/64", "1.1.1.1", "+route c-a-fd00::/64")]
    #[case::there("a", "10.0.0.0/24", "1.1.1.1", "")]
    #[case::same_network_other_text("a", "10.0.0.7/24", "1.1.1.1", "")]
    #[case::other_address("a", "10.0.0.0/24", "2.2.2.2", "+route c-a-10.0.0.0/24")]
    #[case::taken(
        "b",
        "10.0.0.0/24",
        "1.1.1.1",
        "create-routes is unavailable: 10.0.0.0/24 already leads to node a"
    )]
    fn creates(#[case] node: &str, #[case] destination: &str, #[case] ip: &str, #[case] expected: &str) {
        let mut tables = RouteTables::default();
        create(
            &mut tables,
            &new("a", "10.0.0.0/24", "1.1.1.1"),
            RouteAddresses::Tracked,
        );
        assert_eq!(
            create(&mut tables, &new(node, destination, ip), RouteAddresses::Tracked),
            expected
        );
    }

    #[rstest]
    #[case::tracked(RouteAddresses::Tracked, Some(1))]
    #[case::untracked(RouteAddresses::Untracked, None)]
    fn reports_addresses_if_it_tracks_them(#[case] tracking: RouteAddresses, #[case] expected: Option<usize>) {
        let mut tables = RouteTables::default();
        create(&mut tables, &new("a", "10.0.0.0/24", "1.1.1.1"), tracking);
        assert_eq!(tables.list("c")[0].addresses.as_ref().map(Vec::len), expected);
        assert_eq!(tables.list("other"), []);
    }

    #[test]
    fn deletes_what_it_listed() {
        let mut tables = RouteTables::default();
        create(
            &mut tables,
            &new("a", "10.0.0.0/24", "1.1.1.1"),
            RouteAddresses::Untracked,
        );
        let route = tables.list("c").remove(0);
        assert_eq!(tables.delete("other", &route), None);
        assert_eq!(tables.delete("c", &route).as_deref(), Some("-route c-a-10.0.0.0/24"));
        assert_eq!(tables.delete("c", &route), None);
        assert_eq!(tables.all().count(), 0);
    }
}
