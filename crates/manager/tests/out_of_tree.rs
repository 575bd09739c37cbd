//! A cloud controller manager in a workspace of its own, `examples/acme-cloud-controller-manager`, on a real API server: it is built,
//! initialises a Node, gives a Service its address, and releases its lease.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use k8s_openapi::api::{
    coordination::v1::Lease,
    core::v1::{Node, Service},
};
use kube::{
    Api, Client,
    api::{DeleteParams, PostParams},
};
use lab::{ControlPlane, Guarded};
use serde_json::json;
use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::Command,
};
use testkit::wait::until;

/// On a Node that the cloud provider has not initialised.
const TAINT: &str = "node.cloudprovider.kubernetes.io/uninitialized";
const PROGRAM: &str = "acme-cloud-controller-manager";

/// Builds the example into the target folder of this workspace: its dependencies are there already. Returns the folder of its programs.
fn build() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../examples/{PROGRAM}/Cargo.toml"));
    let target = std::env::current_exe().unwrap().ancestors().nth(3).unwrap().to_owned();
    let built = Command::new(env!("CARGO"))
        .args(["build", "--locked", "--all-targets", "--manifest-path"])
        .arg(manifest)
        .env("CARGO_TARGET_DIR", &target)
        // Variables of this test program: with them build scripts run again, and all that depends on them is compiled again.
        .env_remove("RUSTC_BOOTSTRAP")
        .env_remove("CARGO_MANIFEST_DIR")
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    target.join("debug")
}

/// The Acme cloud with one server, and the manager.
struct Fixture {
    name: String,
    client: Client,
    manager: Guarded,
    port: u16,
    _cloud: Guarded,
}

impl Fixture {
    fn start() -> Self {
        let (plane, programs, name) = (ControlPlane::shared(), build(), lab::unique("acme"));
        let folder = plane.dir().join(&name);
        fs::create_dir_all(&folder).unwrap();
        let (api, port) = (format!("127.0.0.1:{}", free_port()), free_port());
        let cloud = Guarded::spawn(&folder, "acme-api", &programs.join("acme-api"), &[&api, &name]).unwrap();
        let config = folder.join("cloud.json");
        let settings = json!({"endpoint": format!("http://{api}"), "token": "secret"});
        fs::write(&config, settings.to_string()).unwrap();
        let flags = [
            format!("--cloud-config={}", config.display()),
            format!("--kubeconfig={}", plane.kubeconfig().display()),
            format!("--cluster-name={name}"),
            format!("--leader-elect-resource-name={name}"),
            format!("--node-selector=example.com/cloud={name}"),
            format!("--load-balancer-class=example.com/{name}"),
            "--load-balancer-without-class=false".to_owned(),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--secure-port={port}"),
            "--authorization-always-allow-paths=/healthz,/metrics".to_owned(),
        ];
        let manager = Guarded::spawn(&folder, PROGRAM, &programs.join(PROGRAM), &flags).unwrap();
        Self {
            client: plane.client(),
            name,
            manager,
            port,
            _cloud: cloud,
        }
    }

    /// Adds what the manager has logged to a state that is not the expected one.
    fn state(&self, state: impl std::fmt::Display) -> String {
        format!("{state}\n{}", self.manager.log_tail(20))
    }

    async fn initialised_node(&self) {
        let nodes: Api<Node> = Api::all(self.client.clone());
        let words = format!("tainted ready:True example.com/cloud={}", self.name);
        let mut node = testkit::node::node(&self.name, &words);
        (node.metadata.uid, node.metadata.creation_timestamp) = (None, None);
        nodes.create(&PostParams::default(), &node).await.unwrap();
        let node = until("an initialised node", async || {
            let spec = nodes.get(&self.name).await.unwrap().spec.unwrap_or_default();
            let taints = spec.taints.as_deref().unwrap_or_default();
            if taints.iter().any(|taint| taint.key == TAINT) {
                return Err(self.state(json!(taints)));
            }
            Ok(spec)
        })
        .await;
        assert_eq!(node.provider_id.as_deref(), Some("acme://server-1"));
    }

    async fn balanced_service(&self) {
        let services: Api<Service> = Api::default_namespaced(self.client.clone());
        let class = format!("example.com/{}", self.name);
        let mut service = testkit::service::load_balancer(&self.name).class(&class).build();
        service.metadata.uid = None;
        services.create(&PostParams::default(), &service).await.unwrap();
        let ingress = until("an address", async || {
            let status = services.get(&self.name).await.unwrap().status.unwrap_or_default();
            let ingress = status.load_balancer.clone().and_then(|balancer| balancer.ingress);
            ingress.ok_or_else(|| self.state(json!(status)))
        })
        .await;
        assert!(
            ingress[0].ip.as_deref().unwrap().starts_with("203.0.113."),
            "{ingress:?}"
        );
        services.delete(&self.name, &DeleteParams::default()).await.unwrap();
        until("the end of the service", async || {
            match services.get_opt(&self.name).await.unwrap() {
                None => Ok(()),
                Some(service) => Err(self.state(json!(service.metadata.finalizers))),
            }
        })
        .await;
    }

    /// One path of the secure port.
    async fn get(&self, path: &str) -> (u16, String) {
        let client = reqwest::Client::builder().tls_danger_accept_invalid_certs(true).build();
        let url = format!("https://127.0.0.1:{}{path}", self.port);
        let answer = client.unwrap().get(url).send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    }

    async fn stop(&self) {
        self.manager.signal("TERM").unwrap();
        let leases: Api<Lease> = Api::namespaced(self.client.clone(), "kube-system");
        until("a released lease", async || {
            let holder = leases
                .get(&self.name)
                .await
                .unwrap()
                .spec
                .unwrap_or_default()
                .holder_identity;
            match holder.filter(|holder| !holder.is_empty()) {
                None => Ok(()),
                Some(holder) => Err(self.state(holder)),
            }
        })
        .await;
        until("the end of the manager", async || {
            if self.manager.is_running() {
                Err(self.state("it runs"))
            } else {
                Ok(())
            }
        })
        .await;
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_outside_of_the_repository_is_a_complete_manager() {
    let fixture = tokio::task::spawn_blocking(Fixture::start).await.unwrap();
    fixture.initialised_node().await;
    fixture.balanced_service().await;
    let health = fixture.get("/healthz").await;
    assert_eq!(health, (200, "ok".to_owned()));
    let (_, metrics) = fixture.get("/metrics").await;
    for operation in ["list_servers", "put_load_balancer", "delete_load_balancer"] {
        assert!(
            metrics.contains(&format!("operation=\"{operation}\"")),
            "{operation}: {metrics}"
        );
    }
    fixture.stop().await;
}
