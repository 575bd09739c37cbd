//! The conditions of the `ClusterOperator`.

use super::{World, kind};
use crate::{objects, process_fixture::Manager};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

impl World {
    /// The conditions: `Available=True …`, one per line, sorted.
    pub async fn conditions(&self) -> String {
        objects::conditions(&self.cluster_operator().await).join("\n")
    }

    /// The `ClusterOperator`; null if there is none.
    pub async fn cluster_operator(&self) -> Value {
        let found = self.get(&kind("ClusterOperator"), "", "cloud-controller-manager").await;
        found.unwrap_or_default()
    }

    /// Sets the related objects of the `ClusterOperator`.
    pub async fn set_related(&self, related: Value) {
        let operators = kind("ClusterOperator");
        let status = json!({"relatedObjects": related});
        self.set_status(&operators, "cloud-controller-manager", status).await;
    }

    /// Waits until a lasting failure is reported; returns the time that took, and the conditions.
    pub async fn degraded(&self, operator: &Manager) -> (Duration, String) {
        let since = Instant::now();
        loop {
            let conditions = self.conditions().await;
            if conditions.contains("\nDegraded=True") {
                return (since.elapsed(), conditions);
            }
            assert!(
                since.elapsed() < Duration::from_mins(7),
                "{conditions}{}",
                operator.log_tail()
            );
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    /// Waits until the conditions have all of these beginnings.
    pub async fn reports(&self, operator: &Manager, beginnings: &[&str]) -> String {
        let missing = |conditions: &str| {
            let there = |beginning: &&&str| !conditions.lines().any(|line| line.starts_with(**beginning));
            beginnings.iter().filter(there).copied().collect::<Vec<_>>().join(", ")
        };
        let look = async || {
            let conditions = self.conditions().await;
            match missing(&conditions).as_str() {
                "" => Ok(conditions),
                missing => Err(format!("{missing} is missing in\n{conditions}")),
            }
        };
        operator.until("the conditions", look).await
    }
}
