//! Kubeconfig files.

use serde_json::json;
use std::path::Path;

/// A kubeconfig for one server and one client certificate, by file paths.
pub(crate) fn with_certificate(server: &str, ca: &Path, certificate: &Path, key: &Path) -> String {
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "lab", "cluster": {"server": server, "certificate-authority": ca}}],
        "users": [{"name": "lab", "user": {"client-certificate": certificate, "client-key": key}}],
        "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "lab"}}],
        "current-context": "lab",
    });
    // JSON is YAML.
    format!("{config:#}\n")
}
