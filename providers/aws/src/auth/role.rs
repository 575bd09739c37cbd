//! Roles that are assumed through STS.

use super::{Identity, Keys, signing};
use crate::{
    api::{Caller, Service},
    config::{Config, Role},
    metrics::Metrics,
    region,
};
use cloud::{Error, Gate, Result};
use cloud_http::{Idempotency, http::HeaderName};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::json;

const SOURCE_ARN: HeaderName = HeaderName::from_static("x-amz-source-arn");
const SOURCE_ACCOUNT: HeaderName = HeaderName::from_static("x-amz-source-account");

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Assumed {
    credentials: Keys,
}

/// A role that is assumed with the keys of another identity.
pub struct AssumedRole {
    sts: Caller,
    arn: String,
}

impl AssumedRole {
    /// The role of a configuration.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the configuration cannot be used.
    pub fn new(
        role: &Role,
        own: &Identity,
        config: &Config,
        region: &str,
        gate: &Gate,
        metrics: &Metrics,
    ) -> Result<Self> {
        let invalid = |reason: String| Error::invalid("RoleARN", reason);
        let account = role.arn.split(':').nth(4).filter(|account| !account.is_empty());
        let account = account.ok_or_else(|| invalid(format!("{:?} is not the ARN of a role", role.arn)))?;
        let endpoint = region::endpoint(Service::Sts, region, config).map_err(invalid)?;
        let credentials = signing(own, &endpoint);
        let mut headers = vec![(SOURCE_ACCOUNT, account.to_owned())];
        headers.extend(role.source_arn.clone().map(|arn| (SOURCE_ARN, arn)));
        let sts = Caller::new(Service::Sts, endpoint.url, Some(credentials), gate, metrics)?;
        Ok(Self {
            sts: sts.with_headers(headers),
            arn: role.arn.clone(),
        })
    }

    /// Keys of the role.
    pub async fn keys(&self) -> Result<Keys> {
        let request = json!({"RoleArn": self.arn, "RoleSessionName": session()});
        let assumed: Assumed = self.sts.call("AssumeRole", Idempotency::Safe, &request).await?;
        Ok(assumed.credentials)
    }
}

/// Keys of a role that is assumed with the token of a service account, through calls without a signature.
///
/// # Errors
/// As STS.
pub async fn web_identity(sts: &Caller, arn: &str, session: &str, token: &str) -> Result<Keys> {
    let request = json!({"RoleArn": arn, "RoleSessionName": session, "WebIdentityToken": token});
    let assumed: Assumed = sts
        .call("AssumeRoleWithWebIdentity", Idempotency::Safe, &request)
        .await?;
    Ok(assumed.credentials)
}

/// A name for a session, as the Go SDK makes them.
pub fn session() -> String {
    format!("aws-go-sdk-{}", Timestamp::now().as_nanosecond())
}
