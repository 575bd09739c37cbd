//! The endpoints of the secure port.

use super::*;
use crate::{configz::Configz, health::Checks, metrics, version::Info};
use http::{Method, Version};
use rstest::rstest;
use std::io::Read;

fn secure_port(debugging: Debugging) -> Running {
    let metrics = metrics::Metrics::new(&Info::current()).unwrap();
    let checks = Checks::new(metrics.slis().clone());
    checks.add("leaderElection", crate::health::Scope::Live, || Ok(()));
    checks.add("informers", crate::health::Scope::Ready, || {
        Err("nodes are not listed yet".into())
    });
    let configz = Configz::default();
    configz
        .set(
            "cloudcontrollermanager.config.k8s.io",
            &serde_json::json!({"Generic": {"Port": 0}}),
        )
        .unwrap();
    Running::start(options(), move |_| {
        Chain::open(endpoints(&checks, &metrics, &configz, debugging))
    })
}

fn debugging() -> Debugging {
    Debugging::On {
        verbosity: Arc::new(|_| ()),
    }
}

async fn ask(server: &Running, method: Method, path: &str, body: &'static str) -> (u16, String, String) {
    let redirecting = client_builder()
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .unwrap();
    let response = redirecting
        .request(method, server.url(path))
        .body(body)
        .send()
        .await
        .unwrap();
    assert_eq!(response.headers()["cache-control"], "no-cache, private", "{path}");
    assert_eq!(response.headers()["x-content-type-options"], "nosniff", "{path}");
    let media_type = response.headers()["content-type"].to_str().unwrap().to_owned();
    (response.status().as_u16(), media_type, response.text().await.unwrap())
}

const TEXT: &str = "text/plain; charset=utf-8";

#[rstest]
#[case::healthz("/healthz", 200, TEXT, "ok")]
#[case::healthz_verbose("/healthz?verbose", 200, TEXT, "[+]leaderElection ok\nhealthz check passed\n")]
#[case::healthz_check("/healthz/leaderElection", 200, TEXT, "ok")]
#[case::healthz_no_check("/healthz/nothing", 404, TEXT, "404 page not found\n")]
#[case::healthz_other_check("/healthz/informers", 404, TEXT, "404 page not found\n")]
#[case::livez("/livez", 200, TEXT, "ok")]
#[case::livez_check("/livez/leaderElection", 200, TEXT, "ok")]
#[case::readyz(
    "/readyz",
    500,
    TEXT,
    "[+]leaderElection ok\n[-]informers failed: reason withheld\nreadyz check failed\n"
)]
#[case::readyz_without("/readyz?exclude=informers", 200, TEXT, "ok")]
#[case::readyz_check("/readyz/informers", 500, TEXT, "internal server error: nodes are not listed yet\n")]
#[case::metrics(
    "/metrics",
    200,
    metrics::CONTENT_TYPE,
    "# HELP disabled_metrics_total The count of disabled metrics.\n"
)]
#[case::slis("/metrics/slis", 200, metrics::CONTENT_TYPE, "# HELP process_start_time_seconds ")]
#[case::configz(
    "/configz",
    200,
    "application/json",
    r#"{"cloudcontrollermanager.config.k8s.io":{"Generic":{"Port":0}}}"#
)]
#[case::encoded("/%63onfigz", 404, TEXT, "404 page not found\n")]
#[case::badly_encoded("/%zz", 404, TEXT, "404 page not found\n")]
#[case::profiles("/debug/pprof/", 200, TEXT, "/debug/pprof/\n")]
#[case::profiles_redirect("/debug/pprof", 302, TEXT, "")]
#[case::goroutine("/debug/pprof/goroutine?debug=1", 501, TEXT, "this program is not written in Go")]
#[case::flags(
    "/debug/flags",
    200,
    "text/html; charset=utf-8",
    "<html>\n<head>\n<title>/debug/flags/</title>"
)]
#[case::flag_read("/debug/flags/v", 406, "text/plain", "unsupported http method\n")]
#[case::root("/", 404, TEXT, "404 page not found\n")]
#[case::unknown("/healthzz", 404, TEXT, "404 page not found\n")]
#[tokio::test]
async fn answers(#[case] path: &str, #[case] status: u16, #[case] media_type: &str, #[case] body: &str) {
    let server = secure_port(debugging());
    let answer = ask(&server, Method::GET, path, "").await;
    assert_eq!((answer.0, answer.1.as_str()), (status, media_type));
    assert!(answer.2.starts_with(body), "{}", answer.2);
}

