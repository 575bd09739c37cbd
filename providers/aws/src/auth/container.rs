//! Keys from an agent beside the container: EKS Pod Identity, and tasks of ECS.

use super::Keys;
use crate::config::Variables;
use cloud::{Error, Result};
use cloud_http::{Client, Request, Url, http::header::AUTHORIZATION};
use secrecy::SecretString;
use std::fs;

const RELATIVE: &str = "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI";
const FULL: &str = "AWS_CONTAINER_CREDENTIALS_FULL_URI";
const TOKEN: &str = "AWS_CONTAINER_AUTHORIZATION_TOKEN";
const TOKEN_FILE: &str = "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE";

/// Where the agent of ECS is.
const ECS: &str = "http://169.254.170.2";

/// Hosts that get the token without TLS: agents of ECS and EKS.
const AGENTS: [&str; 3] = ["169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"];

/// Keys from the agent that these variables name, if they name one.
pub async fn keys(variables: &Variables, client: &Client) -> Result<Option<Keys>> {
    let Some(url) = url(variables)? else {
        return Ok(None);
    };
    let mut request = Request::get("get_container_credentials", &url);
    if let Some(token) = token(variables)? {
        request = request.secret_header(AUTHORIZATION, &token);
    }
    client.send_json(request).await.map(Some)
}

fn url(variables: &Variables) -> Result<Option<Url>> {
    let (variable, text) = match (variables.text(RELATIVE), variables.text(FULL)) {
        (Some(path), _) => (RELATIVE, format!("{ECS}{path}")),
        (None, Some(url)) => (FULL, url),
        (None, None) => return Ok(None),
    };
    let url: Url = text
        .parse()
        .map_err(|error| Error::invalid(variable, format!("{text:?}: {error}")))?;
    let host = url.host_str().unwrap_or_default();
    let is_loopback = host == "localhost" || host.starts_with("127.") || host == "[::1]";
    if url.scheme() == "https" || is_loopback || AGENTS.contains(&host) {
        return Ok(Some(url));
    }
    let reason = format!("{host} is not on this machine: the token is not sent to it without TLS");
    Err(Error::invalid(variable, reason))
}

fn token(variables: &Variables) -> Result<Option<SecretString>> {
    let Some(path) = variables.text(TOKEN_FILE) else {
        return Ok(variables.text(TOKEN).map(Into::into));
    };
    // The kubelet replaces the file before the token expires.
    let token = fs::read_to_string(&path);
    let token = token.map_err(|error| Error::invalid(TOKEN_FILE, format!("cannot read {path}: {error}")))?;
    Ok(Some(token.trim().into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::none("A=b", "none")]
    #[case::ecs("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI=/v2/x", "http://169.254.170.2/v2/x")]
    #[case::eks(
        "AWS_CONTAINER_CREDENTIALS_FULL_URI=http://169.254.170.23/v1/credentials",
        "http://169.254.170.23/v1/credentials"
    )]
    #[case::eks_v6(
        "AWS_CONTAINER_CREDENTIALS_FULL_URI=http://[fd00:ec2::23]/v1/credentials",
        "http://[fd00:ec2::23]/v1/credentials"
    )]
    #[case::loopback("AWS_CONTAINER_CREDENTIALS_FULL_URI=http://127.0.0.1:1/x", "http://127.0.0.1:1/x")]
    #[case::tls(
        "AWS_CONTAINER_CREDENTIALS_FULL_URI=https://agent.example/x",
        "https://agent.example/x"
    )]
    #[case::elsewhere("AWS_CONTAINER_CREDENTIALS_FULL_URI=http://agent.example/x", "error")]
    #[case::not_a_url("AWS_CONTAINER_CREDENTIALS_FULL_URI=x", "error")]
    fn agents(#[case] variable: &str, #[case] expected: &str) {
        let found = match url(&variable.split_once('=').into_iter().collect()) {
            Ok(url) => url.map_or("none".to_owned(), |url| url.to_string()),
            Err(_) => "error".to_owned(),
        };
        assert_eq!(found, expected);
    }
}
