//! Invalid files, ports and providers: the process ends with one sentence that contains the problem, its place, and the remedy.

use crate::fixture::{Fixture, free_port, run};
use rstest::rstest;
use std::net::TcpListener;

/// `FILE` in flags and sentences is a file with this content.
async fn refused(flags: &[&str], content: &str) -> (i32, String) {
    let fixture = Fixture::shared().await;
    let path = fixture.folder.write("file", content);
    let path = path.to_str().unwrap();
    let launch = flags.iter().fold(fixture.manager(), |launch, flag| {
        launch.flag(&flag.replace("FILE", path))
    });
    let exit = launch.start().exited().await;
    assert!(exit.took.as_secs() < 10, "it took {:?} to give up", exit.took);
    (exit.code, exit.sentence().replace(path, "FILE"))
}

#[rstest]
#[case::missing(
    "--kubeconfig=/nonexistent/ccm.conf",
    "",
    "cannot read --kubeconfig=/nonexistent/ccm.conf: No such file or directory (os error 2)"
)]
#[case::a_folder(
    "--kubeconfig=/tmp",
    "",
    "cannot read --kubeconfig=/tmp: Is a directory (os error 21)"
)]
#[case::not_yaml(
    "--kubeconfig=FILE",
    "users: [a",
    "--kubeconfig=FILE is malformed at line 1, column 8: unclosed bracket '[' at line 1, column 8"
)]
#[case::empty(
    "--kubeconfig=FILE",
    "",
    "--kubeconfig=FILE has no current-context: set it with kubectl config use-context"
)]
#[tokio::test]
async fn kubeconfig(#[case] flag: &str, #[case] content: &str, #[case] expected: &str) {
    let (code, sentence) = refused(&[flag], content).await;
    assert_eq!((code, sentence.as_str()), (1, expected));
}

#[tokio::test]
async fn no_kubeconfig_outside_of_a_cluster() {
    let fixture = Fixture::shared().await;
    let exit = fixture.manager().without("--kubeconfig").start().exited().await;
    let expected = "neither --kubeconfig nor --master is given and this is not a pod (KUBERNETES_SERVICE_HOST and \
                    KUBERNETES_SERVICE_PORT are not set): give --kubeconfig";
    assert_eq!((exit.code, exit.sentence().as_str()), (1, expected));
}

#[rstest]
#[case::unknown(
    "--cloud-provider=nimbus",
    r#"unknown cloud provider "nimbus": this program knows aws, digitalocean, memory, openstack and vsphere"#
)]
#[case::external(
    "--cloud-provider=external",
    "--cloud-provider=external is for kubelets and the other controllers: name a cloud here"
)]
#[tokio::test]
async fn provider(#[case] flag: &str, #[case] expected: &str) {
    let (code, sentence) = refused(&[flag], "").await;
    assert_eq!((code, sentence.as_str()), (1, expected));
}

#[rstest]
#[case::missing(
    "--cloud-config=/nonexistent/cloud.conf",
    "",
    "--cloud-config: cannot read /nonexistent/cloud.conf: No such file or directory (os error 2)"
)]
#[case::unknown_key(
    "--cloud-config=FILE",
    "autoCreate: true\n\nlatencyy: 1s\n",
    "--cloud-config: FILE, line 3: there is no key latencyy, only endpoint, timeout, autoCreate, instances, latency, lbDelay"
)]
#[case::bad_value(
    "--cloud-config=FILE",
    "autoCreate: true\nlatency: 1parsec\n",
    "--cloud-config: FILE, line 2: 1parsec is not a duration like 250ms or 1m30s"
)]
#[case::bad_endpoint(
    "--cloud-config=FILE",
    "endpoint: ftp://x\n",
    "--cloud-config: cannot talk to ftp://x: invalid endpoint: ftp://x is not an http URL"
)]
#[tokio::test]
async fn cloud_config(#[case] flag: &str, #[case] content: &str, #[case] expected: &str) {
    let (code, sentence) = refused(&[flag], content).await;
    assert_eq!((code, sentence.as_str()), (1, expected));
}

#[tokio::test]
async fn not_a_certificate() {
    let flags = ["--tls-cert-file=FILE", "--tls-private-key-file=FILE"];
    let (code, sentence) = refused(&flags, "nonsense").await;
    let expected = "cannot serve TLS: the certificate for all names is empty; look at --tls-cert-file=FILE and \
                    --tls-private-key-file=FILE";
    assert_eq!((code, sentence.as_str()), (1, expected));
}

/// All problems are reported at once.
#[test]
fn all_problems_are_reported_at_once_and_nothing_starts() {
    let exit = run(&[
        "ccm",
        "--cloud-provider=nimbus",
        "--kubeconfig=/n/kubeconfig",
        "--tls-cert-file=/n/cert",
        "--tls-private-key-file=/n/key",
        "--cloud-config=/n/cloud",
        "--authorization-always-allow-paths=/a*b",
        "--controllers=*,frobnicator",
        "--concurrent-service-syncs=none",
    ]);
    let mut lines: Vec<_> = exit.stderr.lines().collect();
    lines.sort_unstable();
    let expected = [
        r#"Error: "frobnicator" is not in the list of known controllers (--controllers)"#,
        r#"Error: --authorization-always-allow-paths: only trailing * allowed in "a*b""#,
        "Error: --cloud-config: cannot read /n/cloud: No such file or directory (os error 2)",
        "Error: --tls-cert-file: cannot read /n/cert: No such file or directory (os error 2)",
        "Error: --tls-private-key-file: cannot read /n/key: No such file or directory (os error 2)",
        "Error: cannot read --kubeconfig=/n/kubeconfig: No such file or directory (os error 2)",
        r#"Error: invalid argument "none" for "--concurrent-service-syncs" flag: not a whole number between -2147483648 and 2147483647"#,
        r#"Error: unknown cloud provider "nimbus": this program knows aws, digitalocean, memory, openstack and vsphere"#,
    ];
    assert_eq!(lines, expected);
    assert_eq!(exit.code, 1);
}

#[tokio::test]
async fn key_of_another_certificate() {
    let fixture = Fixture::shared().await;
    let (cert, key) = (fixture.plane().pki("apiserver.crt"), fixture.plane().pki("ca.key"));
    let exit = fixture
        .manager()
        .flag(&format!("--tls-cert-file={}", cert.display()))
        .flag(&format!("--tls-private-key-file={}", key.display()))
        .start()
        .exited()
        .await;
    let sentence = exit.sentence();
    assert_eq!(exit.code, 1);
    assert!(
        sentence.starts_with("cannot serve TLS: the certificate and the key for all names do not fit together"),
        "{sentence}"
    );
    let advice = format!(
        "; look at --tls-cert-file={} and --tls-private-key-file={}",
        cert.display(),
        key.display()
    );
    assert!(sentence.ends_with(&advice), "{sentence}");
}

#[tokio::test]
async fn occupied_port() {
    let fixture = Fixture::shared().await;
    let address = free_port();
    let _occupant = TcpListener::bind(address).unwrap();
    let exit = fixture.manager().listen(address).start().exited().await;
    let expected = format!(
        "cannot listen on {address}: Address already in use (os error 98); end the program that listens there, or choose \
         another --secure-port"
    );
    assert_eq!((exit.code, exit.sentence()), (1, expected));
    assert_eq!(
        fixture.holder().await,
        "",
        "it took the lease although it cannot be looked at"
    );
}
