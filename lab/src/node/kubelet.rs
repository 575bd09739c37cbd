//! The kubelet and its configuration.

use super::{Cloud, Node, host, runtime};
use crate::{ControlPlane, assets, control_plane::place::free_port, process::Guarded};
use anyhow::Result;
use serde_json::json;
use std::{fs, path::Path};

/// Writes what the kubelet reads: its credentials and its configuration.
pub(super) fn configure(node: &Node, plane: &ControlPlane) -> Result<()> {
    let folder = node.dir();
    for name in ["manifests", "pods", "kubelet"] {
        fs::create_dir_all(folder.join(name))?;
    }
    let user = format!("system:node:{}", node.name());
    fs::copy(
        plane.kubeconfig_for(&user, &["system:nodes"]),
        folder.join("kubeconfig"),
    )?;
    let config = config(node, &plane.ca_file())?;
    fs::write(folder.join("kubelet.json"), config)?;
    Ok(())
}

/// Starts it.
pub(super) fn start(node: &Node) -> Result<Guarded> {
    let folder = node.dir();
    let named = |flag: &str, file: &str| format!("--{flag}={}", folder.join(file).display());
    let mut args = vec![
        named("config", "kubelet.json"),
        named("kubeconfig", "kubeconfig"),
        named("root-dir", "kubelet"),
        named("cert-dir", "kubelet/pki"),
        format!("--hostname-override={}", node.name()),
    ];
    if node.options.cloud == Cloud::External {
        args.push("--cloud-provider=external".to_owned());
    }
    if let Some(ip) = node.options.ip {
        args.push(format!("--node-ip={ip}"));
    }
    Guarded::spawn(folder, "kubelet", &assets::program("kubelet")?, &args)
}

/// Kubernetes 1.35 rejects cgroup version 1 by default. No image is collected and nothing is evicted: there is no registry to
/// pull from again.
fn config(node: &Node, ca: &Path) -> Result<String> {
    let folder = node.dir();
    let mut config = json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": "127.0.0.1",
        "port": free_port()?,
        "healthzPort": free_port()?,
        "containerRuntimeEndpoint": format!("unix://{}", runtime::socket(folder).display()),
        "staticPodPath": folder.join("manifests"),
        "podLogsDir": folder.join("pods"),
        "volumePluginDir": folder.join("kubelet/volume-plugins"),
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": format!("/{}", host::cgroup(folder)),
        "failCgroupV1": false,
        "failSwapOn": false,
        "authentication": {
            "anonymous": {"enabled": false},
            "webhook": {"enabled": true},
            "x509": {"clientCAFile": ca},
        },
        "oomScoreAdj": 0,
        "makeIPTablesUtilChains": false,
        "nodeStatusUpdateFrequency": "2s",
        "fileCheckFrequency": "1s",
        "imageGCHighThresholdPercent": 100,
        "evictionHard": {
            "memory.available": "0%",
            "nodefs.available": "0%",
            "imagefs.available": "0%",
            "nodefs.inodesFree": "0%",
            "imagefs.inodesFree": "0%",
        },
    });
    if let Some(id) = &node.options.provider_id {
        config["providerID"] = id.clone().into();
    }
    Ok(format!("{config:#}\n"))
}
