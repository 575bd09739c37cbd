//! The configuration: YAML or INI, environment variables, and credentials from Secrets or files.

mod credentials;
pub mod keys;
mod networks;
#[cfg(test)]
mod tests;
mod yaml;

pub use credentials::Credentials;
pub use keys::{KEYS, reference_page};
pub use networks::Networks;
pub use provider_kit::variables::Variables;

use cloud::{LiveSource, ObjectRef};
use cloud_http::{Thumbprint, Trust};
use keys::VARIABLES;
use provider_kit::{
    keys::{Part, Settings},
    live_config::{File, Loaded, Reader, Sources},
};
use secrecy::SecretString;
use std::path::Path;

/// The section of each vCenter.
const VCENTER: &str = "VirtualCenter";

/// The configuration.
#[derive(Debug, Clone)]
pub struct Config {
    /// The vCenters, at least one.
    pub vcenters: Vec<VCenter>,
    /// The tag categories of zones and regions, if nodes have these.
    pub zones: Option<Categories>,
    /// Which addresses nodes have.
    pub networks: Networks,
    /// Whether a Node is deleted if its virtual machine does not exist.
    pub deletion: Deletion,
}

/// A vCenter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VCenter {
    /// Its name in the configuration.
    pub name: String,
    /// Its host.
    pub server: String,
    /// Its port.
    pub port: u16,
    /// Which certificates it may have.
    pub trust: Trust,
    /// How to log in.
    pub credentials: Credentials,
    /// The datacenters to search; all if empty.
    pub datacenters: Vec<String>,
    /// How often a call is tried.
    pub attempts: u32,
    /// The families of node addresses, in their order.
    pub families: Vec<Family>,
}

/// The tag categories of zones and regions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Categories {
    /// That of zones.
    pub zone: String,
    /// That of regions.
    pub region: String,
}

/// A family of node addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// `ipv4`
    V4,
    /// `ipv6`
    V6,
}

/// Whether a Node is deleted if its virtual machine does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deletion {
    /// It is.
    Allowed,
    /// `SKIP_NODE_DELETION` is set.
    Skipped,
}

/// How the file is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Notation {
    Ini,
    Yaml,
}

/// Reads the configuration from its sources.
///
/// # Errors
/// One sentence: what is wrong, where, and what to write instead.
pub fn load(
    sources: &Sources<'_>,
    variables: &Variables,
    warnings: &mut Vec<String>,
) -> Result<Loaded<Config>, String> {
    let (settings, notation) = match &sources.file {
        None => (Settings::default(), Notation::Yaml),
        Some(file) => read(file, warnings)?,
    };
    refuse_nsx(&settings)?;
    let text = |part: Part<'_>, variable: &str, key| {
        let given = || part.text(key).map(str::to_owned);
        variables.text(variable).or_else(given)
    };
    let global = settings.part("Global", "");
    let directory = text(global, "VSPHERE_SECRETS_DIRECTORY", "secrets-directory");
    let global = Server::read(global, notation).overlaid(variables)?;
    let servers = servers(&settings, notation, variables, &global)?;

    let reader = Reader::new(sources.files);
    let finder = credentials::Finder {
        data: sources.data,
        files: &reader,
        directory: directory.as_deref().unwrap_or(credentials::DIRECTORY),
    };
    let vcenters: Result<Vec<VCenter>, String> = servers
        .iter()
        .map(|server| server.vcenter(&finder, &reader, variables))
        .collect();
    let labels = settings.part("Labels", "");
    let zones = match (
        text(labels, "VSPHERE_LABEL_ZONE", "zone"),
        text(labels, "VSPHERE_LABEL_REGION", "region"),
    ) {
        (Some(zone), Some(region)) => Some(Categories { zone, region }),
        (None, None) => None,
        _ => {
            warnings.push("labels: nodes get no zone and no region: set both zone and region, or neither".to_owned());
            None
        }
    };
    let config = Config {
        vcenters: vcenters?,
        zones,
        networks: Networks::read(settings.part("Nodes", ""), variables)?,
        deletion: variables
            .text("SKIP_NODE_DELETION")
            .map_or(Deletion::Allowed, |_| Deletion::Skipped),
    };
    let mut secrets: Vec<ObjectRef> = servers.into_iter().filter_map(|server| server.secret).collect();
    secrets.sort();
    secrets.dedup();
    Ok(Loaded {
        config,
        files: reader.into_read(),
        sources: secrets.into_iter().map(LiveSource::Secret).collect(),
    })
}

