//! The operator on `OpenShift`: the Infrastructure names the platform, and everything else follows from it.
//!
//! A pass of [`Operator`](operator::Operator) observes the cluster ([`observe`]), decides purely ([`decide`]), applies, and reports
//! in the `ClusterOperator`.

mod annotation;
mod decide;
mod inventory;
mod observe;
mod observed;
mod operands;
mod operator;
pub(crate) mod platform_manager;
mod preview;
mod report;
mod state;
mod sync;

pub(crate) use inventory::candidates;
pub(crate) use operator::Operator;

use crate::{Unread, platforms::tls};
use std::path::PathBuf;

/// How the operator is configured.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The namespace of the operands.
    pub namespace: String,
    /// The version to which the operator rolls out.
    pub release: String,
    /// The file with the images of the operands.
    pub images: PathBuf,
    /// The file with the certificates of the system.
    pub system_bundle: PathBuf,
    /// The TLS flags; `None` to follow the profile of the cluster.
    pub tls: Option<tls::Settings>,
    /// What this process does.
    pub duties: Duties,
}

/// What a process does.
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
    /// The user has to change something: it is reported at once.
    #[error("{0}")]
    Terminal(String),
    /// It may be temporary: it is reported if it lasts.
    #[error("{0}")]
    Transient(String),
}

impl Problem {
    fn transient(reason: &Unread) -> Self {
        Self::Transient(reason.0.clone())
    }
}
