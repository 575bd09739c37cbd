//! The load balancers of Services.

use crate::{
    annotations as key,
    api::{
        Api, is_busy,
        types::{Certificate, LoadBalancer},
    },
    desired::{self, NETWORK},
    instances::Instances,
};
use async_trait::async_trait;
use cloud::{Error, Ingress, IpMode, Notes, Result, Spec, Status};
use provider_kit::{
    annotations::Annotation,
    json::{self, Object},
    load_balancer::{Scope, single::Single},
    rest::Collection,
};
use serde_json::{Value, json};
use std::sync::Arc;
use tracing::info;

/// How load balancers are read, built and changed.
pub struct LoadBalancers {
    pub api: Arc<Api>,
    pub instances: Arc<Instances>,
}

#[async_trait]
impl Single for LoadBalancers {
    type Object = LoadBalancer;
    const ID: Annotation = key::LOAD_BALANCER_ID;
    const DISOWN: Annotation = key::DISOWN;
    const ANNOTATIONS: &'static [Annotation] = key::ROWS;

    fn name(&self, spec: &Spec) -> String {
        desired::name(spec)
    }

    fn configuration(&self) -> Value {
        let config = &self.api.config;
        json!([config.default_type, config.tag, config.vpc_id])
    }

    fn is_marked(&self, object: &LoadBalancer) -> bool {
        let tags = json::items(&object.settings, "tags");
        let tag = self.api.config.tag.as_ref();
        tag.is_some_and(|tag| tags.iter().any(|one| one == tag.as_str()))
    }

    fn collection(&self) -> &Collection<LoadBalancer> {
        &self.api.load_balancers
    }

    async fn body(&self, spec: &Spec, existing: Option<&LoadBalancer>, scope: Scope) -> Result<Object> {
        let kind = desired::kind(spec, &self.api.config, existing)?;
        let hosts = desired::usable(spec, kind, desired::network(spec, existing)?)?;
        let ids = self.instances.ids(&hosts).await?;
        let mut droplet_ids: Vec<u64> = ids.iter().filter_map(|id| id.parse().ok()).collect();
        droplet_ids.sort_unstable();
        if let (Some(existing), Scope::Hosts) = (existing, scope) {
            return Ok(with_droplets(existing, &droplet_ids));
        }
        let certificate = match kind {
            NETWORK => None,
            _ => self.certificate(spec, existing).await?,
        };
        desired::body(spec, &self.api, kind, certificate.as_deref(), &droplet_ids, existing)
    }

    fn differences(&self, object: &LoadBalancer, body: &Object) -> Vec<String> {
        differences(&object.settings, body)
    }

    fn is_busy(&self, error: &Error) -> bool {
        is_busy(error)
    }

    /// The type is recorded, so that another default does not change it, and so is a certificate that was renewed.
    async fn finish(&self, spec: &Spec, object: &LoadBalancer, notes: &mut Notes) -> Result<()> {
        // Load balancers from before there was a cluster ID, and those that another cluster disowned, have no tag of this cluster.
        if let Some(tag) = self.api.config.tag.as_ref().filter(|_| !self.is_marked(object)) {
            self.api.tag_load_balancer(tag, &object.id).await?;
            info!(id = object.id, tag, "tagged load balancer");
        }
        let kind = desired::kind(spec, &self.api.config, Some(object))?;
        let renewed = used(object).filter(|_| key::CERTIFICATE_ID.non_empty(spec).is_some());
        let certificate = renewed.map(|id| (key::CERTIFICATE_ID, id));
        for (row, value) in [(key::TYPE, kind)].into_iter().chain(certificate) {
            if row.text(spec) != Some(value) {
                notes.annotate(row.key, value);
            }
        }
        for (row, field) in [(key::NETWORK, "network"), (key::NETWORK_STACK, "network_stack")] {
            let (asked, is) = (row.word(spec)?, json::text(&object.settings, field));
            if asked.is_some_and(|asked| asked != is) {
                let message = format!("{} cannot change: the load balancer keeps {is:?}", row.key);
                notes.warn("LoadBalancerConfigError", message);
            }
        }
        Ok(())
    }

