use super::*;
use crate::{
    events::{Event, Kind, log},
    flags::{GoDuration, Section, Set},
};
use fields::Scalar;
use k8s_openapi::api::core::v1::ObjectReference;
use parking_lot::Mutex;
use rstest::rstest;
use std::{
    io::{self, Write},
    sync::Arc,
};
use tracing::{debug, error, info_span, trace};

/// A writer that can be read.
#[derive(Debug, Clone, Default)]
struct Paper(Arc<Mutex<Vec<u8>>>);

impl Paper {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().clone()).unwrap()
    }
}

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Interests are cached for the whole process, so tests that change them take turns.
static TURN: Mutex<()> = Mutex::new(());

fn options(args: &str) -> Options {
    let mut options = Options::default();
    let section = options.flags(Section::new("global"));
    Set::new("test", "", vec![section])
        .parse(args.split_whitespace())
        .unwrap();
    options
}

/// What is written with these flags, and a handle to change the verbosity meanwhile.
fn logged(args: &str, log: impl FnOnce(&Handle)) -> String {
    let _turn = TURN.lock();
    let paper = Paper::default();
    let (layer, handle) = Klog::new(&options(args), Sink::one(paper.clone()));
    tracing::subscriber::with_default(Registry::default().with(layer), || {
        tracing::callsite::rebuild_interest_cache();
        log(&handle);
    });
    paper.text()
}

/// The lines without date, time, process and place.
fn bodies(text: &str) -> Vec<String> {
    let body = |line: &str| {
        line.split_once("] ")
            .map_or(line.to_owned(), |(head, body)| format!("{} {body}", &head[..1]))
    };
    text.lines().map(body).collect()
}

#[test]
fn a_line_has_the_format_of_klog() {
    let text = logged("", |_| info!("started"));
    let (head, body) = text.split_once(' ').unwrap();
    assert!(
        head.starts_with('I') && head.len() == 5 && head[1..].parse::<u32>().is_ok(),
        "{text}"
    );
    let (time, rest) = body.split_once(' ').unwrap();
    assert_eq!(
        time.replace(|digit: char| digit.is_ascii_digit(), "0"),
        "00:00:00.000000"
    );
    let expected = format!("{:7} tests.rs:", std::process::id());
    assert!(
        rest.starts_with(&expected) && rest.ends_with("] \"started\"\n"),
        "{text}"
    );
}

#[test]
fn an_event_is_logged_as_client_go_logs_it() {
    let regarding = ObjectReference {
        api_version: Some("v1".into()),
        kind: Some("Service".into()),
        namespace: Some("shop".into()),
        name: Some("web".into()),
        ..ObjectReference::default()
    };
    let event = Event {
        component: "service-controller",
        regarding,
        kind: Kind::Normal,
        reason: "EnsuredLoadBalancer",
        message: "Ensured load balancer".into(),
    };
    let expected = "I \"Event occurred\" object=\"shop/web\" fieldPath=\"\" kind=\"Service\" apiVersion=\"v1\" \
                    type=\"Normal\" reason=\"EnsuredLoadBalancer\" message=\"Ensured load balancer\" \
                    component=\"service-controller\"";
    assert_eq!(bodies(&logged("", |_| log(&event))), [expected]);
}

#[rstest]
#[case("crates/runtime/src/queue/limiter.rs", "limiter.rs")]
#[case("crates/runtime/src/queue/mod.rs", "queue/mod.rs")]
#[case("mod.rs", "mod.rs")]
#[case("main.rs", "main.rs")]
fn places_are_short(#[case] path: &str, #[case] name: &str) {
    assert_eq!(text::name(path), name);
}

#[rstest]
#[case::text("a b", "=\"a b\"")]
#[case::empty("", "=\"\"")]
#[case::escapes(
    "tab\tquote\" back\\ é 日本 \0 \u{7f} \u{200b}",
    r#"="tab\tquote\" back\\ é 日本 \x00 \x7f \u200b""#
)]
#[case::lines("one\ntwo", "=<\n\tone\n\ttwo\n >")]
#[case::ends_with_a_line("ends\n", "=<\n\tends\n >")]
#[case::empty_lines("\n\na", "=<\n\t\n\t\n\ta\n >")]
fn values_are_quoted_as_klog_does(#[case] value: &str, #[case] printed: &str) {
    let mut line = String::new();
    Scalar::Text(value.to_owned()).push_to(&mut line);
    assert_eq!(line, printed);
}

fn everything(_: &Handle) {
    info!("plain");
    info!(
        s = "a b",
        i = 42,
        neg = -1,
        f = 1.5,
        whole = 2.0,
        b = true,
        empty = "",
        "kinds"
    );
    info!(name = %"shown", list = ?["a", "b"], "by display and debug");
    warn!(service = "ns/name", "careful");
    error!(error = "it \"broke\"", k = "v", "failed");
    error!(k = "v", err = "again", "failed");
    info!(plain = true, "FLAG: --{}={:?}", "name", "value");
}

