//! What moto cannot show: thousands of instances, throttling, and what AWS shows or lets go of only after a while.

use crate::fixture::{balancers, delete, ensure, open, service};
use aws::{Aws, config::Config};
use aws_sim::{Account, Kind, Limit, Machine, Sim};
use cloud::{Answer, Detail, Error, Gate, Host, NodeRef, Progress, Provider, ProviderId, Spec};
use std::time::Duration;

const MANAGED: &str = "NLBSecurityGroupMode=Managed";
const LATER: Duration = Duration::from_hours(1);

/// A process that was just started, with more lines in `[Global]`.
pub fn provider(sim: &Sim, more: &str, gate: &Gate) -> Aws {
    let text = sim.cloud_conf(more);
    let variables = Sim::environment().into_iter().collect();
    let config = Config::new(Some(("cloud.conf", text.as_bytes())), variables, &mut Vec::new()).unwrap();
    Aws::new(config, None, gate, &prometheus::Registry::new()).unwrap()
}

pub fn host(machine: &Machine) -> Host {
    Host {
        name: machine.name.clone(),
        provider_id: ProviderId::parse(machine.provider_id()),
        ..Host::default()
    }
}

async fn start() -> Sim {
    let _ = rustls::crypto::ring::default_provider().install_default();
    Sim::start().await.unwrap()
}

fn boot(sim: &Sim, count: usize) -> Vec<Machine> {
    sim.cloud().write(|account, now| account.boot("m5.large", count, now))
}

/// A Service on one instance.
fn served(sim: &Sim, name: &str, kind: &str, port: u16) -> Spec {
    service(name, kind, &[port], boot(sim, 1).iter().map(host))
}

/// The load balancers, the target groups and the security groups of load balancers.
fn objects(account: &Account) -> (usize, usize, usize) {
    let balancers = [Kind::Network, Kind::Classic].map(|kind| account.load_balancers(kind).len());
    let (groups, security_groups) = (account.count_target_groups(), account.load_balancer_groups().len());
    (balancers.iter().sum(), groups, security_groups)
}

fn found(answers: &[cloud::Result<Answer>]) -> usize {
    let found = answers.iter().filter(|answer| matches!(answer, Ok(Answer::Found(_))));
    found.count()
}

#[tokio::test]
async fn ten_thousand_nodes_are_a_few_dozen_calls() {
    let sim = start().await;
    let machines = boot(&sim, 10_000);
    let aws = provider(&sim, "", &open());
    let by_id = |machine: &Machine| NodeRef::named(&machine.name).with_provider_id(machine.provider_id());
    let nodes: Vec<NodeRef> = machines.iter().map(by_id).collect();
    let mark = sim.cloud().mark();
    assert_eq!(found(&aws.instances().describe(&nodes, Detail::Liveness).await), 10_000);
    assert_eq!(sim.cloud().calls_since(mark).len(), 20, "500 IDs a call");
    let nodes: Vec<NodeRef> = machines.iter().map(|machine| NodeRef::named(&machine.name)).collect();
    let mark = sim.cloud().mark();
    assert_eq!(found(&aws.instances().describe(&nodes, Detail::Liveness).await), 10_000);
    assert_eq!(sim.cloud().calls_since(mark).len(), 67, "150 names a call");
}

#[tokio::test]
async fn an_instance_that_is_not_shown_yet_is_found_later() {
    let sim = start().await;
    sim.cloud().write(|account, _| account.settings.visible_after = LATER);
    let machine = boot(&sim, 1).remove(0);
    let aws = provider(&sim, "", &open());
    let nodes = [
        NodeRef::named(&machine.name).with_provider_id(machine.provider_id()),
        NodeRef::named(&machine.name),
    ];
    assert_eq!(found(&aws.instances().describe(&nodes, Detail::Full).await), 0);
    sim.cloud().advance(LATER);
    assert_eq!(found(&aws.instances().describe(&nodes, Detail::Full).await), 2);
}

