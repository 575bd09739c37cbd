//! `clouds.yaml` and related files.

use super::*;
use rstest::rstest;

const ETC: &str = "/etc/openstack/clouds.yaml";

const TWO: &str = "
clouds:
  one:
    auth: {auth_url: http://one, user_id: u1, password: p1, project_id: t1}
  two:
    auth: {auth_url: http://two, user_id: u2, password: p2, project_id: t2}
    region_name: R2
";

fn clouds(lines: &str, yaml: &str) -> Result<Loaded, String> {
    let text = format!("[Global]\nuse-clouds=true\n{lines}");
    read(&text, &Shelf::default().with(ETC, yaml), &environment(), None)
}

fn summary(loaded: &Loaded) -> String {
    let global = &loaded.config.global;
    format!("{} at {} in {}", login(global), global.auth_url, global.region)
}

// upstream: openstack 3
#[test]
fn global_values_win_and_the_rest_is_filled() {
    let yaml = "
clouds:
  default:
    auth:
      domain_name: default
      auth_url: http://not-auth.url
      project_name: demo
      username: admin
      user_id: user
    region_name: RegionOne
    identity_api_version: 3
";
    let text = "[Global]\nauth-url = http://auth.url\ntrust-id = mytrust\npassword = mypass\nuse-clouds = true\n\
                clouds-file = /tmp/test_clouds.yaml\n[LoadBalancer]\ncreate-monitor = yes\nmonitor-delay = 1m\n";
    let files = Shelf::default().with("/tmp/test_clouds.yaml", yaml);
    let loaded = read(text, &files, &environment(), None).unwrap();
    let expected = "user id user with password mypass for trust mytrust at http://auth.url in RegionOne";
    assert_eq!(
        summary(&loaded),
        expected,
        "auth-url from [Global]; user-id, username, region, project from YAML; trust kept"
    );
    assert!(
        loaded.config.load_balancer.create_monitor,
        "non-global sections untouched"
    );
    assert_eq!(loaded.files, [PathBuf::from("/tmp/test_clouds.yaml")]);
}

#[rstest]
#[case::named(
    "cloud=two",
    None,
    Ok("user id u2 with password p2 for project id t2 at http://two in R2")
)]
#[case::by_the_environment(
    "",
    Some("one"),
    Ok("user id u1 with password p1 for project id t1 at http://one in ")
)]
#[case::named_before_the_environment(
    "cloud=two",
    Some("one"),
    Ok("user id u2 with password p2 for project id t2 at http://two in R2")
)]
#[case::global_wins_with_cloud(
    "cloud=two\nuser-id=me\npassword=mine\ntenant-id=ours\nregion=R9",
    None,
    Ok("user id me with password mine for project id ours at http://two in R9")
)]
#[case::global_credential_wins(
    "cloud=two\napplication-credential-id=i\napplication-credential-secret=s",
    None,
    Ok("credential id i with secret s at http://two in R2")
)]
#[case::not_there(
    "cloud=three",
    None,
    Err("/etc/openstack/clouds.yaml: there is no cloud three: set cloud in [Global] to one of its entries (one, two)")
)]
#[case::not_clear(
    "",
    None,
    Err(
        "/etc/openstack/clouds.yaml: it is not clear which cloud is meant: set cloud in [Global] to one of its entries (one, two)"
    )
)]
fn entries(#[case] lines: &str, #[case] variable: Option<&str>, #[case] expected: Result<&str, &str>) {
    let environment = Environment {
        cloud: variable.map(str::to_owned),
        ..environment()
    };
    let text = format!("[Global]\nuse-clouds=true\n{lines}");
    let loaded = read(&text, &Shelf::default().with(ETC, TWO), &environment, None);
    assert_eq!(
        loaded.as_ref().map(summary).as_deref().map_err(|error| error.as_str()),
        expected
    );
}

#[rstest]
#[case::working_directory("/cwd/clouds.yaml", "", &["/home/me/.config/openstack/clouds.yaml", ETC])]
#[case::home("/home/me/.config/openstack/clouds.yaml", "", &[ETC, "/cwd/clouds.yml"])]
#[case::etc(ETC, "", &["/cwd/clouds.yml"])]
#[case::yml("/cwd/clouds.yml", "", &["/etc/openstack/clouds.yml"])]
#[case::named("/x/clouds.yaml", "clouds-file=/x/clouds.yaml", &["/cwd/clouds.yaml", "/env.yaml"])]
#[case::by_the_environment("/env.yaml", "", &["/cwd/clouds.yaml"])]
fn places(#[case] used: &str, #[case] lines: &str, #[case] others: &[&str]) {
    let mut files = Shelf::default().with(used, TWO);
    for other in others {
        files = files.with(other, "clouds: {other: {}}");
    }
    let environment = Environment {
        client_config_file: Some("/env.yaml".into()),
        ..environment()
    };
    let text = format!("[Global]\nuse-clouds=true\ncloud=one\n{lines}");
    let loaded = read(&text, &files, &environment, None).unwrap();
    assert_eq!(loaded.files, [PathBuf::from(used)]);
}

