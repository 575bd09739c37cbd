//! Runs the controllers while this replica leads: without election, with one lock, or with two.

use super::{
    process::Process,
    supervisor::{Lock, Supervisor},
};
use crate::{controllers_flag::CONTROLLERS, options::LeaderElection};
use runtime::{
    client::explain,
    fence::Fence,
    health::Scope,
    leader_migration::{self, Classifier, Config, Main, Next, Ownership},
    lease::{self, Elector, Lost, Params},
};
use tokio_util::sync::CancellationToken;
use tracing::{error, warn};

/// This program's name in migration files, and in the events of the lease.
const COMPONENT: &str = "cloud-controller-manager";

/// The controllers under a lock.
#[derive(Clone, Copy)]
pub(super) enum Share<'a> {
    All,
    Of(&'a Classifier, Ownership),
}

impl Share<'_> {
    fn has(self, controller: &str) -> bool {
        match self {
            Self::All => true,
            Self::Of(classifier, ownership) => classifier.classify(controller) == ownership,
        }
    }
}

/// Starts the controllers when this replica leads, and stops them at a signal or when the lock is lost.
pub(super) async fn lead(process: &Process, stop: &CancellationToken) -> Result<(), String> {
    if !process.options.generic.leader_election.elect.is_on() {
        let mut supervisor = Supervisor::new(process);
        supervisor.start(Lock::Main, |_| true, stop).await?;
        let ended = supervisor.until(stop).await;
        supervisor.stop().await;
        return ended;
    }
    let main = params(&process.options.generic.leader_election);
    match &process.options.migration {
        None => one_lock(process, main, stop).await,
        Some(migration) => two_locks(process, main, migration, stop).await,
    }
}

async fn one_lock(process: &Process, params: Params, stop: &CancellationToken) -> Result<(), String> {
    let elector = elector(process, params, &process.fences.main)?;
    let Some(leadership) = elector.acquire(stop).await else {
        return Ok(());
    };
    let mut supervisor = Supervisor::new(process);
    let ended = tokio::select! {
        ended = work(&mut supervisor, Lock::Main, Share::All, stop) => ended,
        lost = leadership.lost() => return Err(deposed(&lost)),
    };
    drain(&mut supervisor, leadership.lost()).await?;
    if let Err(problem) = leadership.release().await {
        warn!("{problem}");
    }
    ended
}

async fn two_locks(
    process: &Process,
    main: Params,
    migration: &Config,
    stop: &CancellationToken,
) -> Result<(), String> {
    let aliases = CONTROLLERS
        .iter()
        .flat_map(|one| one.historic.iter().chain([&one.alias]).map(|alias| (*alias, one.name)));
    let classifier = Classifier::new(migration, COMPONENT, aliases);
    let second = elector(
        process,
        leader_migration::params(&main, migration),
        &process.fences.migration,
    )?;
    let first = elector(process, main, &process.fences.main)?;
    let Some(held) = Main::acquire(first, second, stop).await else {
        return Ok(());
    };
    let mut supervisor = Supervisor::new(process);
    let staying = Share::Of(&classifier, Ownership::NonMigrated);
    tokio::select! {
        started = supervisor.start(Lock::Main, |name| staying.has(name), stop) => started?,
        lost = held.lost() => return Err(deposed(&lost)),
    }
    migrate(held, &mut supervisor, Share::Of(&classifier, Ownership::Migrated), stop).await
}

/// Waits for the second lock, and runs under both until stopped. If a controller ends by itself, everything ends, and the held
/// locks are released, so that the next leader need not wait.
pub(super) async fn migrate(
    held: Main,
    supervisor: &mut Supervisor<'_>,
    migrated: Share<'_>,
    stop: &CancellationToken,
) -> Result<(), String> {
    let candidacy = stop.child_token();
    let next = held.migrate(&candidacy);
    tokio::pin!(next);
    let (next, ended) = tokio::select! {
        next = &mut next => (next, Ok(())),
        ended = supervisor.ended() => {
            candidacy.cancel();
            (next.await, Err(ended))
        }
    };
    match next {
        Next::Lost(lost) => Err(deposed(&lost)),
        Next::Cancelled(main) => {
            drain(supervisor, main.lost()).await?;
            main.release().await.unwrap_or_else(|problem| warn!("{problem}"));
            ended
        }
        Next::Both(both) => {
            let work = async {
                ended?;
                work(supervisor, Lock::Migration, migrated, stop).await
            };
            let ended = tokio::select! {
                ended = work => ended,
                lost = both.lost() => return Err(deposed(&lost)),
            };
            drain(supervisor, both.lost()).await?;
            both.release().await.unwrap_or_else(|problem| warn!("{problem}"));
            ended
        }
    }
}

async fn work(
    supervisor: &mut Supervisor<'_>,
    lock: Lock,
    share: Share<'_>,
    stop: &CancellationToken,
) -> Result<(), String> {
    supervisor.start(lock, |name| share.has(name), stop).await?;
    supervisor.until(stop).await
}

/// Finishes the work in progress, while the lease is still renewed.
async fn drain(supervisor: &mut Supervisor<'_>, lost: impl Future<Output = Lost>) -> Result<(), String> {
    tokio::select! {
        () = supervisor.stop() => Ok(()),
        lost = lost => Err(deposed(&lost)),
    }
}

pub(super) fn elector(process: &Process, params: Params, fence: &Fence) -> Result<Elector, String> {
    let client = process.clients.for_leases(params.request_timeout());
    let client = client.map_err(|error| format!("cannot use the credentials: {}", explain(&error)))?;
    let recorder = process.events.recorder(COMPONENT);
    let name = params.name.clone();
    let elector = Elector::new(client, params, fence.clone(), &process.leases, Some(recorder))
        .map_err(|error| error.to_string())?;
    let (alive, reached) = (elector.status(), elector.status());
    let is_main = name == process.options.generic.leader_election.resource_name;
    let check = if is_main {
        "leaderElection".to_owned()
    } else {
        format!("leaderElection-{name}")
    };
    process.checks.add(&check, Scope::Live, move || {
        alive.check().map_err(|stuck| stuck.to_string())
    });
    process
        .checks
        .add(&format!("{check}-reachable"), Scope::Ready, move || {
            reached.problem().map_or(Ok(()), Err)
        });
    Ok(elector)
}

fn params(flags: &LeaderElection) -> Params {
    Params {
        namespace: flags.resource_namespace.clone(),
        name: flags.resource_name.clone(),
        identity: lease::identity(),
        lease_duration: flags.lease_duration.std(),
        renew_deadline: flags.renew_deadline.std(),
        retry_period: flags.retry_period.std(),
    }
}

fn deposed(lost: &Lost) -> String {
    error!("leaderelection lost");
    lost.to_string()
}
