//! Credentials for images in Amazon ECR, as the kubelet's credential plugin needs them.

mod registry;

use crate::{
    api::{Caller, Service, imds::Imds},
    auth::{self, Identity},
    config::{Config, Variables},
    metrics::Metrics,
    region::{self, Endpoint},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use cloud::{Error, Gate, Result};
use cloud_http::{Client, Failure, Idempotency, Request, http::HeaderName, http::header::CONTENT_TYPE};
use registry::Registry;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::Value;
use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, SystemTime},
};

/// The annotation of a service account with the role that pulls its images.
const ROLE_ANNOTATION: &str = "eks.amazonaws.com/ecr-role-arn";
/// The variable with the role, where no annotation has one.
const ROLE_VARIABLE: &str = "AWS_ECR_ROLE_ARN";
const SESSION: &str = "ecr-credential-provider";
/// The only region with an API of the public registry.
const PUBLIC_REGION: &str = "us-east-1";
const TARGET: HeaderName = HeaderName::from_static("x-amz-target");
const TIMEOUT: Duration = Duration::from_secs(30);

/// What credentials are needed for.
#[derive(Debug)]
pub struct Pull {
    /// The image.
    pub image: String,
    /// The token of the Pod's service account, if the kubelet sends one.
    pub service_account_token: Option<SecretString>,
    /// The annotations of the service account that the kubelet sends.
    pub service_account_annotations: BTreeMap<String, String>,
}

/// Credentials for one registry.
#[derive(Debug)]
pub struct Login {
    /// The registry's host.
    pub host: String,
    /// The name of the user.
    pub username: String,
    /// The password.
    pub password: SecretString,
    /// When the registry stops accepting them.
    pub expires_at: Option<SystemTime>,
}

/// The answer of both APIs: the private one lists tokens, the public one has one.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    authorization_data: Data,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Data {
    List(Vec<Token>),
    One(Token),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Token {
    authorization_token: SecretString,
    expires_at: Option<f64>,
}

/// Gets credentials for an image.
///
/// # Errors
/// If the image names no registry, there are no keys for AWS, or AWS refuses them.
pub async fn log_in(pull: &Pull, variables: Variables) -> Result<Login> {
    let host = registry::host(&pull.image).map_err(|reason| Error::invalid("image", reason))?;
    let registry = Registry::at(host);
    let config = Config::new(None, variables, &mut Vec::new());
    let config = config.map_err(|reason| Error::invalid("environment", reason))?;
    let metrics = Metrics::register(&prometheus::Registry::new());
    let metrics = metrics.map_err(|error| Error::invalid("metrics", error.to_string()))?;
    let token = Session {
        imds: Arc::new(Imds::new(&config, &gate(), &metrics)?),
        config,
        metrics,
    }
    .token(pull, &registry)
    .await?;
    token.login(host)
}

/// Nothing is written, and no other process must be asked before.
fn gate() -> Gate {
    Arc::new(|| Ok(()))
}

/// One run of the plugin.
struct Session {
    config: Config,
    imds: Arc<Imds>,
    metrics: Metrics,
}

impl Session {
    async fn token(&self, pull: &Pull, registry: &Registry) -> Result<Token> {
        let region = self.region(registry).await?;
        let identity = self.identity(pull, registry, &region).await?;
        let endpoint = endpoint(registry, &region, &self.config);
        let endpoint = endpoint.map_err(|reason| Error::invalid("endpoint", reason))?;
        let http = cloud_http::Config {
            attempt_timeout: Some(TIMEOUT),
            secret_names: vec!["authorizationToken".to_owned()],
            ..cloud_http::Config::default()
        };
        let client = Client::new(&http, gate(), &self.metrics.http)?
            .with_credentials(auth::signing(&identity, &endpoint))
            .explaining(explain);
        let request = Request::post("GetAuthorizationToken", &endpoint.url)
            .json(&Value::Object(serde_json::Map::new()))
            .header(CONTENT_TYPE, "application/x-amz-json-1.1")
            .header(TARGET, format!("{}.GetAuthorizationToken", target(registry)))
            .idempotency(Idempotency::Safe);
        let Answer { authorization_data } = client.send_json(request).await?;
        match authorization_data {
            Data::One(token) => Ok(token),
            Data::List(tokens) => tokens
                .into_iter()
                .next()
                .ok_or_else(|| refused("the answer has no token")),
        }
    }

    async fn region(&self, registry: &Registry) -> Result<String> {
        match registry {
            Registry::Public => Ok(PUBLIC_REGION.to_owned()),
            Registry::Private(Some(region)) => Ok(region.clone()),
            Registry::Private(None) => self.default_region().await,
        }
    }

    async fn default_region(&self) -> Result<String> {
        match &self.config.region {
            Some(region) => Ok(region.clone()),
            None => self.imds.region().await,
        }
    }

    /// The service account's, if it has a role; else that of the node.
    async fn identity(&self, pull: &Pull, registry: &Registry, region: &str) -> Result<Identity> {
        let annotated = pull.service_account_annotations.get(ROLE_ANNOTATION).cloned();
        let role = annotated.or_else(|| self.config.variables.text(ROLE_VARIABLE));
        let (Some(token), Some(role)) = (&pull.service_account_token, role.filter(|role| !role.is_empty())) else {
            return Identity::of(&self.config, region, &self.imds, &gate(), &self.metrics);
        };
        let region = match registry {
            Registry::Public => self.default_region().await?,
            Registry::Private(_) => region.to_owned(),
        };
        let endpoint = region::endpoint(Service::Sts, &region, &self.config);
        let endpoint = endpoint.map_err(|reason| Error::invalid("endpoint", reason))?;
        let sts = Caller::new(Service::Sts, endpoint.url, None, &gate(), &self.metrics)?;
        let keys = auth::web_identity(&sts, &role, SESSION, token.expose_secret()).await?;
        Ok(Identity::with(keys))
    }
}

