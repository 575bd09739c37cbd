//! A vCenter on loopback: govmomi's simulator behind a proxy that counts calls and sessions and injects faults, from `lab/vsphere`.
//!
//! Each test starts one of its own, which takes a second.

use crate::{
    Patience, install_crypto, peer,
    process::{Guarded, sweep},
    unique,
};
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    time::Duration,
};

/// The user that may log in.
pub const USER: &str = "user";
/// The first password of the user.
pub const PASSWORD: &str = "pass";

const FOLDER: &str = "outrigger-vsphere";
/// The longest time for which the simulator may log nothing new before it listens.
const STALLED_AFTER: Duration = Duration::from_mins(2);

/// A running vCenter. Dropping it stops it and removes its folder.
#[derive(Debug)]
pub struct VCenter {
    folder: PathBuf,
    port: u16,
    control: u16,
    program: PathBuf,
    process: Guarded,
}

/// What goes wrong with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// This HTTP status, with a text that no vCenter writes.
    Status(u16),
    /// This type of SOAP fault.
    Soap(&'static str),
    /// Half of the answer arrives.
    Truncate,
    /// The answer is larger than anybody wants to read.
    Huge,
}

impl VCenter {
    /// Starts a vCenter with two datacenters of one cluster each, and these tags: category, name, inventory path.
    ///
    /// # Errors
    /// If the simulator cannot be built or does not start.
    pub fn start(tags: &[[&str; 3]]) -> Result<Self> {
        install_crypto();
        sweep(&std::env::temp_dir(), FOLDER);
        let program = peer::vcenter()?;
        let folder = std::env::temp_dir().join(unique(FOLDER));
        fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        let tags = tags
            .iter()
            .map(|[category, tag, path]| json!({"Category": category, "Tag": tag, "Path": path}));
        let tags: Vec<Value> = tags.collect();
        let inventory = json!({"Datacenters": 2, "Clusters": 1, "Hosts": 1, "Tags": tags});
        fs::write(folder.join("inventory.json"), inventory.to_string())?;
        certify(&folder)?;
        // A free port may be taken by another process before it is used.
        Self::try_start(&folder, &program).or_else(|_| Self::try_start(&folder, &program))
    }

    fn try_start(folder: &Path, program: &Path) -> Result<Self> {
        let free = || Ok::<_, anyhow::Error>(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port());
        let (port, control) = (free()?, free()?);
        let vcenter = Self {
            process: spawn(folder, program, port, control)?,
            folder: folder.to_owned(),
            program: program.to_owned(),
            port,
            control,
        };
        vcenter.wait_until_it_listens()?;
        Ok(vcenter)
    }

