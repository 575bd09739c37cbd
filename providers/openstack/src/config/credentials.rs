//! The authentication method, and the scope of the token.

use super::{Credential, Domain, Method, Scope, User, error::Error};
use secrecy::SecretString;
use std::collections::BTreeMap;

const CREDENTIAL: [&str; 3] = [
    "application-credential-id",
    "application-credential-name",
    "application-credential-secret",
];

/// The keys with the domain of a user, in order.
const USER_DOMAIN: [&str; 5] = [
    "user-domain-id",
    "user-domain-name",
    "domain-id",
    "domain-name",
    "default_domain",
];

/// For these two an ID wins over a name, also the general one, as in the client library of occm.
const CREDENTIAL_DOMAIN: [&str; 5] = [
    "user-domain-id",
    "domain-id",
    "user-domain-name",
    "domain-name",
    "default_domain",
];
const PROJECT_DOMAIN: [&str; 5] = [
    "tenant-domain-id",
    "domain-id",
    "tenant-domain-name",
    "domain-name",
    "default_domain",
];

/// `[Global]` with what `clouds.yaml` adds, by the names of `[Global]`; nothing is empty. There is no `Debug`.
#[derive(Default)]
pub(super) struct Values(BTreeMap<&'static str, String>);

impl Values {
    /// Gives a key this value if it has none.
    pub(super) fn fill(&mut self, key: &'static str, value: &str) {
        if !value.is_empty() {
            self.0.entry(key).or_insert_with(|| value.to_owned());
        }
    }

    /// Gives a key this value.
    pub(super) fn replace(&mut self, key: &'static str, value: &str) {
        if !value.is_empty() {
            self.0.insert(key, value.to_owned());
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    fn owned(&self, key: &str) -> Option<String> {
        self.0.get(key).cloned()
    }

    fn secret(&self, key: &str) -> Option<SecretString> {
        self.get(key).map(SecretString::from)
    }
}

/// An authentication method that was chosen because its source wins over others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AuthMethod {
    Token,
    Password,
    Credential,
}

impl AuthMethod {
    /// What a source has, in the order in which they count.
    pub(super) fn of(has: impl Fn(&'static str) -> bool) -> Option<Self> {
        if has("token") {
            Some(Self::Token)
        } else if has("password") {
            Some(Self::Password)
        } else {
            CREDENTIAL.into_iter().any(has).then_some(Self::Credential)
        }
    }

    /// `auth_type` of `clouds.yaml`; a password needs no choice.
    pub(super) fn of_type(auth_type: &str) -> Option<Self> {
        match auth_type {
            kind if kind.contains("token") => Some(Self::Token),
            kind if kind.contains("applicationcredential") => Some(Self::Credential),
            _ => None,
        }
    }
}

/// Chooses the method. A trust wins; then the chosen method, a token, a password, an application credential.
pub(super) fn decide(
    values: &Values,
    chosen: Option<AuthMethod>,
    warnings: &mut Vec<String>,
) -> Result<(Method, Scope), Error> {
    if let Some(trust) = values.owned("trust-id") {
        return trusted(values, trust, warnings);
    }
    match chosen.or_else(|| AuthMethod::of(|key| values.get(key).is_some())) {
        Some(AuthMethod::Token) => token(values),
        Some(AuthMethod::Password) => password(values, warnings),
        Some(AuthMethod::Credential) => Ok((application_credential(values)?, Scope::None)),
        None => Err(Error::new(
            "there is nothing to authenticate with: set in [Global] a password with username or user-id, an \
             application-credential-id with its application-credential-secret, or a token",
        )),
    }
}

fn trusted(values: &Values, trust: String, warnings: &mut Vec<String>) -> Result<(Method, Scope), Error> {
    if values.get("token").is_some() {
        warnings.push("token is ignored because trust-id is given: remove one of them".to_owned());
    }
    let password = values.secret("trustee-password").or_else(|| values.secret("password"));
    let password = password.ok_or_else(|| {
        Error::new("trust-id needs a password: set trustee-id and trustee-password, or user-id and password")
    })?;
    let user = match values.owned("trustee-id") {
        Some(trustee) => User::Id(trustee),
        None => user(values, "password", USER_DOMAIN)?,
    };
    Ok((Method::Password { user, password }, Scope::Trust(trust)))
}

fn token(values: &Values) -> Result<(Method, Scope), Error> {
    let token = values
        .secret("token")
        .ok_or_else(|| Error::new("auth_type asks for a token and there is none: set token"))?;
    match scope(values)? {
        Scope::None => Err(Error::new(
            "token needs a project to be used for: set tenant-id, or tenant-name and its domain",
        )),
        scope => Ok((Method::Token(token), scope)),
    }
}

fn password(values: &Values, warnings: &mut Vec<String>) -> Result<(Method, Scope), Error> {
    let password = values.secret("password").unwrap_or_default();
    let user = user(values, "password", USER_DOMAIN)?;
    if !names_credential(values) {
        return Ok((Method::Password { user, password }, scope(values)?));
    }
    warnings.push("the application credential is ignored because password is given: remove one of them".to_owned());
    let scope = match scope(values)? {
        Scope::Domain(_) => Scope::None,
        scope => scope,
    };
    Ok((Method::Password { user, password }, scope))
}

fn application_credential(values: &Values) -> Result<Method, Error> {
    let secret = values.secret("application-credential-secret").ok_or_else(|| {
        Error::new("the application credential has no secret: set application-credential-secret, which was shown when it was created")
    })?;
    let credential = match (
        values.owned("application-credential-id"),
        values.owned("application-credential-name"),
    ) {
        (Some(id), _) => Credential::Id(id),
        (None, Some(name)) => Credential::Name {
            name,
            user: user(values, "application-credential-name", CREDENTIAL_DOMAIN)?,
        },
        (None, None) => {
            return Err(Error::new(
                "application-credential-secret is alone: set application-credential-id, too",
            ));
        }
    };
    Ok(Method::ApplicationCredential { credential, secret })
}

fn names_credential(values: &Values) -> bool {
    CREDENTIAL.iter().any(|key| values.get(key).is_some())
}

fn user(values: &Values, needed_by: &str, order: [&str; 5]) -> Result<User, Error> {
    if let Some(id) = values.owned("user-id") {
        return Ok(User::Id(id));
    }
    let name = values.owned("username").ok_or_else(|| {
        Error::new(format!(
            "{needed_by} needs a user: set user-id, or username and its domain"
        ))
    })?;
    match domain(values, order) {
        Some(domain) => Ok(User::Name {
            name,
            domain: Some(domain),
        }),
        None => Err(Error::new(
            "username needs its domain: set user-domain-name or domain-name, which is often Default",
        )),
    }
}

fn scope(values: &Values) -> Result<Scope, Error> {
    if let Some(id) = values.owned("tenant-id") {
        return Ok(Scope::ProjectId(id));
    }
    let Some(name) = values.owned("tenant-name") else {
        return Ok(domain(values, ["domain-id", "domain-name"]).map_or(Scope::None, Scope::Domain));
    };
    match domain(values, PROJECT_DOMAIN) {
        Some(domain) => Ok(Scope::ProjectName {
            name,
            domain: Some(domain),
        }),
        None => Err(Error::new(
            "tenant-name needs its domain: set tenant-domain-name or domain-name, which is often Default",
        )),
    }
}

fn domain<const N: usize>(values: &Values, order: [&str; N]) -> Option<Domain> {
    let (key, value) = order.iter().find_map(|key| Some((*key, values.owned(key)?)))?;
    Some(if key.ends_with("name") {
        Domain::Name(value)
    } else {
        Domain::Id(value)
    })
}
