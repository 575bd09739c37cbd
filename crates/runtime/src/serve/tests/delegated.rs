//! Authentication and authorization by a real API server.

use super::{rotation::guarded, *};
use k8s_openapi::api::{
    authentication::v1::TokenRequest,
    core::v1::{ConfigMap, ServiceAccount},
    rbac::v1::{ClusterRole, ClusterRoleBinding, RoleBinding},
};
use kube::{
    Api, Client, Config,
    api::{Patch, PatchParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
};
use lab::ControlPlane;
use reqwest::Identity;
use serde_json::json;
use testkit::{requests::Requests, wait};

/// A server that asks this API server about everything, and forgets quickly.
fn delegating(client: &Client) -> Running {
    delegating_with(client, |_, _| {})
}

fn delegating_with(client: &Client, change: impl FnOnce(&mut authn::Options, &mut authz::Options)) -> Running {
    let brief = Duration::from_millis(50);
    let mut identify = authn::Options {
        client: Some(client.clone()),
        token_ttl: brief,
        ..authn::Options::default()
    };
    let client = Some(client.clone());
    let mut permit = authz::Options {
        client,
        allow_ttl: brief,
        deny_ttl: brief,
        ..authz::Options::default()
    };
    change(&mut identify, &mut permit);
    Running::start(options(), |metrics| guarded(identify, permit, metrics))
}

/// A user with a token.
struct Account {
    name: String,
    token: String,
}

async fn account(client: &Client) -> Account {
    let accounts = Api::<ServiceAccount>::namespaced(client.clone(), "default");
    let name = lab::unique("serve");
    let account = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
    accounts.create(&PostParams::default(), &account).await.unwrap();
    let request = TokenRequest::default();
    let request = accounts
        .create_token_request(&name, &PostParams::default(), &request)
        .await
        .unwrap();
    Account {
        name,
        token: request.status.unwrap().token,
    }
}

/// Allows a user to `get` a path.
async fn allow(client: &Client, subject: serde_json::Value, path: &str) {
    let name = lab::unique("serve");
    let role: ClusterRole = serde_json::from_value(json!({
        "metadata": {"name": name}, "rules": [{"verbs": ["get"], "nonResourceURLs": [path]}],
    }))
    .unwrap();
    let binding: ClusterRoleBinding = serde_json::from_value(json!({
        "metadata": {"name": name}, "subjects": [subject],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
    }))
    .unwrap();
    Api::all(client.clone())
        .create(&PostParams::default(), &role)
        .await
        .unwrap();
    Api::all(client.clone())
        .create(&PostParams::default(), &binding)
        .await
        .unwrap();
}

fn user(name: &str) -> serde_json::Value {
    json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name})
}

/// The client certificate of a user, signed by the authority of the cluster.
fn certificate(cluster: &ControlPlane, name: &str, groups: &[&str]) -> Identity {
    let kubeconfig = cluster.kubeconfig_for(name, groups);
    let file = kubeconfig.file_stem().unwrap().to_str().unwrap().to_owned();
    identity(
        &cluster.pki(&format!("{file}.crt")),
        &cluster.pki(&format!("{file}.key")),
    )
}

fn identity(certificate: &Path, key: &Path) -> Identity {
    let pem = [certificate, key]
        .map(|path| std::fs::read_to_string(path).unwrap())
        .concat();
    Identity::from_pem(pem.as_bytes()).unwrap()
}

/// A client of the API server with RBAC.
async fn client_of(cluster: &ControlPlane, name: &str) -> Client {
    Client::try_from(config_of(cluster, name).await).unwrap()
}

async fn config_of(cluster: &ControlPlane, name: &str) -> Config {
    let kubeconfig = Kubeconfig::read_from(cluster.kubeconfig_for(name, &[])).unwrap();
    Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
        .await
        .unwrap()
}

