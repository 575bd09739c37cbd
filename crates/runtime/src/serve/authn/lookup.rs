//! Client CA configuration of the cluster: the `ConfigMap` `kube-system/extension-apiserver-authentication`.

use crate::{
    client::explain,
    informer::{Change, Informer},
    logging::chain,
    serve::trust::{Authority, BundleError, HeaderNames, Proxy, Trust},
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client, runtime::watcher};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::{sync::watch, time::timeout};
use tokio_util::sync::CancellationToken;

const NAMESPACE: &str = "kube-system";
const NAME: &str = "extension-apiserver-authentication";
/// The maximum time of a request.
const TIMEOUT: Duration = Duration::from_secs(10);
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(15);

/// Whether settings that are not in files are read from the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup {
    /// They are not (`--authentication-skip-lookup`).
    Skip,
    /// They are. If that is forbidden, the authenticator is not ready, and retries.
    Required,
    /// They are. If that is forbidden, client certificates are not trusted (`--authentication-tolerate-lookup-failure`).
    Tolerated,
}

/// The `ConfigMap` and the parts that are used of it.
pub(super) struct Cluster {
    api: Api<ConfigMap>,
    lookup: Lookup,
    wanted: Wanted,
    trust: Arc<watch::Sender<Trust>>,
    problem: watch::Sender<Option<String>>,
}

/// The parts that are not in files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The certificate authorities of client certificates.
    Client,
    /// The front proxy.
    Proxy,
    /// Both.
    Both,
}

/// Why the `ConfigMap` cannot be used.
#[derive(Debug, thiserror::Error)]
enum ContentError {
    #[error("{key} cannot be used")]
    Bundle { key: &'static str, source: BundleError },
    #[error("{key} is not a list of strings")]
    List {
        key: &'static str,
        source: serde_json::Error,
    },
}

impl Cluster {
    /// `None` if all parts are in files, or there is no client.
    pub(super) fn new(
        client: Option<Client>,
        lookup: Lookup,
        trust: &Arc<watch::Sender<Trust>>,
        wanted: Option<Wanted>,
    ) -> Option<Self> {
        let wanted = wanted.filter(|_| lookup != Lookup::Skip)?;
        let Some(client) = client else {
            tracing::warn!(
                "no authentication kubeconfig to load the client CA configuration with; client certificates are not trusted"
            );
            return None;
        };
        let api = Api::namespaced(client, NAMESPACE);
        let problem = watch::Sender::new(Some("client CA configuration has not been loaded yet".to_owned()));
        Some(Self {
            api,
            lookup,
            wanted,
            trust: trust.clone(),
            problem,
        })
    }

    /// Why it is not loaded; `None` once it is.
    pub(super) fn problem(&self) -> watch::Receiver<Option<String>> {
        self.problem.subscribe()
    }

    /// Loads it, retrying until the API server answers, and watches it until cancelled.
    pub(super) async fn run(&self, cancel: CancellationToken) {
        if cancel.run_until_cancelled(self.first()).await.is_none() {
            return;
        }
        let only_this = watcher::Config::default().fields(&format!("metadata.name={NAME}"));
        let informer = Informer::new(self.api.clone(), only_this, |_| {});
        let (trust, wanted) = (self.trust.clone(), self.wanted);
        informer.on_change(move |change| match change {
            Change::Added(map) | Change::Updated { new: map, .. } => apply(&trust, wanted, map),
            // The last known certificate authorities stay trusted.
            Change::Deleted(_) => {}
        });
        informer.run(cancel).await;
    }

    async fn first(&self) {
        let mut wait = FIRST_WAIT;
        while let Err(problem) = self.load().await {
            self.waiting(&problem);
            tokio::time::sleep(wait).await;
            wait = LONGEST_WAIT.min(wait * 2);
        }
        self.problem.send_replace(None);
    }

    /// Loads it once; the error is the reason to retry.
    async fn load(&self) -> Result<(), String> {
        match timeout(TIMEOUT, self.api.get_opt(NAME)).await {
            Ok(Ok(Some(map))) => apply(&self.trust, self.wanted, &map),
            Ok(Ok(None)) => tracing::warn!(namespace = NAMESPACE, name = NAME, "the ConfigMap does not exist yet"),
            Ok(Err(kube::Error::Api(status))) if matches!(status.code, 401 | 403) => self.forbidden(&status.message)?,
            Ok(Err(error)) => return Err(explain(&error)),
            Err(_) => return Err(format!("no answer within {}s", TIMEOUT.as_secs())),
        }
        Ok(())
    }

    /// This can be temporary: a Role can be granted later, and an API server that is starting forbids every request.
    fn forbidden(&self, answer: &str) -> Result<(), String> {
        let reason = format!(
            "may not get configmaps {NAME} in {NAMESPACE}: bind this identity to the Role \
             extension-apiserver-authentication-reader there, or set --authentication-tolerate-lookup-failure: {answer}"
        );
        if self.lookup != Lookup::Tolerated {
            return Err(reason);
        }
        tracing::warn!(
            reason,
            "continuing without client CA configuration; client certificates are not trusted"
        );
        Ok(())
    }

