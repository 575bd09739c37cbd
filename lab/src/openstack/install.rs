//! Installs the cloud, once: Debian packages, Python packages in a virtual environment, and the databases of a cloud that
//! every start begins with a copy of.

use super::{
    PASSWORD,
    catalog::{Ports, Region, Service},
    client::{Client, block_on},
    config,
    content::{self, Amphora},
    processes::{Place, find, is_root, missing_packages},
    start::Starting,
};
use crate::{
    assets::{cache, with_progress},
    install_crypto,
};
use anyhow::{Context, Result, bail};
use std::{
    fs::{self, File},
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    process::Command,
};

const REQUIREMENTS: &str = include_str!("../../openstack/requirements.lock");
const SCHEMAS: &str = include_str!("../../openstack/schemas.sh");
/// Debian's own, because its packages are what is installed where something is missing.
const PYTHON: &str = "/usr/bin/python3";
const DRIVERS: [(&str, &str); 6] = [
    (
        "labdrivers/__init__.py",
        include_str!("../../openstack/drivers/labdrivers/__init__.py"),
    ),
    (
        "labdrivers/balancers.py",
        include_str!("../../openstack/drivers/labdrivers/balancers.py"),
    ),
    (
        "labdrivers/compute.py",
        include_str!("../../openstack/drivers/labdrivers/compute.py"),
    ),
    (
        "labdrivers/door.py",
        include_str!("../../openstack/drivers/labdrivers/door.py"),
    ),
    (
        "labdrivers/network.py",
        include_str!("../../openstack/drivers/labdrivers/network.py"),
    ),
    (
        "labdrivers-1.dist-info/entry_points.txt",
        include_str!("../../openstack/drivers/entry_points.txt"),
    ),
];
/// What a start begins with a copy of.
const PARTS: [&str; 3] = ["mysql", "data", "content.json"];

/// What is installed.
#[derive(Debug)]
pub struct Installed {
    venv: PathBuf,
    drivers: PathBuf,
    cloud: PathBuf,
}

/// Installs what is not in the cache yet.
///
/// # Errors
/// If something is missing that only the administrator can install, or cannot be downloaded or built.
pub fn prepare() -> Result<Installed> {
    install_crypto();
    let folder = cache().join("openstack");
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let lock = File::create(folder.join(".lock"))?;
    lock.lock().context("cannot lock the cache")?;
    let venv = folder.join(format!("venv-{}", fingerprint([REQUIREMENTS, PYTHON])));
    let complete = venv.join("complete").exists();
    let mut missing = missing_packages();
    if !complete && !can_make_venv() {
        missing.push("python3-venv");
    }
    install_packages(&missing)?;
    if !complete {
        build_venv(&venv)?;
    }
    let drivers = folder.join(format!("drivers-{}", fingerprint(DRIVERS.map(|(_, text)| text))));
    if !drivers.exists() {
        write_drivers(&drivers)?;
    }
    let sources = config::sources().chain([REQUIREMENTS, SCHEMAS, include_str!("content.rs")]);
    let cloud = folder.join(format!("cloud-{}", fingerprint(sources)));
    let installed = Installed { venv, drivers, cloud };
    if !installed.cloud.exists() {
        build_cloud(&installed)?;
    }
    Ok(installed)
}

impl Installed {
    /// Everything about a cloud that is in this folder.
    pub(super) fn place<'a>(&'a self, folder: &'a Path) -> Place<'a> {
        Place {
            folder,
            venv: &self.venv,
            drivers: &self.drivers,
        }
    }

    /// Copies the cloud as it was after its installation.
    pub(super) fn copy_cloud_to(&self, folder: &Path) -> Result<()> {
        copy(&self.cloud, folder)
    }
}

fn can_make_venv() -> bool {
    let asked = Command::new(PYTHON).args(["-c", "import ensurepip, venv"]).output();
    asked.is_ok_and(|output| output.status.success())
}

fn install_packages(missing: &[&str]) -> Result<()> {
    if missing.is_empty() {
        return Ok(());
    }
    let names = missing.join(" ");
    if !is_root() || find("apt-get").is_err() {
        bail!(
            "OpenStack needs the Debian packages {names}: install them (apt-get install --no-install-recommends {names}) and try again"
        );
    }
    // Packages start their services when they are installed, unless this forbids it.
    let script = format!(
        "set -e; policy=/usr/sbin/policy-rc.d\n\
         if [ ! -e $policy ]; then printf '#!/bin/sh\\nexit 101\\n' >$policy; chmod +x $policy; trap 'rm -f $policy' EXIT; fi\n\
         apt-get update -qq; apt-get install -y -qq --no-install-recommends {names}"
    );
    let mut apt = Command::new("sh");
    apt.args(["-c", &script]).env("DEBIAN_FRONTEND", "noninteractive");
    with_progress("installing Debian packages for OpenStack", apt)
}

