//! What a manager reserves.

use super::{CloudConfig, Credentials, Routes, Scope, Spec};
use serde::{Deserialize, Serialize};

/// What a manager reserves: nodes, Services and a port, and the cloud in which it looks them up. Two managers whose claims overlap
/// must not run side by side.
#[derive(Serialize, Deserialize, Debug, Clone, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct Claim {
    /// The cloud.
    pub provider: String,
    /// Where the provider's configuration is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cloud_config: Option<CloudConfig>,
    /// The credentials of the manager.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials: Option<Credentials>,
    /// Its nodes and Services.
    pub scope: Scope,
    /// The controllers that run.
    pub controllers: Vec<String>,
    /// Whether the manager creates routes.
    pub routes: Routes,
    /// The port on each node that runs the manager.
    pub secure_port: i32,
}

impl Claim {
    /// The claim of a manager with this spec.
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
