//! The sources of keys on this machine, as AWS's SDKs look for them.

use super::{Keys, container, profile, role};
use crate::{
    api::{Caller, Service, imds::Imds},
    config::{Config, Variables},
    metrics::Metrics,
    region,
};
use cloud::{Error, Gate, Result};
use cloud_http::{Client, Proxy};
use std::{path::PathBuf, sync::Arc};

/// The sources of keys on this machine.
pub struct Chain {
    variables: Variables,
    /// Calls without a signature.
    sts: Caller,
    containers: Client,
    imds: Arc<Imds>,
}

impl Chain {
    /// The sources that these variables name.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the configuration cannot be used.
    pub fn new(config: &Config, region: &str, imds: &Arc<Imds>, gate: &Gate, metrics: &Metrics) -> Result<Self> {
        let sts = region::endpoint(Service::Sts, region, config);
        let sts = sts.map_err(|reason| Error::invalid("endpoint", reason))?;
        let direct = cloud_http::Config {
            proxy: Proxy::Direct,
            ..cloud_http::Config::default()
        };
        Ok(Self {
            variables: config.variables.clone(),
            sts: Caller::new(Service::Sts, sts.url, None, gate, metrics)?,
            containers: Client::new(&direct, gate.clone(), &metrics.http)?,
            imds: Arc::clone(imds),
        })
    }

    /// Keys from the first source that is configured.
    ///
    /// # Errors
    /// If it fails, or none is.
    pub async fn keys(&self) -> Result<Keys> {
        let variables = &self.variables;
        if let Some(keys) = of_environment(variables)? {
            return Ok(keys);
        }
        if let Some(file) = variables.text("AWS_WEB_IDENTITY_TOKEN_FILE") {
            return self.of_web_identity(&PathBuf::from(file)).await;
        }
        if let Some(keys) = profile::keys(variables)? {
            return Ok(keys);
        }
        if let Some(keys) = container::keys(variables, &self.containers).await? {
            return Ok(keys);
        }
        self.imds.keys().await
    }

    async fn of_web_identity(&self, file: &PathBuf) -> Result<Keys> {
        let variables = &self.variables;
        let arn = variables.required("AWS_ROLE_ARN");
        let arn = arn.map_err(|reason| Error::invalid("credentials", reason))?;
        let session = variables.text("AWS_ROLE_SESSION_NAME").unwrap_or_else(role::session);
        // The kubelet replaces the file before the token expires.
        let token = std::fs::read_to_string(file).map_err(|error| {
            Error::invalid(
                "AWS_WEB_IDENTITY_TOKEN_FILE",
                format!("cannot read {}: {error}", file.display()),
            )
        })?;
        role::web_identity(&self.sts, &arn, &session, token.trim()).await
    }
}

fn of_environment(variables: &Variables) -> Result<Option<Keys>> {
    let (id, secret) = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY");
    match (variables.text(id), variables.text(secret)) {
        (Some(access_key_id), Some(secret_access_key)) => Ok(Some(Keys {
            access_key_id,
            secret_access_key: secret_access_key.into(),
            session_token: variables.text("AWS_SESSION_TOKEN").map(Into::into),
            expiration: None,
        })),
        (None, None) => Ok(None),
        _ => Err(Error::invalid(
            "credentials",
            format!("{id} and {secret} must be set together"),
        )),
    }
}
