//! Where a program finds the API server if it may run inside or outside of a cluster.

use super::{ConfigError, Source};
use crate::logging::chain;
use kube::Config;
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

/// Where the configuration of the client comes from, for programs that also run outside of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// `--kubeconfig`
    Flag(PathBuf),
    /// `KUBECONFIG`
    Variable(PathBuf),
    /// `~/.kube/config`
    Home(PathBuf),
    /// The account of the Pod that the process runs in.
    InCluster,
}

impl Origin {
    /// Precedence: the flag, `$KUBECONFIG`, the in-cluster configuration, `~/.kube/config`.
    ///
    /// # Errors
    /// If there is none of them.
    pub fn choose(
        flag: &str,
        variable: impl Fn(&str) -> Option<OsString>,
        exists: impl Fn(&Path) -> bool,
    ) -> Result<Self, ConfigError> {
        let given = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        if !flag.is_empty() {
            return Ok(Self::Flag(flag.into()));
        }
        if let Some(path) = given("KUBECONFIG") {
            return Ok(Self::Variable(path));
        }
        if given("KUBERNETES_SERVICE_HOST").is_some() {
            return Ok(Self::InCluster);
        }
        let home = given("HOME").map(|home| home.join(".kube/config"));
        home.filter(|path| exists(path)).map(Self::Home).ok_or_else(|| {
            ConfigError::new(
                "no API server is configured: --kubeconfig and KUBECONFIG are not set, ~/.kube/config does not exist, and \
                 this is not a Pod (KUBERNETES_SERVICE_HOST is not set): give --kubeconfig",
            )
        })
    }

    /// Loads it, as [`Source::load`].
    ///
    /// # Errors
    /// If a file is missing or invalid.
    pub fn load(self) -> Result<Config, ConfigError> {
        let (kubeconfig, name) = match self {
            Self::Flag(path) => (Some(path), "--kubeconfig="),
            Self::Variable(path) => (Some(path), "KUBECONFIG="),
            Self::Home(path) => (Some(path), ""),
            Self::InCluster => (None, ""),
        };
        let source = Source {
            kubeconfig,
            master: None,
        };
        // The error of the client names the flag in any case.
        let renamed = |error: ConfigError| ConfigError::new(chain(&error).to_string().replace("--kubeconfig=", name));
        source.load().map_err(renamed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const HOME: (&str, &str) = ("HOME", "/home/u");
    const POD: (&str, &str) = ("KUBERNETES_SERVICE_HOST", "10.0.0.1");

    fn choose(flag: &str, variables: &[(&str, &str)], home: bool) -> Result<Origin, ConfigError> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        };
        Origin::choose(flag, variable, |_| home)
    }

    #[rstest]
    #[case::flag("/f", &[("KUBECONFIG", "/v"), POD, HOME], Origin::Flag("/f".into()))]
    #[case::variable("", &[("KUBECONFIG", "/v"), POD, HOME], Origin::Variable("/v".into()))]
    #[case::pod("", &[("KUBECONFIG", ""), POD, HOME], Origin::InCluster)]
    #[case::home("", &[HOME], Origin::Home("/home/u/.kube/config".into()))]
    fn precedence(#[case] flag: &str, #[case] variables: &[(&str, &str)], #[case] expected: Origin) {
        assert_eq!(choose(flag, variables, true).unwrap(), expected);
    }

    #[test]
    fn names_what_may_be_set() {
        let problem = choose("", &[HOME], false).unwrap_err().to_string();
        for part in [
            "--kubeconfig",
            "KUBECONFIG",
            "~/.kube/config",
            "KUBERNETES_SERVICE_HOST",
        ] {
            assert!(problem.contains(part), "{part} is not in {problem}");
        }
        assert!(!problem.contains("--master"), "{problem}");
    }

    #[test]
    fn names_the_variable_if_that_is_wrong() {
        let problem = Origin::Variable("/nope".into())
            .load()
            .map(drop)
            .unwrap_err()
            .to_string();
        assert!(problem.starts_with("cannot read KUBECONFIG=/nope"), "{problem}");
    }
}
