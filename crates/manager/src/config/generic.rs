//! The settings of every controller manager.

use super::number;
use crate::{
    Options,
    options::{Debugging, LeaderElection},
};
use runtime::{
    flags::GoDuration,
    leader_migration::{self, ControllerLeader},
};
use serde::{Deserialize, Serialize};

/// The settings of every controller manager.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct GenericConfiguration {
    /// Always 0: there is no port without TLS.
    pub port: i32,
    /// The address of that port.
    pub address: String,
    /// Informers resync after a random time between this and twice this.
    pub min_resync_period: GoDuration,
    /// The connection to the API server.
    pub client_connection: ClientConnectionConfiguration,
    /// Pause between the starts of controllers.
    pub controller_start_interval: GoDuration,
    /// Leader election.
    pub leader_election: LeaderElectionConfiguration,
    /// Which controllers to run.
    pub controllers: Option<Vec<String>>,
    /// Debugging.
    pub debugging: DebuggingConfiguration,
    /// Whether controllers migrate between controller managers.
    pub leader_migration_enabled: bool,
    /// The controllers that migrate.
    pub leader_migration: LeaderMigrationConfiguration,
}

/// The connection to the API server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClientConnectionConfiguration {
    /// The kubeconfig's path.
    pub kubeconfig: String,
    /// Always empty.
    pub accept_content_types: String,
    /// The content type of requests.
    pub content_type: String,
    /// Requests a second.
    #[serde(serialize_with = "number::serialize")]
    pub qps: f32,
    /// Requests at once.
    pub burst: i32,
}

/// Leader election.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LeaderElectionConfiguration {
    /// Whether a leader is elected at all.
    pub leader_elect: bool,
    /// How long other replicas wait after the last renewal.
    pub lease_duration: GoDuration,
    /// How long a leader tries to renew.
    pub renew_deadline: GoDuration,
    /// Pause between attempts.
    pub retry_period: GoDuration,
    /// The kind of the lock.
    pub resource_lock: String,
    /// The name of the lock.
    pub resource_name: String,
    /// The namespace of the lock.
    pub resource_namespace: String,
}

/// Debugging.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DebuggingConfiguration {
    /// Whether `/debug/` is served.
    pub enable_profiling: bool,
    /// No effect.
    pub enable_contention_profiling: bool,
}

/// The controllers that migrate.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LeaderMigrationConfiguration {
    /// The name of the second lock.
    pub leader_name: String,
    /// The kind of the second lock.
    pub resource_lock: String,
    /// The controllers, each with the program that runs it.
    pub controller_leaders: Option<Vec<ControllerLeader>>,
}

impl GenericConfiguration {
    pub(super) fn new(options: &Options) -> Self {
        let generic = &options.generic;
        Self {
            port: 0,
            address: "0.0.0.0".to_owned(),
            min_resync_period: generic.min_resync_period,
            client_connection: ClientConnectionConfiguration::new(options),
            controller_start_interval: generic.controller_start_interval,
            leader_election: LeaderElectionConfiguration::new(&generic.leader_election),
            controllers: super::list(&options.controllers()),
            debugging: DebuggingConfiguration::new(&options.debugging),
            leader_migration_enabled: options.leader_migration.enabled.is_on(),
            leader_migration: options
                .migration
                .as_ref()
                .map(LeaderMigrationConfiguration::new)
                .unwrap_or_default(),
        }
    }
}

impl ClientConnectionConfiguration {
    fn new(options: &Options) -> Self {
        let client = &options.generic.client;
        Self {
            kubeconfig: options.misc.kubeconfig.clone(),
            accept_content_types: String::new(),
            content_type: client.content_type.clone(),
            qps: client.qps.nominal(),
            burst: client.burst.nominal(),
        }
    }
}

impl LeaderElectionConfiguration {
    fn new(election: &LeaderElection) -> Self {
        let LeaderElection {
            elect,
            lease_duration,
            renew_deadline,
            retry_period,
            resource_lock,
            resource_name,
            resource_namespace,
        } = election;
        Self {
            leader_elect: elect.is_on(),
            lease_duration: *lease_duration,
            renew_deadline: *renew_deadline,
            retry_period: *retry_period,
            resource_lock: resource_lock.clone(),
            resource_name: resource_name.clone(),
            resource_namespace: resource_namespace.clone(),
        }
    }
}

impl DebuggingConfiguration {
    fn new(debugging: &Debugging) -> Self {
        let Debugging {
            profiling,
            contention_profiling,
        } = debugging;
        Self {
            enable_profiling: profiling.is_on(),
            enable_contention_profiling: contention_profiling.is_on(),
        }
    }
}

impl LeaderMigrationConfiguration {
    fn new(migration: &leader_migration::Config) -> Self {
        let leader_migration::Config {
            leader_name,
            resource_lock,
            controller_leaders,
        } = migration;
        Self {
            leader_name: leader_name.clone(),
            resource_lock: resource_lock.clone(),
            controller_leaders: Some(controller_leaders.clone()),
        }
    }
}
