//! The TLS of our own port follows the cluster's profile while it runs.

use super::served::{self, Served};
use crate::{
    Key, Lookup,
    cache::{Cache, Resource, Selection},
    platforms::tls,
};
use kube::Client;
use operator_api::ApiServer;
use serde::Deserialize;
use std::sync::Arc;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

const API: &str = "config.openshift.io/v1";

/// What the cluster asks for. What is not supported is reported where operands get the same.
pub(super) fn resolved(server: Option<&ApiServer>) -> tls::Settings {
    let resolved = tls::resolve("", &[], server.map(|server| &server.spec));
    // Only flags can be wrong, and none are asked.
    resolved.map_or_else(|_| tls::Settings::default(), |resolved| resolved.settings)
}

/// Sends every change of the profile until it is stopped.
pub(super) async fn follow(client: Client, settings: watch::Sender<tls::Settings>, stop: CancellationToken) {
    stop.run_until_cancelled(async {
        if !is_openshift(&client, &stop).await {
            return;
        }
        let changed = Arc::new(Notify::new());
        let mut cache = Cache::new(client, changed.clone());
        let resource = Resource::new(API, "APIServer", "apiservers");
        cache.want(&[Selection::one(&resource, None, "cluster")].into()).await;
        loop {
            // What cannot be read changes nothing.
            if let Some(now) = look(&cache) {
                settings.send_if_modified(|settings| std::mem::replace(settings, now.clone()) != now);
            }
            changed.notified().await;
        }
    })
    .await;
}

/// Waits until the cluster has profiles.
async fn is_openshift(client: &Client, stop: &CancellationToken) -> bool {
    let Some(mut served) = served::first(client, stop).await else {
        return false;
    };
    while let Served { openshift: false, .. } = served {
        served = served::more(client, served).await;
    }
    true
}

/// What the `APIServer` asks for, which need not exist; `None` if that is not known.
fn look(cache: &Cache) -> Option<tls::Settings> {
    match cache.find(&Key::of_cluster(API, "APIServer", "cluster")) {
        Lookup::Absent => Some(resolved(None)),
        Lookup::Unknown(_) => None,
        Lookup::Found(value) => ApiServer::deserialize(&*value)
            .ok()
            .map(|server| resolved(Some(&server))),
    }
}
