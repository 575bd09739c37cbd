//! `xtask image`: the image, from the static binary, without a daemon. The same binary gives the same digest.

pub(crate) mod archive;
mod contents;
mod elf;
#[cfg(test)]
mod tests;

use anyhow::{Context, Result, bail};
use archive::Image;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The largest compressed size of an image.
const LIMIT: usize = 25_000_000;
const MB: f64 = 1_000_000.0;

/// The contents and the name of the image.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The static binary [default: target/outrigger]
    #[arg(long)]
    binary: Option<PathBuf>,
    /// The name of the image
    #[arg(long, default_value = concat!("localhost/outrigger:", env!("CARGO_PKG_VERSION")))]
    name: String,
    /// Roots to trust in PEM, in place of those that Mozilla trusts
    #[arg(long)]
    ca_bundle: Option<PathBuf>,
    /// The archive to write [default: target/outrigger-image.tar]
    #[arg(long)]
    output: Option<PathBuf>,
}

/// Writes the archive, and prints its name, size and digest.
pub(crate) fn write(root: &Path, options: &Options) -> Result<()> {
    let default = |name: &str| root.join("target").join(name);
    let binary = options.binary.clone().unwrap_or_else(|| default("outrigger"));
    let output = options.output.clone().unwrap_or_else(|| default("outrigger-image.tar"));
    let program = fs::read(&binary).with_context(|| format!("cannot read {}: make binary", binary.display()))?;
    let roots = match &options.ca_bundle {
        Some(file) => given_roots(file)?,
        None => contents::mozilla_roots(),
    };
    let image = pack(&program, &roots, &options.name, LIMIT).with_context(|| binary.display().to_string())?;
    fs::write(&output, &image.archive).with_context(|| format!("cannot write {}", output.display()))?;
    println!("{}", options.name);
    println!("  archive {}", output.display());
    println!(
        "  size    {:.1} MB compressed, {:.1} MB unpacked",
        mb(image.compressed),
        mb(image.unpacked)
    );
    println!("  digest  {}", image.digest);
    Ok(())
}

/// The name of an architecture, as images have it.
pub(crate) type Architecture = &'static str;

/// The architecture of a static program.
pub(crate) fn architecture(program: &[u8]) -> Result<Architecture> {
    elf::static_architecture(program)
}

/// An archive with one image for each of these programs, and an index of them.
pub(crate) fn index(programs: &[(Architecture, Vec<u8>)], name: &str) -> Result<Vec<u8>> {
    let roots = contents::mozilla_roots();
    let images: Vec<_> = programs
        .iter()
        .map(|(architecture, program)| (*architecture, contents::layers(program, &roots)))
        .collect();
    archive::build_index(&images, name, LIMIT)
}

fn pack(program: &[u8], roots: &str, name: &str, limit: usize) -> Result<Image> {
    let architecture = elf::static_architecture(program)?;
    let layers = contents::layers(program, roots);
    let image = archive::build(&layers, architecture, name)?;
    if image.compressed > limit {
        let (size, limit) = (mb(image.compressed), mb(limit));
        bail!("the image has {size:.1} MB compressed, more than the {limit:.1} MB that it may have");
    }
    Ok(image)
}

fn given_roots(file: &Path) -> Result<String> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    if !text.contains("-----BEGIN CERTIFICATE-----") {
        bail!("{} has no certificate in PEM", file.display());
    }
    Ok(text)
}

#[expect(clippy::cast_precision_loss, reason = "it is for people to read")]
fn mb(bytes: usize) -> f64 {
    bytes as f64 / MB
}
