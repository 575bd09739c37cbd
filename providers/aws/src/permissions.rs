//! The permissions that the provider needs: the actions that it calls, as IAM names them.

use serde::Serialize;
use serde_json::{Value, json};

/// Actions that change nothing.
pub const READ: &[&str] = &[
    "ec2:DescribeAvailabilityZones",
    "ec2:DescribeInstanceTopology",
    "ec2:DescribeInstances",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeRouteTables",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeSubnets",
    "elasticloadbalancing:DescribeListeners",
    "elasticloadbalancing:DescribeLoadBalancerAttributes",
    "elasticloadbalancing:DescribeLoadBalancers",
    "elasticloadbalancing:DescribeTags",
    "elasticloadbalancing:DescribeTargetGroupAttributes",
    "elasticloadbalancing:DescribeTargetGroups",
    "elasticloadbalancing:DescribeTargetHealth",
];

/// Actions that change something.
pub const WRITE: &[&str] = &[
    "ec2:AuthorizeSecurityGroupIngress",
    "ec2:CreateRoute",
    "ec2:CreateSecurityGroup",
    "ec2:CreateTags",
    "ec2:DeleteRoute",
    "ec2:DeleteSecurityGroup",
    "ec2:DeleteTags",
    "ec2:ModifyInstanceAttribute",
    "ec2:RevokeSecurityGroupIngress",
    "elasticloadbalancing:AddTags",
    "elasticloadbalancing:ApplySecurityGroupsToLoadBalancer",
    "elasticloadbalancing:AttachLoadBalancerToSubnets",
    "elasticloadbalancing:ConfigureHealthCheck",
    "elasticloadbalancing:CreateListener",
    "elasticloadbalancing:CreateLoadBalancer",
    "elasticloadbalancing:CreateLoadBalancerListeners",
    "elasticloadbalancing:CreateLoadBalancerPolicy",
    "elasticloadbalancing:CreateTargetGroup",
    "elasticloadbalancing:DeleteListener",
    "elasticloadbalancing:DeleteLoadBalancer",
    "elasticloadbalancing:DeleteLoadBalancerListeners",
    "elasticloadbalancing:DeleteTargetGroup",
    "elasticloadbalancing:DeregisterInstancesFromLoadBalancer",
    "elasticloadbalancing:DeregisterTargets",
    "elasticloadbalancing:DetachLoadBalancerFromSubnets",
    "elasticloadbalancing:ModifyListener",
    "elasticloadbalancing:ModifyLoadBalancerAttributes",
    "elasticloadbalancing:ModifyTargetGroup",
    "elasticloadbalancing:ModifyTargetGroupAttributes",
    "elasticloadbalancing:RegisterInstancesWithLoadBalancer",
    "elasticloadbalancing:RegisterTargets",
    "elasticloadbalancing:SetLoadBalancerPoliciesForBackendServer",
    "elasticloadbalancing:SetLoadBalancerPoliciesOfListener",
    "elasticloadbalancing:SetSecurityGroups",
];

/// AWS itself calls it when the first load balancer of an account is created.
const SERVICE_LINKED_ROLE: &str = "iam:CreateServiceLinkedRole";

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Policy {
    version: &'static str,
    statement: Vec<Statement>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Statement {
    sid: &'static str,
    effect: &'static str,
    action: Vec<&'static str>,
    resource: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    condition: Option<Value>,
}

/// The IAM policy that allows them, and nothing else.
#[must_use]
pub fn policy() -> String {
    let allow = |sid, actions: &[&'static str], condition| Statement {
        sid,
        effect: "Allow",
        action: actions.to_vec(),
        resource: "*",
        condition,
    };
    let of_load_balancers = json!({"StringEquals": {"iam:AWSServiceName": "elasticloadbalancing.amazonaws.com"}});
    let policy = Policy {
        version: "2012-10-17",
        statement: vec![
            allow("Read", READ, None),
            allow("Write", WRITE, None),
            allow("FirstLoadBalancer", &[SERVICE_LINKED_ROLE], Some(of_load_balancers)),
        ],
    };
    serde_json::to_string_pretty(&policy).map_or_else(|error| error.to_string(), |text| text + "\n")
}
