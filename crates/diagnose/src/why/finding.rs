//! What is stuck, whose turn it is, and what to do.

use std::fmt;

/// Whether the subject waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Nothing is left to do.
    Fine,
    /// Work is in progress.
    Waiting,
    /// There is no progress until somebody acts.
    Stuck,
}

/// Who has to act next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// Nobody.
    Nobody,
    /// The cloud.
    Cloud,
    /// The cloud controller manager.
    Manager,
    /// The owner of the object.
    Owner,
    /// The administrator of the cluster.
    Cluster,
    /// The administrator of the account or project in the cloud.
    Account,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Whether the subject waits.
    pub state: State,
    /// What waits for what, since when, and why; one sentence each.
    pub sentences: Vec<String>,
    /// Who has to act next.
    pub turn: Turn,
    /// What to do.
    pub advice: String,
}

/// The answer, with the facts that it is based on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The answer.
    pub finding: Finding,
    /// What was seen: a label, and a text.
    pub facts: Vec<(&'static str, String)>,
    /// What could not be read, and why.
    pub unknown: Vec<String>,
}

impl Finding {
    pub(super) fn fine(sentence: String) -> Self {
        Self {
            state: State::Fine,
            sentences: vec![sentence],
            turn: Turn::Nobody,
            advice: "nothing".to_owned(),
        }
    }

    pub(super) fn missing(what: &str, list: &str) -> Self {
        Self {
            state: State::Fine,
            sentences: vec![format!("{what} does not exist.")],
            turn: Turn::Nobody,
            advice: format!("check name and namespace: `{list}`"),
        }
    }

    /// Without any manager nothing can make progress.
    pub(super) fn no_manager(first: String, reason: &str) -> Self {
        Self {
            state: State::Stuck,
            sentences: vec![first, format!("No cloud controller manager is at work: {reason}.")],
            turn: Turn::Cluster,
            advice: "start the cloud controller manager, or correct what keeps its Pods from running".to_owned(),
        }
    }
}

impl fmt::Display for Turn {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Nobody => "nobody's",
            Self::Cloud => "the cloud's",
            Self::Manager => "the cloud controller manager's",
            Self::Owner => "yours, as the owner of the object",
            Self::Cluster => "the cluster administrator's",
            Self::Account => "the administrator's of the account or project in the cloud",
        })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            finding:
                Finding {
                    state: _,
                    sentences,
                    turn,
                    advice,
                },
            facts,
            unknown,
        } = self;
        for sentence in sentences {
            writeln!(out, "{sentence}")?;
        }
        writeln!(out, "\nWhose turn:  {turn}\nWhat to do:  {advice}")?;
        if !facts.is_empty() {
            writeln!(out, "\nSeen:")?;
        }
        for (label, text) in facts {
            writeln!(out, "  {label:<8} {text}")?;
        }
        if !unknown.is_empty() {
            writeln!(out, "\nNot known:")?;
        }
        for reason in unknown {
            writeln!(out, "  {reason}")?;
        }
        Ok(())
    }
}
