//! Our image on a real node: kubelet, containerd, scheduler and controller manager, and Pods that really run.
//!
//! One cluster for all stories, one after the other, because each needs the ports and the node for itself. `make test-cluster` runs
//! this as root, with an `/etc/kubernetes` that is not the machine's.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "what must not be missing in a test ends it, and a story tells how long it took"
)]

mod bootstrap;
mod cloud;
mod fixture;
mod helm;
mod history;
mod leftovers;
mod machines;
mod managers;
mod openshift;
mod plain;
mod several;
mod stand_in;

use cloud::OpenStack;
use fixture::Fixture;
use std::time::Instant;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs root, Debian, and a mount namespace: make test-cluster"]
async fn stories() {
    let fixture = timed("cluster", Fixture::start()).await;
    let cloud = OpenStack::start(fixture.machine(), fixture.ip).await;

    timed("plain Kubernetes", plain::story(&fixture)).await;
    fixture.renew_node().await;
    timed("two clouds", several::story(&fixture, &cloud)).await;
    timed("plain Kubernetes, the end", plain::uninstall(&fixture)).await;

    fixture.renew_node().await;
    timed("bootstrap", bootstrap::story(&fixture, &cloud)).await;

    fixture.renew_node().await;
    let history = timed("OpenShift", openshift::story(&fixture, &cloud)).await;
    timed(
        "OpenShift, another cloud",
        openshift::switch(&fixture, &cloud, &history),
    )
    .await;
    timed("OpenShift, the end", openshift::removal(&fixture, &cloud, &history)).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs root, Debian, and a mount namespace: make test-cluster"]
async fn chart() {
    let fixture = timed("cluster for the chart", Fixture::start()).await;
    timed("Helm", helm::story(&fixture)).await;
}

async fn timed<T>(story: &str, tell: impl Future<Output = T>) -> T {
    let start = Instant::now();
    let end = tell.await;
    eprintln!("{story}: {:.1} s", start.elapsed().as_secs_f32());
    end
}
