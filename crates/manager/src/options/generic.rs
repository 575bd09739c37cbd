//! The generic flags: the cloud, the controllers, the connection to the API server, leader election.

use super::{Cloud, LeaderElection};
use crate::controllers_flag::{self, Names};
use runtime::{
    feature_gates::{FeatureGates, Gate, Stage},
    flags::{Auto, GoDuration, Section, Strings, Switch},
    logging,
};

/// The gates of a cloud controller manager.
pub const GATES: [Gate; 5] = [
    Gate {
        name: WATCH_BASED_ROUTES,
        stage: Stage::Alpha,
        default: Switch::Off,
        effect: "routes follow changes of nodes only, --route-reconciliation-period is not used",
    },
    Gate {
        name: WEBHOOK,
        stage: Stage::Alpha,
        default: Switch::Off,
        effect: "none, this program has no webhooks to serve",
    },
    Gate {
        name: "ControllerManagerReleaseLeaderElectionLockOnExit",
        stage: Stage::Alpha,
        default: Switch::Off,
        effect: "none, the lease is always released on a clean stop",
    },
    Gate {
        name: "NativeHistograms",
        stage: Stage::Alpha,
        default: Switch::Off,
        effect: "none",
    },
    Gate {
        name: REQUEST_HEADER_UID,
        stage: Stage::Beta,
        default: Switch::On,
        effect: "allows --requestheader-uid-headers",
    },
];

/// The gate of the Go framework that triggers route reconciliation by node changes.
pub const WATCH_BASED_ROUTES: &str = "CloudControllerManagerWatchBasedRoutesReconciliation";
/// The gate of the Go framework that starts its webhook server, if a provider has webhooks.
pub const WEBHOOK: &str = "CloudControllerManagerWebhook";
/// The gate that allows `--requestheader-uid-headers`.
pub const REQUEST_HEADER_UID: &str = "RemoteRequestHeaderUID";

/// The section "Generic flags".
#[derive(Debug, Clone, PartialEq)]
pub struct Generic {
    /// The controllers to run, as given: aliases are not resolved.
    pub controllers: Strings,
    /// The names that `--controllers` accepts. Not a flag: a provider adds aliases, or includes more in `*`, as its Go program does.
    pub known_controllers: Names<'static>,
    /// Pause between the starts of controllers, up to doubled at random.
    pub controller_start_interval: GoDuration,
    /// Informers resync after a random time between this and twice this.
    pub min_resync_period: GoDuration,
    /// Features switched on or off.
    pub feature_gates: FeatureGates,
    /// The connection to the API server.
    pub client: ClientConnection,
    /// Leader election.
    pub leader_election: LeaderElection,
    /// The cloud and its settings.
    pub cloud: Cloud,
}

/// The connection to the API server.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientConnection {
    /// The content type of requests. This program always uses JSON.
    pub content_type: String,
    /// Requests a second.
    pub qps: Auto<f32>,
    /// Requests at once before the limit of requests a second applies.
    pub burst: Auto<i32>,
}

impl Default for Generic {
    fn default() -> Self {
        Self {
            controllers: Strings::from(["*"]),
            known_controllers: controllers_flag::controllers(),
            controller_start_interval: GoDuration::ZERO,
            min_resync_period: GoDuration::from_secs(12 * 60 * 60),
            feature_gates: FeatureGates::new(&[&GATES, &logging::GATES]),
            client: ClientConnection::default(),
            leader_election: LeaderElection::default(),
            cloud: Cloud::default(),
        }
    }
}

impl Default for ClientConnection {
    fn default() -> Self {
        Self {
            content_type: "application/vnd.kubernetes.protobuf".to_owned(),
            qps: Auto::Unset(20.0),
            burst: Auto::Unset(30),
        }
    }
}

/// All of these groups are one section.
pub(super) const SECTION: &str = "generic";

impl Generic {
    pub(super) fn sections(&mut self) -> Vec<Section<'_>> {
        let Self {
            controllers,
            known_controllers,
            controller_start_interval,
            min_resync_period,
            feature_gates,
            client,
            leader_election,
            cloud,
        } = self;
        let gates = feature_gates.help();
        let own = Section::new(SECTION)
            .flag("controllers", controllers, known_controllers.help())
            .flag(
                "controller-start-interval",
                controller_start_interval,
                "Pause between the starts of controllers, up to doubled at random.",
            )
            .flag(
                "min-resync-period",
                min_resync_period,
                "Resync period of informers. (No effect: control loops that need one have their own period.)",
            )
            .flag("feature-gates", feature_gates, gates);
        vec![own, client.section(), leader_election.section(), cloud.section()]
    }
}

impl ClientConnection {
    fn section(&mut self) -> Section<'_> {
        Section::new(SECTION)
            .flag(
                "kube-api-content-type",
                &mut self.content_type,
                "Content type of requests to the API server. (No effect: requests are always JSON.)",
            )
            .flag(
                "kube-api-qps",
                &mut self.qps,
                "Requests a second to the API server. If not given there is no fixed rate: requests in \
                 flight are limited, and the API server is obeyed when it asks to slow down.",
            )
            .flag(
                "kube-api-burst",
                &mut self.burst,
                "Requests to the API server at once before --kube-api-qps applies. If not given there is \
                 no fixed number.",
            )
    }
}
