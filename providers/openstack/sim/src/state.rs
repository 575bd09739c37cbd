//! Everything that the cloud has, and how a request finds its service.

use crate::{
    Settings,
    barbican::Barbican,
    call::CallLog,
    exchange::{Ask, Outcome, unknown},
    fault::Faults,
    glance,
    neutron::Neutron,
    nova::Nova,
    octavia::Octavia,
    service::Service,
};
use jiff::Timestamp;
use tokio::time::Instant;

/// Everything but identity, which clouds can share.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) settings: Settings,
    pub(crate) nova: Nova,
    pub(crate) neutron: Neutron,
    pub(crate) octavia: Octavia,
    pub(crate) barbican: Barbican,
    pub(crate) faults: Faults,
    pub(crate) calls: CallLog,
    /// What was asked and nobody taught us.
    pub(crate) unknown: Vec<String>,
}

/// When it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Now {
    pub(crate) wall: Timestamp,
    pub(crate) instant: Instant,
}

impl State {
    /// Answers a request to any service but Keystone.
    pub(crate) fn answer(&mut self, ask: &Ask, now: Now) -> Outcome {
        match ask.service {
            Service::Keystone => Err(unknown(ask)),
            Service::Nova => crate::nova::answer(self, ask, now),
            Service::Neutron => crate::neutron::answer(self, ask, now),
            Service::Octavia => crate::octavia::answer(self, ask, now),
            Service::Barbican => self.barbican.answer(ask),
            Service::Glance => glance::answer(ask),
        }
    }

    /// Lets happen what was due by now.
    pub(crate) fn settle(&mut self, now: Now) {
        for port in self.octavia.settle(now) {
            self.neutron.drop_port(port);
        }
    }
}
