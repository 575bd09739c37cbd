//! What a deleted cluster left in the cloud, and its deletion.
//!
//! [`list`] finds load balancers with the mark of a cluster, with everything that belongs to them, and the routes to its pods. A
//! route has no mark in most clouds, so only the pod CIDRs of the cluster tell its routes from those of others.
//! [`delete`] deletes them as the managers of that cluster would have done. Nobody can tell from the cloud whether a cluster still
//! exists, so that decision is the user's.

use crate::table::aligned;
use cloud::{Owned, Progress, Provider, Route, ServiceRef};
use controllers::{route::is_ours, service::spec};
use ipnet::IpNet;
use std::{collections::BTreeSet, time::Duration};
use tokio::time::Instant;

/// The shortest pause between two calls about the same load balancer.
const MIN_POLL: Duration = Duration::from_millis(100);
/// How long the cloud may report the same before the deletion is given up.
const STALLED: Duration = Duration::from_mins(10);

/// The objects of a cluster in the cloud.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// Load balancers and what belongs to them.
    pub objects: Vec<Owned>,
    /// Routes to the pods of nodes.
    pub routes: Vec<Route>,
}

/// Something that could not be deleted.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {reason}")]
pub struct NotDeleted {
    what: String,
    reason: String,
}

/// Lists the objects of this cluster, and the routes in its pod CIDRs.
///
/// # Errors
/// If the cloud does not answer, or cannot list objects by cluster.
pub async fn list(provider: &dyn Provider, cluster: &str, pod_cidrs: &[IpNet]) -> cloud::Result<Leftovers> {
    let objects = match provider.load_balancers() {
        Some(balancers) => balancers.owned(cluster).await?,
        None => Vec::new(),
    };
    let routes = match provider.routes() {
        Some(routes) if !pod_cidrs.is_empty() => unless_unsupported(routes.list(cluster).await)?,
        _ => Vec::new(),
    };
    Ok(Leftovers::of(objects, routes, pod_cidrs))
}

/// A cloud whose configuration has no routes has none to list.
fn unless_unsupported<T: Default>(result: cloud::Result<T>) -> cloud::Result<T> {
    match result {
        Err(cloud::Error::NotSupported { .. }) => Ok(T::default()),
        other => other,
    }
}

impl Leftovers {
    fn of(objects: Vec<Owned>, mut routes: Vec<Route>, pod_cidrs: &[IpNet]) -> Self {
        routes.retain(|route| is_ours(&route.destination, pod_cidrs));
        Self { objects, routes }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.routes.is_empty()
    }

    /// A table for people.
    #[must_use]
    pub fn table(&self) -> String {
        let title = ["KIND", "NAME", "ID", "SERVICE"].map(str::to_owned);
        let object = |object: &Owned| {
            let Owned {
                kind,
                id,
                name,
                service,
            } = object;
            let service = service.as_ref().map_or_else(|| "unknown".to_owned(), name_of);
            [kind.clone(), name.clone(), id.clone(), service]
        };
        let route = |route: &Route| {
            let destination = route.destination.to_string();
            ["route".to_owned(), route.name.clone(), destination, String::new()]
        };
        let rows = std::iter::once(title).chain(self.objects.iter().map(object));
        let rows: Vec<_> = rows.chain(self.routes.iter().map(route)).collect();
        aligned(&rows)
    }

    /// The Services that the objects were created for. A load balancer is deleted together with all that belongs to it.
    fn owners(&self) -> Vec<&ServiceRef> {
        let mut seen = BTreeSet::new();
        let owners = self.objects.iter().filter_map(|object| object.service.as_ref());
        owners.filter(|owner| seen.insert(&owner.uid)).collect()
    }

    /// Objects without a Service in their mark: no manager would delete them.
    fn unowned(&self) -> impl Iterator<Item = &Owned> {
        self.objects.iter().filter(|object| object.service.is_none())
    }
}

