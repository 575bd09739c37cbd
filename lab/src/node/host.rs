//! What a node changes on the machine, and how that is undone.

use anyhow::{Context, Result, bail};
use std::{
    fs,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

const UNDO: &str = include_str!("../../node/undo.sh");

/// The kubelet sets these for the whole machine when it starts; a panic on an oops is one of them.
const SYSCTLS: &[&str] = &[
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
];

/// Waits beside us, and removes the node on request or when this process has ended.
#[derive(Debug)]
pub(super) struct Undo(Child);

impl Undo {
    /// Makes the cgroup of a node, notes what to put back, and lets the undoing wait.
    pub(super) fn prepare(folder: &Path) -> Result<Self> {
        let undo = Self(spawn(folder, Stdio::piped())?);
        save_sysctls(folder)?;
        make_cgroup(folder)?;
        Ok(undo)
    }

    /// Undoes it, and waits until that is done.
    pub(super) fn now(&mut self) {
        drop(self.0.stdin.take());
        // Nothing is left to be done about one that cannot be waited for.
        let _ = self.0.wait();
    }
}

impl Drop for Undo {
    fn drop(&mut self) {
        self.now();
    }
}

/// Undoes the nodes of processes that are gone together with their guards.
pub(super) fn sweep(parent: &Path, prefix: &str) {
    for folder in crate::process::orphans(parent, prefix) {
        // Another process may be cleaning up too.
        let _ = spawn(&folder, Stdio::null()).and_then(|mut undo| Ok(undo.wait()?));
    }
}

fn spawn(folder: &Path, input: Stdio) -> Result<Child> {
    // Ctrl-C is for the owner: this must live to see it go. Its working folder is not the caller's, which may be removed.
    Command::new("sh")
        .args(["-c", UNDO, "undo"])
        .arg(folder)
        .arg(cgroup(folder))
        .current_dir("/")
        .process_group(0)
        .stdin(input)
        .stdout(Stdio::null())
        .spawn()
        .context("cannot start sh")
}

/// A node has a cgroup of its own, because a kubelet removes cgroups of pods that it does not know.
pub(super) fn cgroup(folder: &Path) -> String {
    format!("lab{}", folder.display().to_string().replace('/', "-"))
}

/// It must exist in every hierarchy (version 1), with every controller passed down to it (version 2).
fn make_cgroup(folder: &Path) -> Result<()> {
    let mounts = fs::read_to_string("/proc/mounts").context("cannot read /proc/mounts")?;
    for tree in cgroup_trees(&mounts) {
        let path = tree.join(cgroup(folder));
        fs::create_dir_all(&path).with_context(|| format!("cannot create the cgroup {}", path.display()))?;
        let controllers = fs::read_to_string(tree.join("cgroup.controllers")).unwrap_or_default();
        for controller in controllers.split_whitespace() {
            // Not every machine allows all of them; the kubelet reports those that it needs.
            let _ = fs::write(tree.join("cgroup.subtree_control"), format!("+{controller}"));
        }
    }
    Ok(())
}

fn cgroup_trees(mounts: &str) -> Vec<PathBuf> {
    let fields = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    fields
        .filter(|fields| matches!(fields.get(2), Some(&("cgroup" | "cgroup2"))))
        .filter_map(|fields| fields.get(1).map(PathBuf::from))
        .collect()
}

fn save_sysctls(folder: &Path) -> Result<()> {
    let lines = SYSCTLS.iter().filter_map(|name| {
        let file = Path::new("/proc/sys").join(name);
        let value = fs::read_to_string(&file).ok()?;
        Some(format!("{} {}\n", file.display(), value.trim()))
    });
    fs::write(folder.join("sysctls"), lines.collect::<String>())?;
    Ok(())
}

/// Puts back what the kubelet changed when it started: it does not look again.
pub(super) fn restore_sysctls(folder: &Path) {
    let saved = fs::read_to_string(folder.join("sysctls")).unwrap_or_default();
    for (file, value) in saved.lines().filter_map(|line| line.split_once(' ')) {
        // One that cannot be written was not changed either.
        let _ = fs::write(file, value);
    }
}

/// A kubelet cannot do without.
pub(super) fn require_root() -> Result<()> {
    let output = Command::new("id").arg("-u").output().context("cannot run id")?;
    if String::from_utf8_lossy(&output.stdout).trim() != "0" {
        bail!("a kubelet needs root: run this as root");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hierarchies_of_both_versions() {
        let first = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n\
                     cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\n";
        assert_eq!(
            cgroup_trees(first),
            ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/memory"].map(PathBuf::from)
        );
        assert_eq!(
            cgroup_trees("cgroup2 /sys/fs/cgroup cgroup2 rw,nsdelegate 0 0\n"),
            ["/sys/fs/cgroup"].map(PathBuf::from)
        );
    }
}
