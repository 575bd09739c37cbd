//! All flags: those of the Go framework with its names, defaults and sections, and a few additional ones.

mod auth;
mod cidrs;
mod cloud;
mod controllers;
mod generic;
mod leader_election;
mod orphans;
mod outrigger;
mod selector;
mod serving;

pub use auth::{Authentication, Authorization, RequestHeader};
pub use cidrs::{Cidrs, PrefixLength};
pub use cloud::Cloud;
pub use controllers::{
    Debugging, LeaderMigration, NodeController, NodeIpamController, NodeLifecycleController, ServiceController,
};
pub use generic::{ClientConnection, GATES, Generic, REQUEST_HEADER_UID, WATCH_BASED_ROUTES, WEBHOOK};
pub use leader_election::LeaderElection;
pub use orphans::Orphans;
pub use outrigger::{Fraction, Outrigger};
pub use selector::NodeSelector;
pub use serving::{SecureServing, Serving, SniPairs, Webhook};

use crate::validate;
use runtime::{
    flags::{GoDuration, Parsed, Problems, Section, Set, Show, Switch, Version},
    leader_migration::{self, Election, Migration},
    logging, version,
};
use std::path::Path;

const ABOUT: &str = "The cloud controller manager is a daemon that embeds the cloud specific control loops\n\
                     that a Kubernetes cluster needs: for nodes, routes and load balancers.";

/// All flags.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Options {
    /// The cloud, the controllers, the connection to the API server, leader election.
    pub generic: Generic,
    /// Debugging.
    pub debugging: Debugging,
    /// Leader migration.
    pub leader_migration: LeaderMigration,
    /// The cloud-node-controller.
    pub node: NodeController,
    /// The cloud-node-lifecycle-controller.
    pub node_lifecycle: NodeLifecycleController,
    /// The node-ipam-controller.
    pub node_ipam: NodeIpamController,
    /// The service-lb-controller.
    pub service: ServiceController,
    /// Admission webhooks and their port.
    pub webhook: Webhook,
    /// The secure port.
    pub secure_serving: SecureServing,
    /// Authentication on the secure port.
    pub authentication: Authentication,
    /// Authorization on the secure port.
    pub authorization: Authorization,
    /// The API server.
    pub misc: Misc,
    /// Flags that the Go framework does not have.
    pub outrigger: Outrigger,
    /// Logging.
    pub logging: logging::Options,
    /// `--help` and `--version`.
    pub global: Global,
    /// The migration file, or its default; `None` if no controller migrates.
    pub migration: Option<leader_migration::Config>,
    /// The given flags, and warnings.
    pub parsed: Parsed,
}

/// The section "Misc flags".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misc {
    /// The kubeconfig; if empty, the in-cluster configuration is used.
    pub kubeconfig: String,
    /// The address of the API server; overrides the kubeconfig.
    pub master: String,
    /// Time between updates of nodes' addresses.
    pub node_status_update_frequency: GoDuration,
}

/// The flags of every program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Global {
    /// `--help`.
    pub help: Switch,
    /// `--version`.
    pub version: Version,
}

/// The task of a command line.
#[derive(Debug)]
pub enum Invocation {
    /// Run the manager.
    Run(Box<Options>),
    /// Print this and exit with 0.
    Print(String),
}

impl Default for Misc {
    fn default() -> Self {
        Self {
            kubeconfig: String::new(),
            master: String::new(),
            node_status_update_frequency: GoDuration::from_secs(300),
        }
    }
}

impl Misc {
    fn section(&mut self) -> Section<'_> {
        Section::new("misc")
            .flag(
                "kubeconfig",
                &mut self.kubeconfig,
                "Path to a kubeconfig file. If empty, the in-cluster configuration is used.",
            )
            .flag(
                "master",
                &mut self.master,
                "Address of the API server; overrides the one in the kubeconfig.",
            )
            .flag(
                "node-status-update-frequency",
                &mut self.node_status_update_frequency,
                "Time between updates of nodes' addresses.",
            )
    }
}

impl Global {
    fn section(&mut self) -> Section<'_> {
        Section::new("global")
            .short('h', "help", &mut self.help, "Show all flags.")
            .flag(
                "version",
                &mut self.version,
                "--version, --version=raw prints version information and quits; --version=vX.Y.Z... is accepted \
                 without effect",
            )
    }
}

