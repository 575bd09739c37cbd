//! What `kubectl` leaves in objects.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// `kubectl apply` keeps the whole object here, a second time: of use to `kubectl` only, and the largest annotation of most.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Drops the copy that `kubectl apply` keeps.
pub(crate) fn drop_last_applied(metadata: &mut ObjectMeta) {
    if let Some(annotations) = &mut metadata.annotations {
        annotations.remove(LAST_APPLIED);
    }
    metadata.annotations.take_if(|annotations| annotations.is_empty());
}
