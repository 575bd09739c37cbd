//! The names and labels of the objects of a manager.

use crate::{Key, certificates};
use operator_api::CloudControllerManager;
use std::collections::BTreeMap;

/// The permissions of a manager: a `ClusterRole` that is installed together with the operator.
pub const CLUSTER_ROLE: &str = "outrigger:cloud-controller-manager";
/// The value of `app.kubernetes.io/managed-by`.
pub const MANAGED_BY: &str = "outrigger-operator";
/// The label with the name of the manager.
pub(in crate::standalone) const INSTANCE: &str = "app.kubernetes.io/instance";
/// The labels of the Pods of all managers, and of no other Pods.
const NAME: (&str, &str) = ("app.kubernetes.io/name", "cloud-controller-manager");
const MAKER: &str = "app.kubernetes.io/managed-by";

/// The name of the objects of the manager `name`: `ServiceAccount`, Deployment, Service, lock and so on.
pub fn full(name: &str) -> String {
    format!("{name}-cloud-controller-manager")
}

/// The Deployment of a manager.
pub(in crate::standalone) fn deployment(name: &str, namespace: &str) -> Key {
    Key::namespaced("apps/v1", "Deployment", namespace, &full(name))
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

/// The objects of the certificate of the operator's own metrics. No manager can have a name with a dot.
pub fn own_certificates(service: &str, namespace: &str) -> certificates::Names {
    certificates::Names {
        service: service.to_owned(),
        namespace: namespace.to_owned(),
        prefix: format!("{service}."),
    }
}

/// Selects the operator's own Pods, and its Service.
pub fn operator_selector() -> BTreeMap<&'static str, &'static str> {
    [(NAME.0, MANAGED_BY)].into()
}

/// The labels of everything that belongs to the operator itself.
pub fn operator_labels() -> BTreeMap<&'static str, &'static str> {
    let mut labels = operator_selector();
    labels.extend([
        ("app.kubernetes.io/component", "operator"),
        ("app.kubernetes.io/part-of", "outrigger"),
        ("app.kubernetes.io/version", env!("CARGO_PKG_VERSION")),
    ]);
    labels
}

/// The selector of its Pods. The selector of a Deployment is immutable, so it contains only labels that do not change.
pub fn selector(name: &str) -> BTreeMap<&'static str, String> {
    [(NAME.0, NAME.1.to_owned()), (INSTANCE, name.to_owned())].into()
}

/// Selects the objects of all managers.
pub(in crate::standalone) fn of_all() -> String {
    format!("{}={},{MAKER}={MANAGED_BY}", NAME.0, NAME.1)
}

/// The labels of the objects of a manager.
pub(in crate::standalone) fn labels(manager: &CloudControllerManager, name: &str) -> BTreeMap<&'static str, String> {
    let mut labels = selector(name);
    labels.insert(MAKER, MANAGED_BY.to_owned());
    labels.insert("outrigger.dev/provider", manager.spec.provider.clone());
    labels
}
