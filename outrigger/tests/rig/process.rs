//! The program under test, as a process.

use super::{
    launch::Launch,
    port::{Credentials, Port, Reply},
};
use lab::Patience;
use std::{
    fs::{self, File},
    net::SocketAddr,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};
use testkit::wait::{STALLED_AFTER, pause};

/// A running program; killed when dropped.
pub struct Manager {
    child: Mutex<Child>,
    guard: Child,
    pid: u32,
    started: Instant,
    command: String,
    stdout: PathBuf,
    stderr: PathBuf,
    address: Option<SocketAddr>,
}

/// How a program ended.
#[derive(Debug)]
pub struct Exit {
    /// The exit code, or 128 and the signal's number as a shell has it.
    pub code: i32,
    /// From its start to its end.
    pub took: Duration,
    /// What it printed.
    pub stdout: String,
    /// What it printed there, its log.
    pub stderr: String,
}

impl Exit {
    /// The one error that the command line is refused with, or that the log ends with, without the line's header. Nothing may
    /// have panicked.
    pub fn sentence(&self) -> String {
        let log = &self.stderr;
        assert!(!log.contains("panicked") && !log.contains("stack backtrace"), "{log}");
        let errors: Vec<_> = log.lines().filter(|line| line.starts_with('E')).collect();
        let [error] = errors[..] else {
            panic!("{} errors were logged instead of one:\n{log}", errors.len())
        };
        if let Some(refused) = error.strip_prefix("Error: ") {
            return refused.to_owned();
        }
        let (_, quoted) = error.split_once("] ").unwrap_or_else(|| panic!("no header: {error}"));
        serde_json::from_str(quoted).unwrap_or_else(|_| panic!("not a quoted sentence: {error}"))
    }
}

impl Manager {
    /// Starts a command line.
    pub(super) fn spawn(launch: &Launch) -> Self {
        let name = lab::unique("process");
        let (stdout, stderr) = (
            launch.folder.join(format!("{name}.out")),
            launch.folder.join(format!("{name}.err")),
        );
        let mut command = Command::new(&launch.program);
        for variable in ["KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"] {
            command.env_remove(variable);
        }
        let started = Instant::now();
        let child = command
            .args(&launch.args)
            .envs(launch.env.iter().map(|(key, value)| (key, value)))
            .stdin(Stdio::null())
            .stdout(File::create(&stdout).unwrap())
            .stderr(File::create(&stderr).unwrap())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {}: {error}", launch.program.display()));
        let pid = child.id();
        Self {
            guard: guard(pid),
            child: Mutex::new(child),
            pid,
            started,
            command: format!("{} {}", launch.program.display(), launch.args.join(" ")),
            stdout,
            stderr,
            address: launch.address,
        }
    }

    /// Its process ID.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// What it logged so far.
    pub fn log(&self) -> String {
        read(&self.stderr)
    }

    /// The lines of its log with this text.
    pub fn lines_with(&self, text: &str) -> Vec<String> {
        self.log()
            .lines()
            .filter(|line| line.contains(text))
            .map(str::to_owned)
            .collect()
    }

    /// How it ended, if it has.
    pub fn ended(&self) -> Option<Exit> {
        let status = self.child.lock().unwrap_or_else(PoisonError::into_inner).try_wait();
        status.unwrap().map(|status| self.exit(status))
    }

    fn exit(&self, status: ExitStatus) -> Exit {
        let by_signal = || 128 + status.signal().unwrap_or_default();
        Exit {
            code: status.code().unwrap_or_else(by_signal),
            took: self.started.elapsed(),
            stdout: read(&self.stdout),
            stderr: read(&self.stderr),
        }
    }

    /// Waits until it ends, without a runtime.
    pub fn wait(&self) -> Exit {
        let mut patience = Patience::new(STALLED_AFTER);
        loop {
            if let Some(exit) = self.ended() {
                return exit;
            }
            assert!(
                !patience.is_over("it is still running"),
                "it does not end{}",
                self.told()
            );
            std::thread::sleep(pause(patience.waited()));
        }
    }

