//! Which calls go through a proxy of the environment.

use crate::{
    MS, Subject, config,
    server::{Reply, Server},
};
use cloud_http::{Client, Config, Environment, Metrics, Proxy, Request, Retries, Url};
use prometheus::Registry;
use rstest::rstest;
use std::sync::Arc;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

/// What these variables say, where `{}` is the proxy: `HTTP_PROXY={} NO_PROXY=10.0.0.0/8`.
fn environment(text: &str, proxy: &Server) -> Environment {
    let variables: Vec<(String, String)> = text
        .split_whitespace()
        .filter_map(|word| word.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.replace("{}", proxy.url().as_str())))
        .collect();
    Environment::of(|name| {
        let mut found = variables.iter().filter(|(other, _)| other == name);
        found.next().map(|(_, value)| value.clone())
    })
}

fn given(environment: Environment) -> Config {
    Config {
        proxy: Proxy::Given(environment),
        // There is no server at the address of these calls: they succeed only through the proxy.
        connect_timeout: 200 * MS,
        retries: Retries {
            attempts: 1,
            ..Retries::default()
        },
        ..config()
    }
}

#[rstest]
#[case::none("", "http://192.0.2.1/", "")]
#[case::http("HTTP_PROXY={}", "http://192.0.2.1/x", "GET http://192.0.2.1/x")]
#[case::in_small_letters("http_proxy={}", "http://192.0.2.1/x", "GET http://192.0.2.1/x")]
#[case::empty_is_not_given("HTTP_PROXY= http_proxy={}", "http://192.0.2.1/x", "GET http://192.0.2.1/x")]
#[case::by_name("HTTP_PROXY={}", "http://cloud.invalid/x", "GET http://cloud.invalid/x")]
#[case::https("HTTPS_PROXY={}", "https://192.0.2.1/", "CONNECT 192.0.2.1:443")]
#[case::https_is_not_http("HTTP_PROXY={}", "https://192.0.2.1/", "")]
#[case::http_is_not_https("HTTPS_PROXY={}", "http://192.0.2.1/", "")]
#[case::not_for_all("ALL_PROXY={} all_proxy={}", "http://192.0.2.1/", "")]
#[case::not_for_this_network("HTTP_PROXY={} NO_PROXY=198.51.100.7,192.0.2.0/24", "http://192.0.2.1/", "")]
#[case::but_for_another(
    "HTTP_PROXY={} NO_PROXY=198.51.100.0/24",
    "http://192.0.2.1/",
    "GET http://192.0.2.1/"
)]
#[case::not_for_this_address("HTTP_PROXY={} no_proxy=192.0.2.1", "http://192.0.2.1/", "")]
#[case::not_for_this_domain("HTTP_PROXY={} NO_PROXY=cloud.invalid", "http://cloud.invalid/", "")]
#[case::but_for_the_domain_itself(
    "HTTP_PROXY={} NO_PROXY=.cloud.invalid",
    "http://cloud.invalid/x",
    "GET http://cloud.invalid/x"
)]
#[case::not_for_this_port("HTTP_PROXY={} NO_PROXY=cloud.invalid:80", "http://cloud.invalid/", "")]
#[case::but_for_another_port(
    "HTTP_PROXY={} NO_PROXY=cloud.invalid:8080",
    "http://cloud.invalid/x",
    "GET http://cloud.invalid/x"
)]
#[case::not_below_this_domain("HTTP_PROXY={} NO_PROXY=*.invalid", "http://cloud.invalid/", "")]
#[case::not_for_anybody("HTTP_PROXY={} NO_PROXY=*", "http://192.0.2.1/", "")]
#[tokio::test]
async fn goes_through(#[case] variables: &str, #[case] url: &str, #[case] expected: &str) {
    let proxy = Server::script(vec![Reply::json(200, r#"{"id": 7}"#)]).await;
    let subject = Subject::new(&given(environment(variables, &proxy)));
    let url = Url::parse(url).unwrap();
    // Whether it arrives does not matter, only which way it goes.
    let _ = subject.client.send(Request::get("get_thing", &url)).await;
    let seen: Vec<_> = proxy
        .seen()
        .iter()
        .map(|one| format!("{} {}", one.method, one.target))
        .collect();
    assert_eq!(seen.join(", "), expected);
}

#[tokio::test]
async fn a_proxy_from_the_environment_gets_the_user_agent() {
    let proxy = Server::script(vec![Reply::json(200, r#"{"id": 7}"#)]).await;
    let url = format!("http://me:p%40ss@{}", proxy.address);
    let environment = Environment::of(|name| (name == "HTTP_PROXY").then(|| url.clone()));
    let subject = Subject::new(&given(environment));
    let cloud = Url::parse("http://cloud.invalid/things").unwrap();
    subject.client.send(Request::get("get_thing", &cloud)).await.unwrap();
    assert_eq!(
        proxy.seen()[0].header("proxy-authorization"),
        Some("Basic bWU6cEBzcw==")
    );
}

/// As in Go: by either scheme, it is the proxy who looks up the name.
#[rstest]
#[case("socks5")]
#[case("socks5h")]
#[tokio::test]
async fn goes_through_a_socks_proxy(#[case] scheme: &str) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = format!("{scheme}://{}", listener.local_addr().unwrap());
    let asked = tokio::spawn(async move {
        let (mut client, _) = listener.accept().await.unwrap();
        let mut greeting = [0; 3];
        client.read_exact(&mut greeting).await.unwrap();
        client.write_all(&[5, 0]).await.unwrap();
        let mut head = [0; 5];
        client.read_exact(&mut head).await.unwrap();
        let mut name = vec![0; usize::from(head[4])];
        client.read_exact(&mut name).await.unwrap();
        (greeting, String::from_utf8_lossy(&name).into_owned())
    });
    let environment = Environment::of(|name| (name == "HTTPS_PROXY").then(|| proxy.clone()));
    let subject = Subject::new(&given(environment));
    let url = Url::parse("https://cloud.invalid/").unwrap();
    let _ = subject.client.send(Request::get("get_thing", &url)).await;
    assert_eq!(asked.await.unwrap(), ([5, 1, 0], "cloud.invalid".to_owned()));
}

/// As in Go: a metadata service or a simulation on this machine is not the proxy's business.
#[rstest]
#[case("127.0.0.1")]
#[case("localhost")]
#[tokio::test]
async fn this_machine_is_never_behind_a_proxy(#[case] host: &str) {
    let proxy = Server::script(vec![Reply::status(502)]).await;
    let server = Server::script(vec![Reply::json(200, r#"{"id": 7}"#)]).await;
    let subject = Subject::new(&given(environment("HTTP_PROXY={} HTTPS_PROXY={}", &proxy)));
    let url = Url::parse(&format!("http://{host}:{}/", server.address.port())).unwrap();
    subject.client.send(Request::get("get_thing", &url)).await.unwrap();
    assert_eq!((proxy.count(), server.count()), (0, 1));
}

#[rstest]
#[case("HTTP_PROXY")]
#[case("HTTPS_PROXY")]
fn an_invalid_proxy_is_reported_without_its_password(#[case] name: &str) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let environment = Environment::of(|other| (other == name).then(|| "http://me:hush@:x:y".to_owned()));
    let metrics = Metrics::register(&Registry::new()).unwrap();
    let client = Client::new(&given(environment), Arc::new(|| Ok(())), &metrics);
    let report = client.err().unwrap().report();
    assert!(report.contains(name) && !report.contains("hush"), "{report}");
}
