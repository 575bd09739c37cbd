//! The configuration of AWS.

use super::{Invalid, SecurityGroups, transform};
use gcfg::{Document, Value};
use proptest::prelude::*;
use rstest::rstest;
use std::collections::BTreeMap;

/// The settings of a file: `section/key` and its values in order.
fn settings(text: &str) -> BTreeMap<String, Vec<String>> {
    let mut settings = BTreeMap::<_, Vec<_>>::new();
    for part in Document::parse(text).expect("gcfg").parts() {
        for entry in part.entries() {
            let key = format!(
                "{}/{}/{}",
                part.name(),
                part.subsection().unwrap_or_default(),
                entry.folded()
            );
            let Value::Text(value) = entry.value() else { continue };
            settings.entry(key).or_default().push(value.clone());
        }
    }
    settings
}

fn plain(text: &str) -> Result<String, Invalid> {
    transform(text, SecurityGroups::AsConfigured)
}

const DEFAULTS: &str = "[Global]
DisableSecurityGroupIngress                     = false
ClusterServiceLoadBalancerHealthProbeMode       = Shared
ClusterServiceSharedLoadBalancerHealthProbePort = 0
";

/// The output of the Go operator, byte for byte.
#[rstest]
#[case::empty("", DEFAULTS)]
#[case::blank("\n", DEFAULTS)]
#[case::the_installers("[Global]\n\t\t\t", DEFAULTS)]
#[case::its_own_result(DEFAULTS, DEFAULTS)]
#[case::in_order(
    "[Global]\nDisableSecurityGroupIngress = true\nZone                        = Foo\n",
    "[Global]
Zone                                            = Foo
DisableSecurityGroupIngress                     = true
ClusterServiceLoadBalancerHealthProbeMode       = Shared
ClusterServiceSharedLoadBalancerHealthProbePort = 0
"
)]
#[case::in_other_notations(
    "[Global]\ndisablesecuritygroupingress\nZONE = \"Foo\"\nVPC =\nclusterservicesharedloadbalancerhealthprobeport = 0x1F90\n",
    "[Global]
Zone                                            = Foo
DisableSecurityGroupIngress                     = true
ClusterServiceLoadBalancerHealthProbeMode       = Shared
ClusterServiceSharedLoadBalancerHealthProbePort = 8080
"
)]
#[case::probe_of_the_user(
    "[Global]\nClusterServiceLoadBalancerHealthProbeMode = ServiceNodePort\nClusterServiceSharedLoadBalancerHealthProbePort = 8080\n",
    "[Global]
DisableSecurityGroupIngress                     = false
ClusterServiceLoadBalancerHealthProbeMode       = ServiceNodePort
ClusterServiceSharedLoadBalancerHealthProbePort = 8080
"
)]
#[case::no_probe_of_the_user("[Global]\nClusterServiceLoadBalancerHealthProbeMode = \n", DEFAULTS)]
#[case::ipv4_first(
    "[Global]\nNodeIPFamilies=ipv4\nNodeIPFamilies=ipv6\n",
    "[Global]
DisableSecurityGroupIngress                     = false
NodeIPFamilies                                  = ipv4
NodeIPFamilies                                  = ipv6
ClusterServiceLoadBalancerHealthProbeMode       = Shared
ClusterServiceSharedLoadBalancerHealthProbePort = 0
"
)]
#[case::ipv6_first(
    "[Global]\nNodeIPFamilies=ipv6\nNodeIPFamilies=ipv4\n",
    "[Global]
DisableSecurityGroupIngress                     = false
NodeIPFamilies                                  = ipv6
NodeIPFamilies                                  = ipv4
ClusterServiceLoadBalancerHealthProbeMode       = Shared
ClusterServiceSharedLoadBalancerHealthProbePort = 0
"
)]
#[case::overrides(
    "[Global]\nDisableSecurityGroupIngress = true\nZone = Foo\n\n[ServiceOverride \"1\"]\nService         = ec2\n\
     Region          = us-west-2\nURL             = https://ec2.foo.bar\nSigningRegion   = signing_region\nSigningName =\n\n\
     [ServiceOverride \"2\"]\nURL = https://s3.foo.bar\nRegion = us-west-1\nService = s3\n",
    "[Global]
Zone                                            = Foo
DisableSecurityGroupIngress                     = true
ClusterServiceLoadBalancerHealthProbeMode       = Shared
ClusterServiceSharedLoadBalancerHealthProbePort = 0

[ServiceOverride \"1\"]
Service       = ec2
Region        = us-west-2
URL           = https://ec2.foo.bar
SigningRegion = signing_region

[ServiceOverride \"2\"]
Service = s3
Region  = us-west-1
URL     = https://s3.foo.bar
"
)]
fn is_what_the_go_operator_writes(#[case] text: &str, #[case] upstream: &str) {
    assert_eq!(plain(text).as_deref(), Ok(upstream));
    assert_eq!(plain(upstream).as_deref(), Ok(upstream), "applied again");
}

