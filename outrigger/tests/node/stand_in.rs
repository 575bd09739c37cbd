//! A third-party image: a shell, and a cloud controller manager that only runs until a file makes it fail.
//!
//! The images of other clouds have a real shell, which runs the scripts of the operator.

use crate::fixture::{ETC, Fixture};
use serde_json::json;
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

/// Its name.
pub const IMAGE: &str = "localhost/stand-in:aws";
const PROGRAM: &str = "bin/aws-cloud-controller-manager";
const SCRIPT: &str = r#"#!/bin/bash
trap 'exit 0' TERM
echo "started for $KUBERNETES_SERVICE_HOST with $*"
while [ ! -e /etc/kubernetes/stand-in-fails ]; do sleep 0.1; done
echo 'there is no such cloud' >&2
exit 1
"#;
/// This machine's shell and its libraries, packed as `docker save` does. `$0` is the folder with our files.
const PACK: &str = r#"
cd "$0"
for program in bash sleep; do
  file=$(command -v "$program")
  cp -L "$file" root/bin/
  for library in $(ldd "$file" | grep -o '/[^ ]*'); do
    mkdir -p "root$(dirname "$library")"
    cp -L "$library" "root$library"
  done
done
tar -C root -cf layer.tar .
sha256sum layer.tar | cut -d' ' -f1
"#;

/// Imports it on the node.
pub fn import(fixture: &Fixture) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(lab::unique("stand-in"));
    let archive = pack(&folder);
    fixture.cluster.node.import_image(&archive, IMAGE).unwrap();
    fs::remove_dir_all(folder).unwrap();
}

/// From now on it ends as soon as it is started.
pub fn fails() {
    fs::write(switch(), "").unwrap();
}

/// It runs again.
pub fn works() {
    fs::remove_file(switch()).unwrap();
}

/// The folder of the node that operands mount.
fn switch() -> PathBuf {
    Path::new(ETC).join("stand-in-fails")
}

fn pack(folder: &Path) -> PathBuf {
    let program = folder.join("root").join(PROGRAM);
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    fs::write(&program, SCRIPT).unwrap();
    fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let digest = sh(PACK, folder);
    let config = json!({
        "architecture": if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" }, "os": "linux",
        "config": {"Entrypoint": [format!("/{PROGRAM}")], "Env": ["PATH=/bin"]},
        "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{}", digest.trim())]},
    });
    let manifest = json!([{"Config": "config.json", "RepoTags": [IMAGE], "Layers": ["layer.tar"]}]);
    fs::write(folder.join("config.json"), config.to_string()).unwrap();
    fs::write(folder.join("manifest.json"), manifest.to_string()).unwrap();
    sh(
        r#"cd "$0" && tar -cf image.tar manifest.json config.json layer.tar"#,
        folder,
    );
    folder.join("image.tar")
}

fn sh(script: &str, folder: &Path) -> String {
    let output = Command::new("sh").arg("-ec").arg(script).arg(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
