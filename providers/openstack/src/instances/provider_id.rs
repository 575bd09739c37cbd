//! `openstack:///<id>` and `openstack://<region>/<id>`. Every Node has one: changing it orphans running nodes.

use crate::config::ProviderIds;
use cloud::{Error, ProviderId, Result};

const SCHEME: &str = "openstack://";

/// A parsed provider ID.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed<'a> {
    /// The server's ID.
    pub server: &'a str,
    /// The region, if it has one.
    pub region: Option<&'a str>,
}

/// Parses a provider ID. The scheme may be missing, the slash before the server's ID may not.
pub fn parse(id: &ProviderId) -> Result<Parsed<'_>> {
    let text = id.as_str();
    let rest = match text.strip_prefix(SCHEME) {
        Some(rest) => Some(rest),
        None => (!text.contains("://")).then_some(text),
    };
    let parts = rest.and_then(|rest| rest.split_once('/'));
    match parts {
        Some((region, server)) if !server.is_empty() && !server.contains('/') => Ok(Parsed {
            server,
            region: (!region.is_empty()).then_some(region),
        }),
        _ => Err(Error::invalid(
            "spec.providerID",
            format!("{text:?} is not like openstack:///<server ID> or openstack://<region>/<server ID>"),
        )),
    }
}

/// The server's ID, if it is in this region. Nodes of another region belong to another process, and are neither updated nor deleted.
pub fn server_in<'a>(id: &'a ProviderId, region: &str) -> Result<&'a str> {
    let parsed = parse(id)?;
    match parsed.region {
        Some(theirs) if theirs != region => Err(Error::invalid(
            "spec.providerID",
            format!("the node is in region {theirs:?}, and this process looks after region {region:?}"),
        )),
        _ => Ok(parsed.server),
    }
}

/// The provider ID of a server.
pub fn of(server: &str, region: &str, kind: ProviderIds) -> Option<ProviderId> {
    let region = match kind {
        ProviderIds::Plain => "",
        ProviderIds::Regional => region,
    };
    ProviderId::parse(format!("{SCHEME}{region}/{server}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const UUID: &str = "7b9cf879-7146-417c-abfd-cb4272f0c935";

    // upstream: openstack 15
    #[rstest]
    #[case("openstack:///UUID", "UUID in any region")]
    #[case("openstack://RegionOne/UUID", "UUID in RegionOne")]
    #[case("/UUID", "UUID in any region")]
    #[case("us-east-1/id", "id in us-east-1")]
    #[case("openstack://UUID", "error")]
    #[case("UUID", "error")]
    #[case("other:///UUID", "error")]
    #[case("openstack://us-east-1-id", "error")]
    #[case("openstack:///", "error")]
    #[case("openstack:///a/b", "error")]
    #[case("://", "error")]
    fn parses(#[case] text: &str, #[case] expected: &str) {
        let id = ProviderId::parse(text.replace("UUID", UUID)).unwrap();
        let parsed = parse(&id).map(|parsed| {
            let region = parsed.region.unwrap_or("any region");
            format!("{} in {region}", parsed.server)
        });
        let parsed = parsed.unwrap_or_else(|_| "error".to_owned());
        assert_eq!(parsed, expected.replace("UUID", UUID));
    }

    // upstream: openstack 17
    #[rstest]
    #[case("no region", "openstack:///a", "one", "a")]
    #[case("same region", "openstack://one/a", "one", "a")]
    #[case(
        "region mismatch",
        "openstack://two/a",
        "one",
        r#"invalid spec.providerID: the node is in region "two", and this process looks after region "one""#
    )]
    fn regions(#[case] what: &str, #[case] id: &str, #[case] region: &str, #[case] expected: &str) {
        let id = ProviderId::parse(id).unwrap();
        let found = server_in(&id, region).map(str::to_owned);
        assert_eq!(found.unwrap_or_else(|error| error.to_string()), expected, "{what}");
    }

    #[rstest]
    #[case::plain(ProviderIds::Plain, "openstack:///a")]
    #[case::regional(ProviderIds::Regional, "openstack://one/a")]
    fn writes(#[case] kind: ProviderIds, #[case] expected: &str) {
        let id = of("a", "one", kind).unwrap();
        assert_eq!(id.as_str(), expected);
        assert_eq!(server_in(&id, "one").unwrap(), "a");
    }
}
