//! The clouds that this binary knows.

use manager::Provide;
use runtime::flags::{Section, Texts};
use std::{path::Path, sync::Arc};

/// The flags that only one cloud has.
#[derive(Default)]
pub struct Flags {
    user_agents: Texts,
}

impl Flags {
    /// The flags, by section.
    pub fn sections(&mut self) -> Vec<Section<'_>> {
        let help = "A word to put before the User-Agent of calls to OpenStack. May be given several times.";
        vec![Section::new("OpenStack Client").flag("user-agent", &mut self.user_agents, help)]
    }
}

/// Whether there is a provider of this name.
///
/// # Errors
/// One sentence: there is none.
pub fn known(name: &str) -> Result<(), String> {
    match name {
        "memory" | "openstack" => Ok(()),
        "external" => {
            Err("--cloud-provider=external is for kubelets and the other controllers: name a cloud here".to_owned())
        }
        name => Err(format!(
            "unknown cloud provider {name:?}: this program knows memory and openstack"
        )),
    }
}

/// The provider with this name, as the manager asks for it.
///
/// # Errors
/// One sentence: the name is unknown, or its configuration is wrong.
pub fn provider(ask: &Provide<'_>, flags: &Flags) -> Result<Arc<dyn cloud::Provider>, String> {
    let config = Some(ask.config).filter(|path| !path.is_empty()).map(Path::new);
    match ask.name {
        "memory" => memory::provider(config, ask.gate.clone(), ask.registry)
            .map_err(|error| format!("--cloud-config: {}", error.report())),
        "openstack" => openstack::provider::start(openstack::provider::Start {
            file: config,
            user_agents: &flags.user_agents.0,
            gate: ask.gate.clone(),
            registry: ask.registry,
        }),
        name => Err(known(name).err().unwrap_or_else(|| format!("{name} cannot be made"))),
    }
}