    fn wait_until_it_listens(&self) -> Result<()> {
        let mut patience = Patience::new(STALLED_AFTER);
        let listens = |port: u16| TcpStream::connect(("127.0.0.1", port)).is_ok();
        while !(listens(self.port) && listens(self.control)) {
            let log = self.process.log_tail(20);
            if !self.process.is_running() || patience.is_over(&log) {
                bail!("the vCenter does not listen:\n{log}");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Stops it: nothing listens any more.
    pub fn stop(&mut self) {
        self.process.stop();
    }

    /// Starts it again where it was, with a certificate of its own and an empty inventory.
    ///
    /// # Errors
    /// If it does not start.
    pub fn restart(&mut self) -> Result<()> {
        self.stop();
        certify(&self.folder)?;
        self.process = spawn(&self.folder, &self.program, self.port, self.control)?;
        self.wait_until_it_listens()
    }

    /// Its host.
    pub fn server(&self) -> &'static str {
        "127.0.0.1"
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The file with its certificate, which is its own authority.
    pub fn certificate(&self) -> PathBuf {
        self.folder.join("server.crt")
    }

    /// The folder with its files.
    pub fn dir(&self) -> &Path {
        &self.folder
    }

    /// A configuration for this vCenter, in YAML, with these further lines.
    pub fn cloud_config(&self, more: &str) -> String {
        let (server, port) = (self.server(), self.port);
        format!(
            "vcenter:\n  lab: {{server: {server}, port: {port}, user: {USER}, password: {PASSWORD}, insecureFlag: true}}\n{more}"
        )
    }

    /// Creates a machine from its JSON, see `lab/vsphere/main.go`, and returns its ID.
    ///
    /// # Errors
    /// If it cannot be created.
    pub async fn create(&self, machine: &Value) -> Result<String> {
        self.call("create", machine).await
    }

    /// Changes a machine.
    ///
    /// # Errors
    /// If it does not exist.
    pub async fn change(&self, name: &str, change: &Value) -> Result<()> {
        self.call(&format!("change?name={name}"), change).await.map(drop)
    }

    /// Deletes a machine; it is a success if it does not exist.
    ///
    /// # Errors
    /// If it cannot be deleted.
    pub async fn delete(&self, name: &str) -> Result<()> {
        self.call(&format!("delete?name={name}"), &Value::Null).await.map(drop)
    }

    /// The next calls of this SOAP method or REST path go wrong; of any, if it is empty.
    ///
    /// # Errors
    /// If the simulator does not answer.
    pub async fn inject(&self, method: &str, fault: Fault, count: usize) -> Result<()> {
        let kind = match fault {
            Fault::Status(status) => format!("status {status}"),
            Fault::Soap(kind) => kind.to_owned(),
            Fault::Truncate => "truncate".to_owned(),
            Fault::Huge => "huge".to_owned(),
        };
        let fault = json!({"Method": method, "Kind": kind, "Count": count});
        self.call("fault", &fault).await.map(drop)
    }

    /// From now on every call takes this much longer.
    ///
    /// # Errors
    /// If the simulator does not answer.
    pub async fn set_delay(&self, delay: Duration) -> Result<()> {
        let path = format!("delay?ms={}", delay.as_millis());
        self.call(&path, &Value::Null).await.map(drop)
    }

    /// Changes the password.
    ///
    /// # Errors
    /// If the simulator does not answer.
    pub async fn set_password(&self, password: &str) -> Result<()> {
        self.call(&format!("password?value={password}"), &Value::Null)
            .await
            .map(drop)
    }

    /// Ends all sessions, as a vCenter does with idle ones.
    ///
    /// # Errors
    /// If the simulator does not answer.
    pub async fn expire(&self) -> Result<()> {
        self.call("expire", &Value::Null).await.map(drop)
    }

    /// Forgets calls, faults and delays.
    ///
    /// # Errors
    /// If the simulator does not answer.
    pub async fn reset(&self) -> Result<()> {
        self.call("reset", &Value::Null).await.map(drop)
    }

    /// How often each SOAP method and REST path was called since the last reset.
    ///
    /// # Errors
    /// If the simulator does not answer.
    pub async fn calls(&self) -> Result<BTreeMap<String, u64>> {
        Ok(serde_json::from_str(&self.call("calls", &Value::Null).await?)?)
    }

    /// How many sessions are open.
    ///
    /// # Errors
    /// If the simulator does not answer.
    pub async fn sessions(&self) -> Result<u64> {
        Ok(self.call("sessions", &Value::Null).await?.trim().parse()?)
    }

    async fn call(&self, path: &str, body: &Value) -> Result<String> {
        let client = reqwest::Client::builder().no_proxy().build()?;
        let url = format!("http://127.0.0.1:{}/{path}", self.control);
        let answer = client.post(url).json(body).send().await?;
        let status = answer.status();
        let text = answer.text().await?;
        ensure!(status.is_success(), "the vCenter simulator refused {path}: {text}");
        Ok(text)
    }
}

impl Drop for VCenter {
    fn drop(&mut self) {
        self.process.stop();
        // What cannot be removed is in the temporary folder.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn spawn(folder: &Path, program: &Path, port: u16, control: u16) -> Result<Guarded> {
    let address = |port: u16| format!("127.0.0.1:{port}").into();
    let file = |name: &str| folder.join(name).into_os_string();
    let args: [std::ffi::OsString; 5] = [
        address(port),
        address(control),
        file("server.crt"),
        file("server.key"),
        file("inventory.json"),
    ];
    Guarded::spawn(folder, "vcenter", program, &args)
}

/// A certificate as a vCenter has it after its installation: signed by itself.
fn certify(folder: &Path) -> Result<()> {
    let rcgen::CertifiedKey { cert, signing_key } = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])?;
    fs::write(folder.join("server.crt"), cert.pem())?;
    fs::write(folder.join("server.key"), signing_key.serialize_pem())?;
    Ok(())
}
