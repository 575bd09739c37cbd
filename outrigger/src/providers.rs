//! The clouds that this binary knows.

use manager::Provide;
use std::{path::Path, sync::Arc};

/// The provider with this name, as the manager asks for it.
///
/// # Errors
/// One sentence: the name is unknown, or its configuration is wrong.
pub fn provider(ask: &Provide<'_>) -> Result<Arc<dyn cloud::Provider>, String> {
    let config = Some(ask.config).filter(|path| !path.is_empty()).map(Path::new);
    match ask.name {
        "memory" => memory::provider(config, ask.gate.clone(), ask.registry)
            .map_err(|error| format!("--cloud-config: {}", error.report())),
        "external" => {
            Err("--cloud-provider=external is for kubelets and the other controllers: name a cloud here".to_owned())
        }
        name => Err(format!("unknown cloud provider {name:?}: this program knows memory")),
    }
}
