//! The demo runs all its steps, and fails if one of them has another result.

#![expect(clippy::unwrap_used, reason = "what must not be missing in a test ends it")]

use rstest::rstest;
use std::{
    fs,
    io::{BufRead, BufReader},
    net::TcpStream,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

const DEMO: &str = env!("CARGO_BIN_EXE_outrigger-demo");

/// A demo measures how fast a standby becomes the leader: two at a time would disturb each other.
static TURN: Mutex<()> = Mutex::new(());

/// The steps, on every cloud.
const STEPS: [&str; 11] = [
    "leads, two stand by",
    "three machines joined",
    "initialised: taint removed",
    "Service web has the address",
    "a fourth machine joined, was initialised and is a backend",
    "the cloud a route to it",
    "has the shutdown taint",
    "the node, its backend and its route are deleted, too",
    "it released the lease",
    "the lease expired",
    "nothing is left of it in the cloud",
];

/// The width of a terminal.
const WIDTH: usize = 132;

/// The output of a demo with these arguments, which must succeed.
fn output(args: &[&str]) -> String {
    let output = Command::new(DEMO).args(["--pause", "0"]).args(args).output().unwrap();
    let (printed, errors) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{printed}\n{errors}");
    printed.into_owned()
}

#[rstest]
#[case::on_the_memory_cloud("memory", None)]
#[case::on_aws("aws", Some("EC2 and Elastic Load Balancing, simulated, are up"))]
#[case::on_openstack("openstack", Some("Keystone, Nova, Neutron and Octavia, simulated, are up"))]
fn prints_one_plain_line_a_step(#[case] cloud: &str, #[case] before: Option<&str>) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let printed = output(&["--cloud", cloud]);
    assert!(!printed.contains('\u{1b}'), "colours without a terminal: {printed:?}");
    let parts: Vec<_> = ["etcd and kube-apiserver are up"]
        .into_iter()
        .chain(before)
        .chain(STEPS)
        .collect();
    let steps: Vec<_> = printed.lines().collect();
    assert_eq!(steps.len(), parts.len(), "a step is not one line: {printed}");
    for (step, part) in steps.iter().zip(parts) {
        assert!(
            step.starts_with('✓') && step.contains(part),
            "{step:?} does not contain {part:?}"
        );
        // The name of a leader contains the host name, which may be long.
        let fits = step.contains("leads") || step.chars().count() <= WIDTH;
        assert!(fits, "{step:?} is too long for a line");
    }
}

#[test]
#[ignore = "needs the real OpenStack services: make test-openstack runs it"]
fn runs_on_the_real_services() {
    let printed = output(&["--cloud", "openstack", "--real"]);
    let parts = [
        "Keystone, Nova, Neutron and Octavia are up",
        "has a network and a router",
        "a fourth machine joined, was initialised and is a backend",
        "nothing is left of it in the cloud",
    ];
    for part in parts {
        assert!(printed.contains(part), "{part:?} is missing in {printed}");
    }
}

#[test]
fn the_default_is_the_memory_cloud() {
    let output = Command::new(DEMO).arg("--help").output().unwrap();
    let help = String::from_utf8_lossy(&output.stdout);
    assert!(help.contains("[default: memory]"), "{help}");
}

#[rstest]
#[case::real_memory(&["--real"], 1, "--real is for --cloud openstack")]
#[case::unknown_cloud(&["--cloud", "azure"], 2, "possible values: memory, openstack")]
#[case::no_program(&["--outrigger", "/no/such/program"], 1, "/no/such/program does not exist: build it with cargo build -p outrigger")]
fn rejects(#[case] args: &[&str], #[case] code: i32, #[case] why: &str) {
    let output = Command::new(DEMO).args(args).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{errors}");
    assert!(errors.contains(why), "{errors}");
}

#[test]
fn a_wrong_outcome_is_an_error() {
    let nothing = std::env::temp_dir().join(lab::unique("no-assets"));
    std::fs::create_dir_all(&nothing).unwrap();
    let output = Command::new(DEMO)
        .args(["--pause", "0"])
        .env("KUBEBUILDER_ASSETS", &nothing)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(errors.contains("KUBEBUILDER_ASSETS has no etcd"), "{errors}");
    assert!(!errors.contains("backtrace"), "{errors}");
    std::fs::remove_dir_all(nothing).unwrap();
}

/// A demo that runs, with its files in a folder of its own.
struct Running {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
    folder: PathBuf,
}

impl Running {
    fn start(args: &[&str]) -> Self {
        let folder = std::env::temp_dir().join(lab::unique("demo"));
        fs::create_dir_all(&folder).unwrap();
        Self::start_in(folder, args, &[])
    }

    fn start_in(folder: PathBuf, args: &[&str], variables: &[(&str, String)]) -> Self {
        let mut child = Command::new(DEMO)
            .args(["--pause", "0"])
            .args(args)
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .env("TMPDIR", &folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines, folder }
    }

    /// Its output up to this text.
    fn until(&mut self, text: &str) -> String {
        let mut printed = String::new();
        while !printed.contains(text) {
            let read = self.lines.read_line(&mut printed).unwrap();
            assert!(read > 0, "{text:?} is missing in {printed}");
        }
        printed
    }

    /// Sends a signal to one of its programs, by the name of its file of a process ID; `None` for the demo itself.
    fn signal(&self, name: Option<&str>, signal: &str) {
        let pid = match name {
            Some(name) => {
                let file = find(&self.folder, &format!("{name}.pid")).unwrap();
                fs::read_to_string(file).unwrap().trim().to_owned()
            }
            None => self.child.id().to_string(),
        };
        let status = Command::new("kill").args([&format!("-{signal}"), &pid]).status();
        assert!(status.unwrap().success(), "cannot send {signal} to {pid}");
    }

    /// Waits for its end. None of its processes may run then.
    fn end(mut self) -> Output {
        let mut rest = String::new();
        while self.lines.read_line(&mut rest).unwrap() > 0 {}
        let mut output = self.child.wait_with_output().unwrap();
        output.stdout = rest.into_bytes();
        let started = Instant::now();
        while let Some(left) = running_in(&self.folder) {
            assert!(started.elapsed() < Duration::from_mins(1), "it left {left} running");
            std::thread::sleep(Duration::from_millis(50));
        }
        // The demo may have deleted it.
        let _ = fs::remove_dir_all(&self.folder);
        output
    }
}

/// The first file of this name in a folder.
fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    let mut entries = fs::read_dir(folder).ok()?.filter_map(Result::ok);
    entries.find_map(|entry| {
        let path = entry.path();
        if path.is_dir() {
            find(&path, name)
        } else {
            path.ends_with(name).then_some(path)
        }
    })
}

