use super::*;
use crate::api::{List, ec2::instances::Group};
use rstest::rstest;

fn nets(text: &str) -> Vec<IpNet> {
    text.split_whitespace().map(|net| net.parse().unwrap()).collect()
}

/// A rule for each line, with the last word of its description.
fn shown(rules: &Rules) -> String {
    let line = |(rule, description): (&Rule, &String)| {
        let short = description
            .strip_prefix("kubernetes.io/rule/nlb/")
            .unwrap_or(description);
        format!("{rule} {short}").trim_end().to_owned()
    };
    rules.iter().map(line).collect::<Vec<_>>().join("; ")
}

#[rstest]
#[case::everywhere("TCP", &[30080], &[30080], "0.0.0.0/0", "tcp 30080 from 0.0.0.0/0 client=a")]
#[case::other_check_port("TCP", &[30080], &[32000], "0.0.0.0/0", "tcp 30080 from 0.0.0.0/0 client=a; tcp 32000 from 10.0.1.0/24 health=a")]
#[case::udp("UDP", &[30053], &[30053], "0.0.0.0/0", "tcp 30053 from 10.0.1.0/24 health=a; udp 30053 from 0.0.0.0/0 client=a")]
#[case::ranges("TCP", &[30080], &[30080], "192.0.2.0/24", "tcp 30080 from 10.0.1.0/24 health=a; tcp 30080 from 192.0.2.0/24 client=a")]
#[case::v6("TCP", &[30080], &[30080], "2001:db8::/32", "tcp 30080 from 10.0.1.0/24 health=a; tcp 30080 from 2001:db8::/32 client=a")]
#[case::the_subnet_itself("TCP", &[30080], &[30080], "10.0.1.0/24", "tcp 30080 from 10.0.1.0/24 client=a")]
fn of_a_network_load_balancer(
    #[case] protocol: &str,
    #[case] ports: &[u16],
    #[case] checked: &[u16],
    #[case] clients: &str,
    #[case] expected: &str,
) {
    let rules = network("a", protocol, ports, checked, &nets(clients), &nets("10.0.1.0/24"));
    assert_eq!(shown(&rules), expected);
}

fn client(name: &str, port: u16, cidr: &str) -> (Rule, String) {
    (
        Rule::port("tcp", port, cidr.parse().unwrap()),
        format!("{CLIENT}{name}"),
    )
}

fn health(name: &str, port: u16) -> (Rule, String) {
    (
        Rule::port("tcp", port, "10.0.1.0/24".parse().unwrap()),
        format!("{HEALTH}{name}"),
    )
}

fn foreign() -> (Rule, String) {
    (Rule::port("tcp", 22, "192.0.2.9/32".parse().unwrap()), "ssh".into())
}

const MTU_RULE: &str = "icmp 3-4 from 0.0.0.0/0 mtu";

#[rstest]
#[case::first(vec![foreign()], vec![client("a", 30080, "0.0.0.0/0")], vec![], &format!("{MTU_RULE}; tcp 22 from 192.0.2.9/32 ssh; tcp 30080 from 0.0.0.0/0 client=a"))]
#[case::unchanged(vec![client("a", 30080, "0.0.0.0/0")], vec![client("a", 30080, "0.0.0.0/0")], vec![], "tcp 30080 from 0.0.0.0/0 client=a")]
#[case::health_rule_that_is_not_needed_any_more(
    vec![client("a", 30080, "0.0.0.0/0"), health("a", 32000)], vec![client("a", 30080, "0.0.0.0/0")], vec![],
    &format!("{MTU_RULE}; tcp 30080 from 0.0.0.0/0 client=a"))]
#[case::last(
    vec![client("a", 30080, "0.0.0.0/0"), foreign(), (Rule::mtu("0.0.0.0/0".parse().unwrap()), MTU.into())], vec![], vec![],
    "tcp 22 from 192.0.2.9/32 ssh")]
#[case::another_keeps_the_mtu_rule(
    vec![client("a", 30080, "0.0.0.0/0"), client("b", 30081, "0.0.0.0/0"), (Rule::mtu("0.0.0.0/0".parse().unwrap()), MTU.into())], vec![], vec![],
    &format!("{MTU_RULE}; tcp 30081 from 0.0.0.0/0 client=b"))]
#[case::a_rule_of_two_stays_with_the_other(vec![health("a", 10256)], vec![], vec![health("b", 10256)], "tcp 10256 from 10.0.1.0/24 health=b")]
#[case::a_rule_of_another_is_enough(vec![health("b", 10256)], vec![health("a", 10256)], vec![], "tcp 10256 from 10.0.1.0/24 health=b")]
fn edits(
    #[case] before: Vec<(Rule, String)>,
    #[case] wanted: Vec<(Rule, String)>,
    #[case] others: Vec<(Rule, String)>,
    #[case] expected: &str,
) {
    let set = |rules: Vec<(Rule, String)>| rules.into_iter().collect::<Rules>();
    let after = edited(&set(before), &NodeMark::Network("a".into()), &set(wanted), &set(others));
    assert_eq!(shown(&after), expected);
}

#[test]
fn the_group_of_a_classic_load_balancer_marks_its_rule() {
    let rules = Rules::from([
        (Rule::members("sg-lb"), String::new()),
        (Rule::members("sg-x"), String::new()),
    ]);
    let after = edited(&rules, &NodeMark::Group("sg-lb".into()), &Rules::new(), &Rules::new());
    assert_eq!(shown(&after), "all from sg-x");
}

// upstream: findSecurityGroupForInstance
#[rstest]
#[case::only_one("sg-1", "", Ok(Some("sg-1")))]
#[case::tagged("sg-1 sg-2", "sg-2", Ok(Some("sg-2")))]
#[case::two_tagged("sg-1 sg-2", "sg-1 sg-2", Err("several security groups with the tag"))]
#[case::several_untagged("sg-1 sg-2", "", Err("several security groups without the tag"))]
#[case::none("", "", Ok(None))]
fn chooses_the_group(#[case] groups: &str, #[case] tagged: &str, #[case] expected: Result<Option<&str>, &str>) {
    let group = |id: &str| Group {
        group_id: id.into(),
        ..Group::default()
    };
    let instance = Instance {
        group_set: List(groups.split_whitespace().map(group).collect()),
        ..Instance::default()
    };
    match (group_of(&instance, &tagged.split_whitespace().collect()), expected) {
        (Ok(found), expected) => assert_eq!(Ok(found), expected),
        (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
        (Err(error), Ok(_)) => panic!("{error}"),
    }
}