fn read(file: &File<'_>, warnings: &mut Vec<String>) -> Result<(Settings, Notation), String> {
    let text = std::str::from_utf8(file.content).map_err(|_| format!("{}: it is not UTF-8", file.name))?;
    if looks_like_ini(text) {
        let settings = KEYS.read(file.name, file.content, warnings);
        return Ok((settings.map_err(|error| error.to_string())?, Notation::Ini));
    }
    let text = text.trim_start_matches('\u{feff}');
    Ok((yaml::read(file.name, text, warnings)?, Notation::Yaml))
}

/// Whether the first line with content is a section header, with which a YAML map cannot start.
fn looks_like_ini(text: &str) -> bool {
    let lines = text.trim_start_matches('\u{feff}').lines().map(str::trim);
    let mut content = lines.filter(|line| !line.is_empty() && !line.starts_with([';', '#']));
    content.next().is_some_and(|line| line.starts_with('['))
}

/// A cluster whose Services or routes are managed through NSX-T must not lose that in silence.
fn refuse_nsx(settings: &Settings) -> Result<(), String> {
    for (section, what) in [("LoadBalancer", "load balancers"), ("Route", "routes")] {
        let keys = KEYS.keys().filter(|(of, _)| *of == section);
        for (_, key) in keys {
            let part = settings.part(section, "");
            if part.text(key.name).is_some() || part.boolean(key.name).is_some() {
                let at = part.position(key.name);
                return Err(format!(
                    "{at}: {what} of NSX-T are not supported: remove the section, and run these with the Go program"
                ));
            }
        }
    }
    Ok(())
}

/// The vCenters of the file and of the variables.
fn servers(
    settings: &Settings,
    notation: Notation,
    variables: &Variables,
    global: &Server,
) -> Result<Vec<Server>, String> {
    let mut servers = Vec::new();
    for name in settings.subsections(VCENTER).filter(|name| !name.is_empty()) {
        let server = Server::read(settings.part(VCENTER, name), notation);
        servers.push(server.named(name, global));
    }
    for (id, name) in variables.beginning_with("VSPHERE_VCENTER_") {
        if id == "PORT" {
            continue;
        }
        let server = Server::default().prefixed(variables, &format!("VCENTER_{id}_"))?;
        servers.retain(|known| known.name != name);
        servers.push(server.named(name, global));
    }
    if let (true, Some(name)) = (servers.is_empty(), &global.host) {
        servers.push(Server::default().named(name, global));
    }
    if servers.is_empty() {
        return Err("there is no vCenter: name one under vcenter, or set global.server or VSPHERE_VCENTER".to_owned());
    }
    Ok(servers)
}

/// The keys that the global section and each vCenter have.
#[derive(Clone, Default)]
struct Server {
    name: String,
    user: Option<String>,
    password: Option<SecretString>,
    host: Option<String>,
    port: Option<u32>,
    insecure: bool,
    datacenters: Vec<String>,
    attempts: Option<u32>,
    ca_file: Option<String>,
    thumbprint: Option<String>,
    secret: Option<ObjectRef>,
    families: Vec<String>,
}

