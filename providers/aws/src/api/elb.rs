//! Classic load balancers: Elastic Load Balancing.

use super::{Api, Done, List, Page, Service, ec2::Tag, elbv2::existing};
use cloud::Result;
use cloud_http::Idempotency;
use futures::FutureExt;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The largest page of a list.
const PAGE: u32 = 400;

/// A load balancer. Serialized, it changes whenever one of these fields does, but for the instances.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ClassicLoadBalancer {
    pub load_balancer_name: String,
    #[serde(rename = "DNSName")]
    pub dns_name: String,
    pub scheme: String,
    pub subnets: List<String>,
    pub security_groups: List<String>,
    pub listener_descriptions: List<ListenerDescription>,
    pub backend_server_descriptions: List<Backend>,
    pub policies: Policies,
    pub health_check: Option<HealthCheck>,
    #[serde(skip_serializing)]
    pub instances: List<InstanceId>,
}

/// A listener and its policies.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ListenerDescription {
    pub listener: Listener,
    pub policy_names: List<String>,
}

/// A listener.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Listener {
    pub protocol: String,
    pub load_balancer_port: u16,
    pub instance_protocol: String,
    pub instance_port: u16,
    #[serde(rename = "SSLCertificateId", skip_serializing_if = "Option::is_none")]
    pub ssl_certificate_id: Option<String>,
}

/// The policies of a port of the instances.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Backend {
    pub instance_port: u16,
    pub policy_names: List<String>,
}

/// The policies that exist.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Policies {
    pub other_policies: List<String>,
}

/// How instances are checked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct HealthCheck {
    pub target: String,
    pub interval: i64,
    pub timeout: i64,
    pub unhealthy_threshold: i64,
    pub healthy_threshold: i64,
}

/// An instance.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct InstanceId {
    pub instance_id: String,
}

/// The attributes of a load balancer. In requests, those that are not set are left as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ClassicAttributes {
    pub access_log: AccessLog,
    pub connection_draining: ConnectionDraining,
    pub connection_settings: ConnectionSettings,
    pub cross_zone_load_balancing: CrossZone,
}

/// Access logs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AccessLog {
    pub enabled: bool,
    pub emit_interval: Option<i64>,
    #[serde(rename = "S3BucketName")]
    pub s3_bucket_name: Option<String>,
    #[serde(rename = "S3BucketPrefix")]
    pub s3_bucket_prefix: Option<String>,
}

/// Whether connections to an instance that is removed are completed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConnectionDraining {
    pub enabled: bool,
    pub timeout: Option<i64>,
}

/// When a connection without data is closed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ConnectionSettings {
    pub idle_timeout: Option<i64>,
}

/// Whether traffic goes to the instances of all zones.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CrossZone {
    pub enabled: bool,
}

/// A load balancer to be created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct NewClassicLoadBalancer {
    pub load_balancer_name: String,
    pub listeners: Vec<Listener>,
    pub scheme: Option<&'static str>,
    pub subnets: Vec<String>,
    pub security_groups: Vec<String>,
    pub tags: Vec<Tag>,
}

