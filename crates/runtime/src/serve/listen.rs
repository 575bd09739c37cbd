//! Listening on a port.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};
use tokio::net::{TcpListener, TcpSocket};

/// The maximum number of connections that wait to be accepted.
const BACKLOG: u32 = 1024;

/// Whether other processes may listen on the same port, each getting some of the connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sharing {
    /// No other process.
    #[default]
    Alone,
    /// Other processes that set `SO_REUSEPORT`, too.
    Shared,
}

/// Parses an address to listen on, as Go programs accept it: `:9258`, `127.0.0.1:9259`, `[::1]:9259`; `None` if it is `0` or empty.
///
/// # Errors
/// If it is anything else.
pub fn address(text: &str) -> Result<Option<SocketAddr>, &'static str> {
    if matches!(text, "" | "0") {
        return Ok(None);
    }
    let everywhere = IpAddr::from(Ipv4Addr::UNSPECIFIED);
    let parsed = match text.strip_prefix(':') {
        Some(port) => port.parse().ok().map(|port| SocketAddr::new(everywhere, port)),
        None => text.replace("localhost:", "127.0.0.1:").parse().ok(),
    };
    parsed
        .map(Some)
        .ok_or("not an address: write IP:port, :port, or 0 to disable it")
}

/// Listens. An unspecified address means all addresses of both families, if both are available.
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
    // So that a restart does not have to wait for old connections.
    socket.set_reuseaddr(true)?;
    if sharing == Sharing::Shared {
        socket.set_reuseport(true)?;
    }
    // Accepted connections inherit it.
    socket.set_keepalive(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::all(":9258", Ok(Some("0.0.0.0:9258")))]
    #[case::loopback("127.0.0.1:9259", Ok(Some("127.0.0.1:9259")))]
    #[case::named("localhost:1", Ok(Some("127.0.0.1:1")))]
    #[case::six("[::1]:9", Ok(Some("[::1]:9")))]
    #[case::nowhere("0", Ok(None))]
    #[case::garbage("here", Err("not an address: write IP:port, :port, or 0 to disable it"))]
    fn addresses(#[case] text: &str, #[case] expected: Result<Option<&str>, &str>) {
        let found = address(text).map(|found| found.map(|found| found.to_string()));
        assert_eq!(found, expected.map(|expected| expected.map(str::to_owned)));
    }
}