    /// Behind the PROXY protocol nodes must not short-cut the address: pods expect its header.
    fn status(&self, spec: &Spec, object: &LoadBalancer) -> Status {
        if let Some(hostname) = key::HOSTNAME.non_empty(spec) {
            let hostname = Some(hostname.to_lowercase());
            let ingress = Ingress {
                hostname,
                ..Ingress::default()
            };
            return Status { ingress: vec![ingress] };
        }
        let proxied = object.settings.get("enable_proxy_protocol") == Some(&Value::Bool(true));
        let ips = ["ip", "ipv6"].map(|field| json::text(&object.settings, field));
        let by_ip = |ip: &str| Ingress {
            ip: Some(ip.to_owned()),
            ip_mode: proxied.then_some(IpMode::Proxy),
            ..Ingress::default()
        };
        let ips = ips.into_iter().filter(|ip| !ip.is_empty());
        Status {
            ingress: ips.map(by_ip).collect(),
        }
    }

    fn event(&self, error: &Error) -> Option<&'static str> {
        let Error::Invalid { field, reason } = error else {
            return None;
        };
        let nodes_cannot = field == "nodes" && reason.contains("ExternalIP");
        (nodes_cannot || field.ends_with(key::NETWORK_STACK.key)).then_some("LoadBalancerConfigError")
    }
}

impl LoadBalancers {
    /// The certificate that the Service asks for, or the one that has replaced it: DigitalOcean renews certificates of Let's Encrypt,
    /// and puts the new one on the load balancer. Requesting the old one would undo that.
    async fn certificate(&self, spec: &Spec, existing: Option<&LoadBalancer>) -> Result<Option<String>> {
        let Some(asked) = self.asked_certificate(spec).await? else {
            return Ok(None);
        };
        let Some(used) = existing.and_then(used).filter(|used| *used != asked) else {
            return Ok(Some(asked));
        };
        let current = self.api.certificates.find(used).await?;
        let Some(current) = current.filter(|current| current.kind == "lets_encrypt") else {
            return Ok(Some(asked));
        };
        let is_renewed = |old: Certificate| old.name == current.name;
        let is_replaced = self.api.certificates.find(&asked).await?.is_none_or(is_renewed);
        Ok(Some(if is_replaced { current.id } else { asked }))
    }

    async fn asked_certificate(&self, spec: &Spec) -> Result<Option<String>> {
        if let Some(id) = key::CERTIFICATE_ID.non_empty(spec) {
            return Ok(Some(id.to_owned()));
        }
        let Some(name) = key::CERTIFICATE_NAME.non_empty(spec) else {
            return Ok(None);
        };
        let named = self.api.certificates.list(Some(("name", name))).await?;
        let missing = || key::CERTIFICATE_NAME.invalid(format!("there is no certificate {name:?}"));
        let first = named.into_iter().next().ok_or_else(missing)?;
        Ok(Some(first.id))
    }
}

/// The certificate on a load balancer.
fn used(object: &LoadBalancer) -> Option<&str> {
    let rules = json::items(&object.settings, "forwarding_rules");
    let mut ids = rules.iter().filter_map(|rule| rule["certificate_id"].as_str());
    ids.find(|id| !id.is_empty())
}

/// The fields that differ. What the API does not change, or sets by itself, does not count.
fn differences(settings: &Object, body: &Object) -> Vec<String> {
    let defaults = json!({"size_unit": 1, "http_idle_timeout_seconds": 60, "sticky_sessions": {"type": "none"}});
    let mut fields = json::differences(settings, body, &defaults);
    fields.retain(|field| match field.as_str() {
        "algorithm" | "type" | "network" | "network_stack" | "region" | "vpc_uuid" | "subnet_uuid" | "tags" => false,
        "size_unit" => !body.contains_key("size"),
        _ => true,
    });
    fields
}

