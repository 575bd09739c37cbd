//! Go programs that Outrigger is measured and compared with, built once for each version of their sources.

use crate::assets;
use anyhow::{Context, Result};
use std::{
    fs::{self, File},
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    process::Command,
};

/// A Go program, and the module that pins it.
#[derive(Debug, Clone, Copy)]
pub struct Peer {
    /// The name of its file; no two have the same.
    pub name: &'static str,
    /// Its description, for messages.
    pub what: &'static str,
    /// The package to be built: `.` is the module itself.
    pub package: &'static str,
    /// The files of the module, by name.
    pub files: &'static [(&'static str, &'static str)],
}

const FRAMEWORK: Peer = Peer {
    name: "cloud-controller-manager",
    what: "the Go framework's manager",
    package: ".",
    files: &[
        ("go.mod", include_str!("../../bench/peer/go.mod")),
        ("go.sum", include_str!("../../bench/peer/go.sum")),
        ("main.go", include_str!("../../bench/peer/main.go")),
        ("cloud.go", include_str!("../../bench/peer/cloud.go")),
    ],
};

const OCCM: Peer = Peer {
    name: "openstack-cloud-controller-manager",
    what: "openstack-cloud-controller-manager",
    package: "k8s.io/cloud-provider-openstack/cmd/openstack-cloud-controller-manager",
    files: &[
        ("go.mod", include_str!("../../bench/occm/go.mod")),
        ("go.sum", include_str!("../../bench/occm/go.sum")),
        ("tools.go", include_str!("../../bench/occm/tools.go")),
    ],
};

const AWS_FILES: &[(&str, &str)] = &[
    ("go.mod", include_str!("../../bench/aws-ccm/go.mod")),
    ("go.sum", include_str!("../../bench/aws-ccm/go.sum")),
    ("tools.go", include_str!("../../bench/aws-ccm/tools.go")),
];

const AWS: Peer = Peer {
    name: "aws-cloud-controller-manager",
    what: "aws-cloud-controller-manager",
    package: "k8s.io/cloud-provider-aws/cmd/aws-cloud-controller-manager",
    files: AWS_FILES,
};

const ECR: Peer = Peer {
    name: "ecr-credential-provider",
    what: "ecr-credential-provider",
    package: "k8s.io/cloud-provider-aws/cmd/ecr-credential-provider",
    files: AWS_FILES,
};

const VCENTER: Peer = Peer {
    name: "vcenter",
    what: "the vCenter simulator",
    package: ".",
    files: &[
        ("go.mod", include_str!("../vsphere/go.mod")),
        ("go.sum", include_str!("../vsphere/go.sum")),
        ("main.go", include_str!("../vsphere/main.go")),
    ],
};

const VSPHERE: Peer = Peer {
    name: "vsphere-cloud-controller-manager",
    what: "vsphere-cloud-controller-manager",
    package: "k8s.io/cloud-provider-vsphere/cmd/vsphere-cloud-controller-manager",
    files: &[
        ("go.mod", include_str!("../../bench/vsphere-ccm/go.mod")),
        ("go.sum", include_str!("../../bench/vsphere-ccm/go.sum")),
        ("tools.go", include_str!("../../bench/vsphere-ccm/tools.go")),
    ],
};

const HELM: Peer = Peer {
    name: "helm",
    what: "Helm",
    package: "helm.sh/helm/v3/cmd/helm",
    files: &[
        ("go.mod", include_str!("../assets/helm/go.mod")),
        ("go.sum", include_str!("../assets/helm/go.sum")),
        ("tools.go", include_str!("../assets/helm/tools.go")),
    ],
};

const KUSTOMIZE: Peer = Peer {
    name: "kustomize",
    what: "kustomize",
    package: "sigs.k8s.io/kustomize/kustomize/v5",
    files: &[
        ("go.mod", include_str!("../assets/kustomize/go.mod")),
        ("go.sum", include_str!("../assets/kustomize/go.sum")),
        ("tools.go", include_str!("../assets/kustomize/tools.go")),
    ],
};

/// The path of Helm, built first if need be.
///
/// # Errors
/// As [`Peer::program`].
pub fn helm() -> Result<PathBuf> {
    HELM.program()
}

/// The path of kustomize, built first if need be.
///
/// # Errors
/// As [`Peer::program`].
pub fn kustomize() -> Result<PathBuf> {
    KUSTOMIZE.program()
}

/// The path of the Go framework's own manager, on the memory cloud, built first if need be.
///
/// # Errors
/// As [`Peer::program`].
pub fn program() -> Result<PathBuf> {
    FRAMEWORK.program()
}

/// The path of openstack-cloud-controller-manager, built first if need be.
///
/// # Errors
/// As [`Peer::program`].
pub fn occm() -> Result<PathBuf> {
    OCCM.program()
}

/// The path of aws-cloud-controller-manager, built first if need be.
///
/// # Errors
/// As [`Peer::program`].
pub fn aws() -> Result<PathBuf> {
    AWS.program()
}

/// The path of the vCenter simulator, built first if need be.
///
/// # Errors
/// As [`Peer::program`].
pub fn vcenter() -> Result<PathBuf> {
    VCENTER.program()
}

/// The path of vsphere-cloud-controller-manager, built first if need be.
///
/// # Errors
/// As [`Peer::program`].
pub fn vsphere() -> Result<PathBuf> {
    VSPHERE.program()
}

/// The path of ecr-credential-provider, built first if need be.
///
/// # Errors
/// As [`Peer::program`].
pub fn ecr() -> Result<PathBuf> {
    ECR.program()
}

impl Peer {
    /// The path of the program, built first if need be.
    ///
    /// # Errors
    /// If it cannot be built; the message ends with the output of the compiler.
    pub fn program(&self) -> Result<PathBuf> {
        let folder = assets::cache().join("peer");
        let target = folder.join(format!("{}-{}", self.name, self.fingerprint()));
        if !target.exists() {
            fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
            let lock = File::create(folder.join(".lock"))?;
            lock.lock().context("cannot lock the cache")?;
            if !target.exists() {
                self.build(&folder.join("source").join(self.name), &target)?;
            }
        }
        Ok(target)
    }

    /// To another name first, so that the program is never incomplete.
    fn build(&self, source: &Path, target: &Path) -> Result<()> {
        fs::create_dir_all(source)?;
        for (name, text) in self.files {
            fs::write(source.join(name), text)?;
        }
        let unfinished = target.with_extension("unfinished");
        let mut go = Command::new("go");
        go.current_dir(source)
            .env("CGO_ENABLED", "0")
            .env("GOFLAGS", "-mod=mod -buildvcs=false");
        go.args(["build", "-trimpath", "-ldflags", "-s -w", "-o"])
            .arg(&unfinished)
            .arg(self.package);
        assets::with_progress(&format!("building {}", self.what), go)?;
        fs::rename(unfinished, target)?;
        Ok(())
    }

    fn fingerprint(&self) -> String {
        let mut hasher = DefaultHasher::new();
        self.files.hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }
}
