//! A suite that cannot fail proves nothing: each of these providers does one thing wrong, and the case that is about it
//! must say so.

use crate::world::MemoryWorld;
use async_trait::async_trait;
use cloud::{
    Answer, Detail, Error, Gate, Instances, LoadBalancers, NewRoute, NodeRef, Noted, Owned, Power, Progress, Provider,
    RangesFrom, Result, Route, Routes, ServiceRef, Spec, Status,
};
use conformance::{Verdict, cases, run};
use memory_sim::Memory;
use rstest::rstest;
use std::sync::Arc;

/// What is done wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wrong {
    AnswersReversed,
    AnswersDeduplicated,
    DoubtIsMissing,
    MissingIsDoubt,
    UnmanagedIsMissing,
    OffIsMissing,
    OffIsOn,
    NameBeforeId,
    AddressesBeforeId,
    NoAddresses,
    ShortAnswerWithoutId,
    BatchFailsForOne,
    FindSeesNothing,
    EnsureMakesAnew,
    EnsureForgetsHosts,
    EnsureForgetsRanges,
    DefaultRangesAreNone,
    EventWithoutReason,
    EnsurePanics,
    EnsureHangs,
    NeverPending,
    UdpIsTcp,
    UpdateHostsMakes,
    UpdateHostsDoesAll,
    DeleteDoesNothing,
    DeleteTwiceFails,
    NameIsIdentity,
    OneCluster,
    OwnedOfAll,
    OwnedWithoutService,
    RoutesOfAll,
    RouteExistsIsError,
    RouteGoneIsError,
    RouteAnswersLost,
    GateIgnored,
    GateClosedForReading,
}

