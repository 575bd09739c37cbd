//! The other sections.

use super::*;
use rstest::rstest;
use std::time::Duration;

// upstream: openstack 2
#[test]
fn the_usual_file() {
    let text = r"
 [Global]
 auth-url = http://auth.url
 user-id = user
 password = mypass
 tenant-name = demo
 tenant-domain-name = Default
 region = RegionOne
 [LoadBalancer]
 create-monitor = yes
 monitor-delay = 1m
 monitor-timeout = 30s
 monitor-max-retries = 1
 monitor-max-retries-down = 3
 [Metadata]
 search-order = configDrive, metadataService
 ";
    let loaded = try_file(text).unwrap();
    let Config {
        global,
        load_balancer,
        search_order,
        ..
    } = &loaded.config;
    assert_eq!(global.auth_url, "http://auth.url");
    assert_eq!(
        login(global),
        "user id user with password mypass for project demo in domain Default"
    );
    assert_eq!(global.region, "RegionOne");
    assert_eq!(
        search_order, "configDrive, metadataService",
        "search-order text kept with its blank"
    );
    let monitors = LoadBalancer {
        create_monitor: true,
        monitor_delay: Duration::from_mins(1),
        monitor_timeout: Duration::from_secs(30),
        ..LoadBalancer::default()
    };
    assert_eq!(
        load_balancer, &monitors,
        "all values parsed, create-monitor true, 60 s/30 s"
    );
    assert_eq!(loaded.warnings, Vec::<String>::new());
}

// upstream: openstack 7
#[rstest]
#[case("configDrive", Ok("configDrive"))]
#[case("metadataService , configDrive", Ok("metadataService , configDrive"))]
#[case("empty config value", Ok("configDrive,metadataService"))]
#[case(
    "configDrive,metadataService,configDrive",
    Err("cloud.conf:7:1: search-order has more than two items: write configDrive, metadataService or both")
)]
#[case(
    "value",
    Err("cloud.conf:7:1: search-order has no item \"value\": write configDrive, metadataService or both")
)]
#[case(
    "configDrive,",
    Err("cloud.conf:7:1: search-order has no item \"\": write configDrive, metadataService or both")
)]
fn search_order(#[case] value: &str, #[case] order: Result<&str, &str>) {
    let value = if value == "empty config value" { "" } else { value };
    let read = try_file(&format!("[Global]\n{LOGIN}[Metadata]\nsearch-order = {value}"));
    let read = read.map(|loaded| loaded.config.search_order);
    assert_eq!(read.as_deref().map_err(String::as_str), order);
}

#[rstest]
#[case("", 60, None)]
#[case("request-timeout=90s", 90, None)]
#[case("request-timeout=0", 60, None)]
#[case(
    "request-timeout=-1s",
    60,
    Some("cloud.conf:7:1: request-timeout is negative, 60s is used: write a positive one")
)]
fn request_timeout(#[case] line: &str, #[case] seconds: u64, #[case] warning: Option<&str>) {
    let loaded = try_file(&format!("[Global]\n{LOGIN}[Metadata]\n{line}")).unwrap();
    assert_eq!(loaded.config.request_timeout, Duration::from_secs(seconds));
    assert_eq!(loaded.warnings.first().map(String::as_str), warning);
}

#[rstest]
#[case(
    "monitor-delay=1500ms",
    Duration::from_secs(1),
    Some("cloud.conf:7:1: monitor-delay is cut to whole seconds, 1s: write it so")
)]
#[case(
    "monitor-delay=-1s",
    Duration::from_secs(5),
    Some("cloud.conf:7:1: monitor-delay is negative, 5s is used: write a positive one")
)]
#[case("monitor-delay=0", Duration::ZERO, None)]
fn monitors(#[case] line: &str, #[case] delay: Duration, #[case] warning: Option<&str>) {
    let loaded = try_file(&format!("[Global]\n{LOGIN}[LoadBalancer]\n{line}")).unwrap();
    assert_eq!(loaded.config.load_balancer.monitor_delay, delay);
    assert_eq!(loaded.warnings.first().map(String::as_str), warning);
}

#[rstest]
#[case("lb-version=v2", None)]
#[case("lb-version=", None)]
#[case("lb-version=v1\nenabled=false", None)]
#[case(
    "lb-version=v1",
    Some("cloud.conf:7:1: there is no lb-version \"v1\": write v2, or remove the line")
)]
#[case(
    "monitor-max-retries=-1",
    Some(
        "cloud.conf:7:21: monitor-max-retries is not a whole number without a sign: write one, such as 3, not \"-1\""
    )
)]
#[case(
    "max-shared-lb=1.5",
    Some("cloud.conf:7:15: max-shared-lb is not a whole number: write one, such as 2, not \"1.5\"")
)]
#[case(
    "enabled=maybe",
    Some("cloud.conf:7:9: enabled is neither true nor false: write one of them, not \"maybe\"")
)]
fn load_balancer(#[case] lines: &str, #[case] error: Option<&str>) {
    let read = try_file(&format!("[Global]\n{LOGIN}[LoadBalancer]\n{lines}"));
    assert_eq!(read.err().as_deref(), error);
}

