//! Load balancers themselves.

use super::{Id, NewListener, Octavia, delete, get, nullable, post, put};
use crate::api::{Call, Deleted, Listed};
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
    /// Whose it is.
    pub project_id: Option<String>,
    /// How far the last change of it or of anything on it is.
    pub provisioning_status: Provisioning,
    /// Its address; Octavia's choice unless it was asked for.
    #[serde(default, deserialize_with = "nullable")]
    pub vip_address: String,
    /// The port of its address.
    pub vip_port_id: Option<String>,
    /// The subnet of its address.
    pub vip_subnet_id: Option<String>,
    /// More addresses.
    #[serde(default, deserialize_with = "nullable")]
    pub additional_vips: Vec<AdditionalVip>,
    /// Who implements it.
    #[serde(default, deserialize_with = "nullable")]
    pub provider: String,
    /// Its tags; without tags where Octavia is too old for them.
    #[serde(default, deserialize_with = "nullable")]
    pub tags: Vec<String>,
    /// When it was made, as Octavia writes it.
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

impl Listed for LoadBalancer {
    const KEY: &'static str = "loadbalancers";
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

/// How far a change is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Provisioning {
    /// It is done; only now can anything be changed.
    Active,
    /// It is being made.
    PendingCreate,
    /// It is being changed.
    PendingUpdate,
    /// It is going away.
    PendingDelete,
    /// It went wrong.
    Error,
    /// It is gone, and only the record of it is left.
    Deleted,
    /// A state that nobody has heard of; nothing can be changed.
    #[default]
    #[serde(other)]
    Unknown,
}

/// A load balancer to be made, with everything on it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct NewLoadBalancer {
    /// Its name.
    pub name: String,
    /// For whom it is.
    pub description: String,
    /// Who implements it.
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

/// What is to be changed about a load balancer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct LoadBalancerChange {
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// All of its tags.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
}

#[derive(Serialize, Deserialize)]
struct Body<T> {
    loadbalancer: T,
}

impl Octavia {
    /// All load balancers of our own project.
    pub async fn load_balancers(&self) -> Result<Vec<LoadBalancer>> {
        self.of_project(get("loadbalancer_list", ["loadbalancers"])).await
    }

    /// The load balancers of our own project that have this name.
    pub async fn load_balancers_named(&self, name: &str) -> Result<Vec<LoadBalancer>> {
        let call = get("loadbalancer_list", ["loadbalancers"]).query([("name", name)]);
        self.of_project(call).await
    }

    /// An administrator is shown those of all projects. They are told apart here and not by a filter, because Octavia's
    /// links to further pages forget the filters.
    async fn of_project(&self, call: Call) -> Result<Vec<LoadBalancer>> {
        let project = self.0.project_id().await?;
        let mut listed: Vec<LoadBalancer> = self.0.list(call).await?;
        listed.retain(|balancer| balancer.project_id.as_ref().is_none_or(|of| *of == project));
        Ok(listed)
    }

    /// One load balancer.
    pub async fn load_balancer(&self, id: &str) -> Result<Option<LoadBalancer>> {
        let call = get("loadbalancer_get", ["loadbalancers", id]).about(format!("load balancer {id}"));
        let body: Option<Body<LoadBalancer>> = self.0.find(call).await?;
        Ok(body.map(|body| body.loadbalancer))
    }

    /// Makes a load balancer.
    pub async fn create_load_balancer(&self, new: &NewLoadBalancer) -> Result<LoadBalancer> {
        let call = post("loadbalancer_create", ["loadbalancers"])
            .json(&Body { loadbalancer: new })
            .about(format!("load balancer {}", new.name));
        let body: Body<LoadBalancer> = self.0.json(call).await?;
        Ok(body.loadbalancer)
    }

    /// Changes a load balancer.
    pub async fn update_load_balancer(&self, id: &str, change: &LoadBalancerChange) -> Result<()> {
        let call = put("loadbalancer_update", ["loadbalancers", id])
            .json(&Body { loadbalancer: change })
            .about(format!("load balancer {id}"));
        self.0.send(call).await.map(|_| ())
    }

    /// Makes Octavia rebuild what carries a load balancer. Most clouds allow that to operators only.
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

    /// Deletes a load balancer that has nothing on it.
    pub async fn delete_load_balancer(&self, id: &str) -> Result<Deleted> {
        let call = delete("loadbalancer_delete", ["loadbalancers", id]).about(format!("load balancer {id}"));
        self.0.delete(call).await
    }
}
