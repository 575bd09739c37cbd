//! `outrigger render`: the files that the machine which starts a cluster needs, before the cluster exists.
//!
//! From the manifests of the installer, [`render`] computes a static Pod that initializes the first nodes, and
//! the cloud configuration. [`main`] reads and writes the files: all of them, or none.

mod files;
mod inputs;
mod options;

pub use inputs::{Document, Inputs};
pub use options::{Invocation, Options, Written as Flags};

use crate::platforms::{self, ConfigMapContent, Setting, external, images};
use inputs::Read;
use runtime::logging::chain;
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

/// The folder of the static Pods, below the destination.
const BOOTSTRAP: &str = "bootstrap";
/// The folder of the cloud configuration, below the destination.
const CONFIG: &str = "config";
/// The name of the cloud configuration in it.
const CLOUD_CONFIG: &str = "cloud.conf";

/// Why nothing was rendered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// A flag is missing or unknown.
    #[error("{0}")]
    Flag(String),
    /// A file cannot be read or written.
    #[error("--{flag}: {}: {reason}", path.display())]
    Unusable {
        /// The flag that names it.
        flag: &'static str,
        /// Its path.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// A file has invalid content.
    #[error("{}: {reason}", path.display())]
    Malformed {
        /// Its path.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// images.json is invalid.
    #[error("{}: the images cannot be read", path.display())]
    Images {
        /// Its path.
        path: PathBuf,
        /// The reason.
        source: images::ParseError,
    },
    /// The Infrastructure has no platform.
    #[error("{}: the platform is not known", path.display())]
    NoPlatform {
        /// Its path.
        path: PathBuf,
        /// The reason.
        source: external::NoPlatform,
    },
    /// No platform has this type.
    #[error("{}: status.platformStatus.type is {type_:?}, which is not a platform: correct it", path.display())]
    UnknownPlatform {
        /// Its path.
        path: PathBuf,
        /// The type.
        type_: String,
    },
    /// The platform cannot be rendered.
    #[error(transparent)]
    Platform(#[from] platforms::Error),
}

/// The result.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Rendered {
    /// The files to write, by their path below the destination: static Pods in `bootstrap/`, the cloud configuration, if there is
    /// one, in `config/cloud.conf`, and files that it refers to beside it. A platform without operands has no Pods.
    pub files: Vec<(PathBuf, String)>,
    /// Warnings for the user, each one sentence.
    pub warnings: Vec<String>,
}

/// Renders the static Pods and the configuration.
///
/// # Errors
/// All problems.
pub fn render(inputs: &Inputs) -> Result<Rendered, Vec<Problem>> {
    let Read {
        setting,
        config,
        mut warnings,
    } = inputs::read(inputs)?;
    let setting = with_config(setting, config.get(CLOUD_CONFIG).map(String::as_str));
    let pods = platforms::bootstrap_resources(&setting).map_err(|error| vec![error.into()])?;
    if pods.is_empty() {
        warnings.push("the platform has no cloud controller manager, so there is no static Pod for it".to_owned());
    }
    let mut files = Vec::new();
    for pod in pods {
        let name = format!("{}-{}.yaml", pod.key().name, pod.key().kind.to_lowercase());
        let text = serde_saphyr::to_string(pod.value()).map_err(|error| {
            vec![Problem::Malformed {
                path: name.clone().into(),
                reason: error.to_string(),
            }]
        })?;
        files.push((Path::new(BOOTSTRAP).join(name), text));
    }
    files.extend(
        config
            .into_iter()
            .map(|(name, text)| (Path::new(CONFIG).join(name), text)),
    );
    Ok(Rendered { files, warnings })
}

/// Executes the command line.
pub fn main(program: &str, args: Vec<String>) -> ExitCode {
    match Options::parse(program, args) {
        Ok(Invocation::Print(text)) => {
            files::say(&text);
            ExitCode::SUCCESS
        }
        Ok(Invocation::Run(options)) => run(&options).map_or_else(complain, |()| ExitCode::SUCCESS),
        Err(problems) => complain(
            problems
                .iter()
                .map(|problem| Problem::Flag(problem.to_owned()))
                .collect(),
        ),
    }
}

/// Reads, renders and writes; nothing is written if there is a problem.
///
/// # Errors
/// All problems.
pub fn run(options: &Options) -> Result<(), Vec<Problem>> {
    let inputs = files::read(options)?;
    let Rendered { files, warnings } = render(&inputs)?;
    for warning in warnings {
        files::complain(&format!("warning: {warning}"));
    }
    files::write(&options.dest_dir, &files).map_err(|problem| vec![problem])
}

fn with_config(mut setting: Setting, cloud_config: Option<&str>) -> Setting {
    let data = cloud_config.map(|text| (CLOUD_CONFIG.to_owned(), text.to_owned()));
    let content = ConfigMapContent {
        data: data.into_iter().collect(),
        ..ConfigMapContent::default()
    };
    setting.sources.config_maps.insert("cloud-conf".to_owned(), content);
    setting
}

fn complain(problems: Vec<Problem>) -> ExitCode {
    for problem in problems {
        files::complain(&format!("Error: {}", chain(&problem)));
    }
    ExitCode::FAILURE
}

#[cfg(test)]
mod tests;