#[rstest]
#[case::unset("[Global]\n", SecurityGroups::Managed, Some("Managed"))]
#[case::set("[Global]\nNLBSecurityGroupMode = Other\n", SecurityGroups::Managed, Some("Managed"))]
#[case::gate_off("[Global]\n", SecurityGroups::AsConfigured, None)]
#[case::gate_off_and_set(
    "[Global]\nNLBSecurityGroupMode = Managed\n",
    SecurityGroups::AsConfigured,
    Some("Managed")
)]
fn the_gate_sets_the_mode(#[case] text: &str, #[case] groups: SecurityGroups, #[case] expected: Option<&str>) {
    let text = transform(text, groups).expect("transform");
    let document = Document::parse(&text).expect("gcfg");
    assert_eq!(document.section("Global").text("NLBSecurityGroupMode"), Ok(expected));
}

// The Go operator drops unknown keys (W14).
#[test]
fn w14_unknown_keys_and_comments_stay() {
    let text = "# ours\n[Global]\nZone = a ; beside\nNewKeyOfTomorrow = 1\n\n[Tomorrow]\nkey = value\n";
    let done = plain(text).expect("transform");
    let expected = "# ours
[Global]
Zone                                            = a ; beside
DisableSecurityGroupIngress                     = false
ClusterServiceLoadBalancerHealthProbeMode       = Shared
ClusterServiceSharedLoadBalancerHealthProbePort = 0
NewKeyOfTomorrow                                = 1

[Tomorrow]
key = value
";
    assert_eq!(done, expected);
    assert_eq!(plain(expected).as_deref(), Ok(expected), "applied again");
}

// The Go operator sorts "10" before "2" (W14).
#[test]
fn w14_overrides_are_in_the_order_of_their_numbers() {
    let text = "# ten\n[ServiceOverride \"10\"]\nService = s3\n[ServiceOverride \"x\"]\nService = x\n\
                [ServiceOverride \"2\"]\nService = ec2\n# about all\n[Global]\nZone = a";
    let done = plain(text).expect("transform");
    let headers: Vec<&str> = done.lines().filter(|line| line.starts_with(['[', '#'])).collect();
    let expected = [
        "# about all",
        "[Global]",
        "[ServiceOverride \"2\"]",
        "# ten",
        "[ServiceOverride \"10\"]",
        "[ServiceOverride \"x\"]",
    ];
    assert_eq!(headers, expected);
    assert_eq!(plain(&done), Ok(done));
}

#[rstest]
#[case::not_ini("{}", "cloud.conf:1:1: ")]
#[case::header("[Global\nZone = a\n", "cloud.conf:1:")]
#[case::a_truth(
    "[Global]\nDisableSecurityGroupIngress = maybe\n",
    "cloud.conf:2:31: DisableSecurityGroupIngress is neither true nor false"
)]
#[case::a_port(
    "[Global]\nClusterServiceSharedLoadBalancerHealthProbePort = http\n",
    "cloud.conf:2:51: ClusterServiceSharedLoadBalancerHealthProbePort is not a whole number"
)]
#[case::no_port(
    "[Global]\nClusterServiceSharedLoadBalancerHealthProbePort = 2147483648\n",
    "cloud.conf: ClusterServiceSharedLoadBalancerHealthProbePort is no port: write one, not 2147483648"
)]
#[case::no_value("[ServiceOverride \"1\"]\nURL\n", "cloud.conf:2:1: URL has no value")]
fn problems_are_named(#[case] text: &str, #[case] problem: &str) {
    let error = plain(text).expect_err("refused").to_string();
    assert!(error.starts_with(problem), "{error}");
}

proptest! {
    #[test]
    fn is_idempotent_and_keeps_everything(text in file()) {
        let once = transform(&text, SecurityGroups::Managed).expect("transform");
        prop_assert_eq!(transform(&once, SecurityGroups::Managed), Ok(once.clone()));
        let after = settings(&once);
        for (key, values) in settings(&text) {
            let decided = key.ends_with("nlbsecuritygroupmode") || key == "Global//disablesecuritygroupingress";
            prop_assert!(decided || after.get(&key) == Some(&values), "{} in\n{}", key, once);
        }
    }
}

fn file() -> impl Strategy<Value = String> {
    let header = prop_oneof![
        Just("[Global]".to_owned()),
        Just("[Other]".to_owned()),
        "[0-9]{1,2}|[a-z]{1,3}".prop_map(|id| format!("[ServiceOverride \"{id}\"]")),
    ];
    let entry = prop_oneof![
        "(Zone|Region|NodeIPFamilies|NLBSecurityGroupMode|Unknown-key) ?= ?[a-z0-9]{1,8}( # [a-z]{1,5})?",
        "# [a-z ]{0,10}",
        Just(String::new()),
        Just("DisableSecurityGroupIngress = yes".to_owned()),
    ];
    let section = (header, prop::collection::vec(entry, 0..6));
    let text = |(header, entries): (String, Vec<String>)| format!("{header}\n{}\n", entries.join("\n"));
    prop::collection::vec(section.prop_map(text), 0..6).prop_map(|sections| sections.concat())
}
