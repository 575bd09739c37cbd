//! A cluster whose controllers are in kube-controller-manager: objects as kubeadm and kubelets write them.

use crate::fixture::{Entry, Exit, Fixture, Launch, service_address};
use k8s_openapi::api::{coordination::v1::Lease, core::v1::Pod};
use kube::{
    Api, ResourceExt,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::json;
use std::path::PathBuf;

/// A control plane of its own, because a migration is about all Nodes and Services of a cluster.
pub struct Cluster {
    pub fixture: Fixture,
    pub node: String,
    pub service: String,
    pub address: String,
}

impl Cluster {
    /// One Node and one Service, which a manager has initialized and served before it was stopped.
    pub async fn served() -> Self {
        let fixture = Fixture::private().await;
        let manager = fixture
            .manager()
            .without("--node-selector")
            .without("--load-balancer-class")
            .without("--load-balancer-without-class")
            .flag("--leader-elect=false")
            .start();
        manager.working().await;
        let node = fixture.join("node").await;
        fixture.initialised(&manager, &node).await;
        let service = testkit::service::load_balancer(&fixture.named("web"));
        let service = fixture.create(service).await.name_any();
        let served = fixture.served(&manager, &service).await;
        manager.signal("TERM");
        manager.exited().await;
        Self {
            address: service_address(&served).unwrap(),
            node,
            service,
            fixture,
        }
    }

    /// The mirror Pods of the control plane.
    pub async fn in_tree(&self) {
        let flags = [
            "--cloud-provider=openstack",
            "--cloud-config=/etc/kubernetes/cloud.conf",
        ];
        self.mirror("kube-apiserver", &flags).await;
        let name = format!("--cluster-name={}", self.fixture.name);
        self.mirror("kube-controller-manager", &[flags.as_slice(), &[&name]].concat())
            .await;
    }

    async fn mirror(&self, program: &str, flags: &[&str]) {
        let command: Vec<&str> = std::iter::once(program).chain(flags.iter().copied()).collect();
        let pod = json!({
            "metadata": {"name": format!("{program}-m1"), "annotations": {"kubernetes.io/config.mirror": "1"}},
            "spec": {
                "nodeName": "m1",
                "containers": [{"name": program, "image": format!("registry.k8s.io/{program}:v1.35.4"), "command": command}],
            },
        });
        let pods: Api<Pod> = Api::namespaced(self.fixture.client.clone(), "kube-system");
        let pod = serde_json::from_value(pod).unwrap();
        pods.create(&PostParams::default(), &pod).await.unwrap();
    }

    /// A program takes a lease in `kube-system`.
    pub async fn hold(&self, lease: &str, holder: &str) {
        let leases: Api<Lease> = Api::namespaced(self.fixture.client.clone(), "kube-system");
        let lease_of = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": lease}, "spec": {"holderIdentity": holder, "leaseDurationSeconds": 15},
        });
        let params = PatchParams::apply("test").force();
        leases.patch(lease, &params, &Patch::Apply(lease_of)).await.unwrap();
    }

    /// The user that runs `outrigger migrate`, and no other program.
    fn user(&self) -> String {
        self.fixture.named("administrator")
    }

    /// `outrigger migrate` with the flags of kubelets in a file.
    pub fn migrate(&self, subcommand: &str) -> Launch {
        let text = "KUBELET_KUBEADM_ARGS=\"--cloud-provider=openstack\"\n";
        let file = self.fixture.folder.write("kubeadm-flags.env", text);
        let kubeconfig: PathBuf = self.fixture.plane().kubeconfig_for(&self.user(), &["system:masters"]);
        Launch::new(self.fixture.folder.path())
            .arg("migrate")
            .arg(subcommand)
            .flag(&format!("--kubeconfig={}", kubeconfig.display()))
            .arg(&format!("--flags=kubelet={}", file.display()))
    }

    /// `check`, compared with the cloud.
    pub async fn check(&self) -> Exit {
        let config = self.fixture.cloud_config();
        self.migrate("check")
            .arg("--cloud-provider=memory")
            .arg(&format!("--cloud-config={}", config.display()))
            .start()
            .exited()
            .await
    }
}

/// The cells of the line about this object with this text, one space between them.
pub fn line(exit: &Exit, object: &str, text: &str) -> String {
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut lines = exit.stdout.lines().map(words);
    let found = lines.find(|line| line.contains(&format!(" {object} ")) && line.contains(text));
    assert!(found.is_some(), "no line about {object} with {text:?}: {exit:#?}");
    found.unwrap()
}

