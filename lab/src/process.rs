//! Processes that end with the one that started them, also when that one panics or is killed.

use anyhow::{Context, Result, bail};
use std::{
    ffi::OsStr,
    fs::{self, File},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// Kills its child when its standard input ends, which happens when the process at the other end has ended.
const GUARD: &str = r#"
pidfile=$1; shift
"$@" </dev/null &
child=$!
echo "$child" >"$pidfile.new" && mv "$pidfile.new" "$pidfile"
read -r _
kill -KILL "$child" 2>/dev/null
wait "$child" 2>/dev/null
rm -f "$pidfile"
"#;

/// A process that is stopped when this is dropped, or when our own process ends in any way.
#[derive(Debug)]
pub struct Guarded {
    guard: Child,
    pid_file: PathBuf,
    log: PathBuf,
    name: String,
}

impl Guarded {
    /// Starts a program; its output goes to `<folder>/<name>.log`.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn spawn<S: AsRef<OsStr>>(folder: &Path, name: &str, program: &Path, args: &[S]) -> Result<Self> {
        Self::spawn_with_env::<S, &str, &str>(folder, name, program, args, &[])
    }

    /// Starts a program with more environment variables.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn spawn_with_env<S: AsRef<OsStr>, K: AsRef<OsStr>, V: AsRef<OsStr>>(
        folder: &Path,
        name: &str,
        program: &Path,
        args: &[S],
        env: &[(K, V)],
    ) -> Result<Self> {
        let pid_file = folder.join(format!("{name}.pid"));
        let log = folder.join(format!("{name}.log"));
        fs::remove_file(&pid_file).ok();
        let output = File::options().create(true).append(true).open(&log)?;
        let mut command = Command::new("sh");
        command
            .args(["-c", GUARD, "guard"])
            .arg(&pid_file)
            .arg(program)
            .args(args);
        for (key, value) in env {
            command.env(key, value);
        }
        // Ctrl-C is for the owner: the guard must live to see it go.
        let guard = command
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()
            .with_context(|| format!("cannot start {name}"))?;
        let process = Self {
            guard,
            pid_file,
            log,
            name: name.to_owned(),
        };
        process.wait_for_pid()?;
        Ok(process)
    }

    fn wait_for_pid(&self) -> Result<()> {
        let start = Instant::now();
        while self.pid().is_none() {
            if start.elapsed() > Duration::from_mins(2) {
                bail!("{} did not start: see {}", self.name, self.log.display());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// The process ID, while it is guarded.
    pub fn pid(&self) -> Option<u32> {
        fs::read_to_string(&self.pid_file).ok()?.trim().parse().ok()
    }

    /// Whether the process is still there.
    pub fn is_running(&self) -> bool {
        self.pid().is_some_and(|pid| {
            let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            // The state follows the command's closing parenthesis; Z is a process that has ended.
            state.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
        })
    }

    /// Sends a signal, for example `TERM`, `STOP` or `CONT`.
    ///
    /// # Errors
    /// If the process has ended.
    pub fn signal(&self, signal: &str) -> Result<()> {
        let pid = self.pid().with_context(|| format!("{} is not running", self.name))?;
        let status = Command::new("sh")
            .args(["-c", &format!("kill -{signal} {pid}")])
            .status()?;
        if !status.success() {
            bail!("cannot send {signal} to {} ({pid})", self.name);
        }
        Ok(())
    }

    /// Where its output goes.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// The end of its output.
    pub fn log_tail(&self, lines: usize) -> String {
        let text = fs::read_to_string(&self.log).unwrap_or_default();
        let tail: Vec<_> = text.lines().rev().take(lines).collect();
        tail.into_iter().rev().collect::<Vec<_>>().join("\n")
    }

    /// Kills it and waits until it has ended.
    pub fn stop(&mut self) {
        drop(self.guard.stdin.take());
        // Nothing is left to be done about a guard that cannot be waited for.
        let _ = self.guard.wait();
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Removes the folders of processes that are gone: one that was killed could not do so itself.
pub(crate) fn sweep(parent: &Path, prefix: &str) {
    for folder in orphans(parent, prefix) {
        // Another process may be cleaning up too.
        let _ = fs::remove_dir_all(folder);
    }
}

/// The folders `<prefix>-<pid>-…` of processes that are gone.
pub(crate) fn orphans(parent: &Path, prefix: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let orphans = entries.filter(|entry| {
        let name = entry.file_name();
        let owner = name
            .to_str()
            .and_then(|name| name.strip_prefix(prefix)?.strip_prefix('-')?.split('-').next());
        owner.is_some_and(|pid| pid.parse::<u32>().is_ok() && !Path::new("/proc").join(pid).exists())
    });
    orphans.map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropping_ends_the_process() {
        let folder = std::env::temp_dir().join(crate::unique("guarded"));
        fs::create_dir_all(&folder).unwrap();
        let process = Guarded::spawn(&folder, "sleeper", Path::new("sleep"), &["1000"]).unwrap();
        let pid = process.pid().unwrap();
        assert!(process.is_running());
        drop(process);
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
        fs::remove_dir_all(folder).unwrap();
    }
}
