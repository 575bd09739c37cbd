//! The services that the requests are sent to.

use crate::script::{After, Request, Until, select};
use anyhow::{Context, Result};
use reqwest::{Client, Method, Response, header::HeaderMap};
use serde_json::{Value, json};
use std::{cmp::Ordering, collections::BTreeMap, time::Duration};

/// Makes load balancers slow or fail, by name.
pub trait Control: Send + Sync {
    /// Its next change ends in ERROR.
    fn fail_next(&self, name: &str) -> Result<()>;

    /// Its changes take long enough for the request after one to find it under way.
    fn slow_down(&self, name: &str) -> Result<()>;
}

/// Where the services are.
pub struct Target {
    /// Our user, and project.
    pub us: String,
    pub control: Box<dyn Control>,
    pub services: BTreeMap<String, String>,
    pub tokens: BTreeMap<String, String>,
}

/// What came of a request.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Value,
    /// Where values are that were compared with earlier ones, and how they compare.
    pub relations: Vec<(String, &'static str)>,
}

/// The headers that a client reads.
const HEADERS: &[&str] = &[
    "openstack-api-version",
    "x-openstack-nova-api-version",
    "www-authenticate",
    "location",
    "content-type",
];

/// The names of the services in the catalog.
const KINDS: [(&str, &str); 4] = [
    ("nova", "compute"),
    ("neutron", "network"),
    ("octavia", "load-balancer"),
    ("glance", "image"),
];

impl Target {
    /// Finds the services from Keystone on.
    pub async fn discover(client: &Client, keystone: &str, us: &str, control: Box<dyn Control>) -> Result<Self> {
        let mut target = Self {
            us: us.to_owned(),
            control,
            services: [("keystone".to_owned(), trim(keystone))].into(),
            tokens: BTreeMap::new(),
        };
        for (role, who) in [("us", us), ("admin", "admin")] {
            let domain = json!({"id": "default"});
            let user = json!({"name": who, "domain": domain, "password": "labpass"});
            let scope = json!({"project": {"name": who, "domain": domain}});
            let auth =
                json!({"auth": {"identity": {"methods": ["password"], "password": {"user": user}}, "scope": scope}});
            let answer = client
                .post(format!("{keystone}/auth/tokens"))
                .json(&auth)
                .send()
                .await?
                .error_for_status()?;
            let token = answer
                .headers()
                .get("x-subject-token")
                .context("no token")?
                .to_str()?
                .to_owned();
            target.tokens.insert(role.to_owned(), token);
            target.read_catalog(&answer.json().await?);
        }
        Ok(target)
    }

    fn read_catalog(&mut self, body: &Value) {
        for (name, kind) in KINDS {
            let services = body["token"]["catalog"].as_array().into_iter().flatten();
            let endpoints = services
                .filter(|service| service["type"] == kind)
                .filter_map(|service| service["endpoints"].as_array());
            let mut public = endpoints
                .flatten()
                .filter(|one| one["interface"] == "public" && one["region"] == "RegionOne");
            if let Some(url) = public.next().and_then(|one| one["url"].as_str()) {
                self.services.insert(name.to_owned(), trim(url));
            }
        }
    }

    /// Asks everything, in order.
    pub async fn play(&self, client: &Client, requests: &[Request], run: &str) -> Result<Vec<Answer>> {
        let mut kept: BTreeMap<String, String> = [("run".to_owned(), run.to_owned())].into();
        kept.insert("token".to_owned(), self.tokens["us"].clone());
        kept.insert("who".to_owned(), self.us.clone());
        let mut answers = Vec::new();
        for request in requests {
            if let Some(name) = request.balancer() {
                self.control.slow_down(&fill(&name, &kept))?;
            }
            if let Some(name) = &request.fail {
                self.control.fail_next(&fill(name, &kept))?;
            }
            if request.after == After::ASecond {
                tokio::time::sleep(Duration::from_millis(1_100)).await;
            }
            let mut answer = self
                .insist(client, request, &kept)
                .await
                .with_context(|| request.name.clone())?;
            for (name, path) in &request.than {
                let now = select(&mut answer.body, path).first().map(|value| text(value));
                let word = relation(now.as_deref().unwrap_or_default(), &kept[name]);
                answer.relations.push((path.clone(), word));
            }
            for (name, path) in &request.kept {
                let found = select(&mut answer.body, path).first().map(|value| text(value));
                let found = found.with_context(|| {
                    format!("{}: nothing at {path}: {} {}", request.name, answer.status, answer.body)
                })?;
                kept.insert(name.clone(), found);
            }
            answers.push(answer);
        }
        Ok(answers)
    }

    async fn insist(&self, client: &Client, request: &Request, kept: &BTreeMap<String, String>) -> Result<Answer> {
        for _ in 0..600 {
            let mut answer = self.ask(client, request, kept).await?;
            let done = match &request.until {
                None => true,
                Some(Until::Gone) => answer.status == 404,
                Some(Until::Is(path, wanted)) => {
                    let path = fill(path, kept);
                    select(&mut answer.body, &path)
                        .first()
                        .is_some_and(|value| text(value) == *wanted)
                }
            };
            if done {
                return Ok(answer);
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        anyhow::bail!("it never came to pass")
    }

    async fn ask(&self, client: &Client, request: &Request, kept: &BTreeMap<String, String>) -> Result<Answer> {
        let url = format!("{}{}", self.services[&request.service], fill(&request.path, kept));
        let mut call = client.request(Method::from_bytes(request.method.as_bytes())?, url);
        if let Some(token) = self.tokens.get(&request.who) {
            call = call.header("X-Auth-Token", token);
        }
        for (name, value) in &request.headers {
            call = call.header(name, fill(value, kept));
        }
        if let Some(body) = &request.body {
            call = call.header("Content-Type", "application/json").body(fill(body, kept));
        }
        read(call.send().await?).await
    }
}

async fn read(response: Response) -> Result<Answer> {
    let status = response.status().as_u16();
    let headers = interesting(response.headers());
    let text = response.text().await?;
    let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    Ok(Answer {
        status,
        headers,
        body,
        relations: Vec::new(),
    })
}

fn interesting(headers: &HeaderMap) -> Vec<(String, String)> {
    let one = |name: &&str| Some(((*name).to_owned(), headers.get(*name)?.to_str().ok()?.to_owned()));
    HEADERS.iter().filter_map(one).collect()
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// How a number, or a time, compares with an earlier one.
fn relation(now: &str, before: &str) -> &'static str {
    let order = match (now.parse::<u64>(), before.parse::<u64>()) {
        (Ok(now), Ok(before)) => now.cmp(&before),
        _ => now.cmp(before),
    };
    match order {
        Ordering::Less => "<less>",
        Ordering::Equal => "<same>",
        Ordering::Greater => "<more>",
    }
}

fn fill(text: &str, kept: &BTreeMap<String, String>) -> String {
    kept.iter().fold(text.to_owned(), |text, (name, value)| {
        text.replace(&format!("${{{name}}}"), value)
    })
}

/// A URL without its version.
fn trim(url: &str) -> String {
    let url = url.trim_end_matches('/');
    url.trim_end_matches("/v3").trim_end_matches("/v2.1").to_owned()
}
