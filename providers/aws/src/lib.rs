//! AWS: EC2 instances behind nodes, network and classic load balancers for Services, VPC routes, tags on instances.

#[expect(clippy::struct_field_names, reason = "fields have the names in the API")]
mod api;
pub mod auth;
mod cluster;
pub mod config;
pub mod ecr;
mod fargate;
mod instances;
mod load_balancers;
mod metrics;
pub mod permissions;
mod region;
mod routes;
mod security_groups;
pub mod surface;
mod tagging;
#[cfg(test)]
mod tests;
mod topology;
mod zones;

use api::Api;
use async_trait::async_trait;
use cloud::{ClusterMark, Error, Gate, LiveData, Result};
use cloud_http::Register;
use config::Config;
use instances::Instances;
use load_balancers::LoadBalancers;
pub use load_balancers::annotations;
use metrics::Metrics;
use routes::Routes;
use std::{collections::BTreeSet, sync::Arc};
use tagging::Tagging;
pub use tagging::{Options as TaggingOptions, md5_of};

/// Registers the metrics of this provider and of its calls.
///
/// # Errors
/// If the registry already has metrics of these names.
pub fn register_metrics(registry: &dyn Register) -> prometheus::Result<()> {
    Metrics::register(registry)?;
    tagging::Metrics::register(registry).map(drop)
}

/// AWS, as one set of credentials sees it in one region.
pub struct Aws {
    api: Arc<Api>,
    instances: Instances,
    load_balancers: LoadBalancers,
    routes: Routes,
    tagging: Option<Tagging>,
}

impl Aws {
    /// The provider. AWS is not called yet.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the configuration cannot be used.
    pub fn new(config: Config, tagging: Option<TaggingOptions>, gate: &Gate, registry: &dyn Register) -> Result<Self> {
        let taken = |error: prometheus::Error| Error::invalid("metrics", error.to_string());
        let metrics = Metrics::register(registry).map_err(taken)?;
        let tagging_metrics = tagging::Metrics::register(registry).map_err(taken)?;
        let api = Arc::new(Api::new(config, gate, &metrics)?);
        Ok(Self {
            instances: Instances::new(&api),
            load_balancers: LoadBalancers::new(&api),
            routes: Routes::new(&api),
            tagging: tagging.map(|options| Tagging::new(&api, options, tagging_metrics)),
            api,
        })
    }
}

/// The configuration does not change while the process runs; the first reload checks it. Credentials are read again when they expire.
#[async_trait]
impl cloud::Live for Aws {
    async fn reload(&self, _: &LiveData) -> Result<Vec<String>> {
        // A call that every controller needs, so that its answer is not lost.
        self.api.zones(&BTreeSet::from([""])).await?;
        self.api.cluster().await.map(|_| Vec::new())
    }
}

impl cloud::Provider for Aws {
    fn name(&self) -> &'static str {
        "aws"
    }

    fn instances(&self) -> &dyn cloud::Instances {
        &self.instances
    }

    fn load_balancers(&self) -> Option<&dyn cloud::LoadBalancers> {
        Some(&self.load_balancers)
    }

    fn routes(&self) -> Option<&dyn cloud::Routes> {
        Some(&self.routes)
    }

    fn live(&self) -> Option<&dyn cloud::Live> {
        Some(self)
    }

    fn node_tags(&self) -> Option<&dyn cloud::NodeTags> {
        let tagging = self.tagging.as_ref();
        tagging.map(|tagging| tagging as &dyn cloud::NodeTags)
    }

    /// The ID is in the configuration or in the tags of this process's instance, which are read with the first call. A cluster without an
    /// ID is refused then, unless the configuration allows it.
    fn cluster_mark(&self) -> ClusterMark {
        ClusterMark::Present
    }

    fn event_source(&self) -> &'static str {
        "aws-cloud-provider"
    }
}
