//! The combined effect of the two flags.

use super::{Config, Error};
use std::path::Path;

/// `--enable-leader-migration`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Migration {
    /// Given.
    Enabled,
    /// Not given.
    #[default]
    Disabled,
}

/// `--leader-elect`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Election {
    /// The default.
    #[default]
    Enabled,
    /// Switched off.
    Disabled,
}

/// The effect of the flags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The controllers that migrate; `None` without a second lock.
    pub config: Option<Config>,
    /// Warnings about flags without an effect, one sentence each. The Go programs start silently, so this is no error.
    pub warnings: Vec<String>,
}

/// Reads and validates the file, or uses the default, if migration is enabled.
///
/// # Errors
/// If it is enabled and the file cannot be read or is invalid.
pub fn resolve(election: Election, migration: Migration, file: Option<&Path>) -> Result<Resolved, Error> {
    let file = file.filter(|path| !path.as_os_str().is_empty());
    let nothing = |warnings: Vec<&str>| {
        Ok(Resolved {
            config: None,
            warnings: warnings.into_iter().map(String::from).collect(),
        })
    };
    match (migration, election, file) {
        (Migration::Disabled, _, None) => nothing(vec![]),
        (Migration::Disabled, _, Some(_)) => nothing(vec![
            "--leader-migration-config has no effect without --enable-leader-migration",
        ]),
        (Migration::Enabled, election, file) => {
            let config = load(file)?;
            match election {
                Election::Enabled => Ok(Resolved {
                    config: Some(config),
                    warnings: vec![],
                }),
                Election::Disabled => nothing(vec!["--enable-leader-migration has no effect without --leader-elect"]),
            }
        }
    }
}

fn load(file: Option<&Path>) -> Result<Config, Error> {
    let config = file.map_or_else(|| Ok(Config::default()), Config::read)?;
    let problems = config.validate();
    if problems.is_empty() {
        Ok(config)
    } else {
        Err(Error::Invalid(problems))
    }
}
