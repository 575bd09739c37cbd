//! Writes that go wrong on demand.

use super::OpenStack;
use anyhow::{Result, bail};
use std::fs;

pub(super) const FOLDER: &str = "writes";

/// How a write goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spoilt {
    /// The service answers 501 and does nothing.
    Refused,
    /// The service does what was asked, and the connection is closed without an answer.
    AnswerLost,
}

impl OpenStack {
    /// Makes the next write of clients with this word in their `User-Agent` fail; others are not affected. Logging in is no
    /// write.
    ///
    /// # Errors
    /// If it is not one word of letters, digits, `_`, `.`, `-` and `~`.
    pub fn spoil_next_write(&self, agent: &str, spoilt: Spoilt) -> Result<()> {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "_.-~".contains(letter);
        if agent.is_empty() || agent.len() > 255 || !agent.chars().all(plain) {
            bail!("the lab cannot identify a client by the word {agent:?}");
        }
        let fault = match spoilt {
            Spoilt::Refused => "refuse",
            Spoilt::AnswerLost => "lose",
        };
        // Under its name it is complete.
        let unfinished = self.folder.join(format!("{FOLDER}/.{agent}"));
        fs::write(&unfinished, fault)?;
        Ok(fs::rename(unfinished, self.folder.join(FOLDER).join(agent))?)
    }
}
