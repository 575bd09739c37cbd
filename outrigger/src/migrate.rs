//! `outrigger migrate`: checks whether a cluster can move to a cloud controller manager, plans the steps, and reports the progress.

#![expect(clippy::print_stderr, reason = "it is a command")]

use crate::providers;
use ::cloud::ClusterMark;
use ::diagnose::{
    cloud_access::{self, Flags, Writes},
    cluster::Cluster as Connection,
};
use ::migrate::{
    Cluster, Depth, Snapshot, check, cloud_view,
    plan::{self, To},
    snapshot::{CloudView, Given, Unread},
    watch::{Progress, View, Watcher},
};
use clap::{Arg, ArgAction, ArgMatches, Command, builder::PossibleValuesParser};
use kube::Client;
use manager::program::Task;
use runtime::program;
use serde::Serialize;
use std::{
    fmt::Display,
    fs,
    path::PathBuf,
    process::ExitCode,
    time::{Duration, Instant},
};

/// The exit codes of `check`; 1 is that of a command that failed.
const WARNINGS: u8 = 2;
const BLOCKERS: u8 = 3;

/// Between two reads of `watch`.
const BETWEEN_READS: Duration = Duration::from_secs(2);

/// The programs whose flags can be given.
const PROGRAMS: [&str; 3] = ["kubelet", "kube-apiserver", "kube-controller-manager"];

/// The subcommand.
pub fn command() -> Command {
    Command::new("migrate")
        .about("Move a cluster from an in-tree cloud provider to a cloud controller manager, and back")
        .long_about(
            "Move a cluster from an in-tree cloud provider to a cloud controller manager, and back. Nothing is changed, neither in the cluster nor in \
             the cloud: `check` reports what would be in the way, `plan` prints the steps, and `watch` reports the progress.",
        )
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            with_sources(Command::new("check"))
                .about("Report everything that a migration depends on")
                .long_about(
                    "Report everything that a migration depends on, as ok, warning or blocker. The exit code is 0 if everything is ok, 2 if there are \
                     warnings, 3 if there are blockers, and 1 if the command failed.",
                )
                .arg(value("cloud-provider", "NAME", "The cloud; by default the one of the cluster"))
                .arg(value("cloud-config", "FILE", "The configuration of the cloud, to compare the cluster with it"))
                .arg(value("cluster-name", "NAME", "The name of the cluster in its cloud; by default the one that it has"))
                .arg(
                    Arg::new("manager-flags")
                        .value_name("FLAG")
                        .num_args(0..)
                        .last(true)
                        .help("Further flags of `outrigger ccm`, for example those of the cloud"),
                ),
        )
        .subcommand(
            with_sources(Command::new("plan"))
                .about("Print the steps of a migration, and the way back from each")
                .arg(place()),
        )
        .subcommand(
            with_sources(Command::new("watch"))
                .about("Report the progress of a migration until it is complete")
                .long_about(
                    "Report the progress of a migration until it is complete: the step of the plan, the holders of the leases, Nodes that are not \
                     initialized, the addresses of Services, and what is stuck. One line for each change, or, with --output=json, one object. \
                     Ending it has no effect on the migration.",
                )
                .arg(place())
                .arg(
                    Arg::new("once")
                        .long("once")
                        .action(ArgAction::SetTrue)
                        .help("Report the state once, and exit with 0 if the migration is complete, else with 2"),
                ),
        )
}

fn place() -> Arg {
    value("to", "PLACE", "Where the cloud code shall run")
        .value_parser(PossibleValuesParser::new(["external", "in-tree"]))
        .default_value("external")
}

fn with_sources(command: Command) -> Command {
    command
        .arg(value(
            "kubeconfig",
            "FILE",
            "How to reach the cluster; by default $KUBECONFIG, the in-cluster configuration, ~/.kube/config",
        ))
        .arg(
            value("flags", "PROGRAM[@NODE]=FILE", "The command line or manifest of a program, where the API does not have it")
                .long_help(
                    "The command line or manifest of a program, where the API does not have it: of kubelet, kube-apiserver or kube-controller-manager, \
                     on one node or on all. The file is a manifest of a Pod, a unit or environment file of systemd, or a copy of /proc/PID/cmdline.",
                )
                .action(ArgAction::Append),
        )
        .arg(value("objects", "FILE", "Read the objects from this file, as kubectl get -o yaml prints them, instead of a cluster"))
        .arg(
            value("output", "FORMAT", "The format")
                .short('o')
                .value_parser(PossibleValuesParser::new(["text", "json"]))
                .default_value("text"),
        )
}

fn value(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).help(help)
}

