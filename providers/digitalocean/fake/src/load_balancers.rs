//! Load balancers: new, then active; every change takes its time, during which no other one is accepted.

use crate::{Fake, REGION, body, invalid, list, not_found, others, refuse};
use fakecloud::{Now, Outcome, Request, Response, Value, json};
use serde_json::Map;

/// A load balancer.
pub(crate) struct Entry {
    pub object: Value,
    /// When its last change is done, in seconds since 1970.
    busy_until: f64,
    number: u64,
}

/// What a request may have.
const FIELDS: &[&str] = &[
    "name",
    "algorithm",
    "region",
    "size",
    "size_unit",
    "type",
    "forwarding_rules",
    "health_check",
    "sticky_sessions",
    "droplet_ids",
    "tag",
    "tags",
    "redirect_http_to_https",
    "enable_proxy_protocol",
    "enable_backend_keepalive",
    "vpc_uuid",
    "subnet_uuid",
    "disable_lets_encrypt_dns_records",
    "project_id",
    "http_idle_timeout_seconds",
    "firewall",
    "network",
    "network_stack",
    "ip",
    "tls_cipher_policy",
];

/// The values that a request may leave out.
fn defaults() -> Value {
    json!({
        "algorithm": "round_robin", "type": "REGIONAL", "network": "EXTERNAL", "network_stack": "IPV4", "tag": "", "tags": [],
        "redirect_http_to_https": false, "enable_proxy_protocol": false, "enable_backend_keepalive": false,
        "disable_lets_encrypt_dns_records": false, "http_idle_timeout_seconds": 60, "droplet_ids": [],
        "sticky_sessions": {"type": "none"}, "firewall": {"deny": [], "allow": []}, "tls_cipher_policy": "DEFAULT",
        "vpc_uuid": "760e09ef-dc84-11e8-981e-3cfdfeaae000", "project_id": "4de7ac8b-495b-4884-9a69-1050c6793cd6",
        "health_check": {
            "protocol": "http", "port": 80, "path": "/", "check_interval_seconds": 10, "response_timeout_seconds": 5,
            "healthy_threshold": 5, "unhealthy_threshold": 3,
        },
    })
}

