//! The flags of kube-apiserver and kube-controller-manager.

use super::Finding;
use crate::{
    Cluster,
    cluster::{Component, EXTERNAL, Program, in_tree},
    flags::Flags,
    table,
};
use manager::controllers_flag::canonical;
use std::collections::BTreeSet;

/// The controllers that move, by the names of our manager.
const MOVING: [&str; 3] = [
    "cloud-node-lifecycle-controller",
    "node-route-controller",
    "service-lb-controller",
];
const NODE_IPAM: &str = "node-ipam-controller";

pub(super) fn findings(cluster: &Cluster<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Program::ALL
        .into_iter()
        .flat_map(|program| of_program(cluster, program))
        .collect();
    findings.extend(of_both(cluster));
    findings
}

fn of_program(cluster: &Cluster<'_>, program: Program) -> Vec<Finding> {
    let replicas: Vec<&Component> = cluster.replicas(program).collect();
    if replicas.is_empty() {
        return vec![
            Finding::blocker(program, "no Pod of it was found, so its flags are not known")
                .remedy(format!("give its command line or manifest: --flags={program}=FILE")),
        ];
    }
    let mut findings: Vec<Finding> = replicas.iter().flat_map(|replica| of_replica(replica)).collect();
    let providers: BTreeSet<Option<&str>> = known(&replicas).map(|flags| flags.get("cloud-provider")).collect();
    if providers.len() > 1 {
        let values: Vec<&str> = providers.into_iter().map(|value| value.unwrap_or("none")).collect();
        findings.push(
            Finding::warning(
                program,
                format!(
                    "its replicas have different values of --cloud-provider: {}",
                    values.join(", ")
                ),
            )
            .remedy("a migration is not complete: continue it, or go back, before another one begins"),
        );
    }
    findings
}

fn known<'a>(replicas: &'a [&Component]) -> impl Iterator<Item = &'a Flags> {
    replicas.iter().filter_map(|replica| replica.flags.as_ref())
}

fn of_replica(replica: &Component) -> Vec<Finding> {
    let Some(flags) = &replica.flags else {
        let at = replica.node.as_ref().map(|node| format!("@{node}")).unwrap_or_default();
        return vec![Finding::blocker(replica, "its flags cannot be read").remedy(format!(
            "give its command line or manifest: --flags={}{at}=FILE",
            replica.program
        ))];
    };
    let mut findings = vec![provider(replica, flags)];
    findings.extend(gates(replica, flags));
    if replica.program == Program::KubeControllerManager {
        findings.extend(leader_election(replica, flags));
        findings.extend(controllers(replica, flags));
    }
    findings
}

fn provider(replica: &Component, flags: &Flags) -> Finding {
    let config = flags
        .get("cloud-config")
        .map(|file| format!(" --cloud-config={file}"))
        .unwrap_or_default();
    match flags.get("cloud-provider") {
        Some(name) => Finding::ok(replica, format!("--cloud-provider={name}{config}")),
        None => Finding::ok(replica, "no --cloud-provider"),
    }
}

/// The gate switches off what the other flag asks for: such a program does not start.
fn gates<'a>(replica: &'a Component, flags: &'a Flags) -> Option<Finding> {
    let name = in_tree(flags)?;
    (flags.gate("DisableCloudProviders") == Some(true)).then(|| {
        Finding::blocker(
            replica,
            format!("DisableCloudProviders is on, and --cloud-provider={name} is an in-tree provider"),
        )
        .remedy("remove the feature gate until the migration is complete")
    })
}

fn leader_election(replica: &Component, flags: &Flags) -> Option<Finding> {
    if flags.switch("leader-elect") == Some(false) {
        let finding = Finding::blocker(
            replica,
            "--leader-elect=false: the migration lock has no effect without leader election",
        );
        return Some(finding.remedy("remove the flag"));
    }
    flags.switch("enable-leader-migration").filter(|given| *given).map(|_| {
        let file = flags.get("leader-migration-config");
        let config = file.map_or("the default configuration".to_owned(), |file| {
            format!("configuration {file}")
        });
        Finding::ok(replica, format!("--enable-leader-migration, {config}"))
    })
}

/// The controllers that are switched off by the user must stay so.
fn controllers(replica: &Component, flags: &Flags) -> Vec<Finding> {
    let list = flags.list("controllers");
    let off: Vec<&str> = list
        .iter()
        .filter_map(|item| item.strip_prefix('-'))
        .map(canonical)
        .collect();
    let off_too: Vec<&str> = off.iter().copied().filter(|name| MOVING.contains(name)).collect();
    let mut findings = Vec::new();
    if in_tree(flags).is_some() && !off_too.is_empty() {
        let names: Vec<String> = off_too.iter().map(|name| format!("-{name}")).collect();
        findings.push(
            Finding::warning(replica, format!("--controllers switches off {}", off_too.join(", "))).remedy(format!(
                "switch them off in the cloud controller manager, too: --controllers=*,{}",
                names.join(",")
            )),
        );
    }
    if flags.switch("allocate-node-cidrs") == Some(true) {
        findings.push(if off.contains(&NODE_IPAM) {
            Finding::ok(
                replica,
                format!("{NODE_IPAM} is off: another program allocates the networks of nodes"),
            )
        } else {
            Finding::ok(
                replica,
                format!("{NODE_IPAM} allocates the networks of nodes, and continues to do so"),
            )
        });
    }
    findings
}

/// Both programs have the cloud, or neither.
fn of_both(cluster: &Cluster<'_>) -> Option<Finding> {
    let cloud = |program| {
        let replicas: Vec<&Component> = cluster.replicas(program).collect();
        known(&replicas).find_map(in_tree).map(str::to_owned)
    };
    let (server, manager) = (cloud(Program::KubeApiserver)?, cloud(Program::KubeControllerManager));
    (manager.as_ref() != Some(&server)).then(|| {
        let other = manager.unwrap_or_else(|| "no in-tree provider".to_owned());
        Finding::warning(
            Program::KubeApiserver,
            format!("--cloud-provider={server}, and kube-controller-manager has {other}"),
        )
        .remedy(format!(
            "`outrigger migrate plan` removes it; {EXTERNAL} is no value for kube-apiserver"
        ))
    })
}

/// The names of nodes, for a message.
pub(super) fn on<'a>(nodes: impl IntoIterator<Item = &'a str>) -> String {
    format!("on {}", table::names(nodes))
}
