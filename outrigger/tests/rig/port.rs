//! The secure port of a manager, as somebody sees it.

use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

/// Who asks.
#[derive(Debug, Clone)]
pub enum Credentials {
    /// Nobody in particular.
    None,
    /// Whoever this bearer token belongs to.
    Token(String),
    /// Whoever this certificate and key belong to.
    Certificate(PathBuf, PathBuf),
}

impl Credentials {
    /// Those of the user of a kubeconfig of the lab.
    pub fn of(kubeconfig: &Path) -> Self {
        let text = fs::read_to_string(kubeconfig).unwrap();
        let config: serde_json::Value = serde_json::from_str(&text).unwrap();
        let file = |key: &str| config["users"][0]["user"][key].as_str().unwrap().into();
        Self::Certificate(file("client-certificate"), file("client-key"))
    }
}

/// A client of the secure port. It believes every server certificate.
pub struct Port {
    client: reqwest::Client,
    url: String,
    token: Option<String>,
}

/// An answer.
#[derive(Debug)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: String,
    /// The headers.
    pub headers: reqwest::header::HeaderMap,
}

impl Port {
    /// A client for this address.
    pub fn new(address: SocketAddr, credentials: &Credentials) -> Self {
        lab::install_crypto();
        let builder = reqwest::Client::builder()
            .no_proxy()
            .timeout(Duration::from_secs(20))
            .tls_danger_accept_invalid_certs(true);
        let (builder, token) = match credentials {
            Credentials::None => (builder, None),
            Credentials::Token(token) => (builder, Some(token.clone())),
            Credentials::Certificate(certificate, key) => {
                let pem = [fs::read(key).unwrap(), fs::read(certificate).unwrap()].concat();
                (builder.identity(reqwest::Identity::from_pem(&pem).unwrap()), None)
            }
        };
        Self {
            client: builder.build().unwrap(),
            url: format!("https://{address}"),
            token,
        }
    }

    /// GET.
    pub async fn get(&self, path: &str) -> Reply {
        self.try_get(path).await.unwrap_or_else(|error| panic!("{error}"))
    }

    /// GET, if there is anybody.
    pub async fn try_get(&self, path: &str) -> Result<Reply, String> {
        self.send(self.client.get(format!("{}{path}", self.url))).await
    }

    /// PUT.
    pub async fn put(&self, path: &str, body: &str) -> Reply {
        let request = self.client.put(format!("{}{path}", self.url)).body(body.to_owned());
        self.send(request).await.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Any request; the closure gets the client and the address.
    pub async fn request(
        &self,
        make: impl FnOnce(&reqwest::Client, &str) -> reqwest::RequestBuilder,
    ) -> Result<Reply, String> {
        self.send(make(&self.client, &self.url)).await
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> Result<Reply, String> {
        let request = match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        };
        let failed = |error: reqwest::Error| format!("no answer: {error:?}");
        let response = request.send().await.map_err(failed)?;
        Ok(Reply {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            body: response.text().await.map_err(failed)?,
        })
    }
}
