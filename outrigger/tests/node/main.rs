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
mod history;
mod machines;
mod managers;
mod openshift;
mod plain;
mod remains;
mod several;
mod site;
mod stand_in;

use cloud::OpenStack;
use site::Site;
use std::time::Instant;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs root, Debian, and a mount namespace: make test-cluster"]
async fn stories() {
    let site = told("cluster", Site::start()).await;
    let cloud = OpenStack::start(site.machine(), site.ip).await;

    told("plain Kubernetes", plain::story(&site)).await;
    site.renew_node().await;
    told("two clouds", several::story(&site, &cloud)).await;
    told("plain Kubernetes, the end", plain::uninstall(&site)).await;

    site.renew_node().await;
    told("bootstrap", bootstrap::story(&site, &cloud)).await;

    site.renew_node().await;
    let history = told("OpenShift", openshift::story(&site, &cloud)).await;
    told("OpenShift, another cloud", openshift::switch(&site, &cloud, &history)).await;
    told("OpenShift, the end", openshift::removal(&site, &cloud, &history)).await;
}

async fn told<T>(story: &str, tell: impl Future<Output = T>) -> T {
    let start = Instant::now();
    let end = tell.await;
    eprintln!("{story}: {:.1} s", start.elapsed().as_secs_f32());
    end
}
