//! `[Global]`, with what `clouds.yaml` and the Secret add.

use super::{
    Environment, Global, Interface, ProviderIds,
    clouds::{self, Entry},
    credentials::{self, AuthMethod, Values},
    error::Error,
    keys::KEYS,
    tls,
};
use cloud::ObjectRef;
use provider_kit::{keys::Settings, live_config::Reader};
use std::path::Path;

/// Whether the credentials must be complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Credentials {
    /// They must.
    Needed,
    /// They may come with the Secret, which has not been read yet.
    Awaited,
}

/// What the Secret adds to the settings.
#[derive(Default)]
pub(super) struct FromSecret<'a> {
    /// Its `clouds.yaml`, if it has nothing else.
    pub(super) clouds: Option<SecretClouds<'a>>,
    /// The authentication method that it has.
    pub(super) auth_method: Option<AuthMethod>,
}

/// A `clouds.yaml` that came with the Secret.
pub(super) struct SecretClouds<'a> {
    pub(super) name: String,
    pub(super) content: &'a [u8],
}

/// Merges all sources.
pub(super) fn build(
    settings: &Settings,
    secret: &FromSecret<'_>,
    credentials: Credentials,
    environment: &Environment,
    reader: &Reader<'_>,
    warnings: &mut Vec<String>,
) -> Result<Global, Error> {
    tls::warn(settings, warnings);
    let Merged {
        values,
        auth_method,
        no_auth,
    } = merge(settings, secret, environment, reader, warnings)?;
    let tls = tls::read(&values, reader, warnings)?;
    let (method, scope) = match credentials {
        Credentials::Awaited => <(_, _)>::default(),
        Credentials::Needed => {
            check_auth_url(&values, no_auth)?;
            credentials::decide(&values, auth_method, warnings)?
        }
    };
    Ok(Global {
        auth_url: values.get("auth-url").unwrap_or_default().to_owned(),
        method,
        scope,
        region: values.get("region").unwrap_or_default().to_owned(),
        provider_ids: environment.provider_ids,
        interface: interface(&values, settings)?,
        tls,
    })
}

/// `secret-name` and `secret-namespace`, which count only together.
pub(super) fn secret_ref(settings: &Settings, warnings: &mut Vec<String>) -> Option<ObjectRef> {
    let (name, namespace) = ("secret-name", "secret-namespace");
    match (settings.text("Global", name), settings.text("Global", namespace)) {
        (Some(name), Some(namespace)) => Some(ObjectRef::new(namespace, name)),
        (None, None) => None,
        (given, _) => {
            let (given, missing) = if given.is_some() {
                (name, namespace)
            } else {
                (namespace, name)
            };
            let place = settings.position("Global", given);
            warnings.push(format!(
                "{place}: {given} is ignored because there is no {missing}: set both or none"
            ));
            None
        }
    }
}

/// The merged settings of all sources.
struct Merged {
    values: Values,
    /// The authentication method that was chosen because of its source.
    auth_method: Option<AuthMethod>,
    /// The error about a `clouds.yaml` without credentials.
    no_auth: Option<String>,
}

/// Values of a `clouds.yaml` in the Secret replace others; those of one on disk only fill gaps.
fn merge(
    settings: &Settings,
    secret: &FromSecret<'_>,
    environment: &Environment,
    reader: &Reader<'_>,
    warnings: &mut Vec<String>,
) -> Result<Merged, Error> {
    let mut values = values(settings);
    let own = AuthMethod::of(|key| values.get(key).is_some());
    let mut auth_method = secret.auth_method;
    let mut no_auth = None;
    if let Some(clouds) = &secret.clouds {
        let entry = from_secret(clouds, settings, environment, reader, warnings)?;
        entry.global().for_each(|(key, value)| values.replace(key, value));
        auth_method = of_type(&entry).or(AuthMethod::of(|key| entry.global().any(|(known, _)| known == key)));
        no_auth = merge_rest(&mut values, &entry);
    }
    if let Some(entry) = from_disk(settings, secret.clouds.is_some(), environment, reader, warnings)? {
        auth_method = auth_method.or(match own {
            None => of_type(&entry),
            Some(AuthMethod::Credential) => own,
            // As in occm, a token in the entry wins over a password here.
            Some(AuthMethod::Token | AuthMethod::Password) => None,
        });
        entry.global().for_each(|(key, value)| values.fill(key, value));
        no_auth = no_auth.or(merge_rest(&mut values, &entry));
    }
    Ok(Merged {
        values,
        auth_method,
        no_auth,
    })
}

