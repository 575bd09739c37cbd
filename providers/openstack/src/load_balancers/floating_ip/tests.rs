mod scenarios;

use super::*;
use rstest::rstest;

const OURS: &str = "Floating IP for Kubernetes external service ns/web from cluster kubernetes";

/// `1.1.1.1` is the Service's, `x1.1.1.1` another owner's, `o1.1.1.1` another Service's; `@port` is its target.
fn fip(text: &str) -> FloatingIp {
    let (address, port) = text
        .split_once('@')
        .map_or((text, None), |(address, port)| (address, Some(port)));
    let description = match address.chars().next() {
        Some('x') => "my own",
        Some('o') => "Floating IP for Kubernetes external service ns/other from cluster kubernetes",
        _ => OURS,
    };
    FloatingIp {
        id: format!("id of {address}"),
        floating_ip_address: address.trim_start_matches(['x', 'o']).to_owned(),
        port_id: port.map(ToOwned::to_owned),
        description: Some(description.to_owned()),
        ..FloatingIp::default()
    }
}

fn fips(text: &str) -> Vec<FloatingIp> {
    text.split_whitespace().map(fip).collect()
}

fn service() -> ServiceRef {
    ServiceRef {
        namespace: "ns".to_owned(),
        name: "web".to_owned(),
        uid: "u".to_owned(),
    }
}

fn value<'a>(asked: &'a str, name: &str) -> Option<&'a str> {
    asked.split_whitespace().find_map(|word| word.strip_prefix(name))
}

/// `internal`, `guest`, `keep`, `ip=1.1.1.1`, in any order.
fn desired<'a>(asked: &'a str, service: &'a ServiceRef, known: &'a [&'a str]) -> DesiredFloatingIp<'a> {
    let words: Vec<&str> = asked.split_whitespace().collect();
    DesiredFloatingIp {
        cluster: "kubernetes",
        service,
        exposure: if words.contains(&"internal") {
            Exposure::Internal
        } else {
            Exposure::External
        },
        ownership: if words.contains(&"guest") {
            Ownership::Guest
        } else {
            Ownership::Owner
        },
        ip: value(asked, "ip="),
        known,
        retention: if words.contains(&"keep") {
            Retention::Detach
        } else {
            Retention::Delete
        },
    }
}

/// As [`desired`], and `known=1.1.1.1`.
fn planned(asked: &str, attached: &str, others: &str) -> String {
    let service = service();
    let known: Vec<&str> = value(asked, "known=").into_iter().collect();
    let desired = desired(asked, &service, &known);
    let attached = fips(attached);
    let asks = addresses_to_find(&desired, &attached);
    // Only requested addresses are read.
    let others = fips(others)
        .into_iter()
        .filter(|fip| asks.iter().any(|ip| has(fip, ip)))
        .collect();
    let steps = plan(&desired, &ObservedFloatingIps { attached, others });
    steps.map_or_else(
        |error| error.report(),
        |steps| steps.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    )
}

// upstream: openstack 59
#[rstest]
#[case("external, none there", "", "", "", "create")]
#[case("external, there", "", "1.1.1.1@vip", "", "")]
#[case("external, another one's there", "", "x1.1.1.1@vip", "", "")]
#[case(
    "became internal, FIP ours: deleted",
    "internal",
    "1.1.1.1@vip",
    "",
    "delete 1.1.1.1"
)]
#[case(
    "became internal, FIP foreign: detached",
    "internal",
    "x1.1.1.1@vip",
    "",
    "detach 1.1.1.1"
)]
#[case(
    "became internal, FIP kept: detached",
    "internal keep",
    "1.1.1.1@vip",
    "",
    "detach 1.1.1.1"
)]
#[case("internal, none there", "internal", "", "", "")]
#[case("internal guest touches nothing", "internal guest", "1.1.1.1@vip", "", "")]
#[case("internal, loadBalancerIP is the VIP's", "internal ip=10.0.0.9", "", "", "")]
#[case("guest, there", "guest", "o1.1.1.1@vip", "", "")]
#[case(
    "guest, none there",
    "guest",
    "",
    "",
    "the address of the load balancer cannot be used: it has no floating IP, and only the Service or the user that owns it can add one"
)]
fn exposes(
    #[case] name: &str,
    #[case] asked: &str,
    #[case] attached: &str,
    #[case] others: &str,
    #[case] expected: &str,
) {
    assert_eq!(planned(asked, attached, others), expected, "{name}");
}

