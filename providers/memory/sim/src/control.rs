//! A memory cloud, as tests control it.

use crate::{
    Balancer, Call, Effect, Machine, Operation, Settings,
    call::Request,
    fault::Verdict,
    state::{Done, State},
};
use cloud::{NodeRef, Power, Route, RouteTarget};
use fakecloud::Now;
use ipnet::IpNet;
use std::ops::Deref;
use tokio::time::Instant;
use tracing::debug;

/// A cloud. Clones share it. Calls, faults, latency and the clock are those of [`fakecloud::Cloud`].
#[derive(Debug, Clone)]
pub struct Cloud {
    kit: fakecloud::Cloud<State>,
}

impl Deref for Cloud {
    type Target = fakecloud::Cloud<State>;

    fn deref(&self) -> &Self::Target {
        &self.kit
    }
}

impl Default for Cloud {
    fn default() -> Self {
        Self::new()
    }
}

impl Cloud {
    /// An empty cloud with the default settings.
    pub fn new() -> Self {
        Self::with(Settings::default())
    }

    /// An empty cloud with these settings.
    pub fn with(settings: Settings) -> Self {
        Self {
            kit: fakecloud::Cloud::new(State::new(settings)),
        }
    }

    /// The current settings.
    pub fn settings(&self) -> Settings {
        self.read(|state| state.settings.clone())
    }

    /// Changes the settings from now on.
    pub fn configure(&self, change: impl FnOnce(&mut Settings)) {
        self.write(|state, _| change(&mut state.settings));
    }

    /// Starts a typical machine, with a provider ID and addresses of its own.
    pub fn boot(&self, name: &str) -> NodeRef {
        self.boot_as(name, |_| {})
    }

    /// Starts a typical machine after this change.
    pub fn boot_as(&self, name: &str, change: impl FnOnce(&mut Machine)) -> NodeRef {
        self.write(|state, _| {
            let mut machine = state.machines.typical(name);
            change(&mut machine);
            state.create_machine(machine)
        })
    }

    /// Starts this machine, in place of one of the same name. It gets a provider ID if it has none.
    pub fn create_machine(&self, machine: Machine) -> NodeRef {
        self.write(|state, _| state.create_machine(machine))
    }

    /// Changes anything about a machine; `None` if there is none of this name.
    pub fn modify_machine<T>(&self, name: &str, change: impl FnOnce(&mut Machine) -> T) -> Option<T> {
        self.write(|state, _| state.machines.find_mut(name).map(change))
    }

    /// Turns a machine on or off; `None` if there is none of this name.
    pub fn set_power(&self, name: &str, power: Power) -> Option<()> {
        self.modify_machine(name, |machine| machine.power = power)
    }

    /// Deletes a machine, and returns it.
    pub fn delete_machine(&self, name: &str) -> Option<Machine> {
        self.write(|state, _| state.machines.delete(name))
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
        self.write(|state, _| state.routes.insert(cluster, route));
    }

    /// Adds a route to a deleted machine.
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

    /// The calls of one operation, oldest first, as far as the record goes back.
    pub fn calls_of(&self, operation: Operation) -> Vec<Call> {
        let mut calls = self.calls();
        calls.retain(|call| call.operation == operation);
        calls
    }

    /// The calls that changed something, oldest first, as far as the record goes back.
    pub fn writes(&self) -> Vec<Call> {
        let mut calls = self.calls();
        calls.retain(|call| call.effect == Effect::Changed);
        calls
    }

    /// Waits until this holds. Checks after every call and every change.
    pub async fn until(&self, holds: impl Fn(&Self) -> bool) {
        self.kit.until(|| holds(self)).await;
    }

    /// Performs one call: records it, waits and fails as the faults ask for, acts.
    pub(crate) async fn perform<T>(
        &self,
        request: Request,
        act: impl FnOnce(&mut State, &Verdict, Instant) -> Done<T>,
    ) -> T {
        let act = |state: &mut State, verdict: &Verdict, now: Now| {
            let Done {
                answer,
                effect,
                changes,
            } = act(state, verdict, now.instant);
            debug!(?effect, ?changes, "performed");
            let close = move |call: &mut Request| {
                call.effect = effect;
                call.changes = changes;
            };
            (answer, close)
        };
        self.kit.perform(request, act).await
    }
}
