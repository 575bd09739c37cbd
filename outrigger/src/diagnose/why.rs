//! `outrigger why`: what a Service, a Node or a manager waits for.

use super::{cloud, cluster, finish, kubeconfig, open, text};
use ::diagnose::{
    cloud_access::Writes,
    why::{Place, State, Subject, collect, explain},
};
use clap::{Arg, ArgMatches, Command, value_parser};
use std::process::ExitCode;

/// Something waits.
const WAITS: u8 = 1;

/// The subcommand.
pub fn command() -> Command {
    Command::new("why")
        .about("Explain what a Service, a Node or a manager waits for")
        .long_about(
            "Explain what a Service, a Node or a manager waits for, since when, whose turn it is, and what to do. It reads leases, \
             conditions, events, Pods and logs, and with --cloud-provider the cloud; it changes nothing. What may not be read is \
             named. Exit code: 0 if nothing waits, 1 if something does, 2 if that cannot be determined.",
        )
        .arg(
            Arg::new("object")
                .required(true)
                .value_parser(value_parser!(Subject))
                .help("service/NAME, node/NAME or ccm/NAME"),
        )
        .arg(
            Arg::new("namespace")
                .long("namespace")
                .short('n')
                .value_name("NAME")
                .help("The namespace of the Service. Default: that of the kubeconfig"),
        )
        .arg(
            Arg::new("lease")
                .long("lease")
                .value_name("NAMESPACE/NAME")
                .value_parser(lease)
                .help("The lease of the manager. Default: all whose names contain cloud-controller-manager"),
        )
        .arg(kubeconfig())
        .args(cloud())
}

/// Explains it.
pub fn run(matches: &ArgMatches) -> ExitCode {
    finish("why", async {
        let subject = matches.get_one::<Subject>("object").ok_or("no object is given")?;
        let cluster = cluster(matches, "why")?;
        let access = match text(matches, "cloud-provider") {
            "" => None,
            _ => Some(open(matches, Writes::Refused, Some(&cluster.client)).await?),
        };
        let lease = matches.get_one::<(String, String)>("lease");
        let place = Place {
            namespace: matches.get_one::<String>("namespace").unwrap_or(&cluster.namespace),
            lease: lease.map(|(namespace, name)| (namespace.as_str(), name.as_str())),
            cloud: access.as_ref().map(|access| access.provider.as_ref()),
            cluster_name: text(matches, "cluster-name"),
            cluster: &cluster,
        };
        let collected = collect(subject, &place).await;
        if let Some(access) = &access {
            access.close().await;
        }
        let snapshot = collected.map_err(|error| error.to_string())?;
        let report = explain(&snapshot);
        let code = if report.finding.state == State::Fine { 0 } else { WAITS };
        Ok((report.to_string(), code))
    })
}

fn lease(text: &str) -> Result<(String, String), String> {
    match text.split_once('/') {
        Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() => {
            Ok((namespace.to_owned(), name.to_owned()))
        }
        _ => Err("write NAMESPACE/NAME".to_owned()),
    }
}
