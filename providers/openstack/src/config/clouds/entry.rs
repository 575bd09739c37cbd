//! An entry of `clouds.yaml`, flat: its keys and those of its `auth:` block.

use super::super::error::Error;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The key in `[Global]` for each key.
const NAMES: [(&str, &str); 22] = [
    ("auth_url", "auth-url"),
    ("user_id", "user-id"),
    ("username", "username"),
    ("password", "password"),
    ("project_id", "tenant-id"),
    ("project_name", "tenant-name"),
    ("domain_id", "domain-id"),
    ("domain_name", "domain-name"),
    ("project_domain_id", "tenant-domain-id"),
    ("project_domain_name", "tenant-domain-name"),
    ("user_domain_id", "user-domain-id"),
    ("user_domain_name", "user-domain-name"),
    ("trust_id", "trust-id"),
    ("application_credential_id", "application-credential-id"),
    ("application_credential_name", "application-credential-name"),
    ("application_credential_secret", "application-credential-secret"),
    ("token", "token"),
    ("region_name", "region"),
    ("cacert", "ca-file"),
    ("cert", "cert-file"),
    ("key", "key-file"),
    ("verify", "tls-insecure"),
];

/// `clouds.yaml` and `secure.yaml`.
#[derive(Default, Deserialize)]
pub(in super::super) struct Clouds {
    #[serde(default)]
    clouds: Option<BTreeMap<String, Option<Written>>>,
}

/// `clouds-public.yaml`
#[derive(Default, Deserialize)]
pub(in super::super) struct PublicClouds {
    #[serde(default, rename = "public-clouds")]
    clouds: Option<BTreeMap<String, Option<Written>>>,
}

/// An entry as written. None of these have a `Debug`: there are passwords in them.
#[derive(Clone, Default, Deserialize)]
struct Written {
    cloud: Option<String>,
    profile: Option<String>,
    auth: Option<Auth>,
    auth_type: Option<String>,
    region_name: Option<String>,
    regions: Option<Vec<Region>>,
    endpoint_type: Option<String>,
    interface: Option<String>,
    identity_api_version: Option<String>,
    verify: Option<bool>,
    cacert: Option<String>,
    cert: Option<String>,
    key: Option<String>,
}

/// Declares a block of `clouds.yaml` and its values by key.
macro_rules! block {
    ($name:ident: $($key:ident)+) => {
        #[derive(Clone, Default, Deserialize)]
        #[expect(clippy::struct_field_names, reason = "the fields' names are the file's")]
        struct $name {
            $($key: Option<String>,)+
        }

        impl $name {
            fn values(self) -> Vec<(&'static str, Option<String>)> {
                vec![$((stringify!($key), self.$key)),+]
            }
        }
    };
}

block! {
    Auth: auth_url token username user_id password application_credential_id application_credential_name
          application_credential_secret system_scope tenant_name tenant_id project_name project_id user_domain_name user_domain_id
          project_domain_name project_domain_id domain_name domain_id default_domain trust_id
}

/// A region: its name, or its name and other values.
#[derive(Clone, Deserialize)]
#[serde(untagged)]
enum Region {
    Name(String),
    Full { name: String, values: Option<Box<Written>> },
}

/// An entry, flat; keys without a value are not in it.
#[derive(Default)]
pub(in super::super) struct Entry {
    values: BTreeMap<&'static str, String>,
    regions: Vec<Region>,
    has_auth: bool,
    no_auth: Option<String>,
}

/// Reads a file. Errors do not quote it, because it has secrets.
pub(super) fn parse<T: serde::de::DeserializeOwned + Default>(file: &str, content: &[u8]) -> Result<T, Error> {
    let text =
        str::from_utf8(content).map_err(|_| Error::new(format!("{file} is not UTF-8: save it in that encoding")))?;
    let options = serde_saphyr::options! { with_snippet: false };
    let parsed: Result<Option<T>, _> = serde_saphyr::from_str_with_options(text, options);
    let parsed = parsed.map_err(|error| Error::new(format!("{file}{}: {}", at(&error), what(&error))))?;
    Ok(parsed.unwrap_or_default())
}

fn at(error: &serde_saphyr::Error) -> String {
    let place = error.location().map(|at| format!(":{}:{}", at.line(), at.column()));
    place.unwrap_or_default()
}

fn what(error: &serde_saphyr::Error) -> String {
    let message = error.without_snippet().to_string();
    let message = message.lines().next().unwrap_or_default();
    if message.contains(['"', '\'', '`']) {
        "this is not the YAML of a clouds file: check its structure".to_owned()
    } else {
        format!("this is not the YAML of a clouds file: {message}")
    }
}

