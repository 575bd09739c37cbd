//! What the secure port answers.

use super::{
    coding::coded,
    mux::{Mux, Request},
    response::{self, Response},
};
use crate::{
    configz::Configz,
    health::{Checks, Endpoint, Query, Report},
    metrics::{self, Metrics},
};
use http::{HeaderValue, Method, StatusCode, header};
use std::{fmt, sync::Arc};

/// The largest body that sets a flag.
const FLAG_BYTES: usize = 64 * 1024;

/// Sets the verbosity of the log.
pub type SetVerbosity = Arc<dyn Fn(u32) -> Result<(), String> + Send + Sync>;

/// Whether there is anything under `/debug`.
#[derive(Clone)]
pub enum Debugging {
    /// There is (`--profiling`).
    On {
        /// What `PUT /debug/flags/v` does.
        verbosity: SetVerbosity,
    },
    /// There is not.
    Off,
}

impl fmt::Debug for Debugging {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::On { .. } => "On",
            Self::Off => "Off",
        })
    }
}

/// `/healthz`, `/livez`, `/readyz`, `/metrics`, `/metrics/slis`, `/configz` and, if wanted, `/debug`.
pub fn endpoints(checks: &Checks, metrics: &Metrics, configz: &Configz, debugging: Debugging) -> Mux {
    let (slis, configz) = (metrics.slis().clone(), configz.clone());
    let mut mux = metrics_endpoint(metrics)
        .at("/metrics/slis", move |request| {
            std::future::ready(if request.method == Method::DELETE {
                slis.reset();
                response::text(StatusCode::OK, "metrics reset\n")
            } else {
                exposition(&request, slis.text())
            })
        })
        .at("/configz", move |_| {
            std::future::ready(response::json(StatusCode::OK, configz.json()))
        });
    mux = with_health(mux, checks);
    match debugging {
        Debugging::On { verbosity } => profiles(flags(mux, verbosity)),
        Debugging::Off => mux,
    }
}

/// `/healthz`, `/livez` and `/readyz` alone, for a port that everybody may ask.
#[must_use]
pub fn health_endpoints(checks: &Checks) -> Mux {
    with_health(Mux::default(), checks)
}

/// `/metrics` alone, for a port that every client may read.
#[must_use]
pub fn metrics_endpoint(metrics: &Metrics) -> Mux {
    let metrics = metrics.clone();
    Mux::default().at("/metrics", move |request| {
        std::future::ready(exposition(&request, metrics.text()))
    })
}

fn with_health(mux: Mux, checks: &Checks) -> Mux {
    [Endpoint::Healthz, Endpoint::Livez, Endpoint::Readyz]
        .into_iter()
        .fold(mux, |mux, endpoint| health(mux, endpoint, checks))
}

fn health(mux: Mux, endpoint: Endpoint, checks: &Checks) -> Mux {
    let path = format!("/{}", endpoint.name());
    let below = format!("{path}/");
    let (all, one, prefix) = (checks.clone(), checks.clone(), below.clone());
    mux.at(&path, move |request| {
        std::future::ready(report(all.report(endpoint, &Query::parse(&request.query))))
    })
    .under(&below, move |request| {
        let name = request.path.strip_prefix(&prefix).unwrap_or_default();
        std::future::ready(one.report_one(endpoint, name).map_or_else(response::not_found, report))
    })
}

fn report(report: Report) -> Response {
    let status = StatusCode::from_u16(report.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response::text(status, report.body)
}

fn exposition(request: &Request, text: String) -> Response {
    let response = response::with_type(StatusCode::OK, metrics::CONTENT_TYPE, "");
    coded(response, text, &request.headers)
}

const FLAGS: &str = "<html>\n<head>\n<title>/debug/flags/</title>\n</head>\n<body>\n/debug/flags/<br>\n<br>\nflags:<br>\n\
                     <table>\n<tr>v<br>\n</table>\n<br>\nfull flags configurable<br>\n</body>\n</html>\n";

fn flags(mux: Mux, verbosity: SetVerbosity) -> Mux {
    let index = |_| std::future::ready(response::with_type(StatusCode::OK, "text/html; charset=utf-8", FLAGS));
    mux.at("/debug/flags", index)
        .under("/debug/flags/", index)
        .at("/debug/flags/v", move |request| {
            let verbosity = verbosity.clone();
            async move { set_verbosity(request, verbosity).await }
        })
}

async fn set_verbosity(request: Request, verbosity: SetVerbosity) -> Response {
    let plain = |status, text: String| response::with_type(status, "text/plain", format!("{text}\n"));
    if request.method != Method::PUT {
        return plain(StatusCode::NOT_ACCEPTABLE, "unsupported http method".into());
    }
    let body = match request.into_body(FLAG_BYTES).await {
        Ok(body) => body,
        Err(error) => return error.response(),
    };
    let value = String::from_utf8_lossy(&body);
    match parse(&value).and_then(|level| verbosity(level)) {
        Ok(()) => plain(
            StatusCode::OK,
            format!("successfully set klog.logging.verbosity to {value}"),
        ),
        Err(problem) => plain(StatusCode::BAD_REQUEST, problem),
    }
}

/// As Go reads it, with its words for what is wrong.
fn parse(value: &str) -> Result<u32, String> {
    let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    let wrong = if digits { "value out of range" } else { "invalid syntax" };
    let number = if digits { value.parse().ok() } else { None };
    number.ok_or_else(|| format!("strconv.ParseUint: parsing {value:?}: {wrong}"))
}

const PROFILES: &str = "/debug/pprof/\n\nProfiles of this program:\n\
     cmdline\tthe command line, with its words separated by zero bytes\n\n\
     The other profiles of Go programs do not exist here; use perf, or ask /metrics for memory, time and threads.\n";

const NO_PROFILE: &str =
    "this program is not written in Go and does not have this profile; /debug/pprof/ lists those it has";

fn profiles(mux: Mux) -> Mux {
    let index = |_| std::future::ready(response::text(StatusCode::OK, PROFILES));
    let redirect = |_| {
        let mut moved = response::text(StatusCode::FOUND, "");
        moved
            .headers_mut()
            .insert(header::LOCATION, HeaderValue::from_static("/debug/pprof/"));
        std::future::ready(moved)
    };
    let cmdline = |_| {
        let words: Vec<_> = std::env::args_os()
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        std::future::ready(response::text(StatusCode::OK, words.join("\0")))
    };
    mux.at("/debug/pprof", redirect)
        .at("/debug/pprof/", index)
        .at("/debug/pprof/cmdline", cmdline)
        .under("/debug/pprof/", |_| {
            std::future::ready(response::error(StatusCode::NOT_IMPLEMENTED, NO_PROFILE))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::number("4", Ok(4))]
    #[case::largest("4294967295", Ok(u32::MAX))]
    #[case::too_large("4294967296", Err("strconv.ParseUint: parsing \"4294967296\": value out of range"))]
    #[case::negative("-1", Err("strconv.ParseUint: parsing \"-1\": invalid syntax"))]
    #[case::signed("+1", Err("strconv.ParseUint: parsing \"+1\": invalid syntax"))]
    #[case::word("x", Err("strconv.ParseUint: parsing \"x\": invalid syntax"))]
    #[case::nothing("", Err("strconv.ParseUint: parsing \"\": invalid syntax"))]
    #[case::line("4\n", Err("strconv.ParseUint: parsing \"4\\n\": invalid syntax"))]
    fn reads_a_verbosity(#[case] value: &str, #[case] expected: Result<u32, &str>) {
        assert_eq!(parse(value).as_ref().map_err(String::as_str).copied(), expected);
    }
}
