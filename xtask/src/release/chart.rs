//! The chart as an archive that Helm takes.

use crate::image::archive::{gzip, tar_of_files};
use anyhow::{Context, Result, bail};
use std::{fs, path::Path};

/// The line of `values.yaml` that a release replaces.
const REPOSITORY: &str = "  repository: localhost/outrigger\n";

/// Packs `charts/outrigger` with this repository of the image.
pub(super) fn package(root: &Path, version: &str, repository: &str) -> Result<Vec<u8>> {
    let folder = root.join("charts/outrigger");
    let mut files = Vec::new();
    collect(&folder, "outrigger", &mut files)?;
    files.sort();
    for (path, content) in &mut files {
        let text = String::from_utf8_lossy(content).into_owned();
        match path.as_str() {
            "outrigger/values.yaml" if !text.contains(REPOSITORY) => bail!("values.yaml does not have {REPOSITORY:?}"),
            "outrigger/values.yaml" => {
                *content = text
                    .replace(REPOSITORY, &format!("  repository: {repository}\n"))
                    .into_bytes();
            }
            "outrigger/Chart.yaml" if !text.contains(&format!("\nversion: {version}\n")) => {
                bail!("Chart.yaml has another version than {version}: run make docs");
            }
            _ => {}
        }
    }
    gzip(&tar_of_files(&files)?)
}

fn collect(folder: &Path, name: &str, files: &mut Vec<(String, Vec<u8>)>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let entry = entry?;
        let name = format!("{name}/{}", entry.file_name().to_string_lossy());
        // The golden files of the tests.
        if name == "outrigger/ci" {
            continue;
        }
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &name, files)?;
        } else {
            files.push((name, fs::read(entry.path())?));
        }
    }
    Ok(())
}
