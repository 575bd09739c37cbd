//! Nothing secret is ever printed.

use crate::{
    Subject, config,
    server::{Reply, Server},
};
use cloud_http::{Auth, Authorized, Config, Credentials, Proxy, Request, http};
use secrecy::SecretString;
use std::{
    io,
    sync::{Arc, LazyLock, Mutex},
};
use tracing_subscriber::fmt::MakeWriter;

/// Part of every secret below.
const SECRET: &str = "s3cr3t";

#[derive(Clone, Default)]
pub struct Captured(Arc<Mutex<Vec<u8>>>);

impl io::Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Captured {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl Captured {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

/// What all tests of this process log, at every level.
pub fn capture() -> &'static Captured {
    static CAPTURED: LazyLock<Captured> = LazyLock::new(|| {
        let logs = Captured::default();
        tracing_subscriber::fmt()
            .with_max_level(tracing::Level::TRACE)
            .with_writer(logs.clone())
            .init();
        logs
    });
    &CAPTURED
}

struct Token;

#[async_trait::async_trait]
impl Auth for Token {
    async fn authorize(&self, request: &mut http::Request<bytes::Bytes>) -> cloud::Result<Authorized> {
        request
            .headers_mut()
            .insert("x-auth-token", "s3cr3t-auth".parse().unwrap());
        Ok(Authorized::Ready)
    }

    async fn refresh(&self) -> cloud::Result<()> {
        Ok(())
    }
}

fn request(server: &Server) -> Request {
    let mut url = server.url();
    url.set_username("me").unwrap();
    url.set_password(Some("s3cr3t-url")).unwrap();
    Request::put("log_in", &url)
        .query([
            ("signature", "s3cr3t-query"),
            ("special", "s3cr3t-special"),
            ("public", "shown"),
        ])
        .header(http::header::COOKIE, "session=s3cr3t-cookie")
        .secret_header(
            http::HeaderName::from_static("x-mine"),
            &SecretString::from("s3cr3t-mine"),
        )
        .json(&serde_json::json!({"auth": {"password": {"user": {"password": "s3cr3t-body"}}}}))
}

/// Echoes all it got, as bad error pages do, in prose, in JSON and in JSON of the wrong kind.
fn echo(seen: &crate::server::Seen, how: usize) -> Reply {
    let all = format!("{}{}", seen.head, seen.body);
    let json = serde_json::to_string(&all).unwrap();
    match how {
        0 => Reply::status(500).body(&all),
        1 => Reply::json(503, &format!(r#"{{"error": {json}, "token": "s3cr3t-new", "n": 1}}"#)),
        2 => Reply::json(409, &format!(r#"{{"x": 1, "token": "s3cr3t-torn {json}"#)),
        3 => Reply::json(200, r#"{"id": "s3cr3t-answer"}"#),
        4 => Reply::json(200, r#"["s3cr3t-answer"]"#),
        5 => Reply::json(422, &format!(r#"{{"error": {json}}}"#)),
        _ => Reply::status(403).header("set-cookie", "s3cr3t-set").body(&all),
    }
}

#[derive(Debug, serde::Deserialize)]
#[expect(dead_code, reason = "only its type matters: what comes is of another")]
struct Number {
    id: u32,
}

#[tokio::test]
async fn nothing_secret_is_printed() {
    let logs = capture();
    let config = Config {
        secret_names: vec!["special".into()],
        identity: None,
        proxy: Proxy::Direct,
        ..config()
    };
    let subject = Subject::new(&config);
    let client = subject.client.clone().with_credentials(Credentials::new(Token));
    let mut printed = vec![format!("{client:?} {:?}", Credentials::new(Token))];

    for how in 0..7 {
        let server = Server::start(move |seen| async move { echo(&seen, how) }).await;
        let request = request(&server);
        printed.push(format!("{request:?}"));
        let error = client.send_json::<Number>(request.clone()).await.unwrap_err();
        printed.push(format!("{error} {error:?} {} {}", error.report(), subject.metrics()));
        for seen in server.seen() {
            for part in ["auth", "query", "special", "cookie", "mine", "body"] {
                let sent = format!("{}{}", seen.head, seen.body);
                assert!(
                    sent.contains(&format!("{SECRET}-{part}")),
                    "{part} was not sent: {sent}"
                );
            }
        }
    }
    let answers = Server::script(vec![Reply::json(200, SECRET)]).await;
    printed.push(format!("{:?}", client.send(request(&answers)).await));
    let reset = Server::script(vec![Reply::Reset]).await;
    printed.push(client.send(request(&reset)).await.unwrap_err().report());
    printed.push(logs.text());
    let printed = printed.join("\n");
    let leaks: Vec<_> = printed.lines().filter(|line| line.contains(SECRET)).collect();
    assert!(leaks.is_empty(), "{leaks:#?}");
    assert!(printed.contains("public=shown"), "{printed}");
    assert!(printed.contains("called the cloud"), "{printed}");
    assert!(
        printed.contains(r#""n":1"#),
        "what is not secret stays readable: {printed}"
    );
}

#[test]
fn a_config_hides_keys_and_proxy_passwords() {
    let config = Config {
        identity: Some(SecretString::from(SECRET)),
        proxy: Proxy::Url(SecretString::from(format!("http://me:{SECRET}@proxy:3128"))),
        ..Config::default()
    };
    assert!(!format!("{config:?}").contains(SECRET));
}

#[test]
fn invalid_keys_and_proxies_are_reported_without_their_values() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let key = format!("-----BEGIN PRIVATE KEY-----\n{SECRET}\n-----END PRIVATE KEY-----\n");
    for config in [
        Config {
            identity: Some(SecretString::from(key)),
            ..config()
        },
        Config {
            proxy: Proxy::Url(SecretString::from(format!("http://me:{SECRET}@:x:y"))),
            ..config()
        },
    ] {
        let metrics = cloud_http::Metrics::register(&prometheus::Registry::new()).unwrap();
        let error = cloud_http::Client::new(&config, Arc::new(|| Ok(())), &metrics).unwrap_err();
        assert!(matches!(error, cloud::Error::Invalid { .. }), "{error:?}");
        assert!(!format!("{error} {error:?}").contains(SECRET), "{error:?}");
    }
}
