//! Reads and writes files.

use super::Error;
use std::{
    fs,
    io::{self, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::Path,
};

/// The file contains a secret, and the container that reads it may run as another user. Containers of a
/// Pod share at least the group: the root group, which the image has and `OpenShift` gives to every arbitrary user, or the Pod's
/// `fsGroup`.
const MODE: u32 = 0o640;

/// The text of a file.
pub(super) fn read(path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(|error| problem("read", path, &error))
}

/// The text of a file without white space around it, if the file exists.
pub(super) fn find(path: &Path) -> Result<Option<String>, Error> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text.trim().to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(problem("read", path, &error)),
    }
}

/// Writes a file, or keeps the previous one: no reader ever sees an incomplete file.
pub(super) fn write(path: &Path, text: &str) -> Result<(), Error> {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}", std::process::id()));
    let temporary = Path::new(&name);
    let written = create(temporary, text).and_then(|()| fs::rename(temporary, path));
    written.map_err(|error| {
        // A leftover would contain the secret; it is no error if there is none
        drop(fs::remove_file(temporary));
        problem("write", path, &error)
    })
}

fn create(path: &Path, text: &str) -> io::Result<()> {
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?;
    file.set_permissions(fs::Permissions::from_mode(MODE))?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn problem(verb: &'static str, path: &Path, source: &io::Error) -> Error {
    Error::File(format!("cannot {verb} {}: {source}", path.display()))
}
