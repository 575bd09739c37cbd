//! The subnets of load balancers.

use super::{annotations as key, settings::Scheme};
use crate::{
    api::{
        Api,
        ec2::{Tag, routes::RouteTable, subnets::Subnet},
    },
    cluster::{Cluster, TAG_PREFIX},
    zones::ByName,
};
use cloud::{Error, Result, Spec};
use ipnet::IpNet;
use provider_kit::list_cache::ListCache;
use std::{collections::BTreeMap, sync::Arc, time::Duration};

/// Subnets rarely change, and a user who corrects their tags waits at most this long.
const LIFETIME: Duration = Duration::from_secs(20);

/// The tag of subnets for load balancers with public addresses.
pub const PUBLIC_ROLE: &str = "kubernetes.io/role/elb";
/// The tag of subnets for internal load balancers.
pub const INTERNAL_ROLE: &str = "kubernetes.io/role/internal-elb";
/// The tag with the name of a subnet.
pub const NAME_TAG: &str = "Name";

/// The subnets of the VPC.
pub struct Subnets {
    api: Arc<Api>,
    cache: ListCache<Vpc>,
}

/// What subnets are chosen from.
#[derive(Debug, Default)]
pub struct Vpc {
    pub subnets: Vec<Subnet>,
    pub tables: Vec<RouteTable>,
    pub zones: ByName,
}

impl Subnets {
    /// The subnets of the VPC of the cluster. Nothing is read yet.
    pub fn new(api: Arc<Api>) -> Self {
        Self {
            api,
            cache: ListCache::new(LIFETIME),
        }
    }

    /// The IDs of the subnets that the load balancer of a Service should have.
    ///
    /// # Errors
    /// [`Error::Unusable`] if the user names others than there are, or if there are none.
    pub async fn of(&self, spec: &Spec, scheme: Scheme) -> Result<Vec<String>> {
        let cluster = self.api.cluster().await?;
        let vpc = self.vpc().await?;
        match key::SUBNETS.text(spec) {
            Some(_) => vpc.named(spec),
            None => vpc.suitable(cluster, scheme),
        }
    }

    /// The IPv4 ranges of subnets.
    ///
    /// # Errors
    /// As EC2 answers, or [`Error::Unusable`] if a subnet is not in the VPC.
    pub async fn ranges(&self, ids: &[String]) -> Result<Vec<IpNet>> {
        let vpc = self.vpc().await?;
        let range = |id: &String| {
            let subnet = vpc.subnets.iter().find(|subnet| subnet.subnet_id == *id);
            let range = subnet.and_then(|subnet| subnet.cidr_block.parse().ok());
            range.ok_or_else(|| Error::unusable(format!("subnet {id}"), "EC2 shows no IPv4 range of it"))
        };
        ids.iter().map(range).collect()
    }

    async fn vpc(&self) -> Result<Arc<Vpc>> {
        let api = Arc::clone(&self.api);
        let read = || async move {
            let vpc = &api.cluster().await?.vpc_id;
            let (subnets, tables) = futures::try_join!(api.subnets_of(vpc), api.route_tables(vpc))?;
            let names = subnets.iter().map(|subnet| subnet.availability_zone.as_str());
            let zones = api.zones(&names.collect()).await?;
            Ok(Vpc { subnets, tables, zones })
        };
        self.cache.get(None, read).await
    }
}