/// Deletes all of them, and waits for the cloud. Reports each step to `progress`, and returns what could not be deleted.
pub async fn delete(
    provider: &dyn Provider,
    cluster: &str,
    leftovers: &Leftovers,
    mut progress: impl FnMut(&str),
) -> Vec<NotDeleted> {
    let mut failures: Vec<NotDeleted> = leftovers.unowned().map(without_owner).collect();
    for owner in leftovers.owners() {
        let name = name_of(owner);
        match delete_balancer(provider, cluster, owner, &mut progress).await {
            Ok(()) => progress(&format!("deleted the load balancer of {name}")),
            Err(reason) => failures.push(NotDeleted {
                what: format!("the load balancer of {name}"),
                reason,
            }),
        }
    }
    if let Some(routes) = provider.routes().filter(|_| !leftovers.routes.is_empty()) {
        let answers = routes.delete(cluster, &leftovers.routes).await;
        for (route, answer) in leftovers.routes.iter().zip(answers) {
            match answer {
                Ok(()) => progress(&format!("deleted the route {}", route.name)),
                Err(error) => failures.push(NotDeleted {
                    what: format!("the route {}", route.name),
                    reason: error.report(),
                }),
            }
        }
    }
    failures
}

fn without_owner(object: &Owned) -> NotDeleted {
    NotDeleted {
        what: format!("{} {} ({})", object.kind, object.name, object.id),
        reason: "its mark names no Service; delete it with the tools of the cloud".to_owned(),
    }
}

/// Deletes the load balancer of a Service that does not exist. Fails with one sentence.
async fn delete_balancer(
    provider: &dyn Provider,
    cluster: &str,
    owner: &ServiceRef,
    progress: &mut impl FnMut(&str),
) -> Result<(), String> {
    let Some(balancers) = provider.load_balancers() else {
        return Ok(());
    };
    let spec = spec::of_gone(owner, cluster);
    let (mut seen, mut since) = (String::new(), Instant::now());
    loop {
        let answer = balancers.delete(&spec).await.map_err(|error| error.report())?;
        let Progress::Pending {
            poll_after,
            waiting_for,
        } = answer.answer
        else {
            return Ok(());
        };
        if waiting_for != seen {
            progress(&format!("waiting: {waiting_for}"));
            (seen, since) = (waiting_for, Instant::now());
        } else if since.elapsed() >= STALLED {
            return Err(format!(
                "the cloud has reported for {} min: {seen}",
                STALLED.as_secs() / 60
            ));
        }
        tokio::time::sleep(poll_after.max(MIN_POLL)).await;
    }
}

fn name_of(service: &ServiceRef) -> String {
    format!("{}/{}", service.namespace, service.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(kind: &str, name: &str, uid: Option<&str>) -> Owned {
        Owned {
            kind: kind.to_owned(),
            id: format!("id-{name}"),
            name: name.to_owned(),
            service: uid.map(|uid| ServiceRef {
                namespace: "default".to_owned(),
                name: "web".to_owned(),
                uid: uid.to_owned(),
            }),
        }
    }

    fn leftovers() -> Leftovers {
        Leftovers {
            objects: vec![
                owned("load balancer", "a1", Some("1")),
                owned("floating IP", "f1", Some("1")),
                owned("security group", "g", None),
            ],
            routes: Vec::new(),
        }
    }

    #[test]
    fn the_table_has_all_of_them() {
        let expected = "KIND             NAME   ID      SERVICE\n\
                        load balancer    a1     id-a1   default/web\n\
                        floating IP      f1     id-f1   default/web\n\
                        security group   g      id-g    unknown\n";
        assert_eq!(leftovers().table(), expected);
    }

    #[test]
    fn routes_of_others_are_no_leftovers() {
        let route = |destination: &str| Route {
            name: destination.to_owned(),
            destination: destination.parse().unwrap(),
            target: cloud::RouteTarget::Unknown,
            addresses: None,
        };
        let found = |cidrs: &[IpNet]| {
            let routes = ["10.244.1.0/24", "192.168.0.0/24", "0.0.0.0/0"].map(route).to_vec();
            let left = Leftovers::of(Vec::new(), routes, cidrs).routes.into_iter();
            left.map(|route| route.name).collect::<Vec<_>>()
        };
        assert_eq!(found(&["10.244.0.0/16".parse().unwrap()]), ["10.244.1.0/24"]);
        assert_eq!(found(&[]), [""; 0]);
    }

    #[test]
    fn a_load_balancer_is_deleted_once_with_all_that_belongs_to_it() {
        let leftovers = leftovers();
        let uids: Vec<_> = leftovers.owners().into_iter().map(|owner| owner.uid.as_str()).collect();
        assert_eq!(uids, ["1"]);
        let unowned: Vec<_> = leftovers
            .unowned()
            .map(without_owner)
            .map(|it| it.to_string())
            .collect();
        let expected = "security group g (id-g): its mark names no Service; delete it with the tools of the cloud";
        assert_eq!(unowned, [expected]);
    }
}
