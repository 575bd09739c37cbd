//! How long load balancers of the providers `lab` and `ovn` take, and which of them fail.

use super::OpenStack;
use anyhow::{Result, bail};
use std::{fs, path::PathBuf, time::Duration};

impl OpenStack {
    /// From now on every change of a load balancer takes this long: it is PENDING for that time.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub fn set_lb_delay(&self, delay: Duration) -> Result<()> {
        Ok(fs::write(
            self.folder.join("balancers/delay"),
            delay.as_secs_f64().to_string(),
        )?)
    }

    /// The same for the load balancer of this name only, there already or not: others do not notice.
    ///
    /// # Errors
    /// If a load balancer cannot have that name.
    pub fn set_lb_delay_of(&self, name: &str, delay: Duration) -> Result<()> {
        Ok(fs::write(
            self.balancer_file("delays", name)?,
            delay.as_secs_f64().to_string(),
        )?)
    }

    /// The next change of the load balancer of this name, its creation for example, ends in ERROR.
    ///
    /// # Errors
    /// If a load balancer cannot have that name.
    pub fn fail_next_lb(&self, name: &str) -> Result<()> {
        Ok(fs::write(self.balancer_file("failures", name)?, "")?)
    }

    fn balancer_file(&self, kind: &str, name: &str) -> Result<PathBuf> {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "_.-~".contains(letter);
        if name.is_empty() || name.len() > 255 || !name.chars().all(plain) {
            bail!("the lab cannot identify a load balancer by the name {name:?}");
        }
        Ok(self.folder.join("balancers").join(kind).join(name))
    }
}
