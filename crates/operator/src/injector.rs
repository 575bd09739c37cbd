//! Adds the credentials of Azure to its cloud configuration: an init container for the containers that need both.
//!
//! [`Flags::parse`] takes the flags of the Go program of this name; [`run`] reads the files, calls [`inject`], which is pure, and
//! writes the result.

mod credentials;
mod file;
mod flags;

pub use credentials::{Credentials, Login};
pub use flags::{Flags, Invocation, WorkloadIdentity};

use crate::cloud_config::{Invalid, json::Document};
use secrecy::{ExposeSecret, SecretString};
use std::path::Path;
use tracing::warn;

/// The name of the program.
pub const PROGRAM: &str = "azure-config-credentials-injector";

/// What to do with the managed identity of the virtual machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ManagedIdentity {
    /// As configured.
    #[default]
    AsConfigured,
    /// It is not used, whatever the configuration says.
    Disabled,
}

/// Why there is no configuration with credentials, in one sentence that contains no credential.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The configuration is not valid.
    #[error("{0}")]
    Config(#[from] Invalid),
    /// The credentials are not complete.
    #[error("{0}")]
    Credentials(String),
    /// A file cannot be read or written.
    #[error("{0}")]
    File(String),
}

/// Reads the configuration and the credentials, and writes the result.
///
/// # Errors
/// What is wrong and what to do, in one sentence. It never contains a credential.
pub fn run(flags: &Flags) -> Result<(), String> {
    execute(flags).map_err(|error| error.to_string())
}

fn execute(flags: &Flags) -> Result<(), Error> {
    let from = Path::new(&flags.cloud_config_file_path);
    let config = SecretString::from(file::read(from)?);
    let credentials = Credentials::read(Path::new(&flags.creds_path), flags.workload_identity)?;
    let name = from.display().to_string();
    let injected = inject(&name, config.expose_secret(), &credentials, flags.managed_identity())?;
    if injected.used == Used::ManagedIdentity {
        warn!("{MANAGED} is on, so the credentials are not used: see --disable-identity-extension-auth");
    }
    file::write(Path::new(&flags.output_file_path), injected.config.expose_secret())
}

/// A configuration with credentials.
#[derive(Debug, Clone)]
pub struct Injected {
    /// The configuration.
    pub config: SecretString,
    /// How the operand will authenticate.
    pub used: Used,
}

/// How the operand authenticates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Used {
    /// The credentials.
    Credentials,
    /// The identity of the virtual machine, as configured.
    ManagedIdentity,
}

const FEDERATED: &str = "useFederatedWorkloadIdentityExtension";
const MANAGED: &str = "useManagedIdentityExtension";

/// Adds credentials to a configuration. Other keys and exact numbers are preserved; the keys are sorted, as by the Go program.
///
/// # Errors
/// If the configuration is not a JSON object; the error names it like this.
pub fn inject(
    name: &str,
    config: &str,
    credentials: &Credentials,
    machine: ManagedIdentity,
) -> Result<Injected, Error> {
    let mut document = Document::parse(name, config)?;
    document.set("aadClientId", credentials.client_id.as_str());
    let used = used(&mut document, machine);
    match &credentials.login {
        Login::Secret(secret) => {
            document.set("aadClientSecret", secret.expose_secret());
            if document.find(FEDERATED).is_some() {
                document.set(FEDERATED, false);
            }
        }
        Login::Token { file, tenant } => {
            document.set("tenantId", tenant.as_str());
            document.set("aadFederatedTokenFile", file.as_str());
            document.set(FEDERATED, true);
        }
    }
    document.sort();
    let config = SecretString::from(document.to_string());
    Ok(Injected { config, used })
}

fn used(document: &mut Document, machine: ManagedIdentity) -> Used {
    let value = document.find(MANAGED).map(|value| value.get() == "true");
    match (value, machine) {
        (Some(true), ManagedIdentity::AsConfigured) => return Used::ManagedIdentity,
        (Some(_), ManagedIdentity::Disabled) => document.set(MANAGED, false),
        (Some(false), ManagedIdentity::AsConfigured) | (None, _) => {}
    }
    Used::Credentials
}

#[cfg(test)]
mod tests;
