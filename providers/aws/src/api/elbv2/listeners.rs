//! Listeners: the ports of a load balancer.

use crate::api::{Api, List, Page, Service, ec2::Tag};
use cloud::Result;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// A listener.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Listener {
    pub listener_arn: String,
    pub port: u16,
    pub protocol: String,
    pub ssl_policy: Option<String>,
    pub certificates: List<Certificate>,
    pub default_actions: List<Action>,
}

/// A certificate of a listener.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Certificate {
    pub certificate_arn: String,
}

/// What a listener does with a connection.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Action {
    #[serde(rename = "Type")]
    pub kind: String,
    pub target_group_arn: Option<String>,
}

/// What a listener is to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct ListenerSettings {
    pub port: u16,
    pub protocol: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssl_policy: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub certificates: Vec<Certificate>,
    pub default_actions: Vec<Action>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Create<'a> {
    load_balancer_arn: &'a str,
    #[serde(flatten)]
    settings: &'a ListenerSettings,
    tags: &'a [Tag],
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Modify<'a> {
    listener_arn: &'a str,
    #[serde(flatten)]
    settings: &'a ListenerSettings,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Listeners {
    listeners: List<Listener>,
    #[serde(default)]
    next_marker: String,
}

impl Page for Listeners {
    type Item = Listener;

    fn next(&self) -> &str {
        &self.next_marker
    }

    fn items(self) -> Vec<Listener> {
        self.listeners.0
    }
}

impl Action {
    /// Connections go to the targets of this group.
    pub fn forward(group: &str) -> Self {
        Self {
            kind: "forward".to_owned(),
            target_group_arn: Some(group.to_owned()),
        }
    }
}

impl Api {
    /// Reads the listeners of a load balancer.
    pub async fn listeners(&self, load_balancer: &str) -> Result<Vec<Listener>> {
        let request = json!({"LoadBalancerArn": load_balancer});
        self.pages::<Listeners>(Service::ElbV2, "DescribeListeners", &request)
            .await
    }

    /// Creates a listener.
    pub async fn create_listener(&self, load_balancer: &str, settings: &ListenerSettings, tags: &[Tag]) -> Result<()> {
        let request = Create {
            load_balancer_arn: load_balancer,
            settings,
            tags,
        };
        self.change_v2::<Listeners>("CreateListener", &request).await.map(drop)
    }

    /// Changes a listener.
    pub async fn modify_listener(&self, arn: &str, settings: &ListenerSettings) -> Result<()> {
        let request = Modify {
            listener_arn: arn,
            settings,
        };
        self.change_v2::<Listeners>("ModifyListener", &request).await.map(drop)
    }

    /// Deletes a listener. One that does not exist is a success.
    pub async fn delete_listener(&self, arn: &str) -> Result<()> {
        self.remove_v2("DeleteListener", json!({"ListenerArn": arn})).await
    }
}
