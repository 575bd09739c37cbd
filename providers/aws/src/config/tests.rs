use super::*;
use rstest::rstest;

fn config(text: &str) -> Result<Config, String> {
    let text = text.replace("; ", "\n");
    Config::new(
        Some(("cloud.conf", text.as_bytes())),
        Variables::default(),
        &mut Vec::new(),
    )
}

#[test]
fn no_file_is_a_configuration() {
    let config = Config::new(None, Variables::default(), &mut Vec::new()).unwrap();
    assert_eq!(
        (config.region.as_deref(), &config.families[..]),
        (None, &[Family::V4][..])
    );
    assert_eq!(
        (config.shared_probe_port, &*config.shared_probe_path),
        (10256, "/healthz")
    );
    assert!(config.topology_types.is_match("p5.48xlarge") && !config.topology_types.is_match("m5.large"));
    assert!(!config.is_elsewhere());
}

#[rstest]
#[case::zone("Zone=us-west-2a", Some("us-west-2"))]
#[case::zone_wins("Zone=us-west-2-lax-1a; Region=eu-west-1", Some("us-west-2"))]
#[case::region("Region=eu-west-1", Some("eu-west-1"))]
#[case::neither("VPC=vpc-1", None)]
fn regions(#[case] keys: &str, #[case] expected: Option<&str>) {
    assert_eq!(
        config(&format!("[Global]; {keys}")).unwrap().region.as_deref(),
        expected
    );
}

#[test]
fn the_region_of_the_sdks_counts_last() {
    let variables = || [("AWS_REGION", "eu-west-1")].into_iter().collect();
    let region = |file: &str| {
        let file = Some(("cloud.conf", file.as_bytes()));
        Config::new(file, variables(), &mut Vec::new()).unwrap().region
    };
    assert_eq!(region("").as_deref(), Some("eu-west-1"));
    assert_eq!(region("[Global]\nZone=us-west-2a").as_deref(), Some("us-west-2"));
}

#[rstest]
#[case::not_a_zone("[Global]; Zone=europe", "invalid AZ")]
#[case::two_clusters("[Global]; KubernetesClusterTag=a; KubernetesClusterID=b", "they must be equal")]
#[case::not_a_mode("[Global]; NLBSecurityGroupMode=managed", "\"managed\" is not Managed")]
#[case::not_a_pattern("[Global]; SupportedTopologyInstanceTypePattern=(", "is not a regular expression")]
#[case::not_a_port(
    "[Global]; ClusterServiceSharedLoadBalancerHealthProbePort=70000",
    "70000 is not a port"
)]
#[case::not_a_boolean("[Global]; DisableSecurityGroupIngress=maybe", "DisableSecurityGroupIngress")]
#[case::override_without_a_service(
    "[ServiceOverride \"1\"]; URL=http://x",
    "[ServiceOverride \"1\"]: Service is required"
)]
#[case::override_without_a_region("[ServiceOverride \"1\"]; Service=EC2; Region= ; URL=http://x", "Region is required")]
#[case::override_without_a_url("[ServiceOverride \"1\"]; Service=EC2; Region=r", "URL is required")]
#[case::override_with_a_bad_url(
    "[ServiceOverride \"1\"]; Service=EC2; Region=r; URL=x; SigningRegion=r",
    "URL \"x\""
)]
#[case::override_without_a_signing_region(
    "[ServiceOverride \"1\"]; Service=EC2; Region=r; URL=http://x",
    "SigningRegion is required"
)]
#[case::two_overrides(
    "[ServiceOverride \"1\"]; Service=EC2; Region=r; URL=http://x; SigningRegion=r; [ServiceOverride \"2\"]; Service=EC2; Region=r; URL=http://y; SigningRegion=r",
    "[ServiceOverride \"2\"] is a second one for EC2 in r"
)]
fn refuses(#[case] file: &str, #[case] expected: &str) {
    let error = config(file).err().unwrap_or_default();
    assert!(error.contains(expected), "{error}");
}

#[rstest]
#[case::current("KubernetesClusterID=a", "a", ClusterTags::Current)]
#[case::legacy("KubernetesClusterTag=a", "a", ClusterTags::WithLegacy)]
#[case::both("KubernetesClusterTag=a; KubernetesClusterID=a", "a", ClusterTags::WithLegacy)]
fn clusters(#[case] keys: &str, #[case] id: &str, #[case] tags: ClusterTags) {
    let cluster = config(&format!("[Global]; {keys}")).unwrap().cluster.unwrap();
    assert_eq!((&*cluster.id, cluster.tags), (id, tags));
}

#[rstest]
#[case::vpc_only("VPC=v; KubernetesClusterID=a", false)]
#[case::with_a_subnet("VPC=v; SubnetID=s; KubernetesClusterID=a", true)]
#[case::with_a_role("VPC=v; RoleARN=r; KubernetesClusterTag=a", true)]
#[case::without_a_cluster("VPC=v; SubnetID=s", false)]
fn elsewhere(#[case] keys: &str, #[case] expected: bool) {
    assert_eq!(config(&format!("[Global]; {keys}")).unwrap().is_elsewhere(), expected);
}

#[test]
fn families_keep_their_order_and_other_words_are_ignored() {
    let config = config("[Global]; NodeIPFamilies=ipv6; NodeIPFamilies=ipv5; NodeIPFamilies=ipv4").unwrap();
    assert_eq!(config.families, [Family::V6, Family::V4]);
}

#[test]
fn unknown_keys_and_sections_are_warned_about() {
    let mut warnings = Vec::new();
    let text = b"[Global]\nZones=x\n[Other]\na=b\n";
    let config = Config::new(Some(("cloud.conf", text)), Variables::default(), &mut warnings);
    assert!(config.is_ok());
    assert!(warnings.iter().any(|warning| warning.contains("Zones")), "{warnings:?}");
}

#[test]
fn an_override_is_read_trimmed() {
    let text =
        "[ServiceOverride \"1\"]; Service=\" EC2 \"; Region=r; URL=http://127.0.0.1:1; SigningRegion=s; SigningName=n";
    let overrides = config(text).unwrap().overrides;
    let [one] = &overrides[..] else {
        unreachable!("{overrides:?}")
    };
    assert_eq!((&*one.service, &*one.region, &*one.signing_region), ("EC2", "r", "s"));
    assert_eq!(
        (one.url.as_str(), one.signing_name.as_deref()),
        ("http://127.0.0.1:1/", Some("n"))
    );
}
