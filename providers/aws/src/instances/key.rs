//! How the machine behind a node is known.

use cloud::{Error, NodeRef, Result};
use std::net::IpAddr;

/// The start of provider IDs.
const SCHEME: &str = "aws://";

/// The start of the IDs of Fargate machines.
const FARGATE: &str = "fargate-";

/// How the machine behind a node is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key<'a> {
    /// By the ID of the instance.
    Instance(&'a str),
    /// By the private address of the Fargate machine.
    Fargate(String),
    /// By the name of the node, which is the private DNS name of the instance.
    Name(&'a str),
}

impl<'a> Key<'a> {
    /// How the machine behind a node is known.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the provider ID is not one of AWS.
    pub fn of(node: &'a NodeRef) -> Result<Self> {
        match &node.provider_id {
            Some(id) => match id_in(id.as_str())? {
                id if id.starts_with(FARGATE) => Ok(Self::Fargate(fargate_address(id)?)),
                id => Ok(Self::Instance(id)),
            },
            None if node.name.starts_with("i-") => {
                let id = node.name.split('.').next().unwrap_or_default();
                Ok(Self::Instance(id))
            }
            None => Ok(Self::Name(&node.name)),
        }
    }
}

/// The ID of the instance in a provider ID; `None` for a Fargate machine.
///
/// # Errors
/// [`Error::Invalid`] if it is not a provider ID of AWS.
pub fn instance_id(provider_id: &str) -> Result<Option<&str>> {
    let id = id_in(provider_id)?;
    Ok((!id.starts_with(FARGATE)).then_some(id))
}

fn id_in(provider_id: &str) -> Result<&str> {
    let refused = || {
        Error::invalid(
            "providerID",
            format!("{provider_id:?} is not the ID of an EC2 instance"),
        )
    };
    let id = match provider_id.strip_prefix(SCHEME) {
        Some(rest) => {
            // What stands before the first slash would be a host.
            let path = rest.split_once('/').map_or("", |(_, path)| path);
            path.trim_matches('/').rsplit('/').next().unwrap_or_default()
        }
        None => provider_id,
    };
    let is_instance = id.starts_with("i-") && !id.contains('/');
    (is_instance || id.starts_with(FARGATE))
        .then_some(id)
        .ok_or_else(refused)
}

/// `fargate-10.0.0.1`, or `fargate-ip-10-0-0-1.ec2.internal`.
fn fargate_address(id: &str) -> Result<String> {
    let name = id.trim_start_matches(FARGATE);
    let address = match name.strip_prefix("ip-") {
        Some(rest) => rest.split('.').next().unwrap_or_default().replace('-', "."),
        None => name.to_owned(),
    };
    match address.parse::<IpAddr>() {
        Ok(_) => Ok(address),
        Err(_) => Err(Error::invalid("providerID", format!("{id:?} has no address"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    // upstream: instance IDs
    #[rstest]
    #[case::full("aws:///us-east-1a/i-0abc", Some("i-0abc"))]
    #[case::no_zone("aws:////i-0abc", Some("i-0abc"))]
    #[case::short("aws:///i-0abc", Some("i-0abc"))]
    #[case::plain("i-0abc", Some("i-0abc"))]
    #[case::empty_path("aws:///", None)]
    #[case::volume("aws:///az/vol-1", None)]
    #[case::below_an_instance("aws:///az/i-1/x", None)]
    #[case::another_cloud("gce://p/z/i-1", None)]
    fn instances(#[case] provider_id: &str, #[case] expected: Option<&str>) {
        assert_eq!(instance_id(provider_id).ok().flatten(), expected);
    }

    #[rstest]
    #[case::provider_id("ip-10-0-0-1.ec2.internal", "aws:///z/i-1", Key::Instance("i-1"))]
    #[case::resource_name("i-0abc.us-west-2.compute.internal", "", Key::Instance("i-0abc"))]
    #[case::dns_name("ip-10-0-0-1.ec2.internal", "", Key::Name("ip-10-0-0-1.ec2.internal"))]
    #[case::fargate("x", "aws:///z/fargate-ip-10-0-0-1.ec2.internal", Key::Fargate("10.0.0.1".into()))]
    #[case::fargate_address("x", "aws:///z/fargate-10.0.0.1", Key::Fargate("10.0.0.1".into()))]
    fn keys(#[case] name: &str, #[case] provider_id: &str, #[case] expected: Key<'_>) {
        let node = NodeRef::named(name).with_provider_id(provider_id);
        assert_eq!(Key::of(&node).unwrap(), expected);
    }

    #[rstest]
    #[case("aws:///z/fargate-")]
    #[case("aws:///z/fargate-ip-10-0-0.ec2.internal")]
    #[case("openstack:///1")]
    fn refused(#[case] provider_id: &str) {
        let node = NodeRef::named("n").with_provider_id(provider_id);
        assert!(matches!(Key::of(&node), Err(Error::Invalid { .. })));
    }
}
