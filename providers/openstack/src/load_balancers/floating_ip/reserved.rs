//! Floating IPs that are created before the load balancer.
//!
//! Until it is attached, the description of such a floating IP ends with the UID of its Service. If this process stops before that, and the
//! Service then asks for another address, only the description identifies it as an unused reservation.

use super::{
    DesiredFloatingIp,
    apply::{delete, find_by_address},
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

/// The text before the UID.
const MARK: &str = " reserved for ";

/// The addresses that may be reserved and are not attached.
#[derive(Debug, Default)]
pub(crate) struct Reservations {
    /// All floating IPs were read once: reservations of earlier processes are known.
    read: OnceCell<()>,
    /// By the UIDs of Services.
    known: Mutex<HashMap<String, BTreeSet<String>>>,
}

impl Reservations {
    /// These are all floating IPs of the project.
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

    /// This address is reserved, or about to be.
    pub(super) fn note(&self, uid: &str, address: &str) {
        let mut known = self.known();
        known.entry(uid.to_owned()).or_default().insert(address.to_owned());
    }

    /// Deletes the reservations that a Service does not need any more, also with `keep-floatingip`: no client knows them. All floating IPs are
    /// read for that once.
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
            let all = floating_ips(api, &FloatingIpQuery::default()).await?;
            self.note_all(&all);
            Ok(())
        };
        match self.read.get_or_try_init(read).await {
            // A Neutron without routers has no floating IPs, which does not affect a Service with an address of its own.
            Err(error) if is_unknown_path(&error) => return Ok(()),
            known => known?,
        };
        let unwanted = self.of(service).into_iter();
        for address in unwanted.filter(|address| Some(address.as_str()) != wanted) {
            let found = find_by_address(api, &[&address]).await?;
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

    /// It is attached, or deleted.
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

/// The description of a reservation.
pub(super) fn reservation(desired: &DesiredFloatingIp<'_>) -> String {
    let mark = format!("{MARK}{}", desired.service.uid);
    let mut text = description(desired);
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
