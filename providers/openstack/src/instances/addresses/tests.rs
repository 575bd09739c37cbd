use super::*;
use crate::api::neutron::ports::FixedIp;
use rstest::rstest;

const V6: &str = "2001:4800:790e:510:be76:4eff:fe04:";

fn fixed(ip: &str) -> ServerAddress {
    of_kind(ip, Some("fixed"))
}

fn of_kind(ip: &str, kind: Option<&str>) -> ServerAddress {
    ServerAddress {
        addr: ip.to_owned(),
        kind: kind.map(str::to_owned),
    }
}

/// The public network of the server has this name.
fn server(public: &str) -> Server {
    let private = vec![
        fixed("10.0.0.32"),
        of_kind("50.56.176.36", Some("floating")),
        of_kind("10.0.0.31", None),
    ];
    let outside = vec![of_kind("50.56.176.35", None), of_kind(&format!("{V6}84a8"), None)];
    Server {
        access_ipv4: "50.56.176.99".to_owned(),
        access_ipv6: format!("{V6}82a8"),
        addresses: [("private".to_owned(), private), (public.to_owned(), outside)].into(),
        ..Server::default()
    }
}

fn with_hostname(mut server: Server) -> Server {
    server.metadata.insert(
        "hostname".to_owned(),
        "a1-yinvcez57-0-bvynoyawrhcg-kube-minion-fg5i4jwcc2yy".to_owned(),
    );
    server
}

fn also_private(mut server: Server) -> Server {
    server
        .addresses
        .insert("also-private".to_owned(), vec![fixed("10.0.0.64")]);
    server
}

/// 50.56.176.36 is not a floating IP of the private network but an address of the public one.
fn moved(mut server: Server) -> Server {
    for addresses in server.addresses.values_mut() {
        addresses.retain(|address| address.addr != "50.56.176.36");
    }
    server.addresses.get_mut("pub-net").unwrap()[0].addr = "50.56.176.36".to_owned();
    server
}

fn port(status: &str, ips: &[&str]) -> Port {
    let ip = |ip: &&str| FixedIp {
        subnet_id: String::new(),
        ip_address: (*ip).to_owned(),
    };
    Port {
        status: status.to_owned(),
        fixed_ips: ips.iter().map(ip).collect(),
        ..Port::default()
    }
}

fn networking(public: &[&str], internal: &[&str]) -> Networking {
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    Networking {
        public_network_names: owned(public),
        internal_network_names: owned(internal),
        ..Networking::default()
    }
}

fn shown(addresses: &[Address]) -> String {
    let one = |address: &Address| {
        let kind = match address.kind {
            AddressKind::InternalIP => "in",
            AddressKind::ExternalIP => "ex",
            AddressKind::Hostname => return "host".to_owned(),
            AddressKind::InternalDNS | AddressKind::ExternalDNS => "dns",
        };
        format!("{kind} {}", address.address.replace(V6, "v6:"))
    };
    addresses.iter().map(one).collect::<Vec<_>>().join(", ")
}

#[rstest]
// upstream: openstack 20
#[case(
    "public-network-name=public, metadata hostname set",
    with_hostname(server("public")), &["10.0.0.32", "10.0.0.31"], networking(&["public"], &[]),
    "in 10.0.0.32, in 10.0.0.31, ex 50.56.176.99, ex v6:82a8, host, ex 50.56.176.36, ex 50.56.176.35, ex v6:84a8"
)]
// upstream: openstack 21
#[case(
    "public net named pub-net and configured",
    server("pub-net"), &["10.0.0.32", "10.0.0.31"], networking(&["pub-net"], &[]),
    "in 10.0.0.32, in 10.0.0.31, ex 50.56.176.99, ex v6:82a8, ex 50.56.176.36, ex 50.56.176.35, ex v6:84a8"
)]
// upstream: openstack 22
#[case(
    "port also carries 50.56.176.36 which lies on pub-net",
    moved(server("pub-net")), &["10.0.0.32", "10.0.0.31", "50.56.176.36"], networking(&["pub-net"], &[]),
    "in 10.0.0.32, in 10.0.0.31, ex 50.56.176.99, ex v6:82a8, ex 50.56.176.36, ex v6:84a8"
)]
// upstream: openstack 23
#[case(
    "internal-network-name = private + also-private, no public",
    also_private(server("pub-net")), &["10.0.0.32", "10.0.0.31"], networking(&[], &["private", "also-private"]),
    "in 10.0.0.32, in 10.0.0.31, ex 50.56.176.99, ex v6:82a8, in 10.0.0.64, ex 50.56.176.36"
)]
// upstream: openstack 24
#[case(
    "internal-network-name = also-private only",
    also_private(server("pub-net")), &["10.0.0.32", "10.0.0.31"], networking(&[], &["also-private"]),
    "ex 50.56.176.99, ex v6:82a8, in 10.0.0.64, ex 50.56.176.36"
)]
fn networks(
    #[case] what: &str,
    #[case] server: Server,
    #[case] ips: &[&str],
    #[case] networking: Networking,
    #[case] expected: &str,
) {
    let port = port("ACTIVE", ips);
    assert_eq!(shown(&of(&server, &[&port], &[], &networking)), expected, "{what}");
}

