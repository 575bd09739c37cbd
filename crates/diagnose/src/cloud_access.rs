//! The cloud, as a manager with the same flags would use it.

use cloud::{Gate, LiveData, LiveSource, ObjectRef, Provider};
use k8s_openapi::{
    NamespaceResourceScope,
    api::core::v1::{ConfigMap, Namespace, Secret},
};
use kube::{Api, Client, ResourceExt};
use manager::{Provide, Setup};
use runtime::{client::explain, flags::Switch};
use std::sync::Arc;

/// The configuration may name other sources after each reload; more often than this is a mistake in it.
const RELOADS: usize = 4;

/// Whether a command may change the cloud.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writes {
    /// It may.
    Allowed,
    /// Every request that changes something is refused before it is sent.
    Refused,
}

/// The flags that select a cloud.
#[derive(Debug, Clone, Copy)]
pub struct Flags<'a> {
    /// `--cloud-provider`
    pub provider: &'a str,
    /// `--cloud-config`; empty if there is none.
    pub config: &'a str,
    /// `--allow-untagged-cloud`
    pub allow_untagged_cloud: Switch,
}

/// Why the cloud cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The configuration is invalid: one sentence of the provider.
    #[error("{0}")]
    Configuration(String),
    /// The configuration is partly in the cluster, and that part cannot be read.
    #[error("the configuration needs {what}: {reason}")]
    Source {
        /// The object.
        what: String,
        /// Why it cannot be read.
        reason: String,
    },
    /// The cloud rejected the configuration or does not answer.
    #[error("{}", .0.report())]
    Cloud(cloud::Error),
}

/// A cloud that has accepted its configuration, and the warnings about it.
pub struct Access {
    /// The cloud.
    pub provider: Arc<dyn Provider>,
    /// One sentence each.
    pub warnings: Vec<String>,
}

impl Access {
    /// Ends what the cloud keeps for this process, such as sessions. To be called after the last other call.
    pub async fn close(&self) {
        if let Some(live) = self.provider.live() {
            live.close().await;
        }
    }
}

/// Opens the cloud and authenticates. Parts of the configuration that are in the cluster are read with `client`.
///
/// # Errors
/// If the configuration is invalid or incomplete, or the cloud does not accept it.
pub async fn open(
    setup: &dyn Setup,
    flags: Flags<'_>,
    writes: Writes,
    client: Option<&Client>,
) -> Result<Access, Error> {
    let registry = prometheus::Registry::new();
    let provider = setup.provider(&Provide {
        name: flags.provider,
        config: flags.config,
        allow_untagged_cloud: flags.allow_untagged_cloud,
        gate: gate(writes),
        registry: &registry,
    });
    let provider = provider.map_err(Error::Configuration)?;
    let warnings = accept(provider.as_ref(), client).await?;
    Ok(Access { provider, warnings })
}

fn gate(writes: Writes) -> Gate {
    Arc::new(move || match writes {
        Writes::Allowed => Ok(()),
        Writes::Refused => Err(cloud::Error::NotLeader),
    })
}

/// Loads the configuration until it names no further sources.
async fn accept(provider: &dyn Provider, client: Option<&Client>) -> Result<Vec<String>, Error> {
    let Some(live) = provider.live() else {
        return Ok(Vec::new());
    };
    let mut warnings = Vec::new();
    for _ in 0..RELOADS {
        let sources = live.sources();
        let mut data = LiveData::default();
        for source in &sources {
            let client = client.ok_or_else(|| unreadable(source, "no cluster is given"))?;
            read(source, client, &mut data).await?;
        }
        warnings = live.reload(&data).await.map_err(Error::Cloud)?;
        if live.sources() == sources {
            break;
        }
    }
    Ok(warnings)
}

/// Adds the content of a source to the data. A missing `ConfigMap` that the manager would create has the content of that.
async fn read(source: &LiveSource, client: &Client, data: &mut LiveData) -> Result<(), Error> {
    let failed = |error: kube::Error| unreadable(source, &explain(&error));
    let missing = || unreadable(source, "it does not exist");
    match source {
        LiveSource::Secret(at) => {
            let secret = in_namespace::<Secret>(client, at).get_opt(&at.name).await;
            let secret = secret.map_err(failed)?.ok_or_else(missing)?;
            let values = secret.data.unwrap_or_default().into_iter();
            let values = values.map(|(key, value)| (key, value.0)).collect();
            data.secrets.insert(at.clone(), values);
        }
        LiveSource::ConfigMap { object: at, create } => {
            let found = in_namespace::<ConfigMap>(client, at).get_opt(&at.name).await;
            let found = found.map_err(failed)?.map(|map| map.data.unwrap_or_default());
            let values = found.or_else(|| create.clone()).ok_or_else(missing)?;
            data.config_maps.insert(at.clone(), values);
        }
        LiveSource::NamespaceUid(name) => {
            let namespaces: Api<Namespace> = Api::all(client.clone());
            let namespace = namespaces.get_opt(name).await.map_err(failed)?.ok_or_else(missing)?;
            data.namespace_uids
                .insert(name.clone(), namespace.uid().unwrap_or_default());
        }
    }
    Ok(())
}

fn in_namespace<K>(client: &Client, at: &ObjectRef) -> Api<K>
where
    K: kube::Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
{
    Api::namespaced(client.clone(), &at.namespace)
}

fn unreadable(source: &LiveSource, reason: &str) -> Error {
    let what = match source {
        LiveSource::Secret(at) => format!("Secret {at}"),
        LiveSource::ConfigMap { object: at, .. } => format!("ConfigMap {at}"),
        LiveSource::NamespaceUid(name) => format!("the UID of namespace {name}"),
    };
    Error::Source {
        what,
        reason: reason.to_owned(),
    }
}