// upstream: openstack 60
#[rstest]
#[case("free FIP attached", "ip=1.1.1.1", "", "x1.1.1.1", "attach 1.1.1.1")]
#[case("free FIP of ours attached", "ip=1.1.1.1", "", "1.1.1.1", "attach 1.1.1.1")]
#[case(
    "used FIP",
    "ip=1.1.1.1",
    "",
    "x1.1.1.1@other",
    "floating IP 1.1.1.1 cannot be used: it is in use by port other"
)]
#[case("none there: created with that address", "ip=1.1.1.1", "", "", "create 1.1.1.1")]
#[case("as asked", "ip=1.1.1.1", "1.1.1.1@vip", "", "")]
#[case("as asked, written differently", "ip=001.1.1.1", "001.1.1.1@vip", "", "")]
#[case(
    "changed later: FIP swapped",
    "ip=2.2.2.2",
    "1.1.1.1@vip",
    "x2.2.2.2",
    "delete 1.1.1.1, attach 2.2.2.2"
)]
#[case(
    "changed later, old one foreign",
    "ip=2.2.2.2",
    "x1.1.1.1@vip",
    "x2.2.2.2",
    "detach 1.1.1.1, attach 2.2.2.2"
)]
#[case(
    "changed later, old one kept",
    "ip=2.2.2.2 keep",
    "1.1.1.1@vip",
    "x2.2.2.2",
    "detach 1.1.1.1, attach 2.2.2.2"
)]
#[case(
    "changed later, new one used: nothing is given up",
    "ip=2.2.2.2",
    "1.1.1.1@vip",
    "x2.2.2.2@other",
    "floating IP 2.2.2.2 cannot be used: it is in use by port other"
)]
#[case(
    "changed later, new one to be made first",
    "ip=2.2.2.2",
    "1.1.1.1@vip",
    "",
    "reserve 2.2.2.2, delete 1.1.1.1, attach the reserved one"
)]
#[case("removed later: stays", "", "1.1.1.1@vip", "", "")]
#[case("guest cannot swap", "guest ip=2.2.2.2", "1.1.1.1@vip", "2.2.2.2", "")]
fn requests_an_address(
    #[case] name: &str,
    #[case] asked: &str,
    #[case] attached: &str,
    #[case] others: &str,
    #[case] expected: &str,
) {
    assert_eq!(planned(asked, attached, others), expected, "{name}");
}

/// Whether this manager has reconciled the Service before, and ignored this address.
enum Past {
    Never,
    Before,
    Ignored(&'static str),
}

impl Past {
    fn record(&self) -> Option<Record> {
        let ignored_ip = match self {
            Self::Never => return None,
            Self::Before => None,
            Self::Ignored(ip) => Some((*ip).to_owned()),
        };
        let mut record = Record::new("lb", Ownership::Owner);
        record.ignored_ip = ignored_ip;
        Some(record)
    }
}

/// The Go program ignores a `loadBalancerIP` that is set later: so the address must not move when the image is swapped.
#[rstest]
#[case::set_later_and_ignored_by_occm("ip=2.2.2.2", Past::Never, "1.1.1.1@vip", Some("2.2.2.2"))]
#[case::continues_without("ip=2.2.2.2", Past::Ignored("2.2.2.2"), "1.1.1.1@vip", Some("2.2.2.2"))]
#[case::changed_again("ip=3.3.3.3", Past::Ignored("2.2.2.2"), "1.1.1.1@vip", None)]
#[case::changed_since_we_see_to_it("ip=2.2.2.2", Past::Before, "1.1.1.1@vip", None)]
#[case::as_asked("ip=1.1.1.1", Past::Never, "1.1.1.1@vip", None)]
#[case::came_off("ip=2.2.2.2", Past::Ignored("2.2.2.2"), "", None)]
#[case::a_new_service("ip=2.2.2.2", Past::Never, "", None)]
#[case::asks_for_none("", Past::Never, "1.1.1.1@vip", None)]
#[case::internal("internal ip=10.0.0.9", Past::Never, "1.1.1.1@vip", None)]
#[case::guest("guest ip=2.2.2.2", Past::Never, "1.1.1.1@vip", None)]
fn ignores_the_requested_address(
    #[case] asked: &str,
    #[case] past: Past,
    #[case] attached: &str,
    #[case] expected: Option<&str>,
) {
    let service = service();
    assert_eq!(
        ignored_ip(&desired(asked, &service, &[]), past.record().as_ref(), &fips(attached)),
        expected
    );
}

#[rstest]
#[case::came_off("known=1.1.1.1", "1.1.1.1", "attach 1.1.1.1")]
#[case::stolen("known=1.1.1.1", "1.1.1.1@other", "create")]
#[case::deleted("known=1.1.1.1", "", "create")]
#[case::never_ours("known=1.1.1.1", "x1.1.1.1", "create")]
#[case::of_another_service("known=1.1.1.1", "o1.1.1.1", "create")]
#[case::another_is_asked_for("known=1.1.1.1 ip=2.2.2.2", "1.1.1.1 2.2.2.2", "attach 2.2.2.2")]
#[case::new_service("", "1.1.1.1", "create")]
fn a_lost_floating_ip_is_found_by_its_address(#[case] asked: &str, #[case] others: &str, #[case] expected: &str) {
    assert_eq!(planned(asked, "", others), expected);
}

#[rstest]
#[case::cluster_renamed("Floating IP for Kubernetes external service ns/web from cluster old", true)]
#[case::other_service("Floating IP for Kubernetes external service ns/web2 from cluster kubernetes", false)]
#[case::quoted(
    "see Floating IP for Kubernetes external service ns/web from cluster kubernetes",
    false
)]
#[case::empty("", false)]
fn ours(#[case] description: &str, #[case] expected: bool) {
    let fip = FloatingIp {
        description: Some(description.to_owned()),
        ..FloatingIp::default()
    };
    assert_eq!(is_for(&fip, &service()), expected);
}

#[test]
fn descriptions_are_those_of_the_go_program() {
    let service = service();
    let desired = |cluster| {
        description(&DesiredFloatingIp {
            cluster,
            service: &service,
            exposure: Exposure::External,
            ownership: Ownership::Owner,
            ip: None,
            known: &[],
            retention: Retention::Delete,
        })
    };
    assert_eq!(desired("kubernetes"), OURS);
    assert_eq!(desired(&"k".repeat(300)).len(), LONGEST);
}
