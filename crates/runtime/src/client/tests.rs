use super::*;
use crate::{fence::Fence, version::Info};
use base64::{Engine, prelude::BASE64_STANDARD};
use k8s_openapi::api::{
    authentication::v1::{SelfSubjectReview, TokenRequest},
    core::v1::{ConfigMap, Namespace, Node, ServiceAccount},
};
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ListParams, PostParams},
};
use lab::ControlPlane;
use prometheus::{Registry, TextEncoder};
use rstest::rstest;
use serde_json::{Value, json};
use std::{
    path::PathBuf,
    sync::atomic::{AtomicU32, Ordering},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Notify,
    time::{Instant, timeout},
};

/// A folder for files that a kubeconfig names.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let folder = Self(std::env::temp_dir().join(lab::unique("client")));
        std::fs::create_dir_all(&folder.0).unwrap();
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        std::fs::write(self.path(name), content).unwrap();
        self.path(name)
    }

    /// Clients by a kubeconfig for this control plane, with these changes to its cluster, and this user.
    fn clients(&self, plane: &ControlPlane, cluster: &Value, user: &Value) -> Clients {
        Builder::new(self.config(plane, cluster, user))
            .binary("/bin/ccm", info())
            .build()
            .unwrap()
    }

    fn config(&self, plane: &ControlPlane, cluster: &Value, user: &Value) -> Config {
        let mut whole = json!({"server": plane.url(), "certificate-authority": plane.ca_file()});
        for (key, value) in cluster.as_object().unwrap() {
            whole[key] = value.clone();
        }
        let kubeconfig = json!({
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
            "clusters": [{"name": "k", "cluster": whole}],
            "users": [{"name": "u", "user": user}],
        });
        let kubeconfig = self.write("kubeconfig", kubeconfig.to_string());
        Source {
            kubeconfig: Some(kubeconfig),
            master: None,
        }
        .load()
        .unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn info() -> Info {
    Info {
        git_version: "v1.2.3".into(),
        git_commit: "0123456789".into(),
        ..Info::current()
    }
}

fn admin(plane: &ControlPlane) -> Builder {
    let source = Source {
        kubeconfig: Some(plane.kubeconfig()),
        master: None,
    };
    Builder::new(source.load().unwrap()).binary("/bin/ccm", info())
}

fn admin_user(plane: &ControlPlane) -> Value {
    json!({"client-certificate": plane.pki("admin.crt"), "client-key": plane.pki("admin.key")})
}

/// Who the API server thinks we are.
async fn whoami(client: &Client) -> Result<String, String> {
    let review = Api::<SelfSubjectReview>::all(client.clone());
    let answer = review
        .create(&PostParams::default(), &SelfSubjectReview::default())
        .await;
    let user = answer
        .map_err(|error| explain(&error))?
        .status
        .and_then(|status| status.user_info);
    Ok(user.and_then(|user| user.username).unwrap_or_default())
}

/// A namespace with a service account `robot` in it, and a token of that.
async fn robot(plane: &ControlPlane) -> (String, String) {
    let (client, namespace) = (plane.client(), lab::unique("robot"));
    let named = |name: &str| kube::api::ObjectMeta {
        name: Some(name.into()),
        ..Default::default()
    };
    let object = Namespace {
        metadata: named(&namespace),
        ..Default::default()
    };
    Api::all(client.clone())
        .create(&PostParams::default(), &object)
        .await
        .unwrap();
    let accounts = Api::<ServiceAccount>::namespaced(client, &namespace);
    let account = ServiceAccount {
        metadata: named("robot"),
        ..Default::default()
    };
    accounts.create(&PostParams::default(), &account).await.unwrap();
    let answer = accounts
        .create_token_request("robot", &PostParams::default(), &TokenRequest::default())
        .await
        .unwrap();
    (
        format!("system:serviceaccount:{namespace}:robot"),
        answer.status.unwrap().token,
    )
}

fn audited(plane: &ControlPlane, wanted: impl Fn(&Value) -> bool) -> Vec<Value> {
    let log = std::fs::read_to_string(plane.audit_log()).unwrap();
    log.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .filter(wanted)
        .collect()
}

#[tokio::test]
async fn each_client_has_its_name_in_the_user_agent() {
    let plane = ControlPlane::shared();
    let clients = admin(plane).build().unwrap();
    let name = lab::unique("informer");
    Api::<Node>::all(clients.plain(&name))
        .list(&ListParams::default().limit(1))
        .await
        .unwrap();
    let expected = format!("ccm/v1.2.3 ({}) kubernetes/0123456/{name}", Info::current().platform);
    assert_eq!(audited(plane, |entry| entry["userAgent"] == expected).len(), 1);

    let lease = clients.for_leases(Duration::from_secs(5)).unwrap();
    let missing = lab::unique("no-such-node");
    Api::<Node>::all(lease).get_opt(&missing).await.unwrap();
    let asked = audited(plane, |entry| entry["objectRef"]["name"] == missing);
    assert!(asked[0]["userAgent"].as_str().unwrap().ends_with("/leader-election"));
}

#[tokio::test]
async fn certificate_files_are_read_again_when_the_server_rejects_them() {
    let plane = ControlPlane::shared();
    let folder = Folder::new();
    let unknown = rcgen::generate_simple_self_signed(["stranger".to_owned()]).unwrap();
    let user = json!({
        "client-certificate": folder.write("client.crt", unknown.cert.pem()),
        "client-key": folder.write("client.key", unknown.signing_key.serialize_pem()),
    });
    let client = folder.clients(plane, &json!({}), &user).plain("test");
    std::fs::copy(plane.pki("admin.crt"), folder.path("client.crt")).unwrap();
    std::fs::copy(plane.pki("admin.key"), folder.path("client.key")).unwrap();
    assert_ne!(whoami(&client).await.unwrap(), "system:anonymous");
}

#[tokio::test]
async fn a_rejected_certificate_is_explained() {
    let plane = ControlPlane::shared();
    let folder = Folder::new();
    let unknown = rcgen::generate_simple_self_signed(["stranger".to_owned()]).unwrap();
    let base64 = |text: String| BASE64_STANDARD.encode(text);
    let user = json!({
        "client-certificate-data": base64(unknown.cert.pem()),
        "client-key-data": base64(unknown.signing_key.serialize_pem()),
    });
    let said = whoami(&folder.clients(plane, &json!({}), &user).plain("test"))
        .await
        .unwrap_err();
    assert!(
        said.starts_with("the API server does not accept our credentials (401 Unauthorized)"),
        "{said}"
    );
}

#[tokio::test]
async fn a_token_file_is_read_again_when_the_server_rejects_it() {
    let plane = ControlPlane::shared();
    let folder = Folder::new();
    let (name, token) = robot(plane).await;
    let user = json!({"tokenFile": folder.write("token", "expired\n")});
    let client = folder.clients(plane, &json!({}), &user).plain("test");
    assert!(whoami(&client).await.is_err());
    folder.write("token", format!("{token}\n"));
    assert_eq!(whoami(&client).await, Ok(name));
}

#[tokio::test]
async fn a_credential_plugin_is_run_again_when_the_server_rejects_its_token() {
    use std::os::unix::fs::PermissionsExt;
    let plane = ControlPlane::shared();
    let folder = Folder::new();
    let (name, token) = robot(plane).await;
    let script = "#!/bin/sh\n\
        token=$(cat \"$(dirname \"$0\")/token\")\n\
        echo '{\"kind\": \"ExecCredential\", \"apiVersion\": \"client.authentication.k8s.io/v1\", \"status\": {\"token\": \"'$token'\"}}'\n";
    let plugin = folder.write("plugin", script);
    std::fs::set_permissions(&plugin, std::fs::Permissions::from_mode(0o755)).unwrap();
    folder.write("token", "expired");
    let user = json!({"exec": {"command": "./plugin", "apiVersion": "client.authentication.k8s.io/v1"}});
    let client = folder.clients(plane, &json!({}), &user).plain("test");
    folder.write("token", token);
    assert_eq!(whoami(&client).await, Ok(name));
}

#[tokio::test]
async fn a_failing_credential_plugin_is_explained() {
    let plane = ControlPlane::shared();
    let folder = Folder::new();
    let user = json!({"exec": {
        "command": "sh",
        "args": ["-c", "echo s3cret; echo 'please log in' >&2; exit 3"],
        "apiVersion": "client.authentication.k8s.io/v1",
    }});
    let error = Builder::new(folder.config(plane, &json!({}), &user))
        .build()
        .err()
        .unwrap();
    assert_eq!(
        explain(&error),
        "the credential plugin of the kubeconfig failed with exit status: 3: please log in"
    );
}

#[rstest]
#[case::another_ca(json!({"certificate-authority": "CA"}), "its certificate is not signed by the configured certificate authority")]
#[case::another_name(json!({"tls-server-name": "not-this-server"}), "not valid for name")]
#[tokio::test]
async fn a_certificate_that_we_do_not_trust_is_explained(#[case] mut cluster: Value, #[case] expected: &str) {
    let plane = ControlPlane::shared();
    if cluster["certificate-authority"] == "CA" {
        cluster["certificate-authority"] = json!(plane.pki("front-proxy-ca.crt"));
    }
    let said = whoami(&Folder::new().clients(plane, &cluster, &admin_user(plane)).plain("test"))
        .await
        .unwrap_err();
    assert!(
        said.starts_with(&format!("cannot connect to {}: ", plane.url())) && said.contains(expected),
        "{said}"
    );
}

#[rstest]
#[case::insecure(json!({"certificate-authority": "", "insecure-skip-tls-verify": true}))]
#[case::by_another_name(json!({"tls-server-name": "kubernetes.default.svc"}))]
#[case::inline(json!({"certificate-authority": "", "certificate-authority-data": "CA"}))]
#[tokio::test]
async fn trusts_the_server_as_told(#[case] mut cluster: Value) {
    let plane = ControlPlane::shared();
    if cluster["certificate-authority-data"] == "CA" {
        cluster["certificate-authority-data"] = json!(BASE64_STANDARD.encode(std::fs::read(plane.ca_file()).unwrap()));
    }
    let client = Folder::new().clients(plane, &cluster, &admin_user(plane)).plain("test");
    assert!(whoami(&client).await.is_ok());
}

#[tokio::test]
async fn a_missing_permission_names_verb_and_resource() {
    let plane = ControlPlane::shared();
    let source = Source {
        kubeconfig: Some(plane.kubeconfig_for("nobody", &[])),
        master: None,
    };
    let client = Builder::new(source.load().unwrap()).build().unwrap().plain("test");
    let error = Api::<Node>::all(client).list(&ListParams::default()).await.unwrap_err();
    assert_eq!(
        explain(&error),
        r#"missing permission: nodes is forbidden: User "nobody" cannot list resource "nodes" in API group "" at the cluster scope"#
    );
    assert!(!is_unreachable(&error));
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

/// A proxy that lets in who says `me:p@ss`, while its gate is not locked.
#[derive(Clone, Default)]
struct Proxy {
    address: String,
    asked: Arc<Notify>,
    gate: Arc<tokio::sync::Mutex<()>>,
    tunnels: Arc<AtomicU32>,
}

impl Proxy {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = Self {
            address: listener.local_addr().unwrap().to_string(),
            ..Self::default()
        };
        tokio::spawn({
            let proxy = proxy.clone();
            async move {
                while let Ok((connection, _)) = listener.accept().await {
                    tokio::spawn(proxy.clone().tunnel(connection));
                }
            }
        });
        proxy
    }

    async fn tunnel(self, mut client: TcpStream) {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(client.read_u8().await.unwrap());
        }
        let head = String::from_utf8(head).unwrap();
        let target = head
            .strip_prefix("CONNECT ")
            .and_then(|rest| rest.split(' ').next())
            .unwrap();
        assert!(head.to_lowercase().contains("proxy-authorization: basic "), "{head}");
        assert!(head.contains(&BASE64_STANDARD.encode("me:p@ss")), "{head}");
        self.asked.notify_one();
        drop(self.gate.lock().await);
        let mut server = TcpStream::connect(target).await.unwrap();
        client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
        self.tunnels.fetch_add(1, Ordering::Relaxed);
        let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
    }
}

