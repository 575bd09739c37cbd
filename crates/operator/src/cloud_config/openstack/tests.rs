//! The configuration of `OpenStack`.

use super::{Invalid, transform};
use gcfg::Document;
use proptest::prelude::*;
use rstest::rstest;

const MODERN: &str = "[Global]
use-clouds  = true
clouds-file = /etc/openstack/secret/clouds.yaml
cloud       = openstack

[LoadBalancer]
max-shared-lb          = 1
manage-security-groups = true
";

/// The output of the Go operator, byte for byte, except where it fails (W13) and where there are comments.
#[rstest]
#[case::empty("", MODERN)]
#[case::w13_modern(MODERN, MODERN)]
#[case::legacy(
    "[Global]\nsecret-name = openstack-credentials\nsecret-namespace = kube-system\n\n[BlockStorage]\nignore-volume-az = true\n",
    MODERN
)]
#[case::legacy_with_balancers(
    "[Global]\nsecret-name = openstack-credentials\nsecret-namespace = kube-system\n\n[BlockStorage]\n\
     ignore-volume-az = true\n\n[LoadBalancer]\nmax-shared-lb          = 1\nmanage-security-groups = true\n\
     use-octavia            = false\n",
    MODERN
)]
#[case::the_installers(
    "[Global]\nsecret-name = openstack-credentials\nsecret-namespace = kube-system\nregion = one\n[LoadBalancer]\nuse-octavia = True\n",
    "[Global]\nregion      = one\nuse-clouds  = true\nclouds-file = /etc/openstack/secret/clouds.yaml\ncloud       = openstack\n\n\
     [LoadBalancer]\nmax-shared-lb          = 1\nmanage-security-groups = true\n"
)]
#[case::quotes(
    "[Global]\nsecret-name=\"openstack-credentials\"\nsecret-namespace=\"kube-system\"\nregion=\"one\"\n",
    "[Global]\nregion      = one\nuse-clouds  = true\nclouds-file = /etc/openstack/secret/clouds.yaml\ncloud       = openstack\n\n\
     [LoadBalancer]\nmax-shared-lb          = 1\nmanage-security-groups = true\n"
)]
#[case::kubeconfig_of_nothing(
    "[Global]\nsecret-name=openstack-credentials\nsecret-namespace=kube-system\nkubeconfig-path=\"\"\n",
    MODERN
)]
#[case::w13_without_a_secret("[Global]\nsecret-namespace=kube-system\n", MODERN)]
#[case::credentials_are_overwritten("[Global]\nuse-clouds=false\nclouds-file=/x\ncloud=mine\n", MODERN)]
#[case::block_storage_is_removed(
    "[BlockStorage]\nbs-version = v2\n\n[Metadata]\nsearch-order = configDrive\n",
    "[Metadata]\nsearch-order = configDrive\n\n[Global]\nuse-clouds  = true\nclouds-file = /etc/openstack/secret/clouds.yaml\n\
     cloud       = openstack\n\n[LoadBalancer]\nmax-shared-lb          = 1\nmanage-security-groups = true\n"
)]
#[case::load_balancers_of_the_user(
    "[LoadBalancer]\nmax-shared-lb = 3\nmanage-security-groups = false\nlb-provider = ovn\n",
    "[LoadBalancer]\nmax-shared-lb          = 3\nmanage-security-groups = false\nlb-provider            = ovn\n\n\
     [Global]\nuse-clouds  = true\nclouds-file = /etc/openstack/secret/clouds.yaml\ncloud       = openstack\n"
)]
#[case::names_in_another_case(
    "[global]\nSecret-Name=openstack-credentials\n[loadbalancer]\nUse-Octavia=true\nMax-Shared-LB=2\n",
    "[global]\nuse-clouds  = true\nclouds-file = /etc/openstack/secret/clouds.yaml\ncloud       = openstack\n\n\
     [loadbalancer]\nMax-Shared-LB          = 2\nmanage-security-groups = true\n"
)]
#[case::comments_and_unknown_keys(
    "# ours\n[Global]\nnew-key = 1 ; beside\n# of tomorrow\n[Tomorrow \"x\"]\nkey = \"a;b\"\n",
    "# ours\n[Global]\nnew-key     = 1 ; beside\nuse-clouds  = true\nclouds-file = /etc/openstack/secret/clouds.yaml\n\
     cloud       = openstack\n\n# of tomorrow\n[Tomorrow \"x\"]\nkey = \"a;b\"\n\n[LoadBalancer]\nmax-shared-lb          = 1\n\
     manage-security-groups = true\n"
)]
fn is_transformed(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(transform(text).as_deref(), Ok(expected));
    assert_eq!(transform(expected).as_deref(), Ok(expected), "W13: applied again");
}

#[rstest]
#[case::secret_name(
    "[Global]\nsecret-name = mine\n",
    "cloud.conf:2:15: secret-name in [Global] is not supported with another value than the installer's: remove the \
     line or write \"openstack-credentials\""
)]
#[case::secret_namespace(
    "[Global]\nsecret-name = openstack-credentials\nsecret-namespace = mine\n",
    "cloud.conf:3:20: secret-namespace in [Global] is not supported with another value than the installer's: remove \
     the line or write \"kube-system\""
)]
#[case::kubeconfig_path(
    "[Global]\nkubeconfig-path = /x\n",
    "cloud.conf:2:19: kubeconfig-path in [Global] is not supported with another value than the installer's: remove \
     the line"
)]
#[case::the_first_of_several(
    "[Global]\nkubeconfig-path = /x\nsecret-name = mine\n",
    "cloud.conf:3:15: secret-name in [Global] is not supported with another value than the installer's: remove the \
     line or write \"openstack-credentials\""
)]
fn is_refused(#[case] text: &str, #[case] problem: &str) {
    assert_eq!(transform(text), Err(Invalid(problem.to_owned())));
}

#[rstest]
#[case::yaml("global:\n  a: b\n", "cloud.conf:1:1: ")]
#[case::no_header("[Global\n", "cloud.conf:1:")]
#[case::no_quote("[Global]\nregion = \"one\n", "cloud.conf:2:")]
fn malformed(#[case] text: &str, #[case] place: &str) {
    let problem = transform(text).expect_err("refused").to_string();
    assert!(problem.starts_with(place), "{problem}");
}

proptest! {
    #[test]
    fn is_idempotent_and_keeps_unknown_keys(entries in prop::collection::vec(("(Global|LoadBalancer|Other)", "x-[a-z]{1,6}", "[ -~]{0,8}"), 0..6)) {
        let mut document = Document::parse("").expect("gcfg");
        for (section, key, value) in &entries {
            document.set(section, None, key, value).expect("set");
        }
        let once = transform(&document.to_string()).expect("transform");
        prop_assert_eq!(transform(&once), Ok(once.clone()));
        let after = Document::parse(&once).expect("gcfg");
        for (section, key, _) in &entries {
            prop_assert_eq!(after.section(section).text(key), document.section(section).text(key));
        }
    }
}
