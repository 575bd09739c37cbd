//! Everything that the cloud has, and how a request finds its service.

use crate::{
    Settings,
    barbican::Barbican,
    errors,
    exchange::{Ask, Outcome, Response},
    glance,
    keystone::{self, Identity},
    neutron::Neutron,
    nova::Nova,
    octavia::Octavia,
    service::{Service, operation},
};
pub(crate) use fakecloud::Now;
use fakecloud::{Access, Api, Exchange, Request};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::time::Instant;

/// Everything that the cloud has. Clouds can share their identity; its lock is taken last.
#[derive(Debug)]
pub struct State {
    pub(crate) settings: Settings,
    pub(crate) identity: Arc<Mutex<Identity>>,
    pub(crate) nova: Nova,
    pub(crate) neutron: Neutron,
    pub(crate) octavia: Octavia,
    pub(crate) barbican: Barbican,
}

impl State {
    pub(crate) fn new(settings: Settings, identity: Arc<Mutex<Identity>>) -> Self {
        Self {
            settings,
            identity,
            nova: Nova::default(),
            neutron: Neutron::default(),
            octavia: Octavia::default(),
            barbican: Barbican::default(),
        }
    }

    fn route(&mut self, ask: &Ask, now: Now) -> Outcome {
        match ask.service {
            Service::Keystone => keystone::answer(&mut self.identity(), ask, now.wall),
            Service::Nova => crate::nova::answer(self, ask, now),
            Service::Neutron => crate::neutron::answer(self, ask, now),
            Service::Octavia => crate::octavia::answer(self, ask, now),
            Service::Barbican => self.barbican.answer(ask),
            Service::Glance => glance::answer(ask),
        }
    }

    fn identity(&self) -> MutexGuard<'_, Identity> {
        self.identity.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Api for State {
    fn answer(&mut self, request: &Request, now: Now) -> Outcome {
        let mut ask = Ask::of(request).ok_or_else(|| Response::empty(404))?;
        let caller = self.identity().caller(&ask, now.wall);
        if caller.is_none() && !errors::is_open(&ask) {
            return Err(errors::unauthorized(&ask));
        }
        ask.caller = caller.unwrap_or_default();
        self.route(&ask, now)
    }

    fn label(&self, request: &Request, now: Now) -> Exchange {
        let Some(ask) = Ask::of(request) else {
            return Exchange::of(request);
        };
        let user = self.identity().caller(&ask, now.wall);
        let mut exchange = Exchange {
            service: ask.service.name(),
            operation: operation(ask.service, &ask.method, &ask.path),
            user: user.map(|caller| caller.user.to_string()),
            ..Exchange::of(request)
        };
        if ask.service == Service::Keystone {
            exchange.access = Access::Read;
        }
        if matches!(ask.service, Service::Keystone | Service::Barbican) {
            exchange.body = String::new();
        }
        exchange
    }

    fn error(&self, request: &Request, status: u16) -> Response {
        match Ask::of(request) {
            Some(ask) => errors::of_status(ask.service, status),
            None => Response::empty(status),
        }
    }

    fn settle(&mut self, now: Now) {
        for port in self.octavia.settle(now) {
            self.neutron.drop_port(port);
        }
    }

    fn next_due(&self) -> Option<Instant> {
        self.octavia.next_due()
    }
}
