//! What the operator of an `OpenStack` does, over the same HTTP as everybody.

use crate::support::{open, surroundings};
use conformance::Stop;
use openstack::{
    api::{Call, Service, Session},
    config::Config,
};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How long a server may take to come up, go down or go away.
const PATIENCE: Duration = Duration::from_mins(2);

/// Somebody with a project of their own.
pub struct Operator {
    session: Session,
}

/// Where the machines of a test are.
#[derive(Debug, Clone)]
pub struct Place {
    pub network: String,
    pub subnet: String,
    pub router: String,
}

impl Operator {
    /// Logs in when first asked something.
    pub fn new(config: &Config) -> Result<Self, Stop> {
        let session = Session::new(config.global.clone(), PATIENCE, &surroundings(open()));
        Ok(Self {
            session: session.map_err(stop)?,
        })
    }

    /// A network with both families and a router.
    pub async fn furnish(&self, name: &str) -> Result<Place, Stop> {
        let network = self
            .make(Service::Network, "networks", json!({"network": {"name": name}}))
            .await?;
        let v4 = json!({"network_id": network, "name": name, "ip_version": 4, "cidr": "10.77.0.0/20"});
        let subnet = self.make(Service::Network, "subnets", json!({"subnet": v4})).await?;
        let v6 = json!({"network_id": network, "name": name, "ip_version": 6, "cidr": "fd00:77::/64",
                        "ipv6_address_mode": "dhcpv6-stateful", "ipv6_ra_mode": "dhcpv6-stateful"});
        let subnet_v6 = self.make(Service::Network, "subnets", json!({"subnet": v6})).await?;
        let router = self
            .make(Service::Network, "routers", json!({"router": {"name": name}}))
            .await?;
        for subnet in [&subnet, &subnet_v6] {
            let path = format!("routers/{router}/add_router_interface");
            self.put(Service::Network, &path, json!({"subnet_id": subnet})).await?;
        }
        Ok(Place {
            network,
            subnet,
            router,
        })
    }

    /// Takes away what [`Operator::furnish`] made.
    pub async fn clear(&self, place: &Place) -> Result<(), Stop> {
        let Place { network, router, .. } = place;
        self.put(
            Service::Network,
            &format!("routers/{router}"),
            json!({"router": {"routes": []}}),
        )
        .await?;
        let subnets = self
            .get(Service::Network, &format!("subnets?network_id={network}"))
            .await?;
        for subnet in items(&subnets, "subnets") {
            let path = format!("routers/{router}/remove_router_interface");
            self.put(Service::Network, &path, json!({"subnet_id": subnet["id"]}))
                .await?;
        }
        self.delete(Service::Network, &format!("routers/{router}")).await?;
        self.delete(Service::Network, &format!("networks/{network}")).await
    }

    /// Boots a server and waits until it runs.
    pub async fn boot(&self, name: &str, place: &Place) -> Result<String, Stop> {
        let images = self.get(Service::Compute, "images").await?;
        let flavors = self.get(Service::Compute, "flavors").await?;
        let server = json!({"name": name, "imageRef": images["images"][0]["id"], "flavorRef": flavors["flavors"][0]["id"],
                            "networks": [{"uuid": place.network}]});
        let id = self
            .make(Service::Compute, "servers", json!({"server": server}))
            .await?;
        self.until_status(&id, "ACTIVE").await?;
        Ok(id)
    }

    /// Stops a server and waits until it is off.
    pub async fn shut_off(&self, id: &str) -> Result<(), Stop> {
        let call = Call::post(Service::Compute, "operator", ["servers", id, "action"]).json(&json!({"os-stop": null}));
        self.session.send(call).await.map_err(stop)?;
        self.until_status(id, "SHUTOFF").await
    }

    /// Deletes a server and waits until it is gone.
    pub async fn delete_server(&self, id: &str) -> Result<(), Stop> {
        self.delete(Service::Compute, &format!("servers/{id}")).await?;
        let began = Instant::now();
        while self.find(Service::Compute, &format!("servers/{id}")).await?.is_some() {
            patient(began, || format!("server {id} does not go away"))?;
            sleep(Duration::from_millis(200)).await;
        }
        Ok(())
    }

    pub async fn get(&self, service: Service, path: &str) -> Result<Value, Stop> {
        self.session.json(call(Verb::Get, service, path)).await.map_err(stop)
    }

    async fn find(&self, service: Service, path: &str) -> Result<Option<Value>, Stop> {
        self.session.find(call(Verb::Get, service, path)).await.map_err(stop)
    }

    pub async fn put(&self, service: Service, path: &str, body: Value) -> Result<Value, Stop> {
        self.session
            .json(call(Verb::Put, service, path).json(&body))
            .await
            .map_err(stop)
    }

    pub async fn delete(&self, service: Service, path: &str) -> Result<(), Stop> {
        self.session
            .delete(call(Verb::Delete, service, path))
            .await
            .map(drop)
            .map_err(stop)
    }

    /// Makes something and says which ID it has.
    async fn make(&self, service: Service, path: &str, body: Value) -> Result<String, Stop> {
        let made: Value = self
            .session
            .json(call(Verb::Post, service, path).json(&body))
            .await
            .map_err(stop)?;
        let id = made.as_object().and_then(|made| made.values().next()?["id"].as_str());
        Ok(id
            .ok_or_else(|| Stop::failed(format!("{path} answered {made}")))?
            .to_owned())
    }

    async fn until_status(&self, id: &str, wanted: &str) -> Result<(), Stop> {
        let began = Instant::now();
        loop {
            let server = self.get(Service::Compute, &format!("servers/{id}")).await?;
            match server["server"]["status"].as_str() {
                Some(status) if status == wanted => return Ok(()),
                Some("ERROR") => return Err(Stop::failed(format!("server {id} is in ERROR"))),
                _ => patient(began, || format!("server {id} does not become {wanted}"))?,
            }
            sleep(Duration::from_millis(200)).await;
        }
    }
}

/// The items of a list.
pub fn items<'a>(body: &'a Value, key: &str) -> &'a [Value] {
    body[key].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn patient(began: Instant, what: impl Fn() -> String) -> Result<(), Stop> {
    if began.elapsed() > PATIENCE {
        Err(Stop::failed(what()))
    } else {
        Ok(())
    }
}

#[derive(Clone, Copy)]
enum Verb {
    Get,
    Post,
    Put,
    Delete,
}

fn call(verb: Verb, service: Service, path: &str) -> Call {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let segments = path.split('/');
    let call = match verb {
        Verb::Get => Call::get(service, "operator", segments),
        Verb::Post => Call::post(service, "operator", segments),
        Verb::Put => Call::put(service, "operator", segments),
        Verb::Delete => Call::delete(service, "operator", segments),
    };
    call.query(query.split('&').filter_map(|pair| pair.split_once('=')))
}

#[expect(clippy::needless_pass_by_value, reason = "it is what map_err gives")]
fn stop(error: cloud::Error) -> Stop {
    Stop::failed(error.report())
}
