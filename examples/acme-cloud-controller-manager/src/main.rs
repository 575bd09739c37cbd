//! The cloud controller manager of the Acme cloud. Everything that is not about Acme comes from the crate `manager`.

mod api;
mod instances;
mod load_balancers;

use api::Api;
use cloud::{Instances, LoadBalancers, Provider};
use manager::{Provide, Registration};
use std::{fs, process::ExitCode, sync::Arc};

fn main() -> ExitCode {
    manager::main(Registration::new("acme", || Box::new(acme)))
}

/// The provider. Its parts are in the modules `instances` and `load_balancers`.
struct Acme {
    api: Api,
}

/// Creates the provider from the file of `--cloud-config`.
fn acme(start: &Provide<'_>) -> Result<Arc<dyn Provider>, String> {
    let settings = fs::read(start.config).and_then(|text| Ok(serde_json::from_slice(&text)?));
    let settings = settings.map_err(|error| format!("--cloud-config={}: {error}", start.config))?;
    Ok(Arc::new(Acme { api: Api::new(settings, start.gate.clone(), start.registry)? }))
}

impl Provider for Acme {
    fn name(&self) -> &'static str {
        "acme"
    }

    fn instances(&self) -> &dyn Instances {
        self
    }

    fn load_balancers(&self) -> Option<&dyn LoadBalancers> {
        Some(self)
    }
}
