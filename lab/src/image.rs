//! An image of one static program: enough for a container that needs nothing else.

use anyhow::{Context, Result};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::{fs, path::Path};

/// Writes an archive as `docker save` does, with this program as `/program` and its entry point.
///
/// # Errors
/// If the program cannot be read or the archive cannot be written.
pub fn write(program: &Path, name: &str, archive: &Path) -> Result<()> {
    let content = fs::read(program).with_context(|| format!("cannot read {}", program.display()))?;
    let layer = pack(&[("program", &content, 0o755)])?;
    let digest = hex(&Sha256::digest(&layer));
    let config = json!({
        "architecture": architecture(),
        "os": "linux",
        "config": {"Entrypoint": ["/program"]},
        "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{digest}")]},
    });
    let manifest = json!([{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]);
    let whole = pack(&[
        ("config.json", config.to_string().as_bytes(), 0o644),
        ("layer.tar", &layer, 0o644),
        ("manifest.json", manifest.to_string().as_bytes(), 0o644),
    ])?;
    fs::write(archive, whole).with_context(|| format!("cannot write {}", archive.display()))
}

fn pack(files: &[(&str, &[u8], u32)]) -> Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, content, mode) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(*mode);
        archive.append_data(&mut header, name, *content)?;
    }
    Ok(archive.into_inner()?)
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// As Go calls it.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}
