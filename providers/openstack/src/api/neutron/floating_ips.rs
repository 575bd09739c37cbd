//! Floating IPs.

use crate::api::{Call, Deleted, Resource, Service, Session};
use cloud::{Error, Result};
use cloud_http::http::StatusCode;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A floating IP.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct FloatingIp {
    /// Its ID.
    pub id: String,
    /// The address.
    pub floating_ip_address: String,
    /// The port it is attached to.
    #[serde(default)]
    pub port_id: Option<String>,
    /// The address of the port it is attached to.
    #[serde(default)]
    pub fixed_ip_address: Option<String>,
    /// Its description, which the creator writes.
    #[serde(default)]
    pub description: Option<String>,
    /// Counts its changes; not every cloud has it.
    #[serde(default)]
    pub revision_number: Option<u64>,
}

impl Resource for FloatingIp {
    const ONE: &'static str = "floatingip";
    const ALL: &'static str = "floatingips";
}

/// Which floating IPs; an empty query is all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FloatingIpQuery {
    /// Those that are attached to one of these ports.
    pub ports: Vec<String>,
    /// The one with this address.
    pub address: Option<String>,
}

/// A new floating IP.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct NewFloatingIp {
    /// The external network.
    pub floating_network_id: String,
    /// The subnet of that network; any if `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subnet_id: Option<String>,
    /// The address; any if `None`. Most clouds allow that to administrators only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floating_ip_address: Option<String>,
    /// The port it is attached to from the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port_id: Option<String>,
    /// Its description.
    pub description: String,
}

/// Neutron's reason for a refusal. Unlike [`Error::Invalid`] and [`Error::NotFound`] it may pass: an address becomes free, or a router is
/// connected.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Refusal {
    /// The kind, like `ExternalGatewayForFloatingIPNotFound`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The sentence.
    pub message: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message.trim_end_matches('.'), self.kind)
    }
}

impl std::error::Error for Refusal {}

/// `GET /floatingips`
pub async fn floating_ips(session: &Session, query: &FloatingIpQuery) -> Result<Vec<FloatingIp>> {
    let FloatingIpQuery { ports, address } = query;
    let ports = ports.iter().map(|port| ("port_id", port));
    let address = address.iter().map(|address| ("floating_ip_address", address));
    let call = Call::get(Service::Network, "floating_ip_list", ["floatingips"]).query(ports.chain(address));
    session.list(call).await
}

/// `POST /floatingips`; [`Error::Unavailable`] with a [`Refusal`] if the port, the network or the subnet are not suitable.
pub async fn create(session: &Session, new: &NewFloatingIp) -> Result<FloatingIp> {
    let call = Call::post(Service::Network, "floating_ip_create", ["floatingips"]).object::<FloatingIp>(new);
    answered(session, call).await
}

/// `PUT /floatingips/{id}`: attaches it to a port, or detaches it, and changes its description, only if it has not changed since it was read;
/// otherwise the answer is 412.
pub async fn lead(
    session: &Session,
    seen: &FloatingIp,
    port: Option<&str>,
    description: Option<&str>,
) -> Result<FloatingIp> {
    let floatingip = Lead {
        port_id: port,
        description,
    };
    let call = Call::put(Service::Network, "floating_ip_update", ["floatingips", &seen.id]);
    // Neutron moves a floating IP that is in use without a word.
    answered(
        session,
        call.object::<FloatingIp>(&floatingip).if_revision(seen.revision_number),
    )
    .await
}

/// `DELETE /floatingips/{id}`, only if it has not changed since it was read; otherwise the answer is 412.
pub async fn delete(session: &Session, seen: &FloatingIp) -> Result<Deleted> {
    let call = Call::delete(Service::Network, "floating_ip_delete", ["floatingips", &seen.id]);
    let call = call.about(format!("floating IP {}", seen.floating_ip_address));
    session.delete(call.if_revision(seen.revision_number)).await
}

async fn answered(session: &Session, call: Call) -> Result<FloatingIp> {
    #[derive(Deserialize)]
    struct Body {
        floatingip: FloatingIp,
    }
    #[derive(Deserialize)]
    struct Refused {
        #[serde(rename = "NeutronError")]
        error: Refusal,
    }
    let call = call.accept(StatusCode::BAD_REQUEST).accept(StatusCode::NOT_FOUND);
    let response = session.send(call).await?;
    if response.status().is_success() {
        return Ok(response.json::<Body>()?.floatingip);
    }
    let refusal = response.json::<Refused>()?.error;
    Err(Error::unavailable("a floating IP for the load balancer", refusal))
}

#[derive(Serialize)]
struct Lead<'a> {
    port_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
}
