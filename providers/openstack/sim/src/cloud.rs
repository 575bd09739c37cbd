//! The simulated cloud, as tests see it.

use crate::{Settings, keystone::Identity, recorded, state::State};
use std::{
    ops::Deref,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// A cloud. Clones share it. Calls, faults, latency and the clock are those of [`fakecloud::Cloud`].
///
/// It begins with the projects and users `admin` and `demo` (password `labpass`, domain `default`), the flavors `m1.tiny`,
/// `m1.small` and `m1.medium`, the image `cirros`, and the external network `public` (203.0.113.0/24).
#[derive(Debug, Clone)]
pub struct Cloud {
    kit: fakecloud::Cloud<State>,
    identity: Arc<Mutex<Identity>>,
}

impl Default for Cloud {
    fn default() -> Self {
        Self::new()
    }
}

impl Deref for Cloud {
    type Target = fakecloud::Cloud<State>;

    fn deref(&self) -> &Self::Target {
        &self.kit
    }
}

impl Cloud {
    /// A cloud with the default settings.
    pub fn new() -> Self {
        Self::with(Settings::default())
    }

    /// A cloud with these settings.
    pub fn with(settings: Settings) -> Self {
        let identity = Arc::new(Mutex::new(Identity::new()));
        Self::build(settings, identity, fakecloud::Cloud::new)
    }

    /// Another region: a cloud with the same Keystone, and nothing else in common. Its endpoints must be put into the catalog
    /// with [`Cloud::add_endpoints`] once it is served.
    #[must_use]
    pub fn region(&self, settings: Settings) -> Self {
        Self::build(settings, Arc::clone(&self.identity), |state| self.kit.beside(state))
    }

    fn build(
        settings: Settings,
        identity: Arc<Mutex<Identity>>,
        kit: impl FnOnce(State) -> fakecloud::Cloud<State>,
    ) -> Self {
        let kit = kit(State::new(settings, Arc::clone(&identity)));
        let cloud = Self { kit, identity };
        cloud.add_initial_state();
        cloud
    }

    /// The current settings.
    pub fn settings(&self) -> Settings {
        self.read(|state| state.settings.clone())
    }

    /// Changes the settings from now on.
    pub fn configure(&self, change: impl FnOnce(&mut Settings)) {
        self.write(|state, _| change(&mut state.settings));
    }

    /// The requests on record that differ from all requests in the recordings of the real services, so that the answers of
    /// the simulation are a guess. Each once.
    pub fn unrecorded(&self) -> Vec<String> {
        let mut found: Vec<String> = self.calls().iter().filter_map(recorded::unrecorded).collect();
        found.sort();
        found.dedup();
        found
    }

    /// Waits until this holds. Checks after every call, every change, and whenever a load balancer settles.
    pub async fn until(&self, holds: impl Fn(&Self) -> bool) {
        self.kit.until(|| holds(self)).await;
    }

    pub(crate) fn identity(&self) -> MutexGuard<'_, Identity> {
        self.identity.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
