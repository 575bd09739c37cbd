//! Finds `clouds.yaml` and the files that belong to it.

use super::{
    super::{Environment, error::Error},
    Request,
};
use provider_kit::live_config::Reader;
use std::path::{Path, PathBuf};

/// A file that exists.
pub(super) struct Found {
    path: PathBuf,
    pub(super) content: Vec<u8>,
}

impl Found {
    pub(super) fn name(&self) -> String {
        self.path.display().to_string()
    }
}

/// The named file if it exists, else the first of the default paths.
pub(super) fn clouds(request: &Request<'_>, reader: &Reader<'_>, warnings: &mut Vec<String>) -> Result<Found, Error> {
    let named = request.named();
    if let Some(found) = named.map(|(_, path)| read(path, reader)).transpose()?.flatten() {
        return Ok(found);
    }
    let found = optional("clouds", request.environment, reader)?;
    match (found, named) {
        (Some(found), Some((by, path))) => {
            let (named, used) = (path.display(), found.name());
            warnings.push(format!(
                "{named} is not there, {used} is used instead: correct {by} or remove it"
            ));
            Ok(found)
        }
        (Some(found), None) => Ok(found),
        (None, _) => Err(missing(named.map(|(_, path)| path), request.environment)),
    }
}

impl Request<'_> {
    /// The file that is named, and by what.
    fn named(&self) -> Option<(&'static str, &Path)> {
        let variable = self.environment.client_config_file.as_deref();
        self.file
            .map(|path| ("clouds-file", path))
            .or(variable.map(|path| ("OS_CLIENT_CONFIG_FILE", path)))
    }
}

/// The first of the default paths that exists.
pub(super) fn optional(name: &str, environment: &Environment, reader: &Reader<'_>) -> Result<Option<Found>, Error> {
    for path in usual(name, environment) {
        if let Some(found) = read(&path, reader)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// `.yaml` in every place, then `.yml` in every place.
fn usual(name: &str, environment: &Environment) -> Vec<PathBuf> {
    let home = environment.home.as_ref().map(|home| home.join(".config/openstack"));
    let folders = [
        environment.directory.clone(),
        home,
        Some(PathBuf::from("/etc/openstack")),
    ];
    let folders: Vec<PathBuf> = folders.into_iter().flatten().collect();
    let named = |end| folders.iter().map(move |folder| folder.join(format!("{name}.{end}")));
    named("yaml").chain(named("yml")).collect()
}

fn read(path: &Path, reader: &Reader<'_>) -> Result<Option<Found>, Error> {
    let content = reader
        .read(path)
        .map_err(|error| Error::unreadable(format!("{} cannot be read: correct its rights", path.display()), error))?;
    Ok(content.map(|content| Found {
        path: path.to_owned(),
        content,
    }))
}

fn missing(named: Option<&Path>, environment: &Environment) -> Error {
    let places = named
        .map(Path::to_owned)
        .into_iter()
        .chain(usual("clouds", environment));
    let places: Vec<String> = places.map(|path| path.display().to_string()).collect();
    Error::new(format!(
        "there is no clouds.yaml: set clouds-file to where it is, or remove use-clouds and cloud; looked for {}",
        places.join(", ")
    ))
}
