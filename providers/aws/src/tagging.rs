//! Tags of the instances behind nodes: the flags of the tagging controller, and what it does to EC2.

use crate::{
    api::{Api, ec2::Tag, errors},
    auth::sign::hex,
    instances::instance_id,
};
use async_trait::async_trait;
use cloud::{Error, NodeRef, NodeTags, Result, TagOutcome, TagPace};
use cloud_http::Register;
use md5::{Digest, Md5};
use prometheus::{Histogram, HistogramOpts, IntCounterVec, Opts};
use provider_kit::concurrently;
use std::{collections::BTreeMap, num::NonZeroUsize, sync::Arc};

/// The label of Nodes whose instances have the tags.
pub const LABEL: &str = "k8s.io/cloud-provider-aws";

/// How many instances one call tags.
const BATCH: NonZeroUsize = NonZeroUsize::new(50).unwrap();

/// What the flags say.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// `--tags`
    pub tags: BTreeMap<String, String>,
    /// `--tagging-controller-concurrent-node-syncs`
    pub workers: NonZeroUsize,
    /// `--tagging-controller-rate-limit` and `--tagging-controller-burst-limit`
    pub rate: Option<(f64, u32)>,
}

/// The value of the label for these tags.
#[must_use]
pub fn md5_of(tags: &BTreeMap<String, String>) -> String {
    let pairs: Vec<String> = tags.iter().map(|(key, value)| format!("{key}={value}")).collect();
    hex(&Md5::digest(pairs.join(",")))
}

/// Tags of the instances behind nodes.
pub struct Tagging {
    api: Arc<Api>,
    options: Options,
    tags: Vec<Tag>,
    value: String,
    metrics: Metrics,
}

/// What a call does to tags.
#[derive(Clone, Copy)]
enum Change {
    Create,
    Delete,
}

impl Tagging {
    pub fn new(api: &Arc<Api>, options: Options, metrics: Metrics) -> Self {
        Self {
            api: Arc::clone(api),
            tags: options.tags.iter().map(|(key, value)| Tag::new(key, value)).collect(),
            value: md5_of(&options.tags),
            options,
            metrics,
        }
    }

    async fn change(&self, nodes: &[NodeRef], change: Change) -> Vec<Result<()>> {
        let ids: Vec<Result<&str>> = nodes.iter().map(instance).collect();
        let known: Vec<&str> = ids.iter().flatten().copied().collect();
        let chunks = known.chunks(BATCH.get()).map(|ids| self.chunk(ids, change));
        let mut answers = concurrently(chunks).await.into_iter().flatten();
        let answer = |id: Result<&str>| match id {
            Ok(_) => answers
                .next()
                .unwrap_or_else(|| Err(Error::unavailable("tags", "there is no answer"))),
            Err(error) => Err(error),
        };
        ids.into_iter().map(answer).collect()
    }

    /// One call for all of them. If EC2 refuses it, it may refuse only one of them: each gets a call of its own.
    async fn chunk(&self, ids: &[&str], change: Change) -> Vec<Result<()>> {
        match self.call(ids, change).await {
            Ok(()) => vec![Ok(()); ids.len()],
            Err(error) if ids.len() > 1 && errors::code(&error).is_some() => {
                concurrently(ids.iter().map(|id| async move { self.call(&[id], change).await })).await
            }
            Err(error) => vec![Err(error); ids.len()],
        }
    }

    async fn call(&self, ids: &[&str], change: Change) -> Result<()> {
        let answer = match change {
            Change::Create => self.api.create_tags(ids, &self.tags).await,
            Change::Delete => self.api.delete_tags(ids, &self.tags).await,
        };
        answer.map_err(|error| match (errors::code(&error), ids) {
            (Some("InvalidInstanceID.NotFound"), [id]) => Error::not_found(format!("instance {id}")),
            (Some("InvalidID"), [id]) => Error::invalid("instance ID", format!("EC2 does not accept {id}")),
            _ => error,
        })
    }
}

/// The instance of a node.
fn instance(node: &NodeRef) -> Result<&str> {
    let what = || Error::NotSupported {
        what: format!("a tag of node {}", node.name),
    };
    let id = node.provider_id.as_ref().ok_or_else(what)?;
    instance_id(id.as_str()).ok().flatten().ok_or_else(what)
}

#[async_trait]
impl NodeTags for Tagging {
    fn label(&self) -> (&str, &str) {
        (LABEL, &self.value)
    }

    fn pace(&self) -> TagPace {
        TagPace {
            workers: self.options.workers,
            batch: BATCH,
            rate: self.options.rate,
        }
    }

    async fn tag(&self, nodes: &[NodeRef]) -> Vec<Result<()>> {
        self.change(nodes, Change::Create).await
    }

    async fn untag(&self, nodes: &[NodeRef]) -> Vec<Result<()>> {
        let answers = self.change(nodes, Change::Delete).await;
        let missing_is_success = |answer: Result<()>| match answer {
            Err(Error::NotFound { .. }) => Ok(()),
            answer => answer,
        };
        answers.into_iter().map(missing_is_success).collect()
    }

    fn observe(&self, node: &NodeRef, outcome: TagOutcome) {
        let id = instance(node).unwrap_or_default();
        match outcome {
            TagOutcome::First(age) => self.metrics.delay.observe(age.as_secs_f64()),
            TagOutcome::Failed => self.metrics.errors.with_label_values(&["total_errors", id]).inc(),
            TagOutcome::GivenUp => {
                let labels = ["errors_after_retries_exhausted", id];
                self.metrics.errors.with_label_values(&labels).inc();
            }
        }
    }
}

/// What is counted about the tagging controller.
#[derive(Clone)]
pub struct Metrics {
    errors: IntCounterVec,
    delay: Histogram,
}

impl Metrics {
    /// Registers the metrics, with the names of the Go program.
    pub fn register(registry: &dyn Register) -> prometheus::Result<Self> {
        let errors = Opts::new(
            "cloudprovider_aws_tagging_controller_work_item_errors_total",
            "Errors of the tagging controller, by kind and instance",
        );
        let delay = HistogramOpts::new(
            "tagging_controller_inital_node_tagging_delay_seconds",
            "How old Nodes are when their instances are first tagged",
        );
        let metrics = Self {
            errors: IntCounterVec::new(errors, &["error_type", "instance_id"])?,
            delay: Histogram::with_opts(delay.buckets(vec![1.0, 4.0, 16.0, 64.0, 256.0, 1024.0]))?,
        };
        registry.register(Box::new(metrics.errors.clone()))?;
        registry.register(Box::new(metrics.delay.clone()))?;
        Ok(metrics)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_label_is_that_of_the_go_program() {
        let tags = [("b", "2"), ("a", "1")].map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(md5_of(&tags.into()), "9dc867b7f2bf1e40160f90e46628512e");
    }
}
