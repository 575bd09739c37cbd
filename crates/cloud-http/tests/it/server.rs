//! A scripted server, over plain TCP or TLS.

use std::{
    future::Future,
    io,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use cloud_http::Url;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Notify,
    task::JoinHandle,
};
use tokio_rustls::TlsAcceptor;

/// What came in.
#[derive(Debug, Clone)]
pub struct Seen {
    pub method: String,
    pub target: String,
    pub head: String,
    pub body: String,
    pub at: Instant,
}

impl Seen {
    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines
            .into_iter()
            .find(|(found, _)| found.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }
}

/// What to do about it.
#[derive(Debug, Clone)]
pub enum Reply {
    /// Answers, and keeps the connection.
    Answer {
        status: u16,
        headers: Vec<(&'static str, String)>,
        body: Vec<u8>,
    },
    /// Sends these bytes and closes.
    Raw(Vec<u8>),
    /// Sends these bytes and then nothing.
    Stall(Vec<u8>),
    /// Breaks the connection off with a reset.
    Reset,
    /// The same after some time.
    After(Duration, Box<Reply>),
}

impl Reply {
    pub fn status(status: u16) -> Self {
        Self::Answer {
            status,
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    pub fn json(status: u16, body: &str) -> Self {
        Self::status(status)
            .header("content-type", "application/json")
            .body(body)
    }

    pub fn html(status: u16) -> Self {
        Self::status(status)
            .header("content-type", "text/html")
            .body("<html><h1>Oops</h1></html>")
    }

    pub fn raw(text: &str) -> Self {
        Self::Raw(text.into())
    }

    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        if let Self::Answer { headers, .. } = &mut self {
            headers.push((name, value.into()));
        }
        self
    }

    pub fn body(mut self, text: &str) -> Self {
        if let Self::Answer { body, .. } = &mut self {
            *body = text.into();
        }
        self
    }

    pub fn after(self, wait: Duration) -> Self {
        Self::After(wait, Box::new(self))
    }
}

/// A server on a free port of loopback, stopped when dropped.
pub struct Server {
    pub address: SocketAddr,
    scheme: &'static str,
    log: Arc<Log>,
    task: JoinHandle<()>,
}

#[derive(Default)]
struct Log {
    seen: Mutex<Vec<Seen>>,
    now: AtomicUsize,
    peak: AtomicUsize,
    hung_up: Notify,
}

impl Server {
    /// Replies to the n-th request with the n-th reply, and with the last one from then on.
    pub async fn script(replies: Vec<Reply>) -> Self {
        let count = AtomicUsize::new(0);
        Self::start(move |_| {
            let turn = count.fetch_add(1, Ordering::SeqCst);
            let reply = replies[turn.min(replies.len() - 1)].clone();
            async move { reply }
        })
        .await
    }

    pub async fn start<F, R>(handler: F) -> Self
    where
        F: Fn(Seen) -> R + Send + Sync + 'static,
        R: Future<Output = Reply> + Send + 'static,
    {
        Self::serve(None, handler).await
    }

    pub async fn tls<F, R>(config: rustls::ServerConfig, handler: F) -> Self
    where
        F: Fn(Seen) -> R + Send + Sync + 'static,
        R: Future<Output = Reply> + Send + 'static,
    {
        Self::serve(Some(TlsAcceptor::from(Arc::new(config))), handler).await
    }

    async fn serve<F, R>(tls: Option<TlsAcceptor>, handler: F) -> Self
    where
        F: Fn(Seen) -> R + Send + Sync + 'static,
        R: Future<Output = Reply> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let scheme = if tls.is_some() { "https" } else { "http" };
        let log = Arc::new(Log::default());
        let task = tokio::spawn(accept(listener, tls, Arc::new(handler), Arc::clone(&log)));
        Self {
            address,
            scheme,
            log,
            task,
        }
    }

    pub fn url(&self) -> Url {
        Url::parse(&format!("{}://{}/", self.scheme, self.address)).unwrap()
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.log.seen.lock().unwrap().clone()
    }

    pub fn count(&self) -> usize {
        self.log.seen.lock().unwrap().len()
    }

    /// The most requests that were under way at the same time.
    pub fn peak(&self) -> usize {
        self.log.peak.load(Ordering::SeqCst)
    }

    /// Waits until a client gives up on a reply that stalls.
    pub async fn hung_up(&self) {
        self.log.hung_up.notified().await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept<F, R>(listener: TcpListener, tls: Option<TlsAcceptor>, handler: Arc<F>, log: Arc<Log>)
where
    F: Fn(Seen) -> R + Send + Sync + 'static,
    R: Future<Output = Reply> + Send + 'static,
{
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let (tls, handler, log) = (tls.clone(), Arc::clone(&handler), Arc::clone(&log));
        connections.spawn(async move {
            // What the client breaks off is no matter of the server's.
            let _ = match tls {
                None => converse(stream, TcpStream::set_zero_linger, &*handler, &log).await,
                Some(tls) => match tls.accept(stream).await {
                    Ok(stream) => {
                        converse(stream, |stream| stream.get_ref().0.set_zero_linger(), &*handler, &log).await
                    }
                    Err(error) => Err(error),
                },
            };
        });
    }
}

async fn converse<S, F, R>(
    mut stream: S,
    reset: impl Fn(&S) -> io::Result<()>,
    handler: &F,
    log: &Log,
) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
    F: Fn(Seen) -> R,
    R: Future<Output = Reply>,
{
    while let Some(seen) = read(&mut stream).await? {
        log.seen.lock().unwrap().push(seen.clone());
        log.peak
            .fetch_max(log.now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        let mut reply = handler(seen).await;
        while let Reply::After(wait, then) = reply {
            tokio::time::sleep(wait).await;
            reply = *then;
        }
        log.now.fetch_sub(1, Ordering::SeqCst);
        match reply {
            Reply::Answer { status, headers, body } => stream.write_all(&answer(status, &headers, &body)).await?,
            Reply::Raw(bytes) => {
                stream.write_all(&bytes).await?;
                return stream.shutdown().await;
            }
            Reply::Stall(bytes) => {
                stream.write_all(&bytes).await?;
                stream.flush().await?;
                // Whatever comes now, or nothing: the client is gone.
                let _ = stream.read(&mut [0]).await;
                log.hung_up.notify_one();
                return Ok(());
            }
            Reply::Reset => return reset(&stream),
            Reply::After(..) => unreachable!("waited for above"),
        }
    }
    Ok(())
}

fn answer(status: u16, headers: &[(&'static str, String)], body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("HTTP/1.1 {status} Whatever\r\ncontent-length: {}\r\n", body.len()).into_bytes();
    for (name, value) in headers {
        bytes.extend(format!("{name}: {value}\r\n").into_bytes());
    }
    bytes.extend(b"\r\n");
    bytes.extend(body);
    bytes
}

async fn read(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<Seen>> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).into_owned();
    let (method, target) = head.split_once(' ').unwrap();
    let target = target.split(' ').next().unwrap();
    let mut seen = Seen {
        method: method.into(),
        target: target.into(),
        head: head.clone(),
        body: String::new(),
        at: Instant::now(),
    };
    let length = seen
        .header("content-length")
        .map_or(0, |length| length.parse().unwrap());
    while bytes.len() < head_end + length {
        if stream.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    }
    seen.body = String::from_utf8_lossy(&bytes[head_end..]).into_owned();
    Ok(Some(seen))
}
