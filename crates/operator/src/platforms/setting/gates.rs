//! The feature gates of the cluster that are passed to the managers.

use operator_api::{ClusterVersion, FeatureGate};

/// The gates that the library of the Go managers knows, as of Kubernetes 1.36. A manager does not start with any other gate.
pub const KNOWN: [&str; 3] = [
    "CloudControllerManagerWatchBasedRoutesReconciliation",
    "CloudControllerManagerWebhook",
    "ControllerManagerReleaseLeaderElectionLockOnExit",
];

/// The version of a build that is not a release: the version of the cluster counts.
const SNAPSHOT: &str = "0.0.1-snapshot";

/// The `FeatureGate` has no entry for this version yet: it is retried.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "FeatureGate cluster has no entry for version {version:?}, only for {}",
    listed(known)
)]
pub struct NoEntry {
    version: String,
    known: Vec<String>,
}

/// The enabled gates of this release, in the order of the `FeatureGate`.
///
/// # Errors
/// If there is no entry for the release.
pub fn enabled(
    gate: &FeatureGate,
    release: &str,
    cluster_version: Option<&ClusterVersion>,
) -> Result<Vec<String>, NoEntry> {
    let version = match release {
        SNAPSHOT => cluster_version.and_then(version_of).unwrap_or(release),
        release => release,
    };
    let no_entry = || NoEntry {
        version: version.to_owned(),
        known: gate
            .status
            .feature_gates
            .iter()
            .map(|details| details.version.clone())
            .collect(),
    };
    let details = gate.details(version).ok_or_else(no_entry)?;
    Ok(details.enabled.iter().map(|gate| gate.name.clone()).collect())
}

/// The value of `--feature-gates`: the enabled gates that a manager knows.
pub fn passed(enabled: &[String]) -> String {
    let known = enabled.iter().filter(|gate| KNOWN.contains(&gate.as_str()));
    known.map(|gate| format!("{gate}=true")).collect::<Vec<_>>().join(",")
}

/// The version that the cluster is being updated to; otherwise the last one that it was updated to.
fn version_of(cluster: &ClusterVersion) -> Option<&str> {
    let newest = cluster.status.history.first().map(|update| update.version.as_str());
    [Some(cluster.status.desired.version.as_str()), newest]
        .into_iter()
        .flatten()
        .find(|version| !version.is_empty())
}

fn listed(known: &[String]) -> String {
    match known {
        [] => "none".to_owned(),
        known => known.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use operator_api::{cluster_version, feature_gate};
    use rstest::rstest;

    /// `version: gate gate; version: gate`
    fn feature_gate(text: &str) -> FeatureGate {
        let details = text.split("; ").filter_map(|entry| entry.split_once(':'));
        let details = details.map(|(version, gates)| feature_gate::Details {
            version: version.to_owned(),
            enabled: gates
                .split_whitespace()
                .map(|name| feature_gate::Gate { name: name.to_owned() })
                .collect(),
            disabled: vec![feature_gate::Gate { name: "Off".to_owned() }],
        });
        let feature_gates = details.collect();
        FeatureGate {
            status: feature_gate::Status { feature_gates },
            ..FeatureGate::default()
        }
    }

    fn cluster_version(desired: &str, history: &[&str]) -> ClusterVersion {
        let update = |version: &&str| cluster_version::Update {
            version: (*version).to_owned(),
            ..Default::default()
        };
        let mut cluster = ClusterVersion::default();
        cluster.status.desired.version = desired.to_owned();
        cluster.status.history = history.iter().map(update).collect();
        cluster
    }

    #[rstest]
    #[case::none(&[], "")]
    #[case::unknown_ones(&["VSphereMixedNodeEnv", "Whatever"], "")]
    #[case::the_known_one(&["A", "CloudControllerManagerWebhook", "B"], "CloudControllerManagerWebhook=true")]
    #[case::in_their_order(
        &["ControllerManagerReleaseLeaderElectionLockOnExit", "CloudControllerManagerWebhook"],
        "ControllerManagerReleaseLeaderElectionLockOnExit=true,CloudControllerManagerWebhook=true"
    )]
    fn passes(#[case] enabled: &[&str], #[case] flag: &str) {
        let enabled: Vec<_> = enabled.iter().map(|gate| (*gate).to_owned()).collect();
        assert_eq!(passed(&enabled), flag);
    }

    #[rstest]
    #[case::of_the_release("5.0: A B; 4.9: C", "5.0", None, Ok("A B"))]
    #[case::of_an_older_one("5.0: A B; 4.9: C", "4.9", None, Ok("C"))]
    #[case::no_entry(
        "5.0: A; 4.9:",
        "5.1",
        None,
        Err("has no entry for version \"5.1\", only for 5.0, 4.9")
    )]
    #[case::nothing_said("", "unknown", None, Err("has no entry for version \"unknown\", only for none"))]
    #[case::snapshot_of_desired("5.0: A", "0.0.1-snapshot", Some(("5.0", vec!["4.9"])), Ok("A"))]
    #[case::snapshot_of_history("4.9: C", "0.0.1-snapshot", Some(("", vec!["4.9", "4.8"])), Ok("C"))]
    #[case::snapshot_without_a_cluster("4.9: C", "0.0.1-snapshot", None, Err("for version \"0.0.1-snapshot\", only"))]
    fn chooses_an_entry(
        #[case] gate: &str,
        #[case] release: &str,
        #[case] cluster: Option<(&str, Vec<&str>)>,
        #[case] expected: Result<&str, &str>,
    ) {
        let cluster = cluster.map(|(desired, history)| cluster_version(desired, &history));
        match (enabled(&feature_gate(gate), release, cluster.as_ref()), expected) {
            (Ok(gates), expected) => assert_eq!(Ok(gates.join(" ").as_str()), expected),
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
            (error, expected) => panic!("{error:?} instead of {expected:?}"),
        }
    }
}
