//! Calls to one service.

use super::{
    Service, errors,
    query::{self, Lists},
};
use crate::metrics::{self, Metrics};
use cloud::{Error, Gate, Result};
use cloud_http::{
    Client, Config, Credentials, Idempotency, Next, Request, Response, Url,
    http::{HeaderName, header::ACCEPT},
};
use futures::TryStreamExt;
use serde::{Serialize, de::DeserializeOwned};
use std::time::Duration;

/// As the Go program.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(30);

/// The Go program also names itself kubernetes, by which its calls are found in `CloudTrail`.
const AGENT: &str = concat!(
    "outrigger/",
    env!("CARGO_PKG_VERSION"),
    " kubernetes/",
    env!("CARGO_PKG_VERSION")
);

/// Names whose values are secret.
const SECRETS: [&str; 4] = [
    "X-Amz-Security-Token",
    "SecretAccessKey",
    "SessionToken",
    "WebIdentityToken",
];

/// A page of a list.
pub trait Page: DeserializeOwned + Send {
    /// What is listed.
    type Item: Send;

    /// The token of the next page; empty on the last one.
    fn next(&self) -> &str;

    /// The items.
    fn items(self) -> Vec<Self::Item>;
}

/// Calls to one service.
pub struct Caller {
    service: Service,
    url: Url,
    client: Client,
    metrics: Metrics,
    headers: Vec<(HeaderName, String)>,
}

impl Caller {
    /// Calls to the service at this URL, signed with these credentials.
    ///
    /// # Errors
    /// As [`Client::new`].
    pub fn new(
        service: Service,
        url: Url,
        credentials: Option<Credentials>,
        gate: &Gate,
        metrics: &Metrics,
    ) -> Result<Self> {
        let mut client = Client::new(&http_config(), gate.clone(), &metrics.http)?
            .recognising(errors::is_own)
            .expiring(errors::is_stale)
            .explaining(|failure| {
                metrics::refused(failure);
                errors::explain(failure)
            });
        if let Some(credentials) = credentials {
            client = client.with_credentials(credentials);
        }
        Ok(Self {
            service,
            url,
            client,
            metrics: metrics.clone(),
            headers: Vec::new(),
        })
    }

    /// The same with these headers on every request.
    #[must_use]
    pub fn with_headers(self, headers: Vec<(HeaderName, String)>) -> Self {
        Self { headers, ..self }
    }

    /// Sends an action.
    ///
    /// # Errors
    /// As [`errors::explain`] says.
    pub async fn call<A: DeserializeOwned + Send>(
        &self,
        action: &'static str,
        idempotency: Idempotency,
        request: &(impl Serialize + Sync),
    ) -> Result<A> {
        let request = self.request(action, idempotency, self.parameters(action, request)?);
        // On the heap: in every caller's future it would take 18 KiB.
        let answer = Box::pin(
            self.client
                .send_with(request, |response| query::decode(action, response)),
        );
        self.metrics.measured(self.service, action, |_| true, answer).await
    }

    /// Sends an action; `None` if AWS itself says that the object does not exist.
    ///
    /// # Errors
    /// As [`Caller::call`].
    pub async fn find<A: DeserializeOwned + Send>(
        &self,
        action: &'static str,
        idempotency: Idempotency,
        request: &(impl Serialize + Sync),
    ) -> Result<Option<A>> {
        let request = self.request(action, idempotency, self.parameters(action, request)?);
        let answer = Box::pin(
            self.client
                .find_with(request, |response| query::decode(action, response)),
        );
        self.metrics
            .measured(self.service, action, Option::is_some, answer)
            .await
    }

    /// Reads a list to its end.
    ///
    /// # Errors
    /// As [`Caller::call`]. There is no list unless it is complete.
    pub async fn pages<P: Page>(
        &self,
        action: &'static str,
        request: &(impl Serialize + Sync),
    ) -> Result<Vec<P::Item>> {
        let parameters = self.parameters(action, request)?;
        let first = self.request(action, Idempotency::Safe, parameters.clone());
        let decode = |response: &Response| query::decode::<P>(action, response);
        let next = |page: &P| {
            let token = Some(page.next()).filter(|token| !token.is_empty())?;
            let mut parameters = parameters.clone();
            parameters.push((self.service.page_token().to_owned(), token.to_owned()));
            Some(Next::Request(Box::new(self.request(
                action,
                Idempotency::Safe,
                parameters,
            ))))
        };
        let pages = self.client.pages_with(first, decode, next);
        let all = Box::pin(pages.map_ok(P::items).try_concat());
        self.metrics.measured(self.service, action, |_| true, all).await
    }

    fn parameters(&self, action: &str, request: &impl Serialize) -> Result<Vec<(String, String)>> {
        query::parameters(request, self.service.lists())
            .map_err(|error| Error::invalid("request", format!("{action}: {error}")))
    }

    fn request(&self, action: &'static str, idempotency: Idempotency, parameters: Vec<(String, String)>) -> Request {
        let about = about(&parameters, self.service.lists());
        let fixed = [("Action", action), ("Version", self.service.version())];
        let fixed = fixed.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let request = Request::post(action, &self.url)
            // Some services answer in JSON to those that accept it.
            .header(ACCEPT, "text/xml")
            .form(fixed.into_iter().chain(parameters))
            .idempotency(idempotency);
        let request = self
            .headers
            .iter()
            .fold(request, |request, (name, value)| request.header(name.clone(), value));
        match about {
            Some(what) => request.about(what),
            None => request,
        }
    }
}

fn http_config() -> Config {
    Config {
        user_agent: AGENT.to_owned(),
        attempt_timeout: Some(ATTEMPT_TIMEOUT),
        secret_names: SECRETS.map(str::to_owned).to_vec(),
        ..Config::default()
    }
}

/// The object of a request, for errors: its first parameter that is an ID, a name or an ARN.
fn about(parameters: &[(String, String)], lists: Lists) -> Option<String> {
    let first = match lists {
        Lists::Flat => ".1",
        Lists::Members => ".member.1",
    };
    parameters.iter().find_map(|(name, value)| {
        let name = name.strip_suffix(first).unwrap_or(name);
        let kinds = ["Id", "Name", "Names", "Arn", "Arns"];
        let is_object = !name.contains('.') && kinds.iter().any(|kind| name.ends_with(kind));
        is_object.then(|| format!("{} {value}", name.trim_end_matches('s')))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::{Value, json};

    #[rstest]
    #[case::id(json!({"GroupId": "sg-1", "IpPermissions": [{"IpProtocol": "tcp"}]}), Lists::Flat, Some("GroupId sg-1"))]
    #[case::first_of_a_list(json!({"InstanceId": ["i-1", "i-2"]}), Lists::Flat, Some("InstanceId i-1"))]
    #[case::members(json!({"Names": ["a"]}), Lists::Members, Some("Name a"))]
    #[case::filters_are_no_objects(json!({"Filter": [{"Name": "vpc-id", "Value": ["v"]}]}), Lists::Flat, None)]
    fn names_the_object(#[case] request: Value, #[case] lists: Lists, #[case] expected: Option<&str>) {
        let parameters = query::parameters(&request, lists).unwrap();
        assert_eq!(about(&parameters, lists).as_deref(), expected);
    }
}
