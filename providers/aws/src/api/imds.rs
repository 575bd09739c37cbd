//! The metadata service of instances, in its second version.

use crate::{
    auth::Keys,
    config::{Config, Variables},
    metrics::Metrics,
};
use async_trait::async_trait;
use cloud::{Error, Gate, Result};
use cloud_http::{
    Client, Credentials, Fault, Idempotency, Proxy, Request, Retries, Url,
    bytes::Bytes,
    http::{self, HeaderName, HeaderValue},
    login::{Grant, LogIn, Login, LoginThrottle},
};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use std::{sync::Arc, time::Duration};

const URL: &str = "http://169.254.169.254";
const URL_V6: &str = "http://[fd00:ec2::254]";
const TOKEN: HeaderName = HeaderName::from_static("x-aws-ec2-metadata-token");
const TOKEN_TTL: HeaderName = HeaderName::from_static("x-aws-ec2-metadata-token-ttl-seconds");
const SIX_HOURS: Duration = Duration::from_hours(6);

/// It is on the same machine: what does not answer soon does not answer at all.
const ATTEMPT: Duration = Duration::from_secs(2);
const DEADLINE: Duration = Duration::from_secs(8);

/// The metadata service.
pub struct Imds {
    /// `None` if it is switched off.
    service: Option<(Url, Client)>,
}

impl Imds {
    /// The service, where the configuration or a variable has it.
    ///
    /// # Errors
    /// [`Error::Invalid`] if a variable is no URL.
    pub fn new(config: &Config, gate: &Gate, metrics: &Metrics) -> Result<Self> {
        let disabled = config.variables.text("AWS_EC2_METADATA_DISABLED");
        if disabled.is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            return Ok(Self { service: None });
        }
        let url = match config.overrides.iter().find(|one| one.service == "ec2imds") {
            Some(found) => found.url.clone(),
            None => url(&config.variables).map_err(|reason| Error::invalid("metadata service", reason))?,
        };
        let http = cloud_http::Config {
            proxy: Proxy::Direct,
            connect_timeout: ATTEMPT,
            attempt_timeout: Some(ATTEMPT),
            deadline: DEADLINE,
            retries: Retries {
                attempts: 3,
                ..Retries::default()
            },
            secret_names: vec![TOKEN.to_string(), "SecretAccessKey".to_owned(), "Token".to_owned()],
            ..cloud_http::Config::default()
        };
        let client = Client::new(&http, gate.clone(), &metrics.http)?.recognising(|_| true);
        let session = Session {
            url: url.clone(),
            client: client.clone(),
        };
        let session = Arc::new(Login::new(session, Arc::new(LoginThrottle::default())));
        let client = client.with_credentials(Credentials::new(session));
        Ok(Self {
            service: Some((url, client)),
        })
    }

    /// The region of the instance that this process runs on.
    pub async fn region(&self) -> Result<String> {
        self.text("get_metadata_region", &["placement", "region"]).await
    }

    /// The ID of the instance that this process runs on.
    pub async fn instance_id(&self) -> Result<String> {
        self.text("get_metadata_instance_id", &["instance-id"]).await
    }

    /// The keys of the role of the instance that this process runs on.
    pub async fn keys(&self) -> Result<Keys> {
        let path = ["iam", "security-credentials"];
        let role = self.text("get_metadata_role", &[path[0], path[1], ""]).await;
        let role = role.map_err(|error| match error {
            Error::NotFound { .. } => {
                let reason = "there are no keys in the environment, and the instance has no IAM role";
                Error::denied("get metadata role", reason)
            }
            error => error,
        })?;
        let role = role.lines().next().unwrap_or_default().to_owned();
        let answer = self
            .text("get_metadata_credentials", &[path[0], path[1], &role])
            .await?;
        let failed = |reason: String| Error::denied("get metadata credentials", reason);
        // The answer is not shown: it has the keys.
        let Coded { code, message } =
            serde_json::from_str(&answer).map_err(|_| failed("the answer makes no sense".to_owned()))?;
        if code != "Success" {
            return Err(failed(format!("role {role}: {code}: {message}")));
        }
        serde_json::from_str(&answer).map_err(|_| failed("the answer has no keys".to_owned()))
    }

    async fn text(&self, operation: &'static str, path: &[&str]) -> Result<String> {
        let Some((url, client)) = &self.service else {
            let reason = "AWS_EC2_METADATA_DISABLED is set: set Region and keys, and VPC, SubnetID and KubernetesClusterID in the configuration";
            return Err(Error::invalid("metadata service", reason));
        };
        let mut url = url.clone();
        url.set_path(&format!("/latest/meta-data/{}", path.join("/")));
        let answer = client.send(Request::get(operation, &url)).await.map_err(unreachable)?;
        Ok(String::from_utf8_lossy(answer.body()).trim().to_owned())
    }
}

/// Says what most often is wrong if the service does not answer.
fn unreachable(error: Error) -> Error {
    if Fault::of(&error).is_none() {
        return error;
    }
    let reason = format!(
        "the metadata service of EC2 does not answer ({}): is this an instance of EC2? In a pod, the instance's metadata options need a hop \
         limit of at least 2, or the pod `hostNetwork: true`",
        error.report()
    );
    Error::unavailable("instance metadata", reason)
}

fn url(variables: &Variables) -> std::result::Result<Url, String> {
    if let Some(url) = variables.parsed(&[], "AWS_EC2_METADATA_SERVICE_ENDPOINT")? {
        return Ok(url);
    }
    let mode = variables.text("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE");
    let is_v6 = mode.is_some_and(|mode| mode.eq_ignore_ascii_case("ipv6"));
    let url = if is_v6 { URL_V6 } else { URL };
    url.parse().map_err(|error| format!("{url}: {error}"))
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Coded {
    #[serde(default)]
    code: String,
    #[serde(default)]
    message: String,
}

/// A session with the service: its token goes with every request.
struct Session {
    url: Url,
    client: Client,
}

#[async_trait]
impl LogIn for Session {
    type Credential = SecretString;

    async fn log_in(&self) -> Result<Grant<SecretString>> {
        let request = Request::put("get_metadata_token", &self.url)
            .path(["latest", "api", "token"])
            .header(TOKEN_TTL, SIX_HOURS.as_secs().to_string())
            // It changes nothing: a replica that does not lead needs it, too.
            .idempotency(Idempotency::Safe);
        let answer = self.client.send(request).await.map_err(unreachable)?;
        Ok(Grant {
            credential: String::from_utf8_lossy(answer.body()).trim().into(),
            lifetime: Some(SIX_HOURS),
        })
    }

    fn authorize(&self, token: &SecretString, request: &mut http::Request<Bytes>) -> Result<()> {
        let value = HeaderValue::from_str(token.expose_secret());
        let mut value = value.map_err(|_| Error::unavailable("instance metadata", "the token makes no sense"))?;
        value.set_sensitive(true);
        request.headers_mut().insert(TOKEN, value);
        Ok(())
    }
}
