//! kube-controller-manager and kube-scheduler beside a control plane.

use super::{ControlPlane, STALLED_AFTER, place::free_port};
use crate::{Patience, assets, process::Guarded};
use anyhow::{Result, bail};
use std::{net::TcpStream, path::Path, time::Duration};

/// What the controller manager makes first, once it works.
const PROOF: &str = "/api/v1/namespaces/default/serviceaccounts/default";

impl ControlPlane {
    /// Starts kube-controller-manager and kube-scheduler, and waits until they work: Deployments make Pods, and Pods are given to
    /// Nodes. A Node without a kubelet becomes not ready after a while, as in every cluster.
    ///
    /// # Errors
    /// If another process owns the control plane, or a program cannot be built or does not become ready.
    pub fn start_controllers(&self) -> Result<()> {
        if self.parts().etcd.is_none() {
            bail!(
                "the control plane in {} belongs to another process",
                self.folder.display()
            );
        }
        let manager = free_port()?;
        let mut args = self.controller_args("system:kube-controller-manager", manager);
        args.extend([
            "--use-service-account-credentials".to_owned(),
            format!("--service-account-private-key-file={}", self.pki("sa.key").display()),
            format!("--root-ca-file={}", self.ca_file().display()),
            format!("--cluster-signing-cert-file={}", self.ca_file().display()),
            format!("--cluster-signing-key-file={}", self.pki("ca.key").display()),
            "--cloud-provider=external".to_owned(),
        ]);
        self.start_controller("kube-controller-manager", &args)?;
        let scheduler = free_port()?;
        self.start_controller(
            "kube-scheduler",
            &self.controller_args("system:kube-scheduler", scheduler),
        )?;
        self.wait_for_controllers([manager, scheduler])
    }

    fn start_controller(&self, name: &str, args: &[String]) -> Result<()> {
        let process = Guarded::spawn(&self.folder, name, &assets::program(name)?, args)?;
        self.parts().controllers.push(process);
        Ok(())
    }

    fn controller_args(&self, user: &str, port: u16) -> Vec<String> {
        let kubeconfig = self.kubeconfig_for(user, &[]);
        let named = |flag: &str, file: &Path| format!("--{flag}={}", file.display());
        vec![
            named("kubeconfig", &kubeconfig),
            named("authentication-kubeconfig", &kubeconfig),
            named("authorization-kubeconfig", &kubeconfig),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--secure-port={port}"),
            "--leader-elect=false".to_owned(),
        ]
    }

    fn wait_for_controllers(&self, ports: [u16; 2]) -> Result<()> {
        let mut patience = Patience::new(STALLED_AFTER);
        let listens = |port: &u16| TcpStream::connect(("127.0.0.1", *port)).is_ok();
        while !(ports.iter().all(listens) && self.get(PROOF).is_some()) {
            let mut logged = String::new();
            for part in &self.parts().controllers {
                if !part.is_running() {
                    bail!("{} ended:\n{}", part.log().display(), part.log_tail(15));
                }
                logged += &part.log_tail(1);
            }
            if patience.is_over(&logged) {
                bail!("the controllers in {} are not ready in time", self.folder.display());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }
}
