//! The environments of a Neutron.

use super::{Login, Neutron, Visibility};
use futures::FutureExt;
use openstack_sim::{Cloud, Sim};
use std::panic::{AssertUnwindSafe, resume_unwind};

/// A neutron on a simulation of its own. The simulation ends with the server, so that is kept.
pub(crate) struct Simulated {
    pub neutron: Neutron,
    pub cloud: Cloud,
    _sim: Sim,
}

pub(crate) async fn simulated() -> Simulated {
    let cloud = Cloud::new();
    let sim = Sim::start(&cloud).await.expect("a simulation");
    let login = Login {
        auth_url: &sim.auth_url(),
        project: "demo",
    };
    let mut neutron = Neutron::new(&login).await;
    neutron.create_external_network(Visibility::Everyone).await;
    Simulated {
        neutron,
        cloud,
        _sim: sim,
    }
}

/// Runs a test in a project of its own on the real services, and deletes its external network.
pub(crate) async fn real(run: impl AsyncFnOnce(&Neutron)) {
    let cloud = tokio::task::spawn_blocking(lab::openstack::OpenStack::shared)
        .await
        .expect("the lab");
    let project = cloud.project(&lab::unique("neutron")).await.expect("a project");
    let login = Login {
        auth_url: &cloud.keystone(lab::openstack::Region::Plain),
        project: &project.tenant().name,
    };
    let mut neutron = Neutron::new(&login).await;
    neutron.create_external_network(Visibility::Project).await;
    let done = AssertUnwindSafe(run(&neutron)).catch_unwind().await;
    neutron.delete_external_network().await;
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
                    let environment = $crate::load_balancers::tests::neutron::simulated().await;
                    super::$name(&environment.neutron).await;
                    assert_eq!(environment.cloud.unknown(), Vec::<String>::new());
                    assert_eq!(environment.cloud.unrecorded(), Vec::<String>::new());
                }
            )+
        }

        mod on_the_real_services {
            $(
                #[tokio::test]
                #[ignore = "takes the lab: make test-openstack runs it"]
                async fn $name() {
                    $crate::load_balancers::tests::neutron::real(super::$name).await;
                }
            )+
        }
    };
}

pub(crate) use scenarios;