impl Server {
    fn read(part: Part<'_>, notation: Notation) -> Self {
        let text = |key| part.text(key).map(str::to_owned);
        let list = |key| {
            let items = part.list(key).unwrap_or_default();
            match notation {
                Notation::Ini => items.iter().flat_map(|item| split(item)).collect(),
                Notation::Yaml => items.to_vec(),
            }
        };
        Self {
            name: String::new(),
            user: text("user"),
            password: text("password").map(SecretString::from),
            host: text("server"),
            port: part.number("port").filter(|port| *port > 0),
            insecure: part.boolean("insecure-flag").unwrap_or_default(),
            datacenters: list("datacenters"),
            attempts: part.number("soap-roundtrip-count").filter(|count| *count > 0),
            ca_file: text("ca-file"),
            thumbprint: text("thumbprint"),
            secret: secret(text("secret-name"), text("secret-namespace")),
            families: list("ip-family"),
        }
    }

    /// The global section with the variables, which win.
    fn overlaid(self, variables: &Variables) -> Result<Self, String> {
        let (name, namespace) = (
            variables.text("VSPHERE_SECRET_NAME"),
            variables.text("VSPHERE_SECRET_NAMESPACE"),
        );
        let port = variables.parsed(VARIABLES, "VSPHERE_VCENTER_PORT")?;
        let attempts = variables.parsed(VARIABLES, "VSPHERE_ROUNDTRIP_COUNT")?;
        let insecure = boolean(variables, "VSPHERE_INSECURE")?;
        Ok(Self {
            name: self.name,
            user: variables.text("VSPHERE_USER").or(self.user),
            password: variables
                .text("VSPHERE_PASSWORD")
                .map(SecretString::from)
                .or(self.password),
            host: variables.text("VSPHERE_VCENTER").or(self.host),
            port: port.or(self.port),
            insecure: insecure.unwrap_or(self.insecure),
            datacenters: variables.list("VSPHERE_DATACENTER").unwrap_or(self.datacenters),
            attempts: attempts.or(self.attempts),
            ca_file: variables.text("VSPHERE_CAFILE").or(self.ca_file),
            thumbprint: variables.text("VSPHERE_THUMBPRINT").or(self.thumbprint),
            secret: secret(name, namespace).or(self.secret),
            families: self.families,
        })
    }

    /// A vCenter of variables that begin with this.
    fn prefixed(self, variables: &Variables, prefix: &str) -> Result<Self, String> {
        let text = |key: &str| variables.text(&format!("{prefix}{key}"));
        Ok(Self {
            user: text("USERNAME"),
            password: text("PASSWORD").map(SecretString::from),
            host: text("SERVER"),
            port: variables.parsed(&[], &format!("{prefix}PORT"))?,
            insecure: boolean(variables, &format!("{prefix}INSECURE"))?.unwrap_or_default(),
            datacenters: text("DATACENTERS").iter().flat_map(|list| split(list)).collect(),
            attempts: variables.parsed(&[], &format!("{prefix}ROUNDTRIP"))?,
            ca_file: text("CAFILE"),
            thumbprint: text("THUMBPRINT"),
            secret: secret(text("SECRET_NAME"), text("SECRET_NAMESPACE")),
            families: text("IP_FAMILY").iter().flat_map(|list| split(list)).collect(),
            ..self
        })
    }

    /// The same under this name, with what it lacks from the global section.
    fn named(self, name: &str, global: &Self) -> Self {
        let or = |own: Vec<String>, global: &Vec<String>| if own.is_empty() { global.clone() } else { own };
        Self {
            name: name.to_owned(),
            user: self.user.or_else(|| global.user.clone()),
            password: self.password.or_else(|| global.password.clone()),
            host: Some(self.host.unwrap_or_else(|| name.to_owned())),
            port: self.port.or(global.port),
            insecure: self.insecure || global.insecure,
            datacenters: or(self.datacenters, &global.datacenters),
            attempts: self.attempts.or(global.attempts),
            ca_file: self.ca_file.or_else(|| global.ca_file.clone()),
            thumbprint: self.thumbprint.or_else(|| global.thumbprint.clone()),
            secret: self.secret.or_else(|| global.secret.clone()),
            families: or(self.families, &global.families),
        }
    }