impl Token {
    fn login(&self, host: &str) -> Result<Login> {
        // No error has a part of the token.
        let text = BASE64_STANDARD.decode(self.authorization_token.expose_secret()).ok();
        let text = text.and_then(|bytes| String::from_utf8(bytes).ok());
        let pair = text.as_deref().and_then(|text| text.split_once(':'));
        let (username, password) = pair.ok_or_else(|| refused("the token is not a user and a password"))?;
        let since_epoch = self
            .expires_at
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        Ok(Login {
            host: host.to_owned(),
            username: username.to_owned(),
            password: password.into(),
            expires_at: since_epoch.map(|time| SystemTime::UNIX_EPOCH + time),
        })
    }
}

fn refused(reason: &str) -> Error {
    Error::unavailable("GetAuthorizationToken", reason.to_owned())
}

/// ECR writes its errors in JSON.
fn explain(failure: &Failure) -> Option<Error> {
    #[derive(Deserialize)]
    struct Fault {
        #[serde(rename = "__type")]
        kind: String,
        #[serde(alias = "Message", default)]
        message: String,
    }
    let Fault { kind, message } = failure.json()?;
    // The code follows the namespace of its service.
    let code = kind.rsplit('#').next().unwrap_or_default();
    let text = format!("{code}: {message}");
    Some(if failure.status().is_server_error() {
        Error::unavailable(failure.call(), text)
    } else {
        Error::denied(failure.call(), text)
    })
}

fn target(registry: &Registry) -> &'static str {
    match registry {
        Registry::Public => "SpencerFrontendService",
        Registry::Private(_) => "AmazonEC2ContainerRegistry_V20150921",
    }
}

/// Where the API of a registry is.
fn endpoint(registry: &Registry, region: &str, config: &Config) -> std::result::Result<Endpoint, String> {
    let (name, id) = match registry {
        Registry::Public => ("ecr-public", "ECR PUBLIC"),
        Registry::Private(_) => ("ecr", "ECR"),
    };
    let url = if let Some(url) = region::configured(id, config)? {
        url
    } else {
        let url = format!("https://{}", host(name, region, config));
        url.parse().map_err(|_| format!("there is no region {region:?}"))?
    };
    Ok(Endpoint {
        url,
        signing_name: name.to_owned(),
        signing_region: region.to_owned(),
    })
}

fn host(name: &str, region: &str, config: &Config) -> String {
    let (suffix, dual_stack_suffix) = region::partition(region);
    let is_on = |variable| region::is_on(config, variable);
    // The partition of commercial regions and GovCloud, the only ones with FIPS endpoints of a shorter name.
    let is_commercial = suffix == "amazonaws.com";
    match (is_on("AWS_USE_FIPS_ENDPOINT"), is_on("AWS_USE_DUALSTACK_ENDPOINT")) {
        (false, false) => format!("api.{name}.{region}.{suffix}"),
        (true, false) if is_commercial => format!("{name}-fips.{region}.{suffix}"),
        (true, false) => format!("api.{name}-fips.{region}.{suffix}"),
        (false, true) => format!("{name}.{region}.{dual_stack_suffix}"),
        (true, true) => format!("{name}-fips.{region}.{dual_stack_suffix}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::plain("eu-west-1", "", "api.ecr.eu-west-1.amazonaws.com")]
    #[case::china("cn-north-1", "", "api.ecr.cn-north-1.amazonaws.com.cn")]
    #[case::iso("us-iso-east-1", "", "api.ecr.us-iso-east-1.c2s.ic.gov")]
    #[case::fips("us-east-1", "AWS_USE_FIPS_ENDPOINT=true", "ecr-fips.us-east-1.amazonaws.com")]
    #[case::fips_in_gov_cloud(
        "us-gov-west-1",
        "AWS_USE_FIPS_ENDPOINT=true",
        "ecr-fips.us-gov-west-1.amazonaws.com"
    )]
    #[case::dual_stack("us-east-1", "AWS_USE_DUALSTACK_ENDPOINT=true", "ecr.us-east-1.api.aws")]
    #[case::given("us-east-1", "AWS_ENDPOINT_URL_ECR=https://a.example/", "a.example")]
    fn endpoints(#[case] region: &str, #[case] variables: &str, #[case] expected: &str) {
        let variables: Variables = variables.split_once('=').into_iter().collect();
        let config = Config::new(None, variables, &mut Vec::new()).unwrap();
        let found = endpoint(&Registry::Private(None), region, &config).unwrap();
        assert_eq!(found.url.host_str(), Some(expected));
        assert_eq!(found.signing_name, "ecr");
    }

    #[rstest]
    #[case::plain("QVdTOnBhc3M6d29yZA==", "AWS pass:word")]
    #[case::not_base64("s3cr3t!", "GetAuthorizationToken is unavailable")]
    #[case::no_password("QVdT", "GetAuthorizationToken is unavailable")]
    fn tokens(#[case] token: &str, #[case] expected: &str) {
        let token = Token {
            authorization_token: token.into(),
            expires_at: Some(1.5),
        };
        let text = match token.login("h") {
            Ok(login) => format!("{} {}", login.username, login.password.expose_secret()),
            Err(error) => error.to_string(),
        };
        assert_eq!(text, expected);
    }
}
