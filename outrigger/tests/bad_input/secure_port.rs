//! The secure port: authorization and responses.

use crate::fixture::{Credentials, Fixture};
use serde_json::{Value, json};

/// Grants a user access to these paths.
async fn allow(fixture: &Fixture, user: &str, paths: &[&str], verbs: &[&str]) {
    fixture
        .grant(user, json!([{"nonResourceURLs": paths, "verbs": verbs}]))
        .await;
    let attributes = json!({"nonResourceAttributes": {"path": paths[0], "verb": verbs[0]}});
    fixture.allowed(user, &attributes).await;
}

#[tokio::test]
async fn anonymous_sees_health_and_nothing_else() {
    let fixture = Fixture::shared().await;
    let manager = fixture.manager().start();
    manager.working().await;
    let port = manager.port();
    for path in ["/healthz", "/livez", "/readyz"] {
        let reply = port.get(path).await;
        assert_eq!((reply.status, reply.body.as_str()), (200, "ok"), "{path}");
    }
    let closed = [
        "/metrics",
        "/metrics/slis",
        "/configz",
        "/debug/flags/v",
        "/debug/pprof/",
        "/healthz/leaderElection",
        "/",
    ];
    for path in closed {
        let reply = port.get(path).await;
        let status: Value = serde_json::from_str(&reply.body).unwrap();
        let message = format!("forbidden: User \"system:anonymous\" cannot get path \"{path}\"");
        assert_eq!((reply.status, &status["message"]), (403, &json!(message)), "{path}");
    }
}

#[tokio::test]
async fn tokens_are_reviewed() {
    let fixture = Fixture::shared().await;
    let manager = fixture.manager().start();
    manager.working().await;
    let wrong = manager
        .port_as(&Credentials::Token("wrong".into()))
        .get("/metrics")
        .await;
    assert_eq!(wrong.status, 401, "{}", wrong.body);

    let (stranger, token) = fixture.service_account().await;
    let reply = manager.port_as(&Credentials::Token(token)).get("/metrics").await;
    let message = format!("forbidden: User \\\"{stranger}\\\" cannot get path \\\"/metrics\\\"");
    assert!(reply.status == 403 && reply.body.contains(&message), "{reply:?}");

    let (user, token) = fixture.service_account().await;
    allow(&fixture, &user, &["/metrics"], &["get"]).await;
    let port = manager.port_as(&Credentials::Token(token));
    assert_eq!(port.get("/metrics").await.status, 200);
    assert_eq!(port.get("/configz").await.status, 403);
}

#[tokio::test]
async fn client_certificates_are_verified() {
    let fixture = Fixture::shared().await;
    let manager = fixture.manager().start();
    manager.working().await;
    // The authorities are read from the cluster, shortly after the port is open.
    manager
        .logged("loaded new client certificate authorities from the cluster")
        .await;
    let (user, kubeconfig) = fixture.stranger("scraper");
    let port = manager.port_as(&Credentials::of(&kubeconfig));
    assert_eq!(port.get("/metrics").await.status, 403);
    allow(&fixture, &user, &["/configz"], &["get"]).await;
    assert_eq!(port.get("/configz").await.status, 200);

    let pki = |file| fixture.plane().pki(file);
    let stranger = Credentials::Certificate(pki("front-proxy-client.crt"), pki("front-proxy-client.key"));
    assert_eq!(manager.port_as(&stranger).get("/metrics").await.status, 401);
}

#[tokio::test]
async fn health_in_detail() {
    let fixture = Fixture::shared().await;
    let manager = fixture.manager().start();
    manager.working().await;
    let port = manager.port_as(&Credentials::of(&fixture.plane().kubeconfig()));
    let reply = port.get("/healthz?verbose").await;
    let controllers = [
        "leaderElection",
        "cloud-node-controller",
        "cloud-node-lifecycle-controller",
        "service-lb-controller",
    ];
    for check in controllers {
        assert!(reply.body.contains(&format!("[+]{check} ok\n")), "{}", reply.body);
        let one = port.get(&format!("/healthz/{check}")).await;
        assert_eq!((one.status, one.body.as_str()), (200, "ok"), "{check}");
    }
    assert!(reply.body.ends_with("healthz check passed\n"), "{}", reply.body);
    assert_eq!(port.get("/healthz/fantasy").await.status, 404);

    let reply = port.get("/readyz?verbose&exclude=informer-nodes&exclude=fantasy").await;
    for text in [
        "[+]informer-services ok",
        "[+]informer-nodes excluded: ok",
        "fantasy",
        "readyz check passed",
    ] {
        assert!(reply.body.contains(text), "{text} is missing in {}", reply.body);
    }
}

