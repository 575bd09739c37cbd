//! Authorization: `system:masters` may do everything, some paths are always allowed, the rest needs a `SubjectAccessReview`.

use super::{
    cache::Cache,
    hash::sha256,
    metrics::Metrics,
    review::{self, Reviewer},
    user::{MASTERS, User},
};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec, SubjectAccessReviewStatus,
};
use kube::Client;
use std::{fmt, sync::Arc, time::Duration};
use tokio::time::Instant;

/// Reviews of larger requests are not cached.
const CACHEABLE: usize = 10_000;

/// The settings of an authorizer.
pub struct Options {
    /// Client for `SubjectAccessReview`s; if absent, every path that is not always allowed is forbidden.
    pub client: Option<Client>,
    /// Paths that are always allowed: exact, or with a `*` at the end. A leading `/` is optional.
    pub always_allow_paths: Vec<String>,
    /// How long an allowed request is cached.
    pub allow_ttl: Duration,
    /// How long a denied request is cached.
    pub deny_ttl: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            client: None,
            always_allow_paths: ["/healthz", "/readyz", "/livez"].map(str::to_owned).into(),
            allow_ttl: Duration::from_secs(10),
            deny_ttl: Duration::from_secs(10),
        }
    }
}

/// Why an authorizer cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A `*` that is not at the end.
    #[error("only trailing * allowed in {0:?}")]
    Star(String),
}

/// The decision of the authorizer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Decision {
    Allowed,
    Denied { reason: String },
    Unknown { problem: String },
}

/// Authorizes requests.
pub struct Authorizer {
    paths: Paths,
    remote: Option<Remote>,
    metrics: Metrics,
}

impl fmt::Debug for Authorizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authorizer")
            .field("always", &self.paths)
            .finish_non_exhaustive()
    }
}

impl Authorizer {
    /// Creates an authorizer.
    ///
    /// # Errors
    /// If a path is invalid.
    pub fn new(options: Options, metrics: Metrics) -> Result<Self, Error> {
        let Options {
            client,
            always_allow_paths,
            allow_ttl,
            deny_ttl,
        } = options;
        if client.is_none() {
            tracing::warn!("no authorization kubeconfig; every path that is not always allowed is forbidden");
        }
        let remote = client.map(|client| Remote::new(client, &metrics, allow_ttl, deny_ttl));
        Ok(Self {
            paths: Paths::parse(&always_allow_paths)?,
            remote,
            metrics,
        })
    }

    pub(super) async fn authorize(&self, user: &User, verb: &str, path: &str) -> Decision {
        let started = Instant::now();
        let (decision, label) = self.decide(user, verb, path).await;
        self.metrics.authz.observe(&[label], started.elapsed());
        if let Decision::Denied { reason } = &decision {
            tracing::debug!(user = user.name, verb, path, reason, "forbidden");
        }
        decision
    }

    /// The decision and its label in the metrics.
    async fn decide(&self, user: &User, verb: &str, path: &str) -> (Decision, &'static str) {
        if user.is_in(MASTERS) || self.paths.allow(path) {
            return (Decision::Allowed, "allowed");
        }
        let Some(remote) = &self.remote else {
            return (Decision::Denied { reason: String::new() }, "no-opinion");
        };
        match remote.review(user, verb, path).await {
            Err(error) => {
                let problem = error.to_string();
                (Decision::Unknown { problem }, "error")
            }
            Ok(SubjectAccessReviewStatus {
                allowed: true,
                denied: Some(true),
                ..
            }) => {
                let problem = "webhook subject access review returned both allow and deny response".to_owned();
                (Decision::Unknown { problem }, "error")
            }
            Ok(SubjectAccessReviewStatus { allowed: true, .. }) => (Decision::Allowed, "allowed"),
            Ok(SubjectAccessReviewStatus { denied, reason, .. }) => {
                let label = if denied == Some(true) { "denied" } else { "no-opinion" };
                (
                    Decision::Denied {
                        reason: reason.unwrap_or_default(),
                    },
                    label,
                )
            }
        }
    }
}

/// Paths that are always allowed, without their leading `/`.
#[derive(Debug)]
struct Paths {
    exact: Vec<String>,
    prefixes: Vec<String>,
}

/// Validates the paths of `--authorization-always-allow-paths`.
///
/// # Errors
/// If one is invalid.
pub fn check_paths(paths: &[String]) -> Result<(), Error> {
    Paths::parse(paths).map(drop)
}

impl Paths {
    fn parse(paths: &[String]) -> Result<Self, Error> {
        let mut parsed = Self {
            exact: Vec::new(),
            prefixes: Vec::new(),
        };
        for path in paths {
            let path = path.strip_prefix('/').unwrap_or(path);
            match path.split_once('*') {
                None => parsed.exact.push(path.to_owned()),
                Some((prefix, "")) => parsed.prefixes.push(prefix.to_owned()),
                Some(_) => return Err(Error::Star(path.to_owned())),
            }
        }
        Ok(parsed)
    }

