//! Listening on a port.

use std::{
    io,
    net::{IpAddr, Ipv6Addr, SocketAddr},
};
use tokio::net::{TcpListener, TcpSocket};

/// How many connections may wait to be accepted.
const BACKLOG: u32 = 1024;

/// Whether others may listen on the same port, each getting some of the connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sharing {
    /// Nobody else.
    #[default]
    Alone,
    /// Everybody who says so too (`SO_REUSEPORT`).
    Shared,
}

/// Listens. An address that means "all" means all of both families, where there are two.
pub(super) fn listen(address: IpAddr, port: u16, sharing: Sharing) -> io::Result<TcpListener> {
    if address.is_unspecified() {
        let everywhere = bind(SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), port), sharing);
        let taken = everywhere
            .as_ref()
            .is_err_and(|error| error.kind() == io::ErrorKind::AddrInUse);
        if everywhere.is_ok() || taken || address.is_ipv6() {
            return everywhere;
        }
    }
    bind(SocketAddr::new(address, port), sharing)
}

fn bind(address: SocketAddr, sharing: Sharing) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    // Always, so that a restart does not have to wait for what is left of old connections.
    socket.set_reuseaddr(true)?;
    if sharing == Sharing::Shared {
        socket.set_reuseport(true)?;
    }
    // Inherited by what is accepted.
    socket.set_keepalive(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}
