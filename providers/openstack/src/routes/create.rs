//! Creates routes: first the ports, then all routes at once.

use super::{
    Routes, apply,
    features::{Features, Pairs, Tags},
    node_route::{self, NodeRoute},
    observe,
    ownership::{self, RouteOwner},
    plan::{self, NeedsPort, Presence, RouteStep},
};
use crate::{
    api::{
        Session, fault,
        neutron::{
            ports::{self, Port},
            routers::Router,
        },
    },
    instances::provider_id,
    provider::Connection,
};
use cloud::{Error, NewRoute, Result};
use provider_kit::concurrently;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    net::IpAddr,
};
use tracing::{debug, warn};

/// The inputs of all steps.
struct Creation<'a> {
    session: &'a Session,
    router: Router,
    features: Features,
    ports: HashMap<IpAddr, Port>,
    tag: String,
}

/// A failure, by the route that it concerns.
type Failures = HashMap<NodeRoute, Error>;

impl Routes {
    pub(super) async fn try_create(&self, cluster: &str, new: &[NewRoute]) -> Result<Vec<Result<()>>> {
        (self.gate)()?;
        let connection = self.live.load();
        let features = connection.route_features.get(&connection.session).await?;
        let router = observe::router(&connection.session, router_id(&connection)?).await?;
        let there: Vec<NodeRoute> = router.routes.iter().filter_map(NodeRoute::read).collect();
        let wanted: Vec<Result<NodeRoute>> = new.iter().map(hop_to).collect();
        let ips = behind(&wanted, &there);
        let ports = observe::ports(&connection.session, &router.id, &ips).await?;
        let dangling = dangling(&wanted, &there, &ports);
        let vacant = self.vacant(cluster, &connection, &router, dangling).await?;
        let creation = Creation {
            session: &connection.session,
            ports,
            router,
            features,
            tag: ownership::tag(cluster),
        };
        let steps = plan::plan(wanted, &there, &creation.ports, &vacant, features.needs_port());
        let failures = creation.run(steps.iter().flatten()).await;
        self.learn(cluster, &connection, new, &steps, &failures);
        Ok(steps.into_iter().map(|step| outcome(&step?, &failures)).collect())
    }

    /// The routes without a known port that may be replaced: those of this cluster, and those whose next hop certainly does not exist.
    async fn vacant(
        &self,
        cluster: &str,
        connection: &Connection,
        router: &Router,
        dangling: Vec<NodeRoute>,
    ) -> Result<HashSet<NodeRoute>> {
        let of = |owner: RouteOwner| {
            let known = self.state();
            let is_so = |hop: &&NodeRoute| ownership::owner_of_unseen(cluster, hop, &known) == owner;
            dangling.iter().filter(is_so).copied().collect::<Vec<NodeRoute>>()
        };
        let empty = observe::vacant(&connection.session, &router.id, of(RouteOwner::Orphan)).await?;
        Ok(of(RouteOwner::Ours).into_iter().chain(empty).collect())
    }

    fn learn(
        &self,
        cluster: &str,
        connection: &Connection,
        new: &[NewRoute],
        steps: &[Result<RouteStep>],
        failures: &Failures,
    ) {
        let mut known = self.state();
        for (new, step) in new.iter().zip(steps) {
            let Ok(step) = step else { continue };
            let id = new.provider_id.as_ref();
            if let Some(server) = id.and_then(|id| provider_id::server_in(id, connection.session.region()).ok()) {
                self.nodes.learn(server, &new.node);
            }
            if !failures.contains_key(&step.hop) {
                known.learn(cluster, step.hop);
                known.learn_node(step.hop, &new.node);
            }
        }
    }
}

pub(super) fn router_id(connection: &Connection) -> Result<&str> {
    let id = connection.config.router_id.as_deref();
    id.ok_or_else(|| Error::NotSupported {
        what: "routes without [Route] router-id".to_owned(),
    })
}

fn hop_to(new: &NewRoute) -> Result<NodeRoute> {
    let destination = new.destination.trunc();
    let next = node_route::next(&new.addresses, destination).ok_or_else(|| {
        Error::invalid(
            "status.addresses",
            format!("node {} has no InternalIP of the family of {destination}", new.node),
        )
    })?;
    Ok(NodeRoute { destination, next })
}

/// The addresses whose ports have to be read: the next hops of the new routes, and of existing routes to the same destinations.
fn behind(wanted: &[Result<NodeRoute>], there: &[NodeRoute]) -> BTreeSet<IpAddr> {
    let rivals = rivals(wanted, there);
    wanted.iter().flatten().chain(&rivals).map(|hop| hop.next).collect()
}

/// Other routes to the same destinations without a visible port.
fn dangling(wanted: &[Result<NodeRoute>], there: &[NodeRoute], ports: &HashMap<IpAddr, Port>) -> Vec<NodeRoute> {
    let wanted_too = |hop: &NodeRoute| wanted.iter().flatten().any(|wanted| wanted == hop);
    let mut rivals = rivals(wanted, there);
    rivals.retain(|hop| !ports.contains_key(&hop.next) && !wanted_too(hop));
    rivals
}

fn rivals(wanted: &[Result<NodeRoute>], there: &[NodeRoute]) -> Vec<NodeRoute> {
    let destinations: BTreeSet<_> = wanted.iter().flatten().map(|hop| hop.destination).collect();
    let is_rival = |hop: &&NodeRoute| destinations.contains(&hop.destination);
    there.iter().filter(is_rival).copied().collect()
}

