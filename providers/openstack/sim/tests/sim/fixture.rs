//! A small client, and a cloud for it.

use openstack_sim::{Cloud, Service, Settings, Sim};
use reqwest::{Client, Method, Response};
use serde_json::{Value, json};

/// A served cloud and a client.
pub struct Fixture {
    pub cloud: Cloud,
    pub sim: Sim,
    pub http: Client,
    pub token: String,
}

impl Fixture {
    pub async fn new() -> Self {
        Self::with(Settings::default()).await
    }

    pub async fn with(settings: Settings) -> Self {
        // Another test may have done it.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let cloud = Cloud::with(settings);
        let sim = Sim::start(&cloud).await.unwrap();
        let http = Client::builder().no_proxy().build().unwrap();
        let token = login(&http, &sim.auth_url(), &password("demo", "labpass"))
            .await
            .unwrap();
        Self {
            cloud,
            sim,
            http,
            token,
        }
    }

    pub async fn send(
        &self,
        method: &str,
        service: Service,
        path: &str,
        body: Option<&Value>,
    ) -> reqwest::Result<Response> {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let url = format!("{}/{service}{path}", self.sim.url());
        let mut call = self.http.request(method, url).header("X-Auth-Token", &self.token);
        if let Some(body) = body {
            call = call.json(body);
        }
        call.send().await
    }

    /// The status and the body.
    pub async fn ask(&self, method: &str, service: Service, path: &str, body: Option<&Value>) -> (u16, Value) {
        let answer = self.send(method, service, path, body).await.unwrap();
        let status = answer.status().as_u16();
        let text = answer.text().await.unwrap();
        (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    pub async fn get(&self, service: Service, path: &str) -> (u16, Value) {
        self.ask("GET", service, path, None).await
    }

    pub async fn post(&self, service: Service, path: &str, body: Value) -> (u16, Value) {
        self.ask("POST", service, path, Some(&body)).await
    }

    pub async fn put(&self, service: Service, path: &str, body: Value) -> (u16, Value) {
        self.ask("PUT", service, path, Some(&body)).await
    }
}

/// A token for these credentials, or the status of the refusal.
pub async fn login(http: &Client, auth_url: &str, auth: &Value) -> Result<String, u16> {
    let answer = http
        .post(format!("{auth_url}/auth/tokens"))
        .json(&json!({"auth": auth}))
        .send()
        .await
        .unwrap();
    let token = answer
        .headers()
        .get("x-subject-token")
        .map(|token| token.to_str().unwrap().to_owned());
    token.ok_or(answer.status().as_u16())
}

/// The credentials of a user in the project of his name.
pub fn password(user: &str, password: &str) -> Value {
    let domain = json!({"id": "default"});
    json!({
        "identity": {"methods": ["password"], "password": {"user": {"name": user, "domain": domain, "password": password}}},
        "scope": {"project": {"name": user, "domain": domain}},
    })
}
