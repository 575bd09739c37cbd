//! Keystone: what its versions are, and a token.

use super::catalog::Catalog;
use crate::config::{Credential, Domain, Global, Method, Scope, User};
use cloud::{Error, Result};
use cloud_http::{Client, Idempotency, Request, Url, http::StatusCode};
use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// A token and what came with it.
pub struct Token {
    /// The token itself.
    pub secret: SecretString,
    /// Where the services are.
    pub catalog: Catalog,
    /// The project that it is for, if it is for one.
    pub project_id: Option<String>,
    /// How long it is valid, if Keystone sends that.
    pub lifetime: Option<std::time::Duration>,
}

/// One of Keystone's versions.
#[derive(Debug, Deserialize)]
pub struct Version {
    /// `v3.14`
    pub id: String,
    /// `stable`, …
    #[serde(default)]
    pub status: String,
    /// Where it is.
    #[serde(default)]
    pub links: Vec<Link>,
}

/// A link.
#[derive(Debug, Deserialize)]
pub struct Link {
    /// `self`, `next`, …
    pub rel: String,
    /// Where to.
    pub href: String,
}

/// `GET /`
pub async fn versions(client: &Client, url: &Url) -> Result<Vec<Version>> {
    #[derive(Deserialize)]
    struct Body {
        versions: Values,
    }
    #[derive(Deserialize)]
    struct Values {
        values: Vec<Version>,
    }
    // More than one version is "multiple choices".
    let request = Request::get("version_list", url).accept(StatusCode::MULTIPLE_CHOICES);
    let body: Body = client.send_json(request).await?;
    Ok(body.versions.values)
}

/// `POST /v3/auth/tokens`
pub async fn token(client: &Client, identity: &Url, global: &Global) -> Result<Token> {
    let request = Request::post("token_create", identity)
        .path(["auth", "tokens"])
        .json(&body(global)?)
        // A token more does no harm, and a replica that lost its lease still has to read.
        .idempotency(Idempotency::Safe);
    let response = client.send(request).await?;
    let secret = response
        .header("x-subject-token")
        .map(|token| SecretString::from(token.to_owned()));
    let body: TokenBody = response.json()?;
    let Some(secret) = secret else {
        return Err(Error::unavailable("token create", "the answer has no token"));
    };
    Ok(body.token.with(secret))
}

#[derive(Deserialize)]
struct TokenBody {
    token: TokenData,
}

#[derive(Deserialize)]
struct TokenData {
    #[serde(default)]
    catalog: Catalog,
    project: Option<Project>,
    issued_at: Option<Timestamp>,
    expires_at: Option<Timestamp>,
}

#[derive(Deserialize)]
struct Project {
    id: String,
}

impl TokenData {
    fn with(self, secret: SecretString) -> Token {
        // By Keystone's own clock, which need not be ours.
        let lifetime = self
            .expires_at
            .zip(self.issued_at)
            .map(|(end, start)| end.duration_since(start));
        Token {
            secret,
            catalog: self.catalog,
            project_id: self.project.map(|project| project.id),
            lifetime: lifetime.and_then(|lifetime| lifetime.try_into().ok()),
        }
    }
}

/// What is sent for a token. Pure.
pub(super) fn body(global: &Global) -> Result<Value> {
    let mut auth = json!({"identity": identity(&global.method)?});
    if let Some(scope) = scope(&global.scope)? {
        auth["scope"] = scope;
    }
    Ok(json!({"auth": auth}))
}

fn identity(method: &Method) -> Result<Value> {
    Ok(match method {
        Method::Password { user, password } => {
            let mut who = of_user(user)?;
            who.insert("password".to_owned(), password.expose_secret().into());
            json!({"methods": ["password"], "password": {"user": who}})
        }
        Method::ApplicationCredential { credential, secret } => {
            let mut which = of_credential(credential)?;
            which.insert("secret".to_owned(), secret.expose_secret().into());
            json!({"methods": ["application_credential"], "application_credential": which})
        }
        Method::Token(token) => json!({"methods": ["token"], "token": {"id": token.expose_secret()}}),
    })
}

fn of_user(user: &User) -> Result<Map<String, Value>> {
    match user {
        User::Id(id) => Ok(object([("id", id.as_str().into())])),
        User::Name { name, domain } => {
            let domain = domain.as_ref().ok_or_else(|| {
                Error::invalid(
                    "user-domain-name",
                    "a user is known by name only within a domain: set user-domain-id or user-domain-name",
                )
            })?;
            Ok(object([("name", name.as_str().into()), ("domain", of_domain(domain))]))
        }
    }
}

fn of_credential(credential: &Credential) -> Result<Map<String, Value>> {
    match credential {
        Credential::Id(id) => Ok(object([("id", id.as_str().into())])),
        Credential::Name { name, user } => Ok(object([
            ("name", name.as_str().into()),
            ("user", of_user(user)?.into()),
        ])),
    }
}

