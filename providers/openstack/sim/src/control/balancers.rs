//! Load balancers, as others see and change them.

use super::{
    Net,
    balancer_views::{self as views, LoadBalancerView},
};
use crate::{Cloud, Provisioning, exchange::Ask, octavia, state::State};
use fakecloud::{Model, Request, Response};
use http::Method;
use serde_json::{Value, json};
use uuid::Uuid;

impl Cloud {
    /// The load balancers, of all projects.
    pub fn load_balancers(&self) -> Vec<LoadBalancerView> {
        self.read(|state| {
            state
                .octavia
                .balancers
                .keys()
                .filter_map(|id| views::balancer(&state.octavia, *id))
                .collect()
        })
    }

    /// The load balancer with this ID.
    pub fn load_balancer(&self, id: Uuid) -> Option<LoadBalancerView> {
        self.read(|state| views::balancer(&state.octavia, id))
    }

    /// The load balancers of this name.
    pub fn load_balancers_named(&self, name: &str) -> Vec<LoadBalancerView> {
        self.load_balancers()
            .into_iter()
            .filter(|balancer| balancer.name == name)
            .collect()
    }

    /// Makes a load balancer of the project `demo` that is ready at once, with whatever else the API takes
    /// (`{"tags": […], "listeners": […]}`).
    ///
    /// # Errors
    /// Octavia's error.
    pub fn create_load_balancer(&self, name: &str, net: &Net, rest: &Value) -> Result<Uuid, Value> {
        let mut body = json!({"name": name, "vip_subnet_id": net.subnet});
        for (name, value) in rest.as_object().into_iter().flatten() {
            body[name] = value.clone();
        }
        let body = json!({"loadbalancer": body}).to_string();
        let request = Request::new(Method::POST, "/load-balancer/v2.0/lbaas/loadbalancers", body);
        let mut ask = Ask::of(&request).ok_or(Value::Null)?;
        ask.caller = self.caller("demo");
        let body = |response: Response| serde_json::from_slice::<Value>(&response.body).unwrap_or_default();
        self.write(|state, now| {
            let view = octavia::answer(state, &ask, now).map(body).map_err(body)?;
            let id = view["loadbalancer"]["id"]
                .as_str()
                .and_then(|id| Uuid::parse_str(id).ok())
                .unwrap_or_default();
            state.octavia.hurry(id);
            state.settle(now);
            Ok(id)
        })
    }

    /// Removes a load balancer and everything in it at once.
    pub fn delete_load_balancer(&self, id: Uuid) {
        self.write(|state, _| {
            if let Some(port) = state.octavia.drop_balancer(id) {
                state.neutron.drop_port(port);
            }
        });
    }

    /// Sets the state of a load balancer; a pending state is kept until the next call.
    pub fn set_load_balancer_status(&self, id: Uuid, status: Provisioning) {
        self.write(|state, _| {
            if let Some(balancer) = state.octavia.balancers.get_mut(&id) {
                balancer.common.provisioning = status;
                balancer.pending = None;
            }
        });
    }

    /// Makes what a load balancer waits for be over now.
    pub fn settle_load_balancer(&self, id: Uuid) {
        self.write(|state, now| {
            state.octavia.hurry(id);
            state.settle(now);
        });
    }

    /// Gives a load balancer these tags, and no others.
    pub fn set_load_balancer_tags(&self, id: Uuid, tags: &[&str]) {
        self.change_balancer(id, |state| {
            if let Some(balancer) = state.octavia.balancers.get_mut(&id) {
                balancer.common.tags = tags.iter().map(ToString::to_string).collect();
            }
        });
    }

    /// Gives a load balancer another name.
    pub fn rename_load_balancer(&self, id: Uuid, name: &str) {
        self.change_balancer(id, |state| {
            if let Some(balancer) = state.octavia.balancers.get_mut(&id) {
                name.clone_into(&mut balancer.common.name);
            }
        });
    }

    /// Gives a listener these tags, and no others.
    pub fn set_listener_tags(&self, id: Uuid, tags: &[&str]) {
        let Some(balancer) = self.read(|state| state.octavia.listeners.get(&id).map(|listener| listener.balancer))
        else {
            return;
        };
        self.change_balancer(balancer, |state| {
            if let Some(listener) = state.octavia.listeners.get_mut(&id) {
                listener.common.tags = tags.iter().map(ToString::to_string).collect();
            }
        });
    }

    /// Deletes a listener at once; its pool is kept.
    pub fn delete_listener(&self, id: Uuid) {
        let Some(balancer) = self.read(|state| state.octavia.listeners.get(&id).map(|listener| listener.balancer))
        else {
            return;
        };
        self.change_balancer(balancer, |state| drop(state.octavia.listeners.remove(&id)));
    }

    /// Removes a pool and everything in it at once.
    pub fn delete_pool(&self, id: Uuid) {
        let Some(balancer) = self.read(|state| state.octavia.pools.get(&id).map(|pool| pool.balancer)) else {
            return;
        };
        self.change_balancer(balancer, |state| {
            state.octavia.pools.remove(&id);
            state.octavia.sweep();
        });
    }

    /// Removes a member at once.
    pub fn delete_member(&self, id: Uuid) {
        let found = self.read(|state| {
            let member = state.octavia.members.get(&id)?;
            state.octavia.pools.get(&member.pool).map(|pool| pool.balancer)
        });
        let Some(balancer) = found else { return };
        self.change_balancer(balancer, |state| drop(state.octavia.members.remove(&id)));
    }

    /// Changes something in a load balancer as its API would: the time of its last change moves.
    fn change_balancer(&self, id: Uuid, change: impl FnOnce(&mut State)) {
        self.write(|state, now| {
            change(state);
            if let Some(balancer) = state.octavia.balancers.get_mut(&id) {
                balancer.common.updated = Some(now.wall);
            }
        });
    }
}
