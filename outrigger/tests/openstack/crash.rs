//! Killed right after every single call of the cloud and every write to the API server of an operation, and started again:
//! the end is that of an undisturbed run.
//!
//! Several fixtures do this concurrently. In each, one operation begins with the end state of another, so that almost nothing has to be
//! created or deleted for the next crash.

mod plan;
mod snapshot;

use crate::{
    fixture::{ALONE, Fixture, PASSWORD, summaries},
    process_fixture::{ApiProxy, Manager, is_initialised, service_address},
};
use futures::future::join_all;
use k8s_openapi::api::core::v1::Service;
use kube::api::DeleteParams;
use openstack_sim::{Fault, LoadBalancerView, PortView};
use plan::{Measure, Operation, Plan, Point, Task};
use serde_json::{Value, json};
use snapshot::snapshot;
use std::{cell::Cell, time::Duration};

/// If there is no call and no write for this long, no work is in progress.
const QUIET: Duration = Duration::from_millis(400);

/// How long a load balancer takes for a change: long enough to be observed as pending.
const DELAY: Duration = Duration::from_millis(50);

/// The number of fixtures that keep a small machine busy: most of the time a manager waits for its load balancer.
const WORLDS: usize = 14;

/// A fixture whose managers are stopped and started.
struct Run {
    fixture: Fixture,
    proxy: ApiProxy,
    manager: Manager,
    /// The desired port of the Service.
    port: Cell<u16>,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_after_every_step() {
    let plan = Plan::default();
    join_all((0..WORLDS).map(|world| run(&plan, world))).await;
    for operation in Operation::ALL {
        let deaths = plan.deaths(operation);
        let least = operation.least_deaths();
        assert!(deaths >= least, "{operation:?}: it died only {deaths} times");
    }
}

/// Crashes the manager as long as there is another point. The first fixtures record how the operations run without a crash.
async fn run(plan: &Plan, world: usize) {
    let mut run = Run::new().await;
    if let Some(operation) = Operation::ALL.get(world) {
        plan.measured(*operation, run.measure(*operation).await);
    }
    while let Some(task) = plan.take(run.has_service().await).await {
        run.prepare(task.operation).await;
        if run.perish(task.operation, task.point).await {
            plan.died(task.operation);
        }
        run.ends_like(&task).await;
    }
    run.undo().await;
}

impl Run {
    async fn new() -> Self {
        let fixture = Fixture::new().await;
        fixture.cloud.configure(|settings| settings.balancer_delay = DELAY);
        let base = fixture.base();
        let proxy = ApiProxy::to(&base.client_of(base.kubeconfig()).await, &base.folder).await;
        let manager = start(&fixture, &proxy);
        let run = Self {
            fixture,
            proxy,
            manager,
            port: Cell::new(80),
        };
        run.manager.working().await;
        run.fixture.nodes(&run.manager, 1).await;
        run
    }

    fn service(&self) -> String {
        self.fixture.named("web")
    }

    /// How much was done so far.
    fn progress(&self) -> (usize, u64) {
        (self.proxy.writes().len(), self.fixture.cloud.total())
    }

    /// Waits until no work is in progress.
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
        let (mark, written) = (self.fixture.cloud.mark(), self.proxy.writes().len());
        self.begin(operation).await;
        self.ended(operation).await;
        self.quiet().await;
        Measure {
            calls: summaries(&self.fixture.cloud.calls_since(mark)),
            writes: self.proxy.writes().split_off(written),
            end: self.snapshot().await,
        }
    }

    async fn has_service(&self) -> bool {
        let service = self.fixture.services().get_opt(&self.service()).await.unwrap();
        service.is_some()
    }

    /// Creates exactly the objects that an operation starts with.
    async fn prepare(&self, operation: Operation) {
        let late = self.fixture.named("late");
        let nodes = self.fixture.base().nodes();
        let has_late = nodes.get_opt(&late).await.unwrap().is_some();
        if has_late {
            nodes.delete(&late, &DeleteParams::default()).await.unwrap();
            for server in self.fixture.cloud.servers_named(&late) {
                self.fixture.cloud.delete_server(server.id);
            }
        }
        let has_service = self.has_service().await;
        match (has_service, operation.needs_service()) {
            (false, true) => self.begin(Operation::CreateService).await,
            (true, false) => self.undo().await,
            _ => {}
        }
        if operation.needs_service() {
            self.ended(Operation::CreateService).await;
        }
        if has_late || has_service != operation.needs_service() {
            self.quiet().await;
        }
    }

