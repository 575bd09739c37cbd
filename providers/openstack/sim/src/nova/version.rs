//! Microversions.

use super::error;
use crate::exchange::{Ask, Response};

/// `2.<this>`
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version(pub(super) u32);

impl Version {
    /// Says which version it is.
    pub(super) fn stamp(self, answer: Response) -> Response {
        answer
            .header("OpenStack-API-Version", format!("compute 2.{}", self.0))
            .header("X-OpenStack-Nova-API-Version", format!("2.{}", self.0))
    }
}

/// The requested version; `newest` is the newest one.
pub(super) fn of(ask: &Ask, newest: u32) -> Result<Version, Response> {
    let new = ask
        .header("openstack-api-version")
        .and_then(|text| text.strip_prefix("compute "));
    let Some(text) = new.or_else(|| ask.header("x-openstack-nova-api-version")) else {
        return Ok(Version(1));
    };
    if text == "latest" {
        return Ok(Version(newest));
    }
    let numbers = text
        .split_once('.')
        .and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    let garbage = || {
        let message = format!("API Version String {text} is of invalid format. Must be of format MajorNum.MinorNum.");
        error(400, &message)
    };
    let (major, minor): (u32, u32) = numbers.ok_or_else(garbage)?;
    if major == 2 && (1..=newest).contains(&minor) {
        return Ok(Version(minor));
    }
    let message = format!("Version {text} is not supported by the API. Minimum is 2.1 and maximum is 2.{newest}.");
    Err(error(406, &message)
        .header("OpenStack-API-Version", format!("compute {text}"))
        .header("X-OpenStack-Nova-API-Version", text))
}
