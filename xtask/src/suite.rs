//! Runs the test programs side by side, because most of them wait for servers most of the time; `cargo test` runs one after
//! the other. What a program prints is kept in a file, and shown when it failed.

mod output;

use anyhow::{Context, Result, bail};
use clap::Args;
use output::{Counts, Outcome};
use serde::Deserialize;
use std::{
    collections::{BTreeMap, VecDeque},
    env,
    fs::{self, File, OpenOptions},
    io::{self, BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    sync::{
        Mutex, PoisonError,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};

/// Names a file: what failed is written to its end, too, so that several runs can say it once more when all are over.
const FAILURES: &str = "OUTRIGGER_TEST_FAILURES";

/// Run the tests of the workspace, several programs at the same time.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// So many programs at the same time.
    #[arg(long, default_value_t = 1)]
    at_a_time: usize,
    /// Begin with the programs of this name, because they take longest.
    #[arg(long)]
    first: Vec<String>,
    /// Only the tests inside of the libraries, and those that --test names.
    #[arg(long)]
    lib: bool,
    /// Only the test programs of this name, and those inside of the libraries with --lib.
    #[arg(long)]
    test: Vec<String>,
    /// For the test programs themselves.
    #[arg(last = true)]
    arguments: Vec<String>,
}

impl Options {
    /// All of the workspace, because another choice of packages would choose other features, and build half of the world again.
    fn cargo(&self) -> Vec<String> {
        let mut arguments: Vec<String> = ["test", "--workspace", "--locked"].map(str::to_owned).into();
        arguments.extend(self.lib.then(|| "--lib".to_owned()));
        arguments.extend(self.test.iter().map(|name| format!("--test={name}")));
        arguments
    }

    fn chosen(&self) -> bool {
        self.lib || !self.test.is_empty()
    }
}

/// A program of tests.
struct Program {
    /// Of the package and of the target.
    name: String,
    command: Command,
    log: PathBuf,
    /// Whether what it prints is shown at once.
    shown: bool,
}

enum News {
    Began(String),
    Ended(Ended),
}

struct Ended {
    name: String,
    took: Duration,
    status: ExitStatus,
    outcome: Outcome,
    log: PathBuf,
}

pub(crate) fn run(root: &Path, options: &Options) -> Result<()> {
    let began = Instant::now();
    let programs = programs(root, options)?;
    let queue = Mutex::new(programs);
    let (tell, told) = channel();
    let failed = thread::scope(|scope| {
        for _ in 0..options.at_a_time.max(1) {
            let (queue, tell) = (&queue, tell.clone());
            scope.spawn(move || work(queue, &tell));
        }
        drop(tell);
        report(&told, began)
    })?;
    if failed.is_empty() {
        return Ok(());
    }
    if let Some(path) = env::var_os(FAILURES).map(PathBuf::from) {
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let mut file = file.with_context(|| format!("cannot open {}", path.display()))?;
        file.write_all(failed.concat().as_bytes())?;
    }
    bail!("{} of the test programs failed", failed.len())
}

fn work(queue: &Mutex<VecDeque<Program>>, tell: &Sender<Result<News>>) {
    loop {
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let Some(program) = next else { return };
        let began = tell.send(Ok(News::Began(program.name.clone())));
        if began
            .and_then(|()| tell.send(execute(program).map(News::Ended)))
            .is_err()
        {
            // Nobody listens any more.
            return;
        }
    }
}

fn execute(program: Program) -> Result<Ended> {
    let began = Instant::now();
    let Program {
        name,
        log,
        shown,
        command,
    } = program;
    let file = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
    let status = if shown {
        show(command, file)
    } else {
        keep(command, file)
    };
    let status = status.with_context(|| format!("cannot run the tests of {name}"))?;
    let text = fs::read(&log).with_context(|| format!("cannot read {}", log.display()))?;
    Ok(Ended {
        name,
        took: began.elapsed(),
        status,
        outcome: Outcome::of(&String::from_utf8_lossy(&text)),
        log,
    })
}

fn keep(mut command: Command, log: File) -> io::Result<ExitStatus> {
    command.stdout(log.try_clone()?).stderr(log).status()
}

fn show(mut command: Command, mut log: File) -> io::Result<ExitStatus> {
    let (reader, writer) = io::pipe()?;
    let mut child = command.stdout(writer.try_clone()?).stderr(writer).spawn()?;
    // It holds the other end of the pipe.
    drop(command);
    for line in BufReader::new(reader).split(b'\n') {
        let mut line = line?;
        line.push(b'\n');
        log.write_all(&line)?;
        io::stdout().write_all(&line)?;
    }
    child.wait()
}

/// Tells how it goes. Returns what there is to say of each program that failed.
fn report(told: &Receiver<Result<News>>, began: Instant) -> Result<Vec<String>> {
    let mut at = BTreeMap::new();
    let mut all = Counts::default();
    let mut failed = Vec::new();
    loop {
        match told.recv_timeout(Duration::from_mins(1)) {
            Ok(news) => match news? {
                News::Began(name) => {
                    at.insert(name, Instant::now());
                }
                News::Ended(ended) => {
                    at.remove(&ended.name);
                    all += ended.outcome.counts;
                    let verdict = if ended.status.success() { "" } else { ": FAILED" };
                    let seconds = ended.took.as_secs_f32();
                    println!("{seconds:7.1} s  {}: {}{verdict}", ended.name, ended.outcome.counts);
                    if !ended.status.success() {
                        let words = words(&ended);
                        print!("{words}");
                        failed.push(words);
                    }
                }
            },
            Err(RecvTimeoutError::Timeout) => {
                let at = at
                    .iter()
                    .map(|(name, since)| format!("{name} ({} s)", since.elapsed().as_secs()));
                println!("           still at {}", at.collect::<Vec<_>>().join(", "));
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    println!("{:7.1} s  in all: {all}", began.elapsed().as_secs_f32());
    Ok(failed)
}

fn words(ended: &Ended) -> String {
    let Ended { name, status, log, .. } = ended;
    format!(
        "{name}: {status}; all it printed is in {}\n{}",
        log.display(),
        ended.outcome.failures
    )
}

/// What `cargo` says it has built.
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
fn programs(root: &Path, options: &Options) -> Result<VecDeque<Program>> {
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
    fs::create_dir_all(&logs).with_context(|| format!("cannot make {}", logs.display()))?;
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
    let mut command = Command::new(executable);
    command
        .args(&options.arguments)
        .stdin(Stdio::null())
        .current_dir(&folder)
        .env("CARGO", env!("CARGO"))
        .env("CARGO_MANIFEST_DIR", &folder);
    // Another run of the same program may be under way, with other arguments.
    let words = [name.as_str()]
        .into_iter()
        .chain(options.arguments.iter().map(String::as_str));
    let file: String = words.collect::<Vec<_>>().join(" ");
    let log = logs.join(file.replace([' ', '/', ':'], "-")).with_extension("txt");
    let shown = options.arguments.iter().any(|argument| argument == "--nocapture");
    Some(Program {
        name,
        command,
        log,
        shown,
    })
}

/// The examples in comments.
fn documentation(root: &Path, options: &Options, logs: &Path) -> Program {
    let mut command = Command::new(env!("CARGO"));
    command
        .current_dir(root)
        .args(["test", "--workspace", "--locked", "--doc", "--quiet", "--"])
        .args(&options.arguments);
    Program {
        name: "examples in comments".to_owned(),
        command,
        log: logs.join("examples.txt"),
        shown: false,
    }
}
