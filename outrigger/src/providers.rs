//! The clouds of this binary: one entry each, one file each.
//!
//! An entry feeds everything that depends on which clouds there are: `--cloud-provider`, the flags, their help, completions and the
//! manual page, program names, reference pages, the links of the image, the operator's list and the texts of its custom resource.

#![allow(dead_code, reason = "a build with few clouds uses only a part of this")]

#[cfg(feature = "aws")]
mod aws;
#[cfg(feature = "digitalocean")]
mod digitalocean;
#[cfg(feature = "memory")]
mod memory;
#[cfg(feature = "openstack")]
mod openstack;
#[cfg(feature = "vsphere")]
mod vsphere;

use manager::Registration;
use operator::standalone::provider::{Needs, Provider};
use runtime::metrics::Register;

/// All clouds, by name.
pub const PROVIDERS: &[Entry] = &[
    #[cfg(feature = "aws")]
    aws::ENTRY,
    #[cfg(feature = "digitalocean")]
    digitalocean::ENTRY,
    #[cfg(feature = "memory")]
    memory::ENTRY,
    #[cfg(feature = "openstack")]
    openstack::ENTRY,
    #[cfg(feature = "vsphere")]
    vsphere::ENTRY,
];

/// One cloud.
pub struct Entry {
    /// Its name, program names, flags, defaults and constructor.
    pub registration: Registration,
    /// What the operator has to know to run a manager for it.
    pub needs: Needs,
    /// Its pages of the reference, besides its events.
    pub pages: fn() -> Vec<Page>,
    /// Admission policies that check its annotations.
    pub policies: fn() -> Vec<serde_json::Value>,
    /// The metrics that only it has.
    pub metrics: Option<Metrics>,
    /// The events that only it emits, all of them Warnings on a Service.
    pub events: &'static [Event],
}

/// A generated file: a page of the reference, or a file that a user applies.
pub struct Page {
    /// Its name: `docs/reference/<name>.md`, or, with a slash, a file in the repository.
    pub name: &'static str,
    /// Its text.
    pub text: String,
}

/// The metrics of one cloud.
pub struct Metrics {
    /// The title of their section in the reference.
    pub title: &'static str,
    /// Registers them, and those of the layers that the provider uses.
    pub register: fn(&dyn Register) -> prometheus::Result<()>,
}

/// An event that only one cloud emits.
pub struct Event {
    /// Its reason.
    pub reason: &'static str,
    /// When it is emitted.
    pub when: &'static str,
    /// Which program emits it.
    pub origin: Origin,
}

/// Which program emits an event.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The provider's Go program, too.
    Go,
    /// Only this one.
    Outrigger,
}

/// What the manager has to know of all clouds.
pub fn registrations() -> Vec<Registration> {
    PROVIDERS.iter().map(|entry| entry.registration).collect()
}

/// What the operator has to know of all clouds.
pub fn for_operator() -> Vec<Provider> {
    let provider = |entry: &Entry| Provider {
        name: entry.registration.name,
        needs: entry.needs,
    };
    PROVIDERS.iter().map(provider).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn is_unique<'a>(names: impl IntoIterator<Item = &'a str>) -> bool {
        let mut seen = BTreeSet::new();
        names.into_iter().all(|name| seen.insert(name))
    }

    #[test]
    fn names_select_one_provider_and_flags_belong_to_one() {
        let names: Vec<&str> = PROVIDERS.iter().map(|entry| entry.registration.name).collect();
        assert!(names.is_sorted() && is_unique(names.iter().copied()), "{names:?}");
        assert!(is_unique(
            PROVIDERS.iter().flat_map(|entry| entry.registration.programs).copied()
        ));
        // clap panics if two flags have the same name.
        manager::program::command(&registrations(), "ccm").debug_assert();
    }
}
