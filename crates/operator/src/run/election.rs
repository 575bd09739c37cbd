//! Runs the control loops while this process leads.

use super::{
    Process,
    served::{self, Served},
};
use crate::{
    clients::Clients,
    control::Loop,
    openshift::{self, Duties},
    options::{Role, SYNC_LOCK},
    standalone,
};
use operator_api::Infrastructure;
use runtime::{
    client::explain,
    fence::Fence,
    flags::GoDuration,
    health::Scope,
    lease::{self, Elector, Leadership, Params},
};
use std::{sync::Arc, time::Duration};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tracing::warn;

/// Lease, renewal and retry, in seconds, with several machines and with one.
const SEVERAL: [i32; 3] = [137, 107, 26];
const ONE: [i32; 3] = [270, 240, 60];

/// How long to wait for the topology of the control plane at the start.
const DEADLINE: Duration = Duration::from_secs(10);

/// Waits until this process leads, and runs until it is stopped or does not lead any more.
pub(super) async fn lead(process: &Process, stop: &CancellationToken) -> Result<(), String> {
    let changed = Arc::new(Notify::new());
    let duties = process.settings()?.duties;
    if !process.options.election.elect.is_on() {
        return work(process, duties, &changed, stop, std::future::pending()).await;
    }
    let durations = durations(process).await;
    let name = process.options.election.resource_name.clone();
    let first = elector(process, &name, durations, process.cluster.fence.clone())?;
    let Some(leadership) = first.acquire(stop).await else {
        return Ok(());
    };
    let ended = match process.options.role {
        Role::ConfigSync => work(process, duties, &changed, stop, lost(&leadership)).await,
        Role::Operator => Box::pin(with_sync(process, durations, &changed, stop, &leadership)).await,
    };
    release(leadership).await;
    ended
}

/// One process writes the cloud configuration: this one as soon as no other process holds that lock.
async fn with_sync(
    process: &Process,
    durations: [Duration; 3],
    changed: &Arc<Notify>,
    stop: &CancellationToken,
    first: &Leadership,
) -> Result<(), String> {
    let second = elector(process, SYNC_LOCK, durations, Fence::closed())?;
    let waiting = stop.child_token();
    let mut acquiring = std::pin::pin!(second.acquire(&waiting));
    // The lock is almost always free; then it is acquired before the loops start.
    let both = tokio::time::timeout(Duration::from_secs(1), &mut acquiring).await;
    let both = match both {
        Ok(Some(both)) => both,
        Ok(None) => return Ok(()),
        Err(_) => {
            let alone = stop.child_token();
            let working = work(process, Duties::Operands, changed, &alone, lost(first));
            let mut working = std::pin::pin!(working);
            let both = tokio::select! {
                ended = &mut working => return ended,
                both = &mut acquiring => both,
            };
            alone.cancel();
            working.await?;
            match both {
                Some(both) => both,
                None => return Ok(()),
            }
        }
    };
    let either = async {
        tokio::select! { lost = lost(first) => lost, lost = lost(&both) => lost }
    };
    let ended = work(process, Duties::Everything, changed, stop, either).await;
    release(both).await;
    ended
}

async fn work(
    process: &Process,
    duties: Duties,
    changed: &Arc<Notify>,
    stop: &CancellationToken,
    lost: impl Future<Output = String>,
) -> Result<(), String> {
    let client = process.cluster.clients.for_controller("operator").await;
    let client = client.map_err(|error| format!("cannot use the credentials: {}", explain(&error)))?;
    let clients = process.cluster.clients(client);
    let settings = openshift::Settings {
        duties,
        ..process.settings()?
    };
    let working = async {
        let Some(mut served) = served::first(&clients.read, stop).await else {
            return;
        };
        while let Some(more) = Box::pin(serve(process, &settings, &clients, served, changed, stop)).await {
            served = more;
        }
    };
    tokio::select! {
        () = working => Ok(()),
        lost = lost => Err(lost),
    }
}

