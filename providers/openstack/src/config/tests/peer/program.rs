//! The Go program.

use serde_json::Value;
use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

const READER: lab::peer::Peer = lab::peer::Peer {
    name: "occm-config-reader",
    what: "the Go program's reader of its configuration",
    package: ".",
    files: &[
        ("go.mod", include_str!("go.mod")),
        ("go.sum", include_str!("go.sum")),
        ("main.go", include_str!("main.go")),
    ],
};

/// A folder that is deleted when it is dropped.
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

/// Its result for each file, in this folder.
pub(super) fn answers(folder: &Path, inputs: &[String]) -> io::Result<Vec<Value>> {
    let mut framed = Vec::new();
    for input in inputs {
        framed.extend(u32::try_from(input.len()).unwrap().to_be_bytes());
        framed.extend(input.as_bytes());
    }
    let mut command = Command::new(READER.program().map_err(io::Error::other)?);
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
