//! The same over HTTP/2, where many requests share a connection.

use crate::{Subject, config, tls::Authority};
use cloud_http::{Config, Fault, Reason, Request, Trust, Url};
use http_body_util::Full;
use hyper::{Response, body::Bytes, server::conn::http2, service::service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
};
use tokio::{net::TcpListener, task::JoinSet};
use tokio_rustls::TlsAcceptor;

/// A server that resets this many streams and then answers; counts connections and requests.
struct Server {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    requests: Arc<AtomicUsize>,
    _tasks: JoinSet<()>,
}

impl Server {
    async fn start(authority: &Authority, broken: usize) -> Self {
        let mut config = authority.server_config("127.0.0.1", None);
        config.alpn_protocols = vec![b"h2".to_vec()];
        let tls = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (connections, requests) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let mut tasks = JoinSet::new();
        let (connected, asked) = (Arc::clone(&connections), Arc::clone(&requests));
        tasks.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                connected.fetch_add(1, SeqCst);
                let (tls, asked) = (tls.clone(), Arc::clone(&asked));
                tokio::spawn(async move {
                    let service = service_fn(|_| {
                        let ok = asked.fetch_add(1, SeqCst) >= broken;
                        async move {
                            if ok {
                                Ok(Response::new(Full::new(Bytes::from("1"))))
                            } else {
                                Err(io::Error::other("no"))
                            }
                        }
                    });
                    let stream = TokioIo::new(tls.accept(stream).await.unwrap());
                    // What the client breaks off is no matter of the server's.
                    let _ = http2::Builder::new(TokioExecutor::new())
                        .serve_connection(stream, service)
                        .await;
                });
            }
        });
        Self {
            address,
            connections,
            requests,
            _tasks: tasks,
        }
    }

    fn url(&self) -> Url {
        Url::parse(&format!("https://{}/", self.address)).unwrap()
    }
}

fn subject(authority: &Authority) -> Subject {
    Subject::new(&Config {
        trust: Trust::Only(authority.pem()),
        ..config()
    })
}

#[tokio::test]
async fn many_requests_share_a_connection() {
    let authority = Authority::new();
    let server = Server::start(&authority, 0).await;
    let subject = subject(&authority);
    let call = || {
        subject
            .client
            .send_json::<u8>(Request::get("try_it", &Server::url(&server)))
    };
    call().await.unwrap();
    assert_eq!(
        futures::future::try_join_all((0..20).map(|_| call())).await.unwrap(),
        [1; 20]
    );
    assert_eq!((server.connections.load(SeqCst), server.requests.load(SeqCst)), (1, 21));
}

#[tokio::test]
async fn a_broken_stream_is_like_a_broken_connection() {
    let authority = Authority::new();
    let subject = subject(&authority);
    let server = Server::start(&authority, 2).await;
    subject
        .client
        .send(Request::put("try_it", &server.url()))
        .await
        .unwrap();
    assert_eq!(server.requests.load(SeqCst), 3);

    let server = Server::start(&authority, 1).await;
    let error = subject
        .client
        .send(Request::post("try_it", &server.url()))
        .await
        .unwrap_err();
    assert_eq!(
        Fault::of(&error).map(Fault::reason),
        Some(Reason::Reset),
        "{}",
        error.report()
    );
    assert_eq!(server.requests.load(SeqCst), 1);
}