    async fn begin(&self, operation: Operation) {
        match operation {
            Operation::CreateService => {
                self.port.set(80);
                drop(self.fixture.create(self.fixture.balanced("web")).await);
            }
            Operation::ChangePort => {
                self.port.set(if self.port.get() == 80 { 81 } else { 80 });
                let ports = json!([{"port": self.port.get(), "protocol": "TCP", "nodePort": 0}]);
                self.fixture.change(&self.service(), json!({ "ports": ports })).await;
            }
            Operation::AddNode | Operation::InitialiseNode => drop(self.fixture.join("late").await),
            Operation::DeleteService => self.fixture.delete_service(&self.service()).await,
        }
    }

    /// Waits until the Service is served.
    async fn ended(&self, operation: Operation) {
        let look = async || {
            let is_done = self.is_done(operation).await;
            is_done
                .then_some(())
                .ok_or_else(|| format!("{:?}", self.fixture.cloud.load_balancers()))
        };
        self.manager.until(&format!("the end of {operation:?}"), look).await;
    }

    async fn is_done(&self, operation: Operation) -> bool {
        let (fixture, name) = (&self.fixture, self.service());
        let service = fixture.services().get_opt(&name).await.unwrap();
        let node = fixture.base().nodes().get_opt(&fixture.named("late")).await.unwrap();
        let has_node = node.is_some_and(|node| is_initialised(&node));
        let nodes_behind = |count| fixture.members(&name).len() == count && self.carriers() == count;
        let listens = || {
            let asked = self.port.get();
            let only = |one: &LoadBalancerView| matches!(&one.listeners[..], [listener] if listener.port == asked);
            fixture.balancers(&name).iter().any(only)
        };
        match operation {
            Operation::CreateService | Operation::ChangePort => {
                service.as_ref().is_some_and(is_ensured) && nodes_behind(1) && listens()
            }
            Operation::AddNode => has_node && nodes_behind(2),
            Operation::DeleteService => service.is_none(),
            Operation::InitialiseNode => has_node,
        }
    }

    /// How many ports have a security group of a Service.
    fn carriers(&self) -> usize {
        let groups = self.fixture.cloud.security_groups().into_iter();
        let ours: Vec<_> = groups.filter(|group| group.name.starts_with("lb-sg-")).collect();
        let carries = |port: &PortView| ours.iter().any(|group| port.groups.contains(&group.id));
        self.fixture.cloud.ports().iter().filter(|port| carries(port)).count()
    }

    /// Deletes the Service, if it exists, with everything that was created for it.
    async fn undo(&self) {
        if self.has_service().await {
            self.fixture.end(&self.manager, &self.service()).await;
        }
        self.fixture.assert_clean();
    }

    /// The state, without the parts that differ between fixtures.
    async fn snapshot(&self) -> Value {
        let text = snapshot(&self.fixture).await.to_string();
        let asked = format!("TCP/{} ", self.port.get());
        let text = text
            .replace(&self.fixture.name, "fixture")
            .replace(&asked, "TCP/asked ");
        serde_json::from_str(&text).unwrap()
    }

    /// Runs an operation, and kills the manager at this point; returns false if the operation ended before.
    async fn perish(&mut self, operation: Operation, point: Point) -> bool {
        let cloud = self.fixture.cloud.clone();
        let fault = match point {
            Point::Call(number) => {
                let number = u64::try_from(number).unwrap();
                Some(cloud.inject(Fault::withhold_answer().skip(number).times(1)))
            }
            Point::Write(number) => {
                self.proxy.close_after(number);
                None
            }
        };
        self.begin(operation).await;
        let struck = async {
            match fault {
                Some(fault) => cloud.until(|cloud| cloud.struck(fault) > 0).await,
                None => self.proxy.closed().await,
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
        self.proxy.reopen();
        if died {
            self.manager = start(&self.fixture, &self.proxy);
        }
        died
    }

    /// Waits until the state is that of an undisturbed run, and does not change any more.
    async fn ends_like(&self, task: &Task) {
        self.manager.working().await;
        self.ended(task.operation).await;
        self.quiet().await;
        assert_eq!(
            self.snapshot().await,
            task.measure.end,
            "{task}{}",
            self.manager.log_tail()
        );
    }
}

/// Whether the Service has an address, and a condition that its load balancer matches.
fn is_ensured(service: &Service) -> bool {
    let status = service.status.as_ref();
    let mut conditions = status.into_iter().flat_map(|status| status.conditions.iter().flatten());
    let is_true = conditions.any(|one| one.type_ == "outrigger.dev/LoadBalancerReady" && one.status == "True");
    is_true && service_address(service).is_some()
}

fn start(fixture: &Fixture, proxy: &ApiProxy) -> Manager {
    let guarded = fixture.load_balancer("manage-security-groups=true\ncreate-monitor=true");
    let config = format!("{}{guarded}", fixture.global(PASSWORD));
    let kubeconfig = format!("--kubeconfig={}", proxy.kubeconfig.display());
    fixture.manager_with(&config).flag(&kubeconfig).flag(ALONE).start()
}