#[rstest]
#[case("max-shared-lb=-1", 0)]
#[case("max-shared-lb=0x10", 16)]
#[case("max-shared-lb=99999999999", u32::MAX)]
fn numbers_that_do_not_fit(#[case] line: &str, #[case] value: u32) {
    let config = file(&format!("[Global]\n{LOGIN}[LoadBalancer]\n{line}"));
    assert_eq!(config.load_balancer.max_shared_lb, value);
}

#[test]
fn classes() {
    let text = format!(
        "[Global]\n{LOGIN}[LoadBalancerClass \"public\"]\nfloating-network-id=net\nfloating-subnet-tags=a,b\n\
         [LoadBalancerClass]\nsubnet-id=sub\n[LoadBalancerClass \"empty\"]\n[LoadBalancer]\nsubnet-id=default\n"
    );
    let config = file(&text);
    let names: Vec<_> = config.classes.keys().map(String::as_str).collect();
    assert_eq!(names, ["", "empty", "public"]);
    assert_eq!(config.classes["public"].floating_network_id, "net");
    assert_eq!(config.classes["public"].floating_subnet_tags, "a,b");
    assert_eq!(config.classes[""].subnet_id, "sub");
    assert_eq!(config.classes["empty"], Class::default());
    assert_eq!(config.load_balancer.networks.subnet_id, "default");
}

// upstream: openstack 27
#[rstest]
#[case("empty", "", &[], 0)]
#[case("invalid items skipped", "10.0.0.0/8, banana, 10.0.0.1,2001:4800::/32,", &["10.0.0.0/8", "2001:4800::/32"], 2)]
#[case("valid kept in order", "192.168.0.0/16,10.0.0.0/8", &["192.168.0.0/16", "10.0.0.0/8"], 0)]
#[case("spaces separate, too", "192.168.0.0/16 10.0.0.0/8\t, 2001:4800::/32", &["192.168.0.0/16", "10.0.0.0/8", "2001:4800::/32"], 0)]
#[case("host bits do not count", "10.1.2.3/8", &["10.0.0.0/8"], 0)]
fn address_sort_order(#[case] what: &str, #[case] value: &str, #[case] order: &[&str], #[case] warnings: usize) {
    let loaded = try_file(&format!("[Global]\n{LOGIN}[Networking]\naddress-sort-order={value}")).unwrap();
    let read: Vec<_> = loaded
        .config
        .networking
        .address_sort_order
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(read, order, "{what}");
    assert_eq!(loaded.warnings.len(), warnings, "{what}: {:?}", loaded.warnings);
}

#[test]
fn networking() {
    let text = "[Networking]\nipv6-support-disabled\npublic-network-name=old\npublic-network-name\n\
                public-network-name=a\npublic-network-name=b c\ninternal-network-name=\"d;e\"\n";
    let networking = file(&format!("[Global]\n{LOGIN}{text}")).networking;
    assert_eq!(networking.ipv6, Ipv6::Disabled);
    assert_eq!(networking.public_network_names, ["a", "b c"]);
    assert_eq!(networking.internal_network_names, ["d;e"]);
}

#[rstest]
#[case("router-id=r", Some("r"))]
#[case("router-id=", None)]
#[case("", None)]
fn routes(#[case] line: &str, #[case] router: Option<&str>) {
    let config = file(&format!("[Global]\n{LOGIN}[Route]\n{line}"));
    assert_eq!(config.router_id.as_deref(), router);
}

#[rstest]
#[case(None, ProviderIds::Plain)]
#[case(Some("true"), ProviderIds::Regional)]
#[case(Some("True"), ProviderIds::Plain)]
#[case(Some("1"), ProviderIds::Plain)]
fn provider_ids(#[case] variable: Option<&str>, #[case] ids: ProviderIds) {
    let environment = Environment {
        provider_ids: ProviderIds::of(variable),
        ..environment()
    };
    let loaded = read(&format!("[Global]\n{LOGIN}"), &Shelf::default(), &environment, None).unwrap();
    assert_eq!(loaded.config.global.provider_ids, ids);
}

#[rstest]
#[case("", Ok(Interface::Public))]
#[case("os-endpoint-type=internal", Ok(Interface::Internal))]
#[case("os-endpoint-type=admin", Ok(Interface::Admin))]
#[case("os-endpoint-type=publicURL", Ok(Interface::Public))]
#[case(
    "os-endpoint-type=intern",
    Err("cloud.conf:6:1: there are no \"intern\" endpoints: write public, internal or admin")
)]
#[case(
    "os-endpoint-type=",
    Err("cloud.conf:6:18: os-endpoint-type is empty: write a value or remove the line")
)]
fn endpoints(#[case] line: &str, #[case] interface: Result<Interface, &str>) {
    let read = try_file(&format!("[Global]\n{LOGIN}{line}"));
    let read = read.map(|loaded| loaded.config.global.interface);
    assert_eq!(read.as_ref().copied().map_err(String::as_str), interface);
}