fn outcome(step: &RouteStep, failures: &Failures) -> Result<()> {
    failures.get(&step.hop).map_or(Ok(()), |error| Err(error.clone()))
}

impl Features {
    fn needs_port(self) -> NeedsPort {
        match self.pairs {
            Pairs::Unknown => NeedsPort::No,
            Pairs::Needed => NeedsPort::Yes,
        }
    }
}

impl Creation<'_> {
    async fn run(self, steps: impl Iterator<Item = &RouteStep>) -> Failures {
        let mut steps: Vec<&RouteStep> = steps.collect();
        let mut failures = Failures::new();
        let allowed = self.open_ports(&steps, &mut failures).await;
        steps.retain(|step| !failures.contains_key(&step.hop));
        for step in &steps {
            debug!(%step, "route");
        }
        self.add(&steps, &mut failures).await;
        self.undo(allowed, &failures).await;
        failures
    }

    /// Allows the ports to send from the pod ranges, and tags them. Returns what they could not send before.
    async fn open_ports(&self, steps: &[&RouteStep], failures: &mut Failures) -> Vec<(&Port, Vec<NodeRoute>)> {
        let mut by_port: BTreeMap<&str, (&Port, Vec<NodeRoute>)> = BTreeMap::new();
        let mut missing = BTreeSet::new();
        for step in steps {
            let Some(port) = self.ports.get(&step.hop.next) else {
                continue;
            };
            missing.extend((!step.is_done()).then_some(&port.id));
            let hops = &mut by_port.entry(&port.id).or_insert_with(|| (port, Vec::new())).1;
            // A batch may contain a route twice, and Neutron refuses to allow an address twice.
            if !hops.contains(&step.hop) {
                hops.push(step.hop);
            }
        }
        let missing = &missing;
        let opened = by_port.into_values().map(|(port, hops)| async move {
            let opened = self.open(port, &hops, missing.contains(&port.id)).await;
            (port, hops, opened)
        });
        let mut allowed = Vec::new();
        for (port, hops, opened) in concurrently(opened).await {
            match opened {
                Ok(new) => allowed.push((port, new)),
                Err(error) => fail(failures, hops, error),
            }
        }
        allowed
    }

    /// A port whose routes exist already, as occm leaves it, needs no tag.
    async fn open(&self, port: &Port, hops: &[NodeRoute], is_missing: bool) -> Result<Vec<NodeRoute>> {
        let new = match self.features.pairs {
            Pairs::Unknown => Vec::new(),
            Pairs::Needed => apply::allow(self.session, port, hops).await?,
        };
        let is_new = is_missing || !new.is_empty();
        if is_new && self.features.tags == Tags::Possible && !port.tags.contains(&self.tag) {
            ports::add_tag(self.session, &port.id, &self.tag).await?;
        }
        Ok(new)
    }

    /// Adds all routes at once. If Neutron refuses that for one of them, the others are added one by one.
    async fn add(&self, steps: &[&RouteStep], failures: &mut Failures) {
        let missing: Vec<&RouteStep> = steps.iter().copied().filter(|step| !step.is_done()).collect();
        if missing.is_empty() {
            return;
        }
        match (self.change(&missing).await, &missing[..]) {
            (Ok(()), _) => {}
            (Err(error), [_, _, ..]) if matches!(error, Error::Quota { .. }) || fault::is_refusal(&error) => {
                for (index, step) in missing.iter().enumerate() {
                    let Err(error) = self.change(&[step]).await else {
                        continue;
                    };
                    if matches!(error, Error::Quota { .. }) {
                        return fail(failures, missing[index..].iter().map(|step| step.hop), error);
                    }
                    fail(failures, [step.hop], error);
                }
            }
            (Err(error), _) => fail(failures, missing.iter().map(|step| step.hop), error),
        }
    }

    async fn change(&self, steps: &[&RouteStep]) -> Result<()> {
        let remove: HashSet<NodeRoute> = steps.iter().flat_map(|step| step.replaced.iter().copied()).collect();
        let remove: Vec<NodeRoute> = remove.into_iter().collect();
        let add = steps
            .iter()
            .filter(|step| step.there == Presence::Missing)
            .map(|step| step.hop);
        let add: Vec<NodeRoute> = add.collect();
        apply::change(self.session, self.router.clone(), self.features.update, &remove, &add)
            .await
            .map(drop)
    }

    /// Takes back what was allowed for routes that did not come about.
    async fn undo(&self, allowed: Vec<(&Port, Vec<NodeRoute>)>, failures: &Failures) {
        for (port, hops) in allowed {
            let failed: Vec<NodeRoute> = hops.into_iter().filter(|hop| failures.contains_key(hop)).collect();
            if failed.is_empty() {
                continue;
            }
            let undone = match ports::port(self.session, &port.id).await {
                Ok(Some(now)) => apply::forbid(self.session, &now, &failed).await,
                Ok(None) => Ok(()),
                Err(error) => Err(error),
            };
            if let Err(error) = undone {
                warn!(
                    port = port.id,
                    error = error.report(),
                    "cannot remove allowed address pairs"
                );
            }
        }
    }
}

impl RouteStep {
    fn is_done(&self) -> bool {
        self.there == Presence::Present && self.replaced.is_empty()
    }
}

fn fail(failures: &mut Failures, hops: impl IntoIterator<Item = NodeRoute>, error: Error) {
    let error = error.of_batch();
    failures.extend(hops.into_iter().map(|hop| (hop, error.clone())));
}
