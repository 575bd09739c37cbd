//! What this Neutron can do about routes.

use crate::api::{
    Session,
    neutron::extensions::{self, Extensions},
};
use cloud::{Error, Result};
use tokio::sync::OnceCell;

/// What this Neutron can do, asked once.
#[derive(Default)]
pub struct Abilities(OnceCell<Ability>);

/// What this Neutron can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ability {
    /// How routes are changed.
    pub update: Update,
    /// Whether ports check what is sent from them.
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

/// Whether ports check what is sent from them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pairs {
    /// A port must be told what its node forwards.
    Needed,
    /// This cloud does not know of it.
    Unknown,
}

/// Whether ports can have tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tags {
    /// They can.
    Possible,
    /// They cannot: whose a route is is known only to the process that made it.
    Unknown,
}

impl Abilities {
    /// What this Neutron can do.
    ///
    /// # Errors
    /// [`Error::NotSupported`] if routers have no extra routes at all. A failure is not remembered.
    pub async fn get(&self, session: &Session) -> Result<Ability> {
        let ask = || async { of(&extensions::extensions(session).await?) };
        self.0.get_or_try_init(ask).await.copied()
    }
}

fn of(extensions: &Extensions) -> Result<Ability> {
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
    Ok(Ability { update, pairs, tags })
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
    fn abilities(#[case] extensions: &[&str], #[case] expected: &str) {
        let text = match of(&extensions.iter().map(|&alias| alias.to_owned()).collect()) {
            Ok(Ability { update, pairs, tags }) => format!("{update:?} {pairs:?} {tags:?}"),
            Err(error) => error.to_string(),
        };
        assert_eq!(text, expected);
    }
}
