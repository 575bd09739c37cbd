//! Leader election among replicas.

use super::generic::SECTION;
use runtime::flags::{GoDuration, Section, Switch};

/// Leader election among replicas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaderElection {
    /// Whether to take part in an election at all.
    pub elect: Switch,
    /// How long other replicas wait after the last renewal.
    pub lease_duration: GoDuration,
    /// How long a leader tries to renew before it stops.
    pub renew_deadline: GoDuration,
    /// Pause between attempts.
    pub retry_period: GoDuration,
    /// The kind of object used as the lock: only `leases`.
    pub resource_lock: String,
    /// The name of the lock.
    pub resource_name: String,
    /// The namespace of the lock.
    pub resource_namespace: String,
}

impl Default for LeaderElection {
    fn default() -> Self {
        Self {
            elect: Switch::On,
            lease_duration: GoDuration::from_secs(15),
            renew_deadline: GoDuration::from_secs(10),
            retry_period: GoDuration::from_secs(2),
            resource_lock: "leases".to_owned(),
            resource_name: "cloud-controller-manager".to_owned(),
            resource_namespace: "kube-system".to_owned(),
        }
    }
}

impl LeaderElection {
    pub(super) fn section(&mut self) -> Section<'_> {
        Section::new(SECTION)
            .flag(
                "leader-elect",
                &mut self.elect,
                "Elect a leader among the replicas, and work only while leading.",
            )
            .flag(
                "leader-elect-lease-duration",
                &mut self.lease_duration,
                "How long the other replicas wait after the leader's last renewal before one of them takes over.",
            )
            .flag(
                "leader-elect-renew-deadline",
                &mut self.renew_deadline,
                "How long the leader tries to renew before it stops leading. Must be less than the lease duration.",
            )
            .flag(
                "leader-elect-retry-period",
                &mut self.retry_period,
                "Pause between attempts to acquire or renew the lease.",
            )
            .flag(
                "leader-elect-resource-lock",
                &mut self.resource_lock,
                "Kind of object used as the lock. Only 'leases' is supported.",
            )
            .flag(
                "leader-elect-resource-name",
                &mut self.resource_name,
                "Name of the lock.",
            )
            .flag(
                "leader-elect-resource-namespace",
                &mut self.resource_namespace,
                "Namespace of the lock.",
            )
    }
}
