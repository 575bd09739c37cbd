mod accounts;
mod connection;
mod credentials;
mod fence;

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

/// The user name that the API server assigns to the client.
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

/// A proxy that accepts the credentials `me:p@ss`, while its gate is not locked.
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
async fn a_missing_permission_names_verb_and_resource() {
    let plane = ControlPlane::shared();
    let source = Source {
        kubeconfig: Some(plane.kubeconfig_for("alice", &[])),
        master: None,
    };
    let client = Builder::new(source.load().unwrap()).build().unwrap().plain("test");
    let error = Api::<Node>::all(client).list(&ListParams::default()).await.unwrap_err();
    assert_eq!(
        explain(&error),
        r#"missing permission: nodes is forbidden: User "alice" cannot list resource "nodes" in API group "" at the cluster scope"#
    );
    assert!(!is_unreachable(&error));
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
