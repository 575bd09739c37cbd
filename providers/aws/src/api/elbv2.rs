//! Network load balancers: Elastic Load Balancing v2.

pub mod listeners;
pub mod target_groups;

use super::{Api, Done, List, Page, Service, ec2::Tag};
use cloud::Result;
use cloud_http::Idempotency;
use futures::{FutureExt, future::BoxFuture};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The largest page of a list.
pub(super) const PAGE: u32 = 400;
/// How many objects `DescribeTags` takes.
const TAGGED: usize = 20;

/// A load balancer. Serialized, it changes whenever one of these fields does, but for the state.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct LoadBalancer {
    pub load_balancer_arn: String,
    pub load_balancer_name: String,
    #[serde(rename = "DNSName")]
    pub dns_name: String,
    #[serde(rename = "Type")]
    pub kind: String,
    pub scheme: String,
    #[serde(skip_serializing)]
    pub state: State,
    pub availability_zones: List<Zone>,
    pub security_groups: List<String>,
}

/// The state of a load balancer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct State {
    pub code: String,
}

/// A zone of a load balancer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Zone {
    pub subnet_id: String,
    pub load_balancer_addresses: List<Address>,
}

/// An address of a load balancer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Address {
    pub allocation_id: Option<String>,
    #[serde(rename = "PrivateIPv4Address")]
    pub private_ipv4_address: Option<String>,
}

/// A load balancer to be created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct NewLoadBalancer {
    pub name: String,
    #[serde(rename = "Type")]
    pub kind: &'static str,
    pub scheme: Option<&'static str>,
    pub subnet_mappings: Vec<SubnetMapping>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub security_groups: Vec<String>,
    pub tags: Vec<Tag>,
}

/// A subnet of a load balancer to be created.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct SubnetMapping {
    pub subnet_id: String,
    pub allocation_id: Option<String>,
    #[serde(rename = "PrivateIPv4Address")]
    pub private_ipv4_address: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct LoadBalancers {
    load_balancers: List<LoadBalancer>,
    #[serde(default)]
    next_marker: String,
}

impl Page for LoadBalancers {
    type Item = LoadBalancer;

    fn next(&self) -> &str {
        &self.next_marker
    }

