//! What a provider holds.

use crate::{
    auth::Credentials,
    call::{self, End},
    config::Config,
    failure::{Failure, Origin},
    limit::Limits,
    metrics::Metrics,
    redact::Redactor,
    request::Request,
    response::{DecodeError, Response},
    retry::Budget,
    transport,
};
use cloud::{Error, Gate, Result};
use http::StatusCode;
use serde::de::DeserializeOwned;
use std::{fmt, sync::Arc};

type Explain = Arc<dyn Fn(&Failure) -> Option<Error> + Send + Sync>;
type Recognise = Arc<dyn Fn(&Failure) -> bool + Send + Sync>;

/// Talks to one cloud. Clones share connections, limits and the retry budget.
#[derive(Clone)]
pub struct Client {
    pub(crate) http: reqwest::Client,
    pub(crate) shared: Arc<Shared>,
    pub(crate) metrics: Metrics,
    pub(crate) gate: Gate,
    pub(crate) credentials: Option<Credentials>,
    explain: Explain,
    recognise: Recognise,
    stale: Recognise,
}

/// What clones of a client have in common.
pub(crate) struct Shared {
    pub config: Config,
    pub limits: Limits,
    pub budget: Budget,
    pub redactor: Redactor,
}

impl Client {
    /// A client that asks the gate before each attempt of each call that is not [`Safe`](crate::Idempotency::Safe).
    /// It makes no connection yet.
    ///
    /// # Errors
    /// [`cloud::Error::Invalid`] if certificates, key, proxy or rate are not usable.
    pub fn new(config: &Config, gate: Gate, metrics: &Metrics) -> Result<Self> {
        if config
            .rate
            .is_some_and(|rate| !(rate.per_second.is_finite() && rate.per_second > 0.0))
        {
            return Err(Error::invalid("rate", "the requests a second must be more than 0"));
        }
        let shared = Shared {
            config: config.clone(),
            limits: Limits::new(config.in_flight, config.rate, config.retries.longest_wait),
            budget: Budget::new(config.retries.budget),
            redactor: Redactor::new(&config.secret_names),
        };
        Ok(Self {
            http: transport::build(config)?,
            shared: Arc::new(shared),
            metrics: metrics.clone(),
            gate,
            credentials: None,
            explain: Arc::new(|_| None),
            recognise: Arc::new(Failure::is_json),
            stale: Arc::new(|failure| failure.status() == StatusCode::UNAUTHORIZED),
        })
    }

    /// Authenticates with these credentials.
    #[must_use]
    pub fn with_credentials(mut self, credentials: Credentials) -> Self {
        self.credentials = Some(credentials);
        self
    }

    /// Interprets a response, where the provider knows more than the HTTP status: quotas, conflicts, codes in the
    /// body. `None` leaves it to the status, see [`Failure`].
    ///
    /// [`cloud::Error::NotFound`] from here makes a `find` answer `None`, so it must be the cloud's own word.
    /// [`cloud::Error::Throttled`] from here makes the call try again like after a 429.
    #[must_use]
    pub fn explaining(mut self, explain: impl Fn(&Failure) -> Option<Error> + Send + Sync + 'static) -> Self {
        self.explain = Arc::new(explain);
        self
    }

    /// Distinguishes the cloud's own answers from those of a proxy, an ingress or a load balancer on the way. The default takes a
    /// JSON object of JSON type for the cloud's: an ingress that lost its route answers 404, too, with a page, with plain
    /// text, or with nothing at all.
    #[must_use]
    pub fn recognising(mut self, recognise: impl Fn(&Failure) -> bool + Send + Sync + 'static) -> Self {
        self.recognise = Arc::new(recognise);
        self
    }

    /// Recognises the answers that mean that the credential in use is stale: the call gets a new one and is sent again,
    /// once. The default is status 401.
    #[must_use]
    pub fn expiring(mut self, is_stale: impl Fn(&Failure) -> bool + Send + Sync + 'static) -> Self {
        self.stale = Arc::new(is_stale);
        self
    }

