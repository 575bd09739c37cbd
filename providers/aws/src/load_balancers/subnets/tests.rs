use super::*;
use crate::{
    api::{
        List,
        ec2::{
            routes::{Association, Route},
            zones::Zone,
        },
    },
    load_balancers::fixture::{annotated, cluster},
};
use rstest::rstest;

const OURS: &str = "kubernetes.io/cluster/lab=owned";
const OTHERS: &str = "kubernetes.io/cluster/other=owned";
const ROLE: &str = "kubernetes.io/role/elb=";

fn tags(text: &str) -> List<Tag> {
    let pairs = text.split_whitespace().filter_map(|pair| pair.split_once('='));
    pairs.map(|(key, value)| Tag::new(key, value)).collect()
}

/// Each subnet is `id zone public|private tags…`; those of zone `lax` are in a local zone.
fn vpc(subnets: &[String]) -> Vpc {
    let mut vpc = Vpc::default();
    let (mut public, mut private) = (Vec::new(), Vec::new());
    for text in subnets {
        let mut words = text.splitn(4, ' ');
        let [id, zone, kind, rest] = std::array::from_fn(|_| words.next().unwrap_or_default());
        let association = Association {
            subnet_id: id.into(),
            main: false,
        };
        if kind == "public" {
            public.push(association);
        } else {
            private.push(association);
        }
        vpc.subnets.push(Subnet {
            subnet_id: id.into(),
            availability_zone: zone.into(),
            cidr_block: "10.0.0.0/24".into(),
            tag_set: tags(rest),
        });
    }
    let zone = |name: &str, kind: &str| {
        (
            name.into(),
            Zone {
                zone_name: name.into(),
                zone_id: name.into(),
                zone_type: kind.into(),
            },
        )
    };
    vpc.zones = Arc::new(
        [
            zone("a", "availability-zone"),
            zone("lax", "local-zone"),
            zone("wl", "wavelength-zone"),
        ]
        .into(),
    );
    let table = |gateway: &str, association: Vec<Association>| RouteTable {
        route_set: List(vec![Route {
            gateway_id: gateway.into(),
            ..Route::default()
        }]),
        association_set: List(association),
        ..RouteTable::default()
    };
    vpc.tables = vec![table("igw-1", public), table("local", private)];
    vpc
}

// upstream: findELBSubnets
#[rstest]
#[case::no_subnets(&[], "could not find any suitable subnets")]
#[case::single_tagged(&[format!("s1 a public {OURS}")], "s1")]
#[case::no_public(&[format!("s1 a private {OURS}")], "could not find any suitable subnets")]
#[case::role_beats_cluster_tag(&[format!("s1 a public {OURS}"), format!("s2 a public {OURS} {ROLE}")], "s2")]
#[case::role_alone_beats_cluster_tag(&[format!("s1 a public {OURS}"), format!("s2 a public {ROLE}")], "s2")]
#[case::cluster_tag_beats_none(&["s1 a public".into(), format!("s2 a public {OURS}")], "s2")]
#[case::untagged_included(&["s1 a public".into(), format!("s2 b public {OURS}")], "s1 s2")]
#[case::other_cluster_ignored(&[format!("s1 a public {OTHERS}"), format!("s2 a public {OURS}")], "s2")]
#[case::lexicographic_tie(&[format!("s2 a public {OURS}"), format!("s1 a public {OURS}")], "s1")]
#[case::local_and_wavelength_dropped(&[format!("s1 a public {OURS}"), format!("s2 lax public {OURS}"), format!("s3 wl public {OURS}")], "s1")]
#[case::zones_sorted(&[format!("s1 c public {OURS}"), format!("s2 b public {OURS}")], "s2 s1")]
#[case::fallback(&[format!("subnet-own a public {OTHERS}")], "subnet-own")]
fn suitable(#[case] subnets: &[String], #[case] expected: &str) {
    let chosen = match vpc(subnets).suitable(&cluster(), Scheme::Public) {
        Ok(ids) => ids.join(" "),
        Err(error) => error.to_string(),
    };
    assert!(
        chosen == expected || chosen.contains("could not") && chosen.contains(expected),
        "{chosen}"
    );
}

#[test]
fn internal_ones_may_be_private() {
    let role = "kubernetes.io/role/internal-elb=1";
    let vpc = vpc(&[format!("s1 a public {OURS}"), format!("s2 a private {OURS} {role}")]);
    assert_eq!(vpc.suitable(&cluster(), Scheme::Internal).unwrap(), ["s2"]);
}

#[test]
fn a_subnet_without_a_route_table_is_reported() {
    let mut vpc = vpc(&[format!("s1 a public {OURS}")]);
    vpc.tables.clear();
    let error = vpc.suitable(&cluster(), Scheme::Public).unwrap_err().to_string();
    assert!(error.contains("it has no route table"), "{error}");
}

#[rstest]
#[case::ids("subnet-2, subnet-1", "subnet-2 subnet-1")]
#[case::ids_first("web,subnet-1", "subnet-1 subnet-2")]
#[case::unknown_id("subnet-9", "the VPC has no subnet subnet-9")]
#[case::unknown_name("db", "the VPC has no subnet with the tag Name=db")]
#[case::several("twice", "the VPC has several subnets with the tag Name=twice")]
#[case::empty(" ,", "it names no subnet")]
fn named(#[case] text: &str, #[case] expected: &str) {
    let subnets = [
        "subnet-1 a public Name=app",
        "subnet-2 b public Name=web",
        "subnet-3 a public Name=twice",
        "subnet-4 b public Name=twice",
    ];
    let spec = annotated(&[80], key::SUBNETS, text);
    let chosen = match vpc(&subnets.map(str::to_owned)).named(&spec) {
        Ok(ids) => ids.join(" "),
        Err(error) => error.to_string(),
    };
    assert!(chosen == expected || chosen.ends_with(expected), "{chosen}");
}
