//! The annotations of Services, as AWS's own program reads them.

use provider_kit::annotations::{Rule, Table};

macro_rules! key {
    ($name:literal) => {
        concat!("service.beta.kubernetes.io/aws-load-balancer-", $name)
    };
}

provider_kit::annotations! {
    TYPE = key!("type"), Text, Refused, "a classic load balancer", AtCreation,
        "`nlb`: a network load balancer; `external` and `nlb-ip`: another controller is responsible; anything else: a classic one";
    INTERNAL = key!("internal"), Text, Refused, "`false`", AtCreation,
        "any text but `false` and the empty one: the load balancer has private addresses only";
    SUBNETS = key!("subnets"), List, Refused, "one subnet for each zone, by the tags of the subnets", Always,
        "IDs or `Name` tags of the subnets of the load balancer; a network load balancer keeps those that it was created with";
    EIP_ALLOCATIONS = key!("eip-allocations"), List, Refused, "none", AtCreation,
        "network: the elastic IP of each subnet, in the order of the subnets";
    PRIVATE_IPV4_ADDRESSES = key!("private-ipv4-addresses"), List, Refused, "none", AtCreation,
        "network: the private address in each subnet, in the order of the subnets";
    SECURITY_GROUPS = key!("security-groups"), List, Refused, "a security group for each load balancer", Always,
        "security groups instead of a new one; their rules are not changed. Network: only with `NLBSecurityGroupMode = Managed`";
    EXTRA_SECURITY_GROUPS = key!("extra-security-groups"), List, Refused, "none", Always,
        "classic: further security groups; refused for a network load balancer";
    CROSS_ZONE = key!("cross-zone-load-balancing-enabled"), GoBoolean, Refused, "`false`", Always,
        "each zone of the load balancer sends traffic to the nodes of all zones";
    ACCESS_LOG_ENABLED = key!("access-log-enabled"), GoBoolean, Refused, "`false`", Always,
        "whether access logs are written";
    ACCESS_LOG_EMIT_INTERVAL = key!("access-log-emit-interval"), Integer { least: 5, most: 60 }, Refused, "`60`", Always,
        "classic: how often access logs are written, in minutes: 5 or 60";
    ACCESS_LOG_S3_BUCKET_NAME = key!("access-log-s3-bucket-name"), Text, Refused, "none", Always,
        "the bucket of the access logs";
    ACCESS_LOG_S3_BUCKET_PREFIX = key!("access-log-s3-bucket-prefix"), Text, Refused, "none", Always,
        "the prefix of the access logs in their bucket";
    CONNECTION_DRAINING_ENABLED = key!("connection-draining-enabled"), GoBoolean, Refused, "`false`", Always,
        "classic: a node that is removed may complete its connections";
    CONNECTION_DRAINING_TIMEOUT = key!("connection-draining-timeout"), Integer { least: 0, most: i32::MAX as i64 }, Refused, "`300`", Always,
        "classic: for how long, in seconds";
    CONNECTION_IDLE_TIMEOUT = key!("connection-idle-timeout"), Integer { least: 1, most: i32::MAX as i64 }, Refused, "`60`", Always,
        "classic: after how many seconds without data a connection is closed";
    PROXY_PROTOCOL = key!("proxy-protocol"), Words(&["", "*"]), Refused, "none", Always,
        "classic: `*` makes all ports use the PROXY protocol; for a network load balancer use `target-group-attributes`";
    SSL_CERT = key!("ssl-cert"), Text, Refused, "none", Always,
        "the ARN of the certificate; with it, ports use TLS";
    SSL_PORTS = key!("ssl-ports"), Text, Refused, "`*`", Always,
        "comma-separated numbers or names of the ports that use TLS, without spaces; `*`: all";
    SSL_NEGOTIATION_POLICY = key!("ssl-negotiation-policy"), Text, Refused, "AWS's default", Always,
        "the name of a predefined TLS policy";
    BACKEND_PROTOCOL = key!("backend-protocol"), Text, Refused, "`tcp`", Always,
        "the protocol between the load balancer and the nodes: `tcp`, `ssl`, and for a classic one `http` and `https`";
    TARGET_GROUP_ATTRIBUTES = key!("target-group-attributes"), Text, Refused, "unchanged", Always,
        "network: `preserve_client_ip.enabled` and `proxy_protocol_v2.enabled`, as comma-separated `key=true` or `key=false`";
    TARGET_NODE_LABELS = key!("target-node-labels"), Text, Refused, "all nodes", Always,
        "comma-separated `key=value` or `key`: only nodes with all of these labels get traffic";
    ADDITIONAL_RESOURCE_TAGS = key!("additional-resource-tags"), Text, Refused, "none", Always,
        "comma-separated `key=value` tags of the load balancer; a tag that is removed here is kept";
    HEALTHCHECK_PROTOCOL = key!("healthcheck-protocol"), Text, Refused, "`TCP`, or `HTTP` with `externalTrafficPolicy: Local`", Always,
        "`TCP`, `HTTP` or `HTTPS`, and for a classic load balancer `SSL`";
    HEALTHCHECK_PORT = key!("healthcheck-port"), Text, Refused, "`traffic-port`, or `healthCheckNodePort`", Always,
        "the port of the nodes that is checked: a number or `traffic-port`";
    HEALTHCHECK_PATH = key!("healthcheck-path"), Text, Refused, "`/`, or `/healthz` with `externalTrafficPolicy: Local`", Always,
        "the path of an HTTP or HTTPS check";
    HEALTHCHECK_HEALTHY_THRESHOLD = key!("healthcheck-healthy-threshold"), Integer { least: 1, most: i32::MAX as i64 }, Refused,
        "network `3`, or `2` with `externalTrafficPolicy: Local`; classic `2`", Always,
        "successes until a node is healthy";
    HEALTHCHECK_UNHEALTHY_THRESHOLD = key!("healthcheck-unhealthy-threshold"), Integer { least: 1, most: i32::MAX as i64 }, Refused,
        "network `3`, or `2` with `externalTrafficPolicy: Local`; classic `6`", Always,
        "failures until a node is unhealthy";
    HEALTHCHECK_TIMEOUT = key!("healthcheck-timeout"), Integer { least: 1, most: i32::MAX as i64 }, Refused, "network: AWS's default; classic `5`", Always,
        "how long a check may take, in seconds";
    HEALTHCHECK_INTERVAL = key!("healthcheck-interval"), Integer { least: 1, most: i32::MAX as i64 }, Refused,
        "network `30`, or `10` with `externalTrafficPolicy: Local`; classic `10`", Always,
        "the time between two checks, in seconds";
}

/// The table of all annotations. AWS's load balancer controller reads more keys with the same beginning.
pub const TABLE: Table = Table {
    cloud: "aws",
    title: "AWS",
    prefixes: &[],
    rows: ROWS,
    rules: &[Rule::Conflict((TYPE, "nlb"), (PROXY_PROTOCOL, "*"))],
};

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_table_has_all_annotations_of_the_go_program() {
        let keys: BTreeSet<&str> = ROWS.iter().map(|row| row.key).collect();
        assert!(keys.iter().all(|key| key.starts_with(key!(""))), "{keys:?}");
        assert_eq!((ROWS.len(), keys.len()), (30, 30));
    }
}