fn of_type(entry: &Entry) -> Option<AuthMethod> {
    AuthMethod::of_type(entry.get("auth_type")?)
}

fn values(settings: &Settings) -> Values {
    let mut values = Values::default();
    for (_, key) in KEYS.keys().filter(|(section, _)| *section == "Global") {
        values.fill(key.name, settings.text("Global", key.name).unwrap_or_default());
    }
    values
}

/// Adds the values that have no key in `[Global]`, and returns the error about missing credentials.
fn merge_rest(values: &mut Values, entry: &Entry) -> Option<String> {
    values.fill("default_domain", entry.get("default_domain").unwrap_or_default());
    entry.no_auth().map(str::to_owned)
}

/// With `use-clouds`, or with `cloud` alone, then from the usual places only.
fn from_disk(
    settings: &Settings,
    has_secret: bool,
    environment: &Environment,
    reader: &Reader<'_>,
    warnings: &mut Vec<String>,
) -> Result<Option<Entry>, Error> {
    let use_clouds = settings.boolean("Global", "use-clouds").unwrap_or_default();
    let (cloud, file) = (settings.text("Global", "cloud"), settings.text("Global", "clouds-file"));
    if file.is_some() && !use_clouds {
        let place = settings.position("Global", "clouds-file");
        warnings.push(format!(
            "{place}: clouds-file is ignored because use-clouds is not set: add use-clouds=true"
        ));
    }
    if !use_clouds && (cloud.is_none() || has_secret) {
        return Ok(None);
    }
    let request = clouds::Request {
        file: file.filter(|_| use_clouds).map(Path::new),
        cloud: cloud.or(environment.cloud.as_deref()),
        region: settings.text("Global", "region"),
        environment,
    };
    clouds::load(&request, reader, warnings).map(Some)
}

fn from_secret(
    secret: &SecretClouds<'_>,
    settings: &Settings,
    environment: &Environment,
    reader: &Reader<'_>,
    warnings: &mut Vec<String>,
) -> Result<Entry, Error> {
    let request = clouds::Request {
        file: None,
        cloud: settings.text("Global", "cloud").or(Some("openstack")),
        region: settings.text("Global", "region"),
        environment,
    };
    clouds::from_text(&secret.name, secret.content, &request, reader, warnings)
}

fn check_auth_url(values: &Values, no_auth: Option<String>) -> Result<(), Error> {
    match (values.get("auth-url"), no_auth) {
        (Some(_), _) => Ok(()),
        (None, Some(sentence)) => Err(Error::new(sentence)),
        (None, None) => Err(Error::new(
            "auth-url is missing: set it in [Global] to Keystone's URL, such as https://keystone.example:5000/v3",
        )),
    }
}

fn interface(values: &Values, settings: &Settings) -> Result<Interface, Error> {
    match values.get("os-endpoint-type") {
        None | Some("public" | "publicURL") => Ok(Interface::Public),
        Some("internal" | "internalURL") => Ok(Interface::Internal),
        Some("admin" | "adminURL") => Ok(Interface::Admin),
        Some(other) => {
            let place = settings.position("Global", "os-endpoint-type");
            Err(Error::new(format!(
                "{place}: there are no {other:?} endpoints: write public, internal or admin"
            )))
        }
    }
}

impl ProviderIds {
    /// The value of `OS_CCM_REGIONAL`: only `true` counts.
    pub fn of(variable: Option<&str>) -> Self {
        match variable {
            Some("true") => Self::Regional,
            _ => Self::Plain,
        }
    }
}
