//! Floating IPs that were made before there was anything that they could lead to.
//!
//! Until it leads somewhere, the description of such a one ends with the UID of its Service. If we die before that, and the
//! Service asks for another address then, nothing else tells whose it is, and that nobody uses it.

use super::{
    Want,
    act::{delete, others},
    description, is_marked,
};
use crate::api::{
    Session,
    neutron::floating_ips::{FloatingIp, FloatingIpQuery, floating_ips},
};
use cloud::{Error, Result, ServiceRef};
use cloud_http::{Failure, http::StatusCode};
use provider_kit::load_balancer::Halt;
use std::{
    collections::{BTreeSet, HashMap},
    sync::{Mutex, MutexGuard, PoisonError},
};
use tokio::sync::OnceCell;

/// Stands before the UID.
const MARK: &str = " reserved for ";

/// The addresses that may be reserved and lead nowhere.
#[derive(Debug, Default)]
pub(crate) struct Reserved {
    /// All floating IPs were read once: those that others left are known.
    read: OnceCell<()>,
    /// By the UIDs of Services.
    known: Mutex<HashMap<String, BTreeSet<String>>>,
}

impl Reserved {
    /// These are all that there are.
    pub(crate) fn learn(&self, all: &[FloatingIp]) {
        self.note_all(all);
        // That it was done before does no harm.
        let _ = self.read.set(());
    }

    fn note_all(&self, all: &[FloatingIp]) {
        for (uid, fip) in all.iter().filter_map(|fip| Some((reserved_for(fip)?, fip))) {
            self.note(uid, &fip.floating_ip_address);
        }
    }

    /// This one is reserved, or about to be.
    pub(super) fn note(&self, uid: &str, address: &str) {
        let mut known = self.known();
        known.entry(uid.to_owned()).or_default().insert(address.to_owned());
    }

    /// Deletes those of a Service that it does not ask for any more, to be kept or not: nobody has been told of them. All
    /// floating IPs are read for that once.
    ///
    /// # Errors
    /// As the cloud answers.
    pub(crate) async fn give_back(
        &self,
        api: &Session,
        service: &ServiceRef,
        wanted: Option<&str>,
    ) -> Result<(), Halt> {
        let read = || async {
            let all = Box::pin(floating_ips(api, &FloatingIpQuery::default())).await?;
            self.note_all(&all);
            Ok(())
        };
        match Box::pin(self.read.get_or_try_init(read)).await {
            // Neutron without routers has none. That costs a Service with an address of its own nothing.
            Err(error) if is_unknown_path(&error) => return Ok(()),
            known => known?,
        };
        let unwanted = self.of(service).into_iter();
        for address in unwanted.filter(|address| Some(address.as_str()) != wanted) {
            let found = others(api, &[&address]).await?;
            let is_left = |fip: &&FloatingIp| reserved_for(fip) == Some(&service.uid);
            for fip in found.iter().filter(is_left) {
                delete(api, fip).await?;
            }
            self.forget(service, &address);
        }
        Ok(())
    }

    fn of(&self, service: &ServiceRef) -> BTreeSet<String> {
        self.known().get(&service.uid).cloned().unwrap_or_default()
    }

    /// It leads somewhere, or is gone.
    pub(super) fn forget(&self, service: &ServiceRef, address: &str) {
        let mut known = self.known();
        if let Some(addresses) = known.get_mut(&service.uid) {
            addresses.remove(address);
        }
        known.retain(|_, addresses| !addresses.is_empty());
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, BTreeSet<String>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_unknown_path(error: &Error) -> bool {
    let answer = Failure::of(error).map(Failure::status);
    matches!(error, Error::NotFound { .. }) || answer == Some(StatusCode::NOT_FOUND)
}

/// The description of one that leads nowhere yet.
pub(super) fn reservation(want: &Want<'_>) -> String {
    let mark = format!("{MARK}{}", want.service.uid);
    let mut text = description(want);
    text.truncate(text.floor_char_boundary(super::LONGEST.saturating_sub(mark.len())));
    text + &mark
}

/// The UID of the Service that a floating IP is reserved for.
pub(super) fn reserved_for(fip: &FloatingIp) -> Option<&str> {
    let text = fip
        .description
        .as_deref()
        .filter(|_| is_marked(fip) && fip.port_id.is_none())?;
    text.rsplit_once(MARK).map(|(_, uid)| uid)
}
