//! Validation of options that are each well formed, before anything starts.
//!
//! Every problem is one sentence that names the flag and what to do. [`warnings`] are about settings that the Go framework accepts
//! but that are probably mistakes.

mod auth;
mod ipam;
mod lease;
mod named;
mod periods;
mod serving;

pub use named::named;

use crate::{
    Options,
    controllers_flag::SERVICE_LB,
    options::{Cloud, Generic, Orphans, Outrigger, WEBHOOK},
};
use runtime::flags::Problems;

/// All problems, without those of flags whose values were rejected already: they would be about defaults.
#[must_use]
pub fn validate(options: &Options) -> Problems {
    let mut problems = generic(&options.generic);
    problems.append(lease::validate(&options.generic.leader_election));
    problems.append(concurrency(options));
    problems.append(periods::validate(options));
    problems.append(ipam::validate(options));
    problems.append(serving::validate(options));
    problems.append(auth::validate(options));
    problems.append(placeholder(options));
    problems.append(outrigger(&options.outrigger));
    problems.check(orphans(options));
    problems.append(options.logging.validate(&options.generic.feature_gates));
    let refused = |problem: &str| options.parsed.refused.iter().any(|name| names(problem, name));
    problems
        .iter()
        .filter(|problem| !refused(problem))
        .map(str::to_owned)
        .collect()
}

/// The placeholder for the cluster's name in manifests. With it, load balancers would get a name that the user did not choose.
const PLACEHOLDER: &str = "CHANGE-ME";

fn placeholder(options: &Options) -> Problems {
    let mut problems = Problems::default();
    if options.generic.cloud.cluster_name == PLACEHOLDER {
        problems.push(format!(
            "--cluster-name={PLACEHOLDER} is the placeholder of a manifest: choose a name that no other cluster of the project has"
        ));
    }
    problems
}

/// Warnings, besides those of the feature gates and of the migration file.
#[must_use]
pub fn warnings(options: &Options) -> Vec<String> {
    let mut warnings = Vec::from_iter(ipam::warnings(options));
    warnings.extend(serving::warnings(options));
    warnings.extend(auth::warnings(&options.authentication));
    let Outrigger {
        load_balancer_class,
        load_balancer_without_class,
        ..
    } = &options.outrigger;
    if load_balancer_class.is_empty() && !load_balancer_without_class.is_on() && options.wants(SERVICE_LB.name) {
        warnings.push(
            "no Service will be served, because --load-balancer-without-class is false and no \
                 --load-balancer-class is given"
                .to_owned(),
        );
    }
    if !options.webhook.webhooks.is_empty() && !options.generic.feature_gates.is_on(WEBHOOK) {
        warnings.push(format!(
            "--webhooks has no effect without --feature-gates={WEBHOOK}=true"
        ));
    }
    warnings
}

/// Whether a sentence is about a flag, and not about another one with the same prefix.
fn names(problem: &str, flag: &str) -> bool {
    let flag = format!("--{flag}");
    let goes_on = |rest: &str| rest.starts_with(|letter: char| letter == '-' || letter.is_ascii_alphanumeric());
    problem
        .match_indices(&flag)
        .any(|(at, _)| !goes_on(&problem[at + flag.len()..]))
}

fn generic(generic: &Generic) -> Problems {
    let mut problems = Problems::default();
    if generic.cloud.provider.trim().is_empty() {
        problems.push("--cloud-provider cannot be empty, set it to the name of a cloud provider");
    }
    for unknown in generic.known_controllers.unknown(&generic.controllers) {
        problems.push(format!("{unknown} (--controllers)"));
    }
    if generic.client.burst.given().is_some_and(|burst| burst < 0) {
        problems.push("--kube-api-burst cannot be a negative number");
    }
    problems
}

fn concurrency(options: &Options) -> Problems {
    let mut problems = Problems::default();
    let workers = [
        ("concurrent-node-syncs", options.node.concurrent_syncs),
        (
            "concurrent-node-lifecycle-syncs",
            options.node_lifecycle.concurrent_syncs,
        ),
        ("concurrent-service-syncs", options.service.concurrent_syncs),
    ];
    for (flag, _) in workers.into_iter().filter(|(_, workers)| workers.nominal() <= 0) {
        problems.push(format!("--{flag} must be a positive number"));
    }
    if options.node.concurrent_status_updates.nominal() < 0 {
        problems.push("--concurrent-node-status-updates cannot be a negative number");
    }
    problems
}

fn outrigger(outrigger: &Outrigger) -> Problems {
    let Outrigger {
        load_balancer_class,
        provider_id_scheme,
        node_deletion_max_fraction,
        ..
    } = outrigger;
    let mut problems = Problems::default();
    if load_balancer_class.iter().any(|class| class.trim().is_empty()) {
        problems.push(
            "--load-balancer-class contains an empty class, use --load-balancer-without-class for \
                 Services without one",
        );
    }
    if provider_id_scheme
        .iter()
        .any(|scheme| scheme.trim().is_empty() || scheme.contains([':', '/']))
    {
        problems.push(
            "--provider-id-scheme is the part before \"://\" of a provider ID, for example \
                 openstack",
        );
    }
    let fraction = node_deletion_max_fraction.0.nominal();
    if !(fraction > 0.0 && fraction <= 1.0) {
        problems.push(format!(
            "--node-deletion-max-fraction must be more than 0 and at most 1, not {fraction}"
        ));
    }
    problems
}

/// Ownership is determined by the cluster name: two clusters with the same name in one project would delete each other's resources.
fn orphans(options: &Options) -> Result<(), String> {
    let (name, default) = (&options.generic.cloud.cluster_name, Cloud::default().cluster_name);
    if options.outrigger.load_balancer_orphans == Orphans::Delete && *name == default {
        return Err(format!(
            "--load-balancer-orphans=delete needs a --cluster-name that no other cluster of the cloud has, not \
             {default:?}, which is the default of all clusters"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
