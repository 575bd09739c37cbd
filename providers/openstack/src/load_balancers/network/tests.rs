mod scenarios;

use super::*;
use rstest::rstest;

/// `floating-network-id=a subnet-id=b`: annotations without their prefix.
fn spec(annotations: &str) -> Spec {
    let pairs = annotations.split_whitespace().map(|item| {
        let (name, value) = item.split_once('=').expect("name=value");
        (format!("loadbalancer.openstack.org/{name}"), value.to_owned())
    });
    Spec {
        annotations: pairs.collect(),
        ..Spec::default()
    }
}

fn networks(keys: &str) -> Class {
    Settings::of(&spec(keys), &Config::default())
        .expect("settings")
        .networks
}

fn config(class: &str, defaults: &str, internal: Exposure) -> Config {
    let mut config = Config {
        classes: [("gold".to_owned(), networks(class))].into(),
        ..Config::default()
    };
    config.load_balancer.networks = networks(defaults);
    config.load_balancer.internal_lb = internal == Exposure::Internal;
    config
}

fn chosen(annotations: &str, class: &str, defaults: &str, exposure: Exposure) -> Result<Choice> {
    let (spec, config) = (spec(annotations), config(class, defaults, exposure));
    choose(&spec, &Settings::of(&spec, &config)?, &config)
}

fn vip(choice: &Choice) -> String {
    match &choice.vip {
        Vip::Port(port) => format!("port {port}"),
        Vip::OfNodes => "of nodes".to_owned(),
        Vip::Given { network, subnet } => {
            let text = |id: &Option<String>| id.clone().unwrap_or_else(|| "-".to_owned());
            format!("network {} subnet {}", text(network), text(subnet))
        }
    }
}

fn member_subnet(choice: &Choice) -> &str {
    match &choice.members {
        MemberSubnet::Given(id) => id,
        MemberSubnet::OfVip => "of the address",
        MemberSubnet::OfNodes => "of nodes",
    }
}

// upstream: openstack 43
#[rstest]
#[case(
    "get member subnet id from service annotation",
    "member-subnet-id=a class=gold",
    "member-subnet-id=c",
    "member-subnet-id=d",
    "a"
)]
#[case(
    "get member subnet id from config class",
    "class=gold",
    "member-subnet-id=c",
    "member-subnet-id=d",
    "c"
)]
#[case(
    "get member subnet id from default config",
    "",
    "member-subnet-id=c",
    "member-subnet-id=d",
    "d"
)]
#[case(
    "subnet-id of the configuration before the annotation's",
    "subnet-id=a",
    "",
    "subnet-id=d",
    "d"
)]
#[case("subnet-id of the annotation", "subnet-id=a class=gold", "subnet-id=c", "", "a")]
#[case("subnet-id of the class", "class=gold", "subnet-id=c", "", "c")]
#[case("network-id only", "network-id=a", "", "", "of the address")]
#[case("port-id only", "port-id=a", "", "", "of nodes")]
#[case("nothing", "", "", "", "of nodes")]
#[case("empty annotation", "member-subnet-id=", "", "member-subnet-id=d", "d")]
fn members_are(
    #[case] name: &str,
    #[case] asked: &str,
    #[case] class: &str,
    #[case] config: &str,
    #[case] expected: &str,
) {
    let choice = chosen(asked, class, config, Exposure::Internal).unwrap();
    assert_eq!(member_subnet(&choice), expected, "{name}");
}