/// In its final place, because the scripts in it have their interpreter's path in them; a mark means that it is complete.
fn build_venv(venv: &Path) -> Result<()> {
    fs::remove_dir_all(venv).ok();
    let requirements = venv.with_extension("lock");
    fs::write(&requirements, REQUIREMENTS)?;
    let script = format!(
        "set -e; {PYTHON} -m venv {venv}; {venv}/bin/pip install --quiet --no-deps -r {requirements}\n\
         echo 'from labdrivers.compute import LabDriver  # noqa' >$(echo {venv}/lib/python3*/site-packages/nova/virt)/lab.py",
        venv = venv.display(),
        requirements = requirements.display(),
    );
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]);
    with_progress("installing OpenStack", shell)?;
    fs::remove_file(requirements)?;
    Ok(fs::write(venv.join("complete"), "")?)
}

/// A package is found by its metadata; this is all that is needed of it. Always in the same place, because what is found is
/// remembered by place, which makes a start quicker.
fn write_drivers(target: &Path) -> Result<()> {
    let unfinished = target.with_extension("unfinished");
    fs::create_dir_all(unfinished.join("labdrivers"))?;
    fs::create_dir_all(unfinished.join("labdrivers-1.dist-info"))?;
    let metadata = "Metadata-Version: 2.1\nName: labdrivers\nVersion: 1\n";
    fs::write(unfinished.join("labdrivers-1.dist-info/METADATA"), metadata)?;
    for (name, text) in DRIVERS {
        fs::write(unfinished.join(name), text)?;
    }
    Ok(fs::rename(unfinished, target)?)
}

/// Under another name first, so that the cloud is never incomplete.
fn build_cloud(installed: &Installed) -> Result<()> {
    let target = &installed.cloud;
    let folder = config::make_folder(&std::env::temp_dir().join(crate::unique("outrigger-openstack")))?;
    let built = fill_cloud(installed.place(&folder)).and_then(|()| {
        let unfinished = target.with_extension("unfinished");
        fs::remove_dir_all(&unfinished).ok();
        fs::create_dir_all(&unfinished)?;
        copy(&folder, &unfinished)?;
        Ok(fs::rename(unfinished, target)?)
    });
    if built.is_ok() {
        fs::remove_dir_all(&folder).ok();
    }
    built.with_context(|| format!("cannot make a cloud: see the logs in {}", folder.display()))
}

fn fill_cloud(place: Place<'_>) -> Result<()> {
    let Place { folder, venv, .. } = place;
    let client = Client::new(Ports::free()?);
    config::write(place, client.ports(), &Amphora::default())?;
    make_database(folder)?;
    let mut starting = Starting::new(place, &client);
    starting.infrastructure()?;
    let keystone = format!("{}/v3", client.ports().url(Service::Keystone, Region::Plain));
    let mut schemas = Command::new("sh");
    schemas
        .args(["-c", SCHEMAS, "schemas"])
        .arg(venv)
        .arg(folder)
        .args([PASSWORD, &keystone])
        .envs(place.python());
    with_progress("making the databases of OpenStack", schemas)?;
    starting.keystone()?;
    block_on(content::identity(&client))?;
    starting.services()?;
    starting.wait_until_ready()?;
    let mut discover = Command::new(venv.join("bin/nova-manage"));
    discover
        .arg("--config-file")
        .arg(folder.join("etc/nova.conf"))
        .args(["cell_v2", "discover_hosts"]);
    discover.envs(place.python());
    with_progress("introducing Nova to its host", discover)?;
    block_on(content::resources(&client))?.write(folder)?;
    starting.stop()
}

fn make_database(folder: &Path) -> Result<()> {
    let mut install = Command::new(find("mariadb-install-db")?);
    install.args([
        "--no-defaults",
        "--auth-root-authentication-method=normal",
        "--skip-test-db",
    ]);
    install.arg(format!("--datadir={}/mysql", folder.display()));
    if is_root() {
        install.arg("--user=root");
    }
    with_progress("making a database", install)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let status = Command::new("cp")
        .args(["-a", "--reflink=auto"])
        .args(PARTS.map(|part| from.join(part)))
        .arg(to)
        .status()?;
    if !status.success() {
        bail!("cannot copy {} to {}", from.display(), to.display());
    }
    Ok(())
}

fn fingerprint<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hasher = DefaultHasher::new();
    texts.into_iter().for_each(|text| text.hash(&mut hasher));
    format!("{:016x}", hasher.finish())
}