impl Vpc {
    /// The subnets that the user names, by ID or by their `Name` tag: IDs first, each kind in the order given.
    fn named(&self, spec: &Spec) -> Result<Vec<String>> {
        let row = key::SUBNETS;
        let (ids, names): (Vec<_>, Vec<_>) = row.list(spec).into_iter().partition(|item| item.starts_with("subnet-"));
        if ids.is_empty() && names.is_empty() {
            return Err(row.invalid("it names no subnet"));
        }
        // Subnets and their tags may be corrected, and what was read of them is a little old.
        let unusable = |reason: String| Error::unusable(format!("annotation {}", row.key), reason);
        let mut found = Vec::new();
        for id in ids {
            if !self.subnets.iter().any(|subnet| subnet.subnet_id == id) {
                return Err(unusable(format!("the VPC has no subnet {id}")));
            }
            found.push(id);
        }
        for name in names {
            let is_named = |subnet: &&Subnet| value(&subnet.tag_set, NAME_TAG) == Some(&name);
            let mut of_name = self.subnets.iter().filter(is_named);
            match (of_name.next(), of_name.next()) {
                (Some(subnet), None) => found.push(subnet.subnet_id.clone()),
                (None, _) => return Err(unusable(format!("the VPC has no subnet with the tag Name={name}"))),
                (Some(_), Some(_)) => {
                    return Err(unusable(format!(
                        "the VPC has several subnets with the tag Name={name}"
                    )));
                }
            }
        }
        Ok(found)
    }

    /// One subnet for each zone, sorted by zone.
    fn suitable(&self, cluster: &Cluster, scheme: Scheme) -> Result<Vec<String>> {
        let is_marked = |subnet: &&Subnet| subnet.tag_set.iter().any(|tag| tag.key.starts_with(TAG_PREFIX));
        let all = self.subnets.iter();
        let mut usable: Vec<&Subnet> = all
            .filter(|subnet| cluster.has_tag(&subnet.tag_set) || !is_marked(subnet))
            .collect();
        if usable.is_empty() {
            let fallback = cluster.subnet_id.as_deref();
            usable.extend(
                self.subnets
                    .iter()
                    .filter(|subnet| Some(subnet.subnet_id.as_str()) == fallback),
            );
        }
        let role = match scheme {
            Scheme::Public => PUBLIC_ROLE,
            Scheme::Internal => INTERNAL_ROLE,
        };
        let rank = |subnet: &Subnet| {
            let has_role = value(&subnet.tag_set, role).is_some();
            (!has_role, !cluster.has_tag(&subnet.tag_set), subnet.subnet_id.clone())
        };
        let mut best: BTreeMap<&str, &Subnet> = BTreeMap::new();
        for subnet in usable {
            if scheme == Scheme::Public && !self.is_public(&subnet.subnet_id)? || !self.is_regular(subnet) {
                continue;
            }
            let place = best.entry(&subnet.availability_zone).or_insert(subnet);
            if rank(subnet) < rank(place) {
                *place = subnet;
            }
        }
        if best.is_empty() {
            let reason = "could not find any suitable subnets for creating the ELB: tag subnets with \
                          kubernetes.io/role/elb or kubernetes.io/role/internal-elb";
            return Err(Error::unusable("the VPC of the cluster", reason));
        }
        Ok(best.into_values().map(|subnet| subnet.subnet_id.clone()).collect())
    }

    /// Whether a subnet has a route to an internet gateway.
    fn is_public(&self, subnet: &str) -> Result<bool> {
        let of_subnet = |table: &&RouteTable| table.association_set.iter().any(|one| one.subnet_id == subnet);
        let is_main = |table: &&RouteTable| table.association_set.iter().any(|one| one.main);
        let table = self
            .tables
            .iter()
            .find(of_subnet)
            .or_else(|| self.tables.iter().find(is_main));
        let missing = || Error::unusable(format!("subnet {subnet}"), "it has no route table");
        let table = table.ok_or_else(missing)?;
        Ok(table.route_set.iter().any(|route| route.gateway_id.starts_with("igw")))
    }

    /// Load balancers cannot be in local and wavelength zones.
    fn is_regular(&self, subnet: &Subnet) -> bool {
        let zone = self.zones.get(&subnet.availability_zone);
        zone.is_none_or(|zone| matches!(zone.zone_type.as_str(), "" | "availability-zone"))
    }
}

fn value<'a>(tags: &'a [Tag], key: &str) -> Option<&'a str> {
    tags.iter().find(|tag| tag.key == key).map(|tag| tag.value.as_str())
}

#[cfg(test)]
mod tests;
