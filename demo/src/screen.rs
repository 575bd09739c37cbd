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
/// A step that takes longer has failed, unless it is known to be slow.
const TIMEOUT: Duration = Duration::from_mins(1);

/// Where the steps are printed; in colour on a terminal, plain otherwise.
pub struct Screen {
    pause: Duration,
    timeout: Duration,
}

impl Screen {
    pub fn new(pause: Duration) -> Self {
        Self {
            pause,
            timeout: TIMEOUT,
        }
    }

    /// The same screen, for steps that may take this long.
    pub fn with_timeout(&self, timeout: Duration) -> Self {
        Self {
            pause: self.pause,
            timeout,
        }
    }

    /// Runs one step, prints its result, and pauses.
    pub async fn step<T>(&self, what: &str, step: impl Future<Output = Result<(T, String)>>) -> Result<T> {
        let start = Instant::now();
        let outcome = match tokio::time::timeout(self.timeout, step).await {
            Ok(outcome) => outcome.with_context(|| what.to_owned()),
            Err(_) => Err(anyhow::anyhow!(
                "{what}: nothing happened for {} s",
                self.timeout.as_secs()
            )),
        };
        let took = start.elapsed();
        match outcome {
            Ok((value, done)) => {
                anstream::println!("{DONE}✓{DONE:#} {done} {DIM}({}){DIM:#}", seconds(took));
                tokio::time::sleep(self.pause).await;
                Ok(value)
            }
            Err(error) => {
                anstream::println!("{FAILED}✗{FAILED:#} {what} {DIM}({}){DIM:#}", seconds(took));
                Err(error)
            }
        }
    }

    /// Prints a text as it is.
    pub fn print(text: &str) {
        anstream::println!("{text}");
    }
}

/// A duration in seconds.
pub fn seconds(duration: Duration) -> String {
    format!("{:.2} s", duration.as_secs_f64())
}
