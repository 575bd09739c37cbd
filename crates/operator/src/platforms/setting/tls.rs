//! The TLS settings of the manager's port: the operator's flags, or the profile of the cluster.

mod ciphers;

use ciphers::{INTERMEDIATE, OLD};
use operator_api::api_server::{self, CustomTlsProfile, TlsSecurityProfile};

/// Go's names of the versions, in ascending order.
const VERSIONS: [&str; 4] = ["VersionTLS10", "VersionTLS11", "VersionTLS12", NEWEST];
const DEFAULT: &str = "VersionTLS12";
/// Its cipher suites cannot be chosen.
const NEWEST: &str = "VersionTLS13";

/// The TLS settings of a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The minimum version, by Go's name.
    pub min_version: String,
    /// Names of IANA; empty for the default of a program.
    pub cipher_suites: Vec<String>,
}

/// Where settings come from: flags do not change, the cluster's profile is to be watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// `--tls-min-version` or `--tls-cipher-suites`.
    Flags,
    /// The `APIServer`, or the default if it names no profile.
    Cluster,
}

/// The resolved settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The settings.
    pub settings: Settings,
    /// Where they come from.
    pub source: Source,
    /// Warnings for the log.
    pub warnings: Vec<String>,
}

/// A flag is invalid.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// `--tls-min-version`
    #[error("--tls-min-version: {0:?} is not a version of TLS, use one of {list}", list = VERSIONS.join(", "))]
    Version(String),
    /// `--tls-cipher-suites`
    #[error("--tls-cipher-suites: {0:?} is not a cipher suite, use IANA's names such as TLS_AES_128_GCM_SHA256")]
    Cipher(String),
}

impl Default for Settings {
    /// The profile `Intermediate`.
    fn default() -> Self {
        settings(DEFAULT, INTERMEDIATE.iter().map(|name| (*name).to_owned()).collect())
    }
}

/// Resolves the flags `--tls-min-version` and `--tls-cipher-suites` and the `APIServer` of the cluster, `None` if it could
/// not be read.
///
/// # Errors
/// If a flag is invalid. An invalid profile is not an error: it falls back to `Intermediate`, with a warning.
pub fn resolve(
    min_version: &str,
    cipher_suites: &[String],
    api_server: Option<&api_server::Spec>,
) -> Result<Resolved, Error> {
    if !min_version.is_empty() || !cipher_suites.is_empty() {
        return Ok(Resolved {
            settings: of_flags(min_version, cipher_suites)?,
            source: Source::Flags,
            warnings: Vec::new(),
        });
    }
    let mut warnings = Vec::new();
    let asked = api_server.filter(|spec| !matches!(spec.tls_adherence.as_str(), "" | "LegacyAdheringComponentsOnly"));
    let profile = asked.and_then(|spec| spec.tls_security_profile.as_ref());
    Ok(Resolved {
        settings: profile.map_or_else(Settings::default, |profile| of_profile(profile, &mut warnings)),
        source: Source::Cluster,
        warnings,
    })
}

fn of_flags(min_version: &str, cipher_suites: &[String]) -> Result<Settings, Error> {
    let version = match min_version {
        "" => DEFAULT,
        version if VERSIONS.contains(&version) => version,
        version => return Err(Error::Version(version.to_owned())),
    };
    match cipher_suites.iter().find(|name| !ciphers::is_iana(name)) {
        Some(wrong) => Err(Error::Cipher(wrong.clone())),
        None => Ok(settings(version, cipher_suites.to_vec())),
    }
}

fn of_profile(profile: &TlsSecurityProfile, warnings: &mut Vec<String>) -> Settings {
    let named =
        |version: &str, suites: &[&str]| settings(version, suites.iter().map(|&name| name.to_owned()).collect());
    match (profile.type_.as_str(), &profile.custom) {
        ("Old", _) => named("VersionTLS10", &[INTERMEDIATE, OLD].concat()),
        ("Modern", _) => named(NEWEST, &[]),
        ("Custom", Some(custom)) => of_custom(custom, warnings),
        ("Custom", None) => {
            warnings.push("APIServer cluster: the TLS profile Custom has no body, using Intermediate".to_owned());
            Settings::default()
        }
        _ => Settings::default(),
    }
}

fn of_custom(custom: &CustomTlsProfile, warnings: &mut Vec<String>) -> Settings {
    let version = match custom.min_tls_version.as_str() {
        version if VERSIONS.contains(&version) => version,
        version => {
            warnings.push(format!(
                "APIServer cluster: {version:?} is not a version of TLS, using {DEFAULT}"
            ));
            DEFAULT
        }
    };
    let mut suites: Vec<String> = Vec::new();
    for name in &custom.ciphers {
        match ciphers::iana(name) {
            Some(suite) if suites.iter().any(|known| known == suite) => {}
            Some(suite) => suites.push(suite.to_owned()),
            None => warnings.push(format!("APIServer cluster: cipher {name} is not supported, left out")),
        }
    }
    settings(version, suites)
}

fn settings(min_version: &str, cipher_suites: Vec<String>) -> Settings {
    Settings {
        min_version: min_version.to_owned(),
        cipher_suites: if min_version == NEWEST {
            Vec::new()
        } else {
            cipher_suites
        },
    }
}

#[cfg(test)]
mod tests;
