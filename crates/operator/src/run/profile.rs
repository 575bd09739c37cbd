//! The TLS settings of the metrics port follow the cluster's profile.

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

/// The settings of the cluster. What is not supported is reported for the operands, which have the same settings.
pub(super) fn resolved(server: Option<&ApiServer>) -> tls::Settings {
    let resolved = tls::resolve("", &[], server.map(|server| &server.spec));
    // Only flags can be invalid, and there are none here.
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
            // An error changes nothing.
            if let Some(now) = read(&cache) {
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

/// The settings of the `APIServer`, which need not exist; `None` if they are not known.
fn read(cache: &Cache) -> Option<tls::Settings> {
    match cache.find(&Key::of_cluster(API, "APIServer", "cluster")) {
        Lookup::Absent => Some(resolved(None)),
        Lookup::Unknown(_) => None,
        Lookup::Found(value) => ApiServer::deserialize(&*value)
            .ok()
            .map(|server| resolved(Some(&server))),
    }
}
