//! The operator on `OpenShift`: the Infrastructure says where the cluster runs, and the rest follows.
//!
//! A pass of [`Operator`] reads what the watches know, decides ([`sync`]: the cloud configuration and the certificates;
//! [`operands`]: everything else), lets the [engine](crate::operands::Engine) act, and reports in the `ClusterOperator`.

mod act;
mod decide;
mod observe;
mod operands;
mod pass;
mod predecessor;
pub(crate) mod presence;
mod preview;
mod report;
mod switch;
mod sync;

pub use pass::Operator;
pub(crate) use predecessor::candidates;

use crate::platforms::tls;
use std::path::PathBuf;

/// What the operator is told about itself.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where operands live.
    pub namespace: String,
    /// The version that is being rolled out.
    pub release: String,
    /// Which images operands run.
    pub images: PathBuf,
    /// The certificates of the system.
    pub system_bundle: PathBuf,
    /// What the flags say about TLS; `None` for the cluster's profile.
    pub tls: Option<tls::Settings>,
    /// What this process takes care of.
    pub duties: Duties,
}

/// What a process takes care of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duties {
    /// All of it.
    Everything,
    /// The operands; another process writes the cloud configuration and the certificates.
    Operands,
    /// The cloud configuration and the certificates only.
    ConfigSync,
}

impl Duties {
    fn has_sync(self) -> bool {
        self != Self::Operands
    }

    fn has_operands(self) -> bool {
        self != Self::ConfigSync
    }
}

/// Why something cannot be decided.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Problem {
    /// Somebody has to change something: it is told at once.
    #[error("{0}")]
    Terminal(String),
    /// It may pass by itself: it is told when it lasts.
    #[error("{0}")]
    Transient(String),
}
