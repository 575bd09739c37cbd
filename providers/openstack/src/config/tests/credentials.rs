//! All authentication methods, and their precedence.

use super::*;
use rstest::rstest;

// upstream: openstack 4
#[rstest]
#[case(
    "username+password+domain-name+user-id, no project",
    "username=user\npassword=pass\ndomain-name=local\nuser-id=user",
    "user id user with password pass for in domain local"
)]
#[case(
    "adding domain-id",
    "username=user\npassword=pass\ndomain-name=local\nuser-id=user\ndomain-id=2a73",
    "user id user with password pass for in domain id 2a73"
)]
fn domain_scope(#[case] what: &str, #[case] lines: &str, #[case] expected: &str) {
    assert_eq!(decided(lines), Ok(expected.to_owned()), "{what}");
}

// upstream: openstack 5
#[rstest]
#[case(
    "project name + tenant-domain-name wins over domain-name",
    "trust-id=",
    "tenant-name=demo\ntenant-domain-name=Projects\ndomain-name=local",
    " for project demo in domain Projects"
)]
#[case(
    "without tenant-domain-* the domain id falls back",
    "",
    "tenant-name=demo\ndomain-id=2a73\ndomain-name=local",
    " for project demo in domain id 2a73"
)]
#[case(
    "without tenant-domain-* the domain name falls back",
    "",
    "tenant-name=demo\ndomain-name=local",
    " for project demo in domain local"
)]
#[case(
    "with tenant-id the scope has only the project id",
    "",
    "tenant-id=42\ntenant-name=demo\ntenant-domain-name=Projects\ndomain-name=local",
    " for project id 42"
)]
#[case(
    "a general id goes before the project's domain name",
    "",
    "tenant-name=demo\ntenant-domain-name=Projects\ndomain-id=2a73",
    " for project demo in domain id 2a73"
)]
#[case("trust", "trust-id=t", "tenant-name=demo\ndomain-name=local", " for trust t")]
fn project_scope(#[case] what: &str, #[case] trust: &str, #[case] lines: &str, #[case] scope: &str) {
    let lines = format!("user-id=user\npassword=pass\n{trust}\n{lines}");
    assert_eq!(
        decided(&lines),
        Ok(format!("user id user with password pass{scope}")),
        "{what}"
    );
}

#[rstest]
#[case::password_by_name(
    "username=u\npassword=p\ntenant-id=1\nuser-domain-name=Users\ndomain-id=d",
    "user u in domain Users with password p for project id 1"
)]
#[case::password_by_name_general_domain(
    "username=u\npassword=p\ntenant-id=1\ndomain-id=d\ndomain-name=n",
    "user u in domain id d with password p for project id 1"
)]
#[case::unscoped(
    "username=u\npassword=p\nuser-domain-name=Users",
    "user u in domain Users with password p"
)]
#[case::credential_by_id(
    "application-credential-id=i\napplication-credential-secret=s\ntenant-id=1",
    "credential id i with secret s"
)]
#[case::credential_by_name_of_a_user_id(
    "application-credential-name=n\napplication-credential-secret=s\nuser-id=u",
    "credential n of user id u with secret s"
)]
#[case::credential_by_name_of_a_user(
    "application-credential-name=n\napplication-credential-secret=s\nusername=u\ndomain-name=d",
    "credential n of user u in domain d with secret s"
)]
#[case::id_before_name(
    "application-credential-name=n\napplication-credential-id=i\napplication-credential-secret=s",
    "credential id i with secret s"
)]
#[case::password_before_credential(
    "user-id=u\npassword=p\ntenant-id=1\napplication-credential-id=i\napplication-credential-secret=s",
    "user id u with password p for project id 1"
)]
#[case::password_before_credential_without_a_project(
    "user-id=u\npassword=p\ndomain-name=d\napplication-credential-id=i\napplication-credential-secret=s",
    "user id u with password p"
)]
#[case::token(
    "token=t\ntenant-name=demo\ntenant-domain-id=d",
    "token t for project demo in domain id d"
)]
#[case::token_before_password("token=t\ntenant-id=1\nuser-id=u\npassword=p", "token t for project id 1")]
#[case::trust("trust-id=t\nuser-id=u\npassword=p", "user id u with password p for trust t")]
#[case::trust_by_name(
    "trust-id=t\nusername=u\nuser-domain-id=d\npassword=p",
    "user u in domain id d with password p for trust t"
)]
#[case::trustee(
    "trust-id=t\nuser-id=u\nusername=n\npassword=p\ntrustee-id=e\ntrustee-password=q",
    "user id e with password q for trust t"
)]
#[case::trust_before_token(
    "trust-id=t\nuser-id=u\npassword=p\ntoken=x",
    "user id u with password p for trust t"
)]
fn methods(#[case] lines: &str, #[case] expected: &str) {
    assert_eq!(decided(lines), Ok(expected.to_owned()));
}

#[rstest]
#[case::nothing(
    "tenant-id=1",
    "there is nothing to authenticate with: set in [Global] a password with username or user-id, an application-credential-id with its application-credential-secret, or a token"
)]
#[case::no_user(
    "password=p\ntenant-id=1",
    "password needs a user: set user-id, or username and its domain"
)]
#[case::no_user_domain(
    "username=u\npassword=p\ntenant-id=1",
    "username needs its domain: set user-domain-name or domain-name, which is often Default"
)]
#[case::no_project_domain(
    "user-id=u\npassword=p\ntenant-name=demo",
    "tenant-name needs its domain: set tenant-domain-name or domain-name, which is often Default"
)]
#[case::token_alone(
    "token=t",
    "token needs a project to be used for: set tenant-id, or tenant-name and its domain"
)]
#[case::no_secret(
    "application-credential-id=i",
    "the application credential has no secret: set application-credential-secret, which was shown when it was created"
)]
#[case::secret_alone(
    "application-credential-secret=s",
    "application-credential-secret is alone: set application-credential-id, too"
)]
#[case::credential_without_a_user(
    "application-credential-name=n\napplication-credential-secret=s",
    "application-credential-name needs a user: set user-id, or username and its domain"
)]
#[case::trust_without_password(
    "trust-id=t\nuser-id=u\napplication-credential-id=i",
    "trust-id needs a password: set trustee-id and trustee-password, or user-id and password"
)]
fn refused(#[case] lines: &str, #[case] expected: &str) {
    assert_eq!(decided(lines), Err(expected.to_owned()));
}

#[test]
fn auth_url_is_named_when_it_is_missing() {
    let expected =
        "auth-url is missing: set it in [Global] to Keystone's URL, such as https://keystone.example:5000/v3";
    assert_eq!(try_file("[Global]\nuser-id=u\npassword=p").unwrap_err(), expected);
}

#[test]
fn nothing_shows_a_secret() {
    let text = "[Global]\nauth-url=x\nuser-id=u\npassword=hidden\ntenant-id=1\ntoken=hidden\ntrustee-password=hidden\n\
                application-credential-secret=hidden\nsecret-name=a\nsecret-namespace=b";
    let secret = [("cloud.conf".to_owned(), b"[Global]\npassword=hidden".to_vec())].into();
    let loaded = read(text, &Shelf::default(), &environment(), Some(&secret)).unwrap();
    assert!(!format!("{loaded:?} {:?}", data(Some(&secret))).contains("hidden"));
}

fn decided(lines: &str) -> Result<String, String> {
    let loaded = try_file(&format!("[Global]\nauth-url=http://auth.url\n{lines}"))?;
    Ok(login(&loaded.config.global))
}
