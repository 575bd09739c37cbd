//! What the framework is measured on: the ground and one memory cloud, for both programs.

use crate::ground::{Ground, Use};
use anyhow::Result;
use std::{fs, ops::Deref, path::Path};

/// The ground, and a cloud.
pub struct World {
    pub cloud: memory::Cloud,
    ground: Ground,
    _server: memory::Server,
}

impl Deref for World {
    type Target = Ground;

    fn deref(&self) -> &Ground {
        &self.ground
    }
}

impl World {
    /// Starts everything; `ours` is the binary that is measured, by default the one beside this program.
    pub async fn start(ours: Option<&Path>) -> Result<Self> {
        let mut ground = Ground::start(ours, lab::peer::program()?, "memory").await?;
        ground.tuned = &["--concurrent-node-status-updates=30"];
        let cloud = memory::Cloud::new();
        let server = memory::Server::start(&cloud).await?;
        fs::write(&ground.cloud_config, format!("endpoint: {}\n", server.url()))?;
        Ok(Self {
            cloud,
            ground,
            _server: server,
        })
    }

    /// Machines that have joined.
    pub async fn join(&self, names: &[String]) -> Result<()> {
        self.join_for(names, Use::Everything).await
    }

    /// The same, for this use.
    pub async fn join_for(&self, names: &[String], used: Use) -> Result<()> {
        for name in names {
            self.cloud.boot(name);
        }
        self.register_for(names, used).await
    }

    /// Removes all nodes, Services and machines.
    pub async fn clear(&self) -> Result<()> {
        self.clear_cluster().await?;
        for machine in self.cloud.machines() {
            self.cloud.delete_machine(&machine.name);
        }
        self.cloud.forget_calls();
        Ok(())
    }
}
