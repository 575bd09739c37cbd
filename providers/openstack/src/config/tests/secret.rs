//! The Secret that is merged into the file.

use super::*;
use rstest::rstest;

/// The file that an installer writes.
const SEED: &str = "[Global]\nsecret-name = openstack-credentials\nsecret-namespace = kube-system\n";

fn secret(data: &[(&str, &str)]) -> SecretData {
    let data = data.iter().map(|(key, text)| ((*key).to_owned(), (*text).into()));
    data.collect()
}

fn with(text: &str, data: &[(&str, &str)]) -> Result<Loaded, String> {
    read(text, &Shelf::default(), &environment(), Some(&secret(data)))
}

// upstream: openstack 13
#[test]
fn the_file_alone_is_enough_to_find_the_secret() {
    let loaded = try_file(SEED).expect("missing Secret");
    let named = ObjectRef::new("kube-system", "openstack-credentials");
    assert_eq!(loaded.config.secret, Some(named));
    assert_eq!(loaded.config.load_balancer, LoadBalancer::default());
    assert_eq!(loaded.warnings, Vec::<String>::new());
}

// upstream: openstack 13
#[rstest]
#[case("values from Secret key clouds.conf override the file", &[("clouds.conf", "[Global]\npassword=new\nuser-id=u2"), ("cloud.conf", "[Global]\npassword=wrong"), ("clouds.yaml", "wrong")], "user id u2 with password new for project id demo")]
#[case("cloud.conf is the second choice", &[("cloud.conf", "[Global]\npassword=new"), ("clouds.yaml", "wrong")], "user id user with password new for project id demo")]
#[case("clouds.yaml is the third, entry openstack", &[("clouds.yaml", "clouds: {openstack: {auth: {password: new, project_id: p2}}, other: {}}")], "user id user with password new for project id p2")]
#[case("clouds.yaml with one entry of another name", &[("clouds.yaml", "clouds: {mine: {auth: {password: new}}}")], "user id user with password new for project id demo")]
#[case("another means of authentication", &[("clouds.conf", "[Global]\napplication-credential-id=i\napplication-credential-secret=s")], "credential id i with secret s")]
#[case("another means of authentication in clouds.yaml", &[("clouds.yaml", "clouds: {openstack: {auth: {application_credential_id: i, application_credential_secret: s}}}")], "credential id i with secret s")]
#[case("a value can be taken away", &[("clouds.conf", "[Global]\ntenant-id=\ndomain-id=d")], "user id user with password mypass for in domain id d")]
fn overlays(#[case] what: &str, #[case] data: &[(&str, &str)], #[case] expected: &str) {
    let loaded = with(&format!("{SEED}{LOGIN}"), data).unwrap();
    assert_eq!(login(&loaded.config.global), expected, "{what}");
    assert_eq!(loaded.config.global.auth_url, "http://auth.url");
    assert!(loaded.config.secret.is_some());
}

// upstream: openstack 13
#[test]
fn only_one_key() {
    let text = format!("[Global]\n{LOGIN}secret-name=x\n");
    let loaded = with(&text, &[("clouds.conf", "[Global]\npassword=new")]).unwrap();
    assert_eq!(loaded.config.secret, None, "only one key");
    assert_eq!(
        login(&loaded.config.global),
        "user id user with password mypass for project id demo"
    );
}

#[test]
fn lists_are_replaced_and_other_sections_kept() {
    let text = format!(
        "{SEED}{LOGIN}[Networking]\npublic-network-name=a\ninternal-network-name=b\n[LoadBalancer]\nsubnet-id=s\nflavor-id=f\n\
         [LoadBalancerClass \"x\"]\nsubnet-id=x1\nnetwork-id=x2\n"
    );
    let other = "[Networking]\npublic-network-name=c\npublic-network-name=d\ninternal-network-name\n[LoadBalancer]\n\
                 subnet-id=s2\n[LoadBalancerClass \"x\"]\nsubnet-id=x3\n[LoadBalancerClass \"y\"]\n";
    let config = with(&text, &[("clouds.conf", other)]).unwrap().config;
    assert_eq!(config.networking.public_network_names, ["c", "d"]);
    assert_eq!(config.networking.internal_network_names, Vec::<String>::new());
    let networks = &config.load_balancer.networks;
    assert_eq!(
        (networks.subnet_id.as_str(), config.load_balancer.flavor_id.as_str()),
        ("s2", "f")
    );
    assert_eq!(
        (
            config.classes["x"].subnet_id.as_str(),
            config.classes["x"].network_id.as_str()
        ),
        ("x3", "x2")
    );
    assert!(config.classes.contains_key("y"));
}

#[test]
fn a_secret_cannot_name_another_one() {
    let other = format!("[Global]\nsecret-name=other\nsecret-namespace=there\n{LOGIN}");
    let loaded = with(SEED, &[("clouds.conf", &other)]).unwrap();
    assert_eq!(loaded.config.secret.unwrap().name, "openstack-credentials");
    let expected = "secret kube-system/openstack-credentials clouds.conf: secret-name and secret-namespace are ignored: a Secret \
                cannot name another one";
    assert_eq!(loaded.warnings, [expected]);
}

#[rstest]
#[case(&[], "secret kube-system/openstack-credentials has no configuration: put it under the key clouds.conf, cloud.conf or clouds.yaml")]
#[case(&[("clouds.conf", "[Global]\nauth_url=x")], "secret kube-system/openstack-credentials clouds.conf:2:5: the key auth_url has an underscore, which no key has: use a hyphen, auth-url")]
#[case(&[("clouds.yaml", "clouds: {a: {}, b: {}}")], "secret kube-system/openstack-credentials clouds.yaml: there is no cloud openstack: set cloud in [Global] to one of its entries (a, b)")]
#[case(&[("clouds.yaml", "clouds: {openstack: {}}")], "secret kube-system/openstack-credentials clouds.yaml: openstack: there is no auth: block: add one with auth_url and the credentials, or set them in [Global]")]
#[case(&[("clouds.conf", "[Global]\nauth-url=x")], "there is nothing to authenticate with: set in [Global] a password with username or user-id, an application-credential-id with its application-credential-secret, or a token")]
fn refused(#[case] data: &[(&str, &str)], #[case] error: &str) {
    assert_eq!(with(SEED, data).unwrap_err(), error);
}