/// The command line of a process that mentions this folder.
fn running_in(folder: &Path) -> Option<String> {
    let folder = folder.to_str().unwrap();
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let mut commands = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    commands.find_map(|command| {
        let command = String::from_utf8_lossy(&command).replace('\0', " ");
        command.contains(folder).then_some(command)
    })
}

/// A program of this name that is this script.
fn script(folder: &Path, name: &str, text: &str) {
    fs::create_dir_all(folder).unwrap();
    let file = folder.join(name);
    fs::write(&file, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
}

/// With this folder before the others.
fn path(folder: &Path) -> String {
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap())
}

/// On a new machine the programs are built first, which takes minutes.
#[test]
fn the_time_of_a_step_does_not_include_building() {
    const BUILD: Duration = Duration::from_secs(3);
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = std::env::temp_dir().join(lab::unique("demo"));
    let built = ["etcd", "kube-apiserver"].map(|name| lab::assets::program(name).unwrap());
    let [etcd, apiserver] = built.each_ref().map(|path| path.display());
    let go = format!(
        "sleep {}\nfor last; do :; done\n\
         while [ \"$1\" != -o ]; do shift; done\n\
         case $last in */kube-apiserver) exec cp {apiserver} \"$2\";; *) exec cp {etcd} \"$2\";; esac",
        BUILD.as_secs()
    );
    script(&folder.join("bin"), "go", &go);
    let variables = [
        ("PATH", path(&folder.join("bin"))),
        ("OUTRIGGER_CACHE", folder.join("cache").display().to_string()),
        ("KUBEBUILDER_ASSETS", String::new()),
    ];
    let started = Instant::now();
    let mut demo = Running::start_in(folder, &[], &variables);
    let printed = demo.until("etcd and kube-apiserver are up");
    let all = started.elapsed();
    let (_, took) = printed.trim().trim_end_matches(" s)").rsplit_once('(').unwrap();
    let step = Duration::from_secs_f64(took.parse().unwrap());
    assert!(all >= step + 2 * BUILD, "the step says {step:?}, all took {all:?}");
    demo.signal(None, "KILL");
    let output = demo.end();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("lab: building kube-apiserver: done"), "{errors}");
}

