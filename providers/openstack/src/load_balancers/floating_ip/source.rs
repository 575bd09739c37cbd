//! Where a new floating IP comes from.

use crate::{
    api::Session,
    load_balancers::network::{Floating, FloatingSubnet, Networks, Pattern, Tags},
};
use cloud::{Error, Result};

/// The external network, if there is one.
pub(super) async fn network(api: &Session, networks: &Networks, floating: &Floating) -> Result<Option<String>> {
    match &floating.network {
        Some(network) => Ok(Some(network.clone())),
        None => networks.external(api).await,
    }
}

/// The chosen subnets of the network; never none, except for any.
pub(super) async fn subnets(
    api: &Session,
    networks: &Networks,
    subnet: &FloatingSubnet,
    network: &str,
) -> Result<Vec<String>> {
    match subnet {
        FloatingSubnet::Any => Ok(Vec::new()),
        FloatingSubnet::Id(id) => match networks.subnet(api, id).await? {
            subnet if subnet.network_id == network => Ok(vec![id.clone()]),
            other => Err(Error::invalid(
                "floating-subnet-id",
                format!("subnet {id} belongs to network {}, not to {network}", other.network_id),
            )),
        },
        FloatingSubnet::Matching { name, tags } => {
            let pattern = if name.is_empty() {
                None
            } else {
                Some(Pattern::parse(name)?)
            };
            let found = networks
                .matching(api, network, pattern.as_ref(), Tags::parse(tags).as_ref())
                .await?;
            if found.is_empty() {
                let asked = format!("name {name:?} and tags {tags:?}");
                return Err(Error::unusable(
                    "a subnet for the floating IP",
                    format!("none of network {network} has {asked}"),
                ));
            }
            Ok(found)
        }
    }
}
