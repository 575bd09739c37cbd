use super::*;
use crate::fence::Fenced;
use kube::runtime::watcher;
use rstest::rstest;
use std::{io, sync::Arc, time::Duration};

fn api(code: u16, reason: &str, message: &str) -> kube::Error {
    kube::Error::Api(Status::failure(message, reason).with_code(code).boxed())
}

fn failed(failure: Failure) -> kube::Error {
    kube::Error::Service(failure.into())
}

fn refused() -> kube::Error {
    let source = io::Error::from(io::ErrorKind::ConnectionRefused).into();
    failed(Failure::Connect {
        address: Arc::from("https://127.0.0.1:1"),
        source,
    })
}

const FORBIDDEN: &str =
    r#"nodes is forbidden: User "me" cannot list resource "nodes" in API group "" at the cluster scope"#;
const TERMINATING: &str =
    "events is forbidden: unable to create new content in namespace x because it is being terminated";

#[rstest]
#[case::forbidden(api(403, "Forbidden", FORBIDDEN), &format!("missing permission: {FORBIDDEN}"))]
#[case::refused_by_admission(api(403, "Forbidden", TERMINATING), TERMINATING)]
#[case::unauthorized(
    api(401, "Unauthorized", "Unauthorized"),
    "the API server does not accept our credentials (401 Unauthorized): renew the token or certificate"
)]
#[case::not_found(api(404, "NotFound", r#"nodes "a" not found"#), r#"nodes "a" not found"#)]
#[case::no_message(api(502, "BadGateway", ""), "the API server answered 502 BadGateway")]
#[case::connection_refused(refused(), "cannot connect to https://127.0.0.1:1: connection refused")]
#[case::timeout(
    failed(Failure::Timeout { address: Arc::from("https://api"), after: Duration::from_mins(1) }),
    "https://api did not answer within 60 s"
)]
#[case::fenced(failed(Fenced.into()), "this replica is not the leader any more")]
fn in_one_sentence(#[case] error: kube::Error, #[case] expected: &str) {
    assert_eq!(explain(&error), expected);
}

#[rstest]
#[case::list(watcher::Error::InitialListFailed(api(403, "Forbidden", FORBIDDEN)), &format!("missing permission: {FORBIDDEN}"))]
#[case::start(
    watcher::Error::WatchStartFailed(refused()),
    "cannot connect to https://127.0.0.1:1: connection refused"
)]
#[case::watch(
    watcher::Error::WatchError(Status::failure("too old resource version", "Expired").with_code(410).boxed()),
    "too old resource version"
)]
#[case::no_version(
    watcher::Error::NoResourceVersion,
    "no metadata.resourceVersion in watch result (does resource support watch?)"
)]
fn explains_errors_of_a_watch(#[case] error: watcher::Error, #[case] expected: &str) {
    assert_eq!(explain(&error), expected);
}

#[test]
fn a_plugin_keeps_its_secret() {
    use std::os::unix::process::ExitStatusExt;
    let out = std::process::Output {
        status: std::process::ExitStatus::from_raw(256),
        stdout: b"token: s3cret".to_vec(),
        stderr: b"warning\nnot logged in\n".to_vec(),
    };
    let error = kube::Error::Auth(AuthError::AuthExecRun {
        cmd: "aws --token s3cret".into(),
        out: Box::new(out),
    });
    assert_eq!(
        explain(&error),
        "the credential plugin of the kubeconfig failed with exit status: 1: not logged in"
    );
}
