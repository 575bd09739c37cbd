//! What a manager takes for itself.

use super::{CloudConfig, Credentials, Routes, Scope, Spec};
use serde::{Deserialize, Serialize};

/// What a manager takes for itself: nodes, Services and a port, and the cloud that it asks about them. Two managers whose claims meet
/// must not run side by side.
#[derive(Serialize, Deserialize, Debug, Clone, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct Claim {
    /// The cloud.
    pub provider: String,
    /// Where the provider's configuration is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cloud_config: Option<CloudConfig>,
    /// What the manager proves with who it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<Credentials>,
    /// Which nodes and Services.
    pub scope: Scope,
    /// Which controllers run.
    pub controllers: Vec<String>,
    /// Whether there are routes.
    pub routes: Routes,
    /// The port on each node that runs the manager.
    pub secure_port: i32,
}

impl Claim {
    /// What a manager with this spec takes.
    #[must_use]
    pub fn of(spec: &Spec) -> Self {
        Self {
            provider: spec.provider.clone(),
            cloud_config: spec.cloud_config.clone(),
            credentials: spec.credentials.clone(),
            scope: spec.scope.clone(),
            controllers: spec.controllers.clone(),
            routes: spec.routes,
            secure_port: spec.secure_port,
        }
    }
}