#[rstest]
#[case(Wrong::AnswersReversed, "instances: a batch is answered in the order asked")]
#[case(Wrong::AnswersDeduplicated, "instances: a node asked for twice is answered twice")]
#[case(
    Wrong::DoubtIsMissing,
    "instances: a provider ID that makes no sense is an error, not a missing machine"
)]
#[case(Wrong::MissingIsDoubt, "instances: a name that never was is missing")]
#[case(Wrong::MissingIsDoubt, "instances: a deleted machine is missing by its provider ID")]
#[case(
    Wrong::UnmanagedIsMissing,
    "instances: a node that the cloud does not manage is not missing"
)]
#[case(Wrong::OffIsMissing, "instances: a machine that is off is found and off")]
#[case(Wrong::OffIsOn, "instances: a machine that is off is found and off")]
#[case(Wrong::NameBeforeId, "instances: a provider ID counts more than a name")]
#[case(
    Wrong::AddressesBeforeId,
    "instances: a provider ID counts more than the addresses of the Node"
)]
#[case(Wrong::NoAddresses, "instances: addresses are reported in the same order every time")]
#[case(Wrong::ShortAnswerWithoutId, "instances: the short answer agrees with the full one")]
#[case(
    Wrong::BatchFailsForOne,
    "instances: a provider ID that makes no sense fails alone in its batch"
)]
#[case(Wrong::FindSeesNothing, "load balancers: ensure makes one that becomes ready")]
#[case(Wrong::EnsureMakesAnew, "load balancers: ensure again writes nothing")]
#[case(Wrong::EnsureForgetsHosts, "load balancers: ensure adds, removes and replaces hosts")]
#[case(Wrong::EnsureForgetsRanges, "load balancers: source ranges change")]
#[case(
    Wrong::DefaultRangesAreNone,
    "load balancers: without source ranges any client may connect"
)]
#[case(Wrong::EventWithoutReason, "load balancers: ensure makes one that becomes ready")]
#[case(Wrong::EnsurePanics, "load balancers: TCP")]
#[case(Wrong::EnsureHangs, "load balancers: TCP")]
#[case(
    Wrong::NeverPending,
    "load balancers: what is not ready is pending, and the call does not wait"
)]
#[case(Wrong::UdpIsTcp, "load balancers: UDP")]
#[case(Wrong::UdpIsTcp, "load balancers: TCP and UDP on the same port")]
#[case(Wrong::UpdateHostsMakes, "load balancers: update_hosts of none is not found")]
#[case(
    Wrong::UpdateHostsDoesAll,
    "load balancers: update_hosts changes nothing but the hosts"
)]
#[case(Wrong::DeleteDoesNothing, "load balancers: delete leaves nothing")]
#[case(
    Wrong::DeleteDoesNothing,
    "load balancers: delete after a half-done ensure leaves nothing"
)]
#[case(Wrong::DeleteTwiceFails, "load balancers: delete again is a success")]
#[case(Wrong::DeleteTwiceFails, "load balancers: delete of one that never was is a success")]
#[case(Wrong::NameIsIdentity, "load balancers: Services of one name and two UIDs are two")]
#[case(Wrong::OneCluster, "load balancers: the same Service in two clusters is two")]
#[case(
    Wrong::OwnedOfAll,
    "load balancers: owned lists exactly those of the cluster, with their Services"
)]
#[case(
    Wrong::OwnedWithoutService,
    "load balancers: owned lists exactly those of the cluster, with their Services"
)]
#[case(Wrong::RoutesOfAll, "routes: another cluster's are left alone")]
#[case(Wrong::RouteExistsIsError, "routes: creating again makes no second one")]
#[case(Wrong::RouteGoneIsError, "routes: deleting one that is gone is a success")]
#[case(Wrong::RouteAnswersLost, "routes: a batch is created and listed")]
#[case(Wrong::GateIgnored, "gate: closed, ensure makes nothing")]
#[case(Wrong::GateIgnored, "gate: closed, ensure and update_hosts change nothing")]
#[case(Wrong::GateIgnored, "gate: closed, delete deletes nothing")]
#[case(Wrong::GateIgnored, "gate: closed, routes are neither created nor deleted")]
#[case(Wrong::GateClosedForReading, "gate: closed, everything can be read")]
#[tokio::test(start_paused = true)]
async fn is_noticed(#[case] wrong: Wrong, #[case] name: &str) {
    let case = cases()
        .into_iter()
        .find(|case| case.name == name)
        .expect("there is a case of this name");
    let report = run(&[case], async || {
        Ok(MemoryWorld::with(move |cloud, gate| {
            Arc::new(Mutant::new(cloud, gate, wrong))
        }))
    })
    .await;
    let verdict = &report.results[0].verdict;
    assert!(
        matches!(verdict, Verdict::Failed(_)),
        "{wrong:?} was not noticed: {report}"
    );
    assert!(report.check().unwrap_err().to_string().contains(name));
}

/// A memory provider that does one thing wrong.
struct Mutant {
    memory: Memory,
    gate: Gate,
    wrong: Wrong,
}

impl Mutant {
    fn new(cloud: &memory_sim::Cloud, gate: Gate, wrong: Wrong) -> Self {
        let memory = Memory::new(cloud);
        let kept = gate.clone();
        let memory = if wrong == Wrong::GateIgnored {
            memory
        } else {
            memory.with_gate(gate)
        };
        Self {
            memory,
            gate: kept,
            wrong,
        }
    }

    fn is(&self, wrong: Wrong) -> bool {
        self.wrong == wrong
    }

    /// The spec as the mutant takes it.
    fn taken(&self, spec: &Spec) -> Spec {
        let mut spec = spec.clone();
        match self.wrong {
            Wrong::NameIsIdentity => spec.service.uid = format!("{}-{}", spec.service.namespace, spec.service.name),
            Wrong::OneCluster => spec.cluster = "the-cluster".into(),
            Wrong::EnsureForgetsHosts => spec.hosts = spec.hosts.iter().take(2).cloned().collect(),
            Wrong::EnsureForgetsRanges => spec.source_ranges.truncate(1),
            Wrong::DefaultRangesAreNone if spec.ranges_from == RangesFrom::Default => spec.source_ranges.clear(),
            Wrong::UdpIsTcp => spec
                .ports
                .iter_mut()
                .for_each(|port| port.protocol = cloud::Protocol::Tcp),
            _ => {}
        }
        spec
    }