impl Clouds {
    pub(super) fn entry(&self, name: &str) -> Option<Entry> {
        let written = self.clouds.as_ref()?.get(name)?;
        Some(Entry::from(written.clone().unwrap_or_default()))
    }

    pub(super) fn names(&self) -> Vec<&str> {
        let names = self.clouds.iter().flat_map(BTreeMap::keys);
        names.map(String::as_str).collect()
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.names().contains(&name)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.names().is_empty()
    }

    pub(super) fn is_single(&self) -> bool {
        self.names().len() == 1
    }

    pub(super) fn single(&self) -> Option<String> {
        let names = self.names();
        names
            .first()
            .filter(|_| names.len() == 1)
            .map(|name| (*name).to_owned())
    }
}

impl PublicClouds {
    pub(super) fn entry(&self, name: &str) -> Option<Entry> {
        let written = self.clouds.as_ref()?.get(name)?;
        Some(Entry::from(written.clone().unwrap_or_default()))
    }
}

impl Entry {
    /// A value by its name in `clouds.yaml`.
    pub(in super::super) fn get(&self, key: &str) -> Option<&str> {
        self.values.get(key).map(String::as_str)
    }

    /// The values by their names in `[Global]`.
    pub(in super::super) fn global(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let named = NAMES.iter().filter_map(|(yaml, key)| Some((*key, self.get(yaml)?)));
        let interface = self.get("endpoint_type").or_else(|| self.get("interface"));
        named.chain(interface.map(|interface| ("os-endpoint-type", interface)))
    }

    /// The error about an entry without credentials.
    pub(in super::super) fn no_auth(&self) -> Option<&str> {
        self.no_auth.as_deref()
    }

    pub(super) fn has_auth(&self) -> bool {
        self.has_auth
    }

    pub(super) fn miss_auth(&mut self, sentence: String) {
        self.no_auth = Some(sentence);
    }

    pub(super) fn profile(&self) -> Option<&str> {
        self.get("profile").or_else(|| self.get("cloud"))
    }

    pub(super) fn regions(&self) -> Vec<String> {
        self.regions.iter().map(|region| region.name().to_owned()).collect()
    }

    /// Replaces values by those of another entry.
    pub(super) fn overlay(&mut self, other: Self) {
        self.values.extend(other.values);
        self.has_auth |= other.has_auth;
        let mut regions = other.regions;
        regions.append(&mut self.regions);
        self.regions = regions;
    }

    /// Replaces values by those of a region.
    pub(super) fn choose_region(&mut self, name: &str) {
        let values = self.regions.iter().find_map(|region| match region {
            Region::Full { name: known, values } if known == name => values.clone(),
            _ => None,
        });
        if let Some(values) = values {
            self.overlay(Self::from(*values));
        }
    }
}

impl Region {
    fn name(&self) -> &str {
        match self {
            Self::Name(name) | Self::Full { name, .. } => name,
        }
    }
}

impl From<Written> for Entry {
    fn from(written: Written) -> Self {
        let Written {
            cloud,
            profile,
            auth,
            auth_type,
            region_name,
            regions,
            endpoint_type,
            interface,
            identity_api_version,
            verify,
            cacert,
            cert,
            key,
        } = written;
        let values = [
            ("cloud", cloud),
            ("profile", profile),
            ("auth_type", auth_type),
            ("region_name", region_name),
            ("endpoint_type", endpoint_type),
            ("interface", interface),
            ("identity_api_version", identity_api_version),
            ("verify", verify.map(|verify| (!verify).to_string())),
            ("cacert", cacert),
            ("cert", cert),
            ("key", key),
        ];
        let has_auth = auth.is_some();
        let auth = auth.map(Auth::values).unwrap_or_default();
        let mut values = filled(values.into_iter().chain(auth));
        for (old, new) in [("tenant_id", "project_id"), ("tenant_name", "project_name")] {
            if let Some(value) = values.remove(old) {
                values.entry(new).or_insert(value);
            }
        }
        Self {
            values,
            regions: regions.unwrap_or_default(),
            has_auth,
            no_auth: None,
        }
    }
}

fn filled(values: impl Iterator<Item = (&'static str, Option<String>)>) -> BTreeMap<&'static str, String> {
    let filled = values.filter_map(|(key, value)| Some((key, value?)));
    filled.filter(|(_, value)| !value.is_empty()).collect()
}
