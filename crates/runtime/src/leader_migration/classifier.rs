//! The lock that a controller runs under.

use super::Config;
use std::collections::BTreeMap;

/// The lock that a controller runs under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ownership {
    /// The migration lock.
    Migrated,
    /// None: it belongs to another program and is never started here.
    Unowned,
    /// The main lock: it does not migrate.
    NonMigrated,
}

/// Classifies the controllers of one program.
///
/// Names are compared after aliases and historic names have been replaced by the canonical ones, on both sides. The Go
/// programs compare literally, so that their own default configuration misses two of its three controllers.
#[derive(Debug, Clone)]
pub struct Classifier {
    aliases: BTreeMap<String, String>,
    listed: BTreeMap<String, Ownership>,
}

impl Classifier {
    /// For `component`, for example `cloud-controller-manager`; `aliases` maps every other name of a controller to its
    /// canonical one. Of two entries for one controller the last counts.
    pub fn new<A, C>(config: &Config, component: &str, aliases: impl IntoIterator<Item = (A, C)>) -> Self
    where
        A: Into<String>,
        C: Into<String>,
    {
        let aliases = aliases
            .into_iter()
            .map(|(alias, canonical)| (alias.into(), canonical.into()))
            .collect();
        let mut classifier = Self {
            aliases,
            listed: BTreeMap::new(),
        };
        for leader in &config.controller_leaders {
            let ours = leader.component == "*" || leader.component == component;
            let ownership = if ours { Ownership::Migrated } else { Ownership::Unowned };
            let name = classifier.canonical(&leader.name).to_owned();
            classifier.listed.insert(name, ownership);
        }
        classifier
    }

    /// The lock of a controller.
    #[must_use]
    pub fn classify(&self, controller: &str) -> Ownership {
        self.listed
            .get(self.canonical(controller))
            .copied()
            .unwrap_or(Ownership::NonMigrated)
    }

    fn canonical<'a>(&'a self, name: &'a str) -> &'a str {
        self.aliases.get(name).map_or(name, String::as_str)
    }
}