    fn allow(&self, path: &str) -> bool {
        let path = path.strip_prefix('/').unwrap_or(path);
        self.exact.iter().any(|exact| exact == path) || self.prefixes.iter().any(|prefix| path.starts_with(prefix))
    }
}

/// Authorization by the API server.
struct Remote {
    reviewer: Arc<Reviewer>,
    cache: Cache<Result<SubjectAccessReviewStatus, review::Error>>,
    allow_ttl: Duration,
    deny_ttl: Duration,
}

impl Remote {
    fn new(client: Client, metrics: &Metrics, allow_ttl: Duration, deny_ttl: Duration) -> Self {
        let consequence = "every path that is not always allowed is rejected with 500";
        let reviewer = Arc::new(Reviewer::new(client, metrics.authz_requests.clone(), consequence));
        Self {
            reviewer,
            cache: Cache::default(),
            allow_ttl,
            deny_ttl,
        }
    }

    async fn review(&self, user: &User, verb: &str, path: &str) -> Result<SubjectAccessReviewStatus, review::Error> {
        let review = SubjectAccessReview {
            spec: spec(user, verb, path),
            ..SubjectAccessReview::default()
        };
        let key = serde_json::to_vec(&review.spec).map_err(|error| review::Error::Failed(error.to_string()))?;
        let (allow, deny) = if key.len() < CACHEABLE {
            (self.allow_ttl, self.deny_ttl)
        } else {
            Default::default()
        };
        let reviewer = self.reviewer.clone();
        let ask = async move {
            reviewer
                .review(&review)
                .await
                .map(|review| review.status.unwrap_or_default())
        };
        let ttl = move |answer: &Result<SubjectAccessReviewStatus, review::Error>| match answer {
            Ok(status) if status.allowed => allow,
            Ok(_) => deny,
            Err(_) => Duration::ZERO,
        };
        let answer = self.cache.get(sha256(&key), ask, ttl).await;
        answer.unwrap_or(Err(review::Error::Panicked))
    }
}

fn spec(user: &User, verb: &str, path: &str) -> SubjectAccessReviewSpec {
    let User {
        name,
        uid,
        groups,
        extra,
    } = user.clone();
    SubjectAccessReviewSpec {
        user: Some(name),
        uid: (!uid.is_empty()).then_some(uid),
        groups: Some(groups),
        extra: (!extra.is_empty()).then_some(extra),
        non_resource_attributes: Some(NonResourceAttributes {
            path: Some(path.to_owned()),
            verb: Some(verb.to_owned()),
        }),
        resource_attributes: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::exact(&["/healthz"], "/healthz", true)]
    #[case::not_below(&["/healthz"], "/healthz/ping", false)]
    #[case::not_beside(&["/healthz"], "/healthzz", false)]
    #[case::slash_is_optional(&["healthz"], "/healthz", true)]
    #[case::below(&["/healthz/*"], "/healthz/ping", true)]
    #[case::below_only(&["/healthz/*"], "/healthz", false)]
    #[case::beginning(&["/health*"], "/healthz/ping", true)]
    #[case::everything(&["*"], "/metrics", true)]
    #[case::root(&["/"], "/", true)]
    #[case::root_only(&["/"], "/metrics", false)]
    #[case::nothing(&[], "/healthz", false)]
    fn always_allows(#[case] paths: &[&str], #[case] path: &str, #[case] expected: bool) {
        let paths: Vec<_> = paths.iter().map(|path| (*path).to_owned()).collect();
        assert_eq!(Paths::parse(&paths).unwrap().allow(path), expected);
    }

    #[rstest]
    #[case::in_the_middle("/a*b")]
    #[case::twice("/a**")]
    fn rejects(#[case] path: &str) {
        let error = Paths::parse(&[path.to_owned()]).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("only trailing * allowed in {:?}", &path[1..])
        );
    }

    #[rstest]
    #[case::masters(&["system:masters"], "/metrics", Decision::Allowed)]
    #[case::open_path(&["system:unauthenticated"], "/livez", Decision::Allowed)]
    #[case::without_a_client(&["system:authenticated"], "/metrics", Decision::Denied { reason: String::new() })]
    #[tokio::test]
    async fn decides_without_a_review(#[case] groups: &[&str], #[case] path: &str, #[case] expected: Decision) {
        let metrics = Metrics::register(&prometheus::Registry::new()).unwrap();
        let authorizer = Authorizer::new(Options::default(), metrics).unwrap();
        let groups = groups.iter().map(|group| (*group).to_owned()).collect();
        let user = User {
            name: "alice".into(),
            groups,
            ..User::default()
        };
        assert_eq!(authorizer.authorize(&user, "get", path).await, expected);
    }
}
