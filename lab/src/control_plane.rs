//! etcd and kube-apiserver.

mod apiserver;
mod controllers;
pub(crate) mod place;

pub use place::Purpose;

use crate::{
    Patience, assets, install_crypto, kubeconfig, pki,
    process::{Guarded, sweep},
    unique,
};
use anyhow::{Context, Result, bail};
use place::Place;
use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

const FOLDER: &str = "outrigger-lab";
/// The longest time for which a part may log nothing new before it is ready.
const STALLED_AFTER: Duration = Duration::from_mins(1);

const AUDIT_POLICY: &str = "\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
";

/// A running control plane. Dropping it stops it and removes its folder, unless it was attached to.
#[derive(Debug)]
pub struct ControlPlane {
    folder: PathBuf,
    url: String,
    parts: Mutex<Parts>,
}

/// The processes; none if another process owns them.
#[derive(Debug, Default)]
struct Parts {
    etcd: Option<Guarded>,
    apiserver: Option<Guarded>,
    controllers: Vec<Guarded>,
}

impl ControlPlane {
    /// The control plane that all tests of a process share: the one in `OUTRIGGER_LAB` if that is set, else one that
    /// is started now and stops with the process.
    ///
    /// # Panics
    /// If it cannot be started: no test can go on without it.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<ControlPlane> = OnceLock::new();
        SHARED.get_or_init(|| {
            let started = match std::env::var_os("OUTRIGGER_LAB").filter(|folder| !folder.is_empty()) {
                Some(folder) => Self::attach(Path::new(&folder)),
                None => Self::start(),
            };
            #[expect(clippy::panic, reason = "the tests that share it cannot go on")]
            started.unwrap_or_else(|error| panic!("no control plane: {error:#}"))
        })
    }

    /// Starts a control plane of one's own, in a folder of its own.
    ///
    /// # Errors
    /// If a program cannot be built or does not become ready.
    pub fn start() -> Result<Self> {
        Self::start_for(Purpose::Api)
    }

    /// Starts a control plane for this purpose, in a folder of its own.
    ///
    /// # Errors
    /// If a program cannot be built or does not become ready.
    pub fn start_for(purpose: Purpose) -> Result<Self> {
        sweep(&std::env::temp_dir(), FOLDER);
        Self::start_at(&std::env::temp_dir().join(unique(FOLDER)), purpose)
    }

    /// Starts a control plane in this folder, which is created, and deleted at the end.
    ///
    /// # Errors
    /// If a program cannot be built or does not become ready.
    pub fn start_in(folder: &Path) -> Result<Self> {
        Self::start_at(folder, Purpose::Api)
    }

    fn start_at(folder: &Path, purpose: Purpose) -> Result<Self> {
        install_crypto();
        assets::prepare(&["etcd", "kube-apiserver"])?;
        let mut last = None;
        // Another process may take a free port before it is used.
        for _ in 0..3 {
            fs::remove_dir_all(folder).ok();
            match Self::try_start(folder, purpose) {
                Ok(started) => return Ok(started),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| anyhow::anyhow!("never tried")))
    }

    fn try_start(folder: &Path, purpose: Purpose) -> Result<Self> {
        fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        let folder = folder.canonicalize()?;
        let place = Place::choose(purpose)?;
        pki::create(&folder.join("pki"), &place.address.to_string())?;
        fs::write(folder.join("audit-policy.yaml"), AUDIT_POLICY)?;
        place.write(&folder)?;
        let plane = Self {
            folder,
            url: place.url(),
            parts: Mutex::default(),
        };
        plane.write_kubeconfig("admin")?;
        plane.start_etcd(place)?;
        plane.start_apiserver()?;
        Ok(plane)
    }

    /// Uses a control plane that another process started in this folder.
    ///
    /// # Errors
    /// If it is not there.
    pub fn attach(folder: &Path) -> Result<Self> {
        install_crypto();
        let plane = Self {
            folder: folder.to_owned(),
            url: Place::read(folder)?.url(),
            parts: Mutex::default(),
        };
        plane.wait_until_ready()?;
        Ok(plane)
    }

    /// The folder with all its state.
    pub fn dir(&self) -> &Path {
        &self.folder
    }

    /// The address of the API server.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A file of its certificates, for example `ca.crt`.
    pub fn pki(&self, file: &str) -> PathBuf {
        self.folder.join("pki").join(file)
    }

    /// The certificate that its API server is signed by.
    pub fn ca_file(&self) -> PathBuf {
        self.pki("ca.crt")
    }

    /// The audit log: one JSON object a line.
    pub fn audit_log(&self) -> PathBuf {
        self.folder.join("audit.log")
    }

    /// The administrator's kubeconfig.
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.join("admin.kubeconfig")
    }

    /// A kubeconfig of another user, with the permissions that RBAC grants.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn kubeconfig_for(&self, user: &str, groups: &[&str]) -> PathBuf {
        let file = format!("{}-{}", user.replace([':', '/'], "-"), unique("user"));
        pki::client(&self.folder.join("pki"), "ca", &file, user, groups)
            .and_then(|()| self.write_kubeconfig(&file))
            .expect("the lab's folder can be written")
    }

    fn write_kubeconfig(&self, user: &str) -> Result<PathBuf> {
        let path = self.folder.join(format!("{user}.kubeconfig"));
        let (certificate, key) = (self.pki(&format!("{user}.crt")), self.pki(&format!("{user}.key")));
        fs::write(
            &path,
            kubeconfig::with_certificate(&self.url, &self.ca_file(), &certificate, &key),
        )?;
        Ok(path)
    }

    /// The administrator's client configuration.
    ///
    /// # Panics
    /// If our own kubeconfig cannot be read.
    pub fn config(&self) -> kube::Config {
        let file = kube::config::Kubeconfig::read_from(self.kubeconfig()).expect("our own kubeconfig can be read");
        let options = kube::config::KubeConfigOptions::default();
        futures::executor::block_on(kube::Config::from_custom_kubeconfig(file, &options))
            .expect("our own kubeconfig is valid")
    }

    /// An administrator's client; it belongs to the runtime that creates it.
    ///
    /// # Panics
    /// If our own certificates cannot be read.
    pub fn client(&self) -> kube::Client {
        kube::Client::try_from(self.config()).expect("our own certificates are valid")
    }

    /// Kills the API server.
    pub fn stop_apiserver(&self) {
        if let Some(mut apiserver) = self.parts().apiserver.take() {
            apiserver.stop();
        }
    }

    /// Starts the API server, on the same port as before, and waits until it is ready.
    ///
    /// # Errors
    /// If it does not become ready.
    pub fn start_apiserver(&self) -> Result<()> {
        let program = assets::program("kube-apiserver")?;
        let args = apiserver::args(self, Place::read(&self.folder)?);
        self.parts().apiserver = Some(Guarded::spawn(&self.folder, "kube-apiserver", &program, &args)?);
        self.wait_until_ready()
    }

    /// Stops etcd without ending it: every request of the API server hangs.
    ///
    /// # Errors
    /// If it is not ours.
    pub fn pause_etcd(&self) -> Result<()> {
        self.parts()
            .etcd
            .as_ref()
            .context("etcd belongs to another process")?
            .signal("STOP")
    }

    /// Lets etcd go on.
    ///
    /// # Errors
    /// If it is not ours.
    pub fn resume_etcd(&self) -> Result<()> {
        self.parts()
            .etcd
            .as_ref()
            .context("etcd belongs to another process")?
            .signal("CONT")
    }

    fn start_etcd(&self, place: Place) -> Result<()> {
        let (client, peer) = (
            format!("http://127.0.0.1:{}", place.etcd),
            format!("http://127.0.0.1:{}", place.peer),
        );
        let args = [
            format!("--data-dir={}", self.folder.join("etcd").display()),
            format!("--listen-client-urls={client}"),
            format!("--advertise-client-urls={client}"),
            format!("--listen-peer-urls={peer}"),
            format!("--initial-advertise-peer-urls={peer}"),
            format!("--initial-cluster=default={peer}"),
            "--unsafe-no-fsync".to_owned(),
            "--log-level=warn".to_owned(),
        ];
        self.parts().etcd = Some(Guarded::spawn(&self.folder, "etcd", &assets::program("etcd")?, &args)?);
        Ok(())
    }

    fn wait_until_ready(&self) -> Result<()> {
        let mut patience = Patience::new(STALLED_AFTER);
        while !self.is_ready() {
            let parts = self.parts();
            for part in [&parts.etcd, &parts.apiserver].into_iter().flatten() {
                if !part.is_running() {
                    bail!("{} ended:\n{}", part.log().display(), part.log_tail(15));
                }
            }
            let tail = parts.apiserver.as_ref().map(|part| part.log_tail(15));
            let tail = tail.unwrap_or_default();
            if patience.is_over(&tail) {
                bail!(
                    "{} is not ready after {} s\n{tail}",
                    self.url,
                    patience.waited().as_secs()
                );
            }
            drop(parts);
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    fn is_ready(&self) -> bool {
        self.get("/readyz").is_some_and(|text| text == "ok")
    }

    /// What the API server answers, if it does. Asks on a thread and runtime of its own, because callers may or may not be inside
    /// one.
    pub(crate) fn get(&self, path: &str) -> Option<String> {
        self.request(http::Request::get(path).body(Vec::new()).ok()?).ok()
    }

    /// As [`Self::get`], for any request.
    pub(crate) fn request(&self, request: http::Request<Vec<u8>>) -> Result<String> {
        let config = self.config();
        let ask = move || -> Result<String> {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let client = kube::Client::try_from(config)?;
                Ok(tokio::time::timeout(Duration::from_secs(5), client.request_text(request)).await??)
            })
        };
        std::thread::spawn(ask)
            .join()
            .unwrap_or_else(|_| bail!("the request to the API server panicked"))
    }

    fn parts(&self) -> MutexGuard<'_, Parts> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        let mut parts = self.parts();
        let ours = parts.etcd.is_some() || parts.apiserver.is_some();
        parts.controllers.clear();
        drop(parts.apiserver.take());
        drop(parts.etcd.take());
        drop(parts);
        if ours {
            // What cannot be removed is in the temporary folder.
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}
