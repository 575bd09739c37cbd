//! The features of Octavia, by the version of its API and by the provider of the load balancers.

use crate::api::{ApiVersion, octavia::Octavia};
use cloud::{Error, Result};
use cloud_http::{Failure, http::StatusCode};
use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::time::Instant;
use tracing::warn;

/// The provider that has fewer features than the others.
const OVN: &str = "ovn";

/// What every Octavia can do.
const OLDEST: (u32, u32) = (2, 0);

/// How long Octavia must hide its versions before it counts as one that cannot list them: a gateway in front of it answers the same while it
/// restarts.
const LASTING: Duration = Duration::from_mins(1);

/// The features of an Octavia.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a thing of its own that an Octavia has or has not"
)]
pub(crate) struct Features {
    /// Tags; without them a load balancer cannot be shared.
    pub tags: bool,
    /// `allowed_cidrs` of listeners.
    pub source_ranges: bool,
    /// Flavors.
    pub flavors: bool,
    /// Timeouts of listeners.
    pub timeouts: bool,
    /// Availability zones.
    pub zones: bool,
    /// HTTP monitors of TCP pools.
    pub http_monitors: bool,
    /// HTTP monitors of UDP pools.
    pub http_monitors_on_udp: bool,
    /// More than one address.
    pub additional_vips: bool,
}

impl Features {
    /// What every Octavia can do with this provider.
    pub fn oldest(provider: &str) -> Self {
        Self::of(OLDEST, provider)
    }

    /// What a version and a provider can do.
    pub fn of(version: (u32, u32), provider: &str) -> Self {
        let since = |minor| version >= (2, minor);
        let full = provider != OVN;
        Self {
            tags: since(5),
            source_ranges: full && since(12),
            flavors: full && since(6),
            timeouts: full && since(1),
            zones: full && since(14),
            http_monitors: full,
            http_monitors_on_udp: full && since(16),
            additional_vips: since(26),
        }
    }
}

/// Asks one Octavia what it can do.
#[derive(Debug, Default)]
pub(crate) struct FeatureDiscovery {
    hidden_since: Mutex<Option<Instant>>,
    warned: AtomicBool,
}

impl FeatureDiscovery {
    /// The features of this Octavia. If they are not known, that is an error, never "no features": existing settings would be removed. If a
    /// gateway shows nothing but `/v2.0` all the time, there is nothing to wait for.
    pub async fn features(&self, octavia: &Octavia, provider: &str) -> Result<Features> {
        let answer = octavia.versions().await;
        let version = version(&answer, self.hidden_for(&answer));
        match (version, answer) {
            (Some(version), Ok(_)) => Ok(Features::of(version, provider)),
            (Some(version), Err(error)) => {
                self.warn_once(&error);
                Ok(Features::of(version, provider))
            }
            (None, Ok(_)) => Err(Error::unavailable(
                "version list",
                "Octavia lists no version of its API",
            )),
            (None, Err(error)) => Err(error),
        }
    }

    fn hidden_for(&self, answer: &Result<Vec<ApiVersion>>) -> Duration {
        let mut since = self.hidden_since.lock().unwrap_or_else(PoisonError::into_inner);
        if !answer.as_ref().is_err_and(is_hidden) {
            *since = None;
            return Duration::ZERO;
        }
        since.get_or_insert_with(Instant::now).elapsed()
    }

    /// Warns once, not for each Service.
    fn warn_once(&self, error: &Error) {
        if !self.warned.swap(true, Ordering::Relaxed) {
            warn!(
                error = error.report(),
                "octavia does not list its versions: only what the oldest one can do is used, without tags, timeouts, flavors and source ranges"
            );
        }
    }
}

/// The version to use, if it is known.
fn version(answer: &Result<Vec<ApiVersion>>, hidden_for: Duration) -> Option<(u32, u32)> {
    match answer {
        Ok(versions) => newest(versions),
        Err(error) => (is_hidden(error) && hidden_for >= LASTING).then_some(OLDEST),
    }
}

/// Whether the answer is that the list does not exist or is forbidden.
fn is_hidden(error: &Error) -> bool {
    let status = Failure::of(error).map(Failure::status);
    matches!(error, Error::NotFound { .. }) || matches!(status, Some(StatusCode::FORBIDDEN | StatusCode::NOT_FOUND))
}

