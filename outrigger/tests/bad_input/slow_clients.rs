//! Slow and broken clients of the secure port do not affect others.

use crate::fixture::{Credentials, Fixture, Manager};
use futures::future::join_all;
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
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
async fn manager(fixture: &Fixture) -> Manager {
    let manager = fixture
        .manager()
        .flag(&format!(
            "--tls-cert-file={}",
            fixture.plane().pki("apiserver.crt").display()
        ))
        .flag(&format!(
            "--tls-private-key-file={}",
            fixture.plane().pki("apiserver.key").display()
        ))
        .start();
    manager.working().await;
    manager
}

async fn connect(fixture: &Fixture, manager: &Manager) -> TlsStream<TcpStream> {
    connect_as(fixture, manager, &Credentials::None).await
}

async fn connect_as(fixture: &Fixture, manager: &Manager, who: &Credentials) -> TlsStream<TcpStream> {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_file(fixture.plane().ca_file()).unwrap())
        .unwrap();
    let config = ClientConfig::builder().with_root_certificates(roots);
    let config = match who {
        Credentials::Certificate(cert, key) => {
            let chain = vec![CertificateDer::from_pem_file(cert).unwrap()];
            let key = PrivateKeyDer::from_pem_file(key).unwrap();
            config.with_client_auth_cert(chain, key).unwrap()
        }
        _ => config.with_no_client_auth(),
    };
    let stream = TcpStream::connect(manager.address()).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await
        .unwrap()
}

#[tokio::test]
async fn huge_header() {
    let fixture = Fixture::shared().await;
    let manager = manager(&fixture).await;
    let ask = async |size: usize| {
        let mut stream = connect(&fixture, &manager).await;
        let (mut head, mut answer) = (
            b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX: ".to_vec(),
            Vec::new(),
        );
        head.resize(head.len() + size, b'a');
        head.extend(b"\r\n\r\n");
        // The server may close the connection before it has read everything.
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

/// Sends this, and then one byte a second; returns the response before the connection was closed, and when that was.
async fn dribble(mut stream: TlsStream<TcpStream>, begin: &str) -> (String, Duration) {
    let (started, mut answer) = (Instant::now(), Vec::new());
    stream.write_all(begin.as_bytes()).await.unwrap();
    let (mut read, mut write) = tokio::io::split(stream);
    let write = async {
        while write.write_all(b"x").await.is_ok() && write.flush().await.is_ok() {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        std::future::pending::<()>().await;
    };
    // The server closes the connection without a TLS shutdown.
    let read = async { drop(read.read_to_end(&mut answer).await) };
    tokio::select! { () = read => {}, () = write => {} }
    (String::from_utf8_lossy(&answer).into_owned(), started.elapsed())
}

#[tokio::test]
async fn slow_clients_do_not_delay_others() {
    let fixture = Fixture::shared().await;
    let manager = manager(&fixture).await;
    manager
        .logged("loaded new client certificate authorities from the cluster")
        .await;
    let admin = Credentials::of(&fixture.plane().kubeconfig());
    let mute = async {
        let (mut stream, started) = (TcpStream::connect(manager.address()).await.unwrap(), Instant::now());
        let end = stream.read(&mut [0; 1]).await;
        assert!(matches!(end, Ok(0) | Err(_)), "{end:?}");
        started.elapsed()
    };
    let heads = join_all((0..20).map(async |_| {
        let stream = connect(&fixture, &manager).await;
        dribble(stream, "GET /healthz HTTP/1.1\r\nHost: x\r\nX: ").await
    }));
    let bodies = join_all((0..5).map(async |_| {
        let stream = connect_as(&fixture, &manager, &admin).await;
        let head = "PUT /debug/flags/v HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n";
        dribble(stream, head).await
    }));
    let others = async {
        for _ in 0..15 {
            let asked = Instant::now();
            assert_eq!(manager.port().get("/healthz").await.status, 200);
            assert!(
                asked.elapsed() < Duration::from_secs(20),
                "others wait for slow clients"
            );
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
    };
    let patience = Duration::from_mins(4);
    let all = tokio::time::timeout(patience, async { tokio::join!(mute, heads, bodies, others) });
    let (mute, heads, bodies, ()) = all.await.expect("slow clients to be left");

    let seconds = |time: Duration, expected: std::ops::Range<u64>| {
        assert!(
            expected.contains(&time.as_secs()),
            "a slow client was kept for {time:?}"
        );
    };
    seconds(mute, 9..30);
    for (answer, time) in heads {
        assert_eq!(answer, "", "there is nothing to answer yet");
        seconds(time, 30..60);
    }
    for (answer, time) in bodies {
        assert!(answer.starts_with("HTTP/1.1 408 Request Timeout"), "{answer}");
        seconds(time, 28..60);
    }
    assert_eq!(manager.port().get("/healthz").await.status, 200);
}
