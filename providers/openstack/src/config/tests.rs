//! Parses configurations.

mod clouds;
mod credentials;
mod keys;
mod openshift;
mod peer;
mod properties;
mod secret;
mod sections;
mod tls;
mod warnings;

use super::*;
use cloud::{LiveData, SecretData};
use secrecy::ExposeSecret;
use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

/// The minimum for authentication.
const LOGIN: &str = "auth-url=http://auth.url\nuser-id=user\npassword=mypass\ntenant-id=demo\n";

/// Files that need no disk.
#[derive(Default)]
struct Shelf(BTreeMap<PathBuf, io::Result<Vec<u8>>>);

impl Shelf {
    fn with(mut self, path: &str, content: &str) -> Self {
        self.0.insert(path.into(), Ok(content.into()));
        self
    }

    fn with_unreadable(mut self, path: &str) -> Self {
        self.0.insert(path.into(), Err(io::ErrorKind::PermissionDenied.into()));
        self
    }
}

impl Files for Shelf {
    fn read(&self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        match self.0.get(path) {
            None => Ok(None),
            Some(Ok(content)) => Ok(Some(content.clone())),
            Some(Err(error)) => Err(error.kind().into()),
        }
    }
}

fn environment() -> Environment {
    Environment {
        home: Some("/home/me".into()),
        directory: Some("/cwd".into()),
        ..Environment::default()
    }
}

/// What the Secrets that the tests name have, if there is one.
fn data(secret: Option<&SecretData>) -> LiveData {
    let names = [
        ObjectRef::new("kube-system", "openstack-credentials"),
        ObjectRef::new("b", "a"),
    ];
    let secrets = names.into_iter().zip(secret.into_iter().cycle().cloned());
    LiveData {
        secrets: secrets.collect(),
        ..LiveData::default()
    }
}

fn read(text: &str, files: &Shelf, environment: &Environment, secret: Option<&SecretData>) -> Result<Loaded, String> {
    let sources = Sources {
        file: Some(File {
            name: "cloud.conf",
            content: text.as_bytes(),
        }),
        data: &data(secret),
        files,
    };
    load(&sources, environment).map_err(|error| error.to_string())
}

fn try_file(text: &str) -> Result<Loaded, String> {
    read(text, &Shelf::default(), &environment(), None)
}

fn file(text: &str) -> Config {
    try_file(text).unwrap().config
}

/// The authentication method as text.
fn login(global: &Global) -> String {
    let means = match &global.method {
        Method::Password { user, password } => format!("{} with password {}", person(user), password.expose_secret()),
        Method::ApplicationCredential { credential, secret } => {
            let which = match credential {
                Credential::Id(id) => format!("credential id {id}"),
                Credential::Name { name, user } => format!("credential {name} of {}", person(user)),
            };
            format!("{which} with secret {}", secret.expose_secret())
        }
        Method::Token(token) => format!("token {}", token.expose_secret()),
    };
    let scope = match &global.scope {
        Scope::None => String::new(),
        Scope::ProjectId(id) => format!(" for project id {id}"),
        Scope::ProjectName { name, domain } => format!(" for project {name}{}", home(domain.as_ref())),
        Scope::Domain(domain) => format!(" for{}", home(Some(domain))),
        Scope::Trust(trust) => format!(" for trust {trust}"),
    };
    means + &scope
}

fn person(user: &User) -> String {
    match user {
        User::Id(id) => format!("user id {id}"),
        User::Name { name, domain } => format!("user {name}{}", home(domain.as_ref())),
    }
}

fn home(domain: Option<&Domain>) -> String {
    match domain {
        None => String::new(),
        Some(Domain::Id(id)) => format!(" in domain id {id}"),
        Some(Domain::Name(name)) => format!(" in domain {name}"),
    }
}
