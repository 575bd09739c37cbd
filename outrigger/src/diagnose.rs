//! The commands for people: their flags, and how they end.

#![expect(clippy::print_stderr, reason = "they are commands")]

pub mod check;
pub mod cleanup;
pub mod why;

use crate::providers;
use ::diagnose::{
    cloud_access::{self, Access, Flags, Writes},
    cluster::Cluster,
};
use clap::{Arg, ArgMatches};
use kube::Client;
use runtime::{flags::Switch, program};
use std::{fmt::Display, process::ExitCode};

/// The command could not do its work.
const TROUBLE: u8 = 2;

/// `--kubeconfig`
fn kubeconfig() -> Arg {
    Arg::new("kubeconfig")
        .long("kubeconfig")
        .value_name("FILE")
        .help("The kubeconfig. Default: KUBECONFIG, the account of the Pod that this is, then ~/.kube/config")
}

/// The flags of a manager that select its cloud.
fn cloud() -> [Arg; 3] {
    let arg = |name: &'static str| Arg::new(name).long(name);
    [
        arg("cloud-provider")
            .value_name("NAME")
            .help("The cloud, as for the manager"),
        arg("cloud-config")
            .value_name("FILE")
            .help("The cloud's configuration, as for the manager"),
        arg("cluster-name")
            .value_name("NAME")
            .default_value("kubernetes")
            .help("The cluster's name, as for the manager"),
    ]
}

fn text<'m>(matches: &'m ArgMatches, name: &str) -> &'m str {
    matches.get_one::<String>(name).map_or("", String::as_str)
}

/// The cluster of `--kubeconfig`.
fn cluster(matches: &ArgMatches, command: &str) -> Result<Cluster, String> {
    Cluster::open(text(matches, "kubeconfig"), command).map_err(|error| error.to_string())
}

/// The cloud of `--cloud-provider`.
async fn open(matches: &ArgMatches, writes: Writes, client: Option<&Client>) -> Result<Access, String> {
    let name = text(matches, "cloud-provider");
    let registered = manager::select(&providers::registrations(), name)?;
    let flags = Flags {
        provider: name,
        config: text(matches, "cloud-config"),
        allow_untagged_cloud: Switch::On,
    };
    let access = cloud_access::open((registered.setup)().as_ref(), flags, writes, client).await;
    let access = access.map_err(|error| error.to_string())?;
    for warning in &access.warnings {
        eprintln!("Warning: {warning}");
    }
    Ok(access)
}

/// Runs the work of a command to its end: it returns what to print, and the exit code.
fn finish(name: &str, work: impl Future<Output = Result<(String, u8), String>>) -> ExitCode {
    let failed = |problem: &dyn Display| {
        eprintln!("outrigger {name}: {problem}");
        ExitCode::from(TROUBLE)
    };
    match program::block_on(async { Ok(work.await) }) {
        Ok(Ok((output, 0))) => program::print(&output),
        Ok(Ok((output, code))) => {
            let printed = program::print(&output);
            if printed == ExitCode::SUCCESS {
                ExitCode::from(code)
            } else {
                printed
            }
        }
        Ok(Err(problem)) => failed(&problem),
        Err(_) => failed(&"cannot start"),
    }
}
