//! A cloud.conf that cannot be used: the process ends with one sentence that names the position, the problem and the remedy.

use crate::fixture::Fixture;
use rstest::rstest;

/// `FILE` in the sentence is the file.
async fn refused(config: &[u8]) -> (i32, String) {
    let fixture = Fixture::new().await;
    let launch = fixture.manager();
    let path = fixture.folder.path().join("cloud.conf");
    std::fs::write(&path, config).unwrap();
    let exit = launch.start().exited().await;
    assert!(exit.took.as_secs() < 10, "it took {:?} to give up", exit.took);
    assert_eq!(fixture.cloud.calls(), [], "the cloud was asked");
    (exit.code, exit.sentence().replace(path.to_str().unwrap(), "FILE"))
}

#[rstest]
#[case::no_section(
    b"auth-url=x\n",
    "FILE:1:1: a section header must come first: write one, such as [Global]"
)]
#[case::underscore(
    b"[Global]\nauth_url=x\n",
    "FILE:2:5: the key auth_url has an underscore, which no key has: use a hyphen, auth-url"
)]
#[case::no_unit(
    b"[LoadBalancer]\nmonitor-delay=5\n",
    "FILE:2:15: monitor-delay needs a unit: write for example 5s"
)]
#[case::open_quote(
    b"[Global]\npassword=\"x\n",
    "FILE:2:10: this double quote is not closed on its line: close it, and write a line end inside quotes as \\n"
)]
#[case::backslash(
    b"[Global]\npassword=pass\\word\n",
    "FILE:2:14: this backslash in the value of password is not quoted: put the value in double quotes and write the \
     backslash twice"
)]
#[case::escape(
    b"[Global]\npassword=\"a\\qb\"\n",
    "FILE:2:12: this backslash starts no known sequence: inside quotes there are \\\\, \\\", \\n and \\t, here in the \
     value of password"
)]
#[case::nameless_section(
    b"[]\n",
    "FILE:1:2: a section needs a name of letters, digits and hyphens: write one, such as [Global]"
)]
#[case::open_section(
    b"[Global\n",
    "FILE:1:8: the header of section Global does not end here: write [Global] or [Global \"subsection\"]"
)]
#[case::empty_subsection(
    b"[LoadBalancerClass \"\"]\n",
    "FILE:1:20: a subsection's name cannot be empty: name it or leave it out"
)]
#[case::switch(
    b"[Global]\nuse-clouds=maybe\n",
    "FILE:2:12: use-clouds is neither true nor false: write one of them, not \"maybe\""
)]
#[case::number(
    b"[LoadBalancer]\nmax-shared-lb=0.2\n",
    "FILE:2:15: max-shared-lb is not a whole number: write one, such as 2, not \"0.2\""
)]
#[case::no_value(
    b"[Global]\npassword\n",
    "FILE:2:1: password has no value: write password=… or remove the line"
)]
#[case::empty_word(
    b"[Global]\nos-endpoint-type=\n",
    "FILE:2:18: os-endpoint-type is empty: write a value or remove the line"
)]
#[case::nul(b"[Global]\npassword=a\0b\n", "FILE:2:11: a NUL cannot be in this file: remove it")]
#[case::not_utf8(
    b"[Global]\npassword=\xff\n",
    "FILE:2:10: this is not UTF-8: save the file in that encoding"
)]
#[case::search_order(
    b"[Metadata]\nsearch-order=floppy\n",
    "FILE:2:1: search-order has no item \"floppy\": write configDrive, metadataService or both"
)]
#[case::authority(
    b"[Global]\nca-file=/nonexistent/ca.pem\n",
    "ca-file: /nonexistent/ca.pem is not there: correct the path or mount the file"
)]
#[case::empty(
    b"",
    "auth-url is missing: set it in [Global] to Keystone's URL, such as https://keystone.example:5000/v3"
)]
#[case::no_credentials(
    b"[Global]\nauth-url=http://127.0.0.1:1/v3\nusername=a\n",
    "there is nothing to authenticate with: set in [Global] a password with username or user-id, an \
     application-credential-id with its application-credential-secret, or a token"
)]
#[tokio::test]
async fn file(#[case] content: &[u8], #[case] expected: &str) {
    let (code, sentence) = refused(content).await;
    assert_eq!((code, sentence), (1, format!("invalid --cloud-config: {expected}")));
}

#[tokio::test]
async fn no_file() {
    let fixture = Fixture::new().await;
    let exit = fixture.manager().without("--cloud-config").start().exited().await;
    let expected = "invalid --cloud-config: there is no cloud config: name one with --cloud-config, such as /etc/kubernetes/cloud.conf";
    assert_eq!((exit.code, exit.sentence().as_str()), (1, expected));
}
