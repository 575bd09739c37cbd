//! What the operator of a memory cloud holds.

use crate::{
    Balancer, Call, Effect, Fault, FaultId, Machine, Operation, Settings,
    call::Request,
    fault::Verdict,
    state::{Done, State},
};
use cloud::{NodeRef, Power, Route, RouteTarget};
use ipnet::IpNet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::{sync::watch, time::Instant};
use tracing::debug;

/// A cloud, as its operator sees it. Clones share it.
#[derive(Debug, Clone)]
pub struct Cloud {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    state: Mutex<State>,
    began: Instant,
    changed: watch::Sender<()>,
}

impl Default for Cloud {
    fn default() -> Self {
        Self::new()
    }
}

impl Cloud {
    /// An empty cloud that works.
    pub fn new() -> Self {
        Self::with(Settings::default())
    }

    /// An empty cloud that works like this.
    pub fn with(settings: Settings) -> Self {
        let state = Mutex::new(State {
            settings,
            ..State::default()
        });
        Self {
            inner: Arc::new(Inner {
                state,
                began: Instant::now(),
                changed: watch::Sender::new(()),
            }),
        }
    }

    /// How it works.
    pub fn settings(&self) -> Settings {
        self.read(|state| state.settings.clone())
    }

    /// Makes it work otherwise from now on.
    pub fn configure(&self, change: impl FnOnce(&mut Settings)) {
        self.write(|state| change(&mut state.settings));
    }

    /// Starts a typical machine, with a provider ID and addresses of its own.
    pub fn boot(&self, name: &str) -> NodeRef {
        self.boot_as(name, |_| {})
    }

    /// Starts a machine that is typical except for what is changed about it.
    pub fn boot_as(&self, name: &str, change: impl FnOnce(&mut Machine)) -> NodeRef {
        self.write(|state| {
            let mut machine = state.machines.typical(name);
            change(&mut machine);
            state.machines.create(machine, state.settings.provider_ids)
        })
    }

    /// Starts this machine, in place of one of the same name. It gets a provider ID if it has none.
    pub fn create_machine(&self, machine: Machine) -> NodeRef {
        self.write(|state| state.machines.create(machine, state.settings.provider_ids))
    }

    /// Changes anything about a machine; `None` if there is none of this name.
    pub fn modify_machine<T>(&self, name: &str, change: impl FnOnce(&mut Machine) -> T) -> Option<T> {
        self.write(|state| state.machines.find_mut(name).map(change))
    }

    /// Turns a machine on or off; `None` if there is none of this name.
    pub fn set_power(&self, name: &str, power: Power) -> Option<()> {
        self.modify_machine(name, |machine| machine.power = power)
    }

    /// Deletes a machine, and returns it.
    pub fn delete_machine(&self, name: &str) -> Option<Machine> {
        self.write(|state| state.machines.delete(name))
    }

    /// The machine of this name.
    pub fn machine(&self, name: &str) -> Option<Machine> {
        self.read(|state| state.machines.find(name).cloned())
    }

    /// All machines, by name.
    pub fn machines(&self) -> Vec<Machine> {
        self.read(|state| state.machines.all().cloned().collect())
    }

    /// All load balancers, of all clusters.
    pub fn load_balancers(&self) -> Vec<Balancer> {
        self.read(|state| state.balancers.all().cloned().collect())
    }

    /// The load balancer of the Service with this UID, in any cluster.
    pub fn load_balancer(&self, uid: &str) -> Option<Balancer> {
        self.read(|state| {
            state
                .balancers
                .all()
                .find(|balancer| balancer.service.uid == uid)
                .cloned()
        })
    }

    /// The routes of a cluster, in the order of their making.
    pub fn routes(&self, cluster: &str) -> Vec<Route> {
        self.read(|state| state.routes.list(cluster))
    }

    /// All routes, each with its cluster.
    pub fn all_routes(&self) -> Vec<(String, Route)> {
        self.read(|state| {
            state
                .routes
                .all()
                .map(|(cluster, route)| (cluster.to_owned(), route.clone()))
                .collect()
        })
    }

    /// Adds a route as it is, whatever else there is.
    pub fn add_route(&self, cluster: &str, route: Route) {
        self.write(|state| state.routes.insert(cluster, route));
    }

