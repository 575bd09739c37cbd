//! The Go program: built once for each version of its sources, into the lab's cache.

use serde_json::Value;
use std::{
    fs::{self, File},
    hash::{DefaultHasher, Hash, Hasher},
    io::{self, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

const FILES: [(&str, &str); 3] = [
    ("go.mod", include_str!("go.mod")),
    ("go.sum", include_str!("go.sum")),
    ("main.go", include_str!("main.go")),
];

/// A folder of our own; it goes with this.
pub(super) struct Folder(pub(super) PathBuf);

impl Folder {
    pub(super) fn new() -> Self {
        let folder = std::env::temp_dir().join(format!("outrigger-occm-peer-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Its answer to each file, given in this folder.
pub(super) fn answers(folder: &Path, inputs: &[String]) -> io::Result<Vec<Value>> {
    let mut framed = Vec::new();
    for input in inputs {
        framed.extend(u32::try_from(input.len()).unwrap().to_be_bytes());
        framed.extend(input.as_bytes());
    }
    let mut command = Command::new(program()?);
    command.current_dir(folder).env_remove("OS_CLOUD");
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut stdin = child.stdin.take().unwrap();
    let feeder = std::thread::spawn(move || stdin.write_all(&framed));
    let output = child.wait_with_output()?;
    feeder.join().unwrap()?;
    let lines = String::from_utf8(output.stdout).unwrap();
    Ok(lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

fn program() -> io::Result<PathBuf> {
    let folder = lab::assets::cache().join("occm-config-peer");
    let target = folder.join(format!("peer-{}", fingerprint()));
    if !target.exists() {
        fs::create_dir_all(&folder)?;
        let lock = File::create(folder.join(".lock"))?;
        lock.lock()?;
        if !target.exists() {
            compile(&folder.join("source"), &target)?;
        }
    }
    Ok(target)
}

/// To another name first, so that nobody ever sees half a program.
fn compile(source: &Path, target: &Path) -> io::Result<()> {
    fs::create_dir_all(source)?;
    for (name, text) in FILES {
        fs::write(source.join(name), text)?;
    }
    let unfinished = target.with_extension("unfinished");
    let mut go = Command::new("go");
    go.current_dir(source)
        .env("CGO_ENABLED", "0")
        .env("GOFLAGS", "-mod=mod -buildvcs=false");
    go.args(["build", "-trimpath", "-ldflags", "-s -w", "-o"])
        .arg(&unfinished)
        .arg(".");
    lab::assets::with_progress("building the Go program's reader of cloud.conf", go).map_err(io::Error::other)?;
    fs::rename(unfinished, target)
}

fn fingerprint() -> String {
    let mut hasher = DefaultHasher::new();
    FILES.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
