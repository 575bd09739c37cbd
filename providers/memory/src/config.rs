//! `--cloud-config` of `--cloud-provider=memory`.

mod machine;

use crate::{AutoCreate, Embedded, Remote, Settings, State, machine::PREFIX};
use cloud::{Gate, Provider, ProviderId};
use cloud_http::{Metrics, Proxy};
use go_text::GoDuration;
use serde::Deserialize;
use std::{collections::BTreeSet, fmt, path::Path, sync::Arc, time::Duration};

/// The file, in YAML. Every key is optional.
///
/// ```yaml
/// endpoint: http://127.0.0.1:4000   # the cloud is in another process; only `timeout` can be set with it
/// timeout: 30s                      # of a call to it
///
/// autoCreate: true                  # every node gets a machine; the default if no instances are listed
/// instances:                        # a name alone is a typical machine
/// - name: node-1
///   zone: memory-1b
///   addresses: [{type: InternalIP, address: 10.0.0.1}]
/// latency: 20ms                     # of every call
/// lbDelay: 3s                       # until a load balancer is ready
/// ```
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Config {
    endpoint: Option<String>,
    timeout: Option<Time>,
    auto_create: Option<bool>,
    #[serde(default)]
    instances: Vec<machine::Entry>,
    latency: Option<Time>,
    lb_delay: Option<Time>,
}

/// What is wrong with the configuration, in one sentence.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {file}")]
    Unreadable {
        /// Its path.
        file: String,
        /// Why.
        source: std::io::Error,
    },
    /// The file is invalid.
    #[error("{file}{}: {what}", At(*line))]
    Wrong {
        /// Its path.
        file: String,
        /// Where, if that is known.
        line: Option<u64>,
        /// What is wrong.
        what: String,
    },
    /// The HTTP client or its metrics cannot be created.
    #[error("cannot talk to {endpoint}")]
    Client {
        /// The server.
        endpoint: String,
        /// Why.
        source: cloud::Source,
    },
}

impl ConfigError {
    /// The message and that of everything beneath it, in one line.
    #[must_use]
    pub fn report(&self) -> String {
        let mut text = self.to_string();
        let mut next = std::error::Error::source(self);
        while let Some(cause) = next {
            text = format!("{text}: {cause}");
            next = cause.source();
        }
        text
    }
}

/// The provider of `--cloud-provider=memory`: on a cloud of its own, or on a server if the file names one.
///
/// # Errors
/// One sentence that names the file, and the key and line where there are any.
pub fn provider(
    config_path: Option<&Path>,
    gate: Gate,
    registry: &prometheus::Registry,
) -> Result<Arc<dyn Provider>, ConfigError> {
    let config = config_path.map(Config::read).transpose()?.unwrap_or_default();
    match &config.endpoint {
        Some(endpoint) => Ok(Arc::new(config.remote(endpoint, gate, registry)?)),
        None => Ok(Arc::new(config.embedded(gate))),
    }
}

impl Config {
    /// Reads the file.
    ///
    /// # Errors
    /// As [`provider`].
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let file = path.display().to_string();
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse(&text, &file),
            Err(source) => Err(ConfigError::Unreadable { file, source }),
        }
    }

    /// Reads the text of a file of this name.
    ///
    /// # Errors
    /// As [`provider`].
    pub fn parse(text: &str, file: &str) -> Result<Self, ConfigError> {
        let parsed: Result<Option<Self>, _> = serde_saphyr::from_str(text);
        let config = parsed.map_err(|error| wrong_yaml(file, &error))?.unwrap_or_default();
        match config.contradiction() {
            Some(what) => Err(ConfigError::Wrong {
                file: file.to_owned(),
                line: None,
                what,
            }),
            None => Ok(config),
        }
    }

    fn embedded(&self, gate: Gate) -> Embedded {
        let latency = self.latency.map_or(Duration::ZERO, |time| time.0);
        Embedded::new(self.state(), latency, gate)
    }

    /// The cloud in this process that the file describes.
    fn state(&self) -> State {
        let auto_create = match self.auto_create {
            Some(true) => AutoCreate::On,
            None if self.instances.is_empty() => AutoCreate::On,
            Some(false) | None => AutoCreate::Off,
        };
        let mut state = State::new(Settings {
            provisioning: self.lb_delay.map_or(Duration::ZERO, |time| time.0),
            auto_create,
            ..Settings::default()
        });
        for entry in &self.instances {
            let name = entry.name.as_deref().unwrap_or_default();
            let mut machine = state.machines.typical(name);
            // From the name and not from the order in the file: a Node keeps its provider ID over restarts.
            machine.provider_id = ProviderId::parse(format!("{PREFIX}{name}"));
            entry.clone().apply(&mut machine);
            state.create_machine(machine);
        }
        state
    }

    fn remote(&self, endpoint: &str, gate: Gate, registry: &prometheus::Registry) -> Result<Remote, ConfigError> {
        let failed = |source| ConfigError::Client {
            endpoint: endpoint.to_owned(),
            source,
        };
        let metrics = Metrics::register(registry).map_err(|error| failed(error.into()))?;
        let mut http = cloud_http::Config {
            proxy: Proxy::Direct,
            ..cloud_http::Config::default()
        };
        http.deadline = self.timeout.map_or(http.deadline, |time| time.0);
        Remote::with_config(endpoint, &http, gate, &metrics).map_err(|error| failed(error.into()))
    }

    /// The first problem of keys that are valid by themselves.
    fn contradiction(&self) -> Option<String> {
        let Self {
            endpoint,
            timeout,
            auto_create,
            instances,
            latency,
            lb_delay,
        } = self;
        let mut names = BTreeSet::new();
        for (index, machine) in instances.iter().enumerate() {
            match machine.name.as_deref() {
                None | Some("") => return Some(format!("instances[{index}] has no name")),
                Some(name) if !names.insert(name) => return Some(format!("instances has {name} twice")),
                Some(_) => {}
            }
        }
        let local = [
            ("autoCreate", auto_create.is_some()),
            ("instances", !instances.is_empty()),
            ("latency", latency.is_some()),
            ("lbDelay", lb_delay.is_some()),
        ];
        match endpoint {
            Some(_) => local
                .iter()
                .find(|(_, given)| *given)
                .map(|(key, _)| format!("{key} cannot be set with endpoint: it is a setting of the server")),
            None => timeout.map(|_| "timeout needs endpoint".to_owned()),
        }
    }
}

/// A duration as people write it.
#[derive(Debug, Clone, Copy)]
struct Time(Duration);

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let wrong = || serde::de::Error::custom(format_args!("{text} is not a duration like 250ms or 1m30s"));
        let written = text.parse::<GoDuration>().ok().and_then(GoDuration::to_std);
        written.map(Self).ok_or_else(wrong)
    }
}

struct At(Option<u64>);

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |line| write!(f, ", line {line}"))
    }
}

fn wrong_yaml(file: &str, error: &serde_saphyr::Error) -> ConfigError {
    use serde_saphyr::Error as E;
    let error = error.without_snippet();
    let what = match error {
        E::SerdeUnknownField { field, expected, .. } => {
            format!("there is no key {field}, only {}", expected.join(", "))
        }
        E::SerdeMissingField { field, .. } => format!("the key {field} is missing"),
        E::DuplicateMappingKey { key: Some(key), .. } => format!("the key {key} is there twice"),
        E::Message { msg, .. } => msg.clone(),
        other => other.to_string().replace('\n', " "),
    };
    ConfigError::Wrong {
        file: file.to_owned(),
        line: error.location().map(|location| location.line()),
        what,
    }
}

#[cfg(test)]
mod tests;
