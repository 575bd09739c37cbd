//! What the scenario needs: a control plane, a cloud, and replicas of the manager.

use crate::clouds::Cloud;
use anyhow::{Context, Result};
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};
use lab::{ControlPlane, Guarded};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// The demo deletes a node that has just joined.
const GRACE: &str = "--node-deletion-grace-period=1s";

pub struct Fixture<'a> {
    plane: ControlPlane,
    pub client: Client,
    pub cloud: &'a dyn Cloud,
    program: &'a Path,
    config: PathBuf,
    replicas: Mutex<Vec<Guarded>>,
}

impl<'a> Fixture<'a> {
    /// With this program as the manager.
    pub fn new(plane: ControlPlane, cloud: &'a dyn Cloud, program: &'a Path) -> Result<Self> {
        let config = plane.dir().join("cloud-config");
        fs::write(&config, cloud.config())?;
        Ok(Self {
            client: plane.client(),
            plane,
            cloud,
            program,
            config,
            replicas: Mutex::default(),
        })
    }

    /// Starts one more replica of the manager.
    pub fn start_replica(&self) -> Result<()> {
        let mut replicas = self.replicas();
        let name = format!("manager-{}", replicas.len() + 1);
        let kubeconfig = self.plane.kubeconfig().display().to_string();
        let args = [
            "ccm".to_owned(),
            format!("--cloud-provider={}", self.cloud.provider()),
            format!("--cloud-config={}", self.config.display()),
            format!("--kubeconfig={kubeconfig}"),
            format!("--authentication-kubeconfig={kubeconfig}"),
            format!("--authorization-kubeconfig={kubeconfig}"),
            "--bind-address=127.0.0.1".to_owned(),
            "--secure-port=0".to_owned(),
            "--controllers=*,node-ipam-controller".to_owned(),
            "--allocate-node-cidrs".to_owned(),
            "--cluster-cidr=10.244.0.0/16".to_owned(),
            "--v=2".to_owned(),
            GRACE.to_owned(),
        ];
        let variables = self.cloud.variables();
        let replica = Guarded::spawn_with_env(self.plane.dir(), &name, self.program, &args, &variables)?;
        replicas.push(replica);
        Ok(())
    }

    fn replicas(&self) -> MutexGuard<'_, Vec<Guarded>> {
        self.replicas.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The holder of the Lease; empty if there is none.
    pub async fn leader(&self) -> Result<String> {
        let leases: Api<Lease> = Api::namespaced(self.client.clone(), "kube-system");
        let lease = leases.get_opt("cloud-controller-manager").await?;
        Ok(lease.and_then(|lease| lease.spec?.holder_identity).unwrap_or_default())
    }

    /// Waits until another replica than `old` is the leader.
    pub async fn leader_after(&self, old: &str) -> Result<String> {
        loop {
            let leader = self.leader().await?;
            if !leader.is_empty() && leader != old {
                return Ok(leader);
            }
            self.check_replicas()?;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Sends a signal to the replica with this identity.
    pub fn signal(&self, identity: &str, signal: &str) -> Result<()> {
        let has_identity =
            |replica: &&Guarded| fs::read_to_string(replica.log()).is_ok_and(|log| log.contains(&own(identity)));
        let replicas = self.replicas();
        let replica = replicas.iter().find(has_identity);
        replica.context("the leader is none of the replicas")?.signal(signal)
    }

    /// Fails if no replica runs, with the ends of their logs.
    fn check_replicas(&self) -> Result<()> {
        let replicas = self.replicas();
        if replicas.iter().any(Guarded::is_running) {
            return Ok(());
        }
        let logs: Vec<_> = replicas.iter().map(|replica| replica.log_tail(5)).collect();
        anyhow::bail!("no replica is running:\n{}", logs.join("\n"))
    }

    /// Commands for the user.
    pub fn how_to_inspect(&self) -> Result<String> {
        let kubectl = lab::assets::program("kubectl")?;
        let folder = self.plane.dir();
        let mut commands = vec![
            format!("export KUBECONFIG={}", self.plane.kubeconfig().display()),
            format!("{} get nodes,services,leases -A", kubectl.display()),
        ];
        commands.extend(self.cloud.how_to_inspect(folder)?);
        commands.push(format!("ls {}/*.log", folder.display()));
        Ok(format!(
            "\nEverything is still running. In another terminal:\n\n  {}\n\nCtrl-C stops everything.",
            commands.join("\n  ")
        ))
    }
}

/// A manager's log contains its own identity in this form.
fn own(identity: &str) -> String {
    format!("identity=\"{identity}\"")
}
