//! The programs of the lab: found in `KUBEBUILDER_ASSETS`, or built once from the Go module registry into a cache.

#![expect(clippy::print_stderr, reason = "progress is for the person who waits")]

use anyhow::{Context, Result, bail};
use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// The version of Kubernetes that is built.
pub const KUBE_VERSION: &str = "1.35.4";
/// The version of etcd that is built.
pub const ETCD_VERSION: &str = "3.6.5";

const KUBE_MODULE: Module = Module {
    name: "kube",
    files: &[
        ("go.mod", include_str!("../assets/kube/go.mod")),
        ("go.sum", include_str!("../assets/kube/go.sum")),
        ("tools.go", include_str!("../assets/kube/tools.go")),
    ],
};
const ETCD_MODULE: Module = Module {
    name: "etcd",
    files: &[
        ("go.mod", include_str!("../assets/etcd/go.mod")),
        ("go.sum", include_str!("../assets/etcd/go.sum")),
        ("main.go", include_str!("../assets/etcd/main.go")),
    ],
};

/// A small Go module whose `go.mod` pins what is built; its files are part of this program.
struct Module {
    name: &'static str,
    files: &'static [(&'static str, &'static str)],
}

/// Where everything is cached: `OUTRIGGER_CACHE`, else `outrigger` in the user's cache folder.
pub fn cache() -> PathBuf {
    let set = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    set("OUTRIGGER_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|cache| cache.join("outrigger")))
        .or_else(|| set("HOME").map(|home| home.join(".cache/outrigger")))
        .unwrap_or_else(|| std::env::temp_dir().join("outrigger-cache"))
}

/// The path of a program, built first if need be.
///
/// # Errors
/// If it cannot be built; the message ends with the output of the compiler.
pub fn program(name: &str) -> Result<PathBuf> {
    if let Some(given) = std::env::var_os("KUBEBUILDER_ASSETS").filter(|given| !given.is_empty()) {
        let path = Path::new(&given).join(name);
        if path.exists() {
            return Ok(path);
        }
        bail!(
            "KUBEBUILDER_ASSETS has no {name}: put it into {} or unset the variable",
            Path::new(&given).display()
        );
    }
    let folder = cache().join(format!("assets/kube-{KUBE_VERSION}_etcd-{ETCD_VERSION}"));
    let path = folder.join(name);
    if !path.exists() {
        fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        let lock = File::create(folder.join(".lock"))?;
        lock.lock().context("cannot lock the cache")?;
        if !path.exists() {
            build(name, &path)?;
        }
    }
    Ok(path)
}

/// Builds what a control plane needs, with progress.
///
/// # Errors
/// If one of them cannot be built.
pub fn prepare(names: &[&str]) -> Result<()> {
    names.iter().try_for_each(|name| program(name).map(drop))
}

fn build(name: &str, target: &Path) -> Result<()> {
    let (module, package, flags) = match name {
        "etcd" => (ETCD_MODULE, ".".to_owned(), "-s -w".to_owned()),
        _ => (KUBE_MODULE, format!("k8s.io/kubernetes/cmd/{name}"), kube_stamp()),
    };
    let source = cache()
        .join("source")
        .join(format!("{}-{KUBE_VERSION}-{ETCD_VERSION}", module.name));
    fs::create_dir_all(&source)?;
    for (file, text) in module.files {
        fs::write(source.join(file), text)?;
    }
    let unfinished = target.with_extension("unfinished");
    let mut go = Command::new("go");
    go.current_dir(&source)
        .env("CGO_ENABLED", "0")
        .env("GOFLAGS", "-mod=mod -buildvcs=false");
    go.args(["build", "-trimpath", "-ldflags", &flags, "-o"])
        .arg(&unfinished)
        .arg(package);
    with_progress(&format!("building {name}"), go)?;
    fs::rename(&unfinished, target)?;
    Ok(())
}

fn kube_stamp() -> String {
    let minor = KUBE_VERSION.split('.').nth(1).unwrap_or_default();
    let base = "k8s.io/component-base/version";
    format!(
        "-s -w -X {base}.gitVersion=v{KUBE_VERSION} -X {base}.gitMajor=1 -X {base}.gitMinor={minor} \
         -X k8s.io/client-go/pkg/version.gitVersion=v{KUBE_VERSION}"
    )
}

/// Runs a long command, and reports every ten seconds how long it has run and how long it took last time.
///
/// # Errors
/// If the command cannot be started or fails; the message ends with its output.
pub fn with_progress(what: &str, mut command: Command) -> Result<()> {
    let last = last_time(what);
    let hint = last.map_or(String::new(), |last| format!(", took {} s last time", last.as_secs()));
    eprintln!("lab: {what}{hint}");
    let log = std::env::temp_dir().join(format!(
        "outrigger-{}-{}.log",
        what.replace(' ', "-"),
        std::process::id()
    ));
    let output = File::create(&log)?;
    command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
    let start = Instant::now();
    let program = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .spawn()
        .with_context(|| format!("cannot run {program}: install it and try again"))?;
    let mut reported = 0;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        std::thread::sleep(Duration::from_millis(200));
        let seconds = start.elapsed().as_secs();
        if seconds >= reported + 10 {
            reported = seconds;
            eprintln!("lab: {what}: {seconds} s{hint}");
        }
    };
    let output = fs::read_to_string(&log).unwrap_or_default();
    fs::remove_file(&log).ok();
    if !status.success() {
        let tail: Vec<_> = output.lines().rev().take(20).collect();
        bail!(
            "{what} failed:\n{}",
            tail.into_iter().rev().collect::<Vec<_>>().join("\n")
        );
    }
    eprintln!("lab: {what}: done in {} s", start.elapsed().as_secs());
    remember(what, start.elapsed());
    Ok(())
}

fn duration_file(what: &str) -> PathBuf {
    cache().join("durations").join(what.replace([' ', '/'], "-"))
}

fn last_time(what: &str) -> Option<Duration> {
    fs::read_to_string(duration_file(what))
        .ok()?
        .trim()
        .parse()
        .ok()
        .map(Duration::from_secs)
}

fn remember(what: &str, took: Duration) {
    let file = duration_file(what);
    // Only a hint for the next time: not worth failing for.
    let _ = file.parent().map(fs::create_dir_all);
    let _ = fs::write(file, took.as_secs().to_string());
}
