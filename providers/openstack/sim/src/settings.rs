//! How the cloud behaves without faults.

use crate::exchange::Fields;
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// How a [`crate::Cloud`] behaves without faults.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How long a load balancer is `PENDING_*` after each change.
    pub balancer_delay: Duration,
    /// How many of the next changes of load balancers end in `ERROR`.
    pub balancer_failures: u32,
    /// The newest version of Octavia's API, `2.<this>`.
    pub octavia_minor: u32,
    /// The provider of load balancers that name none.
    pub octavia_provider: String,
    /// The providers that load balancers can name.
    pub octavia_providers: Vec<String>,
    /// The flavors that load balancers can name, by ID.
    pub octavia_flavors: BTreeSet<String>,
    /// The availability zones that load balancers can name.
    pub octavia_zones: BTreeSet<String>,
    /// The newest microversion of Nova's API, `2.<this>`.
    pub nova_minor: u32,
    /// How many servers a page has at most.
    pub nova_page: usize,
    /// How many objects a page of Neutron has at most; `None` is no limit.
    pub neutron_page: Option<usize>,
    /// How many objects a page of Octavia has at most; `None` is no limit.
    pub octavia_page: Option<usize>,
    /// The extensions of Neutron that are off.
    pub extensions_off: BTreeSet<String>,
    /// How many of a resource a project may have, by Neutron's and Octavia's names (`port`, `floatingip`, `security_group`,
    /// `security_group_rule`, `load_balancer`, `listener`, `pool`, `member`, `health_monitor`, …); none is no limit. With the
    /// ID of a project and a slash before the name it is that project's.
    pub quotas: BTreeMap<String, usize>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            balancer_delay: Duration::ZERO,
            balancer_failures: 0,
            octavia_minor: 30,
            octavia_provider: "amphora".into(),
            octavia_providers: ["amphora", "octavia", "ovn", "lab"].map(str::to_owned).into(),
            octavia_flavors: BTreeSet::new(),
            octavia_zones: BTreeSet::new(),
            nova_minor: 103,
            nova_page: 1000,
            neutron_page: None,
            octavia_page: Some(1000),
            extensions_off: BTreeSet::new(),
            quotas: BTreeMap::new(),
        }
    }
}

impl Settings {
    /// How many of a resource a project may have.
    pub(crate) fn quota(&self, project: &str, resource: &str) -> Option<usize> {
        let own = self.quotas.get(&format!("{project}/{resource}"));
        own.or_else(|| self.quotas.get(resource)).copied()
    }

    /// Sets what a project may have; below zero is no limit.
    pub(crate) fn set_quotas(&mut self, project: &str, given: &Fields) {
        for (resource, most) in given {
            let key = format!("{project}/{resource}");
            match most.as_u64().and_then(|most| usize::try_from(most).ok()) {
                Some(most) => self.quotas.insert(key, most),
                None => self.quotas.remove(&key),
            };
        }
    }

    /// Takes back what was set for a project.
    pub(crate) fn clear_quotas(&mut self, project: &str) {
        let own = format!("{project}/");
        self.quotas.retain(|key, _| !key.starts_with(&own));
    }
}
