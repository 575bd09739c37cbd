//! `outrigger cleanup`: lists what a deleted cluster left in the cloud, and deletes it on request.

#![expect(clippy::print_stderr, reason = "it is a command")]

use super::{cloud, finish, open, text};
use ::diagnose::{
    cleanup::{delete, list},
    cloud_access::Writes,
};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use ipnet::IpNet;
use std::process::ExitCode;

/// Something is left.
const LEFT: u8 = 1;

/// The subcommand.
pub fn command() -> Command {
    let [provider, config, _] = cloud();
    Command::new("cleanup")
        .about("List what a deleted cluster left in the cloud, and delete it")
        .long_about(
            "List the load balancers, with all that belongs to them, and with --cluster-cidr the routes that a cluster left in the \
             cloud. With --delete they are deleted after they have been listed, as the manager of that cluster would have done. The cloud does not know \
             whether the cluster still exists: be sure that it does not, and that no other one has its name. Credentials must be in \
             the configuration, not in a Secret of the cluster. Exit code: 0 if nothing is left, 1 if something is, 2 if that cannot \
             be determined.",
        )
        .arg(
            Arg::new("cluster-name")
                .long("cluster-name")
                .value_name("NAME")
                .required(true)
                .help("The name of the deleted cluster, as its manager had it"),
        )
        .arg(
            Arg::new("cluster-cidr")
                .long("cluster-cidr")
                .value_name("CIDR,…")
                .value_delimiter(',')
                .value_parser(value_parser!(IpNet))
                .help("The pod CIDRs of the cluster. Without them no route is listed: others may use the same router or route table"),
        )
        .arg(
            Arg::new("delete")
                .long("delete")
                .action(ArgAction::SetTrue)
                .help("Delete what is listed"),
        )
        .arg(provider.required(true))
        .arg(config)
}

/// Lists, and deletes.
pub fn run(matches: &ArgMatches) -> ExitCode {
    finish("cleanup", async {
        let (cluster, deletes) = (text(matches, "cluster-name"), matches.get_flag("delete"));
        let cidrs: Vec<IpNet> = matches
            .get_many("cluster-cidr")
            .into_iter()
            .flatten()
            .copied()
            .collect();
        let writes = if deletes { Writes::Allowed } else { Writes::Refused };
        let access = open(matches, writes, None).await?;
        let provider = access.provider.as_ref();
        let found = list(provider, cluster, &cidrs).await.map_err(|error| error.report())?;
        if found.is_empty() {
            return Ok((format!("The cloud has no objects of cluster {cluster:?}.\n"), 0));
        }
        if !deletes {
            let hint = "Nothing was deleted: repeat the command with --delete to do so.";
            return Ok((format!("{}\n{hint}\n", found.table()), LEFT));
        }
        eprintln!("{}", found.table());
        let failures = delete(provider, cluster, &found, |step| eprintln!("{step}")).await;
        for failure in &failures {
            eprintln!("not deleted: {failure}");
        }
        let left = list(provider, cluster, &cidrs).await.map_err(|error| error.report())?;
        if left.is_empty() && failures.is_empty() {
            Ok((format!("All objects of cluster {cluster:?} are deleted.\n"), 0))
        } else {
            Ok((format!("Left in the cloud:\n{}", left.table()), LEFT))
        }
    })
}
