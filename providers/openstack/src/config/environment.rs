//! The variables that the configuration depends on.

use super::ProviderIds;
use std::path::PathBuf;

/// The environment variables that are used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    /// `OS_CLIENT_CONFIG_FILE`: where `clouds.yaml` is.
    pub client_config_file: Option<PathBuf>,
    /// `OS_CLOUD`: which entry of it.
    pub cloud: Option<String>,
    /// `OS_CCM_REGIONAL`
    pub provider_ids: ProviderIds,
    /// `HOME`
    pub home: Option<PathBuf>,
    /// The working directory.
    pub directory: Option<PathBuf>,
}

impl Environment {
    /// The environment of this process.
    pub fn of_process() -> Self {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let regional = set("OS_CCM_REGIONAL").and_then(|value| value.into_string().ok());
        Self {
            client_config_file: set("OS_CLIENT_CONFIG_FILE").map(PathBuf::from),
            cloud: set("OS_CLOUD").and_then(|cloud| cloud.into_string().ok()),
            provider_ids: ProviderIds::of(regional.as_deref()),
            home: set("HOME").map(PathBuf::from),
            directory: std::env::current_dir().ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_has_an_environment() {
        let environment = Environment::of_process();
        assert_eq!(environment.directory, std::env::current_dir().ok());
    }
}
