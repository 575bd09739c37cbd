//! What the framework is measured on: the fixture, and one memory cloud for both programs.

use crate::fixture::{Fixture, Use};
use anyhow::Result;
use std::{fs, ops::Deref, path::Path};

/// The fixture with a memory cloud.
pub struct MemoryFixture {
    pub cloud: memory_sim::Cloud,
    fixture: Fixture,
    _server: memory_sim::Server,
}

impl Deref for MemoryFixture {
    type Target = Fixture;

    fn deref(&self) -> &Fixture {
        &self.fixture
    }
}

impl MemoryFixture {
    /// Starts everything; `ours` is the binary that is measured, by default the one beside this program.
    pub async fn start(ours: Option<&Path>) -> Result<Self> {
        let mut fixture = Fixture::start(ours, lab::peer::program()?, "memory").await?;
        fixture.tuned = &["--concurrent-node-status-updates=30"];
        let cloud = memory_sim::Cloud::new();
        let server = memory_sim::Server::start(&cloud).await?;
        fs::write(&fixture.cloud_config, format!("endpoint: {}\n", server.url()))?;
        Ok(Self {
            cloud,
            fixture,
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
