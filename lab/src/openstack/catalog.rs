//! Which services there are, in which regions, and on which ports.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::net::TcpListener;

/// An API of the cloud.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Service {
    /// Identity.
    Keystone,
    /// Compute.
    Nova,
    /// Network.
    Neutron,
    /// Where servers can be placed.
    Placement,
    /// Images.
    Glance,
    /// Load balancers.
    Octavia,
}

/// The two regions are the same cloud behind two doors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Region {
    /// `RegionOne`: plain HTTP.
    Plain,
    /// `RegionTLS`: HTTPS with a certificate of a CA that no client trusts by default.
    Tls,
}

/// The ports of one start.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Ports {
    plain: [u16; 6],
    tls: [u16; 6],
    pub amqp: u16,
    pub memcached: u16,
    pub epmd: u16,
    pub distribution: u16,
}

impl Service {
    pub(super) const ALL: [Self; 6] = [
        Self::Keystone,
        Self::Nova,
        Self::Neutron,
        Self::Placement,
        Self::Glance,
        Self::Octavia,
    ];

    /// Its processes. Python computes on one core only, and Neutron has most to compute.
    pub(super) fn processes(self) -> &'static [&'static str] {
        match self {
            Self::Keystone => &["keystone"],
            Self::Nova => &["nova"],
            Self::Neutron => &["neutron", "neutron-2"],
            Self::Placement => &["placement"],
            Self::Glance => &["glance"],
            Self::Octavia => &["octavia"],
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Keystone => "keystone",
            Self::Nova => "nova",
            Self::Neutron => "neutron",
            Self::Placement => "placement",
            Self::Glance => "glance",
            Self::Octavia => "octavia",
        }
    }

    /// Its type in the catalog.
    pub fn catalog_type(self) -> &'static str {
        match self {
            Self::Keystone => "identity",
            Self::Nova => "compute",
            Self::Neutron => "network",
            Self::Placement => "placement",
            Self::Glance => "image",
            Self::Octavia => "load-balancer",
        }
    }

    /// What its endpoint has after the address.
    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Keystone => "/v3",
            Self::Nova => "/v2.1",
            _ => "",
        }
    }
}

impl Region {
    pub(super) const ALL: [Self; 2] = [Self::Plain, Self::Tls];

    /// Its name in the catalog.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "RegionOne",
            Self::Tls => "RegionTLS",
        }
    }
}

impl Ports {
    /// Ports that are free now; all are held until all are found, so that no two are the same.
    pub fn free() -> Result<Self> {
        let mut held = Vec::new();
        let mut next = || -> Result<u16> {
            let listener = TcpListener::bind("127.0.0.1:0").context("no free port on loopback")?;
            let port = listener.local_addr()?.port();
            held.push(listener);
            Ok(port)
        };
        let mut six = || -> Result<[u16; 6]> { Ok([next()?, next()?, next()?, next()?, next()?, next()?]) };
        Ok(Self {
            plain: six()?,
            tls: six()?,
            amqp: next()?,
            memcached: next()?,
            epmd: next()?,
            distribution: next()?,
        })
    }

    pub fn of(&self, service: Service, region: Region) -> u16 {
        match region {
            Region::Plain => self.plain[service as usize],
            Region::Tls => self.tls[service as usize],
        }
    }

    pub fn url(&self, service: Service, region: Region) -> String {
        let scheme = match region {
            Region::Plain => "http",
            Region::Tls => "https",
        };
        format!("{scheme}://127.0.0.1:{}", self.of(service, region))
    }

    /// The service and region behind a port.
    pub fn find(&self, port: u16) -> Option<(Service, Region)> {
        let doors = Service::ALL
            .iter()
            .flat_map(|service| Region::ALL.map(|region| (*service, region)));
        doors
            .into_iter()
            .find(|(service, region)| self.of(*service, *region) == port)
    }
}