/// Whether a provider is the one with fewer features.
pub(crate) fn is_ovn(provider: &str) -> bool {
    provider == OVN
}

fn newest(versions: &[ApiVersion]) -> Option<(u32, u32)> {
    versions.iter().filter_map(|version| parse(&version.id)).max()
}

/// `v2.27` is 2 and 27, `v2` is 2 and 0; anything after a second dot is ignored.
fn parse(id: &str) -> Option<(u32, u32)> {
    let mut numbers = id.strip_prefix('v')?.split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next().unwrap_or(Some(0))?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn words(features: Features) -> String {
        let Features {
            tags,
            source_ranges,
            flavors,
            timeouts,
            zones,
            http_monitors,
            http_monitors_on_udp,
            additional_vips,
        } = features;
        let all = [
            (tags, "tags"),
            (source_ranges, "ranges"),
            (flavors, "flavors"),
            (timeouts, "timeouts"),
            (zones, "zones"),
            (http_monitors, "http"),
            (http_monitors_on_udp, "http-on-udp"),
            (additional_vips, "vips"),
        ];
        let words: Vec<_> = all.iter().filter(|(has, _)| *has).map(|(_, word)| *word).collect();
        words.join(" ")
    }

    #[rstest]
    #[case::oldest("v2.0", "amphora", "http")]
    #[case::timeouts("v2.1", "amphora", "timeouts http")]
    #[case::tags("v2.5", "amphora", "tags timeouts http")]
    #[case::flavors("v2.6", "amphora", "tags flavors timeouts http")]
    #[case::ranges("v2.12", "amphora", "tags ranges flavors timeouts http")]
    #[case::zones("v2.14", "f5", "tags ranges flavors timeouts zones http")]
    #[case::monitors("v2.16", "amphora", "tags ranges flavors timeouts zones http http-on-udp")]
    #[case::vips("v2.26", "amphora", "tags ranges flavors timeouts zones http http-on-udp vips")]
    #[case::ovn("v2.30", "ovn", "tags vips")]
    #[case::another_major("v3.0", "amphora", "tags ranges flavors timeouts zones http http-on-udp vips")]
    fn features(#[case] version: &str, #[case] provider: &str, #[case] expected: &str) {
        assert_eq!(words(Features::of(parse(version).unwrap(), provider)), expected);
    }

    #[rstest]
    #[case::numbers_not_letters(&["v2.9", "v2.10"], Some((2, 10)))]
    #[case::any_order(&["v2.27", "v2.0"], Some((2, 27)))]
    #[case::no_minor(&["v2"], Some((2, 0)))]
    #[case::any_minor_is_newer(&["v2", "v2.13"], Some((2, 13)))]
    #[case::more_than_two(&["v2.13.1", "v2.5"], Some((2, 13)))]
    #[case::strange(&["2.5", "v2.", "v2.x", "next"], None)]
    #[case::none(&[], None)]
    fn newest_version(#[case] ids: &[&str], #[case] expected: Option<(u32, u32)>) {
        assert_eq!(newest(&versions(ids)), expected);
    }

    fn versions(ids: &[&str]) -> Vec<ApiVersion> {
        let version = |id: &&str| ApiVersion {
            id: (*id).to_owned(),
            status: String::new(),
            version: String::new(),
        };
        ids.iter().map(version).collect()
    }

    #[rstest]
    #[case::reported(Ok(versions(&["v2.0", "v2.27"])), 0, Some((2, 27)))]
    #[case::no_versions(Ok(versions(&[])), 3600, None)]
    #[case::missing(missing(), 0, None)]
    #[case::missing_for_some_time(missing(), 59, None)]
    #[case::missing_for_long(missing(), 60, Some(OLDEST))]
    #[case::silent(Err(Error::unavailable("version list", "no answer")), 3600, None)]
    #[case::throttled(Err(Error::Throttled { call: "version list".into(), retry_after: None }), 3600, None)]
    fn reads_the_newest_version(
        #[case] answer: Result<Vec<ApiVersion>>,
        #[case] seconds: u64,
        #[case] expected: Option<(u32, u32)>,
    ) {
        assert_eq!(version(&answer, Duration::from_secs(seconds)), expected);
    }

    fn missing() -> Result<Vec<ApiVersion>> {
        let what = "version list".to_owned();
        Err(Error::NotFound { what })
    }
}
