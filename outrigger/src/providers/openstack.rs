//! `--cloud-provider=openstack`.

use super::{
    Entry, Event, Metrics,
    Origin::{self, Go, Outrigger},
    Page,
};
use manager::{Provide, Registration, Setup};
use openstack::{config, load_balancers::annotations};
use operator::standalone::provider::{Changes, ClusterName, Config, Credentials, Needs};
use runtime::flags::{Section, Texts};
use std::sync::Arc;

pub const ENTRY: Entry = Entry {
    registration: Registration {
        programs: &["openstack-cloud-controller-manager"],
        ..Registration::new("openstack", || Box::<Flags>::default())
    },
    needs: Needs {
        config: Config::Needed,
        credentials: Credentials::File {
            variable: "OS_CLIENT_CONFIG_FILE",
            key: "clouds.yaml",
        },
        changes: Changes::Followed,
        cluster_name: ClusterName::Owns,
    },
    pages,
    policies: || annotations::TABLE.policies(),
    metrics: Some(Metrics {
        title: "With OpenStack: as in occm",
        register: |registry| openstack::metrics::Metrics::register_all(registry).map(drop),
    }),
    events: EVENTS,
};

#[derive(Default)]
struct Flags {
    user_agents: Texts,
}

impl Setup for Flags {
    fn sections(&mut self) -> Vec<Section<'_>> {
        let help = "A word to put before the User-Agent of calls to OpenStack. May be given several times.";
        vec![Section::new("OpenStack Client").flag("user-agent", &mut self.user_agents, help)]
    }

    fn provider(&self, start: &Provide<'_>) -> Result<Arc<dyn cloud::Provider>, String> {
        openstack::provider::start(openstack::provider::Start {
            file: start.config_file(),
            user_agents: &self.user_agents.0,
            gate: start.gate.clone(),
            registry: start.registry,
        })
    }
}

fn pages() -> Vec<Page> {
    let page = |name, text| Page { name, text };
    vec![
        page("openstack-config", config::reference_page()),
        page("openstack-annotations", annotations::TABLE.page()),
    ]
}

const EVENTS: &[Event] = &[
    event(
        Go,
        "LoadBalancerRename",
        "the name of the load balancer contains the name of another cluster: it is renamed",
    ),
    event(
        Go,
        "LoadBalancerFloatingIPSkipped",
        "the Service is IPv6, and floating IPs exist only for IPv4",
    ),
    event(
        Go,
        "LoadBalancerExternalNetworkSearchFailed",
        "no external network was found",
    ),
    event(
        Go,
        "LoadBalancerForcedInternal",
        "the load balancer is internal, because no external network was found",
    ),
    event(
        Go,
        "LoadBalancerSourceRangesIgnored",
        "this Octavia cannot restrict the addresses of clients",
    ),
    event(
        Go,
        "LoadBalancerAvailabilityZonesIgnored",
        "this Octavia is too old for availability zones",
    ),
    event(
        Go,
        "LoadBalancerLbMethodUnknown",
        "Octavia rejected the load-balancing method",
    ),
    event(
        Outrigger,
        "LoadBalancerMembersUnchanged",
        "Octavia accepted a change of members twice, and the members did not change",
    ),
    event(
        Outrigger,
        "LoadBalancerSecondFamilySkipped",
        "the second IP family of the Service is not available",
    ),
    event(
        Outrigger,
        "LoadBalancerHealthMonitorMissing",
        "`externalTrafficPolicy: Local` without a health monitor loses traffic",
    ),
    event(
        Outrigger,
        "LoadBalancerIPIgnored",
        "the load balancer keeps its address, although `loadBalancerIP` has another one",
    ),
    event(
        Outrigger,
        "LoadBalancerLeft",
        "`load-balancer-id` names another load balancer now: the previous one has the Service's name but not its UID, and is kept",
    ),
    event(
        Outrigger,
        "LoadBalancerNotLeft",
        "`load-balancer-id` names another load balancer now: the previous one is broken, and its release is retried",
    ),
    event(
        Outrigger,
        "LoadBalancerOfAnother",
        "the load balancer has the UID of another Service of this name: it is used, and kept when the Service is deleted",
    ),
];

const fn event(origin: Origin, reason: &'static str, when: &'static str) -> Event {
    Event { reason, when, origin }
}