    /// Adds a route to a machine that is gone.
    pub fn add_blackhole(&self, cluster: &str, destination: IpNet) {
        let name = format!("{cluster}-blackhole-{destination}");
        self.add_route(
            cluster,
            Route {
                name,
                destination,
                target: RouteTarget::Blackhole,
                addresses: None,
            },
        );
    }

    /// Makes something go wrong from now on.
    pub fn inject(&self, fault: Fault) -> FaultId {
        self.write(|state| state.faults.inject(fault))
    }

    /// Ends a fault; calls that hang on it go on.
    pub fn withdraw(&self, fault: FaultId) {
        self.write(|state| state.faults.withdraw(fault));
    }

    /// Ends all faults.
    pub fn withdraw_all(&self) {
        self.write(|state| state.faults.clear());
    }

    /// The faults that were injected and not withdrawn, oldest first.
    pub fn faults(&self) -> Vec<(FaultId, Fault)> {
        self.read(|state| state.faults.all().map(|(id, fault)| (id, fault.clone())).collect())
    }

    /// The calls so far, oldest first, as far as the log goes back.
    pub fn calls(&self) -> Vec<Call> {
        self.read(|state| state.calls.all().cloned().collect())
    }

    /// The calls of one operation so far, oldest first, as far as the log goes back.
    pub fn calls_of(&self, operation: Operation) -> Vec<Call> {
        self.read(|state| {
            state
                .calls
                .all()
                .filter(|call| call.operation == operation)
                .cloned()
                .collect()
        })
    }

    /// How many calls of this operation there were.
    pub fn count(&self, operation: Operation) -> u64 {
        self.read(|state| state.calls.count(operation))
    }

    /// The calls that changed something, oldest first, as far as the log goes back.
    pub fn writes(&self) -> Vec<Call> {
        self.read(|state| {
            state
                .calls
                .all()
                .filter(|call| call.effect == Effect::Changed)
                .cloned()
                .collect()
        })
    }

    /// Forgets all calls; counters start at zero again.
    pub fn forget_calls(&self) {
        self.write(|state| state.calls.clear());
    }

    /// Waits until this holds; looks after every call and every change by the operator.
    pub async fn until(&self, holds: impl Fn(&Self) -> bool) {
        let mut changed = self.inner.changed.subscribe();
        while !holds(self) {
            // The sender lives as long as we do.
            let _ = changed.changed().await;
        }
    }

    /// Performs one call: logs it, waits and fails as the faults say, acts.
    pub(crate) async fn perform<T>(
        &self,
        request: Request,
        act: impl FnOnce(&mut State, &Verdict, Instant) -> Done<T>,
    ) -> T {
        let (number, verdict) = self.open(request);
        if !verdict.delay.is_zero() {
            tokio::time::sleep(verdict.delay).await;
        }
        self.until(|cloud| cloud.read(|state| !verdict.hangs.iter().any(|fault| state.faults.holds(*fault))))
            .await;
        self.write(|state| {
            let now = Instant::now();
            let Done {
                answer,
                effect,
                changes,
            } = act(state, &verdict, now);
            debug!(number, ?effect, ?changes, "performed");
            let capacity = state.settings.log_capacity;
            state
                .calls
                .close(number, now - self.inner.began, effect, changes, capacity);
            answer
        })
    }

    fn open(&self, request: Request) -> (u64, Verdict) {
        let service = request
            .service
            .as_ref()
            .map(|service| format!("{}/{}", service.namespace, service.name));
        let at = Instant::now() - self.inner.began;
        self.write(|state| {
            let subjects = service.as_ref().map_or(&request.names[..], std::slice::from_ref);
            let verdict = state.faults.judge(request.operation, subjects);
            (state.calls.open(request, at, state.settings.log_capacity), verdict)
        })
    }

    pub(crate) fn read<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.lock())
    }

    fn write<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let answer = change(&mut self.lock());
        self.inner.changed.send_replace(());
        answer
    }

    /// The state as of now.
    fn lock(&self) -> MutexGuard<'_, State> {
        let mut state = self.inner.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.balancers.settle(Instant::now());
        state
    }
}
