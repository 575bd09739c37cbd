//! Images without a daemon: of one static program, and for tests of ours as it was built last.

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

const LINKS: &str = concat!(
    include_str!("../../deploy/image/links"),
    include_str!("../../deploy/image/provider-links")
);
const PASSWD: &str = include_str!("../../deploy/image/passwd");
const GROUP: &str = include_str!("../../deploy/image/group");
const USER: &str = "65532:0";
const BINARY: &str = "/outrigger";
/// Where the real image has the roots of Mozilla.
const ROOTS: &str = "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem";

/// One file of an image, by its path in it.
enum Entry {
    File { content: Vec<u8>, mode: u32 },
    Folder { mode: u32 },
    Link { to: &'static str },
}

/// Writes an archive as `docker save` does, with this program as `/program` and its entry point.
///
/// # Errors
/// If the program cannot be read or the archive cannot be written.
pub fn write(program: &Path, name: &str, archive: &Path) -> Result<()> {
    let program = Entry::File {
        content: read(program)?,
        mode: 0o755,
    };
    save(
        &[("/program".to_owned(), program)],
        &json!({"Entrypoint": ["/program"]}),
        name,
        archive,
    )
}

/// Writes an archive with our program as the compiler left it, for tests only: with the names and the user of the image that
/// `make image` packs, but dynamically linked, together with this machine's libraries, and without trusted roots. One that is
/// younger than the program stays as it is.
///
/// # Errors
/// If the program is not one of this machine, or the archive cannot be written.
pub fn write_for_tests(program: &Path, name: &str, archive: &Path) -> Result<()> {
    let age = |path: &Path| fs::metadata(path).and_then(|file| file.modified()).ok();
    if age(archive) > age(program) {
        return Ok(());
    }
    let mut entries = vec![
        file("/etc/passwd", PASSWD),
        file("/etc/group", GROUP),
        file(ROOTS, &stranger()?),
        ("/tmp".to_owned(), Entry::Folder { mode: 0o1777 }),
    ];
    for library in libraries(program)? {
        let content = read(&library)?;
        entries.push((library.display().to_string(), Entry::File { content, mode: 0o755 }));
    }
    let content = stripped(program, archive)?;
    entries.push((BINARY.to_owned(), Entry::File { content, mode: 0o755 }));
    let links = LINKS.lines().map(str::trim).filter(|line| line.starts_with('/'));
    entries.extend(links.map(|link| (link.to_owned(), Entry::Link { to: BINARY })));
    let config = json!({"User": USER, "Entrypoint": [BINARY], "Env": ["PATH=/usr/bin:/bin"], "WorkingDir": "/"});
    save(&entries, &config, name, archive)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

fn file(path: &str, content: &str) -> (String, Entry) {
    let content = content.as_bytes().to_vec();
    (path.to_owned(), Entry::File { content, mode: 0o644 })
}

/// A root that has signed nothing.
fn stranger() -> Result<String> {
    let certificate = rcgen::generate_simple_self_signed(["nobody.invalid".to_owned()])?;
    Ok(certificate.cert.pem())
}

/// What is loaded together with a program, and what loads it.
fn libraries(program: &Path) -> Result<Vec<PathBuf>> {
    let output = Command::new("ldd").arg(program).output().context("cannot run ldd")?;
    if !output.status.success() {
        let output = String::from_utf8_lossy(&output.stderr);
        bail!("ldd {}: {}", program.display(), output.trim());
    }
    Ok(paths(&String::from_utf8_lossy(&output.stdout)))
}

/// Lines are `NAME => PATH (ADDRESS)`, `PATH (ADDRESS)`, or about what the kernel brings itself.
fn paths(ldd: &str) -> Vec<PathBuf> {
    let words = ldd.lines().flat_map(str::split_whitespace);
    words.filter(|word| word.starts_with('/')).map(PathBuf::from).collect()
}

/// What debuggers read is most of the file; where there is no `strip` it stays.
fn stripped(program: &Path, archive: &Path) -> Result<Vec<u8>> {
    let small = archive.with_extension("program");
    let done = Command::new("strip").arg("-o").arg(&small).arg(program).status();
    let content = match done {
        Ok(status) if status.success() => read(&small),
        _ => read(program),
    };
    // It may not exist.
    let _ = fs::remove_file(&small);
    content
}

fn save(entries: &[(String, Entry)], config: &Value, name: &str, archive: &Path) -> Result<()> {
    let layer = pack(entries)?;
    let digest = hex(&Sha256::digest(&layer));
    let config = json!({
        "architecture": architecture(),
        "os": "linux",
        "config": config,
        "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{digest}")]},
    });
    let manifest = json!([{"Config": "config.json", "RepoTags": [name], "Layers": ["layer.tar"]}]);
    let layer = Entry::File {
        content: layer,
        mode: 0o644,
    };
    let whole = pack(&[
        file("config.json", &config.to_string()),
        ("layer.tar".to_owned(), layer),
        file("manifest.json", &manifest.to_string()),
    ])?;
    // Never seen half: others may be using the one before.
    let unfinished = archive.with_extension("unfinished");
    let written = fs::write(&unfinished, whole).and_then(|()| fs::rename(&unfinished, archive));
    written.with_context(|| format!("cannot write {}", archive.display()))
}

fn pack(entries: &[(String, Entry)]) -> Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    for (path, entry) in entries {
        let path = path.trim_start_matches('/');
        let mut header = tar::Header::new_gnu();
        header.set_size(0);
        match entry {
            Entry::File { content, mode } => {
                header.set_size(content.len() as u64);
                header.set_mode(*mode);
                archive.append_data(&mut header, path, content.as_slice())?;
            }
            Entry::Folder { mode } => {
                header.set_entry_type(tar::EntryType::Directory);
                header.set_mode(*mode);
                archive.append_data(&mut header, format!("{path}/"), [].as_slice())?;
            }
            Entry::Link { to } => {
                header.set_entry_type(tar::EntryType::Symlink);
                header.set_mode(0o777);
                archive.append_link(&mut header, path, to)?;
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_and_their_loader() {
        let output = "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibm.so.6 => /lib/libm.so.6 (0x00007f1)\n\t/lib64/ld-linux.so.2 (0x00007f2)\n";
        assert_eq!(
            paths(output),
            ["/lib/libm.so.6", "/lib64/ld-linux.so.2"].map(PathBuf::from)
        );
    }

    #[test]
    fn packs_this_very_program() {
        let archive = std::env::temp_dir().join(crate::unique("image.tar"));
        let program = std::env::current_exe().unwrap();
        write_for_tests(&program, "localhost/lab:test", &archive).unwrap();
        let first = fs::metadata(&archive).unwrap().modified().unwrap();
        write_for_tests(&program, "localhost/lab:test", &archive).unwrap();
        assert_eq!(
            fs::metadata(&archive).unwrap().modified().unwrap(),
            first,
            "packed once"
        );
        let mut whole = tar::Archive::new(fs::File::open(&archive).unwrap());
        let layer = whole.entries().unwrap().map(Result::unwrap);
        let layer = layer
            .into_iter()
            .find(|entry| entry.path().unwrap().ends_with("layer.tar"))
            .unwrap();
        let mut layer = tar::Archive::new(layer);
        let names: Vec<_> = layer
            .entries()
            .unwrap()
            .map(|entry| entry.unwrap().path().unwrap().display().to_string())
            .collect();
        for name in ["outrigger", "bin/bash", "cluster-controller-manager-operator", "tmp/"] {
            assert!(names.iter().any(|found| found == name), "no {name} in {names:?}");
        }
        fs::remove_file(&archive).unwrap();
    }
}