#[test]
fn a_named_file_that_does_not_exist() {
    let loaded = clouds("cloud=one\nclouds-file=/gone.yaml", TWO).unwrap();
    let expected =
        "/gone.yaml is not there, /etc/openstack/clouds.yaml is used instead: correct clouds-file or remove it";
    assert_eq!(loaded.warnings, [expected]);
}

#[test]
fn no_file_at_all() {
    let error = try_file("[Global]\nuse-clouds=true\nclouds-file=/gone.yaml").unwrap_err();
    let expected = "there is no clouds.yaml: set clouds-file to where it is, or remove use-clouds and cloud; looked for \
                /gone.yaml, /cwd/clouds.yaml, /home/me/.config/openstack/clouds.yaml, /etc/openstack/clouds.yaml, \
                /cwd/clouds.yml, /home/me/.config/openstack/clouds.yml, /etc/openstack/clouds.yml";
    assert_eq!(error, expected);
}

/// occm then reads it only for the credentials; ours reads all of it.
#[test]
fn cloud_without_use_clouds() {
    let text = "[Global]\ncloud=two\nclouds-file=/x.yaml\nregion=R1";
    let files = Shelf::default().with(ETC, TWO).with("/x.yaml", "clouds: {}");
    let loaded = read(text, &files, &environment(), None).unwrap();
    assert_eq!(
        summary(&loaded),
        "user id u2 with password p2 for project id t2 at http://two in R1"
    );
    let expected = "cloud.conf:3:1: clouds-file is ignored because use-clouds is not set: add use-clouds=true";
    assert_eq!(loaded.warnings, [expected]);
}

#[test]
fn secure_and_public_files() {
    let clouds = "clouds: {mine: {profile: vendor, auth: {user_id: u, project_id: t}}}";
    let public = "public-clouds: {vendor: {auth: {auth_url: http://vendor, project_id: x}, region_name: RV}}";
    let secure = "clouds: {mine: {auth: {password: hidden}}}";
    let files = Shelf::default()
        .with(ETC, clouds)
        .with("/cwd/clouds-public.yaml", public)
        .with("/etc/openstack/secure.yaml", secure);
    let loaded = read("[Global]\nuse-clouds=true", &files, &environment(), None).unwrap();
    assert_eq!(
        summary(&loaded),
        "user id u with password hidden for project id t at http://vendor in RV"
    );
    assert_eq!(loaded.files.len(), 3);
}

#[test]
fn everything_in_the_secure_file() {
    let secure = "clouds: {mine: {auth: {auth_url: http://x, user_id: u, password: p, project_id: t}}}";
    let files = Shelf::default().with(ETC, "clouds: {}").with("/cwd/secure.yml", secure);
    let loaded = read("[Global]\nuse-clouds=true", &files, &environment(), None).unwrap();
    assert_eq!(
        summary(&loaded),
        "user id u with password p for project id t at http://x in "
    );
}

#[test]
fn a_profile_that_does_not_exist() {
    let error = clouds("", "clouds: {mine: {cloud: vendor, auth: {}}}").unwrap_err();
    let expected = "/etc/openstack/clouds.yaml: the profile vendor is in no clouds-public.yaml: add it there, or remove the key \
                profile (or cloud)";
    assert_eq!(error, expected);
}

#[rstest]
#[case("verify: false", "", Verification::Off)]
#[case("verify: no", "", Verification::Off)]
#[case("verify: true", "", Verification::On)]
#[case("verify: false", "tls-insecure=false", Verification::On)]
#[case("verify: true", "tls-insecure=true", Verification::Off)]
fn verify(#[case] yaml: &str, #[case] lines: &str, #[case] verification: Verification) {
    let yaml = format!("clouds: {{c: {{auth: {{auth_url: x, user_id: u, password: p}}, {yaml}}}}}");
    assert_eq!(
        clouds(lines, &yaml).unwrap().config.global.tls.verification,
        verification
    );
}

const REGIONS: &str = "
clouds:
  c:
    auth: {auth_url: http://x, user_id: u, password: p, project_id: t}
    interface: admin
    regions:
    - R1
    - name: R2
      values:
        auth: {auth_url: http://r2, project_id: t2}
        endpoint_type: internal
";

#[rstest]
#[case::plain(
    "region=R1",
    "user id u with password p for project id t at http://x in R1",
    Interface::Admin,
    0
)]
#[case::overridden(
    "region=R2",
    "user id u with password p for project id t2 at http://r2 in R2",
    Interface::Internal,
    0
)]
#[case::global_wins(
    "region=R2\ntenant-id=t9",
    "user id u with password p for project id t9 at http://r2 in R2",
    Interface::Internal,
    0
)]
#[case::none_chosen(
    "",
    "user id u with password p for project id t at http://x in ",
    Interface::Admin,
    1
)]
fn regions(#[case] lines: &str, #[case] expected: &str, #[case] interface: Interface, #[case] warnings: usize) {
    let loaded = clouds(lines, REGIONS).unwrap();
    assert_eq!(summary(&loaded), expected);
    assert_eq!(loaded.config.global.interface, interface);
    assert_eq!(loaded.warnings.len(), warnings, "{:?}", loaded.warnings);
}

