//! Killed right after every single call of the cloud and every write to the API server of an operation, and started again:
//! the end is that of an undisturbed run.

mod door;
mod portrait;

use crate::{
    rig::{Manager, is_initialised, service_address},
    stage::{ALONE, PASSWORD, Stage, told},
};
use door::Door;
use futures::future::join_all;
use k8s_openapi::api::core::v1::Service;
use kube::api::DeleteParams;
use openstack_sim::{Fault, LoadBalancerView, PortView};
use portrait::portrait;
use rstest::rstest;
use serde_json::{Value, json};
use std::time::Duration;

/// If nothing is asked or written for so long, nothing is under way: nobody waits that long between two steps.
const QUIET: Duration = Duration::from_millis(400);

/// How long a load balancer takes for a change: long enough to be seen pending.
const DELAY: Duration = Duration::from_millis(50);

/// What is done while the manager dies.
#[derive(Debug, Clone, Copy)]
enum Operation {
    CreateService,
    ChangePort,
    AddNode,
    DeleteService,
    InitialiseNode,
}

/// After what the manager dies.
#[derive(Debug, Clone, Copy)]
enum Point {
    /// The call of the cloud with this number.
    Call(usize),
    /// The write to the API server with this number.
    Write(usize),
}

/// A stage whose managers come and go.
struct Scene {
    stage: Stage,
    door: Door,
    manager: Manager,
}

/// How an undisturbed run went.
struct Measure {
    calls: Vec<String>,
    writes: Vec<String>,
    end: Value,
}

impl Measure {
    fn points(&self) -> Vec<Point> {
        let calls = (0..self.calls.len()).map(Point::Call);
        calls.chain((0..self.writes.len()).map(Point::Write)).collect()
    }
}

#[rstest]
#[case::makes_a_service(Operation::CreateService, 6, 12)]
#[case::changes_a_port(Operation::ChangePort, 8, 12)]
#[case::takes_in_a_node(Operation::AddNode, 4, 8)]
#[case::deletes_a_service(Operation::DeleteService, 4, 6)]
#[case::initialises_a_node(Operation::InitialiseNode, 2, 4)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_after_every_step_when_it(#[case] operation: Operation, #[case] lanes: usize, #[case] least: usize) {
    let deaths = join_all((0..lanes).map(|lane| run(operation, lane, lanes))).await;
    let deaths: usize = deaths.iter().sum();
    assert!(deaths >= least, "it died only {deaths} times");
}

/// Dies at every point whose turn it is on this lane; says how often it died.
async fn run(operation: Operation, lane: usize, lanes: usize) -> usize {
    let mut scene = Scene::new().await;
    let measure = scene.measure(operation).await;
    let mut deaths = 0;
    for point in measure.points().into_iter().skip(lane).step_by(lanes) {
        scene.undo(operation).await;
        scene.prepare(operation).await;
        if scene.perish(operation, point).await {
            deaths += 1;
        }
        scene.ends_like(&measure, operation, point).await;
    }
    scene.undo(operation).await;
    deaths
}

impl Scene {
    async fn new() -> Self {
        let stage = Stage::new().await;
        stage.cloud.configure(|settings| settings.balancer_delay = DELAY);
        let door = Door::open(stage.rig()).await;
        let manager = start(&stage, &door);
        let scene = Self { stage, door, manager };
        scene.stage.nodes(&scene.manager, 1).await;
        scene
    }

    fn service(&self) -> String {
        self.stage.named("web")
    }

    /// How much there was to do so far.
    fn progress(&self) -> (usize, u64) {
        (self.door.writes().len(), self.stage.cloud.total())
    }

    /// Waits until nothing is under way.
    async fn quiet(&self) {
        loop {
            let before = self.progress();
            tokio::time::sleep(QUIET).await;
            if self.progress() == before {
                return;
            }
        }
    }

    async fn measure(&mut self, operation: Operation) -> Measure {
        self.prepare(operation).await;
        let (mark, written) = (self.stage.cloud.mark(), self.door.writes().len());
        self.begin(operation).await;
        self.ended(operation).await;
        self.quiet().await;
        Measure {
            calls: told(&self.stage.cloud.calls_since(mark)),
            writes: self.door.writes().split_off(written),
            end: portrait(&self.stage).await,
        }
    }

    /// What has to be there before.
    async fn prepare(&self, operation: Operation) {
        self.manager.working().await;
        match operation {
            Operation::CreateService | Operation::InitialiseNode => {}
            Operation::ChangePort | Operation::AddNode | Operation::DeleteService => {
                if self.stage.services().get_opt(&self.service()).await.unwrap().is_none() {
                    self.begin(Operation::CreateService).await;
                }
                self.ended(Operation::CreateService).await;
            }
        }
        self.quiet().await;
    }

    async fn begin(&self, operation: Operation) {
        match operation {
            Operation::CreateService => drop(self.stage.create(self.stage.balanced("web")).await),
            Operation::ChangePort => self.port(81).await,
            Operation::AddNode | Operation::InitialiseNode => drop(self.stage.join("late").await),
            Operation::DeleteService => self.stage.delete_service(&self.service()).await,
        }
    }

    async fn port(&self, port: u16) {
        let ports = json!([{"port": port, "protocol": "TCP", "nodePort": 0}]);
        self.stage.change(&self.service(), json!({ "ports": ports })).await;
    }

