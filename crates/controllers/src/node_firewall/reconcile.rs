//! Reconciles the firewall with the Services. Safe to run again at any point.

use super::{Context, PERIOD, spec};
use crate::{cloud_call, requeue};
use runtime::{health::Pulse, queue::Next};
use std::time::Duration;
use tracing::warn;

/// The deadline of one call to the cloud.
const DEADLINE: Duration = Duration::from_mins(1);

impl Context {
    /// Opens the ports of all Services, and closes all others.
    pub(super) async fn reconcile(&self) -> Next {
        let Some(firewall) = self.provider.node_firewall() else {
            return Next::Done;
        };
        let services = spec::exposed(&self.services.store(), &self.cluster);
        self.pulse.begin();
        let opened = firewall.open(&services);
        let answer = cloud_call::single("open the firewall of the nodes", DEADLINE, opened).await;
        next(answer, &self.pulse)
    }
}

pub(super) fn next(answer: cloud::Result<()>, pulse: &Pulse) -> Next {
    let Err(error) = answer else {
        pulse.success();
        return Next::Poll(PERIOD);
    };
    warn!(error = error.report(), "cannot open the firewall of the nodes");
    pulse.failure(error.report());
    requeue::after(error.retry(), Next::Poll(PERIOD))
}
