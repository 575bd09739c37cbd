//! Where the parts of a control plane listen.

use anyhow::{Context, Result, bail};
use std::{
    fs,
    net::{IpAddr, Ipv4Addr, TcpListener},
    path::Path,
};

/// What a control plane is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Purpose {
    /// Something to talk to, on a free port of 127.0.0.1. A pod needs no service account.
    #[default]
    Api,
    /// A cluster with nodes: the API server has the address of its own Service, which is a loopback one, so that pods on the host's
    /// network find it the ordinary way, and nothing listens elsewhere. Needs root, for port 443.
    Nodes,
}

/// What is needed to find the control plane, and to start the API server once more.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) etcd: u16,
    pub(super) peer: u16,
    pub(super) apiserver: u16,
    pub(super) address: Ipv4Addr,
}

impl Place {
    pub(super) fn choose(purpose: Purpose) -> Result<Self> {
        let (address, apiserver) = match purpose {
            Purpose::Api => (Ipv4Addr::LOCALHOST, free_port()?),
            Purpose::Nodes => (service_address()?, 443),
        };
        Ok(Self {
            etcd: free_port()?,
            peer: free_port()?,
            apiserver,
            address,
        })
    }

    pub(super) fn url(self) -> String {
        format!("https://{}:{}", self.address, self.apiserver)
    }

    pub(super) fn purpose(self) -> Purpose {
        if self.address == Ipv4Addr::LOCALHOST {
            Purpose::Api
        } else {
            Purpose::Nodes
        }
    }

    /// The addresses of Services: around the API server's own if that is one of them.
    pub(super) fn services(self) -> String {
        let [a, b, c, _] = self.address.octets();
        match self.purpose() {
            Purpose::Api => "10.96.0.0/16,fd00:10:96::/112".to_owned(),
            Purpose::Nodes => format!("{a}.{b}.{c}.0/24"),
        }
    }

    pub(super) fn write(self, folder: &Path) -> Result<()> {
        let Self {
            etcd,
            peer,
            apiserver,
            address,
        } = self;
        fs::write(folder.join("ports"), format!("{etcd} {peer} {apiserver} {address}"))?;
        Ok(())
    }

    pub(super) fn read(folder: &Path) -> Result<Self> {
        let text = fs::read_to_string(folder.join("ports"))
            .with_context(|| format!("there is no control plane in {}", folder.display()))?;
        let words: Vec<_> = text.split_whitespace().collect();
        let parsed = match words[..] {
            [etcd, peer, apiserver, address] => (|| {
                Some(Self {
                    etcd: etcd.parse().ok()?,
                    peer: peer.parse().ok()?,
                    apiserver: apiserver.parse().ok()?,
                    address: address.parse().ok()?,
                })
            })(),
            _ => None,
        };
        parsed.with_context(|| format!("{} is broken", folder.join("ports").display()))
    }
}

/// A port that was free a moment ago.
pub(crate) fn free_port() -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0").context("no free port on loopback")?;
    Ok(listener.local_addr()?.port())
}

/// The first address of a loopback range whose port 443 is free.
fn service_address() -> Result<Ipv4Addr> {
    let mut last = None;
    for second in 96..128 {
        let address = Ipv4Addr::new(127, second, 0, 1);
        match TcpListener::bind((IpAddr::V4(address), 443)) {
            Ok(_) => return Ok(address),
            Err(error) => last = Some(error),
        }
    }
    match last {
        Some(error) => Err(error).context("cannot listen on port 443 of a loopback address: run as root"),
        None => bail!("no loopback address was tried"),
    }
}
