//! Client CA configuration from files.

use super::{Error, lookup::Wanted};
use crate::{
    logging::chain,
    serve::trust::{Authority, HeaderNames, Proxy, Trust},
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// The files of the client CA configuration.
pub(super) struct Files {
    pub(super) client: Option<PathBuf>,
    pub(super) proxy: Option<(PathBuf, HeaderNames)>,
    pub(super) reload: Duration,
}

impl Files {
    /// The parts that no file contains.
    pub(super) fn wanted(&self) -> Option<Wanted> {
        match (&self.client, &self.proxy) {
            (Some(_), Some(_)) => None,
            (Some(_), None) => Some(Wanted::Proxy),
            (None, Some(_)) => Some(Wanted::Client),
            (None, None) => Some(Wanted::Both),
        }
    }

    pub(super) fn load(&self) -> Result<Trust, Error> {
        let client = self
            .client
            .as_deref()
            .map(|path| parse(path, &read(path)?))
            .transpose()?;
        let proxy = self
            .proxy
            .as_ref()
            .map(|(path, names)| Ok((parse(path, &read(path)?)?, names.clone())));
        let proxy = proxy
            .transpose()?
            .map(|(authority, names)| Arc::new(Proxy { authority, names }));
        Ok(Trust { client, proxy })
    }

    pub(super) async fn run(&self, trust: &watch::Sender<Trust>, cancel: CancellationToken) {
        if self.client.is_none() && self.proxy.is_none() {
            return;
        }
        let mut reported = None;
        while cancel
            .run_until_cancelled(tokio::time::sleep(self.reload))
            .await
            .is_some()
        {
            let problem = self.refresh(trust).await.err().map(|error| chain(&error).to_string());
            if let Some(problem) = problem.as_ref().filter(|_| problem != reported) {
                tracing::warn!(
                    problem,
                    "cannot load the new client certificate authorities; keeping the old ones"
                );
            }
            reported = problem;
        }
    }

    async fn refresh(&self, trust: &watch::Sender<Trust>) -> Result<(), Error> {
        if let Some(path) = &self.client {
            let now = trust.borrow().client.clone();
            if let Some(authority) = changed(path, now.as_deref()).await? {
                trust.send_modify(|trust| trust.client = Some(authority));
            }
        }
        if let Some((path, names)) = &self.proxy {
            let now = trust.borrow().proxy.clone();
            if let Some(authority) = changed(path, now.as_ref().map(|proxy| &*proxy.authority)).await? {
                let proxy = Proxy {
                    authority,
                    names: names.clone(),
                };
                trust.send_modify(|trust| trust.proxy = Some(Arc::new(proxy)));
            }
        }
        Ok(())
    }
}

/// The certificate authorities in a file, if they have changed.
async fn changed(path: &Path, now: Option<&Authority>) -> Result<Option<Arc<Authority>>, Error> {
    let pem = tokio::fs::read(path).await.map_err(|source| Error::Read {
        path: path.to_owned(),
        source,
    })?;
    if now.is_some_and(|authority| authority.is(&pem)) {
        return Ok(None);
    }
    let authority = parse(path, &pem)?;
    tracing::info!(path = %path.display(), "loaded new client certificate authorities");
    Ok(Some(authority))
}

fn read(path: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(path).map_err(|source| Error::Read {
        path: path.to_owned(),
        source,
    })
}

fn parse(path: &Path, pem: &[u8]) -> Result<Arc<Authority>, Error> {
    let authority = Authority::parse(pem).map_err(|source| Error::Bundle {
        path: path.to_owned(),
        source,
    })?;
    Ok(Arc::new(authority))
}
