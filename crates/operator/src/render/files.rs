//! Reads and writes the files: all or none.

#![expect(clippy::print_stderr, reason = "it is a command")]

use super::{BOOTSTRAP, CONFIG, Document, Inputs, Options, Problem};
use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

/// The kubelet reads manifests as root, but users read them, too.
const MANIFEST: u32 = 0o644;
/// The configuration may contain credentials.
const SECRET: u32 = 0o600;

/// Prints to stdout.
pub fn say(text: &str) {
    // The reader may have closed the pipe.
    let _ = io::stdout().write_all(text.as_bytes());
}

/// Prints a problem.
pub fn complain(text: &str) {
    eprintln!("{text}");
}

/// Reads every input.
///
/// # Errors
/// Every file that cannot be used, and a destination that is not a folder.
pub fn read(options: &Options) -> Result<Inputs, Vec<Problem>> {
    let infrastructure = document("cluster-infrastructure-file", &options.infrastructure);
    let images = document("images-file", &options.images);
    let cloud_config = options
        .cloud_config
        .as_ref()
        .map(|path| document("cloud-config-file", path))
        .transpose();
    match (infrastructure, images, cloud_config, destination(&options.dest_dir)) {
        (Ok(infrastructure), Ok(images), Ok(cloud_config), Ok(())) => Ok(Inputs {
            infrastructure,
            images,
            cloud_config,
        }),
        (infrastructure, images, cloud_config, destination) => {
            let problems = [
                infrastructure.err(),
                images.err(),
                cloud_config.err(),
                destination.err(),
            ];
            Err(problems.into_iter().flatten().collect())
        }
    }
}

/// Writes the files below the destination, and creates its two folders in any case.
///
/// # Errors
/// If a file cannot be written. No file is written in part.
pub fn write(destination: &Path, files: &[(PathBuf, String)]) -> Result<(), Problem> {
    let unusable = |path: &Path, error: &io::Error| unusable("dest-dir", path, error);
    for folder in [BOOTSTRAP, CONFIG].map(|name| destination.join(name)) {
        fs::create_dir_all(&folder).map_err(|error| unusable(&folder, &error))?;
    }
    let modes = files
        .iter()
        .map(|(path, _)| if path.starts_with(CONFIG) { SECRET } else { MANIFEST });
    for ((path, text), mode) in files.iter().zip(modes) {
        let path = destination.join(path);
        replace(&path, text, mode).map_err(|error| unusable(&path, &error))?;
    }
    Ok(())
}

/// Writes a temporary file first: a reader sees the old or the new content.
fn replace(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let beside = path.with_extension("tmp");
    match fs::remove_file(&beside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(&beside)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&beside, path)
}

fn document(flag: &'static str, path: &Path) -> Result<Document, Problem> {
    let metadata = fs::metadata(path).map_err(|error| unusable(flag, path, &error))?;
    let wrong = match (metadata.is_file(), metadata.len()) {
        (false, _) => Some("not a regular file"),
        (true, 0) => Some("the file is empty"),
        (true, _) => None,
    };
    if let Some(reason) = wrong {
        return Err(unusable(flag, path, &reason));
    }
    let text = fs::read_to_string(path).map_err(|error| unusable(flag, path, &error))?;
    Ok(Document {
        path: path.to_owned(),
        text,
    })
}

fn destination(path: &Path) -> Result<(), Problem> {
    match fs::metadata(path) {
        Ok(metadata) if !metadata.is_dir() => Err(unusable("dest-dir", path, &"not a folder")),
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(unusable("dest-dir", path, &error)),
        _ => Ok(()),
    }
}

fn unusable(flag: &'static str, path: &Path, reason: &impl ToString) -> Problem {
    Problem::Unusable {
        flag,
        path: path.to_owned(),
        reason: reason.to_string(),
    }
}
