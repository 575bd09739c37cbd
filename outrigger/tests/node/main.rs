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
mod openshift;
mod plain;
mod site;

use cloud::OpenStack;
use site::Site;
use std::time::Instant;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs root, Debian, and a mount namespace: make test-cluster"]
async fn stories() {
    let start = Instant::now();
    let site = Site::start().await;
    told("cluster", start);

    let start = Instant::now();
    plain::story(&site).await;
    told("plain Kubernetes", start);

    site.renew_node().await;
    let cloud = OpenStack::start(site.cluster.node.name(), site.ip).await;
    let start = Instant::now();
    bootstrap::story(&site, &cloud).await;
    told("bootstrap", start);

    site.renew_node().await;
    let start = Instant::now();
    openshift::story(&site, &cloud).await;
    told("OpenShift", start);
}

fn told(story: &str, start: Instant) {
    eprintln!("{story}: {:.1} s", start.elapsed().as_secs_f32());
}
