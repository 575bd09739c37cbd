//! Credentials: from a Secret, a directory, or the configuration itself.

use super::Server;
use cloud::{LiveData, ObjectRef};
use provider_kit::live_config::Reader;
use secrecy::{ExposeSecret, SecretString};
use std::{collections::BTreeMap, fs, path::Path};

/// The directory that is read if none is configured.
pub const DIRECTORY: &str = "/etc/cloud/secrets";

/// How to log in to a vCenter.
#[derive(Debug, Clone)]
pub enum Credentials {
    /// With a user and a password.
    Password {
        /// The user.
        user: String,
        /// The password.
        password: SecretString,
    },
    /// With a clone of the session of another program.
    Shared {
        /// Where tickets for clones are.
        url: String,
        /// The bearer token for it.
        token: SecretString,
    },
    /// There are none yet; the text says where they are looked for.
    Missing(String),
}

impl PartialEq for Credentials {
    fn eq(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other) && self.key() == other.key()
    }
}

impl Eq for Credentials {}

impl Credentials {
    /// All that a vCenter judges by.
    pub fn key(&self) -> (&str, &str) {
        match self {
            Self::Password { user, password } => (user, password.expose_secret()),
            Self::Shared { url, token } => (url, token.expose_secret()),
            Self::Missing(why) => (why, ""),
        }
    }

    /// The user, for messages.
    pub fn user(&self) -> &str {
        match self {
            Self::Password { user, .. } => user,
            Self::Shared { .. } => "the shared session",
            Self::Missing(_) => "(none)",
        }
    }
}

/// Where credentials are looked for.
pub(super) struct Finder<'a> {
    pub data: &'a LiveData,
    pub files: &'a Reader<'a>,
    pub directory: &'a str,
}

impl Finder<'_> {
    /// The credentials of a vCenter: from its Secret, else from the directory, else from the configuration.
    pub fn find(&self, server: &Server) -> Result<Credentials, String> {
        let host = server.host.as_deref().unwrap_or(&server.name);
        if let Some(secret) = &server.secret
            && let Some(found) = self.secret(secret).and_then(|keys| of_keys(&keys, host))
        {
            return Ok(found);
        }
        if let Some(found) = of_keys(&self.directory(host)?, host) {
            return Ok(found);
        }
        Ok(match (&server.user, &server.password, &server.secret) {
            (Some(user), Some(password), _) => Credentials::Password {
                user: user.clone(),
                password: password.clone(),
            },
            (_, _, Some(secret)) => Credentials::Missing(format!(
                "the Secret {secret} has no keys {host}.username and {host}.password"
            )),
            _ => Credentials::Missing(format!("there is no user and password for {host}: name a Secret")),
        })
    }

    fn secret(&self, secret: &ObjectRef) -> Option<BTreeMap<String, String>> {
        let data = self.data.secrets.get(secret)?;
        let text = |(key, value): (&String, &Vec<u8>)| Some((key.clone(), String::from_utf8(value.clone()).ok()?));
        Some(data.iter().filter_map(text).collect())
    }

    /// The files with the names that keys of a Secret have.
    fn directory(&self, host: &str) -> Result<BTreeMap<String, String>, String> {
        let directory = Path::new(self.directory);
        let mut names: Vec<String> = KEYS.iter().map(|key| format!("{host}.{key}")).collect();
        // The names of triples are only known from the directory.
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        let entries = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names.extend(entries.filter(|name| TRIPLE.iter().any(|part| name.starts_with(part))));
        let mut keys = BTreeMap::new();
        for name in names {
            let path = directory.join(&name);
            let content = self.files.read(&path);
            let content = content.map_err(|error| format!("cannot read {}: {error}", path.display()))?;
            if let Some(text) = content.and_then(|content| String::from_utf8(content).ok()) {
                keys.insert(name, text);
            }
        }
        Ok(keys)
    }
}

const KEYS: [&str; 4] = [
    "username",
    "password",
    "vc-session-manager-url",
    "vc-session-manager-token",
];
const TRIPLE: [&str; 3] = ["server_", "username_", "password_"];

/// The credentials of a host among the keys of a Secret.
fn of_keys(keys: &BTreeMap<String, String>, host: &str) -> Option<Credentials> {
    let get = |key: &str| {
        let value = keys.get(key).map(|value| value.trim_end_matches(['\n', '\r']));
        value.filter(|value| !value.is_empty()).map(str::to_owned)
    };
    let own = |key: &str| get(&format!("{host}.{key}"));
    if let (Some(url), Some(token)) = (own(KEYS[2]), own(KEYS[3])) {
        let token = token.into();
        return Some(Credentials::Shared { url, token });
    }
    let password = |user: Option<String>, password: Option<String>| {
        Some(Credentials::Password {
            user: user?,
            password: password?.into(),
        })
    };
    if let Some(found) = password(own(KEYS[0]), own(KEYS[1])) {
        return Some(found);
    }
    let mut suffixes = keys.keys().filter_map(|key| key.strip_prefix(TRIPLE[0]));
    let suffix = suffixes.find(|suffix| get(&format!("server_{suffix}")).as_deref() == Some(host))?;
    password(get(&format!("username_{suffix}")), get(&format!("password_{suffix}")))
}