#[tokio::test]
async fn only_controllers_stand_behind_the_fence() {
    let plane = ControlPlane::shared();
    let fence = Fence::closed();
    let clients = admin(plane).fence(fence.clone()).build().unwrap();
    let write = async |client: Client| {
        let mut object = ConfigMap::default();
        object.metadata.name = Some(lab::unique("fence"));
        Api::<ConfigMap>::namespaced(client, "default")
            .create(&PostParams::default(), &object)
            .await
    };
    let controller = clients.for_controller("node-controller").await.unwrap();
    assert!(is_fenced(&write(controller.clone()).await.unwrap_err()));
    Api::<Node>::all(controller.clone())
        .list(&ListParams::default().limit(1))
        .await
        .unwrap();
    write(clients.plain("events")).await.unwrap();
    write(clients.for_leases(Duration::from_secs(5)).unwrap())
        .await
        .unwrap();
    fence.allow_until(std::time::Instant::now() + Duration::from_mins(1));
    write(controller).await.unwrap();
}

#[tokio::test]
async fn a_write_whose_connection_comes_up_behind_the_fence_is_not_made() {
    let plane = ControlPlane::shared();
    let proxy = Proxy::start().await;
    let blocked = proxy.gate.lock().await;
    let cluster = json!({"proxy-url": format!("http://me:p%40ss@{}", proxy.address)});
    let config = Folder::new().config(plane, &cluster, &admin_user(plane));
    let fence = Fence::open();
    let client = Builder::new(config)
        .fence(fence.clone())
        .build()
        .unwrap()
        .for_controller("test")
        .await
        .unwrap();
    let mut object = ConfigMap::default();
    object.metadata.name = Some(lab::unique("late"));
    let name = object.name_any();
    let write = tokio::spawn(async move {
        Api::<ConfigMap>::namespaced(client, "default")
            .create(&PostParams::default(), &object)
            .await
    });
    proxy.asked.notified().await;
    fence.close();
    drop(blocked);
    assert!(is_fenced(&write.await.unwrap().unwrap_err()));
    assert_eq!(proxy.tunnels.load(Ordering::Relaxed), 1, "the connection came up");
    let found = Api::<ConfigMap>::namespaced(plane.client(), "default")
        .get_opt(&name)
        .await
        .unwrap();
    assert_eq!(found, None);
}