/// Makes active what had its time.
pub(crate) fn settle(fake: &mut Fake, now: Now) {
    let now = seconds(now);
    for entry in fake.load_balancers.values_mut() {
        if entry.object["status"] == "new" && entry.busy_until <= now {
            entry.object["status"] = "active".into();
            entry.object["ip"] = match entry.object["ip"].as_str() {
                Some("") | None => format!("203.0.{}.{}", 113 + entry.number / 250, entry.number % 250 + 1).into(),
                Some(own) => own.into(),
            };
            if entry.object["network_stack"] == "DUALSTACK" {
                entry.object["ipv6"] = format!("2001:db8:1::{:x}", entry.number).into();
            }
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "the fake does not live for as long")]
fn seconds(now: Now) -> f64 {
    now.wall.as_millisecond() as f64 / 1_000.0
}

impl Fake {
    /// The load balancers, as the API shows them.
    pub fn all_load_balancers(&self) -> Vec<Value> {
        self.load_balancers.values().map(|entry| entry.object.clone()).collect()
    }

    /// Changes a load balancer behind its owner's back.
    pub fn load_balancer_mut(&mut self, id: &str) -> Option<&mut Value> {
        self.load_balancers.get_mut(id).map(|entry| &mut entry.object)
    }

    /// Deletes a load balancer behind its owner's back.
    pub fn drop_load_balancer(&mut self, id: &str) {
        self.load_balancers.remove(id);
    }

    pub(crate) fn load_balancers(&mut self, request: &Request, method: &str, rest: &[&str], now: Now) -> Outcome {
        match (method, rest) {
            ("GET", []) => list(request, "load_balancers", self.all_load_balancers(), &[]),
            ("POST", []) => self.create(request, now),
            ("GET", [id]) => {
                let entry = self.load_balancers.get(*id).ok_or_else(not_found)?;
                Ok(Response::ok(json!({"load_balancer": entry.object})))
            }
            ("PUT", [id]) => self.update(request, id, now),
            ("DELETE", [id]) => {
                self.load_balancers.remove(*id).ok_or_else(not_found)?;
                Ok(Response::empty(204))
            }
            _ => Err(Response::unknown(request)),
        }
    }

    fn create(&mut self, request: &Request, now: Now) -> Outcome {
        let body = body(request, FIELDS)?;
        self.check(&body)?;
        if self.load_balancers.len() >= self.load_balancer_limit {
            return Err(refuse(
                403,
                "forbidden",
                "You have reached the limit of load balancers for your account; it would be exceeded",
            ));
        }
        if self
            .load_balancers
            .values()
            .any(|entry| Some(&entry.object["name"]) == body.get("name"))
        {
            return Err(invalid("Load Balancer name must be unique"));
        }
        let id = self.id();
        let mut object = settings(&body);
        object["id"] = id.as_str().into();
        object["status"] = "new".into();
        object["created_at"] = "2026-07-21T18:37:44Z".into();
        object["ip"] = body.get("ip").cloned().unwrap_or_else(|| "".into());
        object["region"] = others::region();
        self.put_tags(&object["tags"]);
        let entry = Entry {
            object: object.clone(),
            busy_until: seconds(now) + self.provisioning.as_secs_f64(),
            number: self.next,
        };
        self.load_balancers.insert(id, entry);
        Ok(Response::json(202, json!({"load_balancer": object})))
    }

    fn update(&mut self, request: &Request, id: &str, now: Now) -> Outcome {
        let body = body(request, FIELDS)?;
        let entry = self.load_balancers.get(id).ok_or_else(not_found)?;
        let old = entry.object.clone();
        if entry.busy_until > seconds(now) {
            return Err(refuse(
                403,
                "forbidden",
                "Load Balancer can't be updated while it processes previous actions",
            ));
        }
        self.check(&body)?;
        for fixed in ["type", "network"] {
            if body.get(fixed).is_some_and(|value| *value != old[fixed]) {
                return Err(invalid(&format!("{fixed} cannot be changed")));
            }
        }
        let mut object = settings(&body);
        // What a change does not reach.
        for kept in [
            "id",
            "status",
            "created_at",
            "ip",
            "ipv6",
            "region",
            "vpc_uuid",
            "tags",
            "project_id",
            "network_stack",
            "type",
            "network",
        ] {
            if let Some(value) = old.get(kept) {
                object[kept] = value.clone();
            }
        }
        let busy_until = seconds(now) + self.provisioning.as_secs_f64();
        if let Some(entry) = self.load_balancers.get_mut(id) {
            entry.object.clone_from(&object);
            entry.busy_until = busy_until;
        }
        Ok(Response::ok(json!({"load_balancer": object})))
    }

    fn check(&self, body: &Map<String, Value>) -> Result<(), Response> {
        let text = |key: &str| body.get(key).and_then(Value::as_str).unwrap_or_default();
        if text("name").is_empty() {
            return Err(invalid("name is required"));
        }
        if text("region") != REGION {
            return Err(invalid("region is invalid"));
        }
        if body.contains_key("size") && body.contains_key("size_unit") {
            return Err(invalid("only one of size and size_unit can be provided"));
        }
        let empty = Vec::new();
        let rules = body.get("forwarding_rules").and_then(Value::as_array).unwrap_or(&empty);
        if rules.is_empty() {
            return Err(invalid("forwarding_rules is required"));
        }
        for (index, rule) in rules.iter().enumerate() {
            self.check_rule(rule)?;
            let same = |other: &Value| {
                other["entry_port"] == rule["entry_port"]
                    && (other["entry_protocol"] == "udp") == (rule["entry_protocol"] == "udp")
            };
            let http3 = |rule: &Value| rule["entry_protocol"] == "http3";
            if rules[..index]
                .iter()
                .any(|other| same(other) && !http3(other) && !http3(rule))
            {
                return Err(invalid("forwarding_rules must have unique entry ports"));
            }
        }
        let droplets = body.get("droplet_ids").and_then(Value::as_array).unwrap_or(&empty);
        let missing = droplets
            .iter()
            .find(|id| id.as_u64().is_none_or(|id| !self.droplets.contains_key(&id)));
        match missing {
            Some(id) => Err(invalid(&format!("droplet_ids: Droplet {id} does not exist"))),
            None => Ok(()),
        }
    }

    fn check_rule(&self, rule: &Value) -> Result<(), Response> {
        const PROTOCOLS: [&str; 6] = ["tcp", "udp", "http", "https", "http2", "http3"];
        let protocol = rule["entry_protocol"].as_str().unwrap_or_default();
        if !PROTOCOLS.contains(&protocol) {
            return Err(invalid("forwarding_rules: entry_protocol is invalid"));
        }
        let encrypted = ["https", "http2", "http3"].contains(&protocol);
        let certificate = rule["certificate_id"].as_str();
        if encrypted && certificate.is_none() && rule["tls_passthrough"] != true {
            return Err(invalid(
                "forwarding_rules: a certificate or tls_passthrough is required",
            ));
        }
        match certificate {
            Some(id) if !self.certificates.contains_key(id) => {
                Err(invalid("forwarding_rules: certificate does not exist"))
            }
            _ => Ok(()),
        }
    }
}

fn settings(body: &Map<String, Value>) -> Value {
    let mut object = defaults();
    for (key, value) in body.iter().filter(|(key, _)| key.as_str() != "region") {
        object[key] = value.clone();
    }
    if object.get("size").is_none() && object.get("size_unit").is_none() {
        object["size_unit"] = 1.into();
        object["size"] = "lb-small".into();
    }
    if let Some(rules) = object["forwarding_rules"].as_array_mut() {
        for rule in rules {
            for (key, default) in [("certificate_id", json!("")), ("tls_passthrough", json!(false))] {
                if rule.get(key).is_none() {
                    rule[key] = default;
                }
            }
        }
    }
    object
}
