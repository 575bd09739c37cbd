//! What the story needs: a control plane, a cloud, and three replicas of the manager.

use super::clouds::Cloud;
use anyhow::{Context, Result};
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};
use lab::{ControlPlane, Guarded};
use std::{fs, path::PathBuf, sync::Mutex, time::Duration};

/// Short enough for a demo: a node that has just joined may be deleted in it.
const GRACE: &str = "--node-deletion-grace-period=1s";

pub struct Stage<'a> {
    plane: ControlPlane,
    pub client: Client,
    pub cloud: &'a dyn Cloud,
    config: PathBuf,
    replicas: Mutex<Vec<Guarded>>,
}

impl<'a> Stage<'a> {
    /// Puts a control plane and a cloud together.
    pub fn set(plane: ControlPlane, cloud: &'a dyn Cloud) -> Result<Self> {
        let config = plane.dir().join("cloud-config");
        fs::write(&config, cloud.config())?;
        Ok(Self {
            client: plane.client(),
            plane,
            cloud,
            config,
            replicas: Mutex::default(),
        })
    }

    /// Starts one more replica of the manager.
    pub fn start_replica(&self) -> Result<()> {
        let mut replicas = self.replicas.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let name = format!("manager-{}", replicas.len() + 1);
        let args = [
            "ccm".to_owned(),
            format!("--cloud-provider={}", self.cloud.provider()),
            format!("--cloud-config={}", self.config.display()),
            format!("--kubeconfig={}", self.plane.kubeconfig().display()),
            format!("--authentication-kubeconfig={}", self.plane.kubeconfig().display()),
            format!("--authorization-kubeconfig={}", self.plane.kubeconfig().display()),
            "--bind-address=127.0.0.1".to_owned(),
            "--secure-port=0".to_owned(),
            "--controllers=*,node-ipam-controller".to_owned(),
            "--allocate-node-cidrs".to_owned(),
            "--cluster-cidr=10.244.0.0/16".to_owned(),
            "--v=2".to_owned(),
            GRACE.to_owned(),
        ];
        let program = std::env::current_exe().context("cannot find this program")?;
        replicas.push(Guarded::spawn(self.plane.dir(), &name, &program, &args)?);
        Ok(())
    }

    /// Who leads, according to the Lease; empty if nobody does.
    pub async fn leader(&self) -> Result<String> {
        let leases: Api<Lease> = Api::namespaced(self.client.clone(), "kube-system");
        let lease = leases.get_opt("cloud-controller-manager").await?;
        Ok(lease.and_then(|lease| lease.spec?.holder_identity).unwrap_or_default())
    }

    /// Waits until somebody else than `old` leads.
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
        let replicas = self.replicas.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let said = |replica: &&Guarded| fs::read_to_string(replica.log()).is_ok_and(|log| log.contains(&own(identity)));
        replicas
            .iter()
            .find(said)
            .context("the leader is none of the replicas")?
            .signal(signal)
    }

    /// A replica that ends by itself is told about, with what it said last.
    fn check_replicas(&self) -> Result<()> {
        let replicas = self.replicas.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if replicas.iter().any(Guarded::is_running) {
            return Ok(());
        }
        let last = replicas
            .iter()
            .map(|replica| replica.log_tail(5))
            .collect::<Vec<_>>()
            .join("\n");
        anyhow::bail!("no replica is running:\n{last}")
    }

    /// What to type next.
    pub fn how_to_look_around(&self) -> Result<String> {
        let kubectl = lab::assets::program("kubectl")?;
        let folder = self.plane.dir();
        let mut commands = vec![
            format!("export KUBECONFIG={}", self.plane.kubeconfig().display()),
            format!("{} get nodes,services,leases -A", kubectl.display()),
        ];
        commands.extend(self.cloud.how_to_look_around(folder)?);
        commands.push(format!("ls {}/*.log", folder.display()));
        Ok(format!(
            "\nIt is still running. In another terminal:\n\n  {}\n\nCtrl-C stops everything.",
            commands.join("\n  ")
        ))
    }
}

/// How a manager's log names its own identity.
fn own(identity: &str) -> String {
    format!("identity=\"{identity}\"")
}