#[tokio::test]
async fn a_token_needs_no_place_among_the_requests_under_way() {
    let plane = ControlPlane::shared();
    let identity = Identity::ServiceAccounts {
        namespace: lab::unique("accounts"),
    };
    let clients = admin(plane)
        .identity(identity)
        .limit(Limit::InFlight(1))
        .build()
        .unwrap();
    let client = clients.for_controller("service-controller").await.unwrap();
    let name = timeout(Duration::from_secs(10), whoami(&client))
        .await
        .unwrap()
        .unwrap();
    assert!(name.ends_with(":service-controller"), "{name}");
}

#[tokio::test]
async fn controllers_have_service_accounts_of_their_own() {
    let plane = ControlPlane::shared();
    let namespace = lab::unique("accounts");
    let identity = Identity::ServiceAccounts {
        namespace: namespace.clone(),
    };
    let clients = admin(plane).identity(identity).build().unwrap();
    let first = clients.for_controller("node-controller").await.unwrap();
    let second = clients.for_controller("node-controller").await.unwrap();
    let expected = format!("system:serviceaccount:{namespace}:node-controller");
    assert_eq!(whoami(&first).await, Ok(expected.clone()));
    assert_eq!(whoami(&second).await, Ok(expected.clone()));
    assert_ne!(
        whoami(&clients.plain("informers")).await,
        Ok(expected.clone()),
        "others act as the process"
    );

    let in_namespace = |entry: &Value| entry["objectRef"]["namespace"] == namespace.as_str();
    let tokens = audited(plane, |entry| {
        in_namespace(entry) && entry["objectRef"]["subresource"] == "token"
    });
    assert_eq!(tokens.len(), 1, "both share the token");
    let reviews = audited(plane, |entry| entry["user"]["username"] == expected.as_str());
    assert!(
        reviews[0]["userAgent"]
            .as_str()
            .unwrap()
            .ends_with(&format!("/{expected}"))
    );
}