    /// Sends a request and gives the answer.
    ///
    /// # Errors
    /// As the cloud answered, see [`Failure`], or [`cloud::Error::Unavailable`] if it did not, see
    /// [`Fault`](crate::Fault); [`cloud::Error::Throttled`] if waiting for it would take too long; the error of the gate.
    pub async fn send(&self, request: Request) -> Result<Response> {
        call::run(self, &request, &mut |_| Ok(()))
            .await
            .map_err(End::into_error)
    }

    /// Sends a request and reads the answer as JSON.
    ///
    /// # Errors
    /// As [`Client::send`]. An answer that is no such JSON is [`cloud::Error::Unavailable`].
    pub async fn send_json<T: DeserializeOwned + Send>(&self, request: Request) -> Result<T> {
        self.send_with(request, Response::decode).await
    }

    /// Sends a request and decodes the answer. An answer that cannot be decoded is a failed attempt; one that is
    /// [truncated](DecodeError::Truncated) is requested again.
    ///
    /// # Errors
    /// As [`Client::send`]. An answer that cannot be decoded is [`cloud::Error::Unavailable`].
    pub async fn send_with<T: Send>(
        &self,
        request: Request,
        mut decode: impl FnMut(&Response) -> Result<T, DecodeError> + Send,
    ) -> Result<T> {
        let answer = self.answered(&request, &mut decode).await;
        answer.map(|(_, decoded)| decoded).map_err(End::into_error)
    }

    /// Sends a request for something that may not be there. `None` is the cloud's own word, see
    /// [`Client::recognising`]; any doubt is an error.
    ///
    /// # Errors
    /// As [`Client::send`].
    pub async fn find(&self, request: Request) -> Result<Option<Response>> {
        End::found(call::run(self, &request, &mut |_| Ok(())).await)
    }

    /// Sends a request for something that may not be there, and reads the answer as JSON. `None` is the cloud's own word,
    /// see [`Client::recognising`]; any doubt is an error.
    ///
    /// # Errors
    /// As [`Client::send_json`].
    pub async fn find_json<T: DeserializeOwned + Send>(&self, request: Request) -> Result<Option<T>> {
        self.find_with(request, Response::decode).await
    }

    /// As [`Client::find_json`], for answers that are decoded as by [`Client::send_with`].
    ///
    /// # Errors
    /// As [`Client::send_with`].
    pub async fn find_with<T: Send>(
        &self,
        request: Request,
        mut decode: impl FnMut(&Response) -> Result<T, DecodeError> + Send,
    ) -> Result<Option<T>> {
        let answer = self.answered(&request, &mut decode).await;
        End::found(answer.map(|(_, decoded)| decoded))
    }

    /// Sends a request and gives the answer both as it came and decoded.
    pub(crate) async fn answered<T: Send>(
        &self,
        request: &Request,
        decode: &mut (impl FnMut(&Response) -> Result<T, DecodeError> + Send),
    ) -> Result<(Response, T), End> {
        let mut decoded = None;
        let mut check = |response: &Response| {
            decoded = Some(decode(response).map_err(|error| response.fault(&error))?);
            Ok(())
        };
        let response = call::run(self, request, &mut check).await?;
        // The call only succeeds once the answer is decoded.
        let decoded =
            decoded.ok_or_else(|| End::Other(Error::unavailable(request.call(), "the answer was not read")))?;
        Ok((response, decoded))
    }

    pub(crate) fn is_stale(&self, failure: &Failure) -> bool {
        (self.stale)(failure)
    }

    /// The error for a failure.
    pub(crate) fn explained(&self, failure: Failure) -> Error {
        (self.explain)(&failure).unwrap_or_else(|| {
            let origin = if (self.recognise)(&failure) {
                Origin::Cloud
            } else {
                Origin::Doubtful
            };
            failure.into_error(origin)
        })
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("config", &self.shared.config)
            .finish_non_exhaustive()
    }
}
