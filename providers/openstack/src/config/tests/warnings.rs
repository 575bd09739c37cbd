//! Accepted configurations, and the warnings for the user.

use super::*;
use rstest::rstest;

// upstream: openstack 1
#[test]
fn no_file() {
    let sources = Sources {
        file: None,
        data: &LiveData::default(),
        files: &Shelf::default(),
    };
    let error = load(&sources, &environment()).expect_err("no config reader");
    let expected = "there is no cloud config: name one with --cloud-config, such as /etc/kubernetes/cloud.conf";
    assert_eq!(error.to_string(), expected);
}

// upstream: openstack 11
#[rstest]
#[case(
    "unknown section",
    "[Globel]\nx=1",
    "cloud.conf:6:2: the section [Globel] is unknown and ignored: did you mean [Global]?"
)]
#[case(
    "unknown key",
    "[LoadBalancer]\nmonitor-dealy=5",
    "cloud.conf:7:1: the key monitor-dealy is unknown in [LoadBalancer] and ignored: did you mean monitor-delay?"
)]
#[case(
    "a key of another section",
    "[Route]\nsubnet-id=5",
    "cloud.conf:7:1: the key subnet-id is unknown in [Route] and ignored: it belongs to [LoadBalancer]"
)]
#[case(
    "a subsection where there is none",
    "[Global \"x\"]\nuse-clouds=maybe",
    "cloud.conf:6:2: the section [Global] has no subsections, so \"x\" is ignored: write [Global]"
)]
#[case(
    "leftover",
    "[LoadBalancer]\nuse-octavia=banana",
    "cloud.conf:7:1: use-octavia has no effect: there is nothing but Octavia"
)]
fn ignored(#[case] what: &str, #[case] lines: &str, #[case] warning: &str) {
    let loaded = try_file(&format!("[Global]\n{LOGIN}{lines}")).unwrap();
    assert_eq!(loaded.warnings, [warning], "{what}");
}

#[test]
fn block_storage_is_for_another_program() {
    let text = format!("[Global]\n{LOGIN}[BlockStorage]\nbs-version=v3\nignore-volume-az=banana\ntrust-device-path\n");
    assert_eq!(try_file(&text).unwrap().warnings, Vec::<String>::new());
}

// upstream: openstack 12
#[rstest]
#[case(
    "password=abc#def",
    "cloud.conf:3:13: the value of password ends before this #, which starts a comment: if it belongs to the value, put the value in double quotes, else put a blank before the comment"
)]
#[case(
    "tls-insecure=yes",
    "cloud.conf:3:1: tls-insecure=yes does nothing, certificates are checked: only the exact word true turns that off"
)]
#[case(
    "tls-insecure=True",
    "cloud.conf:3:1: tls-insecure=True does nothing, certificates are checked: only the exact word true turns that off"
)]
#[case(
    "clouds-file=/x",
    "cloud.conf:3:1: clouds-file is ignored because use-clouds is not set: add use-clouds=true"
)]
#[case(
    "secret-name=x",
    "cloud.conf:3:1: secret-name is ignored because there is no secret-namespace: set both or none"
)]
#[case(
    "secret-namespace=x\nsecret-name=",
    "cloud.conf:3:1: secret-namespace is ignored because there is no secret-name: set both or none"
)]
#[case(
    "cert-file=/x",
    "cert-file is ignored because there is no key-file: set both or none"
)]
#[case("key-file=/x", "key-file is ignored because there is no cert-file: set both or none")]
#[case(
    "application-credential-id=x",
    "the application credential is ignored because password is given: remove one of them"
)]
#[case(
    "trust-id=x\ntoken=y",
    "token is ignored because trust-id is given: remove one of them"
)]
#[case(
    "[LoadBalancer]\nlb-provider=a10",
    "cloud.conf:4:1: lb-provider \"a10\" is not tested: known ones are amphora, octavia, amphorav2, ovn, f5"
)]
#[case(
    "[LoadBalancer]\ncontainer-store=vault",
    "cloud.conf:4:1: container-store \"vault\" is not tested: known ones are barbican, external"
)]
fn strange(#[case] lines: &str, #[case] warning: &str) {
    let text = format!("[Global]\nauth-url=x\n{lines}\n[Global]\npassword=abc\nuser-id=u\ntenant-id=1");
    let loaded = try_file(&text).unwrap();
    assert_eq!(loaded.warnings, [warning]);
    assert_eq!(loaded.config.global.tls.verification, Verification::On);
}

