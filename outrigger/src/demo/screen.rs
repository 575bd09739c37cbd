//! One line a step: what happened, and how long it took.

use anstyle::{AnsiColor, Style};
use anyhow::{Context, Result};
use std::{
    future::Future,
    time::{Duration, Instant},
};

const DONE: Style = AnsiColor::Green.on_default().bold();
const FAILED: Style = AnsiColor::Red.on_default().bold();
const DIM: Style = Style::new().dimmed();
/// Nothing takes longer, unless it is broken or known to be slow.
const PATIENCE: Duration = Duration::from_mins(1);

/// Where the story is printed; in colour on a terminal, plain otherwise.
pub struct Screen {
    pause: Duration,
    patience: Duration,
}

impl Screen {
    pub fn new(pause: Duration) -> Self {
        Self {
            pause,
            patience: PATIENCE,
        }
    }

    /// The same screen, for steps that may take this long.
    pub fn with_patience(&self, patience: Duration) -> Self {
        Self {
            pause: self.pause,
            patience,
        }
    }

    /// Does one step, prints what it answers, and waits a moment.
    pub async fn step<T>(&self, what: &str, step: impl Future<Output = Result<(T, String)>>) -> Result<T> {
        let start = Instant::now();
        let outcome = match tokio::time::timeout(self.patience, step).await {
            Ok(outcome) => outcome.with_context(|| what.to_owned()),
            Err(_) => Err(anyhow::anyhow!(
                "{what}: nothing happened for {} s",
                self.patience.as_secs()
            )),
        };
        let took = start.elapsed();
        match outcome {
            Ok((value, said)) => {
                anstream::println!("{DONE}✓{DONE:#} {said} {DIM}({}){DIM:#}", seconds(took));
                tokio::time::sleep(self.pause).await;
                Ok(value)
            }
            Err(error) => {
                anstream::println!("{FAILED}✗{FAILED:#} {what} {DIM}({}){DIM:#}", seconds(took));
                Err(error)
            }
        }
    }

    /// Prints as it is.
    pub fn say(text: &str) {
        anstream::println!("{text}");
    }
}

/// A duration as a person reads it.
pub fn seconds(duration: Duration) -> String {
    format!("{:.2} s", duration.as_secs_f64())
}
