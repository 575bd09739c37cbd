//! Connections: accepted, secured, served, broken.

use super::{Handler, body::body};
use crate::{Request, Response, response::Delivery};
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::{
    body::Incoming,
    rt::{Read, Write},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use std::io;
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
};
use tokio_rustls::TlsAcceptor;

/// How clients connect.
#[derive(Clone)]
pub(super) enum Scheme {
    Http,
    Https(TlsAcceptor),
}

/// Serves every connection until it is aborted.
pub(super) async fn accept(listener: TcpListener, handler: impl Handler, scheme: Scheme) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                connections.spawn(connection(stream, handler.clone(), scheme.clone()));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn connection(stream: TcpStream, handler: impl Handler, scheme: Scheme) {
    // Answers are small; a failure only makes them slower.
    let _ = stream.set_nodelay(true);
    match scheme {
        Scheme::Http => serve(TokioIo::new(stream), handler, "http").await,
        Scheme::Https(acceptor) => {
            // A client without trust or certificate gets no further.
            if let Ok(stream) = acceptor.accept(stream).await {
                serve(TokioIo::new(stream), handler, "https").await;
            }
        }
    }
}

async fn serve(io: impl Read + Write + Unpin + Send + 'static, handler: impl Handler, scheme: &'static str) {
    let service = service_fn(move |request: http::Request<Incoming>| {
        let handler = handler.clone();
        async move {
            let (parts, body) = request.into_parts();
            let body: Bytes = body.collect().await.map_err(io::Error::other)?.to_bytes();
            render(&handler.handle(Request::received(scheme, parts, body)).await)
        }
    });
    // No timers of its own: a test that pauses the clock would let them expire.
    // An error is a connection that broke, on purpose or not.
    let _ = http1::Builder::new()
        .header_read_timeout(None)
        .serve_connection(io, service)
        .await;
}

/// The answer for hyper; an error breaks the connection.
fn render(response: &Response) -> io::Result<http::Response<super::body::Body>> {
    if response.delivery == Delivery::Lost {
        return Err(io::Error::new(io::ErrorKind::ConnectionReset, "lost on purpose"));
    }
    let mut rendered = http::Response::builder().status(response.status);
    if response.status != 204 {
        rendered = rendered.header(http::header::CONTENT_LENGTH, response.body.len());
    }
    for (name, value) in &response.headers {
        rendered = rendered.header(*name, value);
    }
    rendered
        .body(body(&response.body, &response.delivery))
        .map_err(io::Error::other)
}