#[tokio::test]
async fn reports_what_the_cloud_has_and_changes_nothing() {
    let cluster = Cluster::served().await;
    cluster.in_tree().await;
    let (writes, mark) = (cluster.fixture.cloud.writes().len(), cluster.fixture.mark());
    let exit = cluster.check().await;
    // The version of the lab has no in-tree provider.
    assert_eq!(exit.code, 3, "{exit:#?}");
    assert!(line(&exit, "kube-apiserver", "openstack exists only up to 1.25").starts_with("blocker "));
    assert!(exit.stdout.ends_with("\n1 blocker, 2 warnings, 10 ok\n"), "{exit:#?}");
    let service = format!("Service default/{}", cluster.service);
    assert!(line(&exit, &service, &cluster.address).starts_with("ok "));
    assert!(line(&exit, "Nodes", "each with an instance").starts_with("ok "));
    let lock = "Lease kube-system/cloud-provider-extraction-migration";
    assert!(
        line(
            &exit,
            lock,
            "kube-system:cloud-controller-manager may not create, get, update it"
        )
        .starts_with("warning ")
    );
    assert_eq!(cluster.fixture.cloud.writes().len(), writes);
    let requests = cluster.fixture.requests_of(&cluster.user(), mark);
    let written: Vec<String> = requests
        .iter()
        .filter(|entry| entry.is_write())
        .map(Entry::what)
        .collect();
    assert!(!written.is_empty(), "reviews are in the audit log");
    let others: Vec<&String> = written
        .iter()
        .filter(|what| !what.ends_with(" subjectaccessreviews"))
        .collect();
    assert!(others.is_empty(), "{others:?}");
}

#[tokio::test]
async fn a_view_for_another_cluster_and_a_missing_instance_are_blockers() {
    let cluster = Cluster::served().await;
    cluster.in_tree().await;
    cluster.fixture.cloud.delete_machine(&cluster.node);
    let config = cluster.fixture.cloud_config();
    let check = cluster.migrate("check").arg("--cloud-provider=memory");
    let check = check
        .arg(&format!("--cloud-config={}", config.display()))
        .arg("--cluster-name=other");
    let exit = check.start().exited().await;
    assert_eq!(exit.code, 3, "{exit:#?}");
    assert!(line(&exit, "the cluster", "the cloud was read for a cluster named other").starts_with("blocker "));
    assert!(line(&exit, &format!("Node {}", cluster.node), "no instance").starts_with("blocker "));
}

#[tokio::test]
async fn plans_the_steps_for_the_flags_that_it_reads() {
    let cluster = Cluster::served().await;
    cluster.in_tree().await;
    let exit = cluster.migrate("plan").start().exited().await;
    assert_eq!(exit.code, 0, "{exit:#?}");
    let plan = &exit.stdout;
    assert!(
        plan.starts_with("From openstack to an external cloud controller manager\n"),
        "{plan}"
    );
    for expected in [
        "Change kube-controller-manager on m1:\n      - --cloud-provider=openstack\n      - --cloud-config=/etc/kubernetes/cloud.conf",
        &format!("+ --cluster-name={}", cluster.fixture.name),
        &format!(
            "Change kubelet on {}:\n      - --cloud-provider=openstack\n      + --cloud-provider=external",
            cluster.node
        ),
    ] {
        assert!(plan.contains(expected), "{expected} is not in {plan}");
    }
}

/// One line for each change, until it is complete; here it ends before, because another program stops it.
#[tokio::test]
async fn watches_the_leases() {
    let cluster = Cluster::served().await;
    cluster.in_tree().await;
    let once = cluster.migrate("watch").arg("--once").start().exited().await;
    assert_eq!(once.code, 2, "{once:#?}");
    let lines: Vec<&str> = once.stdout.lines().collect();
    let service = format!("service default/{}: {}", cluster.service, cluster.address);
    let step = "step: 1 of 7: Let both controller managers use the migration lock";
    assert_eq!(lines, ["nodes: 1 node, all initialized", &service, step]);

    let watch = cluster.migrate("watch").start();
    let shown = async |text: &str| {
        let look = async || {
            let out = watch.output();
            if out.contains(text) { Ok(()) } else { Err(out) }
        };
        watch.until(text, look).await;
    };
    shown(step).await;
    for holder in ["m1_a", "m1_b"] {
        cluster.hold("cloud-provider-extraction-migration", holder).await;
        shown(&format!(
            "lease cloud-provider-extraction-migration: held by {holder}\n"
        ))
        .await;
    }
    watch.signal("INT");
    watch.exited().await;
}
