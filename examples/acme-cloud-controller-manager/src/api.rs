//! The API of the cloud: one method an endpoint, and nothing else.

use cloud::{Gate, Result};
use cloud_http::http::{Method, header::AUTHORIZATION};
use cloud_http::{Client, Config, Metrics, Register, Request, Url};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

/// The file of `--cloud-config`.
#[derive(Deserialize)]
pub struct Settings {
    endpoint: String,
    token: SecretString,
}

pub struct Api {
    client: Client,
    endpoint: Url,
    token: SecretString,
}

#[derive(Deserialize)]
pub struct Server {
    pub id: String,
    pub name: String,
    pub zone: String,
    pub address: String,
    pub running: bool,
}

#[derive(Serialize, Deserialize, PartialEq)]
pub struct LoadBalancer {
    pub name: String,
    pub owner: String,
    /// As `TCP:80:30080`: the protocol, the port, and the port of the targets.
    pub ports: Vec<String>,
    pub targets: Vec<String>,
    /// Set by the cloud.
    pub address: Option<String>,
}

impl Api {
    pub fn new(settings: Settings, gate: Gate, registry: &dyn Register) -> Result<Self, String> {
        let metrics = Metrics::register(registry).map_err(|error| error.to_string())?;
        let client = Client::new(&Config::default(), gate, &metrics).map_err(|error| error.report())?;
        let endpoint = settings.endpoint.parse().map_err(|error| format!("endpoint: {error}"))?;
        Ok(Self { client, endpoint, token: settings.token })
    }

    pub async fn servers(&self) -> Result<Vec<Server>> {
        self.client.send_json(self.request(Method::GET, "list_servers", &["servers"])).await
    }

    pub async fn server(&self, id: &str) -> Result<Option<Server>> {
        self.client.find_json(self.request(Method::GET, "get_server", &["servers", id])).await
    }

    pub async fn load_balancers(&self) -> Result<Vec<LoadBalancer>> {
        self.client.send_json(self.request(Method::GET, "list_load_balancers", &["load-balancers"])).await
    }

    pub async fn load_balancer(&self, name: &str) -> Result<Option<LoadBalancer>> {
        self.client.find_json(self.request(Method::GET, "get_load_balancer", &["load-balancers", name])).await
    }

    /// Creates or replaces it.
    pub async fn put_load_balancer(&self, wanted: &LoadBalancer) -> Result<()> {
        let request = self.request(Method::PUT, "put_load_balancer", &["load-balancers", &wanted.name]);
        self.client.send(request.json(wanted)).await.map(drop)
    }

    /// Deletes it; one that does not exist is a success.
    pub async fn delete_load_balancer(&self, name: &str) -> Result<()> {
        let request = self.request(Method::DELETE, "delete_load_balancer", &["load-balancers", name]);
        self.client.find(request).await.map(drop)
    }

    fn request(&self, method: Method, operation: &'static str, path: &[&str]) -> Request {
        let authorization = format!("Bearer {}", self.token.expose_secret()).into();
        let request = Request::new(method, operation, &self.endpoint).path(path.iter().copied());
        request.secret_header(AUTHORIZATION, &authorization)
    }
}
