//! The endpoints of the secure port.

use super::response::{self, Response};
use crate::{
    configz::Configz,
    health::{Checks, Endpoint, Query, Report},
    metrics::{self, Metrics},
};
use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{Path, RawQuery},
    routing::any,
};
use flate2::{Compression, write::GzEncoder};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use std::{fmt, future::ready, io::Write, sync::Arc, time::Duration};

/// The maximum size of a body that sets a flag.
const FLAG_BYTES: usize = 64 * 1024;

/// The time in which it must arrive. It is below the limit for the whole request, whose end would blame the server.
const FLAG_TIME: Duration = Duration::from_secs(30);

/// Sets the verbosity of the log.
pub type SetVerbosity = Arc<dyn Fn(u32) + Send + Sync>;

/// Whether the endpoints under `/debug` exist.
#[derive(Clone)]
pub enum Debugging {
    /// They exist (`--profiling`).
    On {
        /// The effect of `PUT /debug/flags/v`.
        verbosity: SetVerbosity,
    },
    /// They do not exist.
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

/// `/healthz`, `/livez`, `/readyz`, `/metrics`, `/metrics/slis`, `/configz` and, if enabled, `/debug`.
pub fn endpoints(checks: &Checks, metrics: &Metrics, configz: &Configz, debugging: Debugging) -> Router {
    let (slis, configz) = (metrics.slis().clone(), configz.clone());
    let slis = move |method: Method, headers: HeaderMap| {
        ready(if method == Method::DELETE {
            slis.reset();
            response::text(StatusCode::OK, "metrics reset\n")
        } else {
            exposition(&headers, slis.text())
        })
    };
    let router = metrics_endpoint(metrics)
        .merge(health_endpoints(checks))
        .route("/metrics/slis", any(slis))
        .route(
            "/configz",
            any(move || ready(response::json(StatusCode::OK, configz.json()))),
        );
    match debugging {
        Debugging::On { verbosity } => router.merge(flags(verbosity)).merge(profiles()),
        Debugging::Off => router,
    }
}

/// `/healthz`, `/livez` and `/readyz` alone, for a port that every client may read.
pub fn health_endpoints(checks: &Checks) -> Router {
    [Endpoint::Healthz, Endpoint::Livez, Endpoint::Readyz]
        .into_iter()
        .fold(Router::new(), |router, endpoint| health(router, endpoint, checks))
}

/// `/metrics` alone, for a port that every client may read.
pub fn metrics_endpoint(metrics: &Metrics) -> Router {
    let metrics = metrics.clone();
    let answer = move |headers: HeaderMap| ready(exposition(&headers, metrics.text()));
    Router::new().route("/metrics", any(answer))
}

fn health(router: Router, endpoint: Endpoint, checks: &Checks) -> Router {
    let path = format!("/{}", endpoint.name());
    let (all, one) = (checks.clone(), checks.clone());
    let all = move |RawQuery(query): RawQuery| {
        let query = Query::parse(&query.unwrap_or_default());
        ready(report(all.report(endpoint, &query)))
    };
    let one =
        move |Path(name): Path<String>| ready(one.report_one(endpoint, &name).map_or_else(response::not_found, report));
    router
        .route(&path, any(all))
        .route(&format!("{path}/{{*name}}"), any(one))
}

fn report(report: Report) -> Response {
    let status = StatusCode::from_u16(report.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response::text(status, report.body)
}

/// Metrics as text, compressed if the client accepts that: a scrape is then a tenth as long.
fn exposition(headers: &HeaderMap, text: String) -> Response {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    if accepts_gzip(headers)
        && encoder.write_all(text.as_bytes()).is_ok()
        && let Ok(zipped) = encoder.finish()
    {
        let mut response = response::with_type(StatusCode::OK, metrics::CONTENT_TYPE, zipped);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        return response;
    }
    response::with_type(StatusCode::OK, metrics::CONTENT_TYPE, text)
}

/// Whether `Accept-Encoding` names gzip with a weight other than zero.
fn accepts_gzip(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(header::ACCEPT_ENCODING).into_iter();
    let lines = lines.filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, "q=1"));
        let weight = weight.trim().strip_prefix("q=").and_then(|weight| weight.parse().ok());
        name.trim() == "gzip" && weight.is_some_and(|weight: f32| weight > 0.0)
    })
}

