//! Authentication by bearer token, with a `TokenReview` of the API server.

use super::rejection::Rejection;
use crate::serve::{
    cache::Cache,
    hash::sha256,
    metrics::{Metrics, TokenCache},
    review::{self, Reviewer},
    user::User,
};
use http::{HeaderMap, header};
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, TokenReviewStatus};
use kube::Client;
use secrecy::{ExposeSecret, SecretString};
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

/// Reviews tokens and caches the results.
pub(super) struct Tokens {
    reviewer: Arc<Reviewer>,
    cache: Cache<Verdict>,
    ttl: Duration,
    metrics: TokenCache,
}

/// The result of a review.
#[derive(Debug, Clone)]
enum Verdict {
    Valid(Arc<User>),
    Invalid,
    /// Not cached, because the next review may succeed.
    Failed(review::Error),
}

impl Tokens {
    pub(super) fn new(client: Client, metrics: &Metrics, ttl: Duration) -> Self {
        let consequence = "bearer tokens are rejected with 401";
        let reviewer = Arc::new(Reviewer::new(client, metrics.authn_requests.clone(), consequence));
        Self {
            reviewer,
            cache: Cache::default(),
            ttl,
            metrics: metrics.tokens.clone(),
        }
    }

    /// The user of the bearer token, if there is one.
    pub(super) async fn authenticate(&self, headers: &HeaderMap) -> Result<Option<User>, Rejection> {
        let Some(token) = bearer(headers) else { return Ok(None) };
        let key = sha256(token.expose_secret().as_bytes());
        let started = Instant::now();
        let (status, blocked) = if self.cache.knows(&key) {
            ("hit", None)
        } else {
            ("miss", Some(self.metrics.blocked()))
        };
        let (reviewer, metrics) = (self.reviewer.clone(), self.metrics.clone());
        let ttl = self.ttl;
        let ask = async move {
            let _in_flight = metrics.in_flight();
            let verdict = review(&reviewer, &token).await;
            metrics.reviewed(if let Verdict::Failed(_) = verdict {
                "error"
            } else {
                "ok"
            });
            verdict
        };
        let kept = move |verdict: &Verdict| {
            if let Verdict::Failed(_) = verdict {
                Duration::ZERO
            } else {
                ttl
            }
        };
        let verdict = self.cache.get(key, ask, kept).await;
        drop(blocked);
        self.metrics.requests.observe(&[status], started.elapsed());
        match verdict {
            Some(Verdict::Valid(user)) => Ok(Some((*user).clone())),
            Some(Verdict::Invalid) => Err(Rejection::Token),
            Some(Verdict::Failed(error)) => Err(error.into()),
            None => Err(review::Error::Panicked.into()),
        }
    }
}

async fn review(reviewer: &Reviewer, token: &SecretString) -> Verdict {
    let spec = TokenReviewSpec {
        token: Some(token.expose_secret().to_owned()),
        audiences: None,
    };
    match reviewer
        .review(&TokenReview {
            spec,
            ..TokenReview::default()
        })
        .await
    {
        Err(error) => Verdict::Failed(error),
        Ok(review) => verdict(review.status.unwrap_or_default()),
    }
}

fn verdict(status: TokenReviewStatus) -> Verdict {
    let TokenReviewStatus {
        authenticated,
        user,
        error,
        audiences: _,
    } = status;
    match (authenticated, error.filter(|error| !error.is_empty())) {
        (Some(true), _) => {
            let user = user.unwrap_or_default();
            Verdict::Valid(Arc::new(User {
                name: user.username.unwrap_or_default(),
                uid: user.uid.unwrap_or_default(),
                groups: user.groups.unwrap_or_default(),
                extra: user.extra.unwrap_or_default(),
            }))
        }
        (_, Some(error)) => Verdict::Failed(review::Error::Failed(error)),
        (_, None) => Verdict::Invalid,
    }
}

/// The token in `Authorization: Bearer <token>`.
fn bearer(headers: &HeaderMap) -> Option<SecretString> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?.trim();
    let mut words = value.splitn(3, ' ');
    let (scheme, token) = (words.next()?, words.next()?);
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then(|| token.to_owned().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::token("Bearer abc", Some("abc"))]
    #[case::any_case("bEARER abc", Some("abc"))]
    #[case::space_around("  Bearer abc  ", Some("abc"))]
    #[case::more_words("Bearer abc def", Some("abc"))]
    #[case::no_token("Bearer", None)]
    #[case::empty_token("Bearer ", None)]
    #[case::space_before("Bearer  abc", None)]
    #[case::other_scheme("Basic YTpi", None)]
    fn finds_the_token(#[case] value: &str, #[case] expected: Option<&str>) {
        let headers = [(header::AUTHORIZATION, value.parse().unwrap())].into_iter().collect();
        assert_eq!(bearer(&headers).as_ref().map(ExposeSecret::expose_secret), expected);
    }

    #[rstest]
    #[case::valid(Some(true), None, "Valid")]
    #[case::invalid(Some(false), None, "Invalid")]
    #[case::no_status(None, None, "Invalid")]
    #[case::invalid_because(Some(false), Some("expired"), "Failed(Failed(\"expired\"))")]
    fn evaluates_the_review(#[case] authenticated: Option<bool>, #[case] error: Option<&str>, #[case] expected: &str) {
        let error = error.map(str::to_owned);
        let status = TokenReviewStatus {
            authenticated,
            error,
            ..TokenReviewStatus::default()
        };
        assert!(format!("{:?}", verdict(status)).starts_with(expected));
    }
}