// upstream: openstack 43
#[rstest]
#[case(
    "test get subnet from service annotation",
    "subnet-id=a class=gold",
    "subnet-id=c",
    "subnet-id=d",
    "network - subnet a"
)]
#[case(
    "test get subnet from config class",
    "class=gold",
    "subnet-id=c",
    "subnet-id=d",
    "network - subnet c"
)]
#[case(
    "test get subnet from default config",
    "",
    "subnet-id=c",
    "subnet-id=d",
    "network - subnet d"
)]
#[case(
    "get network id from service annotation",
    "network-id=a class=gold",
    "network-id=c",
    "network-id=d",
    "network a subnet -"
)]
#[case(
    "get network id from config class",
    "class=gold",
    "network-id=c",
    "network-id=d",
    "network c subnet -"
)]
#[case(
    "get network id from default config",
    "",
    "network-id=c",
    "network-id=d",
    "network d subnet -"
)]
#[case("both are sent", "network-id=a", "", "subnet-id=d", "network a subnet d")]
#[case("port-id alone", "port-id=p network-id=a subnet-id=b", "", "", "port p")]
#[case("port-id empty", "port-id=", "", "", "of nodes")]
#[case("nothing", "", "", "", "of nodes")]
fn addresses_are(
    #[case] name: &str,
    #[case] asked: &str,
    #[case] class: &str,
    #[case] config: &str,
    #[case] expected: &str,
) {
    for exposure in [Exposure::Internal, Exposure::External] {
        assert_eq!(
            vip(&chosen(asked, class, config, exposure).unwrap()),
            expected,
            "{name}"
        );
    }
}

// upstream: openstack 43
#[rstest]
#[case("error when loadbalancer class not found", "silver")]
#[case("test get subnet from config class with invalid loadbalancer class", "decoy")]
fn an_unknown_class_is_named(#[case] name: &str, #[case] class: &str) {
    for exposure in [Exposure::Internal, Exposure::External] {
        let error = chosen(&format!("class={class}"), "", "subnet-id=d", exposure).unwrap_err();
        let expected = format!(
            "invalid annotation loadbalancer.openstack.org/class: there is no [LoadBalancerClass \"{class}\"]; there are gold"
        );
        assert_eq!(error.to_string(), expected, "{name}");
    }
}

fn floats(choice: &Choice) -> String {
    let Some(Floating { network, subnet }) = &choice.floating else {
        return "no".to_owned();
    };
    let network = network.as_deref().unwrap_or("detected");
    match subnet {
        FloatingSubnet::Any => network.to_owned(),
        FloatingSubnet::Id(id) => format!("{network} in {id}"),
        FloatingSubnet::Matching { name, tags } => format!("{network} in name {name:?} tags {tags:?}"),
    }
}

#[rstest]
#[case::nothing("", "", "", "detected")]
#[case::configuration("", "", "floating-network-id=d", "d")]
#[case::class("class=gold", "floating-network-id=c", "floating-network-id=d", "c")]
#[case::annotation(
    "floating-network-id=a class=gold",
    "floating-network-id=c",
    "floating-network-id=d",
    "a"
)]
#[case::turned_off("floating-network-id=", "", "floating-network-id=d", "detected")]
#[case::turned_off_but_classed(
    "floating-network-id= class=gold",
    "floating-network-id=c",
    "floating-network-id=d",
    "c"
)]
#[case::id_before_pattern("floating-subnet-id=s floating-subnet=p*", "", "", "detected in s")]
#[case::pattern_and_tags(
    "floating-subnet=p* floating-subnet-tags=!t",
    "",
    "",
    r#"detected in name "p*" tags "!t""#
)]
#[case::annotation_as_a_whole(
    "floating-subnet-tags=t",
    "",
    "floating-subnet=p*",
    r#"detected in name "" tags "t""#
)]
#[case::subnet_of_the_configuration("floating-network-id=a", "", "floating-subnet=p*", r#"a in name "p*" tags """#)]
#[case::subnet_of_another_network("floating-network-id=a", "", "floating-network-id=d floating-subnet-id=s", "a")]
#[case::names_are_of_any_network(
    "floating-network-id=a",
    "",
    "floating-network-id=d floating-subnet=p*",
    r#"a in name "p*" tags """#
)]
#[case::subnet_of_the_class_s_network(
    "floating-network-id=a class=gold",
    "floating-network-id=c floating-subnet-id=s",
    "",
    "a"
)]
#[case::same_network("floating-network-id=d", "", "floating-network-id=d floating-subnet-id=s", "d in s")]
fn floating_ips_come_from(#[case] asked: &str, #[case] class: &str, #[case] config: &str, #[case] expected: &str) {
    assert_eq!(
        floats(&chosen(asked, class, config, Exposure::External).unwrap()),
        expected
    );
    assert_eq!(floats(&chosen(asked, class, config, Exposure::Internal).unwrap()), "no");
}
