//! The parts of a node: Debian's containerd, runc and CNI plugins, unpacked into the cache and not installed, and the pause
//! image.

use crate::{assets, image};
use anyhow::{Context, Result};
use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
};

const PACKAGES: &[&str] = &["containerd", "runc", "containernetworking-plugins"];
const PAUSE_SOURCE: &str = include_str!("../../node/pause/main.go");

/// The name of the pause image.
pub(super) const PAUSE: &str = "localhost/pause:lab";

/// The root folder of the unpacked packages, which are fetched first if need be.
pub(super) fn folder() -> Result<PathBuf> {
    let parent = assets::cache().join("node");
    once(&parent, &parent.join(release()), unpack)
}

/// The archive of the pause image, built first if need be.
pub(super) fn pause_image() -> Result<PathBuf> {
    let parent = assets::cache().join("node");
    once(&parent, &parent.join("pause.tar"), build_pause)
}

/// Nothing starts and nothing clashes with another containerd: the packages are only unpacked.
fn unpack(target: &Path) -> Result<()> {
    let downloads = target.with_extension("downloads");
    fs::create_dir_all(&downloads)?;
    let mut fetch = Command::new("sh");
    fetch.current_dir(&downloads).args([
        "-c",
        r#"apt-get -qq download "$@" 2>/dev/null || { apt-get -qq update && apt-get -qq download "$@"; } &&
           for package in *.deb; do dpkg -x "$package" unpacked; done"#,
        "fetch",
    ]);
    assets::with_progress("fetching containerd and runc from Debian", {
        fetch.args(PACKAGES);
        fetch
    })
    .context("a node is made of Debian packages, and needs apt-get and dpkg")?;
    fs::rename(downloads.join("unpacked"), target)?;
    fs::remove_dir_all(&downloads)?;
    Ok(())
}

fn build_pause(target: &Path) -> Result<()> {
    let source = assets::cache().join("source/pause");
    fs::create_dir_all(&source)?;
    fs::write(source.join("main.go"), PAUSE_SOURCE)?;
    let mut go = Command::new("go");
    go.current_dir(&source)
        .env("CGO_ENABLED", "0")
        .env("GO111MODULE", "off")
        .args(["build", "-trimpath", "-ldflags", "-s -w", "-o", "pause", "main.go"]);
    assets::with_progress("building the pause image", go)?;
    image::write(&source.join("pause"), PAUSE, target)
}

/// Made once, by one process at a time, and never seen half.
fn once(parent: &Path, target: &Path, make: impl Fn(&Path) -> Result<()>) -> Result<PathBuf> {
    if !target.exists() {
        fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
        let lock = File::create(parent.join(".lock"))?;
        lock.lock().context("cannot lock the cache")?;
        if !target.exists() {
            let unfinished = target.with_extension("unfinished");
            fs::remove_dir_all(&unfinished).ok();
            make(&unfinished)?;
            fs::rename(&unfinished, target)?;
        }
    }
    Ok(target.to_owned())
}

/// Packages of one release are not those of another.
fn release() -> String {
    let text = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let value = |key: &str| {
        let found = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        found.map_or("unknown", |value| value.trim_matches('"')).to_owned()
    };
    format!(
        "{}-{}-{}",
        value("ID"),
        value("VERSION_ID").replace('.', "_"),
        std::env::consts::ARCH
    )
}
