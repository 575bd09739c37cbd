//! Bad luck, and where it has struck.

use crate::endpoints;
use openstack_sim::{Cloud, Fault, FaultId, Service};
use std::collections::BTreeMap;

/// The call that more than one service has: each of them fails.
const SHARED: &str = "version_list";

/// How often a call is sent before it is given up.
const ATTEMPTS: u64 = 4;

/// How often an endpoint fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// Once in each scene that calls it.
    EveryScene,
    /// Once in a life: each time takes a while.
    OncePerLife,
    /// The same, for as long as a call is tried.
    Lasting,
}

/// One kind of bad luck.
pub struct Curse {
    /// None in a life that goes well.
    fault: Option<fn() -> Fault>,
    pace: Pace,
    spared: &'static [&'static str],
    cast: BTreeMap<(String, Option<Service>), Vec<FaultId>>,
    cloud: Option<Cloud>,
}

impl Curse {
    /// Everything goes well.
    pub fn none() -> Self {
        Self {
            fault: None,
            pace: Pace::EveryScene,
            spared: &[],
            cast: BTreeMap::new(),
            cloud: None,
        }
    }

    /// Everything fails like this, except for what is spared.
    pub fn new(fault: fn() -> Fault, pace: Pace, spared: &'static [&'static str]) -> Self {
        Self {
            fault: Some(fault),
            pace,
            spared,
            ..Self::none()
        }
    }

    /// Whether a call that is given up is a part of it: then it is to be given up soon.
    pub fn hangs(&self) -> bool {
        self.fault.is_some_and(|fault| fault() == Fault::hang())
    }

    /// Makes the next call of every kind fail.
    pub fn cast(&mut self, cloud: &Cloud) {
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
        let before = self.cast.entry(call).or_default();
        let has_struck = before.iter().any(|id| cloud.struck(*id) > 0);
        if self.pace == Pace::EveryScene || !has_struck {
            before.push(cloud.inject(fault));
        }
    }

    /// What it was cast on and never struck.
    pub fn missed(&self) -> Vec<String> {
        let struck = |ids: &[FaultId]| {
            let cloud = self.cloud.as_ref();
            cloud.is_some_and(|cloud| ids.iter().any(|id| cloud.struck(*id) > 0))
        };
        let missed = self.cast.iter().filter(|(_, ids)| !struck(ids));
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
