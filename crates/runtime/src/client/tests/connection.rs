//! The connection to the API server: trust, proxies, restarts.

use super::*;
use std::net::Ipv4Addr;

#[rstest]
#[case::another_ca(json!({"certificate-authority": "CA"}), "its certificate is not signed by the configured certificate authority")]
#[case::another_name(json!({"tls-server-name": "not-this-server"}), "not valid for name")]
#[tokio::test]
async fn a_certificate_that_we_do_not_trust_is_explained(#[case] mut cluster: Value, #[case] expected: &str) {
    let plane = ControlPlane::shared();
    if cluster["certificate-authority"] == "CA" {
        cluster["certificate-authority"] = json!(plane.pki("front-proxy-ca.crt"));
    }
    let message = whoami(&Folder::new().clients(plane, &cluster, &admin_user(plane)).plain("test"))
        .await
        .unwrap_err();
    assert!(
        message.starts_with(&format!("cannot connect to {}: ", plane.url())) && message.contains(expected),
        "{message}"
    );
}

#[rstest]
#[case::insecure(json!({"certificate-authority": "", "insecure-skip-tls-verify": true}))]
#[case::by_another_name(json!({"tls-server-name": "kubernetes.default.svc"}))]
#[case::inline(json!({"certificate-authority": "", "certificate-authority-data": "CA"}))]
#[tokio::test]
async fn trusts_the_server_as_configured(#[case] mut cluster: Value) {
    let plane = ControlPlane::shared();
    if cluster["certificate-authority-data"] == "CA" {
        cluster["certificate-authority-data"] = json!(BASE64_STANDARD.encode(std::fs::read(plane.ca_file()).unwrap()));
    }
    let client = Folder::new().clients(plane, &cluster, &admin_user(plane)).plain("test");
    assert!(whoami(&client).await.is_ok());
}

#[tokio::test]
async fn goes_through_the_proxy_of_the_kubeconfig() {
    let plane = ControlPlane::shared();
    let proxy = Proxy::start().await;
    let cluster = json!({"proxy-url": format!("http://me:p%40ss@{}", proxy.address)});
    let client = Folder::new().clients(plane, &cluster, &admin_user(plane)).plain("test");
    whoami(&client).await.unwrap();
    assert_eq!(proxy.tunnels.load(Ordering::Relaxed), 1);
}

#[rstest]
#[case("socks5")]
#[case("socks5h")]
#[tokio::test]
async fn goes_through_a_socks_proxy(#[case] scheme: &str) {
    let plane = ControlPlane::shared();
    let (address, tunnels) = socks().await;
    let cluster = json!({"proxy-url": format!("{scheme}://me:p%40ss@{address}")});
    let client = Folder::new().clients(plane, &cluster, &admin_user(plane)).plain("test");
    whoami(&client).await.unwrap();
    assert_eq!(tunnels.load(Ordering::Relaxed), 1);
}

/// A SOCKS proxy that accepts the credentials `me:p@ss`: its address, and the number of its tunnels.
async fn socks() -> (String, Arc<AtomicU32>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let tunnels = Arc::new(AtomicU32::new(0));
    let made = tunnels.clone();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(socks_tunnel(client, made.clone()));
        }
    });
    (address, tunnels)
}

async fn socks_tunnel(mut client: TcpStream, tunnels: Arc<AtomicU32>) {
    expect(&mut client, &[5, 1, 2]).await;
    client.write_all(&[5, 2]).await.unwrap();
    expect(&mut client, b"\x01\x02me\x04p@ss").await;
    client.write_all(&[1, 0]).await.unwrap();
    // A connection, to an IPv4 address.
    expect(&mut client, &[5, 1, 0, 1]).await;
    let (ip, port) = (client.read_u32().await.unwrap(), client.read_u16().await.unwrap());
    let mut server = TcpStream::connect((Ipv4Addr::from(ip), port)).await.unwrap();
    client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await.unwrap();
    tunnels.fetch_add(1, Ordering::Relaxed);
    let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
}

async fn expect(client: &mut TcpStream, expected: &[u8]) {
    let mut found = vec![0; expected.len()];
    client.read_exact(&mut found).await.unwrap();
    assert_eq!(found, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_server_that_restarts_is_found_again() {
    let plane = ControlPlane::start().unwrap();
    let registry = Registry::new();
    let clients = admin(&plane)
        .metrics(Metrics::register(&registry).unwrap())
        .build()
        .unwrap();
    let client = clients.plain("test");
    whoami(&client).await.unwrap();

    plane.stop_apiserver();
    let error = Api::<Node>::all(client.clone())
        .list(&ListParams::default())
        .await
        .unwrap_err();
    assert!(is_unreachable(&error));
    assert_eq!(
        explain(&error),
        format!(
            "cannot connect to {}: Connection refused (os error 111)",
            clients.address()
        )
    );

    plane.start_apiserver().unwrap();
    whoami(&client).await.unwrap();
    let text = TextEncoder::new().encode_to_string(&registry.gather()).unwrap();
    let host = plane.url().strip_prefix("https://").unwrap();
    assert!(
        text.contains(&format!(
            r#"rest_client_requests_total{{code="201",host="{host}",method="POST"}} 2"#
        )),
        "{text}"
    );
    assert!(
        text.contains(&format!(
            r#"rest_client_requests_total{{code="<error>",host="{host}",method="GET"}} "#
        )),
        "{text}"
    );
}