async fn status_and_text(request: reqwest::RequestBuilder) -> (u16, String) {
    let response = request.send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

/// Waits until a request is answered so.
async fn until(expected: (u16, &str), request: impl Fn() -> reqwest::RequestBuilder) {
    wait::until(expected.1, || async {
        let answer = status_and_text(request()).await;
        if answer == (expected.0, expected.1.to_owned()) {
            Ok(())
        } else {
            Err(format!("{answer:?}"))
        }
    })
    .await;
}

#[tokio::test]
async fn a_token_gets_in_where_its_owner_may() {
    let cluster = ControlPlane::shared();
    let server = delegating(&cluster.client());
    let Account { name, token } = account(&cluster.client()).await;
    let ask = |path: &str| client().get(server.url(path)).bearer_auth(&token);
    let full_name = format!("system:serviceaccount:default:{name}");

    let (status, text) = status_and_text(ask("/metrics")).await;
    assert_eq!(status, 403);
    assert!(
        text.contains(&format!("User \\\"{full_name}\\\" cannot get path \\\"/metrics\\\"")),
        "{text}"
    );

    let subject = json!({"kind": "ServiceAccount", "namespace": "default", "name": name});
    allow(&cluster.client(), subject, "/metrics").await;
    until((200, &full_name), || ask("/metrics")).await;
    assert_eq!(ask("/configz").send().await.unwrap().status(), 403);
    assert_eq!(
        client()
            .put(server.url("/metrics"))
            .bearer_auth(&token)
            .send()
            .await
            .unwrap()
            .status(),
        403
    );
    let metrics = server.metrics();
    for line in [
        "apiserver_delegated_authn_request_total{code=\"201\"}",
        "authorization_attempts_total{result=\"no-opinion\"}",
    ] {
        assert!(metrics.contains(line), "{line}\n{metrics}");
    }
}

#[tokio::test]
async fn anonymous_and_a_wrong_token_are_rejected_as_by_the_api_server() {
    let cluster = ControlPlane::shared();
    let server = delegating(&cluster.client());
    let theirs = format!("{}/metrics", cluster.url());
    let ours = server.url("/metrics");
    for (status, token) in [(403, None), (401, Some("wrong")), (401, Some("a.b.c"))] {
        let ask = |url: &str| match token {
            Some(token) => client().get(url).bearer_auth(token),
            None => client().get(url),
        };
        let expected = ask(&theirs).send().await.unwrap();
        let answer = ask(&ours).send().await.unwrap();
        assert_eq!(answer.status(), status);
        for header in ["content-type", "cache-control"] {
            assert_eq!(answer.headers().get(header), expected.headers().get(header), "{header}");
        }
        assert_eq!(answer.text().await.unwrap(), expected.text().await.unwrap());
    }
    until((200, "system:anonymous"), || client().get(server.url("/healthz"))).await;
}

#[tokio::test]
async fn a_client_certificate_of_the_cluster_gets_in_where_its_owner_may() {
    let cluster = ControlPlane::shared();
    let server = delegating(&cluster.client());
    let name = lab::unique("user");
    let owner = client_builder()
        .identity(certificate(cluster, &name, &["staff"]))
        .build()
        .unwrap();
    let master = client_builder()
        .identity(certificate(cluster, "root", &["system:masters"]))
        .build()
        .unwrap();
    until((200, "root"), || master.get(server.url("/metrics"))).await;
    assert_eq!(owner.get(server.url("/metrics")).send().await.unwrap().status(), 403);
    allow(&cluster.client(), user(&name), "/metrics").await;
    until((200, &name), || owner.get(server.url("/metrics"))).await;

    let stranger = rotation::Authority::new("stranger").client("root", &["system:masters"]);
    let stranger = client_builder().identity(stranger).build().unwrap();
    assert_eq!(stranger.get(server.url("/healthz")).send().await.unwrap().status(), 401);
}

#[tokio::test]
async fn only_a_front_proxy_may_name_the_user() {
    let cluster = ControlPlane::shared();
    let server = delegating(&cluster.client());
    let name = lab::unique("user");
    let proxy = identity(
        &cluster.pki("front-proxy-client.crt"),
        &cluster.pki("front-proxy-client.key"),
    );
    let proxy = client_builder().identity(proxy).build().unwrap();
    let ask = |client: &reqwest::Client| client.get(server.url("/metrics")).header("X-Remote-User", &name);

    allow(
        &cluster.client(),
        json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": name}),
        "/metrics",
    )
    .await;
    let in_group = || {
        ask(&proxy)
            .header("X-Remote-Group", "a")
            .header("X-Remote-Group", &name)
    };
    until((200, &name), in_group).await;
    assert_eq!(ask(&proxy).send().await.unwrap().status(), 403);

    let other = client_builder()
        .identity(certificate(cluster, "root", &["system:masters"]))
        .build()
        .unwrap();
    until((200, "root"), || ask(&other)).await;
    let anonymous = ask(&client()).header("X-Remote-Group", "system:masters");
    assert_eq!(anonymous.send().await.unwrap().status(), 403);
}

#[tokio::test]
async fn reviews_are_cached() {
    let cluster = ControlPlane::shared();
    let (counted, requests) = Requests::of(cluster.config());
    let long = Duration::from_mins(10);
    let server = delegating_with(&counted, |identify, permit| {
        (identify.token_ttl, permit.allow_ttl, permit.deny_ttl) = (long, long, long);
    });
    let Account { token, .. } = account(&cluster.client()).await;
    let ask = |path: &str| client().get(server.url(path)).bearer_auth(&token).send();
    for answer in futures::future::join_all((0..10).map(|_| ask("/metrics"))).await {
        assert_eq!(answer.unwrap().status(), 403);
    }
    assert_eq!(ask("/configz").await.unwrap().status(), 403);
    assert_eq!(requests.with("tokenreviews").len(), 1, "{:?}", requests.all());
    assert_eq!(requests.with("subjectaccessreviews").len(), 2, "{:?}", requests.all());

    let wrong = || client().get(server.url("/metrics")).bearer_auth("wrong").send();
    for _ in 0..2 {
        assert_eq!(wrong().await.unwrap().status(), 401);
    }
    assert_eq!(
        requests.with("tokenreviews").len(),
        3,
        "what may be different the next time is not remembered"
    );
    let metrics = server.metrics();
    for line in [
        "authentication_token_cache_fetch_total{status=\"ok\"} 1\n",
        "authentication_token_cache_fetch_total{status=\"error\"} 2\n",
        "authentication_token_cache_request_total{status=\"hit\"} ",
        "authentication_token_cache_request_total{status=\"miss\"} ",
        "authentication_token_cache_request_duration_seconds_bucket{status=\"miss\",le=\"0.005\"} ",
        "authentication_token_cache_active_fetch_count{status=\"blocked\"} 0\n",
        "authentication_token_cache_active_fetch_count{status=\"in_flight\"} 0\n",
    ] {
        assert!(metrics.contains(line), "{line}\n{metrics}");
    }
}

#[tokio::test]
async fn a_missing_permission_is_reported_once() {
    let (log, _guard) = Log::start();
    let cluster = ControlPlane::shared();
    let alice = client_of(cluster, &lab::unique("alice")).await;
    let server = delegating_with(&alice, |identify, _| identify.lookup = authn::Lookup::Skip);
    for _ in 0..2 {
        let answer = client()
            .get(server.url("/metrics"))
            .bearer_auth("wrong")
            .send()
            .await
            .unwrap();
        assert_eq!(answer.status(), 401);
        let (status, text) = status_and_text(client().get(server.url("/metrics?a"))).await;
        assert_eq!(status, 500);
        let expected = "Internal Server Error: \"/metrics?a\": missing permission: subjectaccessreviews.authorization.k8s.io is forbidden: ";
        assert!(text.starts_with(expected), "{text}");
    }
    let missing = "missing permission; bind this identity to the ClusterRole system:auth-delegator";
    assert_eq!(log.count(missing), 2, "{}", log.text());
    for resource in [
        "tokenreviews.authentication.k8s.io",
        "subjectaccessreviews.authorization.k8s.io",
    ] {
        assert!(
            log.text().contains(&format!("verb=\"create\" resource=\"{resource}\"")),
            "{}",
            log.text()
        );
    }
    assert_eq!(client().get(server.url("/healthz")).send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_forbidden_lookup_is_reported_once_and_retried_until_it_is_allowed() {
    let (log, _guard) = Log::start();
    let (cluster, name) = (ControlPlane::shared(), lab::unique("alice"));
    let (alice, requests) = Requests::of(config_of(cluster, &name).await);
    let identify = authn::Options {
        client: Some(alice),
        ..authn::Options::default()
    };
    let mut check = None;
    let server = Running::start(options(), |metrics| {
        let authenticator = authn::Authenticator::new(identify, metrics.clone()).unwrap();
        check = Some(authenticator.check());
        let authorizer = authz::Authorizer::new(authz::Options::default(), metrics.clone()).unwrap();
        let endpoints = Router::new().route("/", any(ok)).route("/{*path}", any(ok));
        Chain::guarded(endpoints, authenticator, authorizer)
    });
    let check = check.unwrap();
    wait::until("a second try", || {
        let tries = requests.with("extension-apiserver-authentication");
        std::future::ready(if tries.len() > 1 { Ok(()) } else { Err(log.text()) })
    })
    .await;
    let sentence = "may not get configmaps extension-apiserver-authentication in kube-system: bind this identity to the \
                    Role extension-apiserver-authentication-reader there, or set \
                    --authentication-tolerate-lookup-failure: ";
    assert!(check().unwrap_err().contains(sentence), "{:?}", check());
    assert_eq!(log.count(sentence), 1, "{}", log.text());
    assert_eq!(server.status("/healthz").await, 200);

    may_look_up(&cluster.client(), &name).await;
    wait::until("the lookup", || std::future::ready(check())).await;
    let master = client_builder()
        .identity(certificate(cluster, "root", &["system:masters"]))
        .build()
        .unwrap();
    until((200, "ok"), || master.get(server.url("/metrics"))).await;
}

/// Grants the Role that allows a user to read the client CA configuration.
async fn may_look_up(client: &Client, name: &str) {
    let binding: RoleBinding = serde_json::from_value(json!({
        "metadata": {"name": name}, "subjects": [user(name)],
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "extension-apiserver-authentication-reader",
        },
    }))
    .unwrap();
    Api::namespaced(client.clone(), "kube-system")
        .create(&PostParams::default(), &binding)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_lookup_that_is_forbidden_may_be_done_without() {
    let cluster = ControlPlane::shared();
    let alice = client_of(cluster, &lab::unique("alice")).await;
    let (log, _guard) = Log::start();
    let server = delegating_with(&alice, |identify, _| identify.lookup = authn::Lookup::Tolerated);
    log.until("continuing without client CA configuration; client certificates are not trusted")
        .await;
    assert_eq!(client().get(server.url("/healthz")).send().await.unwrap().status(), 200);
    let master = client_builder()
        .identity(certificate(cluster, "root", &["system:masters"]))
        .build()
        .unwrap();
    assert_eq!(
        master.get(server.url("/healthz")).send().await.unwrap().status(),
        200,
        "as anonymous"
    );
}

#[tokio::test]
async fn without_an_api_server_tokens_are_ignored_and_other_requests_are_forbidden() {
    let server = Running::start(options(), |metrics| {
        guarded(authn::Options::default(), authz::Options::default(), metrics)
    });
    let ask = |path: &str| client().get(server.url(path)).bearer_auth("anything");
    assert_eq!(status_and_text(ask("/healthz")).await, (200, "system:anonymous".into()));
    let (status, text) = status_and_text(ask("/metrics")).await;
    assert_eq!(status, 403);
    assert!(
        text.contains("User \\\"system:anonymous\\\" cannot get path \\\"/metrics\\\""),
        "{text}"
    );
}

#[tokio::test]
async fn a_front_proxy_needs_a_name_that_is_allowed() {
    let folder = Folder::new();
    let authority = rotation::Authority::new("front-proxy");
    let request_header_ca_file = Some(folder.write("ca.crt", authority.pem()));
    let request_header = trust::HeaderNames {
        allowed_names: vec!["proxy".into()],
        username: vec!["X-User".into()],
        group: vec!["X-Group".into()],
        ..trust::HeaderNames::default()
    };
    let identify = authn::Options {
        request_header_ca_file,
        request_header,
        ..authn::Options::default()
    };
    let server = Running::start(options(), |metrics| {
        guarded(identify, authz::Options::default(), metrics)
    });
    for (name, expected) in [("proxy", 200), ("another", 401)] {
        let proxy = client_builder().identity(authority.client(name, &[])).build().unwrap();
        let request = proxy
            .get(server.url("/metrics"))
            .header("X-User", "bob")
            .header("X-Group", "system:masters");
        assert_eq!(request.send().await.unwrap().status(), expected, "{name}");
    }
}

/// Waits for an unavailable API server, watches its configuration once it is available, and continues without it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn survives_outages_of_the_api_server() {
    let cluster = tokio::task::spawn_blocking(|| ControlPlane::start().unwrap())
        .await
        .unwrap();
    let cluster = Arc::new(cluster);
    let stopped = cluster.clone();
    tokio::task::spawn_blocking(move || stopped.stop_apiserver())
        .await
        .unwrap();

    let identify = authn::Options {
        client: Some(cluster.client()),
        ..authn::Options::default()
    };
    let permit = authz::Options {
        client: Some(cluster.client()),
        ..authz::Options::default()
    };
    let mut check = None;
    let server = Running::start(options(), |metrics| {
        let authenticator = authn::Authenticator::new(identify, metrics.clone()).unwrap();
        check = Some(authenticator.check());
        let endpoints = Router::new().route("/", any(ok)).route("/{*path}", any(ok));
        Chain::guarded(
            endpoints,
            authenticator,
            authz::Authorizer::new(permit, metrics.clone()).unwrap(),
        )
    });
    let check = check.unwrap();
    wait::until("the reason", || {
        let problem = check().unwrap_err();
        std::future::ready(if problem.contains("cannot be loaded: ") {
            Ok(())
        } else {
            Err(problem)
        })
    })
    .await;
    assert_eq!(client().get(server.url("/healthz")).send().await.unwrap().status(), 200);
    assert_eq!(client().get(server.url("/metrics")).send().await.unwrap().status(), 500);

    let started = cluster.clone();
    tokio::task::spawn_blocking(move || started.start_apiserver().unwrap())
        .await
        .unwrap();
    let master = client_builder()
        .identity(certificate(&cluster, "root", &["system:masters"]))
        .build()
        .unwrap();
    until((200, "ok"), || master.get(server.url("/metrics"))).await;
    assert_eq!(check(), Ok(()));

    let another = rotation::Authority::new("another");
    let another_client = client_builder()
        .identity(another.client("eve", &["system:masters"]))
        .build()
        .unwrap();
    assert_eq!(
        another_client
            .get(server.url("/metrics"))
            .send()
            .await
            .unwrap()
            .status(),
        401
    );
    let maps = Api::<ConfigMap>::namespaced(cluster.client(), "kube-system");
    let name = "extension-apiserver-authentication";
    let bundle = maps.get(name).await.unwrap().data.unwrap()["client-ca-file"].clone() + &another.pem();
    let patch = Patch::Merge(json!({"data": {"client-ca-file": bundle}}));
    maps.patch(name, &PatchParams::default(), &patch).await.unwrap();
    until((200, "ok"), || another_client.get(server.url("/metrics"))).await;
}
