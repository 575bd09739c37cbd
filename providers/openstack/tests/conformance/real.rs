//! The real Keystone, Nova, Neutron and Octavia of the lab.

use crate::{
    operator::{Operator, Place},
    support,
    world::{Kind, OpenStackWorld},
};
use async_trait::async_trait;
use conformance::Stop;
use lab::openstack::{OpenStack, Region, VARIABLE};
use openstack::config::Config;
use std::{sync::Arc, time::Duration};

/// The lab, with a project and a place that all cases share.
pub struct Real {
    operator: Arc<Operator>,
    place: Place,
    config: Config,
}

struct Lab {
    operator: Arc<Operator>,
    place: Place,
}

#[async_trait]
impl Kind for Lab {
    async fn boot(&self, name: &str) -> Result<String, Stop> {
        self.operator.boot(name, &self.place).await
    }

    async fn delete(&self, id: &str) -> Result<(), Stop> {
        self.operator.delete_server(id).await
    }

    async fn shut_off(&self, id: &str) -> Result<(), Stop> {
        self.operator.shut_off(id).await
    }

    fn most_machines(&self) -> usize {
        4
    }

    fn patience(&self) -> Duration {
        Duration::from_mins(4)
    }

    async fn slow_load_balancers(&self, provisioning: Duration) -> Result<(), Stop> {
        if std::env::var_os(VARIABLE).is_some() {
            return Err(Stop::unable(
                "make load balancers slow, because others use this cloud, too",
            ));
        }
        // Below half a second its driver is faster than Octavia's own bookkeeping.
        let delay = provisioning.max(Duration::from_millis(500));
        let set = OpenStack::shared().set_lb_delay(delay);
        set.map_err(|error| Stop::failed(error.to_string()))
    }
}

impl Real {
    /// Attaches to the lab, or starts it.
    pub async fn connect() -> Result<Self, Stop> {
        let cloud = tokio::task::spawn_blocking(OpenStack::shared).await.map_err(failed)?;
        let project = cloud.project(&lab::unique("conformance")).await.map_err(failed)?;
        let mut config = support::config(
            &cloud.keystone(Region::Plain),
            &project.tenant().name,
            Region::Plain.name(),
        );
        let operator = Operator::new(&config)?;
        let place = operator.furnish("conformance").await?;
        config.router_id = Some(place.router.clone());
        "lab".clone_into(&mut config.load_balancer.lb_provider);
        config.load_balancer.networks.subnet_id.clone_from(&place.subnet);
        Ok(Self {
            operator: Arc::new(operator),
            place,
            config,
        })
    }

    /// The world of one case.
    pub fn world(&self) -> OpenStackWorld {
        OpenStackWorld {
            operator: Arc::clone(&self.operator),
            config: self.config.clone(),
            kind: Arc::new(Lab {
                operator: Arc::clone(&self.operator),
                place: self.place.clone(),
            }),
        }
    }

    /// Takes away what [`Real::connect`] made.
    pub async fn clear(&self) -> Result<(), Stop> {
        self.operator.clear(&self.place).await
    }
}

fn failed(error: impl std::fmt::Display) -> Stop {
    Stop::failed(error.to_string())
}
