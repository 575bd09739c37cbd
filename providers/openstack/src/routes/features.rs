//! The features of Neutron for routes.

use crate::api::{
    Session,
    neutron::extensions::{self, Extensions},
};
use cloud::{Error, Result};
use tokio::sync::OnceCell;

/// The features of Neutron, read once.
#[derive(Default)]
pub struct FeatureCache(OnceCell<Features>);

/// The features of Neutron.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Features {
    /// How routes are changed.
    pub update: Update,
    /// Whether ports filter by source address.
    pub pairs: Pairs,
    /// Whether ports can have tags.
    pub tags: Tags,
}

/// How routes are changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Update {
    /// Some are added or removed.
    Atomic,
    /// All are replaced.
    Whole,
}

/// Whether ports filter by source address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pairs {
    /// A port needs the pod range of its node as an allowed address pair.
    Needed,
    /// This cloud has no such extension.
    Unknown,
}

/// Whether ports can have tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tags {
    /// They can.
    Possible,
    /// They cannot: only the process that created a route knows its owner.
    Unknown,
}

impl FeatureCache {
    /// The features of Neutron.
    ///
    /// # Errors
    /// [`Error::NotSupported`] if routers have no extra routes at all. A failure is not remembered.
    pub async fn get(&self, session: &Session) -> Result<Features> {
        let ask = || async { of(&extensions::extensions(session).await?) };
        self.0.get_or_try_init(ask).await.copied()
    }
}

fn of(extensions: &Extensions) -> Result<Features> {
    let has = |alias: &str| extensions.contains(alias);
    let update = match (has("extraroute-atomic"), has("extraroute")) {
        (true, _) => Update::Atomic,
        (false, true) => Update::Whole,
        (false, false) => {
            let what = "routes (the Neutron extension extraroute)".to_owned();
            return Err(Error::NotSupported { what });
        }
    };
    let pairs = if has("allowed-address-pairs") {
        Pairs::Needed
    } else {
        Pairs::Unknown
    };
    let tags = if has("standard-attr-tag") {
        Tags::Possible
    } else {
        Tags::Unknown
    };
    Ok(Features { update, pairs, tags })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::all(&["extraroute", "extraroute-atomic", "allowed-address-pairs", "standard-attr-tag"], "Atomic Needed Possible")]
    #[case::classic(&["extraroute", "allowed-address-pairs"], "Whole Needed Unknown")]
    #[case::atomic_alone(&["extraroute-atomic"], "Atomic Unknown Unknown")]
    #[case::none(&["router"], "routes (the Neutron extension extraroute) is not supported by this cloud")]
    fn features(#[case] extensions: &[&str], #[case] expected: &str) {
        let text = match of(&extensions.iter().map(|&alias| alias.to_owned()).collect()) {
            Ok(Features { update, pairs, tags }) => format!("{update:?} {pairs:?} {tags:?}"),
            Err(error) => error.to_string(),
        };
        assert_eq!(text, expected);
    }
}
