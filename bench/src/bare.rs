//! The floor: a loop that does nothing but the same two patches.

use crate::fixture::Fixture;
use anyhow::Result;
use futures::{StreamExt, TryStreamExt, stream};
use kube::api::{Patch, PatchParams};
use serde_json::json;
use std::time::{Duration, Instant};

const AT_ONCE: usize = 64;

/// How long it takes to patch status and spec of each node once, with the same onlooker as for the programs.
pub async fn initialise(fixture: &Fixture, names: &[String]) -> Result<Duration> {
    let start = Instant::now();
    tokio::try_join!(patches(fixture, names), fixture.initialised(|| Ok(())))?;
    Ok(start.elapsed())
}

async fn patches(fixture: &Fixture, names: &[String]) -> Result<()> {
    stream::iter(names)
        .map(|name| async move {
            let api = fixture.nodes();
            let status = json!({"status": {"addresses": [
                {"type": "Hostname", "address": name}, {"type": "InternalIP", "address": "10.1.2.3"},
            ]}});
            api.patch_status(name, &PatchParams::default(), &Patch::Strategic(status))
                .await?;
            let spec = json!({
                "metadata": {"labels": {
                    "topology.kubernetes.io/zone": "z", "failure-domain.beta.kubernetes.io/zone": "z",
                    "topology.kubernetes.io/region": "r", "failure-domain.beta.kubernetes.io/region": "r",
                    "node.kubernetes.io/instance-type": "t", "beta.kubernetes.io/instance-type": "t",
                }},
                "spec": {"providerID": format!("memory://{name}"), "taints": null},
            });
            api.patch(name, &PatchParams::default(), &Patch::Merge(spec)).await?;
            Ok::<_, anyhow::Error>(())
        })
        .buffer_unordered(AT_ONCE)
        .try_collect()
        .await
}
