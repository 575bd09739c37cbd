//! What the platform's own manager looks after, where the operator runs one beside ours: on `OpenShift`.

use super::{
    observe::Managers,
    pass::{Cluster, Operator},
};
use crate::{openshift::presence, watching::Selection};
use operator_api::cloud_controller_manager::{Claim, SECURE_PORT, Scope};

/// What the nodes of a platform are called, where its manager leaves alone those that are called otherwise. Other platforms' managers
/// take a machine that they do not know for one that is gone. Azure's counts such a node as unmanaged, those of GCP and `OpenStack` cannot
/// read its provider ID, and AWS's neither unless the last part of it begins with `i-`: none deletes it.
const SCHEMES: [(&str, &str); 4] = [
    ("AWS", "aws"),
    ("Azure", "azure"),
    ("GCP", "gce"),
    ("OpenStack", "openstack"),
];

impl Operator {
    /// What the platform's own manager looks after, if it has one; or why nobody knows. Nobody asks unless there is another.
    pub(super) async fn platform(&mut self, managers: &Managers) -> Result<Option<Claim>, String> {
        let beside = self.beside(managers);
        if beside.is_empty() {
            return Ok(None);
        }
        self.watches.want_also(beside).await;
        let platform = presence::platform(&self.watches)?;
        Ok(platform.as_deref().map(claim))
    }

    /// What says whether the platform has a manager, to be watched.
    pub(super) fn beside(&self, managers: &Managers) -> Vec<Selection> {
        match self.cluster {
            Cluster::OpenShift if !managers.readable.is_empty() => presence::selections().into(),
            Cluster::OpenShift | Cluster::Kubernetes => Vec::new(),
        }
    }
}

/// What the manager of such a platform looks after: all nodes that may be its own, and all Services without a class.
pub(super) fn claim(platform: &str) -> Claim {
    let schemes = SCHEMES.iter().filter(|(type_, _)| *type_ == platform);
    Claim {
        provider: platform.to_owned(),
        scope: Scope {
            provider_id_schemes: schemes.map(|(_, scheme)| (*scheme).to_owned()).collect(),
            ..Scope::default()
        },
        controllers: vec!["*".to_owned()],
        secure_port: SECURE_PORT,
        ..Claim::default()
    }
}
