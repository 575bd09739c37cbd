//! Creates routes: first the ports, then all routes at once.

use super::{
    Routes,
    abilities::{Ability, Pairs, Tags},
    act,
    hop::{self, Hop},
    look,
    ownership::{self, Whose},
    plan::{self, NeedsPort, Step, There},
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

/// What all steps have in common.
struct Work<'a> {
    session: &'a Session,
    router: Router,
    ability: Ability,
    ports: HashMap<IpAddr, Port>,
    tag: String,
}

/// A failure, by the route that it concerns.
type Failures = HashMap<Hop, Error>;

impl Routes {
    pub(super) async fn try_create(&self, cluster: &str, new: &[NewRoute]) -> Result<Vec<Result<()>>> {
        (self.gate)()?;
        let connection = self.live.load();
        let ability = connection.extensions.get(&connection.session).await?;
        let router = look::router(&connection.session, router_id(&connection)?).await?;
        let there: Vec<Hop> = router.routes.iter().filter_map(Hop::read).collect();
        let wanted: Vec<Result<Hop>> = new.iter().map(hop_to).collect();
        let ips = behind(&wanted, &there);
        let ports = look::ports(&connection.session, &router.id, &ips).await?;
        let dangling = dangling(&wanted, &there, &ports);
        let vacant = self.vacant(cluster, &connection, &router, dangling).await?;
        let work = Work {
            session: &connection.session,
            ports,
            router,
            ability,
            tag: ownership::tag(cluster),
        };
        let steps = plan::plan(wanted, &there, &work.ports, &vacant, ability.needs_port());
        let failures = work.run(steps.iter().flatten()).await;
        self.learn(cluster, &connection, new, &steps, &failures);
        Ok(steps.into_iter().map(|step| outcome(&step?, &failures)).collect())
    }

    /// Those of these routes, of which no port is known, that may be replaced: ours, and those that lead nowhere.
    async fn vacant(
        &self,
        cluster: &str,
        connection: &Connection,
        router: &Router,
        dangling: Vec<Hop>,
    ) -> Result<HashSet<Hop>> {
        let of = |whose: Whose| {
            let known = self.known();
            let is_so = |hop: &&Hop| ownership::of_unseen(cluster, hop, &known) == whose;
            dangling.iter().filter(is_so).copied().collect::<Vec<Hop>>()
        };
        let empty = look::vacant(&connection.session, &router.id, of(Whose::Orphan)).await?;
        Ok(of(Whose::Ours).into_iter().chain(empty).collect())
    }

