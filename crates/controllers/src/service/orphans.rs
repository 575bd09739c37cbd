//! Finds load balancers whose Service does not exist, for example after a crash.

use super::{
    options::Sweep,
    reconcile::Reconciler,
    spec::{self, predicates},
};
use crate::api_server;
use cloud::{Owned, Progress, ServiceRef};
use k8s_openapi::api::core::v1::Service;
use kube::{Api, Client, api::ListParams};
use runtime::informer::State;
use std::{sync::Arc, time::Duration};
use tracing::{info, warn};

/// The objects of the cloud that belong to none of these Services, nor to a busy one (by UID). An object without an owner is
/// not an orphan.
pub(super) fn orphans(owned: Vec<Owned>, services: &[Arc<Service>], busy: &[String]) -> Vec<Owned> {
    let exists =
        |owner: &ServiceRef| services.iter().any(|service| may_use(service, owner)) || busy.contains(&owner.uid);
    let is_orphan = |object: &Owned| object.service.as_ref().is_some_and(|owner| !exists(owner));
    owned.into_iter().filter(is_orphan).collect()
}

/// Whether a Service may use objects of this owner. A Service that was recreated or restored from a backup has another UID,
/// and may have adopted an object by its name.
fn may_use(service: &Service, owner: &ServiceRef) -> bool {
    let ServiceRef { namespace, name, uid } = owner;
    let metadata = &service.metadata;
    let has_name = metadata.namespace.as_deref() == Some(namespace) && metadata.name.as_deref() == Some(name);
    metadata.uid.as_deref() == Some(uid) || (has_name && predicates::is_load_balancer(service))
}

impl Sweep {
    fn period(self) -> Option<Duration> {
        match self {
            Self::Off => None,
            Self::Report(period) | Self::Delete(period) => Some(period),
        }
    }
}

impl Reconciler {
    /// Looks for orphans once a period; returns only with [`Sweep::Off`].
    pub(super) async fn sweep_forever(&self, client: &Client) {
        let Some(period) = self.options.sweep.period() else {
            return;
        };
        loop {
            if let Err(error) = self.sweep(client).await {
                warn!(error = error.report(), "cannot look for orphans");
            }
            tokio::time::sleep(period).await;
        }
    }

    /// Looks for orphans once, reports them, and deletes them with [`Sweep::Delete`].
    pub(super) async fn sweep(&self, client: &Client) -> cloud::Result<()> {
        // The cloud is listed before the Services: a Service exists before its load balancer.
        let owned = self
            .call("owned", |balancers| balancers.owned(&self.options.cluster))
            .await?;
        if self.services.state() != State::Synced {
            return Ok(());
        }
        let services = self.services.list();
        let orphans = orphans(owned, &services, &self.states.busy_uids());
        self.metrics
            .orphans
            .set(i64::try_from(orphans.len()).unwrap_or(i64::MAX));
        for orphan in orphans {
            self.report_orphan(&orphan);
            if let (Sweep::Delete(_), Some(service)) = (self.options.sweep, orphan.service) {
                self.delete_orphan(client, service).await;
            }
        }
        Ok(())
    }

    fn report_orphan(&self, orphan: &Owned) {
        let Owned {
            kind,
            id,
            name,
            service,
        } = orphan;
        let Some(service) = service else { return };
        let key = format!("{}/{}", service.namespace, service.name);
        warn!(
            kind,
            id,
            name,
            service = key,
            uid = service.uid,
            "the Service of this object does not exist"
        );
        self.events
            .orphan(&spec::gone(service), &format!("{kind} {name} ({id})"));
    }

    async fn delete_orphan(&self, client: &Client, service: ServiceRef) {
        let uid = &service.uid;
        match exists(client, &service).await {
            Ok(false) => {}
            Ok(true) => return warn!(uid, "the Service exists; not deleting"),
            Err(error) => {
                return warn!(
                    error = error.report(),
                    uid, "cannot verify that the Service does not exist"
                );
            }
        }
        let spec = spec::of_gone(&service, &self.options.cluster);
        let answer = self.call("delete", |balancers| balancers.delete(&spec)).await;
        match answer.map(|noted| noted.answer) {
            Ok(Progress::Done(())) => info!(uid, "deleted an orphan"),
            Ok(Progress::Pending { waiting_for, .. }) => info!(uid, waiting_for, "deleting an orphan"),
            Err(error) => warn!(uid, error = error.report(), "cannot delete an orphan"),
        }
    }
}

/// Asks the API server instead of the informer. By a list, because a manager may have no permission to get Services.
async fn exists(client: &Client, service: &ServiceRef) -> Result<bool, api_server::Error> {
    let api: Api<Service> = Api::namespaced(client.clone(), &service.namespace);
    let named = ListParams::default().fields(&format!("metadata.name={}", service.name));
    let found = api_server::call(api.list(&named)).await?;
    Ok(found.items.iter().any(|found| may_use(found, service)))
}
