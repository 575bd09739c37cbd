//! The ports without TLS that a provider adds to the secure port.

use crate::registration::{Endpoint, Listener};
use runtime::{
    health::Checks,
    metrics::Metrics,
    serve::{self, Chain, Server},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// The ports, while they are served.
pub(super) struct Listeners {
    cancel: CancellationToken,
    tasks: TaskTracker,
}

impl Listeners {
    /// Opens them, and serves in the background.
    pub(super) fn open(checks: &Checks, metrics: &Metrics, listeners: &[Listener]) -> Result<Self, String> {
        let (cancel, tasks) = (CancellationToken::new(), TaskTracker::new());
        for listener in listeners {
            let Listener {
                setting,
                address,
                endpoint,
            } = listener;
            let wrong = |problem: String| format!("{setting}={address}: {problem}");
            let Some(at) = serve::address(address).map_err(|problem| wrong(problem.to_owned()))? else {
                continue;
            };
            let endpoints = match endpoint {
                Endpoint::Health => serve::health_endpoints(checks),
                Endpoint::Metrics => serve::metrics_endpoint(metrics),
            };
            let port = Server::bind_plain(at, Chain::open(endpoints))
                .map_err(|error| wrong(runtime::logging::chain(&error).to_string()))?;
            tasks.spawn(port.run(cancel.clone()));
        }
        Ok(Self { cancel, tasks })
    }

    pub(super) async fn close(self) {
        self.cancel.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use std::net::TcpListener;

    fn open(listeners: &[Listener]) -> Result<Listeners, String> {
        let metrics = Metrics::new(&runtime::version::Info::current()).unwrap();
        Listeners::open(&Checks::new(metrics.slis().clone()), &metrics, listeners)
    }

    fn listener(address: &str, endpoint: Endpoint) -> Listener {
        Listener {
            setting: "DEBUG_ADDR",
            address: address.to_owned(),
            endpoint,
        }
    }

    /// The path that is served, and one that is not.
    #[rstest]
    #[case::health(Endpoint::Health, ["healthz", "metrics"])]
    #[case::metrics(Endpoint::Metrics, ["metrics", "healthz"])]
    #[tokio::test]
    async fn serves_one_endpoint(#[case] endpoint: Endpoint, #[case] paths: [&str; 2]) {
        lab::install_crypto();
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let open = open(&[listener(&free.to_string(), endpoint)]).unwrap();
        for (path, status) in paths.into_iter().zip([200, 404]) {
            let answer = reqwest::get(format!("http://{free}/{path}")).await.unwrap();
            assert_eq!(answer.status().as_u16(), status, "{path}");
        }
        open.close().await;
    }

    #[tokio::test]
    async fn rejects_an_address_that_is_none() {
        let problem = open(&[listener("here", Endpoint::Health)]).err();
        let expected = "DEBUG_ADDR=here: not an address: write IP:port, :port, or 0 to disable it";
        assert_eq!(problem.as_deref(), Some(expected));
        assert!(open(&[listener("", Endpoint::Health)]).is_ok(), "it is not set");
    }
}
