//! Reads a [`Config`].

use super::{
    Config, Environment, Sources,
    credentials::AuthMethod,
    error::Error,
    global::{self, Credentials, FromSecret, SecretClouds},
    keys::KEYS,
    sections,
};
use cloud::SecretData;
use provider_kit::{keys::Settings, live_config::Reader};
use std::path::PathBuf;

/// A configuration and its warnings.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The configuration.
    ///
    /// If it names a Secret and none was given, the credentials are still missing: load it again with the Secret.
    pub config: Config,
    /// What the user should correct, a sentence each.
    pub warnings: Vec<String>,
    /// The files that were read besides `cloud.conf` itself; a change of one of them is a change of the configuration.
    pub files: Vec<PathBuf>,
}

/// Reads the configuration.
///
/// # Errors
/// If it cannot be used; [`Error::warnings`] has the warnings.
pub fn load(sources: &Sources<'_>, environment: &Environment) -> Result<Loaded, Error> {
    let mut warnings = Vec::new();
    let reader = Reader::new(sources.files);
    match read(sources, environment, &reader, &mut warnings) {
        Ok(config) => Ok(Loaded {
            config,
            warnings,
            files: reader.into_read(),
        }),
        Err(error) => Err(error.beside(warnings)),
    }
}

fn read(
    sources: &Sources<'_>,
    environment: &Environment,
    reader: &Reader<'_>,
    warnings: &mut Vec<String>,
) -> Result<Config, Error> {
    let file = sources.file.ok_or_else(|| {
        Error::new("there is no cloud config: name one with --cloud-config, such as /etc/kubernetes/cloud.conf")
    })?;
    let mut settings = KEYS.read(file.name, file.content, warnings)?;
    let secret_ref = global::secret_ref(&settings, warnings);
    let secret = secret_ref
        .as_ref()
        .map(|named| (named, sources.data.secrets.get(named)));
    let (from_secret, credentials) = match secret {
        Some((named, Some(data))) => {
            let from_secret = overlay(&mut settings, data, &format!("secret {named}"), warnings)?;
            (from_secret, Credentials::Needed)
        }
        Some((_, None)) => (FromSecret::default(), Credentials::Awaited),
        None => (FromSecret::default(), Credentials::Needed),
    };
    let search_order = sections::search_order(&settings)?;
    Ok(Config {
        global: global::build(&settings, &from_secret, credentials, environment, reader, warnings)?,
        load_balancer: sections::load_balancer(&settings, warnings)?,
        classes: sections::classes(&settings),
        networking: sections::networking(&settings, warnings),
        router_id: settings.text("Route", "router-id").map(str::to_owned),
        search_order,
        request_timeout: sections::request_timeout(&settings, warnings),
        secret: secret_ref,
    })
}

/// Replaces settings of the file by those of the Secret.
fn overlay<'a>(
    settings: &mut Settings,
    secret: &'a SecretData,
    name: &str,
    warnings: &mut Vec<String>,
) -> Result<FromSecret<'a>, Error> {
    let named = |key: &str| secret.get(key).map(|content| (format!("{name} {key}"), content));
    if let Some((name, content)) = named("clouds.conf").or_else(|| named("cloud.conf")) {
        let mut other = KEYS.read(&name, content, warnings)?;
        let redirects = ["secret-name", "secret-namespace"].map(|key| other.remove("Global", key));
        if redirects.contains(&true) {
            warnings.push(format!(
                "{name}: secret-name and secret-namespace are ignored: a Secret cannot name another one"
            ));
        }
        let auth_method = AuthMethod::of(|key| other.text("Global", key).is_some());
        settings.overlay(other);
        return Ok(FromSecret {
            clouds: None,
            auth_method,
        });
    }
    let (name, content) = named("clouds.yaml").ok_or_else(|| {
        Error::new(format!(
            "{name} has no configuration: put it under the key clouds.conf, cloud.conf or clouds.yaml"
        ))
    })?;
    Ok(FromSecret {
        clouds: Some(SecretClouds { name, content }),
        auth_method: None,
    })
}
