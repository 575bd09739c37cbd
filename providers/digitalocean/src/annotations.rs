//! The annotations of Services, as DigitalOcean's own program reads them.

use provider_kit::annotations::{Rule, Table};

macro_rules! key {
    ($name:literal) => {
        concat!("service.beta.kubernetes.io/do-loadbalancer-", $name)
    };
}

provider_kit::annotations! {
    LOAD_BALANCER_ID = "kubernetes.digitalocean.com/load-balancer-id", Text, Refused, "written", Written,
        "the ID of the load balancer; set it to use an existing one";
    DISOWN = "service.kubernetes.io/do-loadbalancer-disown", GoBoolean, Refused, "`false`", Always,
        "the load balancer is neither changed nor deleted: another Service, or another cluster, is to own it";
    FIREWALL_MANAGED = "kubernetes.digitalocean.com/firewall-managed", GoBoolean, Ignored, "`true`", Always,
        "whether the public firewall opens the ports of this Service";
    NAME = key!("name"), Text, Refused, "`a` and the UID", Always,
        "the name of the load balancer";
    TYPE = key!("type"), Words(&["", "REGIONAL", "REGIONAL_NETWORK"]), Refused, "`DEFAULT_LB_TYPE`, then written", AtCreation,
        "`REGIONAL`: a proxy for HTTP and TCP; `REGIONAL_NETWORK`: passes packets through";
    NETWORK = key!("network"), Words(&["", "EXTERNAL", "INTERNAL"]), Refused, "`EXTERNAL`", AtCreation,
        "whether the load balancer has a public address";
    NETWORK_STACK = key!("network-stack"), Words(&["", "IPV4", "DUALSTACK"]), Refused,
        "`IPV4` if internal, or if a node behind a `REGIONAL_NETWORK` one lacks IPv4 or IPv6; else `DUALSTACK`", AtCreation,
        "the IP families of the load balancer";
    SUBNET_UUID = key!("subnet-uuid"), Text, Refused, "none", AtCreation,
        "the subnet of the load balancer";
    IP = key!("ip"), Text, Refused, "none", AtCreation,
        "an address of your own (BYOIP)";
    SIZE_SLUG = key!("size-slug"), Words(&["", "lb-small", "lb-medium", "lb-large"]), Refused, "none", Always,
        "the size (deprecated: use `size-unit`)";
    SIZE_UNIT = key!("size-unit"), Integer { least: 0, most: 200 }, Refused, "`1`", Always,
        "the number of nodes of the load balancer";
    PROTOCOL = key!("protocol"), Words(&["tcp", "http", "https", "http2", "http3"]), Refused, "`tcp`", Always,
        "the protocol of ports that no other annotation names";
    HTTP_PORTS = key!("http-ports"), Ports, Refused, "none", Always,
        "ports that use HTTP";
    TLS_PORTS = key!("tls-ports"), Ports, Refused, "443 with a certificate or `tls-passthrough`", Always,
        "ports that use HTTPS";
    HTTP2_PORTS = key!("http2-ports"), Ports, Refused, "none", Always,
        "ports that use HTTP/2";
    HTTP3_PORT = key!("http3-port"), Integer { least: 1, most: 65_535 }, Refused, "none", Always,
        "the port that also uses HTTP/3; needs a certificate";
    TLS_PASSTHROUGH = key!("tls-passthrough"), GoBoolean, Ignored, "`false`", Always,
        "encrypted connections end on the pods";
    CERTIFICATE_ID = key!("certificate-id"), Text, Refused, "none", Always,
        "the certificate; rewritten when DigitalOcean renews it";
    CERTIFICATE_NAME = key!("certificate-name"), Text, Refused, "none", Always,
        "the name of the certificate, if there is no `certificate-id`";
    REDIRECT_HTTP_TO_HTTPS = key!("redirect-http-to-https"), GoBoolean, Refused, "`false`", Always,
        "HTTP requests are redirected to HTTPS";
    DISABLE_LETS_ENCRYPT_DNS_RECORDS = key!("disable-lets-encrypt-dns-records"), GoBoolean, Refused, "`false`", Always,
        "no DNS records are created for a certificate of Let's Encrypt";
    ENABLE_PROXY_PROTOCOL = key!("enable-proxy-protocol"), GoBoolean, Refused, "`false`", Always,
        "nodes learn the address of the client by the PROXY protocol; the status then has `ipMode: Proxy`";
    ENABLE_BACKEND_KEEPALIVE = key!("enable-backend-keepalive"), GoBoolean, Refused, "`false`", Always,
        "HTTP connections to the nodes are kept open";
    HTTP_IDLE_TIMEOUT_SECONDS = key!("http-idle-timeout-seconds"), Integer { least: 0, most: i64::MAX }, Refused, "`60`", Always,
        "how long an HTTP connection may be idle";
    STICKY_SESSIONS_TYPE = key!("sticky-sessions-type"), Words(&["", "none", "cookies"]), Ignored, "`none`", Always,
        "`cookies`: a client stays on its node";
    STICKY_SESSIONS_COOKIE_NAME = key!("sticky-sessions-cookie-name"), Text, Refused, "none", Always,
        "the name of the cookie; needed with `cookies`";
    STICKY_SESSIONS_COOKIE_TTL = key!("sticky-sessions-cookie-ttl"), Integer { least: 0, most: i64::MAX }, Refused, "none", Always,
        "how long the cookie is valid, in seconds; needed with `cookies`";
    ALGORITHM = key!("algorithm"), Words(&["", "round_robin", "least_connections"]), Ignored, "`round_robin`", Always,
        "how connections are distributed (deprecated: without effect)";
    OVERRIDE_HEALTH_CHECK = key!("override-health-check"), Presence, Refused, "none", Always,
        "with any value, the next three annotations count; without, the health check of kube-proxy is used";
    HEALTHCHECK_PATH = key!("healthcheck-path"), Text, Refused, "none", Always,
        "the path of an HTTP health check";
    HEALTHCHECK_PORT = key!("healthcheck-port"), Ports, Refused, "the first TCP port", Always,
        "the port of the Service that is checked";
    HEALTHCHECK_PROTOCOL = key!("healthcheck-protocol"), Words(&["", "tcp", "http", "https"]), Refused,
        "`http` with a path, else `tcp`", Always,
        "the protocol of the health check";
    HEALTHCHECK_CHECK_INTERVAL_SECONDS = key!("healthcheck-check-interval-seconds"), Integer { least: 0, most: i64::MAX }, Refused,
        "`3`", Always,
        "the time between two health checks";
    HEALTHCHECK_RESPONSE_TIMEOUT_SECONDS = key!("healthcheck-response-timeout-seconds"), Integer { least: 0, most: i64::MAX }, Refused,
        "`5`", Always,
        "how long a health check may take";
    HEALTHCHECK_UNHEALTHY_THRESHOLD = key!("healthcheck-unhealthy-threshold"), Integer { least: 0, most: i64::MAX }, Refused,
        "`3`", Always,
        "failures until a node is unhealthy";
    HEALTHCHECK_HEALTHY_THRESHOLD = key!("healthcheck-healthy-threshold"), Integer { least: 0, most: i64::MAX }, Refused,
        "`5`", Always,
        "successes until a node is healthy";
    ALLOW_RULES = key!("allow-rules"), List, Refused, "all clients", Always,
        "`ip:` and `cidr:` rules of clients that may connect, if `spec.loadBalancerSourceRanges` is empty";
    DENY_RULES = key!("deny-rules"), List, Refused, "none", Always,
        "`ip:` and `cidr:` rules of clients that may not connect";
    HOSTNAME = key!("hostname"), Text, Refused, "none", Always,
        "stands in the Service's status instead of the addresses";
}

/// The table of all annotations.
pub const TABLE: Table = Table {
    cloud: "digitalocean",
    title: "DigitalOcean",
    prefixes: &[key!("")],
    rows: ROWS,
    rules: &[
        Rule::Exclusive(SIZE_SLUG, SIZE_UNIT),
        Rule::Needs(
            STICKY_SESSIONS_TYPE,
            "cookies",
            &[STICKY_SESSIONS_COOKIE_NAME, STICKY_SESSIONS_COOKIE_TTL],
        ),
        Rule::Conflict((NETWORK, "INTERNAL"), (NETWORK_STACK, "DUALSTACK")),
    ],
};

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_table_has_all_annotations_of_the_go_program() {
        let keys: BTreeSet<&str> = ROWS.iter().map(|row| row.key).collect();
        let prefixed = keys.iter().filter(|key| key.starts_with(key!(""))).count();
        assert_eq!((ROWS.len(), keys.len(), prefixed), (39, 39, 36));
    }
}