    fn items(self) -> Vec<LoadBalancer> {
        self.load_balancers.0
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Attributes {
    attributes: List<Attribute>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase", default)]
#[derive(Default)]
struct Attribute {
    key: String,
    value: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Tags {
    tag_descriptions: List<TagDescription>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct TagDescription {
    resource_arn: String,
    tags: List<Tag>,
}

/// Tags of objects, by their ARNs.
pub type TagsByArn = BTreeMap<String, Vec<Tag>>;

impl Api {
    /// Reads all load balancers of the region.
    pub async fn load_balancers(&self) -> Result<Vec<LoadBalancer>> {
        let request = json!({"PageSize": PAGE});
        self.pages::<LoadBalancers>(Service::ElbV2, "DescribeLoadBalancers", &request)
            .await
    }

    /// Finds the load balancer of this name.
    pub async fn load_balancer(&self, name: &str) -> Result<Option<LoadBalancer>> {
        let request = json!({"Names": [name]});
        let found = self.find::<LoadBalancers>(Service::ElbV2, "DescribeLoadBalancers", Idempotency::Safe, &request);
        Ok(found.await?.and_then(|page| page.items().into_iter().next()))
    }

    /// Creates a load balancer. One that exists and is equal is returned.
    pub async fn create_load_balancer(&self, new: &NewLoadBalancer) -> Result<Option<LoadBalancer>> {
        let created: LoadBalancers = self.change_v2("CreateLoadBalancer", new).await?;
        Ok(created.items().into_iter().next())
    }

    /// Deletes a load balancer. One that does not exist is a success.
    pub async fn delete_load_balancer(&self, arn: &str) -> Result<()> {
        self.remove_v2("DeleteLoadBalancer", json!({"LoadBalancerArn": arn}))
            .await
    }

    /// Replaces the security groups of a load balancer.
    pub async fn set_security_groups(&self, arn: &str, groups: &[String]) -> Result<()> {
        let request = json!({"LoadBalancerArn": arn, "SecurityGroups": groups});
        self.change_v2::<Done>("SetSecurityGroups", &request).await.map(drop)
    }

    /// Reads the attributes of a load balancer.
    pub async fn load_balancer_attributes(&self, arn: &str) -> Result<BTreeMap<String, String>> {
        let request = json!({"LoadBalancerArn": arn});
        self.attributes("DescribeLoadBalancerAttributes", &request).await
    }

    /// Sets attributes of a load balancer. Others are left as they are.
    pub async fn set_load_balancer_attributes(&self, arn: &str, attributes: &BTreeMap<String, String>) -> Result<()> {
        let request = json!({"LoadBalancerArn": arn, "Attributes": pairs(attributes)});
        self.change_v2::<Done>("ModifyLoadBalancerAttributes", &request)
            .await
            .map(drop)
    }

    /// Reads the tags of load balancers, target groups and listeners. Those that do not exist are left out.
    pub async fn elb_v2_tags(&self, arns: &[&str]) -> Result<TagsByArn> {
        let read = |arns: Vec<String>| {
            let request = json!({"ResourceArns": arns});
            let tags = async move {
                self.find::<Tags>(Service::ElbV2, "DescribeTags", Idempotency::Safe, &request)
                    .await
            };
            tags.boxed()
        };
        // Nothing in AWS's documentation allows objects of several kinds in one call.
        let mut kinds: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for arn in arns {
            kinds
                .entry(arn.split('/').next().unwrap_or_default())
                .or_default()
                .push(arn);
        }
        let mut all = TagsByArn::new();
        for arns in kinds.values() {
            for descriptions in existing(arns, &read).await? {
                let tags = descriptions.tag_descriptions.into_iter();
                all.extend(tags.map(|description| (description.resource_arn, description.tags.0)));
            }
        }
        Ok(all)
    }

    /// Adds tags, or replaces their values. The request has a list, but AWS refuses more than one object.
    pub async fn add_elb_v2_tags(&self, arns: &[String], tags: &[Tag]) -> Result<()> {
        for arn in arns {
            let request = json!({"ResourceArns": [arn], "Tags": tags});
            self.change_v2::<Done>("AddTags", &request).await?;
        }
        Ok(())
    }

    pub(super) async fn attributes(&self, action: &'static str, request: &Value) -> Result<BTreeMap<String, String>> {
        let read: Attributes = self.call(Service::ElbV2, action, Idempotency::Safe, request).await?;
        let pairs = read
            .attributes
            .into_iter()
            .map(|attribute| (attribute.key, attribute.value));
        Ok(pairs.collect())
    }

    /// Every write of this service can be sent twice.
    pub(super) async fn change_v2<A: serde::de::DeserializeOwned + Send>(
        &self,
        action: &'static str,
        request: &(impl Serialize + Sync),
    ) -> Result<A> {
        self.call(Service::ElbV2, action, Idempotency::Idempotent, request)
            .await
    }

    /// What does not exist is removed already.
    pub(super) async fn remove_v2(&self, action: &'static str, request: Value) -> Result<()> {
        let done = self.find::<Done>(Service::ElbV2, action, Idempotency::Idempotent, &request);
        done.await.map(drop)
    }
}

/// Asks about many objects at a time. AWS refuses a call if one of them does not exist, without its name: then about each of them.
pub(super) async fn existing<'a, A>(
    objects: &[&str],
    ask: impl Fn(Vec<String>) -> BoxFuture<'a, Result<Option<A>>>,
) -> Result<Vec<A>> {
    let mut all = Vec::new();
    for objects in objects.chunks(TAGGED) {
        let objects: Vec<String> = objects.iter().map(ToString::to_string).collect();
        match ask(objects.clone()).await? {
            Some(answer) => all.push(answer),
            None if objects.len() == 1 => {}
            None => {
                for object in objects {
                    all.extend(ask(vec![object]).await?);
                }
            }
        }
    }
    Ok(all)
}

pub(super) fn pairs(attributes: &BTreeMap<String, String>) -> Vec<Value> {
    let pair = |(key, value): (&String, &String)| json!({"Key": key, "Value": value});
    attributes.iter().map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[tokio::test]
    async fn missing_objects_do_not_hide_the_others() {
        let asked = Mutex::new(Vec::new());
        let ask = |objects: Vec<String>| {
            asked.lock().unwrap().push(objects.len());
            let exist = !objects.contains(&"gone".to_owned());
            async move { Ok(exist.then(|| objects.join(" "))) }.boxed()
        };
        assert_eq!(existing(&["a", "gone", "b"], ask).await.unwrap(), ["a", "b"]);
        assert_eq!(*asked.lock().unwrap(), [3, 1, 1, 1]);
        let many = vec!["a"; TAGGED + 1];
        assert_eq!(existing(&many, ask).await.unwrap().len(), 2);
        assert_eq!(existing(&["gone"], ask).await.unwrap(), [""; 0]);
    }
}