impl Options {
    /// Parses and validates a command line (without the program's name), with the defaults of the Go framework.
    ///
    /// # Errors
    /// As [`Options::parse_over`].
    pub fn parse<A: Into<String>>(
        program: &str,
        args: impl IntoIterator<Item = A>,
        extra: Vec<Section<'_>>,
        around: impl FnOnce(&Self) -> Problems,
    ) -> Result<Invocation, Problems> {
        Self::default().parse_over(program, args, extra, around)
    }

    /// Parses and validates a command line (without the program's name); `self` has the defaults.
    ///
    /// `extra` are the sections of the providers. `around` checks files and other things that the flags refer to; its
    /// problems are reported with the others.
    ///
    /// # Errors
    /// All problems, at once.
    pub fn parse_over<A: Into<String>>(
        self,
        program: &str,
        args: impl IntoIterator<Item = A>,
        extra: Vec<Section<'_>>,
        around: impl FnOnce(&Self) -> Problems,
    ) -> Result<Invocation, Problems> {
        let mut options = self;
        let set = options.set(program, extra);
        let help = set.help(Show::for_stdout());
        options.parsed = set.parse_all(args);
        let mut problems = std::mem::take(&mut options.parsed.unknown);
        if let Some(text) = options.to_print(help) {
            return problems.or(Invocation::Print(text));
        }
        problems.append(std::mem::take(&mut options.parsed.problems));
        problems.append(validate::validate(&options));
        options.parsed.warnings.extend(validate::warnings(&options));
        problems.check(options.resolve_migration());
        problems.append(around(&options));
        problems.or(Invocation::Run(Box::new(options)))
    }

    /// All flags, borrowed from the options, in the order of sections of the Go framework.
    pub fn set<'a>(&'a mut self, program: &str, extra: Vec<Section<'a>>) -> Set<'a> {
        let mut sections = vec![self.debugging.section(), self.leader_migration.section()];
        sections.extend(self.generic.sections());
        sections.extend([
            self.node.section(),
            self.node_lifecycle.section(),
            self.node_ipam.section(),
        ]);
        sections.push(self.service.section());
        sections.extend(self.webhook.sections());
        sections.push(self.secure_serving.section());
        sections.extend(self.authentication.sections());
        sections.extend([
            self.authorization.section(),
            self.misc.section(),
            self.outrigger.section(),
        ]);
        sections.extend(extra);
        sections.push(self.logging.flags(self.global.section()));
        Set::new(program, ABOUT, sections)
    }

    /// The value of `--controllers`, with aliases replaced by names.
    pub fn controllers(&self) -> Vec<String> {
        self.generic.known_controllers.resolve(&self.generic.controllers)
    }

    /// Whether a controller is enabled, by its name.
    pub fn wants(&self, controller: &str) -> bool {
        self.generic.known_controllers.wants(&self.controllers(), controller)
    }

    /// Reads the migration file, so that its problems are reported with the others.
    fn resolve_migration(&mut self) -> Result<(), String> {
        let election = if self.generic.leader_election.elect.is_on() {
            Election::Enabled
        } else {
            Election::Disabled
        };
        let migration = if self.leader_migration.enabled.is_on() {
            Migration::Enabled
        } else {
            Migration::Disabled
        };
        let file = Path::new(&self.leader_migration.config);
        let resolved = leader_migration::resolve(election, migration, Some(file));
        let resolved = resolved.map_err(|error| format!("--leader-migration-config: {}", logging::chain(&error)))?;
        self.parsed.warnings.extend(resolved.warnings);
        self.migration = resolved.config;
        Ok(())
    }

    fn to_print(&self, help: String) -> Option<String> {
        match self.global.version {
            _ if self.global.help.is_on() => Some(help),
            Version::Print => Some(format!("Outrigger {}\n", version::Info::current())),
            Version::Raw => Some(format!("{}\n", version::Info::current().raw())),
            Version::Run => None,
        }
    }
}

/// All flags, including those of the providers, as a page of Markdown for the reference.
#[must_use]
pub fn reference(extra: Vec<Section<'_>>) -> String {
    Options::default().set("cloud-controller-manager", extra).reference()
}

#[cfg(test)]
mod tests;
