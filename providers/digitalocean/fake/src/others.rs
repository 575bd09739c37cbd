//! Certificates, firewalls, tags, regions and the account.

use crate::{Fake, REGION, body, invalid, list, not_found};
use fakecloud::{Now, Outcome, Request, Response, Value, json};

pub(crate) fn account() -> Value {
    json!({
        "droplet_limit": 25, "floating_ip_limit": 5, "reserved_ip_limit": 5, "volume_limit": 10, "email": "sammy@example.com",
        "name": "Sammy", "uuid": "b6fr89dbf6d9156cace5f3c78dc9851d957381ef", "email_verified": true, "status": "active",
        "status_message": "", "team": {"name": "Team", "uuid": "5df3e3004a17e242b7c20ca6c9fc25b701a47ece"},
    })
}

pub(crate) fn region() -> Value {
    json!({
        "slug": REGION, "name": "Frankfurt 1", "sizes": ["s-1vcpu-2gb"], "available": true,
        "features": ["private_networking", "ipv6", "metadata"],
    })
}

impl Fake {
    /// Adds a certificate of the type `custom` or `lets_encrypt`; returns its ID.
    pub fn add_certificate(&mut self, name: &str, kind: &str) -> String {
        let id = self.id();
        let certificate = json!({
            "id": id, "name": name, "type": kind, "state": "verified", "dns_names": ["www.example.com"],
            "not_after": "2027-02-22T00:23:00Z", "sha1_fingerprint": "dfcc9f57d86bf58e321c2c6c31c7a971be244ac7",
            "created_at": "2026-02-08T16:02:37Z",
        });
        self.certificates.insert(id.clone(), certificate);
        id
    }

    /// Removes a certificate, as Let's Encrypt's renewal does with the old one.
    pub fn remove_certificate(&mut self, id: &str) {
        self.certificates.remove(id);
    }

    /// The firewalls, as the API shows them.
    pub fn all_firewalls(&self) -> Vec<Value> {
        self.firewalls.values().cloned().collect()
    }

    /// Changes a firewall behind its owner's back.
    pub fn firewall_mut(&mut self, id: &str) -> Option<&mut Value> {
        self.firewalls.get_mut(id)
    }

    /// Deletes a firewall behind its owner's back.
    pub fn drop_firewall(&mut self, id: &str) {
        self.firewalls.remove(id);
    }

    pub(crate) fn certificates(&self, request: &Request, method: &str, rest: &[&str]) -> Outcome {
        match (method, rest) {
            ("GET", []) => {
                let name = request.query.get("name");
                let wanted = |certificate: &&Value| name.is_none_or(|name| certificate["name"] == name);
                let certificates = self.certificates.values().filter(wanted).cloned().collect();
                list(request, "certificates", certificates, &["name"])
            }
            ("GET", [id]) => Ok(Response::ok(
                json!({"certificate": self.certificates.get(*id).ok_or_else(not_found)?}),
            )),
            _ => Err(Response::unknown(request)),
        }
    }

    pub(crate) fn firewalls(&mut self, request: &Request, method: &str, rest: &[&str], _: Now) -> Outcome {
        match (method, rest) {
            ("GET", []) => list(request, "firewalls", self.all_firewalls(), &[]),
            ("POST", []) => {
                let id = self.id();
                let firewall = self.firewall(request, &id)?;
                if self.firewalls.values().any(|other| other["name"] == firewall["name"]) {
                    return Err(invalid("duplicate name"));
                }
                self.firewalls.insert(id, firewall.clone());
                Ok(Response::json(202, json!({"firewall": firewall})))
            }
            ("GET", [id]) => Ok(Response::ok(
                json!({"firewall": self.firewalls.get(*id).ok_or_else(not_found)?}),
            )),
            ("PUT", [id]) => {
                self.firewalls.get(*id).ok_or_else(not_found)?;
                let firewall = self.firewall(request, id)?;
                self.firewalls.insert((*id).to_owned(), firewall.clone());
                Ok(Response::ok(json!({"firewall": firewall})))
            }
            ("DELETE", [id]) => {
                self.firewalls.remove(*id).ok_or_else(not_found)?;
                Ok(Response::empty(204))
            }
            _ => Err(Response::unknown(request)),
        }
    }

