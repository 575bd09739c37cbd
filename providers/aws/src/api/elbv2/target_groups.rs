//! Target groups: the instances behind a listener, and how they are checked.

use super::{PAGE, pairs};
use crate::api::{Api, Done, List, Page, Service, ec2::Tag};
use cloud::{Error, Result};
use cloud_http::Idempotency;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// How many targets a call takes.
const TARGETS: usize = 100;

/// A target group. Serialized, it changes whenever one of these fields does.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct TargetGroup {
    pub target_group_arn: String,
    pub target_group_name: String,
    pub protocol: String,
    pub port: u16,
    pub health_check_protocol: String,
    pub health_check_port: String,
    pub health_check_path: Option<String>,
    pub health_check_interval_seconds: i64,
    pub health_check_timeout_seconds: i64,
    pub healthy_threshold_count: i64,
    pub unhealthy_threshold_count: i64,
    pub load_balancer_arns: List<String>,
}

/// A target group to be created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct NewTargetGroup {
    pub name: String,
    pub vpc_id: String,
    pub port: u16,
    pub protocol: String,
    pub target_type: &'static str,
    pub health_check_protocol: String,
    pub health_check_interval_seconds: i64,
    #[serde(flatten)]
    pub check: CheckSettings,
    pub tags: Vec<Tag>,
}

/// What can be changed about the check of a target group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct CheckSettings {
    pub health_check_port: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health_check_path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health_check_timeout_seconds: Option<i64>,
    pub healthy_threshold_count: i64,
    pub unhealthy_threshold_count: i64,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Modify<'a> {
    target_group_arn: &'a str,
    #[serde(flatten)]
    check: &'a CheckSettings,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct TargetGroups {
    target_groups: List<TargetGroup>,
    #[serde(default)]
    next_marker: String,
}

impl Page for TargetGroups {
    type Item = TargetGroup;

    fn next(&self) -> &str {
        &self.next_marker
    }

    fn items(self) -> Vec<TargetGroup> {
        self.target_groups.0
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Health {
    target_health_descriptions: List<Description>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Description {
    target: Target,
    target_health: TargetHealth,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Target {
    id: String,
    port: u16,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct TargetHealth {
    reason: String,
}

impl Api {
    /// Reads all target groups of the region.
    pub async fn target_groups(&self) -> Result<Vec<TargetGroup>> {
        let request = json!({"PageSize": PAGE});
        self.pages::<TargetGroups>(Service::ElbV2, "DescribeTargetGroups", &request)
            .await
    }

    /// Creates a target group, and returns its ARN. One that exists and is equal is returned.
    pub async fn create_target_group(&self, new: &NewTargetGroup) -> Result<String> {
        let created: TargetGroups = self.change_v2("CreateTargetGroup", new).await?;
        let first = created.items().into_iter().next();
        let missing = || Error::unavailable("CreateTargetGroup", "the answer has no target group");
        Ok(first.ok_or_else(missing)?.target_group_arn)
    }

    /// Changes the check of a target group.
    pub async fn modify_target_group(&self, arn: &str, check: &CheckSettings) -> Result<()> {
        let request = Modify {
            target_group_arn: arn,
            check,
        };
        self.change_v2::<TargetGroups>("ModifyTargetGroup", &request)
            .await
            .map(drop)
    }

    /// Deletes a target group. One that does not exist is a success.
    pub async fn delete_target_group(&self, arn: &str) -> Result<()> {
        self.remove_v2("DeleteTargetGroup", json!({"TargetGroupArn": arn}))
            .await
    }

    /// Reads the targets of a group and their ports, but for those that are being removed.
    pub async fn targets(&self, group: &str) -> Result<BTreeSet<(String, u16)>> {
        let request = json!({"TargetGroupArn": group});
        let health: Health = self
            .call(Service::ElbV2, "DescribeTargetHealth", Idempotency::Safe, &request)
            .await?;
        let all = health.target_health_descriptions.into_iter();
        let present = all.filter(|one| one.target_health.reason != "Target.DeregistrationInProgress");
        Ok(present.map(|one| (one.target.id, one.target.port)).collect())
    }

    /// Adds targets to a group.
    pub async fn register_targets(&self, group: &str, targets: &[(String, u16)]) -> Result<()> {
        self.edit_targets("RegisterTargets", group, targets).await
    }

    /// Removes targets from a group.
    pub async fn deregister_targets(&self, group: &str, targets: &[(String, u16)]) -> Result<()> {
        self.edit_targets("DeregisterTargets", group, targets).await
    }

    /// Reads the attributes of a target group.
    pub async fn target_group_attributes(&self, arn: &str) -> Result<BTreeMap<String, String>> {
        let request = json!({"TargetGroupArn": arn});
        self.attributes("DescribeTargetGroupAttributes", &request).await
    }

    /// Sets attributes of a target group. Others are left as they are.
    pub async fn set_target_group_attributes(&self, arn: &str, attributes: &BTreeMap<String, String>) -> Result<()> {
        let request = json!({"TargetGroupArn": arn, "Attributes": pairs(attributes)});
        self.change_v2::<Done>("ModifyTargetGroupAttributes", &request)
            .await
            .map(drop)
    }

    async fn edit_targets(&self, action: &'static str, group: &str, targets: &[(String, u16)]) -> Result<()> {
        for targets in targets.chunks(TARGETS) {
            let targets: Vec<_> = targets
                .iter()
                .map(|(id, port)| json!({"Id": id, "Port": port}))
                .collect();
            let request = json!({"TargetGroupArn": group, "Targets": targets});
            self.change_v2::<Done>(action, &request).await?;
        }
        Ok(())
    }
}
