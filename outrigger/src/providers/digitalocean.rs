//! `--cloud-provider=digitalocean`.

use super::{Entry, Event, Metrics, Origin, Page};
use digitalocean::{
    DigitalOcean, annotations,
    config::{self, Config, Variables},
};
use manager::{Endpoint, Listener, Options, Provide, Registration, Setup};
use operator::standalone::provider::{self, Changes, ClusterName, Credentials, Needs};
use runtime::flags::Switch;
use std::sync::Arc;

pub const ENTRY: Entry = Entry {
    registration: Registration {
        programs: &["digitalocean-cloud-controller-manager"],
        defaults,
        ..Registration::new("digitalocean", || Box::new(Environment))
    },
    needs: Needs {
        config: provider::Config::Optional,
        credentials: Credentials::Variable {
            variable: "DO_ACCESS_TOKEN",
            key: "access-token",
        },
        changes: Changes::Unseen,
        cluster_name: ClusterName::Describes,
    },
    pages,
    policies: || annotations::TABLE.policies(),
    metrics: Some(Metrics {
        title: "With DigitalOcean: as in digitalocean-cloud-controller-manager",
        register: digitalocean::register_metrics,
    }),
    events: &[Event {
        reason: "LoadBalancerConfigError",
        when: "the nodes cannot serve the kind of load balancer that the Service asks for",
        origin: Origin::Go,
    }],
};

/// The Go program sets these flags itself: its clusters need no tag, and its role may not read `kube-system/extension-apiserver-authentication`.
fn defaults(options: &mut Options) {
    options.generic.cloud.allow_untagged_cloud = Switch::On;
    options.authentication.skip_lookup = Switch::On;
}

/// There are no flags: everything is in environment variables.
struct Environment;

impl Setup for Environment {
    fn provider(&self, start: &Provide<'_>) -> Result<Arc<dyn cloud::Provider>, String> {
        let provider = DigitalOcean::new(Config::new(&Variables::of_process())?, &start.gate, start.registry);
        Ok(Arc::new(provider.map_err(|error| error.report())?))
    }

    fn listeners(&self) -> Vec<Listener> {
        let listener = |setting, endpoint| Listener {
            setting,
            address: std::env::var(setting).unwrap_or_default(),
            endpoint,
        };
        vec![
            listener("DEBUG_ADDR", Endpoint::Health),
            listener("METRICS_ADDR", Endpoint::Metrics),
        ]
    }
}

fn pages() -> Vec<Page> {
    let page = |name, text| Page { name, text };
    vec![
        page("digitalocean-config", config::reference_page()),
        page("digitalocean-annotations", annotations::TABLE.page()),
    ]
}