    fn learn(
        &self,
        cluster: &str,
        connection: &Connection,
        new: &[NewRoute],
        steps: &[Result<Step>],
        failures: &Failures,
    ) {
        let mut known = self.known();
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

fn hop_to(new: &NewRoute) -> Result<Hop> {
    let destination = new.destination.trunc();
    let next = hop::next(&new.addresses, destination).ok_or_else(|| {
        Error::invalid(
            "status.addresses",
            format!("node {} has no InternalIP of the family of {destination}", new.node),
        )
    })?;
    Ok(Hop { destination, next })
}

/// The addresses that have to be looked up: those of the new routes, and of whatever leads to the same destinations.
fn behind(wanted: &[Result<Hop>], there: &[Hop]) -> BTreeSet<IpAddr> {
    let rivals = rivals(wanted, there);
    wanted.iter().flatten().chain(&rivals).map(|hop| hop.next).collect()
}

/// Other routes to the same destinations behind which no port is seen.
fn dangling(wanted: &[Result<Hop>], there: &[Hop], ports: &HashMap<IpAddr, Port>) -> Vec<Hop> {
    let wanted_too = |hop: &Hop| wanted.iter().flatten().any(|wanted| wanted == hop);
    let mut rivals = rivals(wanted, there);
    rivals.retain(|hop| !ports.contains_key(&hop.next) && !wanted_too(hop));
    rivals
}

fn rivals(wanted: &[Result<Hop>], there: &[Hop]) -> Vec<Hop> {
    let destinations: BTreeSet<_> = wanted.iter().flatten().map(|hop| hop.destination).collect();
    let is_rival = |hop: &&Hop| destinations.contains(&hop.destination);
    there.iter().filter(is_rival).copied().collect()
}

fn outcome(step: &Step, failures: &Failures) -> Result<()> {
    failures.get(&step.hop).map_or(Ok(()), |error| Err(error.clone()))
}

impl Ability {
    fn needs_port(self) -> NeedsPort {
        match self.pairs {
            Pairs::Unknown => NeedsPort::No,
            Pairs::Needed => NeedsPort::Yes,
        }
    }
}

impl Work<'_> {
    async fn run(self, steps: impl Iterator<Item = &Step>) -> Failures {
        let mut steps: Vec<&Step> = steps.collect();
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

    /// Lets the ports send what their nodes forward, and marks them. Says what they could not send before.
    async fn open_ports(&self, steps: &[&Step], failures: &mut Failures) -> Vec<(&Port, Vec<Hop>)> {
        let mut by_port: BTreeMap<&str, (&Port, Vec<Hop>)> = BTreeMap::new();
        let mut missing = BTreeSet::new();
        for step in steps {
            let Some(port) = self.ports.get(&step.hop.next) else {
                continue;
            };
            missing.extend((!step.is_done()).then_some(&port.id));
            let hops = &mut by_port.entry(&port.id).or_insert_with(|| (port, Vec::new())).1;
            // A batch may ask twice for the same, and Neutron refuses to allow it twice.
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

    /// A port with routes that are there, as occm leaves it, says enough without a mark.
    async fn open(&self, port: &Port, hops: &[Hop], is_missing: bool) -> Result<Vec<Hop>> {
        let new = match self.ability.pairs {
            Pairs::Unknown => Vec::new(),
            Pairs::Needed => act::allow(self.session, port, hops).await?,
        };
        let is_new = is_missing || !new.is_empty();
        if is_new && self.ability.tags == Tags::Possible && !port.tags.contains(&self.tag) {
            ports::add_tag(self.session, &port.id, &self.tag).await?;
        }
        Ok(new)
    }

    /// Adds all routes at once. If Neutron refuses that for one of them, the others are added one by one.
    async fn add(&self, steps: &[&Step], failures: &mut Failures) {
        let missing: Vec<&Step> = steps.iter().copied().filter(|step| !step.is_done()).collect();
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

    async fn change(&self, steps: &[&Step]) -> Result<()> {
        let remove: HashSet<Hop> = steps.iter().flat_map(|step| step.replaced.iter().copied()).collect();
        let remove: Vec<Hop> = remove.into_iter().collect();
        let add = steps
            .iter()
            .filter(|step| step.there == There::NotYet)
            .map(|step| step.hop);
        let add: Vec<Hop> = add.collect();
        act::change(self.session, self.router.clone(), self.ability.update, &remove, &add)
            .await
            .map(drop)
    }

    /// Takes back what was allowed for routes that did not come about.
    async fn undo(&self, allowed: Vec<(&Port, Vec<Hop>)>, failures: &Failures) {
        for (port, hops) in allowed {
            let failed: Vec<Hop> = hops.into_iter().filter(|hop| failures.contains_key(hop)).collect();
            if failed.is_empty() {
                continue;
            }
            let undone = match ports::port(self.session, &port.id).await {
                Ok(Some(now)) => act::forbid(self.session, &now, &failed).await,
                Ok(None) => Ok(()),
                Err(error) => Err(error),
            };
            if let Err(error) = undone {
                warn!(
                    port = port.id,
                    error = error.report(),
                    "cannot take back allowed address pairs"
                );
            }
        }
    }
}

impl Step {
    fn is_done(&self) -> bool {
        self.there == There::Already && self.replaced.is_empty()
    }
}

fn fail(failures: &mut Failures, hops: impl IntoIterator<Item = Hop>, error: Error) {
    let error = error.of_batch();
    failures.extend(hops.into_iter().map(|hop| (hop, error.clone())));
}