    fn bent(&self, node: &NodeRef, answer: Result<Answer>) -> Result<Answer> {
        let off = matches!(&answer, Ok(Answer::Found(instance)) if instance.power == Power::Off);
        match (self.wrong, answer) {
            (Wrong::DoubtIsMissing, Err(_)) | (Wrong::UnmanagedIsMissing, Ok(Answer::Unmanaged)) => Ok(Answer::Missing),
            (Wrong::MissingIsDoubt, Ok(Answer::Missing)) => Err(Error::unavailable("describe", node.name.clone())),
            (Wrong::OffIsMissing, Ok(_)) if off => Ok(Answer::Missing),
            (_, Ok(Answer::Found(mut instance))) => {
                match self.wrong {
                    Wrong::OffIsOn => instance.power = Power::On,
                    Wrong::NoAddresses => instance.addresses.clear(),
                    _ => {}
                }
                Ok(Answer::Found(instance))
            }
            (_, answer) => answer,
        }
    }
}

impl Provider for Mutant {
    fn name(&self) -> &'static str {
        Provider::name(&self.memory)
    }

    fn instances(&self) -> &dyn Instances {
        self
    }

    fn load_balancers(&self) -> Option<&dyn LoadBalancers> {
        Some(self)
    }

    fn routes(&self) -> Option<&dyn Routes> {
        Some(self)
    }
}

#[async_trait]
impl Instances for Mutant {
    async fn describe(&self, nodes: &[NodeRef], detail: Detail) -> Vec<Result<Answer>> {
        if self.is(Wrong::GateClosedForReading) && (self.gate)().is_err() {
            return nodes.iter().map(|_| Err(Error::NotLeader)).collect();
        }
        let mut asked = nodes.to_vec();
        if self.is(Wrong::NameBeforeId) {
            for node in &mut asked {
                node.provider_id = None;
            }
        }
        if self.is(Wrong::AddressesBeforeId) {
            let machines = self.memory.cloud().machines();
            for node in &mut asked {
                let there = machines.iter().find(|machine| machine.addresses == node.addresses);
                *node = there.map_or_else(|| node.clone(), memory_sim::Machine::node);
            }
        }
        let answers = self.memory.describe(&asked, detail).await;
        let mut answers: Vec<_> = answers
            .into_iter()
            .zip(nodes)
            .map(|(answer, node)| self.bent(node, answer))
            .collect();
        match self.wrong {
            Wrong::AnswersReversed => answers.reverse(),
            Wrong::AnswersDeduplicated => answers.truncate(
                asked
                    .iter()
                    .map(|node| &node.name)
                    .collect::<std::collections::HashSet<_>>()
                    .len(),
            ),
            Wrong::BatchFailsForOne if answers.iter().any(Result::is_err) => {
                for answer in &mut answers {
                    *answer = Err(Error::unavailable("describe", "one of them"));
                }
            }
            Wrong::ShortAnswerWithoutId if detail == Detail::Liveness => {
                for answer in answers.iter_mut().flatten() {
                    if let Answer::Found(instance) = answer {
                        instance.provider_id = None;
                    }
                }
            }
            _ => {}
        }
        answers
    }
}

#[async_trait]
impl LoadBalancers for Mutant {
    async fn find(&self, spec: &Spec) -> Result<Option<Status>> {
        if self.is(Wrong::FindSeesNothing) {
            return Ok(None);
        }
        self.memory.find(&self.taken(spec)).await
    }