    /// The firewall that a request asks for. The API calls all ports `0`, and an ICMP rule has them, too.
    fn firewall(&self, request: &Request, id: &str) -> Result<Value, Response> {
        let body = body(
            request,
            &["name", "inbound_rules", "outbound_rules", "droplet_ids", "tags"],
        )?;
        let part = |key: &str| body.get(key).filter(|value| !value.is_null()).cloned();
        let name = part("name")
            .filter(|name| *name != "")
            .ok_or_else(|| invalid("name is required"))?;
        let tags = part("tags").unwrap_or_else(|| json!([]));
        let known = |tag: &Value| {
            tag.as_str()
                .is_some_and(|tag| self.tags.iter().any(|known| known == tag))
        };
        if let Some(tag) = tags.as_array().and_then(|tags| tags.iter().find(|tag| !known(tag))) {
            return Err(invalid(&format!("tag {tag} does not exist")));
        }
        let rules = |key: &str| {
            let mut rules = part(key).unwrap_or_else(|| json!([]));
            for rule in rules.as_array_mut().into_iter().flatten() {
                if rule.get("ports").is_none_or(|ports| *ports == "all" || *ports == "") {
                    rule["ports"] = "0".into();
                }
            }
            rules
        };
        Ok(json!({
            "id": id, "name": name, "status": "succeeded", "created_at": "2026-05-23T21:24:00Z", "pending_changes": [],
            "inbound_rules": rules("inbound_rules"), "outbound_rules": rules("outbound_rules"),
            "droplet_ids": part("droplet_ids").unwrap_or_else(|| json!([])), "tags": tags,
        }))
    }

    /// Creates a tag.
    pub fn add_tag(&mut self, name: &str) {
        self.put_tags(&json!([name]));
    }

    /// Creates the tags that do not exist yet.
    pub(crate) fn put_tags(&mut self, tags: &Value) {
        for tag in tags.as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !self.tags.iter().any(|known| known == tag) {
                self.tags.push(tag.to_owned());
            }
        }
    }

    pub(crate) fn tags(&mut self, request: &Request, method: &str, rest: &[&str]) -> Outcome {
        match (method, rest) {
            ("GET", []) => list(
                request,
                "tags",
                self.tags.iter().map(|tag| tag_object(tag)).collect(),
                &[],
            ),
            ("POST", []) => {
                let body = body(request, &["name"])?;
                let name = body.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
                let name = name.ok_or_else(|| invalid("name is required"))?;
                self.add_tag(name);
                Ok(Response::json(201, json!({"tag": tag_object(name)})))
            }
            ("POST", [tag, "resources"]) => {
                let body = body(request, &["resources"])?;
                if !self.tags.iter().any(|known| known == tag) {
                    return Err(not_found());
                }
                for resource in body.get("resources").and_then(Value::as_array).into_iter().flatten() {
                    let id = resource["resource_id"].as_str().unwrap_or_default();
                    let object = self
                        .load_balancer_mut(id)
                        .filter(|_| resource["resource_type"] == "load_balancer");
                    let tags = object
                        .and_then(|object| object["tags"].as_array_mut())
                        .ok_or_else(not_found)?;
                    if !tags.contains(&(*tag).into()) {
                        tags.push((*tag).into());
                    }
                }
                Ok(Response::empty(204))
            }
            _ => Err(Response::unknown(request)),
        }
    }
}

fn tag_object(name: &str) -> Value {
    let none = json!({"count": 0});
    json!({"name": name, "resources": {
        "count": 0, "droplets": none, "images": none, "volumes": none, "volume_snapshots": none, "databases": none,
    }})
}