    /// Waits until it ends.
    pub async fn exited(&self) -> Exit {
        let look = || self.ended().ok_or_else(|| "it is still running".to_owned());
        self.poll("the end of the process", look).await
    }

    /// Waits for a line with this text in the log, and returns the first one.
    pub async fn logged(&self, text: &str) -> String {
        let look = || {
            let found = self.log().lines().find(|line| line.contains(text)).map(str::to_owned);
            self.assert_alive();
            found.ok_or_else(|| "it was not logged".to_owned())
        };
        self.poll(&format!("{text:?} in the log"), look).await
    }

    /// Waits until it leads; its controllers start then.
    pub async fn leading(&self) {
        self.logged("acquired lease").await;
    }

    /// Waits until a path of the secure port answers with this status, and returns that answer.
    pub async fn answers(&self, path: &str, status: u16) -> Reply {
        let port = self.port();
        let what = format!("{status} at {path}");
        self.poll_async(&what, async || match port.try_get(path).await {
            Ok(reply) if reply.status == status => Ok(reply),
            Ok(reply) => Err(format!("it answers {}: {}", reply.status, reply.body)),
            Err(error) => Err(error),
        })
        .await
    }

    /// Waits until it is ready.
    pub async fn ready(&self) {
        self.answers("/readyz", 200).await;
    }

    /// Waits until it leads, its controllers work and it is ready. (A standby is ready, too.)
    pub async fn working(&self) {
        self.logged("started service controller").await;
        self.ready().await;
    }

    /// The secure port, for somebody anonymous.
    pub fn port(&self) -> Port {
        self.port_as(&Credentials::None)
    }

    /// The secure port, for whoever has these credentials.
    pub fn port_as(&self, credentials: &Credentials) -> Port {
        Port::new(self.address.expect("a manager with a secure port"), credentials)
    }

    /// Where the secure port is.
    pub fn address(&self) -> SocketAddr {
        self.address.expect("a manager with a secure port")
    }

    /// Sends a signal, for example `TERM`, `KILL`, `STOP` or `CONT`.
    pub fn signal(&self, signal: &str) {
        let status = Command::new("sh")
            .args(["-c", &format!("kill -{signal} {}", self.pid)])
            .status();
        assert!(status.unwrap().success(), "cannot send {signal}{}", self.told());
    }

    /// Waits until `look` says `Ok`; fails with its last `Err`, or if the process ends before.
    pub async fn until<T>(&self, what: &str, mut look: impl AsyncFnMut() -> Result<T, String>) -> T {
        self.poll_async(what, async || {
            let found = look().await;
            if found.is_err() {
                self.assert_alive();
            }
            found
        })
        .await
    }

    fn assert_alive(&self) {
        if let Some(Exit { code, .. }) = self.ended() {
            panic!("it ended with {code}{}", self.told());
        }
    }

    async fn poll<T>(&self, what: &str, mut look: impl FnMut() -> Result<T, String>) -> T {
        self.poll_async(what, async || look()).await
    }

    async fn poll_async<T>(&self, what: &str, mut look: impl AsyncFnMut() -> Result<T, String>) -> T {
        let mut patience = Patience::new(STALLED_AFTER);
        loop {
            let state = match look().await {
                Ok(found) => return found,
                Err(state) => state,
            };
            assert!(
                !patience.is_over(&state),
                "waited in vain for {what}: {state}{}",
                self.told()
            );
            tokio::time::sleep(pause(patience.waited())).await;
        }
    }

    /// The end of the log, for a message.
    pub fn told(&self) -> String {
        let log = self.log();
        let lines: Vec<_> = log.lines().collect();
        let tail = lines[lines.len().saturating_sub(30)..].join("\n");
        format!("\n$ {}\n{tail}", self.command)
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        // The guard first: it must not kill whoever gets the number of a process that is gone.
        let _ = self.guard.kill();
        let _ = self.guard.wait();
        let child = self.child.get_mut().unwrap_or_else(PoisonError::into_inner);
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// Kills the process when our own ends without having dropped it.
fn guard(pid: u32) -> Child {
    Command::new("sh")
        .args(["-c", &format!("read -r _; kill -KILL {pid} 2>/dev/null")])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap()
}

fn read(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}