    #[expect(clippy::panic, reason = "the suite must survive a provider that panics")]
    async fn ensure(&self, spec: &Spec) -> Result<Noted<Progress<Status>>> {
        let spec = self.taken(spec);
        match self.wrong {
            Wrong::EnsurePanics => panic!("as requested"),
            Wrong::EnsureHangs => std::future::pending().await,
            Wrong::EnsureMakesAnew => {
                LoadBalancers::delete(&self.memory, &spec).await?;
                self.memory.ensure(&spec).await
            }
            Wrong::EventWithoutReason => {
                let mut noted = self.memory.ensure(&spec).await?;
                noted.notes.inform("all is well", "");
                Ok(noted)
            }
            Wrong::NeverPending => loop {
                let outcome = self.memory.ensure(&spec).await?;
                match outcome.answer {
                    Progress::Pending { poll_after, .. } => tokio::time::sleep(poll_after).await,
                    Progress::Done(_) => return Ok(outcome),
                }
            },
            _ => self.memory.ensure(&spec).await,
        }
    }

    async fn update_hosts(&self, spec: &Spec) -> Result<Noted<Progress<Status>>> {
        let spec = self.taken(spec);
        let there = self.memory.find(&spec).await?.is_some();
        match self.wrong {
            Wrong::UpdateHostsMakes if !there => self.memory.ensure(&spec).await,
            Wrong::UpdateHostsDoesAll if there => self.memory.ensure(&spec).await,
            _ => self.memory.update_hosts(&spec).await,
        }
    }

    async fn delete(&self, spec: &Spec) -> Result<Noted<Progress<()>>> {
        let spec = self.taken(spec);
        match self.wrong {
            Wrong::DeleteDoesNothing => Ok(Progress::Done(()).into()),
            Wrong::DeleteTwiceFails if self.memory.find(&spec).await?.is_none() => Err(Error::NotFound {
                what: "the load balancer".into(),
            }),
            _ => LoadBalancers::delete(&self.memory, &spec).await,
        }
    }

    async fn owned(&self, cluster: &str) -> Result<Vec<Owned>> {
        let mut owned = self.memory.owned(cluster).await?;
        match self.wrong {
            Wrong::OwnedOfAll => {
                for balancer in self.memory.cloud().load_balancers() {
                    let Spec { cluster, .. } = Spec {
                        cluster: balancer.cluster,
                        ..Spec::default()
                    };
                    owned.extend(self.memory.owned(&cluster).await?);
                }
            }
            Wrong::OwnedWithoutService => owned
                .iter_mut()
                .for_each(|one| one.service = Some(ServiceRef::default())),
            _ => {}
        }
        Ok(owned)
    }
}

#[async_trait]
impl Routes for Mutant {
    async fn list(&self, cluster: &str) -> Result<Vec<Route>> {
        if self.is(Wrong::RoutesOfAll) {
            return Ok(self
                .memory
                .cloud()
                .all_routes()
                .into_iter()
                .map(|(_, route)| route)
                .collect());
        }
        self.memory.list(cluster).await
    }

    async fn create(&self, cluster: &str, routes: &[NewRoute]) -> Vec<Result<()>> {
        let there = self.memory.cloud().routes(cluster);
        let exists = |new: &NewRoute| there.iter().any(|route| route.destination == new.destination);
        if self.is(Wrong::RouteExistsIsError) && routes.iter().any(exists) {
            return routes
                .iter()
                .map(|_| Err(Error::unavailable("create", "it exists")))
                .collect();
        }
        let mut answers = self.memory.create(cluster, routes).await;
        if self.is(Wrong::RouteAnswersLost) {
            answers.truncate(1);
        }
        answers
    }

    async fn delete(&self, cluster: &str, routes: &[Route]) -> Vec<Result<()>> {
        let there = self.memory.cloud().routes(cluster);
        if self.is(Wrong::RouteGoneIsError) && routes.iter().any(|route| !there.contains(route)) {
            return routes
                .iter()
                .map(|_| {
                    Err(Error::NotFound {
                        what: "the route".into(),
                    })
                })
                .collect();
        }
        Routes::delete(&self.memory, cluster, routes).await
    }
}
