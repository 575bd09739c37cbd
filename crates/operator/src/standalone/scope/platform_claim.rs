//! The claim of the platform's own manager, if the operator runs one beside others: on `OpenShift`.

use crate::standalone::{Cluster, observe::Managers, operator::Operator};
use crate::{Unread, cache::Selection, openshift::platform_manager};
use operator_api::cloud_controller_manager::{Claim, SECURE_PORT, Scope};

/// The schemes of provider IDs of platforms whose manager ignores nodes with other schemes. The managers of other platforms
/// delete nodes whose machine they do not find. Azure's treats such a node as unmanaged, those of GCP and `OpenStack` cannot
/// parse its provider ID, and AWS's cannot unless the last part of it begins with `i-`: none deletes it.
const SCHEMES: [(&str, &str); 4] = [
    ("AWS", "aws"),
    ("Azure", "azure"),
    ("GCP", "gce"),
    ("OpenStack", "openstack"),
];

impl Operator {
    /// The claim of the platform's own manager, if it has one; or why it is not known. It is only read if there is another manager.
    pub(in crate::standalone) async fn platform(&mut self, managers: &Managers) -> Result<Option<Claim>, Unread> {
        let selections = self.platform_selections(managers);
        if selections.is_empty() {
            return Ok(None);
        }
        self.cache.want_also(selections).await;
        let platform = platform_manager::platform(&self.cache)?;
        Ok(platform.as_deref().map(claim))
    }

    /// The watches that are needed to know whether the platform has a manager.
    pub(in crate::standalone) fn platform_selections(&self, managers: &Managers) -> Vec<Selection> {
        match self.settings.cluster {
            Cluster::OpenShift if !managers.readable.is_empty() => platform_manager::selections().into(),
            Cluster::OpenShift | Cluster::Kubernetes => Vec::new(),
        }
    }
}

/// The claim of the manager of this platform: all nodes that may be its own, and all Services without a class.
pub(in crate::standalone) fn claim(platform: &str) -> Claim {
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
