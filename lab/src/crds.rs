//! Custom resource definitions of a running control plane.

use crate::{
    ControlPlane,
    openshift::{self, Variant},
};
use anyhow::{Context, Result, bail};
use http::Request;
use serde_json::Value;
use std::time::Duration;

const PATH: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WITHIN: Duration = Duration::from_mins(4);

impl ControlPlane {
    /// Installs the `OpenShift` definitions of production clusters, and waits until the API server serves them. Safe to run
    /// again, also at the same time.
    ///
    /// # Errors
    /// If they cannot be fetched, or the API server refuses one.
    pub async fn install_openshift_crds(&self) -> Result<()> {
        self.install_crds(&openshift::crds(Variant::Default)?).await
    }

    /// Installs these definitions, YAML or JSON, and waits until the API server serves them. Safe to run again, also at the same
    /// time.
    ///
    /// # Errors
    /// If the API server refuses one, or does not serve it in time.
    pub async fn install_crds(&self, definitions: &[String]) -> Result<()> {
        let client = self.client();
        let mut applied = Vec::new();
        for definition in definitions {
            applied.push(apply(&client, definition).await?);
        }
        for crd in &applied {
            tokio::time::timeout(WITHIN, served(&client, crd))
                .await
                .with_context(|| format!("{} is not served after {} s", name(crd), WITHIN.as_secs()))??;
        }
        Ok(())
    }
}

/// The text goes to the API server as it is: server-side apply takes YAML.
async fn apply(client: &kube::Client, definition: &str) -> Result<Value> {
    let name = name_in(definition).context("a definition without metadata.name")?;
    let request = Request::patch(format!("{PATH}/{name}?fieldManager=outrigger-lab&force=true"))
        .header("Content-Type", "application/apply-patch+yaml")
        .body(definition.as_bytes().to_vec())?;
    client
        .request(request)
        .await
        .with_context(|| format!("cannot apply the definition {name}"))
}

/// An established definition may still be unknown to the part that serves its objects: only an answered list is proof.
async fn served(client: &kube::Client, crd: &Value) -> Result<()> {
    let text = |pointer: &str| {
        crd.pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let (group, plural) = (text("/spec/group"), text("/spec/names/plural"));
    let path = format!("/apis/{group}/{}/{plural}?limit=1", version(crd)?);
    while !(established(client, &name(crd)).await? && answers(client, &path).await?) {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

async fn established(client: &kube::Client, name: &str) -> Result<bool> {
    let live: Value = client
        .request(Request::get(format!("{PATH}/{name}")).body(Vec::new())?)
        .await?;
    let conditions = live["status"]["conditions"].as_array().cloned().unwrap_or_default();
    if let Some(refused) = conditions
        .iter()
        .find(|each| each["type"] == "NamesAccepted" && each["status"] == "False")
    {
        bail!("the API server does not accept {name}: {}", refused["message"]);
    }
    Ok(conditions
        .iter()
        .any(|each| each["type"] == "Established" && each["status"] == "True"))
}

async fn answers(client: &kube::Client, path: &str) -> Result<bool> {
    let request = Request::get(path).body(Vec::new())?;
    match client.request::<Value>(request).await {
        Ok(_) => Ok(true),
        // Not served yet, or its storage is being created.
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 429 | 503) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn version(crd: &Value) -> Result<String> {
    let versions = crd["spec"]["versions"].as_array().into_iter().flatten();
    let mut served = versions.filter(|version| version["served"] == true);
    let first = served.find_map(|version| version["name"].as_str());
    first
        .map(str::to_owned)
        .with_context(|| format!("{} serves no version", name(crd)))
}

fn name(crd: &Value) -> String {
    crd["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}

/// `metadata.name` of a definition as generators write it: YAML with its metadata at the usual depth, or JSON.
fn name_in(definition: &str) -> Option<String> {
    if let Ok(object) = serde_json::from_str::<Value>(definition) {
        return Some(name(&object)).filter(|name| !name.is_empty());
    }
    let metadata = definition.lines().skip_while(|line| *line != "metadata:").skip(1);
    let mut inside = metadata.take_while(|line| line.starts_with(' '));
    inside.find_map(|line| {
        line.strip_prefix("  name: ")
            .map(|name| name.trim_matches(['"', '\'']).to_owned())
    })
}
