//! DigitalOcean's API, and what its answers mean.

pub mod types;

use crate::config::Config;
use cloud::{Error, Gate, Result};
use cloud_http::{
    Client, Credentials, Failure, Metrics, Next, Proxy, Rate, Request,
    http::{Method, StatusCode},
};
use provider_kit::{
    names,
    rest::{Collection, Rest},
};
use serde_json::{Value, json};
use std::{
    sync::{Arc, OnceLock},
    time::{Duration, SystemTime},
};
use types::{Certificate, Droplet, Firewall, LoadBalancer, Region};

/// The API, with the token of one team.
pub struct Api {
    pub config: Config,
    pub droplets: Collection<Droplet>,
    pub load_balancers: Collection<LoadBalancer>,
    pub certificates: Collection<Certificate>,
    pub firewalls: Collection<Firewall>,
    tags: Collection<Value>,
    regions: Collection<Region>,
    rest: Arc<Rest>,
    metadata: Client,
    region: OnceLock<String>,
}

impl Api {
    /// Makes no call yet.
    pub fn new(config: Config, gate: &Gate, metrics: &Metrics) -> Result<Self> {
        let rate = config.rate.map(|per_second| Rate { per_second, burst: 1 });
        let limited = cloud_http::Config {
            rate,
            ..cloud_http::Config::default()
        };
        let direct = cloud_http::Config {
            proxy: Proxy::Direct,
            ..cloud_http::Config::default()
        };
        let client = Client::new(&limited, gate.clone(), metrics)?;
        let rest = Arc::new(Rest {
            client: client
                .with_credentials(Credentials::bearer(&config.token)?)
                .explaining(explain),
            url: config.url.clone(),
            version: "v2",
            page_size: ("per_page", "200"),
            next: |page| {
                let next = page.get("links")?.pointer("/pages/next")?.as_str();
                next.map(|link| Next::Link(link.to_owned()))
            },
        });
        Ok(Self {
            config,
            droplets: Collection::new(&rest, names!("droplet")),
            load_balancers: Collection::new(&rest, names!("load_balancer")),
            certificates: Collection::new(&rest, names!("certificate")),
            firewalls: Collection::new(&rest, names!("firewall")),
            tags: Collection::new(&rest, names!("tag")),
            regions: Collection::new(&rest, names!("region")),
            metadata: Client::new(&direct, gate.clone(), metrics)?,
            region: OnceLock::new(),
            rest,
        })
    }

    /// Whether the token and the region are right.
    pub async fn check(&self) -> Result<()> {
        let account = self.rest.request(Method::GET, "get_account", &["account"]);
        self.rest.client.send(account).await?;
        if self.region.get().is_none() {
            let region = self.find_region().await?;
            self.region.get_or_init(|| region);
        }
        Ok(())
    }

    /// The region of everything that is created.
    pub fn region(&self) -> &str {
        let region = self.region.get().or(self.config.region.as_ref());
        region.map_or("", String::as_str)
    }

    /// The region of the configuration, which must exist, or that of the Droplet that this process runs on.
    async fn find_region(&self) -> Result<String> {
        let Some(region) = &self.config.region else {
            let url = &self.config.metadata;
            let url = url.parse().map_err(|_| Error::invalid("metadata", url))?;
            let request = Request::get("get_metadata_region", &url).path(["metadata", "v1", "region"]);
            let response = self.metadata.send(request).await?;
            return Ok(String::from_utf8_lossy(response.body()).trim().to_owned());
        };
        let known = self.regions.list(None).await?;
        let known: Vec<_> = known.into_iter().map(|region| region.slug).collect();
        if known.contains(region) {
            return Ok(region.clone());
        }
        let reason = format!("{region:?} is not one of {}", known.join(", "));
        Err(Error::invalid("REGION", reason))
    }

    /// Tags a load balancer. The tag is created if it does not exist.
    pub async fn tag_load_balancer(&self, tag: &str, id: &str) -> Result<()> {
        let body = json!({"resources": [{"resource_id": id, "resource_type": "load_balancer"}]});
        let path = ["tags", tag, "resources"];
        let request = || self.rest.request(Method::POST, "tag_resources", &path).json(&body);
        if self.rest.client.find(request()).await?.is_none() {
            self.tags.create(&json!({"name": tag})).await?;
            self.rest.client.send(request()).await?;
        }
        Ok(())
    }
}

/// The meaning of a refusal, where it differs from that of its status.
fn explain(failure: &Failure) -> Option<Error> {
    let says = |words: &str| failure.text().to_lowercase().contains(words);
    match failure.status() {
        StatusCode::TOO_MANY_REQUESTS => Some(Error::Throttled {
            call: failure.call().to_owned(),
            retry_after: failure.retry_after().or_else(|| until_reset(failure)),
        }),
        _ if is_refused_for_now(failure) => Some(Error::unavailable(failure.call(), failure.clone())),
        StatusCode::FORBIDDEN | StatusCode::UNPROCESSABLE_ENTITY if says("limit") && says("exceed") => {
            Some(Error::quota(failure.what(), failure.clone()))
        }
        StatusCode::UNPROCESSABLE_ENTITY => Some(Error::invalid(failure.what(), message(failure)?)),
        _ => None,
    }
}

/// Whether the API refused a change because it has not finished the last one.
pub fn is_busy(error: &Error) -> bool {
    Failure::of(error).is_some_and(is_refused_for_now)
}

fn is_refused_for_now(failure: &Failure) -> bool {
    const WORDS: [&str; 3] = ["processes previous actions", "is being updated", "not active"];
    match failure.status() {
        StatusCode::CONFLICT => true,
        StatusCode::FORBIDDEN | StatusCode::UNPROCESSABLE_ENTITY => {
            message(failure).is_some_and(|message| WORDS.iter().any(|words| message.contains(words)))
        }
        _ => false,
    }
}

fn message(failure: &Failure) -> Option<String> {
    failure.json::<Value>()?["message"].as_str().map(str::to_owned)
}

/// The time until `ratelimit-reset`, which is in seconds since 1970.
fn until_reset(failure: &Failure) -> Option<Duration> {
    let reset = failure.header("ratelimit-reset")?.parse().ok()?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some(Duration::from_secs(reset).saturating_sub(now))
}
