//! The supervisor of the controllers and of the informers they share.

use super::{credentials, process::Process};
use crate::{
    controllers_flag::{CONTROLLERS, Controller},
    start::{self, Start, Started},
};
use controllers::{nodes, service};
use k8s_openapi::api::core::v1::{Node, Service};
use kube::{Api, runtime::watcher};
use runtime::{
    client::Clients,
    events::Broadcaster,
    fence::Fence,
    health::Scope,
    informer::{Informer, Object, State},
};
use std::{collections::BTreeSet, future::Future};
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

/// The page size of lists: small, so that the start in a large cluster needs little memory.
const PAGE: u32 = 100;

/// The lock that a controller needs to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lock {
    Main,
    Migration,
}

/// Starts, watches and stops the controllers of this process and their informers.
pub(super) struct Supervisor<'a> {
    process: &'a Process,
    /// Stops new work; the work in progress is finished.
    cancel: CancellationToken,
    tasks: JoinSet<&'static str>,
    nodes: Informer<Node>,
    services: Informer<Service>,
    watched: BTreeSet<&'static str>,
    /// Stopped after the controllers, which still read while they finish.
    watches: CancellationToken,
    watching: JoinSet<&'static str>,
    /// Stopped after the controllers, too: their last events are written before the lease is released.
    stop_events: CancellationToken,
    broadcasters: JoinSet<()>,
}

impl<'a> Supervisor<'a> {
    pub(super) fn new(process: &'a Process) -> Self {
        let client = process.clients.plain("shared-informers");
        let config = || watcher::Config::default().page_size(PAGE);
        Self {
            process,
            cancel: CancellationToken::new(),
            tasks: JoinSet::new(),
            nodes: Informer::new(Api::all(client.clone()), config(), nodes::trim),
            services: Informer::new(Api::all(client), config(), service::trim),
            watched: BTreeSet::new(),
            watches: CancellationToken::new(),
            watching: JoinSet::new(),
            stop_events: CancellationToken::new(),
            broadcasters: JoinSet::new(),
        }
    }

    /// Starts the enabled controllers of this lock.
    pub(super) async fn start(
        &mut self,
        lock: Lock,
        ours: impl Fn(&str) -> bool,
        stop: &CancellationToken,
    ) -> Result<(), String> {
        let (clients, fence) = self.behind(lock);
        for controller in CONTROLLERS.iter().filter(|controller| ours(controller.name)) {
            if !self.process.options.wants(controller.name) {
                warn!(controller = controller.name, "controller is disabled");
                continue;
            }
            let Some(client) = credentials::client(self.process, (&clients, &fence), controller, stop).await? else {
                return Ok(());
            };
            let start = Start {
                process: self.process,
                events: self.write_events(&client),
                client,
                nodes: self.nodes.clone(),
                services: self.services.clone(),
                cancel: self.cancel.clone(),
            };
            match start::controller(controller.name, start)? {
                Started::Skipped(why) => warn!(controller = controller.name, "skipped controller: {why}"),
                Started::Running { task, watches } => {
                    self.watch(watches);
                    self.run(controller, task);
                    self.pause(stop).await;
                }
            }
        }
        Ok(())
    }

    fn behind(&self, lock: Lock) -> (Clients, Fence) {
        let Process {
            clients,
            migrating_clients,
            fences,
            ..
        } = self.process;
        match (lock, migrating_clients) {
            (Lock::Migration, Some(migrating)) => (migrating.clone(), fences.migration.clone()),
            _ => (clients.clone(), fences.main.clone()),
        }
    }

    fn run(&mut self, controller: &'static Controller, task: impl Future<Output = ()> + Send + 'static) {
        info!(controller = controller.name, "started controller");
        let gauge = self
            .process
            .running
            .with_label_values(&["cloud-controller-manager", controller.metric]);
        self.tasks.spawn(async move {
            gauge.set(1);
            task.await;
            gauge.set(0);
            controller.name
        });
    }

    /// Writes the events of a controller with its own client, so that a replica that has lost the lease writes none.
    fn write_events(&mut self, client: &kube::Client) -> Broadcaster {
        let events = Broadcaster::new(client.clone(), Some(self.process.event_metrics.clone()));
        let (broadcaster, end) = (events.clone(), self.stop_events.clone());
        self.broadcasters.spawn(async move { broadcaster.run(end).await });
        events
    }

    /// Starts the informers of a controller that do not run yet.
    fn watch(&mut self, what: &[&'static str]) {
        for resource in what {
            if self.watched.insert(resource) {
                match *resource {
                    "nodes" => self.inform(resource, &self.nodes.clone()),
                    _ => self.inform(resource, &self.services.clone()),
                }
            }
        }
    }

    fn inform<K: Object>(&mut self, resource: &'static str, informer: &Informer<K>) {
        let store = informer.store();
        self.process
            .checks
            .add(&format!("informer-{resource}"), Scope::Ready, move || {
                match store.state() {
                    State::Synced => Ok(()),
                    State::Starting => Err(format!("{resource} have not been listed yet")),
                    State::Failing(reason) => Err(format!("cannot watch {resource}: {reason}")),
                }
            });
        let (informer, cancel) = (informer.clone(), self.watches.clone());
        self.watching.spawn(async move {
            informer.run(cancel).await;
            resource
        });
    }

    /// `--controller-start-interval`, randomized for each controller.
    async fn pause(&self, stop: &CancellationToken) {
        let interval = self.process.options.generic.controller_start_interval.std();
        if !interval.is_zero() {
            stop.run_until_cancelled(tokio::time::sleep(start::jittered(interval)))
                .await;
        }
    }

    /// Waits until stopped.
    ///
    /// # Errors
    /// If a controller ends by itself: then the process must end, too.
    pub(super) async fn until(&mut self, stop: &CancellationToken) -> Result<(), String> {
        tokio::select! {
            () = stop.cancelled() => Ok(()),
            ended = self.ended() => Err(ended),
        }
    }

    /// Resolves when a controller or an informer ends by itself: without its informer a controller would use outdated objects.
    pub(super) async fn ended(&mut self) -> String {
        let (what, ended) = tokio::select! {
            ended = one_of(&mut self.tasks) => ("a controller", ended),
            ended = one_of(&mut self.watching) => ("an informer", ended),
        };
        match ended {
            Ok(name) => format!("{name} ended"),
            Err(error) => format!("{what} failed: {error}"),
        }
    }

    /// Stops new work, and waits for the work in progress, at most for the grace period.
    pub(super) async fn stop(&mut self) {
        let grace = self.process.grace();
        self.cancel.cancel();
        let all = async { while self.tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(grace, all).await.is_err() {
            warn!(?grace, "work was not finished in time; the next leader will do it");
        }
        self.tasks.shutdown().await;
        self.stop_events.cancel();
        while self.broadcasters.join_next().await.is_some() {}
        self.watches.cancel();
        self.watching.shutdown().await;
    }
}

/// Waits for the first of these to end; forever if there are none.
async fn one_of<T: 'static>(tasks: &mut JoinSet<T>) -> Result<T, JoinError> {
    match tasks.join_next().await {
        Some(ended) => ended,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