/// Runs the subcommand.
pub fn run(matches: &ArgMatches) -> ExitCode {
    let ended = match matches.subcommand() {
        Some(("check", matches)) => run_check(matches),
        Some(("plan", matches)) => run_plan(matches),
        Some(("watch", matches)) => block_on(run_watch(matches)),
        _ => Ok(ExitCode::FAILURE),
    };
    ended.unwrap_or_else(|problem| {
        eprintln!("Error: {problem}");
        ExitCode::FAILURE
    })
}

fn run_check(matches: &ArgMatches) -> Result<ExitCode, String> {
    let snapshot = block_on(read_with_cloud(matches))?;
    let report = check(&snapshot);
    let printed = print(matches, &report)?;
    Ok(match report.worst() {
        _ if printed != ExitCode::SUCCESS => printed,
        check::Level::Ok => ExitCode::SUCCESS,
        check::Level::Warning => ExitCode::from(WARNINGS),
        check::Level::Blocker => ExitCode::from(BLOCKERS),
    })
}

fn run_plan(matches: &ArgMatches) -> Result<ExitCode, String> {
    let snapshot = block_on(async { Ok(read(matches, Depth::Plan).await?.0) })?;
    let plan = plan::plan(&snapshot, to(matches)).map_err(|refused| refused.to_string())?;
    print(matches, &plan)
}

fn to(matches: &ArgMatches) -> To {
    match matches.get_one::<String>("to").map(String::as_str) {
        Some("in-tree") => To::InTree,
        _ => To::External,
    }
}

/// Ends when the migration is complete. The API server may restart meanwhile: that is reported, and read again.
async fn run_watch(matches: &ArgMatches) -> Result<ExitCode, String> {
    let (mut watcher, began) = (Watcher::default(), Instant::now());
    let mut before: Option<View> = None;
    let mut unreachable: Option<String> = None;
    loop {
        match read(matches, Depth::Plan).await {
            Ok((snapshot, _)) => {
                let view = watcher.look(&snapshot, to(matches), began.elapsed());
                report(matches, &view, before.as_ref())?;
                let complete = view.progress == Progress::Complete;
                if complete || matches.get_flag("once") {
                    return Ok(if complete {
                        ExitCode::SUCCESS
                    } else {
                        ExitCode::from(WARNINGS)
                    });
                }
                (before, unreachable) = (Some(view), None);
            }
            // At the start the command line may be wrong.
            Err(problem) if before.is_none() => return Err(problem),
            Err(problem) if unreachable.as_ref() != Some(&problem) => {
                eprintln!("{problem}; retrying");
                unreachable = Some(problem);
            }
            Err(_) => {}
        }
        tokio::time::sleep(BETWEEN_READS).await;
    }
}

/// Prints what has changed.
fn report(matches: &ArgMatches, view: &View, before: Option<&View>) -> Result<(), String> {
    let changes = view.changes(before);
    let text = match matches.get_one::<String>("output").map(String::as_str) {
        _ if changes.is_empty() => return Ok(()),
        Some("json") => {
            let json = serde_json::to_string(view).map_err(|error| format!("cannot print: {error}"))?;
            format!("{json}\n")
        }
        _ => changes.iter().map(|change| change.clone() + "\n").collect(),
    };
    if program::print(&text) == ExitCode::SUCCESS {
        Ok(())
    } else {
        Err("cannot print".to_owned())
    }
}

fn block_on<T>(work: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    // The problem is not logged, but printed.
    let ended = program::block_on(async { Ok(work.await) });
    ended.unwrap_or_else(|_| Err("cannot start".to_owned()))
}

fn print<T: Serialize + Display>(matches: &ArgMatches, result: &T) -> Result<ExitCode, String> {
    let text = match matches.get_one::<String>("output").map(String::as_str) {
        Some("json") => {
            let json = serde_json::to_string_pretty(result).map_err(|error| format!("cannot print: {error}"))?;
            format!("{json}\n")
        }
        _ => result.to_string(),
    };
    Ok(program::print(&text))
}

/// Reads the objects in a file, or the cluster; with the client, if there is one.
async fn read(matches: &ArgMatches, depth: Depth) -> Result<(Snapshot, Option<Client>), String> {
    let given = given(matches)?;
    if let Some(path) = matches.get_one::<String>("objects") {
        let text = fs::read_to_string(path).map_err(|error| format!("cannot read --objects={path}: {error}"))?;
        let mut snapshot = Snapshot::parse(&text).map_err(|error| format!("--objects={path}: {error}"))?;
        snapshot.given.extend(given);
        return Ok((snapshot, None));
    }
    let kubeconfig = matches.get_one::<String>("kubeconfig").map(String::as_str);
    let connection = Connection::open(kubeconfig.unwrap_or_default(), "migrate").map_err(|error| error.to_string())?;
    let client = connection.client;
    let snapshot = ::migrate::collect(&client, given, depth).await;
    match (&snapshot.version, snapshot.reason("version")) {
        (None, Some(reason)) => Err(format!("cannot read the version of the API server: {reason}")),
        _ => Ok((snapshot, Some(client))),
    }
}