/// The load balancer as it is, with other Droplets.
fn with_droplets(object: &LoadBalancer, droplet_ids: &[u64]) -> Object {
    let mut body = object.settings.clone();
    let region = body.get("region").and_then(|region| region.get("slug")).cloned();
    body.extend([
        ("droplet_ids".to_owned(), json!(droplet_ids)),
        ("region".to_owned(), region.unwrap_or_default()),
    ]);
    // The API shows both sizes and takes one.
    let shown_only = [
        "ip",
        "ipv6",
        "created_at",
        if body.contains_key("size_unit") { "size" } else { "" },
    ];
    body.retain(|field, _| !shown_only.contains(&field.as_str()));
    json::object(Value::Object(body))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    /// As the API shows what it was sent.
    fn shown() -> Value {
        json!({
            "name": "web", "algorithm": "round_robin", "type": "REGIONAL", "network": "EXTERNAL", "network_stack": "IPV4",
            "region": {"slug": "fra1"}, "tags": ["k8s:c1"], "vpc_uuid": "v", "size": "lb-small", "size_unit": 1,
            "forwarding_rules": [
                {"entry_port": 80, "certificate_id": "", "tls_passthrough": false},
                {"entry_port": 443, "certificate_id": "c", "tls_passthrough": false},
            ],
            "health_check": {"protocol": "http", "port": 10256, "path": "/healthz", "proxy_protocol": false},
            "sticky_sessions": {}, "droplet_ids": [2, 1], "http_idle_timeout_seconds": 60, "firewall": {"allow": null, "deny": []},
            "enable_proxy_protocol": false, "ip": "192.0.2.1", "created_at": "2026-01-01T00:00:00Z",
        })
    }

    fn sent() -> Value {
        json!({
            "name": "web", "algorithm": "least_connections", "type": "REGIONAL", "network": "EXTERNAL", "network_stack": "IPV4",
            "region": "fra1", "tags": ["k8s:c1"],
            "forwarding_rules": [{"entry_port": 443, "certificate_id": "c"}, {"entry_port": 80}],
            "health_check": {"protocol": "http", "port": 10256, "path": "/healthz", "proxy_protocol": false},
            "sticky_sessions": {"type": "none"}, "droplet_ids": [1, 2], "firewall": {"allow": [], "deny": []},
            "enable_proxy_protocol": false,
        })
    }

    #[rstest]
    #[case::as_sent("", Value::Null, "")]
    #[case::name("/name", json!("other"), "name")]
    #[case::size("/size_unit", json!(2), "size_unit")]
    #[case::default_size("/size_unit", json!(1), "")]
    #[case::slug("/size", json!("lb-large"), "size")]
    #[case::same_slug("/size", json!("lb-small"), "")]
    #[case::stack_that_cannot_change("/network_stack", json!("DUALSTACK"), "")]
    #[case::rules("/forwarding_rules", json!([{"entry_port": 80}]), "forwarding_rules")]
    #[case::certificate("/forwarding_rules/0/certificate_id", json!("d"), "forwarding_rules")]
    #[case::check("/health_check/port", json!(31_000), "health_check")]
    #[case::check_that_the_api_completes("/health_check", json!({"protocol": "http", "port": 10256}), "")]
    #[case::sessions("/sticky_sessions", json!({"type": "cookies", "cookie_name": "c"}), "sticky_sessions")]
    #[case::droplets("/droplet_ids", json!([1, 3]), "droplet_ids")]
    #[case::redirect("/redirect_http_to_https", json!(true), "redirect_http_to_https")]
    #[case::proxy_protocol("/enable_proxy_protocol", json!(true), "enable_proxy_protocol")]
    #[case::keepalive("/enable_backend_keepalive", json!(true), "enable_backend_keepalive")]
    #[case::records("/disable_lets_encrypt_dns_records", json!(true), "disable_lets_encrypt_dns_records")]
    #[case::idle("/http_idle_timeout_seconds", json!(90), "http_idle_timeout_seconds")]
    #[case::clients("/firewall/allow", json!(["ip:192.0.2.9"]), "firewall")]
    #[case::immutable_settings("/vpc_uuid", json!("w"), "")]
    #[case::tags("/tags", json!([]), "")]
    fn only_what_differs_is_written(#[case] field: &str, #[case] value: Value, #[case] expected: &str) {
        let mut body = sent();
        match body.pointer_mut(field) {
            Some(current) if !field.is_empty() => *current = value,
            _ if field.is_empty() => {}
            _ => body[field.trim_start_matches('/')] = value,
        }
        assert_eq!(
            differences(&json::object(shown()), &json::object(body)).join(" "),
            expected
        );
    }

    #[test]
    fn a_size_that_is_not_asked_for_any_more_is_reset() {
        let mut large = shown();
        large["size_unit"] = 3.into();
        assert_eq!(differences(&json::object(large), &json::object(sent())), ["size_unit"]);
    }

    #[test]
    fn other_droplets_leave_everything_else_as_it_is() {
        let mut settings = shown();
        settings["project_id"] = "p".into();
        let object = LoadBalancer {
            id: "1".into(),
            status: "active".into(),
            settings: json::object(settings.clone()),
        };
        let body = Value::Object(with_droplets(&object, &[7]));
        assert_eq!((&body["droplet_ids"], &body["region"]), (&json!([7]), &json!("fra1")));
        assert_eq!(
            (&body["project_id"], &body["vpc_uuid"], body.get("size")),
            (&json!("p"), &json!("v"), None)
        );
        assert_eq!(
            (body.get("ip"), body.get("created_at"), body.get("id")),
            (None, None, None)
        );
    }
}
