//! The real Keystone, Nova, Neutron and Octavia of the lab.

use crate::{
    fixture,
    operator::{Operator, Place},
    world::{Kind, OpenStackWorld},
};
use async_trait::async_trait;
use conformance::{Stop, WriteFault};
use futures::future::try_join_all;
use lab::openstack::{Mark, OpenStack, Region, Spoilt};
use openstack::config::Config;
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// How many cases can run at the same time.
pub const LANES: usize = 3;
/// The number of machines of each case. All of them boot with one request before the first case: one by one they would
/// take several times as long, and no case depends on their number.
const MACHINES: usize = 4;

/// The lab, with a project that all cases share; it is deleted with the cloud.
pub struct Real {
    cloud: &'static OpenStack,
    operator: Arc<Operator>,
    config: Config,
    free: Lanes,
}

/// The unused lanes.
type Lanes = Arc<Mutex<Vec<Lane>>>;

/// A place for one case at a time. A server takes seconds to boot, so unused servers wait here for the next case.
struct Lane {
    place: Place,
    idle: Vec<String>,
}

/// A lane, while a case uses it.
struct Lab {
    cloud: &'static OpenStack,
    operator: Arc<Operator>,
    lane: Mutex<Option<Lane>>,
    free: Lanes,
    began: Mark,
    agent: String,
}

impl Real {
    /// Attaches to the lab, or starts it.
    pub async fn connect() -> Result<Self, Stop> {
        let cloud = tokio::task::spawn_blocking(OpenStack::shared).await.map_err(failed)?;
        let project = cloud.project(&lab::unique("conformance")).await.map_err(failed)?;
        let mut config = fixture::config(
            &cloud.keystone(Region::Plain),
            &project.tenant().name,
            Region::Plain.name(),
        );
        "lab".clone_into(&mut config.load_balancer.lb_provider);
        let operator = Arc::new(Operator::new(&config)?);
        let lanes = (0..LANES).map(|number| lane(&operator, number));
        Ok(Self {
            cloud,
            config,
            free: Arc::new(Mutex::new(try_join_all(lanes).await?)),
            operator,
        })
    }

    /// The world of one case; there can be [`LANES`] of them at a time.
    pub async fn world(&self) -> Result<OpenStackWorld, Stop> {
        let began = self.cloud.mark().await.map_err(failed)?;
        let lane = locked(&self.free)
            .pop()
            .ok_or_else(|| Stop::failed("no lane is free"))?;
        let mut config = self.config.clone();
        config.router_id = Some(lane.place.router.clone());
        config.load_balancer.networks.subnet_id.clone_from(&lane.place.subnet);
        let agent = lab::unique("case");
        let kind = Lab {
            cloud: self.cloud,
            operator: Arc::clone(&self.operator),
            lane: Mutex::new(Some(lane)),
            free: Arc::clone(&self.free),
            began,
            agent: agent.clone(),
        };
        Ok(OpenStackWorld::new(
            Arc::clone(&self.operator),
            config,
            agent,
            Arc::new(kind),
        ))
    }
}

async fn lane(operator: &Operator, number: usize) -> Result<Lane, Stop> {
    let place = operator.create_network(&format!("lane-{number}")).await?;
    let idle = operator.boot(&format!("idle-{number}"), MACHINES, &place).await?;
    Ok(Lane { place, idle })
}

impl Lab {
    /// The lane, which exists until the end.
    fn lane<T>(&self, look: impl FnOnce(&mut Lane) -> T) -> T {
        look(locked(&self.lane).as_mut().expect("there until the end"))
    }
}

#[async_trait]
impl Kind for Lab {
    async fn boot(&self, name: &str) -> Result<String, Stop> {
        if let Some(id) = self.lane(|lane| lane.idle.pop()) {
            self.operator.rename(&id, name).await?;
            return Ok(id);
        }
        let place = self.lane(|lane| lane.place.clone());
        let mut ids = self.operator.boot(name, 1, &place).await?;
        ids.pop().ok_or_else(|| Stop::failed("no server"))
    }

    async fn delete(&self, id: &str) -> Result<(), Stop> {
        self.operator.delete_server(id).await
    }

    async fn give_back(&self, id: &str) -> Result<(), Stop> {
        match self.operator.status(id).await?.as_deref() {
            None => Ok(()),
            Some("ACTIVE") => {
                self.lane(|lane| lane.idle.push(id.to_owned()));
                Ok(())
            }
            Some(_) => self.delete(id).await,
        }
    }

    async fn shut_off(&self, id: &str) -> Result<(), Stop> {
        self.operator.shut_off(id).await
    }

    fn most_machines(&self) -> usize {
        MACHINES
    }

    fn patience(&self) -> Duration {
        Duration::from_mins(4)
    }

    async fn count_writes(&self) -> Result<u64, Stop> {
        let requests = self.cloud.requests_since(self.began).await.map_err(failed)?;
        let ours = requests.iter().filter(|request| request.agent.contains(&self.agent));
        let writes = ours.filter(|request| request.method != "GET" && !request.path.ends_with("/auth/tokens"));
        Ok(writes.count() as u64)
    }

    async fn slow_load_balancers(&self, names: &[String], provisioning: Duration) -> Result<(), Stop> {
        // Below half a second its driver is faster than Octavia's own bookkeeping.
        let delay = provisioning.max(Duration::from_millis(500));
        let set = |name: &String| self.cloud.set_lb_delay_of(name, delay).map_err(failed);
        names.iter().try_for_each(set)
    }

    async fn spoil_next_write(&self, fault: WriteFault) -> Result<(), Stop> {
        let spoilt = match fault {
            WriteFault::Fails => Spoilt::Refused,
            WriteFault::LosesAnswer => Spoilt::AnswerLost,
            WriteFault::FailsHalfway => return Err(Stop::unable("stop halfway: a load balancer is made in one call")),
        };
        self.cloud.spoil_next_write(&self.agent, spoilt).map_err(failed)
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        locked(&self.free).extend(locked(&self.lane).take());
    }
}

fn locked<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

fn failed(error: impl std::fmt::Display) -> Stop {
    Stop::failed(format!("{error:#}"))
}