    /// Waits until what was asked for is there.
    async fn ended(&self, operation: Operation) {
        let look = async || {
            let is_done = self.is_done(operation).await;
            is_done
                .then_some(())
                .ok_or_else(|| format!("{:?}", self.stage.cloud.load_balancers()))
        };
        self.manager.until(&format!("the end of {operation:?}"), look).await;
    }

    async fn is_done(&self, operation: Operation) -> bool {
        let (stage, name) = (&self.stage, self.service());
        let service = stage.services().get_opt(&name).await.unwrap();
        let node = stage.rig().nodes().get_opt(&stage.named("late")).await.unwrap();
        let has_node = node.is_some_and(|node| is_initialised(&node));
        let nodes_behind = |count| stage.members(&name).len() == count && self.carriers() == count;
        let listens = |port: u16| {
            let balancers = stage.balancers(&name);
            let only = |one: &LoadBalancerView| matches!(&one.listeners[..], [listener] if listener.port == port);
            balancers.iter().any(only)
        };
        match operation {
            Operation::CreateService => service.as_ref().is_some_and(is_ensured) && nodes_behind(1),
            Operation::ChangePort => service.as_ref().is_some_and(is_ensured) && nodes_behind(1) && listens(81),
            Operation::AddNode => has_node && nodes_behind(2),
            Operation::DeleteService => service.is_none(),
            Operation::InitialiseNode => has_node,
        }
    }

    /// How many ports have a security group of a Service.
    fn carriers(&self) -> usize {
        let groups = self.stage.cloud.security_groups().into_iter();
        let ours: Vec<_> = groups.filter(|group| group.name.starts_with("lb-sg-")).collect();
        let carries = |port: &PortView| ours.iter().any(|group| port.groups.contains(&group.id));
        self.stage.cloud.ports().iter().filter(|port| carries(port)).count()
    }

    /// Makes it as if it had not been done.
    async fn undo(&self, operation: Operation) {
        let stage = &self.stage;
        match operation {
            Operation::CreateService => {
                stage.end(&self.manager, &self.service()).await;
                stage.assert_clean();
            }
            Operation::ChangePort => {
                self.port(80).await;
                let back = async || match &stage.balancer(&self.service()).listeners[..] {
                    [listener] if listener.port == 80 => Ok(()),
                    other => Err(format!("{other:?}")),
                };
                self.manager.until("the first port", back).await;
            }
            Operation::AddNode | Operation::InitialiseNode => {
                let name = stage.named("late");
                stage
                    .rig()
                    .nodes()
                    .delete(&name, &DeleteParams::default())
                    .await
                    .unwrap();
                for server in stage.cloud.servers_named(&name) {
                    stage.cloud.delete_server(server.id);
                }
            }
            Operation::DeleteService => stage.assert_clean(),
        }
    }

    /// Does it, and kills the manager at this point; not, if it is done before.
    async fn perish(&mut self, operation: Operation, point: Point) -> bool {
        let cloud = self.stage.cloud.clone();
        let fault = match point {
            Point::Call(number) => {
                let number = u64::try_from(number).unwrap();
                Some(cloud.inject(Fault::withhold_answer().skip(number).times(1)))
            }
            Point::Write(number) => {
                self.door.close_after(number);
                None
            }
        };
        self.begin(operation).await;
        let struck = async {
            match fault {
                Some(fault) => cloud.until(|cloud| cloud.struck(fault) > 0).await,
                None => self.door.closed().await,
            }
        };
        let all = async {
            self.ended(operation).await;
            self.quiet().await;
        };
        let died = tokio::select! { () = struck => true, () = all => false };
        if died {
            self.manager.signal("KILL");
            self.manager.exited().await;
        }
        cloud.withdraw_all();
        self.door.reopen();
        if died {
            self.manager = start(&self.stage, &self.door);
        }
        died
    }

    /// Waits until all is as after an undisturbed run, and stays so.
    async fn ends_like(&self, measure: &Measure, operation: Operation, point: Point) {
        self.manager.working().await;
        self.ended(operation).await;
        self.quiet().await;
        let end = portrait(&self.stage).await;
        let when = match point {
            Point::Call(number) => &measure.calls[number],
            Point::Write(number) => &measure.writes[number],
        };
        assert_eq!(
            end,
            measure.end,
            "killed after {point:?}, {when}{}",
            self.manager.told()
        );
    }
}

/// Whether the Service has an address, and says that its load balancer is as it should be.
fn is_ensured(service: &Service) -> bool {
    let status = service.status.as_ref();
    let mut conditions = status.into_iter().flat_map(|status| status.conditions.iter().flatten());
    let is_true = conditions.any(|one| one.type_ == "outrigger.dev/LoadBalancerReady" && one.status == "True");
    is_true && service_address(service).is_some()
}

fn start(stage: &Stage, door: &Door) -> Manager {
    let guarded = stage.load_balancer("manage-security-groups=true\ncreate-monitor=true");
    let config = format!("{}{guarded}", stage.global(PASSWORD));
    let kubeconfig = format!("--kubeconfig={}", door.kubeconfig.display());
    stage.manager_with(&config).flag(&kubeconfig).flag(ALONE).start()
}