const FLAGS: &str = "<html>\n<head>\n<title>/debug/flags/</title>\n</head>\n<body>\n/debug/flags/<br>\n<br>\nflags:<br>\n\
                     <table>\n<tr>v<br>\n</table>\n<br>\nfull flags configurable<br>\n</body>\n</html>\n";

fn flags(verbosity: SetVerbosity) -> Router {
    let index = || ready(response::with_type(StatusCode::OK, "text/html; charset=utf-8", FLAGS));
    let set = move |method: Method, body: Body| set_verbosity(method, body, verbosity.clone());
    Router::new()
        .route("/debug/flags", any(index))
        .route("/debug/flags/", any(index))
        .route("/debug/flags/{*rest}", any(index))
        .route("/debug/flags/v", any(set))
}

async fn set_verbosity(method: Method, body: Body, verbosity: SetVerbosity) -> Response {
    let plain = |status, text: &str| response::with_type(status, "text/plain", format!("{text}\n"));
    if method != Method::PUT {
        return plain(StatusCode::NOT_ACCEPTABLE, "unsupported http method");
    }
    let body = match tokio::time::timeout(FLAG_TIME, to_bytes(body, FLAG_BYTES)).await {
        Ok(Ok(body)) => body,
        Ok(Err(_)) => return plain(StatusCode::BAD_REQUEST, "error reading request body"),
        Err(_) => return plain(StatusCode::REQUEST_TIMEOUT, "the request body took too long"),
    };
    let value = String::from_utf8_lossy(&body);
    match parse(&value) {
        Ok(level) => {
            verbosity(level);
            let text = format!("successfully set klog.logging.verbosity to {value}");
            plain(StatusCode::OK, &text)
        }
        Err(problem) => plain(StatusCode::BAD_REQUEST, &problem),
    }
}

/// Parses a number as Go's `strconv.ParseUint` does, with its error messages.
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

fn profiles() -> Router {
    let redirect = || {
        let mut moved = response::text(StatusCode::FOUND, "");
        let headers = moved.headers_mut();
        headers.insert(header::LOCATION, HeaderValue::from_static("/debug/pprof/"));
        ready(moved)
    };
    let cmdline = || {
        let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
        let words: Vec<_> = words.collect();
        ready(response::text(StatusCode::OK, words.join("\0")))
    };
    let unknown = || ready(response::error(StatusCode::NOT_IMPLEMENTED, NO_PROFILE));
    Router::new()
        .route("/debug/pprof", any(redirect))
        .route("/debug/pprof/", any(|| ready(response::text(StatusCode::OK, PROFILES))))
        .route("/debug/pprof/cmdline", any(cmdline))
        .route("/debug/pprof/{*profile}", any(unknown))
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
    fn parses_a_verbosity(#[case] value: &str, #[case] expected: Result<u32, &str>) {
        assert_eq!(parse(value).as_ref().map_err(String::as_str).copied(), expected);
    }

    #[rstest]
    #[case::no_header(&[], false)]
    #[case::gzip(&["gzip"], true)]
    #[case::among_others(&["deflate, gzip, br"], true)]
    #[case::in_two_lines(&["deflate", "gzip"], true)]
    #[case::anything(&["*"], false)]
    #[case::prometheus(&["gzip;q=1.0, identity;q=0.5"], true)]
    #[case::never(&["gzip;q=0"], false)]
    #[case::nonsense(&["gzip;q=very"], false)]
    #[case::another(&["zstd"], false)]
    fn compresses_if_the_client_accepts_gzip(#[case] lines: &[&'static str], #[case] expected: bool) {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(header::ACCEPT_ENCODING, HeaderValue::from_static(line));
        }
        assert_eq!(accepts_gzip(&headers), expected);
    }
}
