//! The services of `OpenStack` that are used, and where their APIs begin.

use cloud_http::{Failure, Url};
use serde_json::{Map, Value};
use std::fmt;

/// A service other than Keystone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Service {
    /// Nova.
    Compute,
    /// Neutron.
    Network,
    /// Octavia.
    LoadBalancer,
    /// Barbican.
    KeyManager,
}

impl Service {
    /// Its names in catalogs: the official one, then those that are or were in use.
    pub(crate) fn types(self) -> &'static [&'static str] {
        match self {
            Self::Compute => &["compute", "computev21"],
            Self::Network => &["network"],
            Self::LoadBalancer => &["load-balancer", "load-balancing", "octavia"],
            Self::KeyManager => &["key-manager"],
        }
    }

    /// The version of its API in paths; there has never been another one.
    fn version(self) -> &'static str {
        match self {
            Self::Compute => "v2.1",
            Self::Network | Self::LoadBalancer => "v2.0",
            Self::KeyManager => "v1",
        }
    }

    /// The base URL of its API with the version. Catalogs have it with the version, without, or with a project after it.
    pub(crate) fn api(self, listed: &Url) -> Url {
        if versioned(listed).is_some() {
            return listed.clone();
        }
        with_path(listed, segments(listed).chain([self.version()]))
    }

    /// The URL of the list of its versions.
    pub(crate) fn root(listed: &Url) -> Url {
        match versioned(listed) {
            Some(at) => with_path(listed, segments(listed).take(at).chain([""])),
            None => with_path(listed, segments(listed).chain([""])),
        }
    }

    /// Whether the service itself refused, and not a proxy in front of it.
    pub(crate) fn recognises(self, failure: &Failure) -> bool {
        let Some(body) = failure.json::<Map<String, Value>>() else {
            return false;
        };
        let has = |key: &str| body.contains_key(key);
        match self {
            Self::Compute => {
                has("itemNotFound") || has("badRequest") || has("conflictingRequest") || has("computeFault")
            }
            Self::Network => has("NeutronError"),
            Self::LoadBalancer => has("faultstring"),
            Self::KeyManager => has("title") || has("error"),
        }
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.types()[0])
    }
}

fn segments(url: &Url) -> impl Iterator<Item = &str> {
    url.path().split('/').filter(|segment| !segment.is_empty())
}

/// The segment of the path that is the version: the last, or the last but one before a project. An earlier one belongs to a gateway in front of
/// the service.
fn versioned(url: &Url) -> Option<usize> {
    let all: Vec<&str> = segments(url).collect();
    match all.as_slice() {
        [.., last] if is_version(last) => Some(all.len() - 1),
        [.., version, project] if is_version(version) && is_project(project) => Some(all.len() - 2),
        _ => None,
    }
}

/// Project IDs of Keystone consist of hexadecimal digits.
fn is_project(segment: &str) -> bool {
    segment.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
}

fn is_version(segment: &str) -> bool {
    segment.strip_prefix('v').is_some_and(|number| {
        number.starts_with(|c: char| c.is_ascii_digit()) && number.chars().all(|c| c.is_ascii_digit() || c == '.')
    })
}

fn with_path<'a>(url: &'a Url, segments: impl Iterator<Item = &'a str>) -> Url {
    let path = segments.fold(String::new(), |path, segment| path + "/" + segment);
    let mut url = url.clone();
    url.set_path(&path);
    url
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::with_version(
        Service::Compute,
        "http://c/compute/v2.1",
        "http://c/compute/v2.1",
        "http://c/compute/"
    )]
    #[case::with_project(Service::Compute, "http://c/v2.1/4f2a", "http://c/v2.1/4f2a", "http://c/")]
    #[case::without_version(Service::Compute, "http://c:8774", "http://c:8774/v2.1", "http://c:8774/")]
    #[case::slash(Service::Network, "http://n:9696/", "http://n:9696/v2.0", "http://n:9696/")]
    #[case::path(
        Service::Network,
        "http://n/networking",
        "http://n/networking/v2.0",
        "http://n/networking/"
    )]
    #[case::network_with_version(Service::Network, "http://n/v2.0/", "http://n/v2.0/", "http://n/")]
    #[case::octavia(
        Service::LoadBalancer,
        "http://o/load-balancer",
        "http://o/load-balancer/v2.0",
        "http://o/load-balancer/"
    )]
    #[case::octavia_v2(Service::LoadBalancer, "http://o/v2", "http://o/v2", "http://o/")]
    #[case::barbican(
        Service::KeyManager,
        "http://b/key-manager",
        "http://b/key-manager/v1",
        "http://b/key-manager/"
    )]
    #[case::behind_a_gateway(
        Service::Network,
        "https://gw.example/v1/network",
        "https://gw.example/v1/network/v2.0",
        "https://gw.example/v1/network/"
    )]
    #[case::behind_a_gateway_with_version(
        Service::LoadBalancer,
        "https://gw.example/v1/lb/v2.0/",
        "https://gw.example/v1/lb/v2.0/",
        "https://gw.example/v1/lb/"
    )]
    #[case::behind_a_gateway_with_project(
        Service::Compute,
        "https://gw.example/v3/compute/v2.1/5b2e9d0c4f7a4e2f9a3b1c8d7e6f5a40",
        "https://gw.example/v3/compute/v2.1/5b2e9d0c4f7a4e2f9a3b1c8d7e6f5a40",
        "https://gw.example/v3/compute/"
    )]
    #[case::not_a_version(Service::KeyManager, "http://b/vault", "http://b/vault/v1", "http://b/vault/")]
    fn begins(#[case] service: Service, #[case] listed: &str, #[case] api: &str, #[case] root: &str) {
        let listed = Url::parse(listed).unwrap();
        assert_eq!(service.api(&listed).as_str(), api);
        assert_eq!(Service::root(&listed).as_str(), root);
    }
}
