//! The same Lease, shared with client-go.

use crate::replica::{NAMESPACE, Replica, lease, ms, spec, until};
use lab::{ControlPlane, Guarded, peer::Peer, unique};
use rstest::rstest;
use serde_json::Value;
use std::time::Instant;

const ELECTOR: Peer = Peer {
    name: "client-go-lease",
    what: "client-go's leader election",
    package: ".",
    files: &[
        ("go.mod", include_str!("../client-go-lease/go.mod")),
        ("go.sum", include_str!("../client-go-lease/go.sum")),
        ("main.go", include_str!("../client-go-lease/main.go")),
    ],
};

struct Go(Guarded);

impl Go {
    fn start(plane: &ControlPlane, name: &str, identity: &str, release: &str) -> Self {
        let args = [
            format!("--kubeconfig={}", plane.kubeconfig().display()),
            format!("--namespace={NAMESPACE}"),
            format!("--name={name}"),
            format!("--identity={identity}"),
            "--lease-duration=4s".into(),
            "--renew-deadline=2500ms".into(),
            "--retry-period=500ms".into(),
            format!("--release={release}"),
        ];
        let program = ELECTOR.program().unwrap();
        Self(Guarded::spawn(plane.dir(), &unique("client-go"), &program, &args).unwrap())
    }

    async fn printed(&self, line: &str) {
        until(&format!("{line:?} from client-go"), async || self.has_logged(line)).await;
    }

    fn has_logged(&self, line: &str) -> bool {
        let log = std::fs::read_to_string(self.0.log()).unwrap_or_default();
        log.lines().any(|message| message == line)
    }
}

/// The Lease without what differs from moment to moment: digits of times become 0, the holder is dropped.
fn shape(lease: &Value) -> Value {
    let mut spec = lease["spec"].clone();
    for time in ["acquireTime", "renewTime"] {
        let digits = |c: char| if c.is_ascii_digit() { '0' } else { c };
        spec[time] = spec[time]
            .as_str()
            .unwrap()
            .chars()
            .map(digits)
            .collect::<String>()
            .into();
    }
    spec["holderIdentity"] = spec["holderIdentity"].as_str().unwrap().is_empty().into();
    let meta: Vec<_> = lease["metadata"].as_object().unwrap().keys().cloned().collect();
    serde_json::json!({ "kind": lease["kind"], "apiVersion": lease["apiVersion"], "metadata": meta, "spec": spec })
}

#[tokio::test(flavor = "multi_thread")]
async fn both_write_the_same() {
    let (plane, ours, theirs) = (ControlPlane::shared(), unique("ours"), unique("theirs"));
    let go = Go::start(plane, &theirs, "go", "true");
    let leader = Replica::new(plane, &ours, "rust").lead().await;
    go.printed("leading").await;
    assert_eq!(
        shape(&lease(plane, &ours).await),
        shape(&lease(plane, &theirs).await),
        "when led"
    );
    let renewed = async |name: &str| {
        let before = spec(plane, name).await["renewTime"].clone();
        until("a renewal", async || spec(plane, name).await["renewTime"] != before).await;
        lease(plane, name).await
    };
    assert_eq!(
        shape(&renewed(&ours).await),
        shape(&renewed(&theirs).await),
        "when renewed"
    );
    go.0.signal("TERM").unwrap();
    go.printed("stopped").await;
    leader.leadership.release().await.unwrap();
    assert_eq!(
        shape(&lease(plane, &ours).await),
        shape(&lease(plane, &theirs).await),
        "when released"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn go_is_killed_and_rust_takes_over_when_the_lease_runs_out() {
    let (plane, name) = (ControlPlane::shared(), unique("go-killed"));
    let go = Go::start(plane, &name, "go", "false");
    go.printed("leading").await;
    let standby = Replica::new(plane, &name, "rust");
    let status = standby.status.clone();
    let standby = standby.stand_by();
    until("rust to know that go leads", async || status.leader() == "go").await;
    // Longer than the lease: go renews, so nothing may happen.
    tokio::time::sleep(ms(5_000)).await;
    assert!(!standby.is_finished());
    go.0.signal("KILL").unwrap();
    let killed = Instant::now();
    let leader = standby.await.unwrap();
    let waited = leader.since - killed;
    assert!((ms(2_500)..ms(8_000)).contains(&waited), "waited {waited:?}");
    let spec = spec(plane, &name).await;
    assert_eq!(
        (&spec["holderIdentity"], &spec["leaseTransitions"]),
        (&"rust".into(), &1.into())
    );
    leader.leadership.release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn go_releases_and_rust_takes_over_at_once() {
    let (plane, name) = (ControlPlane::shared(), unique("go-released"));
    let go = Go::start(plane, &name, "go", "true");
    go.printed("leading").await;
    let standby = Replica::new(plane, &name, "rust");
    let status = standby.status.clone();
    let standby = standby.stand_by();
    until("rust to know that go leads", async || status.leader() == "go").await;
    go.0.signal("TERM").unwrap();
    let stopped = Instant::now();
    let leader = standby.await.unwrap();
    let waited = leader.since - stopped;
    assert!(waited < ms(1_500), "waited {waited:?}");
    assert_eq!(spec(plane, &name).await["leaseTransitions"], 1);
    leader.leadership.release().await.unwrap();
}

enum End {
    Released,
    Abandoned,
}

#[rstest]
#[case::released(End::Released)]
#[case::abandoned(End::Abandoned)]
#[tokio::test(flavor = "multi_thread")]
async fn rust_stops_and_go_takes_over(#[case] end: End) {
    let (plane, name) = (ControlPlane::shared(), unique("rust-stops"));
    let leader = Replica::new(plane, &name, "rust").lead().await;
    let go = Go::start(plane, &name, "go", "true");
    go.printed("leader rust").await;
    // Longer than the lease: rust renews, so nothing may happen.
    tokio::time::sleep(ms(5_000)).await;
    assert!(!go.has_logged("leading"));
    assert_eq!(leader.fence.check(), Ok(()));
    let stopped = Instant::now();
    let bounds = match end {
        End::Released => {
            leader.leadership.release().await.unwrap();
            // It looks every 0.5 to 1.1 s.
            ms(0)..ms(3_500)
        }
        End::Abandoned => {
            drop(leader.leadership);
            ms(2_500)..ms(10_000)
        }
    };
    go.printed("leading").await;
    let waited = stopped.elapsed();
    assert!(bounds.contains(&waited), "waited {waited:?}");
    let spec = spec(plane, &name).await;
    assert_eq!(
        (&spec["holderIdentity"], &spec["leaseTransitions"]),
        (&"go".into(), &1.into())
    );
}