#[tokio::test]
async fn a_service_account_that_is_deleted_comes_back_without_an_error() {
    let plane = ControlPlane::shared();
    let namespace = lab::unique("accounts");
    let identity = Identity::ServiceAccounts {
        namespace: namespace.clone(),
    };
    let client = admin(plane)
        .identity(identity)
        .build()
        .unwrap()
        .for_controller("route-controller")
        .await
        .unwrap();
    let accounts = Api::<ServiceAccount>::namespaced(plane.client(), &namespace);
    whoami(&client).await.unwrap();
    let before = accounts.get("route-controller").await.unwrap();
    accounts
        .delete("route-controller", &DeleteParams::default())
        .await
        .unwrap();
    // The API server remembers for ten seconds that a token was good.
    let back = timeout(Duration::from_secs(30), async {
        loop {
            whoami(&client).await.unwrap();
            if let Some(account) = accounts.get_opt("route-controller").await.unwrap() {
                return account;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    });
    assert_ne!(back.await.unwrap().uid(), before.uid());
    assert!(whoami(&client).await.unwrap().ends_with(":route-controller"));
}

#[tokio::test]
async fn a_service_account_that_cannot_be_made_is_explained() {
    let plane = ControlPlane::shared();
    let source = Source {
        kubeconfig: Some(plane.kubeconfig_for("nobody", &[])),
        master: None,
    };
    let identity = Identity::ServiceAccounts {
        namespace: "kube-system".into(),
    };
    let clients = Builder::new(source.load().unwrap()).identity(identity).build().unwrap();
    let error = clients.for_controller("service-controller").await.err().unwrap();
    assert_eq!(
        error.to_string(),
        "cannot read service account kube-system/service-controller"
    );
    let said = explain(&error);
    assert!(
        said.starts_with(
            "missing permission: serviceaccounts \"service-controller\" is forbidden: User \"nobody\" cannot get"
        ),
        "{said}"
    );
}

#[tokio::test]
async fn a_lease_is_not_kept_waiting() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let clients = Builder::new(Config::new(url.parse().unwrap()))
        .limit(Limit::InFlight(1))
        .build()
        .unwrap();
    let stuck = tokio::spawn({
        let client = clients.plain("stuck");
        async move { Api::<Node>::all(client).list(&ListParams::default()).await }
    });
    let _connection = silent.accept().await.unwrap();
    let started = Instant::now();
    let lease = Api::<Node>::all(clients.for_leases(Duration::from_millis(300)).unwrap());
    let error = lease.get("a").await.unwrap_err();
    assert_eq!(explain(&error), format!("{url} did not answer within 0.3 s"));
    assert!(started.elapsed() < Duration::from_secs(5));
    stuck.abort();
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

#[test]
fn nothing_prints_a_secret() {
    let mut config = Config::new("https://me:s3cret@api:6443/path".parse().unwrap());
    config.auth_info.token = Some("s3cret".to_owned().into());
    config.proxy_url = Some("http://me:s3cret@proxy".parse().unwrap());
    assert_eq!(
        format!("{:?}", Builder::new(config)),
        r#"Builder { address: "https://api:6443", .. }"#
    );
}
