//! Actions of the operator of an `OpenStack`, over HTTP.

use crate::fixture::{context, open};
use conformance::Stop;
use lab::Patience;
use openstack::{
    api::{Call, Service, Session},
    config::Config,
};
use serde_json::{Value, json};
use std::{ops::ControlFlow, time::Duration};
use tokio::time::sleep;

/// The deadline of one request.
const DEADLINE: Duration = Duration::from_mins(2);
/// The longest time in which the state of a server may not change.
const STALLED_AFTER: Duration = Duration::from_mins(4);

/// A user with its own project.
pub struct Operator {
    session: Session,
}

/// The network of the machines of a test.
#[derive(Debug, Clone)]
pub struct Place {
    pub network: String,
    pub subnet: String,
    pub router: String,
}

impl Operator {
    /// Logs in on first use.
    pub fn new(config: &Config) -> Result<Self, Stop> {
        let session = Session::new(config.global.clone(), DEADLINE, &context(open()));
        Ok(Self {
            session: session.map_err(stop)?,
        })
    }

    /// A network with both families and a router.
    pub async fn create_network(&self, name: &str) -> Result<Place, Stop> {
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

    /// Boots servers in one request, waits until all run, and returns their IDs.
    pub async fn boot(&self, name: &str, count: usize, place: &Place) -> Result<Vec<String>, Stop> {
        let images = self.get(Service::Compute, "images").await?;
        let flavors = self.get(Service::Compute, "flavors").await?;
        let server = json!({"name": name, "imageRef": images["images"][0]["id"], "flavorRef": flavors["flavors"][0]["id"],
                            "networks": [{"uuid": place.network}], "min_count": count, "max_count": count});
        self.make(Service::Compute, "servers", json!({"server": server}))
            .await?;
        // With several servers, a number is appended to the name.
        let path = &format!("servers?name=^{name}");
        let of_status = |status: &str| format!("{path}&status={status}");
        until(&format!("{count} servers {name} run"), || async move {
            let broken = self.get(Service::Compute, &of_status("ERROR")).await?;
            if let Some(server) = items(&broken, "servers").first() {
                return Err(Stop::failed(format!("server {} is in ERROR", server["id"])));
            }
            let running = self.get(Service::Compute, &of_status("ACTIVE")).await?;
            let ids: Vec<String> = items(&running, "servers").iter().map(id_in).collect();
            Ok(if ids.len() == count {
                ControlFlow::Break(ids)
            } else {
                ControlFlow::Continue(format!("{} do", ids.len()))
            })
        })
        .await
    }

    /// Renames a server.
    pub async fn rename(&self, id: &str, name: &str) -> Result<(), Stop> {
        let name = json!({"server": {"name": name}});
        self.put(Service::Compute, &format!("servers/{id}"), name)
            .await
            .map(drop)
    }

    /// Stops a server and waits until it is off.
    pub async fn shut_off(&self, id: &str) -> Result<(), Stop> {
        let call = Call::post(Service::Compute, "operator", ["servers", id, "action"]).json(&json!({"os-stop": null}));
        self.session.send(call).await.map_err(stop)?;
        until(&format!("server {id} is off"), || async move {
            Ok(match self.status(id).await? {
                Some(status) if status == "SHUTOFF" => ControlFlow::Break(()),
                status => ControlFlow::Continue(format!("it is {status:?}")),
            })
        })
        .await
    }

    /// Deletes a server and waits until it does not exist; a missing one is a success.
    pub async fn delete_server(&self, id: &str) -> Result<(), Stop> {
        let call = call(Verb::Delete, Service::Compute, &format!("servers/{id}"));
        self.session.delete(call).await.map_err(stop)?;
        until(&format!("server {id} is gone"), || async move {
            Ok(match self.status(id).await? {
                None => ControlFlow::Break(()),
                Some(status) => ControlFlow::Continue(format!("it is {status}")),
            })
        })
        .await
    }

    /// The status of a server; `None` if it does not exist.
    pub async fn status(&self, id: &str) -> Result<Option<String>, Stop> {
        let call = call(Verb::Get, Service::Compute, &format!("servers/{id}"));
        let found: Option<Value> = self.session.find(call).await.map_err(stop)?;
        let status = |server: Value| server["server"]["status"].as_str().unwrap_or_default().to_owned();
        Ok(found.map(status))
    }

    pub async fn get(&self, service: Service, path: &str) -> Result<Value, Stop> {
        self.session.json(call(Verb::Get, service, path)).await.map_err(stop)
    }

    async fn put(&self, service: Service, path: &str, body: Value) -> Result<Value, Stop> {
        self.session
            .json(call(Verb::Put, service, path).json(&body))
            .await
            .map_err(stop)
    }

    /// Creates an object and returns its ID.
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
}

/// The items of a list.
pub fn items<'a>(body: &'a Value, key: &str) -> &'a [Value] {
    body[key].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn id_in(item: &Value) -> String {
    item["id"].as_str().unwrap_or_default().to_owned()
}

/// Polls with back-off; reports the last state if the condition never holds.
async fn until<T, F>(what: &str, mut look: impl FnMut() -> F) -> Result<T, Stop>
where
    F: Future<Output = Result<ControlFlow<T, String>, Stop>>,
{
    let mut patience = Patience::new(STALLED_AFTER);
    let mut pause = Duration::from_millis(100);
    loop {
        let state = match look().await? {
            ControlFlow::Break(answer) => return Ok(answer),
            ControlFlow::Continue(state) => state,
        };
        if patience.is_over(&state) {
            let waited = patience.waited();
            return Err(Stop::failed(format!("{what}: not so after {waited:?}: {state}")));
        }
        sleep(pause).await;
        pause = (pause * 3 / 2).min(Duration::from_secs(1));
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
