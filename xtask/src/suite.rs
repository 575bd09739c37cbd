//! Runs the test programs side by side, because most of them wait for servers most of the time; `cargo test` runs one after
//! the other. What a program prints is kept in a file, and shown when it failed.

mod output;
mod programs;
mod results;
mod selection;

pub(crate) use results::{Record, read};

use anyhow::{Context, Result, bail};
use clap::Args;
use output::{Counts, Outcome};
use programs::Program;
use std::{
    collections::{BTreeMap, VecDeque},
    fs::{self, File},
    io::{self, BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
    sync::{
        Mutex, PoisonError,
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};

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
    /// Of the ignored tests only those that `make test` runs; the others are left to `make test-full`.
    #[arg(long)]
    quick: bool,
    /// For the test programs themselves.
    #[arg(last = true)]
    arguments: Vec<String>,
}

impl Options {
    /// All of the workspace, because another choice of packages would choose other features, and build half of the dependencies again.
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

enum News {
    Began(String),
    Ended(Box<Ended>),
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
    let mut programs = programs::build(root, options)?;
    if options.quick {
        let left;
        (programs, left) = selection::apply(programs)?;
        println!("           left to make test-full: {} tests", left.len());
        results::write(&left)?;
    }
    let queue = Mutex::new(programs);
    let (sender, receiver) = channel();
    let failed = thread::scope(|scope| {
        for _ in 0..options.at_a_time.max(1) {
            let (queue, sender) = (&queue, sender.clone());
            scope.spawn(move || work(queue, &sender));
        }
        drop(sender);
        report(&receiver, began)
    })?;
    if failed == 0 {
        return Ok(());
    }
    bail!("{failed} of the test programs failed")
}

fn work(queue: &Mutex<VecDeque<Program>>, sender: &Sender<Result<News>>) {
    loop {
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let Some(program) = next else { return };
        let began = sender.send(Ok(News::Began(program.name.clone())));
        if began
            .and_then(|()| sender.send(execute(program).map(|ended| News::Ended(Box::new(ended)))))
            .is_err()
        {
            // The receiver has ended.
            return;
        }
    }
}

fn execute(program: Program) -> Result<Ended> {
    let began = Instant::now();
    let command = program.command();
    let Program { name, log, shown, .. } = program;
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

/// Reports how it goes, and records it. Returns how many programs failed.
fn report(receiver: &Receiver<Result<News>>, began: Instant) -> Result<usize> {
    let mut at = BTreeMap::new();
    let mut all = Counts::default();
    let mut failed = 0;
    loop {
        match receiver.recv_timeout(Duration::from_mins(1)) {
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
                    results::write(&ended.records())?;
                    if !ended.status.success() {
                        print!("{}", ended.failure());
                        failed += 1;
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

impl Ended {
    fn failure(&self) -> String {
        let Self { name, status, log, .. } = self;
        let failures = &self.outcome.failures;
        format!("{name}: {status}; all it printed is in {}\n{failures}", log.display())
    }

    fn records(&self) -> Vec<Record> {
        let Counts { passed, failed, .. } = self.outcome.counts;
        let is_failure = !self.status.success();
        // One that died has not counted what it died of.
        let failed = failed.max(usize::from(is_failure));
        let tests = self.outcome.tests.iter().map(|(name, seconds)| Record::Test {
            program: self.name.clone(),
            name: name.clone(),
            seconds: *seconds,
        });
        let failure = is_failure.then(|| Record::Failure { text: self.failure() });
        let mut records = vec![Record::Program { passed, failed }];
        records.extend(tests.chain(failure));
        records
    }
}
