use super::*;
use crate::nodes::pod_cidrs;
use ipnet::IpNet;
use k8s_openapi::api::core::v1::NodeSpec;
use kube::api::{Api, DeleteParams, PostParams};
use rstest::rstest;
use runtime::{
    events::{Event, Recorder},
    health::Pulse,
    informer::{Change, Store},
    queue::Next,
};
use std::collections::BTreeSet;
use testkit::wait;

fn node(name: &str, cidrs: &[&str]) -> Node {
    let mut node = Node::default();
    node.metadata.name = Some(name.into());
    node.metadata.uid = Some(name.into());
    let cidrs: Vec<String> = cidrs.iter().map(|&cidr| cidr.into()).collect();
    node.spec = Some(NodeSpec {
        pod_cidr: cidrs.first().cloned(),
        pod_cidrs: (!cidrs.is_empty()).then_some(cidrs),
        ..NodeSpec::default()
    });
    node
}

fn options(cidrs: &str, services: &str) -> Options {
    let nets = |text: &str| {
        text.split_whitespace()
            .map(|cidr| cidr.parse().unwrap())
            .collect::<Vec<IpNet>>()
    };
    Options::new(&nets(cidrs), &nets(services), MaskSizes::default()).unwrap()
}

fn allocate(allocator: &mut Allocator, uid: &str) -> String {
    let cidrs = allocator.allocate(uid).unwrap_or_default();
    cidrs.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

#[test]
fn dual_stack_gets_one_of_each() {
    let mut allocator = Allocator::new(&options("10.0.0.0/22 fd00::/62", ""));
    assert_eq!(allocate(&mut allocator, "a"), "10.0.0.0/24 fd00::/64");
    assert_eq!(allocate(&mut allocator, "b"), "10.0.1.0/24 fd00:0:0:1::/64");
}

#[test]
fn asking_again_answers_the_same() {
    let mut allocator = Allocator::new(&options("10.0.0.0/22", ""));
    assert_eq!(allocate(&mut allocator, "a"), "10.0.0.0/24");
    assert_eq!(allocate(&mut allocator, "a"), "10.0.0.0/24");
}

#[test]
fn services_and_nodes_that_are_there_are_left_out() {
    let mut allocator = Allocator::new(&options("10.0.0.0/22", "10.0.0.0/24"));
    assert_eq!(allocator.learn(&node("old", &["10.0.1.0/24"])), Taken::Known);
    assert_eq!(allocate(&mut allocator, "new"), "10.0.2.0/24");
    allocator.release("old");
    assert_eq!(allocate(&mut allocator, "newer"), "10.0.3.0/24");
    assert_eq!(allocate(&mut allocator, "newest"), "10.0.1.0/24");
    assert_eq!(allocate(&mut allocator, "none left"), "");
}

#[test]
fn one_family_used_up_takes_nothing_of_the_other() {
    let mut allocator = Allocator::new(&options("10.0.0.0/24 fd00::/62", ""));
    assert_eq!(allocate(&mut allocator, "a"), "10.0.0.0/24 fd00::/64");
    assert_eq!(allocate(&mut allocator, "b"), "");
    allocator.release("a");
    assert_eq!(allocate(&mut allocator, "b"), "10.0.0.0/24 fd00:0:0:1::/64");
}

#[test]
fn foreign_ranges_are_reported_and_left_alone() {
    let mut allocator = Allocator::new(&options("10.0.0.0/22", ""));
    let foreign = allocator.learn(&node("old", &["192.168.0.0/24", "nonsense"]));
    assert_eq!(
        foreign,
        Taken::Foreign(vec!["192.168.0.0/24".into(), "nonsense".into()])
    );
    assert_eq!(allocate(&mut allocator, "a"), "10.0.0.0/24");
}

#[test]
fn a_write_whose_answer_was_lost_is_learnt_from_the_node() {
    let mut allocator = Allocator::new(&options("10.0.0.0/22", ""));
    assert_eq!(allocate(&mut allocator, "a"), "10.0.0.0/24");
    assert_eq!(allocator.learn(&node("a", &["10.0.0.0/24"])), Taken::Known);
    allocator.release("a");
    assert_eq!(allocator.allocate("b").map(|cidrs| cidrs.len()), Some(1));
}

/// A controller whose API server knows no node; `asked` is called whenever it is asked for one.
fn without_server(range: &str, nodes: Store<Node>, asked: impl Fn() + Clone + Send + 'static) -> NodeIpam {
    refused(404, range, nodes, asked)
}

/// A controller whose API server answers nothing but this; `asked` is called whenever it is asked for something.
fn refused(code: u16, range: &str, nodes: Store<Node>, asked: impl Fn() + Clone + Send + 'static) -> NodeIpam {
    let send = move |_: http::Request<kube::client::Body>| {
        asked();
        let refusal = kube::core::Status::failure("no", "No").with_code(code);
        let body = kube::client::Body::from(serde_json::to_vec(&refusal).unwrap());
        let answer = http::Response::builder().status(code).body(body).unwrap();
        std::future::ready(Ok::<_, kube::Error>(answer))
    };
    let client = kube::Client::new(tower::service_fn(send), "default");
    let (sender, _) = tokio::sync::mpsc::channel(1);
    let (recorder, pulse) = (Recorder::new(COMPONENT, sender), Pulse::default());
    let in_scope = Arc::new(|_: &Node| true);
    NodeIpam::new(&options(range, ""), client, nodes, recorder, in_scope, pulse)
}

/// A list after a gap in the watch shows another node under the name of the one that had the range.
#[rstest]
#[case::another_node("other", "10.0.0.0/24")]
#[case::the_same_node("a", "")]
#[tokio::test]
async fn what_a_node_had_is_free_when_another_has_its_name(#[case] uid: &str, #[case] expected: &str) {
    let ipam = without_server("10.0.0.0/24", Store::of([]), || panic!("nothing is to be written"));
    let old = Arc::new(node("a", &["10.0.0.0/24"]));
    assert!(ipam.heed(&Change::Added(old.clone())).is_none());
    let mut new = node("a", &[]);
    new.metadata.uid = Some(uid.to_owned());
    let change = Change::Updated {
        old,
        new: Arc::new(new),
    };
    let heard = ipam.heed(&change).map(|node| node.metadata.uid.clone());
    assert_eq!(heard, Some(Some(uid.to_owned())), "it has no range of its own");
    assert_eq!(allocate(&mut ipam.allocator(), "next"), expected);
}

#[tokio::test]
async fn a_range_is_free_when_its_node_went_before_it_was_chosen() {
    let nodes = Store::of([node("a", &[])]);
    let ipam = without_server("10.0.0.0/24", nodes.clone(), move || drop(nodes.remove("a")));
    // The handler hears of the end of a node that has nothing yet; only then a range is chosen for it.
    ipam.heed(&Change::Deleted(Arc::new(node("a", &[]))));
    assert_eq!(ipam.reconcile("a").await, Next::Done);
    assert_eq!(allocate(&mut ipam.allocator(), "b"), "10.0.0.0/24");
}

/// Meanwhile the name is this node's.
#[rstest]
#[case::gone(404, "a", Next::Done)]
#[case::another_has_its_name(409, "other", Next::Done)]
#[case::a_conflict(409, "a", Next::Retry)]
#[tokio::test]
async fn a_refused_write_is_tried_again_unless_the_node_is_gone(
    #[case] code: u16,
    #[case] uid: &str,
    #[case] next: Next,
) {
    let nodes = Store::of([node("a", &[])]);
    let (seen, mut now) = (nodes.clone(), node("a", &[]));
    now.metadata.uid = Some(uid.to_owned());
    let ipam = refused(code, "10.0.0.0/24", nodes, move || drop(seen.insert(now.clone())));
    assert_eq!(ipam.reconcile("a").await, next);
    let expected = if uid == "a" { "" } else { "10.0.0.0/24" };
    assert_eq!(
        allocate(&mut ipam.allocator(), "b"),
        expected,
        "the range of one that is there stays its own"
    );
}

/// The controller with a client, on the Nodes whose names begin with this.
struct Rig {
    api: Api<Node>,
    prefix: String,
    pulse: Pulse,
    events: tokio::sync::mpsc::Receiver<Event>,
    cancel: CancellationToken,
    tasks: tokio::task::JoinSet<()>,
}

impl Rig {
    fn start(client: kube::Client, range: &str) -> Self {
        let (prefix, api) = (lab::unique("full"), Api::all(lab::ControlPlane::shared().client()));
        let informer = Informer::new(api.clone(), kube::runtime::watcher::Config::default(), |_| {});
        let (cancel, pulse, ours) = (CancellationToken::new(), Pulse::default(), prefix.clone());
        let (sender, events) = tokio::sync::mpsc::channel(1000);
        let is_ours = move |node: &Node| {
            node.metadata
                .name
                .as_deref()
                .is_some_and(|name| name.starts_with(&ours))
        };
        let ipam = NodeIpam::new(
            &options(range, ""),
            client,
            informer.store(),
            Recorder::new(COMPONENT, sender),
            Arc::new(is_ours),
            pulse.clone(),
        );
        let mut tasks = tokio::task::JoinSet::new();
        let (watched, end) = (informer.clone(), cancel.clone());
        tasks.spawn(async move { watched.run(end).await });
        tasks.spawn(run(ipam, informer, queue(None), cancel.clone()));
        Self {
            api,
            prefix,
            pulse,
            events,
            cancel,
            tasks,
        }
    }

    async fn join(&self, name: &str) -> String {
        let name = format!("{}-{name}", self.prefix);
        let mut node = node(&name, &[]);
        node.metadata.uid = None;
        self.api.create(&PostParams::default(), &node).await.unwrap();
        name
    }

    async fn join_all(&self, prefix: &str, count: usize) -> Vec<String> {
        let mut names = Vec::new();
        for index in 0..count {
            names.push(self.join(&format!("{prefix}-{index}")).await);
        }
        names
    }

    /// What each of these nodes gets: one range of each family, and none that another has.
    async fn ranges(&self, names: &[String], families: usize) -> BTreeSet<Vec<String>> {
        let mut seen = BTreeSet::new();
        for name in names {
            let ready = |node: Option<&Node>| node.is_some_and(|node| !pod_cidrs(node).is_empty());
            let waiting = kube::runtime::wait::await_condition(self.api.clone(), name, ready);
            let node = tokio::time::timeout(Duration::from_mins(1), waiting)
                .await
                .unwrap_or_else(|_| panic!("{name} never got a range"))
                .unwrap()
                .unwrap();
            let cidrs = pod_cidrs(&node).to_vec();
            assert_eq!(cidrs.len(), families, "{cidrs:?}");
            assert_eq!(node.spec.unwrap().pod_cidr.as_ref(), cidrs.first());
            assert!(seen.insert(cidrs), "{name} has what another has");
        }
        seen
    }

    async fn until_failing(&self, why: &str) {
        wait::until("a bad pulse", || async {
            match self.pulse.failing(Duration::ZERO) {
                Err(reason) if reason.contains(why) => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })
        .await;
    }

    /// The first event: `kind reason about: message`.
    async fn told(&mut self) -> String {
        let event = tokio::time::timeout(Duration::from_mins(1), self.events.recv()).await;
        let Event {
            kind,
            reason,
            message,
            regarding,
            ..
        } = event.unwrap().unwrap();
        format!("{kind:?} {reason} {}: {message}", regarding.name.unwrap_or_default())
    }

    async fn finish(mut self, names: &[String]) {
        for name in names {
            self.api.delete(name, &DeleteParams::default()).await.unwrap();
        }
        self.cancel.cancel();
        while let Some(ended) = self.tasks.join_next().await {
            ended.unwrap();
        }
    }
}

/// So few ranges that the second half can have only what the first half gave back.
#[rstest]
#[case::v4("10.200.0.0/22", 4, 1)]
#[case::v6("fd00:200::/62", 4, 1)]
#[case::dual("10.205.0.0/22 fd00:205::/62", 4, 2)]
#[tokio::test]
async fn nodes_get_disjoint_ranges_and_give_them_back(
    #[case] ranges: &str,
    #[case] nodes: usize,
    #[case] families: usize,
) {
    let rig = Rig::start(lab::ControlPlane::shared().client(), ranges);
    let old = rig.join_all("old", nodes).await;
    let taken = rig.ranges(&old, families).await;
    for name in &old {
        rig.api.delete(name, &DeleteParams::default()).await.unwrap();
    }
    let new = rig.join_all("new", nodes).await;
    assert_eq!(rig.ranges(&new, families).await, taken, "all that there are");
    rig.finish(&new).await;
}

#[tokio::test]
async fn says_that_no_range_is_left() {
    let mut rig = Rig::start(lab::ControlPlane::shared().client(), "10.202.0.0/24");
    let lucky = rig.join("a").await;
    let has_it = |node: Option<&Node>| node.is_some_and(|node| !pod_cidrs(node).is_empty());
    kube::runtime::wait::await_condition(rig.api.clone(), &lucky, has_it)
        .await
        .unwrap();
    let unlucky = rig.join("b").await;
    let expected = format!("Normal CIDRNotAvailable {unlucky}: Node {unlucky} status is now: CIDRNotAvailable");
    assert_eq!(rig.told().await, expected);
    rig.until_failing("no range is left in --cluster-cidr").await;
    rig.finish(&[lucky, unlucky]).await;
}

#[tokio::test]
async fn says_that_a_range_could_not_be_written() {
    let plane = lab::ControlPlane::shared();
    let user = lab::unique("powerless");
    let file = kube::config::Kubeconfig::read_from(plane.kubeconfig_for(&user, &[])).unwrap();
    let config = kube::Config::from_custom_kubeconfig(file, &kube::config::KubeConfigOptions::default()).await;
    let powerless = kube::Client::try_from(config.unwrap()).unwrap();
    let mut rig = Rig::start(powerless, "10.204.0.0/16");
    let name = rig.join("a").await;
    let expected = format!("Normal CIDRAssignmentFailed {name}: Node {name} status is now: CIDRAssignmentFailed");
    assert_eq!(rig.told().await, expected);
    rig.until_failing(&format!("User \"{user}\" cannot patch resource \"nodes\""))
        .await;
    assert_eq!(pod_cidrs(&rig.api.get(&name).await.unwrap()), [""; 0]);
    rig.finish(&[name]).await;
}