/// A policy to be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPolicy {
    pub name: String,
    pub kind: &'static str,
    pub attribute: (&'static str, String),
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct LoadBalancers {
    load_balancer_descriptions: List<ClassicLoadBalancer>,
    #[serde(default)]
    next_marker: String,
}

impl Page for LoadBalancers {
    type Item = ClassicLoadBalancer;

    fn next(&self) -> &str {
        &self.next_marker
    }

    fn items(self) -> Vec<ClassicLoadBalancer> {
        self.load_balancer_descriptions.0
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Attributes {
    load_balancer_attributes: ClassicAttributes,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Tags {
    tag_descriptions: List<TagDescription>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct TagDescription {
    load_balancer_name: String,
    tags: List<Tag>,
}

impl Api {
    /// Reads all classic load balancers of the region.
    pub async fn classic_load_balancers(&self) -> Result<Vec<ClassicLoadBalancer>> {
        let request = json!({"PageSize": PAGE});
        self.pages::<LoadBalancers>(Service::Elb, "DescribeLoadBalancers", &request)
            .await
    }

    /// Finds the classic load balancer of this name.
    pub async fn classic_load_balancer(&self, name: &str) -> Result<Option<ClassicLoadBalancer>> {
        let request = json!({"LoadBalancerNames": [name]});
        let found = self.find::<LoadBalancers>(Service::Elb, "DescribeLoadBalancers", Idempotency::Safe, &request);
        Ok(found.await?.and_then(|page| page.items().into_iter().next()))
    }

    /// Creates a load balancer. One that exists and is equal is a success.
    pub async fn create_classic_load_balancer(&self, new: &NewClassicLoadBalancer) -> Result<()> {
        self.change_classic("CreateLoadBalancer", new).await
    }

    /// Deletes a load balancer. One that does not exist is a success.
    pub async fn delete_classic_load_balancer(&self, name: &str) -> Result<()> {
        self.change_classic("DeleteLoadBalancer", &json!({"LoadBalancerName": name}))
            .await
    }

    /// Adds subnets.
    pub async fn attach_subnets(&self, name: &str, subnets: &[String]) -> Result<()> {
        let request = json!({"LoadBalancerName": name, "Subnets": subnets});
        self.change_classic("AttachLoadBalancerToSubnets", &request).await
    }

    /// Removes subnets.
    pub async fn detach_subnets(&self, name: &str, subnets: &[String]) -> Result<()> {
        let request = json!({"LoadBalancerName": name, "Subnets": subnets});
        self.change_classic("DetachLoadBalancerFromSubnets", &request).await
    }

    /// Replaces the security groups.
    pub async fn apply_security_groups(&self, name: &str, groups: &[String]) -> Result<()> {
        let request = json!({"LoadBalancerName": name, "SecurityGroups": groups});
        self.change_classic("ApplySecurityGroupsToLoadBalancer", &request).await
    }

    /// Adds listeners.
    pub async fn create_classic_listeners(&self, name: &str, listeners: &[Listener]) -> Result<()> {
        let request = json!({"LoadBalancerName": name, "Listeners": listeners});
        self.change_classic("CreateLoadBalancerListeners", &request).await
    }

    /// Removes the listeners on these ports.
    pub async fn delete_classic_listeners(&self, name: &str, ports: &[u16]) -> Result<()> {
        let request = json!({"LoadBalancerName": name, "LoadBalancerPorts": ports});
        self.change_classic("DeleteLoadBalancerListeners", &request).await
    }

    /// Creates a policy.
    pub async fn create_policy(&self, name: &str, policy: &NewPolicy) -> Result<()> {
        let (attribute, value) = &policy.attribute;
        let request = json!({
            "LoadBalancerName": name,
            "PolicyName": policy.name,
            "PolicyTypeName": policy.kind,
            "PolicyAttributes": [{"AttributeName": attribute, "AttributeValue": value}],
        });
        self.change_classic("CreateLoadBalancerPolicy", &request).await
    }

    /// Replaces the policies of a port of the instances.
    pub async fn set_backend_policies(&self, name: &str, port: u16, policies: &[&str]) -> Result<()> {
        let request = json!({"LoadBalancerName": name, "InstancePort": port, "PolicyNames": policies});
        self.change_classic("SetLoadBalancerPoliciesForBackendServer", &request)
            .await
    }

    /// Replaces the policies of a listener.
    pub async fn set_listener_policies(&self, name: &str, port: u16, policies: &[&str]) -> Result<()> {
        let request = json!({"LoadBalancerName": name, "LoadBalancerPort": port, "PolicyNames": policies});
        self.change_classic("SetLoadBalancerPoliciesOfListener", &request).await
    }

    /// Changes how instances are checked.
    pub async fn configure_health_check(&self, name: &str, check: &HealthCheck) -> Result<()> {
        let request = json!({"LoadBalancerName": name, "HealthCheck": check});
        self.change_classic("ConfigureHealthCheck", &request).await
    }

    /// Adds instances.
    pub async fn register_instances(&self, name: &str, instances: &[String]) -> Result<()> {
        let request = json!({"LoadBalancerName": name, "Instances": ids(instances)});
        self.change_classic("RegisterInstancesWithLoadBalancer", &request).await
    }

    /// Removes instances.
    pub async fn deregister_instances(&self, name: &str, instances: &[String]) -> Result<()> {
        let request = json!({"LoadBalancerName": name, "Instances": ids(instances)});
        self.change_classic("DeregisterInstancesFromLoadBalancer", &request)
            .await
    }

    /// Reads the attributes.
    pub async fn classic_attributes(&self, name: &str) -> Result<ClassicAttributes> {
        let (action, request) = ("DescribeLoadBalancerAttributes", json!({"LoadBalancerName": name}));
        let read: Attributes = self.call(Service::Elb, action, Idempotency::Safe, &request).await?;
        Ok(read.load_balancer_attributes)
    }

    /// Sets attributes.
    pub async fn set_classic_attributes(&self, name: &str, attributes: &ClassicAttributes) -> Result<()> {
        let request = json!({"LoadBalancerName": name, "LoadBalancerAttributes": attributes});
        self.change_classic("ModifyLoadBalancerAttributes", &request).await
    }

    /// Reads the tags of load balancers, by their names. Those that do not exist are left out.
    pub async fn classic_tags(&self, names: &[&str]) -> Result<BTreeMap<String, Vec<Tag>>> {
        let read = |names: Vec<String>| {
            let request = json!({"LoadBalancerNames": names});
            let tags = async move {
                self.find::<Tags>(Service::Elb, "DescribeTags", Idempotency::Safe, &request)
                    .await
            };
            tags.boxed()
        };
        let mut all = BTreeMap::new();
        for descriptions in existing(names, read).await? {
            let tags = descriptions.tag_descriptions.into_iter();
            all.extend(tags.map(|description| (description.load_balancer_name, description.tags.0)));
        }
        Ok(all)
    }

    /// Adds tags, or replaces their values.
    pub async fn add_classic_tags(&self, name: &str, tags: &[Tag]) -> Result<()> {
        let request = json!({"LoadBalancerNames": [name], "Tags": tags});
        self.change_classic("AddTags", &request).await
    }

    /// Every change can be sent twice.
    async fn change_classic(&self, action: &'static str, request: &(impl Serialize + Sync)) -> Result<()> {
        let done = self.call::<Done>(Service::Elb, action, Idempotency::Idempotent, request);
        done.await.map(drop)
    }
}

fn ids(instances: &[String]) -> Vec<Value> {
    instances.iter().map(|id| json!({"InstanceId": id})).collect()
}
