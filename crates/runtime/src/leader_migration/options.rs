//! What the two flags ask for together.

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

/// What follows from the flags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// What migrates; nothing: no second lock.
    pub config: Option<Config>,
    /// What the user surely did not mean, one sentence each. The Go programs say nothing and start, so ours starts too.
    pub warnings: Vec<String>,
}

/// Reads and checks the file, or takes the default, if migration is enabled.
///
/// # Errors
/// If it is enabled and the file cannot be read, parsed, or work.
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
