//! Injects faults, and checks which of them had an effect.

use crate::endpoints;
use openstack_sim::{Cloud, Fault, FaultId, Service};
use std::collections::BTreeMap;

/// The call of more than one service: each of them fails.
const SHARED: &str = "version_list";

/// How often a call is sent before it is given up.
const ATTEMPTS: u64 = 4;

/// How often an endpoint fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// Once in each phase that calls it.
    EveryPhase,
    /// Once in a lifecycle: each fault takes a while.
    Once,
    /// The same, for as long as a call is retried.
    Lasting,
}

/// One kind of fault for all endpoints.
pub struct Injection {
    /// None in a lifecycle without faults.
    fault: Option<fn() -> Fault>,
    pace: Pace,
    spared: &'static [&'static str],
    injected: BTreeMap<(String, Option<Service>), Vec<FaultId>>,
    cloud: Option<Cloud>,
}

impl Injection {
    /// No faults.
    pub fn none() -> Self {
        Self {
            fault: None,
            pace: Pace::EveryPhase,
            spared: &[],
            injected: BTreeMap::new(),
            cloud: None,
        }
    }

    /// Every endpoint fails like this, except for some.
    pub fn new(fault: fn() -> Fault, pace: Pace, spared: &'static [&'static str]) -> Self {
        Self {
            fault: Some(fault),
            pace,
            spared,
            ..Self::none()
        }
    }

    /// Whether calls hang: then the deadline is short.
    pub fn hangs(&self) -> bool {
        self.fault.is_some_and(|fault| fault() == Fault::hang())
    }

    /// Lets the next call of every kind fail.
    pub fn begin(&mut self, cloud: &Cloud) {
        cloud.withdraw_all();
        self.cloud = Some(cloud.clone());
        let Some(fault) = self.fault else { return };
        let is_meant = |name: &String| !self.spared.contains(&name.as_str());
        for name in endpoints::all().into_iter().filter(is_meant).collect::<Vec<_>>() {
            for service in services(&name) {
                let times = if self.pace == Pace::Lasting { ATTEMPTS } else { 1 };
                let fault = fault().operation(&name).times(times);
                let fault = service.map_or(fault.clone(), |service| fault.service(service));
                self.inject(cloud, (name.clone(), service), fault);
            }
        }
    }

    fn inject(&mut self, cloud: &Cloud, call: (String, Option<Service>), fault: Fault) {
        let before = self.injected.entry(call).or_default();
        let has_struck = before.iter().any(|id| cloud.struck(*id) > 0);
        if self.pace == Pace::EveryPhase || !has_struck {
            before.push(cloud.inject(fault));
        }
    }

    /// The endpoints that never failed.
    pub fn missed(&self) -> Vec<String> {
        let struck = |ids: &[FaultId]| {
            let cloud = self.cloud.as_ref();
            cloud.is_some_and(|cloud| ids.iter().any(|id| cloud.struck(*id) > 0))
        };
        let missed = self.injected.iter().filter(|(_, ids)| !struck(ids));
        missed
            .map(|((name, service), _)| match service {
                Some(service) => format!("{name} of {service}"),
                None => name.clone(),
            })
            .collect()
    }
}

fn services(name: &str) -> Vec<Option<Service>> {
    if name == SHARED {
        return [Service::Keystone, Service::Octavia].map(Some).into();
    }
    vec![None]
}
