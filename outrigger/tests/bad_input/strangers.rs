//! Rude clients of the secure port harm nobody else.

use crate::rig::{Manager, Rig};
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

/// A manager with a certificate that a client can verify.
async fn manager(rig: &Rig) -> Manager {
    let manager = rig
        .manager()
        .flag(&format!(
            "--tls-cert-file={}",
            rig.plane().pki("apiserver.crt").display()
        ))
        .flag(&format!(
            "--tls-private-key-file={}",
            rig.plane().pki("apiserver.key").display()
        ))
        .start();
    manager.working().await;
    manager
}

async fn connect(rig: &Rig, manager: &Manager) -> TlsStream<TcpStream> {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_file(rig.plane().ca_file()).unwrap())
        .unwrap();
    let config = ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(manager.address()).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await
        .unwrap()
}

#[tokio::test]
async fn huge_header() {
    let rig = Rig::shared().await;
    let manager = manager(&rig).await;
    let ask = async |size: usize| {
        let mut stream = connect(&rig, &manager).await;
        let (mut head, mut answer) = (
            b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX: ".to_vec(),
            Vec::new(),
        );
        head.resize(head.len() + size, b'a');
        head.extend(b"\r\n\r\n");
        // It may hang up before it has read everything.
        let _ = stream.write_all(&head).await;
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8_lossy(&answer)
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    assert_eq!(ask(1000).await, "HTTP/1.1 200 OK");
    assert_eq!(ask(900_000).await, "HTTP/1.1 200 OK");
    assert_eq!(ask(4_000_000).await, "HTTP/1.1 431 Request Header Fields Too Large");
    assert_eq!(manager.port().get("/healthz").await.status, 200);
}

/// The limits of a request's head are the same, only longer.
#[tokio::test]
async fn slow_clients() {
    let rig = Rig::shared().await;
    let manager = manager(&rig).await;
    let started = Instant::now();
    let mut mute = TcpStream::connect(manager.address()).await.unwrap();
    let mut dribbling = Vec::new();
    for _ in 0..20 {
        let mut stream = connect(&rig, &manager).await;
        stream.write_all(b"GET /healthz HTTP/1.1\r\nHos").await.unwrap();
        dribbling.push(stream);
    }
    let asked = Instant::now();
    assert_eq!(manager.port().get("/healthz").await.status, 200);
    assert!(asked.elapsed() < Duration::from_secs(5), "others wait for slow clients");

    let end = mute.read(&mut [0; 1]).await;
    assert!(matches!(end, Ok(0) | Err(_)), "{end:?}");
    let after = started.elapsed();
    assert!(
        (9..20).contains(&after.as_secs()),
        "a client that says nothing was kept for {after:?}"
    );
}
