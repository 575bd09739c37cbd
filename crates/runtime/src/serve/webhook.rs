//! The webhook server: admission reviews from the API server, each path with its own handler.

use super::{
    metrics::Metrics,
    mux::{BodyError, Mux, Request},
    response::{self, Response},
};
use futures::future::BoxFuture;
use http::{StatusCode, header};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{fmt, sync::Arc};
use tokio::time::Instant;

/// The largest review: a request has at most 3 MiB, and it may contain the old object as well.
const REVIEW_BYTES: usize = 8 * 1024 * 1024;
const API_VERSION: &str = "admission.k8s.io/v1";
const KIND: &str = "AdmissionReview";

/// Answers an `AdmissionRequest` with an `AdmissionResponse`, both of `admission.k8s.io/v1`, or says why it cannot.
pub type Admit = Arc<dyn Fn(Value) -> BoxFuture<'static, Result<Value, String>> + Send + Sync>;

/// A webhook.
#[derive(Clone)]
pub struct Webhook {
    name: String,
    path: String,
    admit: Admit,
}

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhook")
            .field("name", &self.name)
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl Webhook {
    /// A webhook that is called `name` in `--webhooks` and in the metrics.
    pub fn new<F>(name: &str, path: &str, admit: impl Fn(Value) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Value, String>> + Send + 'static,
    {
        let admit: Admit = Arc::new(move |request| Box::pin(admit(request)));
        Self {
            name: name.to_owned(),
            path: path.to_owned(),
            admit,
        }
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// The webhooks that are enabled, as what a server answers. They are for the API server, which says who it is by other
/// means.
pub fn mux(webhooks: Vec<Webhook>, is_enabled: impl Fn(&str) -> bool, metrics: &Metrics) -> Mux {
    let (enabled, disabled): (Vec<_>, _) = webhooks.into_iter().partition(|webhook| is_enabled(&webhook.name));
    for webhook in disabled {
        tracing::warn!(webhook = webhook.name, "webhook is disabled");
    }
    enabled.into_iter().fold(Mux::default(), |mux, webhook| {
        tracing::info!(webhook = webhook.name, path = webhook.path, "webhook is enabled");
        let path = webhook.path.clone();
        let (webhook, metrics) = (Arc::new(webhook), metrics.clone());
        mux.at(&path, move |request| {
            let (webhook, metrics) = (webhook.clone(), metrics.clone());
            async move { webhook.counted(request, &metrics).await }
        })
    })
}

#[derive(Deserialize)]
struct Incoming {
    #[serde(rename = "apiVersion", default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    request: Option<Value>,
}

#[derive(Serialize)]
struct Outgoing {
    kind: &'static str,
    #[serde(rename = "apiVersion")]
    api_version: &'static str,
    response: Value,
}

/// Why a review is not answered with one.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    /// The API server sent something else.
    #[error("{0}")]
    Malformed(String),
    #[error(transparent)]
    Body(#[from] BodyError),
    /// The handler failed.
    #[error("{0}")]
    Failed(String),
}

impl Refusal {
    fn response(&self) -> Response {
        match self {
            Self::Malformed(message) => response::error(StatusCode::BAD_REQUEST, message),
            Self::Body(error) => error.response(),
            Self::Failed(message) => response::error(StatusCode::INTERNAL_SERVER_ERROR, message),
        }
    }
}

impl Webhook {
    async fn counted(&self, request: Request, metrics: &Metrics) -> Response {
        let started = Instant::now();
        let response = self.answer(request).await.unwrap_or_else(|refusal| {
            tracing::error!(webhook = self.name, reason = %refusal, "cannot answer an admission request");
            refusal.response()
        });
        metrics
            .webhooks
            .observe(&[response.status().as_str(), &self.name], started.elapsed());
        response
    }

    async fn answer(&self, request: Request) -> Result<Response, Refusal> {
        let asked = read(request).await?;
        let uid = asked.get("uid").cloned().unwrap_or_else(|| "".into());
        match (self.admit)(asked).await {
            Err(problem) => Err(Refusal::Failed(format!(
                "error generating admission response: {problem}"
            ))),
            Ok(Value::Null) => Err(Refusal::Failed("admission response cannot be nil".into())),
            Ok(Value::Object(mut answer)) => {
                answer.insert("uid".into(), uid);
                review(answer.into()).map_err(|error| unreadable(&error.to_string()))
            }
            Ok(other) => Err(unreadable(&format!("{other} is not an object"))),
        }
    }
}

fn review(response: Value) -> serde_json::Result<Response> {
    let review = Outgoing {
        kind: KIND,
        api_version: API_VERSION,
        response,
    };
    Ok(response::json(StatusCode::OK, serde_json::to_string(&review)?))
}

fn unreadable(problem: &str) -> Refusal {
    Refusal::Failed(format!("error parsing admission response: {problem}"))
}

/// The request in a review.
async fn read(request: Request) -> Result<Value, Refusal> {
    let content_type = request.headers.get(header::CONTENT_TYPE);
    let content_type = content_type.map_or("", |value| value.to_str().unwrap_or("?"));
    if content_type != "application/json" {
        let message = format!("Content-Type: {content_type:?} should be \"application/json\"");
        return Err(Refusal::Malformed(message));
    }
    let body = request.into_body(REVIEW_BYTES).await?;
    if body.is_empty() {
        return Err(Refusal::Malformed("admission request HTTP body is empty".into()));
    }
    let broken = |why: String| Refusal::Malformed(format!("could not deserialize incoming admission review: {why}"));
    let Incoming {
        api_version,
        kind,
        request,
    } = serde_json::from_slice(&body).map_err(|error| broken(error.to_string()))?;
    if api_version != API_VERSION || kind != KIND {
        return Err(broken(format!(
            "{kind:?} of {api_version:?} is not {KIND:?} of {API_VERSION:?}"
        )));
    }
    let nothing = || Refusal::Malformed("admission review can't be used: Request field is nil".into());
    request.filter(Value::is_object).ok_or_else(nothing)
}