#[rstest]
#[case::all("/metrics")]
#[case::slis("/metrics/slis")]
#[tokio::test]
async fn metrics_are_compressed_if_the_client_accepts_it(#[case] path: &str) {
    let server = secure_port(debugging());
    let client = client_builder().no_gzip().build().unwrap();
    let ask = client.get(server.url(path));
    let long = ask.try_clone().unwrap().send().await.unwrap();
    assert_eq!(long.headers().get("content-encoding"), None);
    let long = long.text().await.unwrap();
    let short = ask.header("accept-encoding", "gzip").send().await.unwrap();
    assert_eq!(short.headers()["content-encoding"], "gzip");
    assert_eq!(short.headers()["content-type"], metrics::CONTENT_TYPE);
    let short = short.bytes().await.unwrap();
    assert!(short.len() < long.len(), "{} of {}", short.len(), long.len());
    let mut again = String::new();
    flate2::read::GzDecoder::new(&*short)
        .read_to_string(&mut again)
        .unwrap();
    let helps = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| line.starts_with("# HELP"));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(helps(&again), helps(&long));
}

#[rstest]
#[case::two(client_builder(), Version::HTTP_2)]
#[case::one(client_builder().http1_only(), Version::HTTP_11)]
#[tokio::test]
async fn the_response_to_head_has_no_body(#[case] client: reqwest::ClientBuilder, #[case] version: Version) {
    let server = secure_port(debugging());
    let response = client
        .build()
        .unwrap()
        .head(server.url("/healthz"))
        .send()
        .await
        .unwrap();
    assert_eq!((response.version(), response.status().as_u16()), (version, 200));
    assert_eq!(response.headers()["content-length"], "2");
    assert_eq!(response.bytes().await.unwrap(), "");
}

#[rstest]
#[case::number("4", 200, "successfully set klog.logging.verbosity to 4\n")]
#[case::word("a lot", 400, "strconv.ParseUint: parsing \"a lot\": invalid syntax\n")]
#[tokio::test]
async fn sets_the_verbosity(#[case] value: &'static str, #[case] status: u16, #[case] body: &str) {
    let server = secure_port(debugging());
    let answer = ask(&server, Method::PUT, "/debug/flags/v", value).await;
    assert_eq!(answer, (status, "text/plain".to_owned(), body.to_owned()));
}

#[tokio::test]
async fn without_profiling_there_are_no_debug_endpoints() {
    let server = secure_port(Debugging::Off);
    for path in ["/debug/pprof/", "/debug/flags", "/debug/flags/v"] {
        assert_eq!(ask(&server, Method::GET, path, "").await.0, 404, "{path}");
    }
}

#[tokio::test]
async fn the_command_line_is_shown_word_by_word() {
    let server = secure_port(debugging());
    let words: Vec<_> = std::env::args().collect();
    assert_eq!(
        ask(&server, Method::GET, "/debug/pprof/cmdline", "").await.2,
        words.join("\0")
    );
}

#[tokio::test]
async fn probes_are_counted_and_the_counts_can_be_reset() {
    let server = secure_port(Debugging::Off);
    ask(&server, Method::GET, "/readyz", "").await;
    let slis = ask(&server, Method::GET, "/metrics/slis", "").await.2;
    assert!(
        slis.contains("kubernetes_healthcheck{name=\"informers\",type=\"readyz\"} 0"),
        "{slis}"
    );
    assert!(
        slis.contains("kubernetes_healthchecks_total{name=\"leaderElection\",status=\"success\",type=\"readyz\"} 1")
    );
    assert_eq!(
        ask(&server, Method::DELETE, "/metrics/slis", "").await.2,
        "metrics reset\n"
    );
    let slis = ask(&server, Method::GET, "/metrics/slis", "").await.2;
    assert!(!slis.contains("kubernetes_healthcheck"), "{slis}");
}
