//! The identity of the operand at Azure.

use super::{Error, file, flags::WorkloadIdentity};
use secrecy::SecretString;
use std::path::Path;

/// The identity of the operand at Azure.
#[derive(Debug, Clone)]
pub struct Credentials {
    /// The application.
    pub client_id: String,
    /// How the application authenticates.
    pub login: Login,
}

/// How an application authenticates.
#[derive(Debug, Clone)]
pub enum Login {
    /// By a secret.
    Secret(SecretString),
    /// By a token that the cluster issues.
    Token {
        /// The path of the token, in the container of the operand.
        file: String,
        /// The tenant that trusts the cluster's tokens.
        tenant: String,
    },
}

impl Credentials {
    /// Reads them from the files in a folder, one value per file; white space around a value is ignored.
    ///
    /// # Errors
    /// Which file is missing, empty or superfluous, in one sentence.
    pub fn read(folder: &Path, workload: WorkloadIdentity) -> Result<Self, Error> {
        let find = |name: &str| file::find(&folder.join(name));
        let client_id = required(folder, "azure_client_id", find("azure_client_id")?)?;
        let secret = find("azure_client_secret")?;
        let login = match (find("azure_federated_token_file")?, workload) {
            (Some(_), WorkloadIdentity::Allowed) if secret.is_some() => {
                return Err(Error::Credentials(format!(
                    "{0}/azure_client_secret and {0}/azure_federated_token_file are both there: remove one",
                    folder.display()
                )));
            }
            (Some(token), WorkloadIdentity::Allowed) => Login::Token {
                file: required(folder, "azure_federated_token_file", Some(token))?,
                tenant: required(folder, "azure_tenant_id", find("azure_tenant_id")?)?,
            },
            (Some(_), WorkloadIdentity::Never) if secret.is_none() => {
                return Err(Error::Credentials(format!(
                    "{}/azure_client_secret is missing; there is a federated token file, but \
                     --enable-azure-workload-identity=false: write true, or provide the secret",
                    folder.display()
                )));
            }
            (Some(_), WorkloadIdentity::Never) | (None, _) => {
                Login::Secret(required(folder, "azure_client_secret", secret)?.into())
            }
        };
        Ok(Self { client_id, login })
    }
}

fn required(folder: &Path, name: &str, value: Option<String>) -> Result<String, Error> {
    match value {
        Some(value) if !value.is_empty() => Ok(value),
        Some(_) => Err(Error::Credentials(format!(
            "{}/{name} is empty: put the value there",
            folder.display()
        ))),
        None => Err(Error::Credentials(format!(
            "{}/{name} is missing: put the value there",
            folder.display()
        ))),
    }
}
