//! A small real `OpenStack` (2026.1): Keystone, Nova, Placement, Glance, Neutron and Octavia.
//!
//! Start with [`OpenStack::shared`], and give each test a [`Project`] of its own. The services are the real ones; only what is
//! below them is not: servers have no hypervisor, ports no switch, load balancers no data plane. Its parts are in
//! `lab/openstack`.

mod balancers;
mod catalog;
mod client;
mod config;
mod content;
mod install;
mod processes;
mod project;
mod requests;
mod start;
mod writes;

pub use catalog::{Region, Service};
pub use client::Login;
pub use install::prepare;
pub use project::{ApplicationCredential, Project, Server, Tenant};
pub use requests::{Mark, Request};
pub use writes::Spoilt;

use crate::{
    install_crypto,
    process::{Guarded, sweep},
    unique,
};
use anyhow::{Context, Result, bail};
use catalog::Ports;
use client::Client;
use content::Content;
use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Mutex, OnceLock, PoisonError},
};

/// The password of every user.
pub const PASSWORD: &str = "labpass";
/// The environment variable with the folder of a running cloud that all tests share.
pub const VARIABLE: &str = "OUTRIGGER_LAB_OPENSTACK";

const FOLDER: &str = "outrigger-openstack";
/// Written when all services are ready: the cloud can be used if it exists.
const READY: &str = "ports.json";

/// A running cloud. Dropping it stops it and removes its folder, unless it was attached to.
#[derive(Debug)]
pub struct OpenStack {
    folder: PathBuf,
    client: Client,
    content: Content,
    parts: Mutex<Vec<Guarded>>,
}

impl OpenStack {
    /// The cloud that all tests share: the one in `OUTRIGGER_LAB_OPENSTACK` if that is set, else one that is started
    /// now and stops with the process.
    ///
    /// # Panics
    /// If it cannot be started: no test can go on without it.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<OpenStack> = OnceLock::new();
        SHARED.get_or_init(|| {
            let started = match std::env::var_os(VARIABLE).filter(|folder| !folder.is_empty()) {
                Some(folder) => Self::attach(Path::new(&folder)),
                None => Self::start(),
            };
            #[expect(clippy::panic, reason = "the tests that share it cannot go on")]
            started.unwrap_or_else(|error| panic!("no OpenStack: {error:#}"))
        })
    }

    /// Starts a fresh cloud of one's own, in a folder of its own. Takes about half a minute, and some minutes where
    /// it has to be installed first.
    ///
    /// # Errors
    /// If it cannot be installed or does not become ready.
    pub fn start() -> Result<Self> {
        sweep(&std::env::temp_dir(), FOLDER);
        Self::start_in(&std::env::temp_dir().join(unique(FOLDER)))
    }

    /// Starts a fresh cloud in this folder, which is created, and deleted at the end.
    ///
    /// # Errors
    /// If it cannot be installed or does not become ready.
    pub fn start_in(folder: &Path) -> Result<Self> {
        install_crypto();
        if fs::read_dir(folder).is_ok_and(|mut files| files.next().is_some()) {
            bail!("{} is not empty", folder.display());
        }
        let installed = install::prepare()?;
        let mut last = None;
        // Another process may take a free port before it is used.
        for _ in 0..2 {
            fs::remove_dir_all(folder).ok();
            match Self::try_start(folder, &installed) {
                Ok(started) => return Ok(started),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| anyhow::anyhow!("never tried")))
    }

    fn try_start(folder: &Path, installed: &install::Installed) -> Result<Self> {
        let folder = config::make_folder(folder)?;
        installed.copy_cloud_to(&folder)?;
        let content = Content::read(&folder)?;
        let client = Client::new(Ports::free()?);
        let place = installed.place(&folder);
        config::write(place, client.ports(), &content.amphora)?;
        let parts = Mutex::new(start::start(place, &client)?);
        fs::write(folder.join(READY), serde_json::to_vec_pretty(client.ports())?)?;
        Ok(Self {
            folder,
            client,
            content,
            parts,
        })
    }

    /// Uses a cloud that another process started in this folder.
    ///
    /// # Errors
    /// If it is not there.
    pub fn attach(folder: &Path) -> Result<Self> {
        install_crypto();
        let missing = || format!("there is no OpenStack in {}", folder.display());
        let ports: Ports = serde_json::from_slice(&fs::read(folder.join(READY)).with_context(missing)?)?;
        let client = Client::new(ports);
        client::block_on(client.ask(Service::Keystone)).with_context(missing)?;
        Ok(Self {
            folder: folder.to_owned(),
            content: Content::read(folder)?,
            client,
            parts: Mutex::default(),
        })
    }

    /// The folder with all its state, and a log for each process.
    pub fn dir(&self) -> &Path {
        &self.folder
    }

    /// The address of Keystone, as it stands in `auth-url`.
    pub fn keystone(&self, region: Region) -> String {
        format!("{}/v3", self.url(Service::Keystone, region))
    }

    /// The address of a service, without the path that its endpoint in the catalog may have.
    pub fn url(&self, service: Service, region: Region) -> String {
        self.client.ports().url(service, region)
    }

    /// The certificate that signed the one of [`Region::Tls`].
    pub fn ca_file(&self) -> PathBuf {
        self.folder.join("pki/ca.crt")
    }

    /// A clouds.yaml with the clouds `lab`, `lab-demo`, `lab-tls` and `lab-tls-demo`.
    pub fn clouds_yaml(&self) -> PathBuf {
        self.folder.join("clouds.yaml")
    }

    /// The network that routers and floating IPs are in: `public`, 203.0.112.0/20.
    pub fn external_network(&self) -> &str {
        &self.content.external_network
    }

    /// The subnet of the external network.
    pub fn external_subnet(&self) -> &str {
        &self.content.external_subnet
    }

    /// The administrator's user and project.
    pub fn admin(&self) -> Login {
        Login::new("admin")
    }

    /// The project that exists from the start, with a network, a subnet and a router. All tests share it.
    pub fn demo(&self) -> Project<'_> {
        Project::new(self, self.content.demo.clone())
    }

    /// A new project with a user of the same name, a network, a subnet and a router to the external network.
    ///
    /// # Errors
    /// If the name is taken.
    pub async fn project(&self, name: &str) -> Result<Project<'_>> {
        let tenant = content::tenant(&self.client, name, &self.content.roles, &self.content.external_network).await?;
        Ok(Project::new(self, tenant))
    }

    /// Asks a service as this user, and answers the JSON of its answer, `null` if there is none.
    ///
    /// # Errors
    /// If the service cannot be reached or rejects the request; the message has the status and the body.
    pub async fn call(
        &self,
        login: &Login,
        service: Service,
        method: http::Method,
        path: &str,
        body: Option<serde_json::Value>,
    ) -> Result<serde_json::Value> {
        self.client.call(login, service, method, path, body).await
    }
}

impl Drop for OpenStack {
    fn drop(&mut self) {
        let parts = std::mem::take(&mut *self.parts.lock().unwrap_or_else(PoisonError::into_inner));
        if !parts.is_empty() {
            drop(parts);
            // What cannot be removed is in the temporary folder.
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}
