//! Where the services are: the catalog that comes with a token.

use super::service::Service;
use crate::config::Interface;
use cloud::{Error, Result};
use cloud_http::Url;
use serde::Deserialize;
use std::collections::BTreeSet;

/// The services that Keystone knows, as it answered.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(transparent)]
pub struct Catalog(Vec<Entry>);

#[derive(Debug, Clone, Deserialize)]
struct Entry {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    endpoints: Vec<Endpoint>,
}

#[derive(Debug, Clone, Deserialize)]
struct Endpoint {
    interface: String,
    url: String,
    region: Option<String>,
    region_id: Option<String>,
}

impl Catalog {
    /// The URL of a service in the catalog. An empty region selects the first one.
    ///
    /// # Errors
    /// [`Error::Invalid`], naming what there is instead.
    pub fn url(&self, service: Service, region: &str, interface: Interface) -> Result<Url> {
        let endpoint = self.endpoint(service, region, interface)?;
        Url::parse(&endpoint.url).map_err(|_| {
            Error::invalid(
                "service catalog",
                format!("the {service} endpoint {:?} is no URL", endpoint.url),
            )
        })
    }

    /// The region where [`Catalog::url`] finds a service; `None` if the catalog has no such service, or no name for it.
    pub fn region(&self, service: Service, region: &str, interface: Interface) -> Option<&str> {
        self.endpoint(service, region, interface).ok()?.region_name()
    }

    fn endpoint(&self, service: Service, region: &str, interface: Interface) -> Result<&Endpoint> {
        let all = self.of_type(service)?;
        let there: Vec<&Endpoint> = all.iter().copied().filter(|endpoint| endpoint.is_in(region)).collect();
        if there.is_empty() {
            let regions = all.iter().filter_map(|endpoint| endpoint.region_name());
            return Err(Error::invalid(
                "region",
                format!(
                    "there is no {service} endpoint in region {region:?}; there are {}",
                    listed(regions)
                ),
            ));
        }
        let mut offered = there.iter().copied();
        let wanted = offered.find(|endpoint| endpoint.interface == name(interface));
        wanted.ok_or_else(|| {
            let interfaces = there.iter().map(|endpoint| endpoint.interface.as_str());
            Error::invalid(
                "os-endpoint-type",
                format!(
                    "{service} has no {} endpoint; there are {}",
                    name(interface),
                    listed(interfaces)
                ),
            )
        })
    }

    fn of_type(&self, service: Service) -> Result<Vec<&Endpoint>> {
        if self.0.is_empty() {
            return Err(Error::invalid(
                "tenant-id",
                "the token came without a service catalog; it needs a project: set tenant-id, or tenant-name with its domain",
            ));
        }
        // The order of the names, not that of the catalog: an official name wins over an alias.
        let found = service.types().iter().find_map(|kind| {
            let endpoints: Vec<_> = self
                .0
                .iter()
                .filter(|entry| entry.kind == *kind)
                .flat_map(|entry| &entry.endpoints)
                .collect();
            (!endpoints.is_empty()).then_some(endpoints)
        });
        found.ok_or_else(|| {
            let kinds = self.0.iter().map(|entry| entry.kind.as_str());
            Error::invalid(
                "service catalog",
                format!("the cloud has no {service} endpoint; it has {}", listed(kinds)),
            )
        })
    }
}

impl Endpoint {
    fn is_in(&self, region: &str) -> bool {
        region.is_empty()
            || [&self.region, &self.region_id]
                .into_iter()
                .flatten()
                .any(|name| name == region)
    }

    fn region_name(&self) -> Option<&str> {
        self.region_id.as_deref().or(self.region.as_deref())
    }
}

fn name(interface: Interface) -> &'static str {
    match interface {
        Interface::Public => "public",
        Interface::Internal => "internal",
        Interface::Admin => "admin",
    }
}

/// Each once, in alphabetical order.
fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: BTreeSet<&str> = names.collect();
    if names.is_empty() {
        return "none".to_owned();
    }
    names.into_iter().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    fn catalog() -> Catalog {
        let endpoint = |interface: &str, region: &str, url: &str| json!({"interface": interface, "region": region, "region_id": region, "url": url});
        serde_json::from_value(json!([
            {"type": "identity", "name": "keystone", "endpoints": []},
            {"type": "compute", "endpoints": [
                endpoint("internal", "one", "http://one.in/v2.1"),
                endpoint("public", "one", "http://one/v2.1"),
                endpoint("public", "two", "http://two/v2.1"),
                {"interface": "public", "region": "Old Name", "region_id": "three", "url": "http://three/v2.1"},
            ]},
            {"type": "network", "endpoints": [endpoint("public", "one", "nonsense")]},
            {"type": "octavia", "endpoints": [endpoint("public", "one", "http://lb")]},
        ]))
        .unwrap()
    }

    const COMPUTE: Service = Service::Compute;

    #[rstest]
    #[case::first_of_any_region(COMPUTE, "", Interface::Public, "http://one/v2.1")]
    #[case::by_region(COMPUTE, "two", Interface::Public, "http://two/v2.1")]
    #[case::by_region_id(COMPUTE, "three", Interface::Public, "http://three/v2.1")]
    #[case::by_region_name(COMPUTE, "Old Name", Interface::Public, "http://three/v2.1")]
    #[case::by_interface(COMPUTE, "one", Interface::Internal, "http://one.in/v2.1")]
    #[case::by_an_alias(Service::LoadBalancer, "one", Interface::Public, "http://lb/")]
    #[case::wrong_region(
        COMPUTE,
        "four",
        Interface::Public,
        r#"invalid region: there is no compute endpoint in region "four"; there are one, three, two"#
    )]
    #[case::wrong_interface(
        COMPUTE,
        "two",
        Interface::Admin,
        "invalid os-endpoint-type: compute has no admin endpoint; there are public"
    )]
    #[case::missing_endpoint(
        Service::KeyManager,
        "one",
        Interface::Public,
        "invalid service catalog: the cloud has no key-manager endpoint; it has compute, identity, network, octavia"
    )]
    #[case::no_url(
        Service::Network,
        "one",
        Interface::Public,
        r#"invalid service catalog: the network endpoint "nonsense" is no URL"#
    )]
    fn finds(#[case] service: Service, #[case] region: &str, #[case] interface: Interface, #[case] expected: &str) {
        let found = catalog().url(service, region, interface);
        assert_eq!(found.map_or_else(|error| error.to_string(), String::from), expected);
    }

    #[test]
    fn an_unscoped_token_names_what_is_missing() {
        let error = Catalog::default().url(COMPUTE, "", Interface::Public).unwrap_err();
        assert!(error.to_string().contains("set tenant-id"), "{error}");
    }
}