fn scope(scope: &Scope) -> Result<Option<Value>> {
    Ok(Some(match scope {
        Scope::None => return Ok(None),
        Scope::ProjectId(id) => json!({"project": {"id": id}}),
        Scope::ProjectName { name, domain } => {
            let domain = domain.as_ref().ok_or_else(|| {
                Error::invalid(
                    "tenant-domain-name",
                    "a project is known by name only within a domain: set tenant-id, tenant-domain-id or tenant-domain-name",
                )
            })?;
            json!({"project": {"name": name, "domain": of_domain(domain)}})
        }
        Scope::Domain(domain) => json!({"domain": of_domain(domain)}),
        Scope::Trust(id) => json!({"OS-TRUST:trust": {"id": id}}),
    }))
}

fn of_domain(domain: &Domain) -> Value {
    match domain {
        Domain::Id(id) => json!({"id": id}),
        Domain::Name(name) => json!({"name": name}),
    }
}

fn object<const N: usize>(pairs: [(&str, Value); N]) -> Map<String, Value> {
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn password(user: User) -> Method {
        Method::Password {
            user,
            password: "pw".into(),
        }
    }

    fn app(credential: Credential) -> Method {
        Method::ApplicationCredential {
            credential,
            secret: "s".into(),
        }
    }

    fn named(name: &str, domain: Option<Domain>) -> User {
        User::Name {
            name: name.to_owned(),
            domain,
        }
    }

    fn domain(name: &str) -> Domain {
        Domain::Name(name.to_owned())
    }

    #[rstest]
    #[case::password_by_id(
        password(User::Id("u".into())),
        Scope::ProjectId("p".into()),
        r#"{"identity":{"methods":["password"],"password":{"user":{"id":"u","password":"pw"}}},"scope":{"project":{"id":"p"}}}"#
    )]
    #[case::password_by_name(
        password(named("joe", Some(Domain::Id("default".into())))),
        Scope::ProjectName { name: "demo".into(), domain: Some(domain("d")) },
        r#"{"identity":{"methods":["password"],"password":{"user":{"domain":{"id":"default"},"name":"joe","password":"pw"}}},"scope":{"project":{"domain":{"name":"d"},"name":"demo"}}}"#
    )]
    #[case::credential_by_id(
        app(Credential::Id("c".into())),
        Scope::None,
        r#"{"identity":{"application_credential":{"id":"c","secret":"s"},"methods":["application_credential"]}}"#
    )]
    #[case::credential_by_name(
        app(Credential::Name { name: "c".into(), user: User::Id("u".into()) }),
        Scope::None,
        r#"{"identity":{"application_credential":{"name":"c","secret":"s","user":{"id":"u"}},"methods":["application_credential"]}}"#
    )]
    #[case::credential_by_name_and_users_name(
        app(Credential::Name { name: "c".into(), user: named("joe", Some(domain("d"))) }),
        Scope::None,
        r#"{"identity":{"application_credential":{"name":"c","secret":"s","user":{"domain":{"name":"d"},"name":"joe"}},"methods":["application_credential"]}}"#
    )]
    #[case::token_re_scoped(
        Method::Token("t".into()),
        Scope::ProjectId("p".into()),
        r#"{"identity":{"methods":["token"],"token":{"id":"t"}},"scope":{"project":{"id":"p"}}}"#
    )]
    #[case::trust(
        password(User::Id("trustee".into())),
        Scope::Trust("t".into()),
        r#"{"identity":{"methods":["password"],"password":{"user":{"id":"trustee","password":"pw"}}},"scope":{"OS-TRUST:trust":{"id":"t"}}}"#
    )]
    #[case::domain_scope(
        password(User::Id("u".into())),
        Scope::Domain(domain("d")),
        r#"{"identity":{"methods":["password"],"password":{"user":{"id":"u","password":"pw"}}},"scope":{"domain":{"name":"d"}}}"#
    )]
    #[case::user_without_domain(
        password(named("joe", None)),
        Scope::None,
        "invalid user-domain-name: a user is known by name only within a domain: set user-domain-id or user-domain-name"
    )]
    #[case::project_without_domain(
        password(User::Id("u".into())),
        Scope::ProjectName { name: "demo".into(), domain: None },
        "invalid tenant-domain-name: a project is known by name only within a domain: set tenant-id, tenant-domain-id or tenant-domain-name"
    )]
    fn login_body(#[case] method: Method, #[case] scope: Scope, #[case] expected: &str) {
        let global = Global {
            method,
            scope,
            ..Global::default()
        };
        let sent = body(&global).map(|body| body["auth"].to_string());
        assert_eq!(sent.unwrap_or_else(|error| error.to_string()), expected);
    }
}