// upstream: openstack 12
#[rstest]
#[case(
    "Global",
    "auth_url=x",
    "cloud.conf:2:5: the key auth_url has an underscore, which no key has: use a hyphen, auth-url"
)]
#[case(
    "Global",
    "password=pass\\word",
    "cloud.conf:2:14: this backslash in the value of password is not quoted: put the value in double quotes and write the backslash twice"
)]
#[case(
    "LoadBalancer",
    "monitor-delay=5",
    "cloud.conf:2:15: monitor-delay needs a unit: write for example 5s"
)]
fn refused(#[case] section: &str, #[case] line: &str, #[case] error: &str) {
    assert_eq!(try_file(&format!("[{section}]\n{line}")).unwrap_err(), error);
}

// upstream: openstack 12
#[test]
fn byte_order_mark() {
    let loaded = try_file(&format!("\u{feff}[Global]\r\n{}", LOGIN.replace('\n', "\r\n")));
    let config = loaded.expect("BOM file accepted").config;
    assert_eq!(
        login(&config.global),
        "user id user with password mypass for project id demo"
    );
}

#[test]
fn the_file_of_upstreams_manifests() {
    let text = "[Global]\nauth-url=http://192.128.1.15:5000/v3\n\
        #Tip: You can also use Application Credential ID and Secret in place of username, password, tenant-id, and domain-id.\n\
        #application-credential-id=\n#application-credential-secret=\nusername=admin\n# user-id=\npassword=passw0rd\n\
        region=RegionOne\ntenant-id=c869168a828847f39f7f06edd7305637\ndomain-id=2a73b8f597c04551a0fdc8e95544be8a\n\n\
        [LoadBalancer]\nsubnet-id=9c018814-f2a8-45dd-9679-5400d49b333a\n\
        floating-network-id=80c9fc78-a2be-45d5-a85b-f17a6c98df92\n";
    let loaded = try_file(text).unwrap();
    let expected = "user admin in domain id 2a73b8f597c04551a0fdc8e95544be8a with password passw0rd \
                for project id c869168a828847f39f7f06edd7305637";
    assert_eq!(login(&loaded.config.global), expected);
    assert_eq!(
        loaded.config.load_balancer.networks.subnet_id,
        "9c018814-f2a8-45dd-9679-5400d49b333a"
    );
    assert_eq!(loaded.warnings, Vec::<String>::new());
}

/// The warnings about a configuration often explain why it cannot be used.
#[rstest]
#[case(
    "[Global]\nauth-ur=x\npassword=abc#def",
    &[
        "cloud.conf:3:13: the value of password ends before this #",
        "cloud.conf:2:1: the key auth-ur is unknown in [Global] and ignored: did you mean auth-url?",
    ]
)]
#[case("[Globel]\nauth-url=x", &["cloud.conf:1:2: the section [Globel] is unknown and ignored: did you mean [Global]?"])]
#[case("[Global]\nclouds-file=/x", &["cloud.conf:2:1: clouds-file is ignored because use-clouds is not set"])]
#[case("[Global]\ntls-insecure=yes", &["cloud.conf:2:1: tls-insecure=yes does nothing"])]
#[case("[Global]\nuse-clouds=true\ntls-insecure=yes", &["cloud.conf:3:1: tls-insecure=yes does nothing"])]
fn beside_the_error(#[case] text: &str, #[case] expected: &[&str]) {
    let sources = Sources {
        file: Some(File {
            name: "cloud.conf",
            content: text.as_bytes(),
        }),
        data: &LiveData::default(),
        files: &Shelf::default(),
    };
    let error = load(&sources, &environment()).expect_err("it cannot be used");
    let warnings = error.warnings();
    assert_eq!(warnings.len(), expected.len(), "{warnings:?}");
    for (warning, expected) in warnings.iter().zip(expected) {
        assert!(warning.starts_with(expected), "{warning}");
    }
}
