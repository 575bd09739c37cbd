//! Third-party webhooks for our objects: one that rejects them, and one that changes them.

use crate::{
    health::event_message,
    world::{World, deployment, infrastructure, kind},
};
use axum::{Json, Router, extract::State, routing::post, serve::Listener};
use base64::{Engine, prelude::BASE64_STANDARD};
use kube::api::ApiResource;
use serde_json::{Value, json};
use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
    },
    server::TlsStream,
};

/// A webhook that gives the same answer to every request.
struct Webhook {
    address: SocketAddr,
    /// Its own certificate, in PEM.
    certificate: String,
    asked: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Webhook {
    async fn answering(answer: Value) -> Self {
        lab::install_crypto();
        let key = rcgen::KeyPair::generate().unwrap();
        let params = rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let private = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], private)
            .unwrap();
        let port = Port {
            listener: TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap(),
            acceptor: TlsAcceptor::from(Arc::new(config)),
        };
        let (address, asked) = (port.listener.local_addr().unwrap(), Arc::<AtomicUsize>::default());
        let router = Router::new()
            .route("/", post(review))
            .with_state((answer, asked.clone()));
        let task = tokio::spawn(async { axum::serve(port, router).await.unwrap() });
        Self {
            address,
            certificate: certificate.pem(),
            asked,
            task,
        }
    }

    /// Registers it for these objects of a world.
    async fn register(&self, world: &World, kind_: &ApiResource, rule: Value) {
        let webhook = json!({"webhooks": [{
            "name": "third-party.lab.example", "failurePolicy": "Fail", "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "clientConfig": {
                "url": format!("https://{}/", self.address), "caBundle": BASE64_STANDARD.encode(&self.certificate),
            },
            "rules": [rule],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": world.namespace}},
        }]});
        world.apply(kind_, "", "third-party.lab", webhook).await;
    }

    fn times(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

impl Drop for Webhook {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn review(State((answer, asked)): State<(Value, Arc<AtomicUsize>)>, Json(review): Json<Value>) -> Json<Value> {
    asked.fetch_add(1, Ordering::Relaxed);
    let mut response = answer;
    response["uid"] = review["request"]["uid"].clone();
    Json(json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}))
}

/// A port with TLS.
struct Port {
    listener: TcpListener,
    acceptor: TlsAcceptor,
}

impl Listener for Port {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, SocketAddr) {
        loop {
            let (stream, address) = Listener::accept(&mut self.listener).await;
            // Only the API server speaks TLS to it.
            if let Ok(stream) = self.acceptor.accept(stream).await {
                return (stream, address);
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

fn validating() -> ApiResource {
    kind("ValidatingWebhookConfiguration")
}

fn mutating() -> ApiResource {
    kind("MutatingWebhookConfiguration")
}

/// Waits until the API server calls it: it learns of a webhook a moment after its creation.
async fn in_force(world: &World, webhook: &Webhook, resource: &ApiResource, object: Value) {
    let api = world.api(resource, &world.namespace);
    let dry = kube::api::PostParams {
        dry_run: true,
        ..kube::api::PostParams::default()
    };
    let object = serde_json::from_value(object).unwrap();
    testkit::wait::until("the webhook", async || {
        let answer = api.create(&dry, &object).await;
        match webhook.times() {
            0 => Err(format!("it is not asked: {answer:?}")),
            _ => Ok(()),
        }
    })
    .await;
}

/// A rejection is reported with the webhook's message, everything else is created, and retries have a back-off; without the webhook everything recovers.
#[tokio::test]
async fn refuses() {
    let world = World::new("AWS").await;
    let no = json!({"allowed": false, "status": {"code": 403, "message": "no Services in this lab"}});
    let webhook = Webhook::answering(no).await;
    let rule = json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["services"]});
    webhook.register(&world, &validating(), rule).await;
    let services = kind("Service");
    let service =
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "try"}, "spec": {"ports": [{"port": 1}]}});
    in_force(&world, &webhook, &services, service).await;

    let mark = world.mark();
    let operator = world.start();
    world.installed(&operator, 6).await;
    let message = event_message(&world, &operator, &world.namespace, "ResourceCreateFailed").await;
    for part in ["third-party.lab.example", "no Services in this lab", "Service "] {
        assert!(message.contains(part), "{part} is not in {message}");
    }
    // It retries with doubled pauses: twenty attempts take several minutes.
    let look = async || {
        let writes = world.writes_since(mark);
        match writes
            .iter()
            .filter(|write| write.starts_with("patch services"))
            .count()
        {
            few if few < 5 => Err(format!("only {few} tries")),
            tries => Ok(tries),
        }
    };
    let tries = operator.until("another try", look).await;
    assert!(tries <= 20, "{tries} tries");

    world.delete(&validating(), "", "third-party.lab").await;
    world.runs(&operator, "aws").await;
    world.installed(&operator, 7).await;
}

/// A field that a webhook always changes is not reverted forever: there is one write for every desired state.
#[tokio::test]
async fn changes_our_own_objects() {
    let world = World::new("AWS").await;
    let patch = json!([{"op": "replace", "path": "/spec/replicas", "value": 3}]).to_string();
    let three = json!({"allowed": true, "patchType": "JSONPatch", "patch": BASE64_STANDARD.encode(patch)});
    let webhook = Webhook::answering(three).await;
    let rule = json!({
        "apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["deployments"],
    });
    webhook.register(&world, &mutating(), rule).await;
    let labels = json!({"a": "b"});
    let pod = json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "a", "image": "a"}]}});
    let try_ = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "try"},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": pod},
    });
    in_force(&world, &webhook, &deployment(), try_).await;

    let mark = world.mark();
    let operator = world.start();
    world.runs(&operator, "aws").await;
    let name = "aws-cloud-controller-manager";
    let live = world.get(&deployment(), &world.namespace, name).await.unwrap();
    assert_eq!(live["spec"]["replicas"], 3, "the webhook is not asked");
    let written = || {
        let writes = world.writes_since(mark);
        writes
            .iter()
            .filter(|write| write.ends_with(&format!("deployments {name}")))
            .count()
    };
    assert!(written() <= 2, "{:#?}", world.writes_since(mark));

    // Each of these causes a complete pass.
    for pass in 0..5 {
        let edit = json!({"metadata": {"annotations": {"lab/pass": pass.to_string()}}});
        world.edit(&infrastructure(), "", "cluster", edit).await;
        world.settled().await;
    }
    assert!(written() <= 2, "{:#?}", world.writes_since(mark));

    let before = written();
    world.set_source("[Global]\nZone = eu-lab-1c\n").await;
    let hash = |live: &Value| live["spec"]["template"]["metadata"]["annotations"].clone();
    let look = async || match world.get(&deployment(), &world.namespace, name).await {
        Some(now) if hash(&now) != hash(&live) => Ok(()),
        now => Err(format!("{now:?}")),
    };
    operator.until("a new wish", look).await;
    world.settled().await;
    assert!(
        (1..=2).contains(&(written() - before)),
        "{:#?}",
        world.writes_since(mark)
    );
}
