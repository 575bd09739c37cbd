//! A cluster with one manager, for suites that run on `OpenShift` and standalone.

use crate::{
    fixture::{Fixture, Place},
    objects::blurred,
    process_fixture::{Launch, Manager},
    standalone::cluster::Cluster,
    world::{World, name_on},
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, ops::Deref};

/// The state of a cluster: every operand by kind and name, and what the operator reports.
pub type Snapshot = BTreeMap<String, Value>;

/// The name of the manager's resource.
pub const LAB: &str = "lab";

/// Where the manager comes from.
#[derive(Debug, Clone, Copy)]
pub enum Flavour {
    /// A platform of `OpenShift`.
    OpenShift(&'static str),
    /// A resource of ours, on another Kubernetes.
    Standalone,
}

/// A cluster in which one manager should run.
pub enum Managed {
    /// With the name that its objects begin with.
    OpenShift(World, &'static str),
    /// Asked for by a resource that is named [`LAB`].
    Standalone(Cluster),
}

impl Flavour {
    /// A cluster before the operator's first start.
    pub async fn cluster(self) -> Managed {
        match self {
            Self::OpenShift(platform) => Managed::OpenShift(World::new(platform).await, name_on(platform)),
            Self::Standalone => {
                let cluster = Cluster::new().await;
                cluster.manager(LAB, json!({"provider": "memory"})).await;
                Managed::Standalone(cluster)
            }
        }
    }
}

impl Deref for Managed {
    type Target = Fixture;

    fn deref(&self) -> &Fixture {
        match self {
            Self::OpenShift(world, _) => world,
            Self::Standalone(cluster) => cluster,
        }
    }
}

impl Managed {
    /// The operator's command line.
    pub fn operator(&self) -> Launch {
        match self {
            Self::OpenShift(world, _) => world.common(world.operator()),
            Self::Standalone(cluster) => cluster.operator(),
        }
    }

    /// Waits until the manager's objects exist, lets its Pods run, and waits until the operator reports that.
    pub async fn rolled_out(&self, operator: &Manager) {
        match self {
            Self::OpenShift(world, name) => world.runs(operator, name).await,
            Self::Standalone(cluster) => {
                let look = async || cluster.is_rolled_out(LAB).await;
                operator.until("the roll-out", look).await;
            }
        }
    }

    /// The current state, without the parts that differ with each certificate.
    pub async fn snapshot(&self) -> Snapshot {
        match self {
            Self::OpenShift(world, _) => blurred(world.snapshot().await),
            Self::Standalone(cluster) => cluster.snapshot(LAB).await,
        }
    }

    /// The places of the operands: on `OpenShift` all objects that the operator has written, standalone all that it lists.
    pub async fn places(&self) -> Vec<Place> {
        match self {
            Self::OpenShift(world, _) => world.places().await,
            Self::Standalone(cluster) => cluster.places(LAB).await,
        }
    }
}
