//! Replicas in processes of their own, so that they can be stopped and killed.

use crate::replica::{NAMESPACE, Replica, config, ms, params, requests, spec, until};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api,
    api::{Patch, PatchParams, PostParams},
};
use lab::{ControlPlane, Guarded, unique};
use runtime::client::{Builder, is_fenced};
use serde_json::json;
use std::{path::Path, time::Instant};

const KUBECONFIG: &str = "LEASE_TEST_KUBECONFIG";
const LEASE: &str = "LEASE_TEST_NAME";

/// Leads, and writes for as long as it may. What it does otherwise is in the audit log.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "a replica in a process of its own, which the tests below start"]
async fn replica_process() {
    let (Ok(kubeconfig), Ok(name)) = (std::env::var(KUBECONFIG), std::env::var(LEASE)) else {
        panic!("to be started with {KUBECONFIG} and {LEASE}");
    };
    lab::install_crypto();
    let leader = Replica::of(Path::new(&kubeconfig), params(&name, "child"))
        .await
        .lead()
        .await;
    println!("leading");
    let clients = Builder::new(config(Path::new(&kubeconfig)).await).fence(leader.fence.clone());
    let client = clients.build().unwrap().for_controller("child").await.unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(client, NAMESPACE);
    let writing = async {
        for count in 0.. {
            let patch = Patch::Merge(json!({ "data": { "count": count.to_string() } }));
            match maps.patch(&name, &PatchParams::default(), &patch).await {
                Err(error) if is_fenced(&error) => println!("fenced"),
                written => drop(written.unwrap()),
            }
            tokio::time::sleep(ms(100)).await;
        }
    };
    tokio::select! {
        lost = leader.leadership.lost() => println!("lost: {lost}"),
        () = writing => {}
    }
    // Time enough for a write that must not come.
    tokio::time::sleep(ms(500)).await;
    println!("end");
}

struct Child {
    process: Guarded,
    user: String,
}

impl Child {
    async fn lead(plane: &ControlPlane, name: &str) -> Self {
        let map = ConfigMap {
            metadata: kube::api::ObjectMeta {
                name: Some(name.into()),
                ..Default::default()
            },
            ..Default::default()
        };
        let maps: Api<ConfigMap> = Api::namespaced(plane.client(), NAMESPACE);
        maps.create(&PostParams::default(), &map).await.unwrap();
        let user = unique("child");
        let kubeconfig = plane.kubeconfig_for(&user, &["system:masters"]);
        let args = ["--exact", "child::replica_process", "--ignored", "--nocapture"];
        let env = [(KUBECONFIG, kubeconfig.display().to_string()), (LEASE, name.to_owned())];
        let program = std::env::current_exe().unwrap();
        let process = Guarded::spawn_with_env(plane.dir(), &user, &program, &args, &env).unwrap();
        let child = Self { process, user };
        child.printed("leading").await;
        child
    }

    async fn printed(&self, word: &str) {
        until(&format!("{word:?} in the log of the child"), async || {
            self.log().contains(word)
        })
        .await;
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.process.log()).unwrap_or_default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_stopped_for_longer_than_its_lease_does_not_write_when_it_resumes() {
    let (plane, name) = (ControlPlane::shared(), unique("stopped"));
    let child = Child::lead(plane, &name).await;
    until("a few writes", async || {
        requests(plane, &child.user)
            .iter()
            .filter(|request| request.verb == "patch")
            .count()
            > 3
    })
    .await;
    child.process.signal("STOP").unwrap();
    let stopped = Instant::now();
    let next = Replica::new(plane, &name, "two").lead().await;
    assert!(next.since - stopped > ms(2_500), "not before its lease was over");
    assert_eq!(spec(plane, &name).await["holderIdentity"], "two");

    let maps: Api<ConfigMap> = Api::namespaced(plane.client(), NAMESPACE);
    let (resumed, before) = (jiff::Timestamp::now(), maps.get(&name).await.unwrap());
    child.process.signal("CONT").unwrap();
    child.printed("end").await;
    assert!(
        child.log().contains("it was not renewed within 2.5s"),
        "{}",
        child.log()
    );
    // One that was about to be sent when it was stopped comes without its body, and is not served.
    let late: Vec<_> = requests(plane, &child.user)
        .into_iter()
        .filter(|request| request.at >= resumed && request.code < 300)
        .collect();
    assert_eq!(late, [], "it got something after it went on");
    assert_eq!(maps.get(&name).await.unwrap(), before);
    assert_eq!(spec(plane, &name).await["holderIdentity"], "two");
    next.leadership.release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_leader_is_replaced_when_its_lease_runs_out() {
    let (plane, name) = (ControlPlane::shared(), unique("killed"));
    let child = Child::lead(plane, &name).await;
    let standby = Replica::new(plane, &name, "two");
    let status = standby.status.clone();
    let standby = standby.stand_by();
    until("the standby to know the leader", async || status.leader() == "child").await;
    child.process.signal("KILL").unwrap();
    let killed = Instant::now();
    let next = standby.await.unwrap();
    let waited = next.since - killed;
    assert!((ms(2_500)..ms(8_000)).contains(&waited), "waited {waited:?}");
    next.leadership.release().await.unwrap();
}