    fn waiting(&self, problem: &str) {
        let problem = format!("client CA configuration cannot be loaded: {problem}");
        let before = self.problem.send_replace(Some(problem.clone()));
        if before.as_ref() != Some(&problem) {
            tracing::warn!(problem, "client certificates are not trusted yet; retrying");
        }
    }
}

/// Applies the valid changes; keeps the previous value of a part that is invalid.
fn apply(trust: &watch::Sender<Trust>, wanted: Wanted, map: &ConfigMap) {
    let empty = BTreeMap::new();
    let data = map.data.as_ref().unwrap_or(&empty);
    let broken = |error: ContentError| {
        let problem = chain(&error).to_string();
        tracing::warn!(
            problem,
            name = NAME,
            "cannot use the ConfigMap; keeping its previous content"
        );
    };
    if wanted != Wanted::Proxy {
        let now = trust.borrow().client.clone();
        match authority(data, "client-ca-file", now.as_ref()) {
            Ok(Some(authority)) => trust.send_modify(|trust| trust.client = Some(authority)),
            Ok(None) => {}
            Err(error) => broken(error),
        }
    }
    if wanted != Wanted::Client {
        let now = trust.borrow().proxy.clone();
        match proxy(data, now.as_deref()) {
            Ok(Some(proxy)) => trust.send_modify(|trust| trust.proxy = Some(Arc::new(proxy))),
            Ok(None) => {}
            Err(error) => broken(error),
        }
    }
}

type Data = BTreeMap<String, String>;

/// The certificate authorities under a key, if they have changed. An empty bundle is ignored.
fn authority(
    data: &Data,
    key: &'static str,
    now: Option<&Arc<Authority>>,
) -> Result<Option<Arc<Authority>>, ContentError> {
    let pem = data.get(key).map(String::as_bytes).unwrap_or_default();
    if pem.is_empty() || now.is_some_and(|authority| authority.is(pem)) {
        return Ok(None);
    }
    let authority = Authority::parse(pem).map_err(|source| ContentError::Bundle { key, source })?;
    tracing::info!(key, "loaded new client certificate authorities from the cluster");
    Ok(Some(Arc::new(authority)))
}

fn proxy(data: &Data, now: Option<&Proxy>) -> Result<Option<Proxy>, ContentError> {
    let new = authority(data, "requestheader-client-ca-file", now.map(|proxy| &proxy.authority))?;
    let Some(authority) = new.clone().or_else(|| now.map(|proxy| proxy.authority.clone())) else {
        return Ok(None);
    };
    let names = HeaderNames {
        allowed_names: list(data, "requestheader-allowed-names")?,
        username: list(data, "requestheader-username-headers")?,
        uid: list(data, "requestheader-uid-headers")?,
        group: list(data, "requestheader-group-headers")?,
        extra_prefix: list(data, "requestheader-extra-headers-prefix")?,
    };
    let same = new.is_none() && now.is_some_and(|proxy| proxy.names == names);
    Ok((!same).then_some(Proxy { authority, names }))
}

fn list(data: &Data, key: &'static str) -> Result<Vec<String>, ContentError> {
    match data.get(key).map(String::as_str) {
        None | Some("") => Ok(Vec::new()),
        Some(text) => serde_json::from_str(text).map_err(|source| ContentError::List { key, source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};

    const BOTH: Wanted = Wanted::Both;

    fn bundle() -> String {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().pem()
    }

    fn map(entries: &[(&str, &str)]) -> ConfigMap {
        let data = entries
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        ConfigMap {
            data: Some(data),
            ..ConfigMap::default()
        }
    }

    #[test]
    fn applies_valid_changes_and_keeps_the_rest() {
        let trust = watch::Sender::new(Trust::default());
        apply(&trust, BOTH, &map(&[]));
        assert!(trust.borrow().client.is_none() && trust.borrow().proxy.is_none());

        let (first, second) = (bundle(), bundle());
        let users = ("requestheader-username-headers", r#"["X-Remote-User"]"#);
        let complete = [
            ("client-ca-file", first.as_str()),
            ("requestheader-client-ca-file", &first),
            users,
        ];
        apply(&trust, BOTH, &map(&complete));
        let before = trust.borrow().clone();
        assert_eq!(before.proxy.as_ref().unwrap().names.username, ["X-Remote-User"]);
        assert!(before.client.as_ref().unwrap().is(first.as_bytes()));

        for broken in [
            "",
            "nonsense",
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        ] {
            apply(
                &trust,
                BOTH,
                &map(&[
                    ("client-ca-file", broken),
                    ("requestheader-client-ca-file", broken),
                    users,
                ]),
            );
            assert!(
                Arc::ptr_eq(trust.borrow().client.as_ref().unwrap(), before.client.as_ref().unwrap()),
                "{broken:?}"
            );
            assert!(
                Arc::ptr_eq(trust.borrow().proxy.as_ref().unwrap(), before.proxy.as_ref().unwrap()),
                "{broken:?}"
            );
        }

        apply(
            &trust,
            BOTH,
            &map(&[("client-ca-file", &second), ("requestheader-client-ca-file", &first)]),
        );
        assert!(trust.borrow().client.as_ref().unwrap().is(second.as_bytes()));
        let proxy = trust.borrow().proxy.clone().unwrap();
        assert!(proxy.names.username.is_empty() && proxy.authority.is(first.as_bytes()));
    }

    #[test]
    fn ignores_parts_that_come_from_files() {
        let trust = watch::Sender::new(Trust::default());
        let pem = bundle();
        let complete = map(&[("client-ca-file", &pem), ("requestheader-client-ca-file", &pem)]);
        apply(&trust, Wanted::Proxy, &complete);
        assert!(trust.borrow().client.is_none() && trust.borrow().proxy.is_some());
    }
}
