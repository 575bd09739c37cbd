//! Work that is counted and timed.

use cloud_http::{Failure, Register};
use prometheus::{HistogramOpts, HistogramVec, IntCounterVec, Opts};
use std::time::Instant;

/// A histogram of durations and a counter, with the same labels.
#[derive(Debug, Clone)]
pub struct Timed {
    duration: HistogramVec,
    total: IntCounterVec,
}

impl Timed {
    /// Registers a histogram and a counter of these names. The last label is the result: `succeeded` or `failed`.
    ///
    /// # Errors
    /// If the registry already has metrics of these names.
    pub fn register(
        registry: &dyn Register,
        [duration, total]: [&str; 2],
        help: &str,
        labels: &[&str],
        buckets: Vec<f64>,
    ) -> prometheus::Result<Self> {
        let options = HistogramOpts::new(duration, format!("How long it takes: {help}.")).buckets(buckets);
        let timed = Self {
            duration: HistogramVec::new(options, labels)?,
            total: IntCounterVec::new(Opts::new(total, format!("How often: {help}.")), labels)?,
        };
        registry.register(Box::new(timed.duration.clone()))?;
        registry.register(Box::new(timed.total.clone()))?;
        Ok(timed)
    }

    /// Does work, and counts it under the labels that its result has.
    ///
    /// # Errors
    /// As the work.
    pub async fn run<T, const N: usize>(
        &self,
        work: impl Future<Output = cloud::Result<T>>,
        labels: impl FnOnce(&Outcome) -> [String; N],
    ) -> cloud::Result<T> {
        let began = Instant::now();
        let answer = work.await;
        let labels = labels(&Outcome::of(&answer));
        let (labels, seconds) = (labels.each_ref().map(String::as_str), began.elapsed().as_secs_f64());
        self.duration.with_label_values(&labels).observe(seconds);
        self.total.with_label_values(&labels).inc();
        answer
    }
}

/// How work ended, in words for labels.
pub struct Outcome {
    /// `succeeded` or `failed`.
    pub result: &'static str,
    /// The HTTP status, if the cloud answered.
    pub code: String,
}

impl Outcome {
    fn of<T>(answer: &cloud::Result<T>) -> Self {
        match answer {
            Ok(_) => Self {
                result: "succeeded",
                code: "200".to_owned(),
            },
            Err(error) => Self {
                result: "failed",
                code: Failure::of(error)
                    .map(|failure| failure.status().as_str().to_owned())
                    .unwrap_or_default(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cloud::Error;

    #[tokio::test]
    async fn counts_by_result() {
        let registry = prometheus::Registry::new();
        let timed = Timed::register(
            &registry,
            ["a_seconds", "a_total"],
            "a",
            &["call", "result", "code"],
            vec![1.0],
        )
        .unwrap();
        let labels = |outcome: &Outcome| ["get".to_owned(), outcome.result.to_owned(), outcome.code.clone()];
        assert_eq!(timed.run(async { Ok(1) }, labels).await.unwrap(), 1);
        let failed = timed.run(async { Err::<(), _>(Error::not_found("x")) }, labels).await;
        assert!(failed.is_err());
        let counted = |labels: [&str; 3]| timed.total.with_label_values(&labels).get();
        assert_eq!(
            (counted(["get", "succeeded", "200"]), counted(["get", "failed", ""])),
            (1, 1)
        );
        assert_eq!(registry.gather().len(), 2);
    }
}
