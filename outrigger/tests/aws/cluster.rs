//! A cluster on AWS, for either program.

use crate::fixture::{self, Launch, Manager};
use k8s_openapi::api::core::v1::Service;
use kube::api::PostParams;
use lab::aws::{Aws, Call, Fixture, Instance, Mark};
use serde_json::json;
use std::{os::unix::fs::symlink, path::PathBuf, time::Duration};

/// Both programs read everything once when they start, and retry what fails after five seconds; after so long without a call they have.
const SILENCE: Duration = Duration::from_secs(6);

/// Which program runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// aws-cloud-controller-manager.
    Go,
    /// This one, under that name.
    Outrigger,
}

/// A control plane and an account of its own.
pub struct Cluster {
    pub api: fixture::Fixture,
    pub aws: Fixture<'static>,
    config: PathBuf,
}

impl Cluster {
    /// With more lines in `[Global]` of the configuration.
    pub async fn new(more: &str) -> Self {
        let server = tokio::task::spawn_blocking(Aws::shared).await.unwrap();
        let (api, aws) = (fixture::Fixture::private().await, Fixture::new(server).await.unwrap());
        let config = api.folder.write("cloud.conf", &aws.cloud_conf(more));
        symlink(
            env!("CARGO_BIN_EXE_outrigger"),
            api.folder.path().join("aws-cloud-controller-manager"),
        )
        .unwrap();
        Self { api, aws, config }
    }

    /// Starts a program with more flags; both understand the same ones.
    pub async fn start(&self, program: Program, flags: &[&str]) -> Manager {
        let path = match program {
            Program::Go => tokio::task::spawn_blocking(lab::peer::aws).await.unwrap().unwrap(),
            Program::Outrigger => self.api.folder.path().join("aws-cloud-controller-manager"),
        };
        let launch = Launch::new(self.api.folder.path())
            .program(&path)
            .flag("--v=4")
            .flag("--cloud-provider=aws")
            .flag(&format!("--cloud-config={}", self.config.display()))
            .flag(&format!("--kubeconfig={}", self.api.plane().kubeconfig().display()))
            .flag("--cluster-name=kubernetes")
            .flag("--use-service-account-credentials=false")
            .flag("--configure-cloud-routes=false")
            .flag("--node-monitor-period=1s")
            .flag("--leader-elect=false")
            .flag("--secure-port=0");
        let launch = flags.iter().fold(launch, |launch, flag| launch.flag(flag));
        let environment = self.aws.account.environment();
        let launch = environment
            .iter()
            .fold(launch, |launch, (name, value)| launch.env(name, value));
        launch.start()
    }

    /// Creates the Node of this name, from the words of [`testkit::node::node`].
    pub async fn register(&self, name: &str, words: &str) {
        let mut node = testkit::node::node(name, words);
        (node.metadata.uid, node.metadata.creation_timestamp) = (None, None);
        self.api.nodes().create(&PostParams::default(), &node).await.unwrap();
    }

    /// An instance in each zone joins as a Node, which is initialised; `cidr` is what comes before the number in its Pod CIDR.
    pub async fn join(&self, manager: &Manager, zones: usize) -> Vec<Instance> {
        let mut instances = Vec::new();
        for zone in 0..zones {
            let mut booted = self.aws.boot(zone, "t3.medium", 1).await.unwrap();
            let instance = booted.remove(0);
            let words = format!("tainted ready:True cidr:10.244.{zone}.0/24");
            self.register(&instance.name, &words).await;
            self.api.initialised(manager, &instance.name).await;
            instances.push(instance);
        }
        instances
    }

    /// Waits until a Service has a host name.
    pub async fn served(&self, manager: &Manager, name: &str) -> Service {
        let services = self.api.services();
        let look = async || {
            let service = services.get(name).await.unwrap();
            let host = json!(service)["status"]["loadBalancer"]["ingress"][0]["hostname"].is_string();
            host.then(|| service.clone()).ok_or_else(|| json!(service).to_string())
        };
        manager.until(&format!("Service {name} to be served"), look).await
    }

    /// The calls since then.
    pub fn calls_since(&self, mark: Mark) -> Vec<Call> {
        self.aws.account.calls_since(mark).unwrap()
    }

    /// Waits until the program calls AWS no more.
    pub async fn at_rest(&self, manager: &Manager) {
        loop {
            let mark = self.aws.account.mark().unwrap();
            tokio::time::sleep(SILENCE).await;
            assert!(manager.ended().is_none(), "it ended{}", manager.log_tail());
            if self.calls_since(mark).is_empty() {
                return;
            }
        }
    }

    /// Every call so far and its answer are as the service models have them.
    pub async fn assert_valid(&self) {
        assert_eq!(self.aws.account.problems().await.unwrap(), [""; 0]);
    }
}