#[tokio::test]
async fn a_load_balancer_that_is_not_shown_yet_is_created_once_and_deleted() {
    let sim = start().await;
    let (mut spec, mut other) = (served(&sim, "web", "nlb", 80), served(&sim, "other", "nlb", 81));
    sim.cloud().write(|account, _| account.settings.visible_after = LATER);
    let (first, second) = (provider(&sim, MANAGED, &open()), provider(&sim, MANAGED, &open()));
    // Also after a restart.
    for aws in [&first, &first, &second] {
        let answer = balancers(aws).ensure(&spec).await.unwrap().answer;
        assert!(matches!(answer, Progress::Pending { .. }), "{answer:?}");
        assert_eq!(sim.cloud().read(objects), (1, 1, 1));
    }
    let answer = balancers(&first).ensure(&other).await.unwrap().answer;
    assert!(matches!(answer, Progress::Pending { .. }), "{answer:?}");
    assert_eq!(sim.cloud().read(objects), (2, 2, 2));
    delete(&first, &mut other).await.unwrap();
    assert_eq!(sim.cloud().read(objects), (1, 1, 1));
    sim.cloud().advance(LATER);
    ensure(&first, &mut spec).await.unwrap();
    assert!(spec.status.ingress[0].hostname.is_some());
    delete(&first, &mut spec).await.unwrap();
    assert_eq!(sim.cloud().read(objects), (0, 0, 0));
}

/// The network interfaces of a deleted load balancer use its security group for a while: meanwhile others are served.
#[tokio::test]
async fn a_security_group_that_is_in_use_blocks_no_other_service() {
    let sim = start().await;
    sim.cloud().write(|account, _| account.settings.releasing = LATER);
    let aws = provider(&sim, MANAGED, &open());
    for kind in ["nlb", ""] {
        let mut spec = served(&sim, "web", kind, 80);
        ensure(&aws, &mut spec).await.unwrap();
        for _ in 0..2 {
            let answer = balancers(&aws).delete(&spec).await.unwrap().answer;
            let Progress::Pending {
                waiting_for,
                poll_after,
            } = answer
            else {
                panic!("the group is in use: {answer:?}")
            };
            assert!(waiting_for.contains("which is still in use"), "{waiting_for}");
            assert_eq!(poll_after, Duration::from_secs(5));
        }
        let mut other = served(&sim, "other", kind, 81);
        ensure(&aws, &mut other).await.unwrap();
        sim.cloud().advance(LATER);
        delete(&aws, &mut spec).await.unwrap();
        assert!(balancers(&aws).find(&other).await.unwrap().is_some());
        sim.cloud()
            .write(|account, _| account.settings.releasing = Duration::ZERO);
        delete(&aws, &mut other).await.unwrap();
        assert_eq!(sim.cloud().read(objects), (0, 0, 0));
        sim.cloud().write(|account, _| account.settings.releasing = LATER);
    }
}

/// A limit that is used up stops the calls of this action, and no others.
#[tokio::test]
async fn a_throttled_action_stops_only_those_who_need_it() {
    let sim = start().await;
    let (mut network, mut classic) = (served(&sim, "web", "nlb", 80), served(&sim, "old", "", 81));
    let limit = Limit {
        burst: 0,
        refill: LATER,
    };
    let throttle = |account: &mut Account, _| account.settings.limits.insert("CreateTargetGroup".to_owned(), limit);
    sim.cloud().write(throttle);
    let aws = provider(&sim, "", &open());
    let error = ensure(&aws, &mut network).await.unwrap_err();
    assert!(matches!(error, Error::Throttled { .. }), "{error:?}");
    ensure(&aws, &mut classic).await.unwrap();
    assert_eq!(sim.cloud().read(objects), (2, 0, 1));
    sim.cloud().write(|account, _| account.settings.limits.clear());
    ensure(&aws, &mut network).await.unwrap();
    assert_eq!(sim.cloud().read(objects), (2, 1, 1));
}