// upstream: openstack 25
#[rstest]
#[case("ipv6-support-disabled")]
fn no_ipv6(#[case] what: &str) {
    let port = port("ACTIVE", &["10.0.0.32", "fd00::1", "10.0.0.31"]);
    let networking = Networking {
        ipv6: Ipv6::Disabled,
        ..networking(&["pub-net"], &[])
    };
    assert_eq!(
        shown(&of(&server("pub-net"), &[&port], &[], &networking)),
        "in 10.0.0.32, in 10.0.0.31, ex 50.56.176.99, ex 50.56.176.36, ex 50.56.176.35",
        "{what}"
    );
}

// upstream: openstack 26
#[rstest]
#[case("10.0.0.0/8, 50.56.176.0/24, 2001:4800::/32")]
fn sorted(#[case] order: &str) {
    let port = port("ACTIVE", &["10.0.0.32", "10.0.0.31"]);
    let networking = Networking {
        address_sort_order: order.split(", ").map(|range| range.parse().unwrap()).collect(),
        ..networking(&["pub-net"], &[])
    };
    let mut server = with_hostname(server("pub-net"));
    server.addresses.get_mut("pub-net").unwrap()[1].addr = "2001:4800:780e:510:be76:4eff:fe04:84a8".to_owned();
    assert_eq!(
        shown(&of(&server, &[&port], &[], &networking)),
        "in 10.0.0.31, in 10.0.0.32, ex 50.56.176.35, ex 50.56.176.36, ex 50.56.176.99, \
         ex 2001:4800:780e:510:be76:4eff:fe04:84a8, ex v6:82a8, host"
    );
}

// upstream: openstack 30
#[rstest]
#[case(
    "trunk sub-port on another network",
    "storage",
    "in 10.0.0.1, ex 203.0.113.9, in 10.9.0.1"
)]
#[case(
    "trunk sub-port on a public network",
    "outside",
    "in 10.0.0.1, ex 10.9.0.1, ex 203.0.113.9"
)]
#[case(
    "trunk sub-port on a network that does not count",
    "other",
    "in 10.0.0.1, ex 203.0.113.9"
)]
#[case(
    "trunk sub-port on the server's own network",
    "private",
    "in 10.0.0.1, ex 203.0.113.9, in 10.9.0.1"
)]
fn sub_ports(#[case] what: &str, #[case] network: &str, #[case] expected: &str) {
    let addresses = vec![fixed("10.0.0.1"), of_kind("203.0.113.9", Some("floating"))];
    let server = Server {
        addresses: [("private".to_owned(), addresses)].into(),
        ..Server::default()
    };
    let sub_port = SubPort {
        network: network.to_owned(),
        ips: vec!["10.9.0.1".to_owned()],
    };
    let port = port("ACTIVE", &["10.0.0.1"]);
    let networking = networking(&["outside"], &["private", "storage"]);
    assert_eq!(
        shown(&of(&server, &[&port], &[sub_port], &networking)),
        expected,
        "{what}"
    );
}

// upstream: openstack 30
#[rstest]
#[case("DOWN port")]
fn down(#[case] what: &str) {
    let server = Server {
        addresses: [("private".to_owned(), vec![fixed("10.0.0.1"), fixed("10.0.0.2")])].into(),
        ..Server::default()
    };
    let ports = [port("DOWN", &["10.0.0.1"]), port("ACTIVE", &["10.0.0.2"])];
    let addresses = of(&server, &[&ports[0], &ports[1]], &[], &Networking::default());
    assert_eq!(shown(&addresses), "in 10.0.0.2, in 10.0.0.1", "{what}");
}

#[test]
fn nothing_at_all() {
    assert_eq!(of(&Server::default(), &[], &[], &Networking::default()), Vec::new());
}
