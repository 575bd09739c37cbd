//! The test programs of the workspace.

use super::Options;
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::{
    collections::VecDeque,
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// A program of tests.
pub(super) struct Program {
    /// Of the package and of the target.
    pub(super) name: String,
    pub(super) log: PathBuf,
    /// Whether its output is shown at once.
    pub(super) shown: bool,
    executable: PathBuf,
    folder: PathBuf,
    arguments: Vec<String>,
    timing: Timing,
}

/// Whether a program reports how long each test took.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Timing {
    On,
    Off,
}

impl Program {
    /// Runs its tests.
    pub(super) fn command(&self) -> Command {
        let mut command = self.bare();
        if self.timing == Timing::On {
            // Not stable yet. The variable is for the test program, which is built already.
            command
                .env("RUSTC_BOOTSTRAP", "1")
                .args(["-Zunstable-options", "--report-time"]);
        }
        command
    }

    fn bare(&self) -> Command {
        let mut command = Command::new(&self.executable);
        command
            .args(&self.arguments)
            .stdin(Stdio::null())
            .current_dir(&self.folder)
            .env("CARGO", env!("CARGO"))
            .env("CARGO_MANIFEST_DIR", &self.folder);
        command
    }

    /// The names of the tests that it would run.
    pub(super) fn list(&self) -> Result<Vec<String>> {
        let output = self.bare().args(["--list", "--format=terse"]).output();
        let output = output.with_context(|| format!("cannot list the tests of {}", self.name))?;
        if !output.status.success() {
            bail!("cannot list the tests of {}: {}", self.name, output.status);
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let names = text.lines().filter_map(|line| line.strip_suffix(": test"));
        Ok(names.map(str::to_owned).collect())
    }

    /// Confines it to these tests.
    pub(super) fn confine(&mut self, tests: &[String]) {
        self.arguments.push("--exact".to_owned());
        self.arguments.extend_from_slice(tests);
    }
}

/// A message of `cargo` about an artifact.
#[derive(Deserialize)]
struct Built {
    manifest_path: Option<PathBuf>,
    target: Option<Target>,
    executable: Option<PathBuf>,
    profile: Option<Profile>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

/// Builds them, and puts them into the order in which they are run.
pub(super) fn build(root: &Path, options: &Options) -> Result<VecDeque<Program>> {
    let output = Command::new(env!("CARGO"))
        .current_dir(root)
        .args(options.cargo())
        .args(["--no-run", "--quiet", "--message-format=json-render-diagnostics"])
        .stderr(Stdio::inherit())
        .output()
        .context("cannot run cargo")?;
    if !output.status.success() {
        bail!("the tests cannot be built");
    }
    let logs = env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root.join("target"), PathBuf::from)
        .join("test-output");
    fs::create_dir_all(&logs).with_context(|| format!("cannot create {}", logs.display()))?;
    let mut programs = VecDeque::new();
    for line in output
        .stdout
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        let built: Built = serde_json::from_slice(line).context("cargo answered something else")?;
        programs.extend(program(built, options, &logs));
    }
    if !options.chosen() {
        programs.push_back(documentation(root, options, &logs));
    }
    let rank = |program: &Program| {
        let target = program.name.rsplit(' ').next();
        let place = options.first.iter().position(|name| Some(name.as_str()) == target);
        place.unwrap_or(usize::MAX)
    };
    programs.make_contiguous().sort_by_key(rank);
    Ok(programs)
}

fn program(built: Built, options: &Options, logs: &Path) -> Option<Program> {
    let (executable, target) = (built.executable?, built.target?);
    let folder = built.manifest_path?.parent()?.to_owned();
    built.profile.filter(|profile| profile.test)?;
    let package = folder.file_name()?.to_string_lossy().into_owned();
    let name = match target.kind.first()?.as_str() {
        "test" => format!("{package} {}", target.name),
        "bin" => format!("{package} (program)"),
        _ => package,
    };
    // Another run of the same program may be under way, with other arguments.
    let words = [name.as_str()]
        .into_iter()
        .chain(options.arguments.iter().map(String::as_str));
    let file: String = words.collect::<Vec<_>>().join(" ");
    Some(Program {
        name,
        log: logs.join(file.replace([' ', '/', ':'], "-")).with_extension("txt"),
        shown: options.arguments.iter().any(|argument| argument == "--nocapture"),
        executable,
        folder,
        arguments: options.arguments.clone(),
        timing: Timing::On,
    })
}

/// The examples in comments.
fn documentation(root: &Path, options: &Options, logs: &Path) -> Program {
    let cargo = ["test", "--workspace", "--locked", "--doc", "--quiet", "--"];
    let mut arguments: Vec<String> = cargo.map(str::to_owned).into();
    arguments.extend_from_slice(&options.arguments);
    Program {
        name: "examples in comments".to_owned(),
        log: logs.join("examples.txt"),
        shown: false,
        executable: env!("CARGO").into(),
        folder: root.to_owned(),
        arguments,
        timing: Timing::Off,
    }
}
