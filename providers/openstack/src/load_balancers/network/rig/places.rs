//! Where a rig can be.

use super::{Audience, Place, Rig};
use futures::FutureExt;
use openstack_sim::{Cloud, Sim};
use std::panic::{AssertUnwindSafe, resume_unwind};

/// A rig on a simulation of its own. The simulation ends with the server, so that is kept.
pub(crate) struct Simulated {
    pub rig: Rig,
    pub cloud: Cloud,
    _sim: Sim,
}

pub(crate) async fn simulated() -> Simulated {
    let cloud = Cloud::new();
    let sim = Sim::start(&cloud).await.expect("a simulation");
    let place = Place {
        auth_url: &sim.auth_url(),
        project: "demo",
    };
    let mut rig = Rig::new(&place).await;
    rig.open(Audience::All).await;
    Simulated { rig, cloud, _sim: sim }
}

/// Runs something in a project of its own on the real services, and leaves no external network behind.
pub(crate) async fn real(run: impl AsyncFnOnce(&Rig)) {
    let cloud = tokio::task::spawn_blocking(lab::openstack::OpenStack::shared)
        .await
        .expect("the lab");
    let project = cloud.project(&lab::unique("neutron")).await.expect("a project");
    let place = Place {
        auth_url: &cloud.keystone(lab::openstack::Region::Plain),
        project: &project.tenant().name,
    };
    let mut rig = Rig::new(&place).await;
    rig.open(Audience::Project).await;
    let done = AssertUnwindSafe(run(&rig)).catch_unwind().await;
    rig.close().await;
    if let Err(panic) = done {
        resume_unwind(panic);
    }
}

/// Runs each of these functions on the simulation, and, with `--ignored`, on the real services.
macro_rules! scenarios {
    ($($name:ident)+) => {
        mod on_the_simulation {
            $(
                #[tokio::test]
                async fn $name() {
                    let place = $crate::load_balancers::network::rig::simulated().await;
                    super::$name(&place.rig).await;
                    assert_eq!(place.cloud.unknown(), Vec::<String>::new());
                    assert_eq!(place.cloud.unrecorded(), Vec::<String>::new());
                }
            )+
        }

        mod on_the_real_services {
            $(
                #[tokio::test]
                #[ignore = "takes the lab: make test-openstack runs it"]
                async fn $name() {
                    $crate::load_balancers::network::rig::real(super::$name).await;
                }
            )+
        }
    };
}

pub(crate) use scenarios;