    fn vcenter(
        &self,
        finder: &credentials::Finder<'_>,
        files: &Reader<'_>,
        variables: &Variables,
    ) -> Result<VCenter, String> {
        let name = self.name.clone();
        let port = self.port.unwrap_or(443);
        Ok(VCenter {
            server: self.host.clone().unwrap_or_else(|| name.clone()),
            port: u16::try_from(port).map_err(|_| format!("vcenter.{name}: {port} is not a port"))?,
            trust: self.trust(files)?,
            credentials: finder.find(self)?,
            datacenters: self.datacenters.clone(),
            attempts: self.attempts.unwrap_or(3),
            families: families(&self.families, variables).map_err(|why| format!("vcenter.{name}: {why}"))?,
            name,
        })
    }

    fn trust(&self, files: &Reader<'_>) -> Result<Trust, String> {
        if self.insecure {
            return Ok(Trust::Anything);
        }
        let authorities = self.ca_file.as_ref().map(|path| authorities(path, files)).transpose()?;
        let Some(text) = &self.thumbprint else {
            return Ok(authorities.map_or(Trust::System, Trust::Only));
        };
        let thumbprint = Thumbprint::parse(text);
        let thumbprint = thumbprint.ok_or_else(|| {
            let name = &self.name;
            format!("vcenter.{name}: the thumbprint {text:?} is not the SHA-1 of a certificate, such as AA:BB:… with 20 bytes")
        })?;
        Ok(Trust::Pinned(thumbprint, authorities))
    }
}

fn authorities(path: &str, files: &Reader<'_>) -> Result<String, String> {
    let content = files
        .read(Path::new(path))
        .map_err(|error| format!("caFile {path}: {error}"))?;
    let content = content.ok_or_else(|| format!("caFile {path} does not exist"))?;
    String::from_utf8(content).map_err(|_| format!("caFile {path} is not PEM"))
}

fn secret(name: Option<String>, namespace: Option<String>) -> Option<ObjectRef> {
    Some(ObjectRef::new(namespace?, name?))
}

fn boolean(variables: &Variables, name: &str) -> Result<Option<bool>, String> {
    let Some(text) = variables.text(name) else {
        return Ok(None);
    };
    match text.to_ascii_lowercase().as_str() {
        "1" | "t" | "true" => Ok(Some(true)),
        "0" | "f" | "false" => Ok(Some(false)),
        _ => Err(format!("{name}: {text:?} is not true or false")),
    }
}

fn families(words: &[String], variables: &Variables) -> Result<Vec<Family>, String> {
    let family = |word: &String| match word.as_str() {
        "ipv4" => Ok(Family::V4),
        "ipv6" => Ok(Family::V6),
        _ => Err(format!("ipFamily: {word:?} is not ipv4 or ipv6")),
    };
    let families: Result<Vec<Family>, String> = words.iter().map(family).collect();
    match families?.as_slice() {
        [] => Ok(vec![Family::V4]),
        [one] => Ok(vec![*one]),
        [one, other] if one != other => match variables.text("ENABLE_ALPHA_DUAL_STACK") {
            Some(_) => Ok(vec![*one, *other]),
            None => Err("ipFamily: two families need the environment variable ENABLE_ALPHA_DUAL_STACK".to_owned()),
        },
        _ => Err("ipFamily: write ipv4, ipv6, or both once".to_owned()),
    }
}

fn split(list: &str) -> impl Iterator<Item = String> + '_ {
    let items = list.split(',').map(str::trim);
    items.filter(|item| !item.is_empty()).map(str::to_owned)
}

/// The networks of nodes in these keys of `[Nodes]`.
#[cfg(test)]
pub(crate) fn networks_of(keys: &str) -> Networks {
    let text = keys
        .split_whitespace()
        .fold("[Nodes]\n".to_owned(), |text, key| text + key + "\n");
    let settings = KEYS.read("vsphere.conf", text.as_bytes(), &mut Vec::new()).unwrap();
    Networks::read(settings.part("Nodes", ""), &Variables::default()).unwrap()
}

impl Family {
    /// As the configuration names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::V4 => "ipv4",
            Self::V6 => "ipv6",
        }
    }
}
