//! What everything is called that belongs to one manager.

use crate::certificates;
use operator_api::CloudControllerManager;
use std::collections::BTreeMap;

/// What a manager may do in the cluster: a `ClusterRole` that is installed together with the operator.
pub const CLUSTER_ROLE: &str = "outrigger:cloud-controller-manager";
/// Who made it: the value of `app.kubernetes.io/managed-by`.
pub const MANAGED_BY: &str = "outrigger-operator";

/// What everything that makes up the manager `name` is called: `ServiceAccount`, Deployment, Service, lock and so on.
pub fn full(name: &str) -> String {
    format!("{name}-cloud-controller-manager")
}

/// The Secret with the certificate of its secure port.
pub fn serving_cert(name: &str) -> String {
    self::certificates(name, "").serving_secret().name
}

/// Each manager has an authority of its own, in objects of its own.
pub fn certificates(name: &str, namespace: &str) -> certificates::Names {
    certificates::Names {
        service: full(name),
        namespace: namespace.to_owned(),
        prefix: format!("{name}-"),
    }
}

/// What tells its Pods from all others. A Deployment keeps it for life, so nothing that can change is in it.
pub fn selector(name: &str) -> BTreeMap<&'static str, String> {
    [
        ("app.kubernetes.io/name", "cloud-controller-manager".to_owned()),
        ("app.kubernetes.io/instance", name.to_owned()),
    ]
    .into()
}

/// What everything that belongs to it is labelled with.
pub(super) fn labels(manager: &CloudControllerManager, name: &str) -> BTreeMap<&'static str, String> {
    let mut labels = selector(name);
    labels.insert("app.kubernetes.io/managed-by", MANAGED_BY.to_owned());
    labels.insert("outrigger.dev/provider", manager.spec.provider.clone());
    labels
}