#[test]
fn text_has_the_format_of_klog() {
    assert_eq!(
        bodies(&logged("", everything)),
        [
            r#"I "plain""#,
            r#"I "kinds" s="a b" i=42 neg=-1 f=1.5 whole=2 b=true empty="""#,
            r#"I "by display and debug" name="shown" list="[\"a\", \"b\"]""#,
            r#"W "careful" service="ns/name""#,
            r#"E "failed" err="it \"broke\"" k="v""#,
            r#"E "failed" err="again" k="v""#,
            r#"I FLAG: --name="value""#,
        ]
    );
}

#[test]
fn json_is_component_bases() {
    let text = logged("--logging-format=json", everything);
    let lines: Vec<_> = text.lines().map(|line| line.split_once(",\"msg\":").unwrap()).collect();
    let bodies: Vec<_> = lines.iter().map(|(_, body)| *body).collect();
    assert_eq!(
        bodies,
        [
            r#""plain","v":0}"#,
            r#""kinds","v":0,"s":"a b","i":42,"neg":-1,"f":1.5,"whole":2,"b":true,"empty":""}"#,
            r#""by display and debug","v":0,"name":"shown","list":"[\"a\", \"b\"]"}"#,
            r#""careful","v":0,"severity":"warning","service":"ns/name"}"#,
            r#""failed","k":"v","err":"it \"broke\""}"#,
            r#""failed","k":"v","err":"again"}"#,
            r#""FLAG: --name=\"value\"","v":0}"#,
        ]
    );
    let (head, _) = lines[0];
    let (ts, caller) = head
        .strip_prefix("{\"ts\":")
        .unwrap()
        .split_once(",\"caller\":")
        .unwrap();
    let (millis, _) = ts.split_once('.').unwrap_or((ts, ""));
    let since = jiff::Timestamp::from_millisecond(millis.parse().unwrap()).unwrap();
    let age = jiff::Timestamp::now().duration_since(since);
    assert!(age.as_secs() < 60, "{ts} are milliseconds");
    assert!(caller.starts_with("\"logging/tests.rs:"), "{caller}");
}

