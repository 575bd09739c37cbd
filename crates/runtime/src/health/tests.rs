use super::*;
use rstest::rstest;
use std::{
    sync::{Barrier, mpsc},
    thread,
    time::Duration,
};

fn checks() -> Checks {
    Checks::new(Slis::new().unwrap())
}

fn add(checks: &Checks, names: &[&str]) {
    for name in names {
        let result = if *name == "bad" { Err("bad".to_owned()) } else { Ok(()) };
        checks.add(name, Scope::Live, move || result.clone());
    }
}

fn ask(checks: &Checks, url: &str) -> Report {
    let (path, query) = url.split_once('?').unwrap_or((url, ""));
    match path.strip_prefix("/healthz/") {
        Some(name) => checks.report_one(Endpoint::Healthz, name).unwrap(),
        None => checks.report(Endpoint::Healthz, &Query::parse(query)),
    }
}

const GOOD_AND_BAD: &str = "[+]good ok\n[-]bad failed: reason withheld\nhealthz check failed\n";

// upstream: TestMutableHealthzHandler
#[rstest]
#[case("empty", &[], "/healthz", 200, "ok")]
#[case("good", &[&["good"][..]], "/healthz", 200, "ok")]
#[case("good verbose", &[&["good"][..]], "/healthz?verbose=true", 200, "[+]good ok\nhealthz check passed\n")]
#[case("good and bad, same batch", &[&["good", "bad"][..]], "/healthz", 500, GOOD_AND_BAD)]
#[case("good and bad, two batches", &[&["good"][..], &["bad"]], "/healthz", 500, GOOD_AND_BAD)]
#[case("two checks and append bad", &[&["foo", "bar"][..]], "/healthz", 200, "ok")]
#[case("subcheck", &[&["good"][..], &["bad"]], "/healthz/good", 200, "ok")]
fn upstream_cases(
    #[case] name: &str,
    #[case] batches: &[&[&str]],
    #[case] url: &str,
    #[case] status: u16,
    #[case] body: &str,
) {
    let checks = checks();
    for batch in batches {
        add(&checks, batch);
    }
    assert_eq!(
        ask(&checks, url),
        Report {
            status,
            body: body.into()
        },
        "{name}"
    );
    if name == "two checks and append bad" {
        add(&checks, &["bad"]);
        assert_eq!(ask(&checks, url).status, 500, "{name}");
    }
}

// upstream: TestConcurrentChecks
#[rstest]
#[case("N concurrent probes do not block", 5)]
fn no_probe_waits_for_another(#[case] name: &str, #[case] probes: usize) {
    let checks = checks();
    // Passes only once all probes are inside the check at the same time.
    let inside = Barrier::new(probes);
    checks.add("pausing", Scope::Live, move || {
        inside.wait();
        Ok(())
    });
    let (done, answers) = mpsc::channel();
    for _ in 0..probes {
        let (checks, done) = (checks.clone(), done.clone());
        thread::spawn(move || done.send(ask(&checks, "/healthz").status));
    }
    for _ in 0..probes {
        assert_eq!(answers.recv_timeout(Duration::from_secs(30)), Ok(200), "{name}");
    }
}

#[rstest]
#[case::why_is_withheld(
    "/healthz",
    500,
    "[+]good ok\n[-]bad failed: reason withheld\nhealthz check failed\n"
)]
#[case::shown_to_authorized_clients("/healthz/bad", 500, "internal server error: bad\n")]
#[case::excluded("/healthz?exclude=bad", 200, "ok")]
#[case::excluded_verbose(
    "/healthz?exclude=bad&verbose",
    200,
    "[+]good ok\n[+]bad excluded: ok\nhealthz check passed\n"
)]
#[case::all_excluded(
    "/healthz?verbose&exclude=bad&exclude=good",
    200,
    "[+]good excluded: ok\n[+]bad excluded: ok\nhealthz check passed\n"
)]
#[case::excluding_an_unknown_check(
    "/healthz?exclude=bad&exclude=x&exclude=%22&exclude=x&verbose",
    200,
    "[+]good ok\n[+]bad excluded: ok\nwarn: some health checks cannot be excluded: no matches for \"\\\"\",\"x\"\nhealthz check passed\n"
)]
fn reports(#[case] url: &str, #[case] status: u16, #[case] body: &str) {
    let checks = checks();
    add(&checks, &["good", "bad"]);
    assert_eq!(
        ask(&checks, url),
        Report {
            status,
            body: body.into()
        }
    );
}

#[rstest]
#[case::healthz(Endpoint::Healthz, "[+]live ok\nhealthz check passed\n")]
#[case::livez(Endpoint::Livez, "[+]live ok\nlivez check passed\n")]
#[case::readyz(Endpoint::Readyz, "[+]live ok\n[+]ready ok\nreadyz check passed\n")]
fn shows_what_counts_there(#[case] endpoint: Endpoint, #[case] body: &str) {
    let checks = checks();
    checks.add("live", Scope::Live, || Ok(()));
    checks.add("ready", Scope::Ready, || Ok(()));
    assert_eq!(checks.report(endpoint, &Query::parse("verbose")).body, body);
}

#[test]
fn without_checks_there_is_ping() {
    let checks = checks();
    checks.add("ready", Scope::Ready, || Ok(()));
    assert_eq!(
        ask(&checks, "/healthz?verbose").body,
        "[+]ping ok\nhealthz check passed\n"
    );
    assert_eq!(ask(&checks, "/healthz/ping").body, "ok");
    assert_eq!(checks.report_one(Endpoint::Livez, "ready"), None);
}

#[test]
fn a_check_of_the_same_name_takes_the_place_of_the_old_one() {
    let checks = checks();
    add(&checks, &["bad", "good"]);
    checks.add("bad", Scope::Live, || Ok(()));
    assert_eq!(
        ask(&checks, "/healthz?verbose").body,
        "[+]bad ok\n[+]good ok\nhealthz check passed\n"
    );
}

#[test]
fn results_are_counted_unless_excluded() {
    let slis = Slis::new().unwrap();
    let checks = Checks::new(slis.clone());
    add(&checks, &["good", "bad"]);
    ask(&checks, "/healthz");
    ask(&checks, "/healthz?exclude=good");
    checks.report(Endpoint::Readyz, &Query::default());
    let text = slis.text();
    for line in [
        "kubernetes_healthchecks_total{name=\"bad\",status=\"error\",type=\"healthz\"} 2",
        "kubernetes_healthchecks_total{name=\"good\",status=\"success\",type=\"healthz\"} 1",
        "kubernetes_healthcheck{name=\"bad\",type=\"readyz\"} 0",
    ] {
        assert!(text.contains(line), "{line:?} is not in\n{text}");
    }
}
