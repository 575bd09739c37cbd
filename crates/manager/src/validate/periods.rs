//! Periods and timeouts.

use crate::Options;
use runtime::flags::{GoDuration, Problems};

pub(super) fn validate(options: &Options) -> Problems {
    let busy = of_loops(options)
        .into_iter()
        .filter(|(_, period)| !period.is_positive());
    let busy = busy.map(|(flag, period)| format!("--{flag} must be greater than zero, not {period}"));
    let others = of_caches(options).into_iter().chain(of_waits(options));
    let negative = others.filter(|(_, time)| time.is_negative());
    let negative = negative.map(|(flag, time)| format!("--{flag} cannot be negative, but is {time}"));
    busy.chain(negative).collect()
}

/// Periods that must not be zero: the loop would never pause.
fn of_loops(options: &Options) -> [(&'static str, GoDuration); 4] {
    [
        (
            "load-balancer-orphan-period",
            options.outrigger.load_balancer_orphan_period,
        ),
        ("node-monitor-period", options.node_lifecycle.monitor_period),
        (
            "node-status-update-frequency",
            options.misc.node_status_update_frequency,
        ),
        (
            "route-reconciliation-period",
            options.generic.cloud.route_reconciliation_period,
        ),
    ]
}

fn of_caches(options: &Options) -> [(&'static str, GoDuration); 3] {
    let (authentication, authorization) = (&options.authentication, &options.authorization);
    [
        ("authentication-token-webhook-cache-ttl", authentication.cache_ttl),
        (
            "authorization-webhook-cache-authorized-ttl",
            authorization.allow_cache_ttl,
        ),
        (
            "authorization-webhook-cache-unauthorized-ttl",
            authorization.deny_cache_ttl,
        ),
    ]
}

fn of_waits(options: &Options) -> [(&'static str, GoDuration); 7] {
    let (generic, ours) = (&options.generic, &options.outrigger);
    [
        ("controller-start-interval", generic.controller_start_interval),
        ("load-balancer-resync-period", ours.load_balancer_resync_period),
        ("min-resync-period", generic.min_resync_period),
        ("node-deletion-confirmation", ours.node_deletion_confirmation),
        ("node-deletion-grace-period", ours.node_deletion_grace_period),
        ("node-deletion-window", ours.node_deletion_window),
        ("shutdown-grace-period", ours.shutdown_grace_period),
    ]
}