#[test]
fn spans_are_context() {
    let text = logged("", |_| {
        let outer = info_span!("reconcile", a = 1, b = 2, later = tracing::field::Empty);
        let _outer = outer.enter();
        outer.record("later", "now");
        let _inner = info_span!("inner", d = "x").entered();
        info!(b = 3, c = 4, a = 1, "with");
    });
    assert_eq!(bodies(&text), [r#"I "with" a=1 later="now" d="x" b=3 c=4"#]);
}

#[derive(Debug, thiserror::Error)]
#[error("outer")]
struct Outer(#[source] Inner);

#[derive(Debug, thiserror::Error)]
#[error("inner")]
struct Inner;

#[test]
fn errors_are_printed_with_what_caused_them() {
    let outer = Outer(Inner);
    assert_eq!(chain(&outer).to_string(), "outer: inner");
    let text = logged("", |_| {
        error!(error = &outer as &(dyn std::error::Error + 'static), "failed");
    });
    assert_eq!(bodies(&text), [r#"E "failed" err="outer: inner""#]);
}

fn levels(_: &Handle) {
    error!("error");
    warn!("warn");
    info!("info");
    info!(v = 2, "info 2");
    debug!("debug");
    trace!("trace");
    error!(target: "kube_client::client::builder", "noise");
    error!(target: "rustls::conn", "their error");
    warn!(target: "hyper::proto", "their warning");
    debug!(target: "reqwest::connect", "their debug");
    trace!(target: "h2::codec", "their trace");
}

#[rstest]
#[case::usual("", "error, warn, info, their error")]
#[case::one("-v=1", "error, warn, info, their error")]
#[case::two("-v=2", "error, warn, info, info 2, their error")]
#[case::three("-v=3", "error, warn, info, info 2, their error")]
#[case::four("-v=4", "error, warn, info, info 2, debug, their error, their warning")]
#[case::six("-v=6", "error, warn, info, info 2, debug, trace, their error, their warning")]
#[case::eight(
    "-v=8",
    "error, warn, info, info 2, debug, trace, noise, their error, their warning, their debug"
)]
#[case::hundred(
    "-v=100",
    "error, warn, info, info 2, debug, trace, noise, their error, their warning, their debug"
)]
#[case::vmodule_has_no_effect("--vmodule=tests=9", "error, warn, info, their error")]
fn verbosity_chooses(#[case] args: &str, #[case] shown: &str) {
    let messages: Vec<_> = bodies(&logged(args, levels))
        .iter()
        .map(|body| body[2..].replace('"', ""))
        .collect();
    assert_eq!(messages.join(", "), shown);
}

#[test]
fn json_has_the_verbosity() {
    let text = logged("-v=6 --logging-format=json", levels);
    let of = |message: &str| {
        let line = text
            .lines()
            .find(|line| line.contains(&format!("\"msg\":\"{message}\"")))
            .unwrap();
        serde_json::from_str::<serde_json::Value>(line).unwrap()["v"].as_u64()
    };
    assert_eq!(
        ["error", "warn", "info", "info 2", "debug", "trace"].map(of),
        [None, Some(0), Some(0), Some(2), Some(4), Some(6)]
    );
}

#[test]
fn verbosity_can_be_changed_while_running() {
    let text = logged("", |handle| {
        for (verbosity, message) in [(0, "not yet"), (4, "now"), (0, "no longer")] {
            handle.set_verbosity(Level(verbosity));
            assert_eq!(handle.verbosity(), Level(verbosity));
            debug!("{message}");
        }
    });
    assert_eq!(bodies(&text), [r#"I "now""#]);
}

#[test]
fn all_flags_are_printed_at_verbosity_one() {
    let values = [("cloud-provider", "memory".to_owned()), ("v", "1".to_owned())];
    assert_eq!(logged("", |_| flags(&values)), "");
    let text = logged("-v=1", |_| flags(&values));
    assert_eq!(
        bodies(&text),
        [r#"I FLAG: --cloud-provider="memory""#, r#"I FLAG: --v="1""#]
    );
}

#[test]
fn streams_can_be_split() {
    let _turn = TURN.lock();
    let (errors, infos) = (Paper::default(), Paper::default());
    let (layer, _) = Klog::new(&Options::default(), Sink::two(errors.clone(), infos.clone()));
    tracing::subscriber::with_default(Registry::default().with(layer), || {
        tracing::callsite::rebuild_interest_cache();
        everything(&Handle::default());
    });
    let letters = |paper: &Paper| {
        paper
            .text()
            .lines()
            .map(|line| line[..1].to_owned())
            .collect::<String>()
    };
    assert_eq!((letters(&errors).as_str(), letters(&infos).as_str()), ("WEE", "IIII"));
}

fn gates(setting: &str) -> FeatureGates {
    let mut gates = FeatureGates::new(&[&GATES]);
    crate::flags::Value::set(&mut gates, &[setting.to_owned()]).unwrap();
    gates
}

#[rstest]
#[case::usual("", "", "")]
#[case::json("--logging-format=json", "", "")]
#[case::json_off(
    "--logging-format=json",
    "LoggingBetaOptions=false",
    "--logging-format=json needs --feature-gates=LoggingBetaOptions=true"
)]
#[case::flush("--log-flush-frequency=0", "", "--log-flush-frequency must be greater than zero")]
#[case::split(
    "--log-text-split-stream",
    "",
    "--log-text-split-stream needs --feature-gates=LoggingAlphaOptions=true"
)]
#[case::split_json(
    "--log-json-split-stream",
    "",
    "--log-json-split-stream needs --feature-gates=LoggingAlphaOptions=true"
)]
#[case::buffer(
    "--log-text-info-buffer-size=1Ki",
    "",
    "--log-text-info-buffer-size needs --feature-gates=LoggingAlphaOptions=true"
)]
#[case::split_allowed(
    "--log-text-split-stream --log-text-info-buffer-size=1Ki",
    "LoggingAlphaOptions=true",
    ""
)]
#[case::all_alpha("--log-json-split-stream", "AllAlpha=true", "")]
fn validates(#[case] args: &str, #[case] setting: &str, #[case] problem: &str) {
    let problems = options(args).validate(&gates(setting));
    assert_eq!(problems.iter().collect::<Vec<_>>().join("; "), problem);
}

#[rstest]
#[case::format("--logging-format=xml", "unsupported log format, use text or json")]
#[case::negative("--v=-1", "\"-1\" is not a verbosity between 0 and 2147483647")]
#[case::huge("--v=2147483648", "\"2147483648\" is not a verbosity between 0 and 2147483647")]
fn refuses(#[case] args: &str, #[case] reason: &str) {
    let mut options = Options::default();
    let section = options.flags(Section::new("global"));
    let problems = Set::new("test", "", vec![section])
        .parse(args.split_whitespace())
        .unwrap_err();
    assert!(problems.to_string().ends_with(reason), "{problems}");
}

#[test]
fn flags_have_component_bases_defaults() {
    let Options {
        format,
        flush_frequency,
        verbosity,
        vmodule,
        text,
        json,
    } = Options::default();
    assert_eq!(
        (format, flush_frequency, verbosity),
        (Format::Text, GoDuration::from_secs(5), Level(0))
    );
    assert!(!vmodule.is_set());
    assert_eq!((text, json), (Routing::default(), Routing::default()));
}