/// Runs the control loops for what the cluster serves, until it is stopped or the cluster serves more; returns what the cluster serves then.
async fn serve(
    process: &Process,
    settings: &openshift::Settings,
    clients: &Clients,
    served: Served,
    changed: &Arc<Notify>,
    stop: &CancellationToken,
) -> Option<Served> {
    let round = stop.child_token();
    let operator = openshift::Operator::new(settings.clone(), clients.clone(), changed.clone());
    let mut openshift = Loop::new(operator, changed.clone(), clients);
    let changed = Arc::new(Notify::new());
    let operator = standalone::Operator::new(process.standalone(served), clients.clone(), changed.clone());
    let mut standalone = Loop::new(operator, changed, clients);
    let (on_openshift, on_kubernetes) = (openshift.liveness(), standalone.liveness());
    process.checks.add("operator", Scope::Live, move || {
        on_openshift().and_then(|()| on_kubernetes())
    });
    let first = async {
        if served.openshift {
            openshift.run(&round).await;
        }
    };
    let second = async {
        if served.standalone && settings.duties != Duties::ConfigSync {
            standalone.run(&round).await;
        }
    };
    let more = async {
        let more = round.run_until_cancelled(served::more(&clients.read, served)).await;
        round.cancel();
        more
    };
    let ((), (), more) = tokio::join!(first, second, more);
    more
}

async fn lost(leadership: &Leadership) -> String {
    leadership.lost().await.to_string()
}

async fn release(leadership: Leadership) {
    if let Err(problem) = leadership.release().await {
        warn!("{problem}");
    }
}

fn elector(process: &Process, name: &str, durations: [Duration; 3], fence: Fence) -> Result<Elector, String> {
    let [lease_duration, renew_deadline, retry_period] = durations;
    let params = Params {
        namespace: process.cluster.operator_namespace.clone(),
        name: name.to_owned(),
        identity: lease::identity(),
        lease_duration,
        renew_deadline,
        retry_period,
    };
    let client = process.cluster.clients.for_leases(params.request_timeout());
    let client = client.map_err(|error| format!("cannot use the credentials: {}", explain(&error)))?;
    let recorder = process.cluster.recorder();
    let elector = Elector::new(client, params, fence, &process.leases, Some(recorder));
    let elector = elector.map_err(|error| error.to_string())?;
    let (alive, reached) = (elector.status(), elector.status());
    process
        .checks
        .add(&format!("leaderElection-{name}"), Scope::Live, move || {
            alive.check().map_err(|stuck| stuck.to_string())
        });
    process
        .checks
        .add(&format!("leaderElection-{name}-reachable"), Scope::Ready, move || {
            reached.problem().map_or(Ok(()), Err)
        });
    Ok(elector)
}

async fn durations(process: &Process) -> [Duration; 3] {
    let given = process.options.election.durations();
    let topology = if given.iter().any(|duration| duration.is_positive()) {
        None
    } else {
        topology(&process.cluster.clients.plain("leader-election")).await
    };
    chosen(given, topology.as_deref())
}

/// The given durations; the others by the number of machines. A user who sets some of them has the defaults for several machines in mind.
fn chosen(given: [GoDuration; 3], topology: Option<&str>) -> [Duration; 3] {
    let default = if topology == Some("SingleReplica") {
        ONE
    } else {
        SEVERAL
    };
    let mut durations = given;
    for (duration, seconds) in durations.iter_mut().zip(default) {
        if !duration.is_positive() {
            *duration = GoDuration::from_secs(seconds);
        }
    }
    durations.map(GoDuration::std)
}

/// The topology of the control plane, if the API server answers in time.
async fn topology(client: &kube::Client) -> Option<String> {
    let api: kube::Api<Infrastructure> = kube::Api::all(client.clone());
    let answer = tokio::time::timeout(DEADLINE, api.get("cluster")).await;
    Some(answer.ok()?.ok()?.status.control_plane_topology)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    /// W26: lease, renewal and retry, in seconds; 0 if not given.
    #[rstest]
    #[case::several_machines([0, 0, 0], Some("HighlyAvailable"), [137, 107, 26])]
    #[case::one_machine([0, 0, 0], Some("SingleReplica"), [270, 240, 60])]
    #[case::no_settings([0, 0, 0], None, [137, 107, 26])]
    #[case::all_given([15, 10, 2], None, [15, 10, 2])]
    #[case::some_given([200, 0, 0], None, [200, 107, 26])]
    fn w26_progress_deadlines(#[case] given: [i32; 3], #[case] topology: Option<&str>, #[case] expected: [u64; 3]) {
        let chosen = chosen(given.map(GoDuration::from_secs), topology);
        assert_eq!(chosen.map(|duration| duration.as_secs()), expected);
    }
}
