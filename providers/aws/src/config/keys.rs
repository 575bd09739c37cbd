//! The keys of `cloud.conf`.

use provider_kit::keys::{
    Key,
    Kind::{Boolean, Int, List, Text},
    Section, Table,
};

/// The keys, as the Go program names them.
#[rustfmt::skip]
pub const KEYS: Table = Table(&[
    Section::new("Global", &[
        Key::new("Zone", Text, "", "an availability zone; the region is the one it is in"),
        Key::new("Region", Text, "", "the region, if there is no `Zone`; by default `AWS_REGION`, or that of the instance that the manager runs on"),
        Key::new("VPC", Text, "", "the VPC of the cluster; with `SubnetID` or `RoleARN`, and a cluster ID, the manager can run anywhere. By default that of the instance that the manager runs on"),
        Key::new("SubnetID", Text, "", "the subnet of load balancers if no subnet has the tags; see `VPC`"),
        Key::new("RouteTableID", Text, "", "the route table for routes to pods; by default the one with the tag of the cluster"),
        Key::new("RoleARN", Text, "", "the IAM role to assume"),
        Key::new("SourceARN", Text, "", "the header `x-amz-source-arn` of the call that assumes the role"),
        Key::new("KubernetesClusterTag", Text, "", "the cluster ID; objects also get the old tag `KubernetesCluster`"),
        Key::new("KubernetesClusterID", Text, "", "the cluster ID; by default that in the tags of the instance that the manager runs on"),
        Key::new("DisableSecurityGroupIngress", Boolean, "false", "do not change the security groups of nodes"),
        Key::new("ElbSecurityGroup", Text, "", "a security group for all classic load balancers; its rules are never changed"),
        Key::new("NodeIPFamilies", List, "ipv4", "`ipv4` or `ipv6`; the order is that of the nodes' addresses"),
        Key::new("ClusterServiceLoadBalancerHealthProbeMode", Text, "ServiceNodePort", "`Shared`: load balancers of Services with `externalTrafficPolicy: Cluster` check kube-proxy"),
        Key::new("ClusterServiceSharedLoadBalancerHealthProbePort", Int, "10256", "the port of the shared health check"),
        Key::new("ClusterServiceSharedLoadBalancerHealthProbePath", Text, "/healthz", "the path of the shared health check"),
        Key::new("SupportedTopologyInstanceTypePattern", Text, "", "a regular expression: nodes of these instance types are not initialised without their network topology"),
        Key::new("NLBSecurityGroupMode", Text, "", "`Managed`: each network load balancer gets a security group"),
    ]),
    Section::new("ServiceOverride", &[
        Key::new("Service", Text, "", "the service: `EC2`, `Elastic Load Balancing`, `Elastic Load Balancing v2`, `STS` or `ec2imds`; required"),
        Key::new("Region", Text, "", "the region that it holds for; required"),
        Key::new("URL", Text, "", "where the service is; required"),
        Key::new("SigningRegion", Text, "", "the region in signatures; required"),
        Key::new("SigningMethod", Text, "", "read, and not used"),
        Key::new("SigningName", Text, "", "the service in signatures"),
    ])
    .with_subsections(),
]);

/// The page of the reference about the keys.
#[must_use]
pub fn reference_page() -> String {
    KEYS.page("Configuration file for AWS")
}
