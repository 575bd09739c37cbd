//! The servers without a proxy, by the rules of Go's `httpproxy`.

use ipnet::IpNet;
use std::net::IpAddr;

/// The entries of `NO_PROXY`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exceptions(Vec<Entry>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Entry {
    All,
    Network(IpNet),
    Address(IpAddr, Option<String>),
    /// `.example.com`, with the dot.
    Below(String, Option<String>),
    /// The domain and its subdomains.
    Domain(String, Option<String>),
}

impl Exceptions {
    /// Reads a list like `10.0.0.0/8,example.com,*.example.org:8443`. Entries without a meaning are ignored.
    #[must_use]
    pub fn parse(list: &str) -> Self {
        Self(list.split(',').filter_map(Entry::parse).collect())
    }

    /// Whether this server needs no proxy. A server on this machine never needs one.
    #[must_use]
    pub fn contain(&self, host: &str, port: u16) -> bool {
        let host = host.to_ascii_lowercase();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let address: Option<IpAddr> = host.parse().ok().map(|address: IpAddr| address.to_canonical());
        let is_local = host == "localhost" || address.is_some_and(|address| address.is_loopback());
        is_local || self.0.iter().any(|entry| entry.is(host, address, &port.to_string()))
    }
}

impl Entry {
    fn parse(entry: &str) -> Option<Self> {
        let entry = entry.trim().to_ascii_lowercase();
        if entry == "*" {
            return Some(Self::All);
        }
        if let Ok(network) = entry.parse() {
            return Some(Self::Network(network));
        }
        let (host, port) = split(&entry);
        let port = port.filter(|port| !port.is_empty()).map(ToOwned::to_owned);
        if let Ok(address) = host.parse::<IpAddr>() {
            return Some(Self::Address(address.to_canonical(), port));
        }
        let host = if host.starts_with("*.") { &host[1..] } else { host };
        match host {
            "" => None,
            below if below.starts_with('.') => Some(Self::Below(below.to_owned(), port)),
            domain => Some(Self::Domain(domain.to_owned(), port)),
        }
    }

    fn is(&self, host: &str, address: Option<IpAddr>, port: &str) -> bool {
        let fits = |wanted: &Option<String>| wanted.as_deref().is_none_or(|wanted| wanted == port);
        match (self, address) {
            (Self::All, _) => true,
            (Self::Network(network), Some(address)) => network.contains(&address),
            (Self::Address(wanted, on), Some(address)) => *wanted == address && fits(on),
            (Self::Below(end, on), None) => host.ends_with(end.as_str()) && fits(on),
            (Self::Domain(domain, on), None) => {
                let rest = host.strip_suffix(domain.as_str());
                rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.')) && fits(on)
            }
            _ => false,
        }
    }
}

/// `host:port` and `[address]:port`; an address of IPv6 without brackets has no port.
fn split(entry: &str) -> (&str, Option<&str>) {
    if let Some((host, port)) = entry.strip_prefix('[').and_then(|rest| rest.split_once("]:")) {
        return (host, Some(port));
    }
    match entry.split_once(':') {
        Some((host, port)) if !port.contains(':') => (host, Some(port)),
        _ => (entry, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::nothing("", "api.example:443", "proxy")]
    #[case::all("a.b, *", "192.0.2.1:443", "direct")]
    #[case::domain("example.com", "example.com:443", "direct")]
    #[case::below_a_domain("example.com", "a.b.Example.COM:443", "direct")]
    #[case::another_domain("example.com", "badexample.com:443", "proxy")]
    #[case::not_the_domain_itself(".example.com", "example.com:443", "proxy")]
    #[case::but_below_it(".example.com", "a.example.com:443", "direct")]
    #[case::star_is_not_the_domain_itself("*.example.com", "example.com:443", "proxy")]
    #[case::star_is_below_it("*.EXAMPLE.com", "a.example.com:443", "direct")]
    #[case::port("example.com:8443", "a.example.com:8443", "direct")]
    #[case::another_port("example.com:8443", "a.example.com:443", "proxy")]
    #[case::port_below("*.example.com:443", "a.example.com:443", "direct")]
    #[case::empty_port("example.com:", "example.com:443", "direct")]
    #[case::only_a_port(":443", "example.com:443", "proxy")]
    #[case::address("192.0.2.1", "192.0.2.1:443", "direct")]
    #[case::another_address("192.0.2.1", "192.0.2.10:443", "proxy")]
    #[case::address_and_port("192.0.2.1:6443", "192.0.2.1:6443", "direct")]
    #[case::address_and_another_port("192.0.2.1:6443", "192.0.2.1:443", "proxy")]
    #[case::address_v6("2001:db8::1", "[2001:db8::1]:443", "direct")]
    #[case::address_v6_and_port("[2001:db8::1]:443", "[2001:db8::1]:443", "direct")]
    #[case::address_v6_and_another_port("[2001:db8::1]:80", "[2001:db8::1]:443", "proxy")]
    #[case::network("10.1.2.3/8", "10.200.0.1:443", "direct")]
    #[case::network_v6("2001:db8::/32", "[2001:db8:1::1]:443", "direct")]
    #[case::another_network("10.0.0.0/8", "192.0.2.1:443", "proxy")]
    #[case::an_address_is_no_domain("2.1", "192.0.2.1:443", "proxy")]
    #[case::localhost("", "localhost:443", "direct")]
    #[case::below_localhost("", "api.localhost:443", "proxy")]
    #[case::loopback("", "127.0.0.5:443", "direct")]
    #[case::loopback_v6("", "[::1]:443", "direct")]
    #[case::spaces(" a.example , b.example ", "b.example:443", "direct")]
    fn matches_as_go_does(#[case] list: &str, #[case] server: &str, #[case] expected: &str) {
        let (host, port) = server.rsplit_once(':').unwrap();
        let excepted = Exceptions::parse(list).contain(host, port.parse().unwrap());
        assert_eq!(if excepted { "direct" } else { "proxy" }, expected);
    }
}