#[tokio::test]
async fn configz_has_given_values_and_defaults() {
    let fixture = Fixture::shared().await;
    let configz = async |flags: &[&str]| {
        let manager = flags
            .iter()
            .fold(fixture.manager(), |launch, flag| launch.flag(flag))
            .start();
        manager.answers("/livez", 200).await;
        let port = manager.port_as(&Credentials::of(&fixture.plane().kubeconfig()));
        let reply = manager
            .until("authorities from the cluster", async || {
                match port.get("/configz").await {
                    reply if reply.status == 200 => Ok(reply),
                    reply => Err(reply.body),
                }
            })
            .await;
        let json: Value = serde_json::from_str(&reply.body).unwrap();
        json["cloudcontrollermanager.config.k8s.io"].clone()
    };
    let auto = configz(&[]).await;
    assert_eq!(auto["kind"], "CloudControllerManagerConfiguration");
    assert_eq!(auto["apiVersion"], "cloudcontrollermanager.config.k8s.io/v1alpha1");
    assert_eq!(
        auto.pointer("/Generic/LeaderElection/resourceName").unwrap(),
        &fixture.name
    );
    assert_eq!(auto.pointer("/KubeCloudShared/CloudProvider/Name").unwrap(), "memory");
    let connection = auto.pointer("/Generic/ClientConnection").unwrap();
    assert_eq!((&connection["qps"], &connection["burst"]), (&json!(20), &json!(30)));
    assert_eq!(auto.pointer("/ServiceController/ConcurrentServiceSyncs").unwrap(), 1);
    let ours = &auto["Outrigger"];
    for key in [
        "KubeAPIQPS",
        "KubeAPIBurst",
        "ConcurrentServiceSyncs",
        "ConcurrentNodeSyncs",
        "ConcurrentNodeStatusUpdates",
        "ConcurrentNodeLifecycleSyncs",
    ] {
        assert_eq!(ours[key], "auto", "{key}");
    }
    assert_eq!(
        ours["NodeSelector"],
        format!("{}={}", crate::fixture::LABEL, fixture.name)
    );

    let flags = [
        "--kube-api-qps=7.5",
        "--kube-api-burst=9",
        "--concurrent-service-syncs=3",
        "--concurrent-node-syncs=4",
        "--concurrent-node-lifecycle-syncs=5",
    ];
    let given = configz(&flags).await;
    let connection = given.pointer("/Generic/ClientConnection").unwrap();
    assert_eq!((&connection["qps"], &connection["burst"]), (&json!(7.5), &json!(9)));
    assert_eq!(given.pointer("/ServiceController/ConcurrentServiceSyncs").unwrap(), 3);
    assert_eq!(given.pointer("/NodeController/ConcurrentNodeSyncs").unwrap(), 4);
    // By default, the same number as for initialization.
    let updates = given.pointer("/NodeController/ConcurrentNodeStatusUpdates").unwrap();
    assert_eq!(updates, 4);
    let in_force = [
        ("KubeAPIQPS", "7.5"),
        ("KubeAPIBurst", "9"),
        ("ConcurrentServiceSyncs", "3"),
        ("ConcurrentNodeSyncs", "4"),
        ("ConcurrentNodeStatusUpdates", "4"),
        ("ConcurrentNodeLifecycleSyncs", "5"),
    ];
    for (key, value) in in_force {
        assert_eq!(given["Outrigger"][key], value, "{key}");
    }
}

#[tokio::test]
async fn verbosity_can_be_changed() {
    let fixture = Fixture::shared().await;
    let manager = fixture.manager().flag("--v=0").start();
    manager.working().await;
    manager
        .logged("loaded new client certificate authorities from the cluster")
        .await;
    let port = manager.port_as(&Credentials::of(&fixture.plane().kubeconfig()));
    let requests = || manager.lines_with("\"HTTP\" verb=\"GET\"").len();
    assert_eq!((port.get("/healthz").await.status, requests()), (200, 0));

    let reply = port.put("/debug/flags/v", "6").await;
    let answer = "successfully set klog.logging.verbosity to 6\n";
    assert_eq!((reply.status, reply.body.as_str()), (200, answer));
    assert_eq!((port.get("/healthz").await.status, requests()), (200, 1));

    assert_eq!(port.put("/debug/flags/v", "0").await.status, 200);
    assert_eq!((port.get("/healthz").await.status, requests()), (200, 1));
    let reply = port.put("/debug/flags/v", "much").await;
    assert_eq!(reply.status, 400, "{}", reply.body);
    assert_eq!(port.get("/debug/flags/v").await.status, 406);
}
