//! containerd, and what is asked of it.

use super::Network;
use crate::{control_plane::place::free_port, process::Guarded};
use anyhow::{Context, Result, bail};
use serde_json::json;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

const ANSWERS_WITHIN: Duration = Duration::from_mins(4);

/// Where containerd listens.
pub(super) fn socket(folder: &Path) -> PathBuf {
    folder.join("containerd.sock")
}

/// Starts containerd, and waits until it answers.
pub(super) fn start(folder: &Path, packages: &Path, network: Network) -> Result<Guarded> {
    fs::create_dir_all(folder.join("cni"))?;
    if network == Network::Bridge {
        write_network(folder)?;
    }
    fs::write(folder.join("containerd.toml"), config(folder, packages)?)?;
    // It looks for its shims there.
    let path = format!(
        "{}:{}",
        packages.join("usr/bin").display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let args = [
        "--config".to_owned(),
        folder.join("containerd.toml").display().to_string(),
    ];
    let program = packages.join("usr/bin/containerd");
    let process = Guarded::spawn_with_env(folder, "containerd", &program, &args, &[("PATH", path)])?;
    let start = Instant::now();
    while let Err(error) = ctr(folder, packages, &["version"]) {
        if !process.is_running() || start.elapsed() > ANSWERS_WITHIN {
            return Err(error.context(format!("containerd does not answer:\n{}", process.log_tail(15))));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(process)
}

/// Loads an archive, and gives its image this name.
pub(super) fn import(folder: &Path, packages: &Path, archive: &Path, name: &str) -> Result<()> {
    let archive = archive.to_str().context("the path of an image must be readable")?;
    let output = ctr(folder, packages, &["images", "import", archive])
        .with_context(|| format!("cannot import the image {archive}"))?;
    let given = output
        .lines()
        .find_map(|line| line.strip_prefix("unpacking ")?.split(' ').next());
    match given {
        Some(given) if given == name => Ok(()),
        Some(given) => ctr(folder, packages, &["images", "tag", "--force", given, name]).map(drop),
        None => bail!("{archive} has no image in it"),
    }
}

fn ctr(folder: &Path, packages: &Path, args: &[&str]) -> Result<String> {
    let output = Command::new(packages.join("usr/bin/ctr"))
        .arg("--address")
        .arg(socket(folder))
        .args(["--namespace", "k8s.io"])
        .args(args)
        .output()
        .context("cannot run ctr")?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// `restrict_oom_score_adj`: without `CAP_SYS_RESOURCE`, as in many sandboxes, runc cannot give the pause container its -998.
fn config(folder: &Path, packages: &Path) -> Result<String> {
    let (at, root) = (folder.display(), packages.display());
    let (socket, snapshotter, pause) = (socket(folder), snapshotter(folder)?, super::packages::PAUSE);
    Ok(format!(
        r#"version = 2
root = "{at}/containerd"
state = "{at}/containerd-run"
disabled_plugins = ["io.containerd.internal.v1.opt"]
grpc = {{ address = "{socket}" }}
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  cni = {{ bin_dir = "{root}/usr/lib/cni", conf_dir = "{at}/cni" }}
  containerd.snapshotter = "{snapshotter}"
  containerd.runtimes.runc = {{ runtime_type = "io.containerd.runc.v2", options = {{ BinaryName = "{root}/usr/sbin/runc", SystemdCgroup = false }} }}
"#,
        socket = socket.display(),
    ))
}

/// An overlay cannot lie on another one, which is what a container's own disk is.
fn snapshotter(folder: &Path) -> Result<&'static str> {
    let output = Command::new("stat")
        .args(["--file-system", "--format=%T"])
        .arg(folder)
        .output()
        .context("cannot run stat")?;
    let kind = String::from_utf8_lossy(&output.stdout);
    Ok(if kind.trim() == "overlayfs" {
        "native"
    } else {
        "overlayfs"
    })
}

fn write_network(folder: &Path) -> Result<()> {
    // The name of a network device is short, and no other node may have it: a free port is such a number.
    let name = format!("lab{}", free_port()?);
    let ipam =
        json!({"type": "host-local", "dataDir": folder.join("cni-ips"), "ranges": [[{"subnet": "10.244.0.0/24"}]]});
    let plugins = json!([{"type": "bridge", "bridge": &name, "ipam": ipam}]);
    let list = json!({"cniVersion": "0.4.0", "name": &name, "plugins": plugins});
    fs::write(folder.join("network"), &name)?;
    fs::write(folder.join("cni/10-lab.conflist"), list.to_string())?;
    Ok(())
}
