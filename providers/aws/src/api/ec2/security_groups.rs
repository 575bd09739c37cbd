//! Security groups, and the rules in them.

use super::{Tag, filter};
use crate::api::{Api, Done, List, Page, Service};
use cloud::Result;
use cloud_http::Idempotency;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A security group.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SecurityGroup {
    pub group_id: String,
    pub group_name: String,
    pub group_description: String,
    pub tag_set: List<Tag>,
    pub ip_permissions: List<Permission>,
}

/// Rules that have the same ports. In requests, empty lists are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all(serialize = "PascalCase", deserialize = "camelCase"), default)]
pub struct Permission {
    pub ip_protocol: String,
    pub from_port: Option<i32>,
    pub to_port: Option<i32>,
    pub ip_ranges: List<Range>,
    pub ipv6_ranges: List<Ipv6Range>,
    pub groups: List<GroupPair>,
}

/// An IPv4 range that may connect.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all(serialize = "PascalCase", deserialize = "camelCase"), default)]
pub struct Range {
    pub cidr_ip: String,
    pub description: Option<String>,
}

/// An IPv6 range that may connect.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all(serialize = "PascalCase", deserialize = "camelCase"), default)]
pub struct Ipv6Range {
    pub cidr_ipv6: String,
    pub description: Option<String>,
}

/// A security group whose members may connect.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all(serialize = "PascalCase", deserialize = "camelCase"), default)]
pub struct GroupPair {
    pub group_id: String,
    pub description: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Groups {
    security_group_info: List<SecurityGroup>,
    #[serde(default)]
    next_token: String,
}

impl Page for Groups {
    type Item = SecurityGroup;

    fn next(&self) -> &str {
        &self.next_token
    }

    fn items(self) -> Vec<SecurityGroup> {
        self.security_group_info.0
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Created {
    group_id: String,
}

impl Api {
    /// Reads the security groups of a VPC that have a tag with one of these keys.
    pub async fn security_groups_tagged(&self, vpc: &str, keys: &[String]) -> Result<Vec<SecurityGroup>> {
        let filters = [filter("vpc-id", [vpc]), filter("tag-key", keys)];
        self.security_groups(&json!({"Filter": filters, "MaxResults": 1000}))
            .await
    }

    /// Reads all security groups of a VPC.
    pub async fn security_groups_in(&self, vpc: &str) -> Result<Vec<SecurityGroup>> {
        self.security_groups(&json!({"Filter": [filter("vpc-id", [vpc])], "MaxResults": 1000}))
            .await
    }

    /// Reads the security groups of this name in a VPC.
    pub async fn security_groups_named(&self, vpc: &str, name: &str) -> Result<Vec<SecurityGroup>> {
        let filters = [filter("group-name", [name]), filter("vpc-id", [vpc])];
        self.security_groups(&json!({"Filter": filters})).await
    }

    /// Reads security groups by their IDs. Those that do not exist are left out.
    pub async fn security_groups_by_id<I: AsRef<str>>(&self, ids: &[I]) -> Result<Vec<SecurityGroup>> {
        self.security_groups(&json!({"Filter": [filter("group-id", ids)]}))
            .await
    }

    /// Reads the security groups with a rule that lets the members of this group in.
    pub async fn security_groups_allowing(&self, id: &str) -> Result<Vec<SecurityGroup>> {
        let filters = [filter("ip-permission.group-id", [id])];
        self.security_groups(&json!({"Filter": filters})).await
    }

    async fn security_groups(&self, request: &Value) -> Result<Vec<SecurityGroup>> {
        self.pages::<Groups>(Service::Ec2, "DescribeSecurityGroups", request)
            .await
    }

    /// Creates a security group, and returns its ID.
    pub async fn create_security_group(
        &self,
        vpc: &str,
        name: &str,
        description: &str,
        tags: &[Tag],
    ) -> Result<String> {
        let tags = json!([{"ResourceType": "security-group", "Tag": tags}]);
        let request =
            json!({"GroupName": name, "GroupDescription": description, "VpcId": vpc, "TagSpecification": tags});
        let created: Created = self
            .call(Service::Ec2, "CreateSecurityGroup", Idempotency::Once, &request)
            .await?;
        Ok(created.group_id)
    }

    /// Deletes a security group. One that does not exist is a success.
    pub async fn delete_security_group(&self, id: &str) -> Result<()> {
        let request = json!({"GroupId": id});
        let done = self.find::<Done>(Service::Ec2, "DeleteSecurityGroup", Idempotency::Idempotent, &request);
        done.await.map(drop)
    }

    /// Adds rules. A rule that exists is an error for all of them.
    pub async fn authorize_ingress(&self, group: &str, permissions: &[Permission]) -> Result<()> {
        self.edit_ingress("AuthorizeSecurityGroupIngress", group, permissions)
            .await
    }

    /// Removes rules. A rule that does not exist is an error for all of them, or is left out, as AWS likes.
    pub async fn revoke_ingress(&self, group: &str, permissions: &[Permission]) -> Result<()> {
        self.edit_ingress("RevokeSecurityGroupIngress", group, permissions)
            .await
    }

    async fn edit_ingress(&self, action: &'static str, group: &str, permissions: &[Permission]) -> Result<()> {
        let request = json!({"GroupId": group, "IpPermissions": permissions});
        let done = self.call::<Done>(Service::Ec2, action, Idempotency::Idempotent, &request);
        done.await.map(drop)
    }
}
