//! Everything a user can set, with upstream's names, defaults and sections, and a few flags of our own.

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

/// Everything a user can set.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Options {
    /// Which cloud, which controllers, how to talk to the API server, who leads.
    pub generic: Generic,
    /// What is served for debugging.
    pub debugging: Debugging,
    /// Moving controllers between controller managers.
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
    /// Who users of the secure port are.
    pub authentication: Authentication,
    /// What users of the secure port may do.
    pub authorization: Authorization,
    /// Where the API server is.
    pub misc: Misc,
    /// What the original program does not have.
    pub outrigger: Outrigger,
    /// How to log.
    pub logging: logging::Options,
    /// `--help` and `--version`.
    pub global: Global,
    /// What the migration file says, or its default; `None` if nothing migrates.
    pub migration: Option<leader_migration::Config>,
    /// Which flags were given, and what to warn of.
    pub parsed: Parsed,
}

/// The section "Misc flags".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misc {
    /// How to reach the API server; empty for the way of a pod in a cluster.
    pub kubeconfig: String,
    /// The API server's address, instead of the kubeconfig's.
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

/// What a command line asks for.
#[derive(Debug)]
pub enum Invocation {
    /// To run.
    Run(Box<Options>),
    /// To print this and exit with 0.
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
                "Path of a kubeconfig file. Empty for the way of a pod in a cluster.",
            )
            .flag(
                "master",
                &mut self.master,
                "Address of the API server, instead of the kubeconfig's.",
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
                "--version, --version=raw prints version information and quits; --version=vX.Y.Z... sets \
                 the reported version",
            )
    }
}

impl Options {
    /// Parses and validates a command line (without the program's name), with upstream's defaults.
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
    /// `extra` are the sections of the providers. `around` checks what the flags refer to, for example files; its problems are
    /// reported with the others.
    ///
    /// # Errors
    /// Everything that is wrong, at once.
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

    /// All flags, borrowed from the options, in upstream's order of sections.
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

    /// The controllers asked for, aliases replaced by names.
    pub fn controllers(&self) -> Vec<String> {
        self.generic.known_controllers.resolve(&self.generic.controllers)
    }

    /// Whether a controller is wanted, by its name.
    pub fn wants(&self, controller: &str) -> bool {
        self.generic.known_controllers.wants(&self.controllers(), controller)
    }

    /// The version to report, as `--version=v…` may ask for.
    pub fn version(&self) -> version::Info {
        let built = version::Info::current();
        match &self.global.version {
            Version::Report(version) => built.clone().reported_as(version).unwrap_or(built),
            _ => built,
        }
    }

    /// Reads the migration file, so that what is wrong with it is reported with the rest.
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
            Version::Print => Some(format!("Outrigger {}\n", self.version())),
            Version::Raw => Some(format!("{}\n", self.version().raw())),
            Version::Run | Version::Report(_) => None,
        }
    }
}

/// All flags, and those that providers bring, as a page of Markdown, for the reference in the documentation.
#[must_use]
pub fn reference(extra: Vec<Section<'_>>) -> String {
    Options::default().set("cloud-controller-manager", extra).reference()
}

#[cfg(test)]
mod tests;
