//! Machines.

use crate::{Fake, REGION, list, not_found, others};
use fakecloud::{Outcome, Request, Response, Value, json};

impl Fake {
    /// Creates a Droplet with a private and a public IPv4 address; returns its ID.
    pub fn boot(&mut self, name: &str, tags: &[&str]) -> u64 {
        self.next += 1;
        let id = 3_164_000 + self.next;
        let (high, low) = (self.next / 250, self.next % 250 + 1);
        let droplet = json!({
            "id": id, "name": name, "memory": 2048, "vcpus": 1, "disk": 50, "locked": false, "status": "active",
            "created_at": "2026-07-21T18:37:44Z", "features": ["private_networking", "ipv6"],
            "backup_ids": [], "next_backup_window": null, "snapshot_ids": [], "kernel": null,
            "image": {
                "id": 63_663_980, "name": "24.04 (LTS) x64", "distribution": "Ubuntu", "slug": "ubuntu-24-04-x64", "public": true,
                "regions": [REGION], "created_at": "2026-05-15T05:47:50Z", "type": "base", "min_disk_size": 15,
                "size_gigabytes": 2.36, "description": "", "tags": [], "status": "available",
            },
            "volume_ids": [],
            "size": {
                "slug": "s-1vcpu-2gb", "memory": 2048, "vcpus": 1, "disk": 50, "transfer": 2.0, "price_monthly": 12.0,
                "price_hourly": 0.017_86, "regions": [REGION], "available": true, "description": "Basic",
            },
            "size_slug": "s-1vcpu-2gb",
            "networks": {
                "v4": [
                    {"ip_address": format!("10.114.{high}.{low}"), "netmask": "255.255.240.0", "gateway": "", "type": "private"},
                    {"ip_address": format!("198.18.{high}.{low}"), "netmask": "255.255.240.0", "gateway": "198.18.0.1", "type": "public"},
                ],
                "v6": [
                    {"ip_address": format!("2001:db8::{:x}", self.next), "netmask": 64, "gateway": "2001:db8::1", "type": "public"},
                ],
            },
            "region": others::region(),
            "tags": tags,
            "vpc_uuid": "760e09ef-dc84-11e8-981e-3cfdfeaae000",
        });
        self.droplets.insert(id, droplet);
        id
    }

    /// Changes a Droplet in place: its status, its networks, ….
    pub fn droplet_mut(&mut self, id: u64) -> Option<&mut Value> {
        self.droplets.get_mut(&id)
    }

    /// Destroys a Droplet.
    pub fn destroy(&mut self, id: u64) {
        self.droplets.remove(&id);
    }

    /// The Droplet with this name.
    pub fn droplet_named(&self, name: &str) -> Option<u64> {
        let mut droplets = self.droplets.iter();
        droplets.find(|(_, droplet)| droplet["name"] == name).map(|(id, _)| *id)
    }

    /// The kinds and addresses of a Droplet's networks.
    pub fn addresses(&self, id: u64) -> Vec<(String, String)> {
        let networks = self.droplets.get(&id).map(|droplet| &droplet["networks"]);
        let all = networks
            .into_iter()
            .flat_map(|networks| [&networks["v4"], &networks["v6"]]);
        let all = all.filter_map(Value::as_array).flatten();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        all.map(|network| (text(&network["type"]), text(&network["ip_address"])))
            .collect()
    }

    /// The name of a Droplet.
    pub fn droplet_name(&self, id: u64) -> Option<&str> {
        self.droplets.get(&id)?["name"].as_str()
    }

    pub(crate) fn droplets(&self, request: &Request, method: &str, rest: &[&str]) -> Outcome {
        match (method, rest) {
            ("GET", []) => {
                let (name, tag) = (request.query.get("name"), request.query.get("tag_name"));
                let tagged = |droplet: &Value, tag: &str| {
                    droplet["tags"]
                        .as_array()
                        .is_some_and(|tags| tags.contains(&tag.into()))
                };
                let wanted = |droplet: &&Value| {
                    name.is_none_or(|name| droplet["name"] == name) && tag.is_none_or(|tag| tagged(droplet, tag))
                };
                list(
                    request,
                    "droplets",
                    self.droplets.values().filter(wanted).cloned().collect(),
                    &["name", "tag_name"],
                )
            }
            ("GET", [id]) => {
                let droplet = id.parse().ok().and_then(|id: u64| self.droplets.get(&id));
                Ok(Response::ok(json!({"droplet": droplet.ok_or_else(not_found)?})))
            }
            _ => Err(Response::unknown(request)),
        }
    }
}
