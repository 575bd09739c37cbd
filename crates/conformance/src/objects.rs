//! Objects for the cases.

use cloud::{Address, AddressKind, Host, IpFamily, Port, Protocol, ProviderId, ServiceRef};
use ipnet::IpNet;
use std::{
    collections::BTreeSet,
    net::{Ipv4Addr, Ipv6Addr},
    sync::Arc,
};

/// A port of a Service, with the node port that is 30000 above.
pub(crate) fn port(protocol: Protocol, port: u16) -> Port {
    let name = format!("{}-{port}", protocol.as_str().to_lowercase());
    Port {
        name,
        protocol,
        port,
        node_port: Some(30_000 + port),
        app_protocol: None,
    }
}

/// The destination of the pods of the node with this number.
pub(crate) fn cidr(family: IpFamily, number: u8) -> IpNet {
    match family {
        IpFamily::V4 => IpNet::new_assert(Ipv4Addr::new(10, 200, number, 0).into(), 24),
        IpFamily::V6 => IpNet::new_assert(Ipv6Addr::new(0xfd00, 0xc0de, 0, number.into(), 0, 0, 0, 0).into(), 64),
    }
}

/// A host that does not exist.
pub(crate) fn host(number: usize) -> Host {
    let ip = Ipv4Addr::from(0x0a63_0000 | u32::try_from(number).unwrap_or_default());
    Host {
        name: format!("host-{number:03}"),
        provider_id: ProviderId::parse(format!("invented://host-{number}")),
        addresses: vec![Address::new(AddressKind::InternalIP, ip.to_string())],
        ..Host::default()
    }
}

/// The names of hosts.
pub(crate) fn names(hosts: &[Arc<Host>]) -> BTreeSet<String> {
    hosts.iter().map(|host| host.name.clone()).collect()
}

/// The Service `default/web` with a UID that begins like this.
pub(crate) fn service(uid_seed: &str) -> ServiceRef {
    let uid = format!("{uid_seed:0<32}");
    let uid = format!(
        "{}-{}-{}-{}-{}",
        &uid[..8],
        &uid[8..12],
        &uid[12..16],
        &uid[16..20],
        &uid[20..32]
    );
    ServiceRef {
        namespace: "default".into(),
        name: "web".into(),
        uid,
    }
}
