//! AWS's APIs. [`Api::call`] sends one action, [`Api::pages`] reads a list to its end; the files below have one method for each endpoint.
//!
//! A request is anything that serde can write, most often `json!`: `json!({"GroupId": ["sg-1"], "Filter": [filter("vpc-id", ["vpc-1"])]})`.
//! EC2 names its lists in the singular, the other services in the plural. Fields of answers have the names in the XML. The list of an answer is
//! a [`List`] without a default: an answer that lacks it is an error, and never an empty list.

pub mod caller;
pub mod ec2;
pub mod elb;
pub mod elbv2;
pub mod errors;
pub mod imds;
pub mod query;

pub use caller::{Caller, Page};
pub use query::{Done, List};

use crate::{
    auth::{self, Identity},
    cluster::Cluster,
    config::Config,
    metrics::Metrics,
    region,
    zones::Zones,
};
use cloud::{Error, Gate, Result};
use cloud_http::Idempotency;
use imds::Imds;
use query::Lists;
use serde::{Serialize, de::DeserializeOwned};
use std::sync::Arc;
use tokio::sync::OnceCell;

/// A service with a query API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    /// EC2, with its VPCs and security groups.
    Ec2,
    /// Classic load balancers.
    Elb,
    /// Network load balancers.
    ElbV2,
    /// Temporary credentials.
    Sts,
}

impl Service {
    /// As AWS's SDKs name it.
    pub fn id(self) -> &'static str {
        match self {
            Self::Ec2 => "EC2",
            Self::Elb => "Elastic Load Balancing",
            Self::ElbV2 => "Elastic Load Balancing v2",
            Self::Sts => "STS",
        }
    }

    /// The start of its host's name, which is also its name in signatures.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Ec2 => "ec2",
            Self::Elb | Self::ElbV2 => "elasticloadbalancing",
            Self::Sts => "sts",
        }
    }

    fn version(self) -> &'static str {
        match self {
            Self::Ec2 => "2016-11-15",
            Self::Elb => "2012-06-01",
            Self::ElbV2 => "2015-12-01",
            Self::Sts => "2011-06-15",
        }
    }

    fn lists(self) -> Lists {
        match self {
            Self::Ec2 => Lists::Flat,
            Self::Elb | Self::ElbV2 | Self::Sts => Lists::Members,
        }
    }

    /// The parameter that asks for the next page.
    fn page_token(self) -> &'static str {
        match self {
            Self::Ec2 => "NextToken",
            Self::Elb | Self::ElbV2 | Self::Sts => "Marker",
        }
    }
}

/// AWS, as one set of credentials sees it in one region.
pub struct Api {
    /// The configuration.
    pub config: Config,
    gate: Gate,
    metrics: Metrics,
    imds: Arc<Imds>,
    region: OnceCell<String>,
    callers: OnceCell<Callers>,
    cluster: OnceCell<Cluster>,
    pub(crate) zones: Zones,
}

struct Callers {
    ec2: Caller,
    elb: Caller,
    elb_v2: Caller,
    sts: Caller,
}

impl Api {
    /// An API that was not called yet.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the configuration cannot be used.
    pub fn new(config: Config, gate: &Gate, metrics: &Metrics) -> Result<Self> {
        Ok(Self {
            imds: Arc::new(Imds::new(&config, gate, metrics)?),
            config,
            gate: gate.clone(),
            metrics: metrics.clone(),
            region: OnceCell::new(),
            callers: OnceCell::new(),
            cluster: OnceCell::new(),
            zones: Zones::default(),
        })
    }

    /// Sends an action, and decodes the answer: [`Done`] if it has no content.
    ///
    /// # Errors
    /// As [`errors::explain`] says; see [`errors::code`] for codes that a caller acts on.
    pub async fn call<A: DeserializeOwned + Send>(
        &self,
        service: Service,
        action: &'static str,
        idempotency: Idempotency,
        request: &(impl Serialize + Sync),
    ) -> Result<A> {
        let caller = self.caller(service).await?;
        caller.call(action, idempotency, request).await
    }

    /// As [`Api::call`]; `None` if AWS itself says that the object does not exist.
    ///
    /// # Errors
    /// As [`Api::call`].
    pub async fn find<A: DeserializeOwned + Send>(
        &self,
        service: Service,
        action: &'static str,
        idempotency: Idempotency,
        request: &(impl Serialize + Sync),
    ) -> Result<Option<A>> {
        let caller = self.caller(service).await?;
        caller.find(action, idempotency, request).await
    }

    /// Reads a list to its end.
    ///
    /// # Errors
    /// As [`Api::call`]. There is no list unless it is complete.
    pub async fn pages<P: Page>(
        &self,
        service: Service,
        action: &'static str,
        request: &(impl Serialize + Sync),
    ) -> Result<Vec<P::Item>> {
        self.caller(service).await?.pages::<P>(action, request).await
    }

    /// The region.
    ///
    /// # Errors
    /// As the metadata service, if the configuration does not name the region.
    pub async fn region(&self) -> Result<&str> {
        let read = || async {
            match &self.config.region {
                Some(region) => Ok(region.clone()),
                None => self.imds.region().await,
            }
        };
        self.region.get_or_try_init(read).await.map(String::as_str)
    }

    /// The cluster: its tags, and its VPC.
    ///
    /// # Errors
    /// As EC2 and the metadata service, or if the cluster cannot be determined.
    pub async fn cluster(&self) -> Result<&Cluster> {
        self.cluster.get_or_try_init(|| Cluster::find(self)).await
    }

    /// The cluster, if it was determined before.
    pub fn known_cluster(&self) -> Option<&Cluster> {
        self.cluster.get()
    }

    /// The ID of the instance that this process runs on.
    ///
    /// # Errors
    /// As the metadata service.
    pub async fn own_instance_id(&self) -> Result<String> {
        self.imds.instance_id().await
    }

    async fn caller(&self, service: Service) -> Result<&Caller> {
        let callers = self.callers.get_or_try_init(|| self.connect()).await?;
        Ok(match service {
            Service::Ec2 => &callers.ec2,
            Service::Elb => &callers.elb,
            Service::ElbV2 => &callers.elb_v2,
            Service::Sts => &callers.sts,
        })
    }

    async fn connect(&self) -> Result<Callers> {
        let region = self.region().await?;
        let identity = Identity::of(&self.config, region, &self.imds, &self.gate, &self.metrics)?;
        let caller = |service| {
            let endpoint = region::endpoint(service, region, &self.config);
            let endpoint = endpoint.map_err(|reason| Error::invalid("endpoint", reason))?;
            let credentials = auth::signing(&identity, &endpoint);
            Caller::new(service, endpoint.url, Some(credentials), &self.gate, &self.metrics)
        };
        Ok(Callers {
            ec2: caller(Service::Ec2)?,
            elb: caller(Service::Elb)?,
            elb_v2: caller(Service::ElbV2)?,
            sts: caller(Service::Sts)?,
        })
    }
}
