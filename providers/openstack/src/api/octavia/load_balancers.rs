//! Load balancers themselves.

use super::{Calls, Id, NewListener, Object, Octavia, Readable, delete, get, nullable, put};
use crate::api::{Call, Deleted, Resource};
use cloud::Result;
use serde::{Deserialize, Serialize};

/// A load balancer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct LoadBalancer {
    /// Its ID.
    pub id: String,
    /// Its name.
    #[serde(default, deserialize_with = "nullable")]
    pub name: String,
    /// Its project.
    pub project_id: Option<String>,
    /// The state of the last change of it or of anything on it.
    pub provisioning_status: Provisioning,
    /// Its address; chosen by Octavia unless it was requested.
    #[serde(default, deserialize_with = "nullable")]
    pub vip_address: String,
    /// The port of its address.
    pub vip_port_id: Option<String>,
    /// The subnet of its address.
    pub vip_subnet_id: Option<String>,
    /// More addresses.
    #[serde(default, deserialize_with = "nullable")]
    pub additional_vips: Vec<AdditionalVip>,
    /// Its provider.
    #[serde(default, deserialize_with = "nullable")]
    pub provider: String,
    /// Its tags; without tags where Octavia is too old for them.
    #[serde(default, deserialize_with = "nullable")]
    pub tags: Vec<String>,
    /// When it was created, as Octavia writes it.
    pub created_at: Option<String>,
    /// When it or anything on it was changed last, as Octavia writes it, in whole seconds.
    pub updated_at: Option<String>,
    /// The listeners on it.
    #[serde(default, deserialize_with = "nullable")]
    pub listeners: Vec<Id>,
    /// The pools on it.
    #[serde(default, deserialize_with = "nullable")]
    pub pools: Vec<Id>,
}

impl Resource for LoadBalancer {
    const ONE: &'static str = "loadbalancer";
    const ALL: &'static str = "loadbalancers";
}

/// An address besides the first one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdditionalVip {
    /// Its subnet.
    pub subnet_id: String,
    /// The address itself, once it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip_address: Option<String>,
}

/// The state of a change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Provisioning {
    /// It is completed; only now can anything be changed.
    Active,
    /// It is being created.
    PendingCreate,
    /// It is being changed.
    PendingUpdate,
    /// It is being deleted.
    PendingDelete,
    /// It failed.
    Error,
    /// It is deleted, and Octavia still shows it.
    Deleted,
    /// An unknown state; nothing can be changed.
    #[default]
    #[serde(other)]
    Unknown,
}

/// A new load balancer, with everything on it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct NewLoadBalancer {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Its provider.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub provider: String,
    /// Its tags.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Its flavor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flavor_id: Option<String>,
    /// Its zone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub availability_zone: Option<String>,
    /// The port of its address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vip_port_id: Option<String>,
    /// The subnet of its address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vip_subnet_id: Option<String>,
    /// The network of its address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vip_network_id: Option<String>,
    /// Its address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vip_address: Option<String>,
    /// More addresses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub additional_vips: Vec<AdditionalVip>,
    /// Everything on it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub listeners: Vec<NewListener>,
}

/// A change of a load balancer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct LoadBalancerChange {
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// All of its tags.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
}

impl Object for LoadBalancer {
    type New = NewLoadBalancer;
    type Change = LoadBalancerChange;
    const KIND: &'static str = "load balancer";
    const CALLS: Calls = Calls {
        list: "loadbalancer_list",
        create: "loadbalancer_create",
        update: "loadbalancer_update",
        delete: "loadbalancer_delete",
    };

    fn name(new: &NewLoadBalancer) -> &str {
        &new.name
    }
}

impl Readable for LoadBalancer {
    const GET: &'static str = "loadbalancer_get";
}

impl Octavia {
    /// All load balancers of our own project.
    pub async fn load_balancers(&self) -> Result<Vec<LoadBalancer>> {
        self.of_project(get(LoadBalancer::CALLS.list, [LoadBalancer::ALL]))
            .await
    }

    /// The load balancers of our own project that have this name.
    pub async fn load_balancers_named(&self, name: &str) -> Result<Vec<LoadBalancer>> {
        let call = get(LoadBalancer::CALLS.list, [LoadBalancer::ALL]).query([("name", name)]);
        self.of_project(call).await
    }

    /// Octavia shows an administrator those of all projects. They are filtered here, because Octavia's links to further pages lose the filters.
    async fn of_project(&self, call: Call) -> Result<Vec<LoadBalancer>> {
        let project = self.0.project_id().await?;
        let mut listed: Vec<LoadBalancer> = self.0.list(call).await?;
        listed.retain(|balancer| balancer.project_id.as_ref().is_none_or(|of| *of == project));
        Ok(listed)
    }

    /// Makes Octavia replace the instances of a load balancer. Most clouds allow that to operators only.
    pub async fn fail_over(&self, id: &str) -> Result<()> {
        let call = put("loadbalancer_failover", ["loadbalancers", id, "failover"]).about(format!("load balancer {id}"));
        self.0.send(call).await.map(|_| ())
    }

    /// Deletes a load balancer and everything on it.
    pub async fn delete_load_balancer_cascading(&self, id: &str) -> Result<Deleted> {
        let call = delete("loadbalancer_delete", ["loadbalancers", id])
            .query([("cascade", "true")])
            .about(format!("load balancer {id}"));
        self.0.delete(call).await
    }
}