/// With the view of the cloud, if its configuration is given.
async fn read_with_cloud(matches: &ArgMatches) -> Result<Snapshot, String> {
    let (mut snapshot, client) = read(matches, Depth::All).await?;
    let text = |name: &str| matches.get_one::<String>(name).cloned();
    let further: Vec<String> = matches
        .get_many("manager-flags")
        .into_iter()
        .flatten()
        .cloned()
        .collect();
    let (cloud, config) = (text("cloud-provider"), text("cloud-config"));
    if cloud.is_none() && config.is_none() && further.is_empty() {
        return Ok(snapshot);
    }
    let Some(client) = client else {
        return Err(
            "the cloud can only be compared with a cluster: remove --objects, or --cloud-provider and --cloud-config"
                .to_owned(),
        );
    };
    let cluster = Cluster::of(&snapshot);
    let cloud = cloud.or_else(|| cluster.in_tree().map(|in_tree| in_tree.name.to_owned()));
    let name = text("cluster-name").unwrap_or_else(|| cluster.name().to_owned());
    let flags = [
        ("cloud-provider", cloud),
        ("cloud-config", config),
        ("cluster-name", Some(name)),
    ];
    let flags = flags
        .into_iter()
        .filter_map(|(name, value)| Some(format!("--{name}={}", value?)));
    match compare(&snapshot, flags.chain(further).collect(), &client).await {
        Ok(view) => snapshot.cloud = Some(view),
        // The rest is reported all the same.
        Err(reason) => snapshot.unread.push(Unread {
            what: "the cloud".to_owned(),
            reason,
        }),
    }
    Ok(snapshot)
}

/// What the manager with these flags would find and write in the cloud.
async fn compare(snapshot: &Snapshot, flags: Vec<String>, client: &Client) -> Result<CloudView, String> {
    let task = manager::program::parse(&providers::registrations(), "outrigger ccm", flags, Vec::new());
    let (options, setup) = match task {
        Ok(Task::Run(options, setup)) => (options, setup),
        Ok(Task::Print(_)) => return Err("these flags print a text instead of selecting a cloud".to_owned()),
        Err(problems) => return Err(problems.to_string()),
    };
    let cloud = &options.generic.cloud;
    let flags = Flags {
        provider: &cloud.provider,
        config: &cloud.config,
        allow_untagged_cloud: cloud.allow_untagged_cloud,
    };
    let access = cloud_access::open(setup.as_ref(), flags, Writes::Refused, Some(client)).await;
    let provider = access.map_err(|error| error.to_string())?.provider;
    if provider.cluster_mark() == ClusterMark::Absent && !cloud.allow_untagged_cloud.is_on() {
        return Err(
            "no cluster ID was found in the cloud: tag the instances of the cluster, or give --allow-untagged-cloud"
                .to_owned(),
        );
    }
    Ok(cloud_view::of(
        provider.as_ref(),
        &cloud.cluster_name,
        &snapshot.nodes,
        &snapshot.services,
    )
    .await)
}

/// The files of `--flags`.
fn given(matches: &ArgMatches) -> Result<Vec<Given>, String> {
    let all: Vec<&String> = matches.get_many("flags").into_iter().flatten().collect();
    all.into_iter().map(|text| one_given(text)).collect()
}

fn one_given(text: &str) -> Result<Given, String> {
    let wrong = || {
        format!(
            "--flags={text} is not PROGRAM=FILE or PROGRAM@NODE=FILE; PROGRAM is {}",
            PROGRAMS.join(", ")
        )
    };
    let (whose, file) = text.split_once('=').ok_or_else(wrong)?;
    let (program, node) = match whose.split_once('@') {
        Some((program, node)) => (program, Some(node)),
        None => (whose, None),
    };
    if !PROGRAMS.contains(&program) || node == Some("") {
        return Err(wrong());
    }
    let bytes =
        fs::read(PathBuf::from(file)).map_err(|error| format!("cannot read the file of --flags={text}: {error}"))?;
    Ok(Given {
        program: program.to_owned(),
        node: node.map(str::to_owned),
        file: file.to_owned(),
        text: String::from_utf8_lossy(&bytes).into_owned(),
    })
}