#[test]
fn files_that_the_entry_names() {
    let yaml = "clouds: {c: {auth: {auth_url: x, user_id: u, password: p}, cacert: /ca, cert: /c, key: /k}}";
    let files = Shelf::default()
        .with(ETC, yaml)
        .with("/ca", "-----BEGIN CERTIFICATE-----")
        .with("/c", "c")
        .with("/k", "k");
    let loaded = read("[Global]\nuse-clouds=true", &files, &environment(), None).unwrap();
    assert_eq!(loaded.config.global.tls.files, ["/ca", "/c", "/k"].map(PathBuf::from));
    assert_eq!(loaded.files, [ETC, "/ca", "/c", "/k"].map(PathBuf::from));
}

#[rstest]
#[case::credential_by_type(
    "{auth_type: v3applicationcredential, auth: {auth_url: x, password: p, user_id: u, application_credential_id: i, application_credential_secret: s}}",
    "credential id i with secret s"
)]
#[case::token_by_type(
    "{auth_type: v3token, auth: {auth_url: x, token: t, password: p, user_id: u, project_id: 1}}",
    "token t for project id 1"
)]
#[case::default_domain(
    "{auth: {auth_url: x, username: n, password: p, project_name: t, default_domain: d}}",
    "user n in domain id d with password p for project t in domain id d"
)]
#[case::numbers_are_texts(
    "{auth: {auth_url: x, user_id: 007, password: 0123, project_id: 1e3}}",
    "user id 007 with password 0123 for project id 1e3"
)]
#[case::old_names(
    "{auth: {auth_url: x, user_id: u, password: p, tenant_id: t}}",
    "user id u with password p for project id t"
)]
#[case::trust(
    "{auth: {auth_url: x, user_id: u, password: p, trust_id: t}}",
    "user id u with password p for trust t"
)]
fn credentials(#[case] entry: &str, #[case] expected: &str) {
    let loaded = clouds("", &format!("clouds: {{c: {entry}}}")).unwrap();
    assert_eq!(login(&loaded.config.global), expected);
}

#[rstest]
#[case::no_auth(
    "clouds: {c: {region_name: R}}",
    "/etc/openstack/clouds.yaml: c: there is no auth: block: add one with auth_url and the credentials, or set them in [Global]"
)]
#[case::empty_entry(
    "clouds: {c: }",
    "/etc/openstack/clouds.yaml: c: there is no auth: block: add one with auth_url and the credentials, or set them in [Global]"
)]
#[case::no_clouds(
    "cloud: {}",
    "/etc/openstack/clouds.yaml: it is not clear which cloud is meant: set cloud in [Global] to one of its entries ()"
)]
#[case::empty(
    "",
    "/etc/openstack/clouds.yaml: it is not clear which cloud is meant: set cloud in [Global] to one of its entries ()"
)]
fn refused(#[case] yaml: &str, #[case] error: &str) {
    assert_eq!(clouds("", yaml).unwrap_err(), error);
}

#[rstest]
#[case("clouds: {c: {auth: {password: hidden")]
#[case("clouds:\n  c:\n    auth:\n      password: 'hidden\n")]
#[case("clouds:\n  c:\n    auth: hidden\n")]
#[case("clouds:\n  c:\n    verify: hidden\n")]
#[case("clouds:\n  c:\n    regions: {hidden: 1}\n")]
#[case("clouds:\n  c:\n    auth:\n      password: hidden\n      password: hidden\n")]
#[case("clouds:\n  c:\n\tauth: hidden\n")]
#[case("clouds: *hidden")]
fn errors_quote_nothing(#[case] yaml: &str) {
    let error = clouds("", yaml).unwrap_err();
    assert!(!error.contains("hidden"), "{error}");
    let expected = "this is not the YAML of a clouds file: ";
    assert!(
        error.starts_with("/etc/openstack/clouds.yaml:") && error.contains(expected),
        "{error}"
    );
}

#[test]
fn an_entry_without_auth_may_add_the_rest() {
    let lines = "auth-url=http://mine\nuser-id=u\npassword=p\ntenant-id=t";
    let loaded = clouds(lines, "clouds: {c: {region_name: R}}").unwrap();
    assert_eq!(
        summary(&loaded),
        "user id u with password p for project id t at http://mine in R"
    );
}

#[test]
fn unsupported_requests_are_reported() {
    let yaml =
        "clouds: {c: {identity_api_version: 2, auth: {auth_url: x, user_id: u, password: p, system_scope: all}}}";
    let expected = [
        "/etc/openstack/clouds.yaml: c: system_scope is ignored: name a project",
        "/etc/openstack/clouds.yaml: c: identity_api_version is ignored: Keystone's version 3 is used",
    ];
    assert_eq!(clouds("", yaml).unwrap().warnings, expected);
}

#[test]
fn unreadable() {
    let files = Shelf::default().with_unreadable(ETC);
    let error = read("[Global]\nuse-clouds=true", &files, &environment(), None).unwrap_err();
    assert_eq!(error, "/etc/openstack/clouds.yaml cannot be read: correct its rights");
}