/// In colour on a terminal, plain in a file; the environment can override both.
#[rstest]
#[case::on_a_terminal(&["script", "-qec"], None, "\u{1b}[1m\u{1b}[31m✗")]
#[case::in_a_file(&["sh", "-c"], None, "✗ a control plane (")]
#[case::in_a_file_by_force(&["sh", "-c"], Some("CLICOLOR_FORCE"), "\u{1b}[1m\u{1b}[31m✗")]
#[case::on_a_terminal_without(&["script", "-qec"], Some("NO_COLOR"), "✗ a control plane (")]
fn colours(#[case] shell: &[&str], #[case] variable: Option<&str>, #[case] expected: &str) {
    let folder = std::env::temp_dir().join(lab::unique("colours"));
    for name in ["etcd", "kube-apiserver"] {
        script(&folder, name, "exit 1");
    }
    let mut command = Command::new(shell[0]);
    for other in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "CI"] {
        command.env_remove(other);
    }
    let output = command
        .args(&shell[1..])
        .arg(format!("{DEMO} --pause 0"))
        .args((shell[0] == "script").then_some("/dev/null"))
        .envs(variable.map(|name| (name, "1")))
        .env("TERM", "xterm")
        .env("TMPDIR", &folder)
        .env("KUBEBUILDER_ASSETS", &folder)
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains(expected), "{printed:?}");
    assert_eq!(output.status.code(), Some(1), "{printed:?}");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_step_that_fails_ends_it_with_a_sentence() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut demo = Running::start(&[]);
    demo.until("three machines joined");
    demo.signal(Some("kube-apiserver"), "KILL");
    let output = demo.end();
    let (printed, errors) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert_eq!(output.status.code(), Some(1), "{printed}\n{errors}");
    let failed: Vec<_> = printed.lines().filter(|line| line.starts_with('✗')).collect();
    let [step] = failed[..] else { panic!("{printed}") };
    let (step, _) = step.trim_start_matches("✗ ").rsplit_once(" (").unwrap();
    let sentence = errors.lines().last().unwrap_or_default();
    assert!(sentence.starts_with(&format!("outrigger-demo: {step}: ")), "{errors}");
    assert!(
        !errors.contains("panicked") && !errors.contains("backtrace"),
        "{errors}"
    );
}

#[test]
fn runs_until_ctrl_c_and_prints_commands_that_work() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let mut demo = Running::start(&["--keep"]);
    let printed = demo.until("Ctrl-C stops everything.");
    let commands: Vec<_> = printed.lines().filter_map(|line| line.strip_prefix("  ")).collect();
    let commands: Vec<_> = commands.into_iter().filter(|line| !line.starts_with(' ')).collect();
    let looked = Command::new("sh").args(["-ec", &commands.join("\n")]).output().unwrap();
    let shown = String::from_utf8_lossy(&looked.stdout);
    assert!(
        looked.status.success(),
        "{commands:?}: {}",
        String::from_utf8_lossy(&looked.stderr)
    );
    for part in [
        "node/node-1",
        "service/kubernetes",
        "cloud-controller-manager",
        "manager-1.log",
    ] {
        assert!(shown.contains(part), "{part} is missing in {shown}");
    }

    demo.signal(None, "INT");
    let output = demo.end();
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let server = printed
        .split_once("are up at https://")
        .and_then(|(_, rest)| rest.split_once(' '));
    assert!(
        TcpStream::connect(server.unwrap().0).is_err(),
        "the API server still runs"
    );
}

/// The programs of a machine, and the ID of the user.
#[rstest]
#[case::no_go("cargo python3", "0", "setup: go not found: install go and run make again\n")]
#[case::neither("cargo", "0", "setup: go python3 not found: install go python3 and run make again\n")]
#[case::no_compiler_and_not_root(
    "cargo go python3 apt-get",
    "1000",
    "setup: install the Debian packages gcc libc6-dev (apt-get install gcc libc6-dev) and run make again\n"
)]
#[case::no_compiler_and_no_debian(
    "cargo go python3",
    "0",
    "setup: install the Debian packages gcc libc6-dev (apt-get install gcc libc6-dev) and run make again\n"
)]
fn missing_programs_are_named(#[case] programs: &str, #[case] user: &str, #[case] sentence: &str) {
    let folder = std::env::temp_dir().join(lab::unique("bare"));
    for name in programs.split(' ') {
        script(
            &folder,
            name,
            &format!("echo 'cargo {}'", env!("CARGO_PKG_RUST_VERSION")),
        );
    }
    script(&folder, "id", &format!("echo {user}"));
    // The programs that the script runs.
    for name in ["bash", "sed", "cut", "sort", "head"] {
        let found = Command::new("sh")
            .args(["-c", &format!("command -v {name}")])
            .output()
            .unwrap();
        let found = String::from_utf8(found.stdout).unwrap();
        std::os::unix::fs::symlink(found.trim(), folder.join(name)).unwrap();
    }
    let output = Command::new("./scripts/setup")
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .env("PATH", &folder)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), sentence);
    assert_eq!(output.status.code(), Some(1));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn an_old_toolchain_is_rejected() {
    let folder = std::env::temp_dir().join(lab::unique("old-cargo"));
    script(&folder, "cargo", "echo 'cargo 1.80.1 (376290515 2024-07-16)'");
    let output = Command::new("./scripts/setup")
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
        .env("PATH", path(&folder))
        .output()
        .unwrap();
    let sentence = format!(
        "setup: cargo is 1.80.1 but {} or newer is needed: update Rust (rustup update) and run make again\n",
        env!("CARGO_PKG_RUST_VERSION")
    );
    assert_eq!(String::from_utf8_lossy(&output.stderr), sentence);
    assert_eq!(output.status.code(), Some(1));
    fs::remove_dir_all(folder).unwrap();
}
