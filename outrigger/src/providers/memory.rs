//! `--cloud-provider=memory`: a cloud inside the process, to try things out.

use super::Entry;
use manager::{Provide, Registration};
use operator::standalone::provider::{Changes, ClusterName, Config, Credentials, Needs};
use std::sync::Arc;

pub const ENTRY: Entry = Entry {
    registration: Registration::new("memory", || Box::new(provider)),
    needs: Needs {
        config: Config::Optional,
        credentials: Credentials::None,
        changes: Changes::Unseen,
        cluster_name: ClusterName::Describes,
    },
    pages: Vec::new,
    policies: Vec::new,
    metrics: None,
    events: &[],
};

fn provider(start: &Provide<'_>) -> Result<Arc<dyn cloud::Provider>, String> {
    memory::provider(start.config_file(), start.gate.clone(), start.registry)
        .map_err(|error| format!("--cloud-config: {}", error.report()))
}
