//! `outrigger render`: what the machine that starts a cluster needs, before there is a cluster to operate.
//!
//! From the manifests that the installer has made, [`render`] computes a static Pod that initialises the first nodes, and
//! the cloud's configuration. [`main`] reads and writes files around it: everything, or nothing.

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

/// Where the static Pods go, below the destination.
const BOOTSTRAP: &str = "bootstrap";
/// Where the cloud's configuration goes, below the destination.
const CONFIG: &str = "config";
/// The cloud's configuration there.
const CLOUD_CONFIG: &str = "cloud.conf";

/// Why nothing was rendered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// A flag is missing or is not one.
    #[error("{0}")]
    Flag(String),
    /// A file cannot be used, whatever it says.
    #[error("--{flag}: {}: {reason}", path.display())]
    Unusable {
        /// The flag that names it.
        flag: &'static str,
        /// Where it is.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A file does not say what it has to.
    #[error("{}: {reason}", path.display())]
    Malformed {
        /// Where it is.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// images.json is broken.
    #[error("{}: the images cannot be read", path.display())]
    Images {
        /// Where it is.
        path: PathBuf,
        /// What is wrong.
        source: images::ParseError,
    },
    /// The Infrastructure does not say where the cluster will run.
    #[error("{}: the platform is not known", path.display())]
    NoPlatform {
        /// Where it is.
        path: PathBuf,
        /// What is wrong.
        source: external::NoPlatform,
    },
    /// No platform has this type.
    #[error("{}: status.platformStatus.type is {type_:?}, which is not a platform: correct it", path.display())]
    UnknownPlatform {
        /// Where it is.
        path: PathBuf,
        /// The type.
        type_: String,
    },
    /// The platform cannot be rendered.
    #[error(transparent)]
    Platform(#[from] platforms::Error),
}

/// What was rendered.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Rendered {
    /// The files to write, by their path below the destination: static Pods in `bootstrap/`, the cloud's configuration, if there is
    /// one, in `config/cloud.conf`, and what it refers to beside it. A platform without operands has no Pods.
    pub files: Vec<(PathBuf, String)>,
    /// What a user should know, each in one sentence.
    pub warnings: Vec<String>,
}

/// Renders the static Pods and the configuration.
///
/// # Errors
/// Everything that is wrong.
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

/// Does what the command line asks for.
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

/// Reads, renders and writes; nothing is written if anything is wrong.
///
/// # Errors
/// Everything that is wrong.
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
