//! Finds what a crash left in the cloud: load balancers whose Service is gone.

use super::{options::Sweep, predicates, reconcile::Reconciler, spec};
use cloud::{Owned, Progress, ServiceRef};
use k8s_openapi::{api::core::v1::Service, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::{Api, Client, api::ListParams};
use runtime::informer::State;
use std::{sync::Arc, time::Duration};
use tracing::{info, warn};

/// What is owned but belongs to none of these Services, nor to one with a UID that is being worked on. What does not say
/// whose it is, is nobody's orphan.
#[must_use]
pub fn orphans(owned: Vec<Owned>, services: &[Arc<Service>], busy: &[String]) -> Vec<Owned> {
    let alive =
        |owner: &ServiceRef| services.iter().any(|service| may_use(service, owner)) || busy.contains(&owner.uid);
    let orphaned = |one: &Owned| one.service.as_ref().is_some_and(|owner| !alive(owner));
    owned.into_iter().filter(orphaned).collect()
}

/// Whether a Service may use what this one owns. It need not be the same: a Service that was made again, or restored from a
/// backup, has another UID, and may have taken over what it found by its name.
fn may_use(service: &Service, owner: &ServiceRef) -> bool {
    let ServiceRef { namespace, name, uid } = owner;
    let there = &service.metadata;
    let is_named_so = there.namespace.as_deref() == Some(namespace) && there.name.as_deref() == Some(name);
    there.uid.as_deref() == Some(uid) || (is_named_so && predicates::is_load_balancer(service))
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
    /// Sweeps every now and then; returns only if it is not to sweep at all.
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

    /// Looks once for orphans, says what it found, and deletes it if it is to.
    pub(super) async fn sweep(&self, client: &Client) -> cloud::Result<()> {
        // The cloud first: what it has must have had a Service by the time we look at the Services.
        let owned = self
            .call("owned", |balancers| balancers.owned(&self.options.cluster))
            .await?;
        if self.services.state() != State::Synced {
            return Ok(());
        }
        let services = self.services.list();
        let orphans = orphans(owned, &services, &self.ledger.busy_uids());
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
            "the Service of this is gone"
        );
        self.announcer
            .orphan(&departed(service), &format!("{kind} {name} ({id})"));
    }

    async fn delete_orphan(&self, client: &Client, service: ServiceRef) {
        match tokio::time::timeout(self.options.deadline, is_there(client, &service)).await {
            Ok(Ok(false)) => {}
            Ok(Ok(true)) => return warn!(uid = service.uid, "the Service is there after all; not deleting"),
            Ok(Err(error)) => return warn!(%error, uid = service.uid, "cannot make sure that the Service is gone"),
            Err(elapsed) => return warn!(%elapsed, uid = service.uid, "cannot make sure that the Service is gone"),
        }
        let uid = &service.uid;
        let spec = spec::for_deletion(&departed(&service), &self.options.cluster);
        match self
            .call("delete", |balancers| balancers.delete(&spec))
            .await
            .map(|noted| noted.answer)
        {
            Ok(Progress::Done(())) => info!(uid, "deleted an orphan"),
            Ok(Progress::Pending { waiting_for, .. }) => info!(uid, waiting_for, "deleting an orphan"),
            Err(error) => warn!(uid, error = error.report(), "cannot delete an orphan"),
        }
    }
}

/// Asks the API server itself, whatever the informer says. By a list, because managers need not have the right to get.
async fn is_there(client: &Client, service: &ServiceRef) -> kube::Result<bool> {
    let api: Api<Service> = Api::namespaced(client.clone(), &service.namespace);
    let named = ListParams::default().fields(&format!("metadata.name={}", service.name));
    let found = api.list(&named).await?;
    Ok(found.items.iter().any(|there| may_use(there, service)))
}

fn departed(service: &ServiceRef) -> Service {
    let ServiceRef { namespace, name, uid } = service.clone();
    let metadata = ObjectMeta {
        namespace: Some(namespace),
        name: Some(name),
        uid: Some(uid),
        ..ObjectMeta::default()
    };
    Service {
        metadata,
        ..Service::default()
    }
}
