//! Credentials and their renewal.

use super::*;

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

/// The server still accepts the old ones, so it does not trigger the renewal.
#[tokio::test]
async fn certificate_files_are_read_again_when_they_change() {
    let plane = ControlPlane::shared();
    let folder = Folder::new();
    let kubeconfig = plane.kubeconfig_for("bob", &[]);
    let bob = kubeconfig.file_stem().unwrap().to_str().unwrap();
    let put = |user: &str| {
        for end in ["crt", "key"] {
            let file = plane.pki(&format!("{user}.{end}"));
            std::fs::copy(file, folder.path(&format!("client.{end}"))).unwrap();
        }
    };
    put("admin");
    let user = json!({"client-certificate": folder.path("client.crt"), "client-key": folder.path("client.key")});
    let client = folder.clients(plane, &json!({}), &user).plain("test");
    let admin = whoami(&client).await.unwrap();

    put(bob);
    assert_eq!(whoami(&client).await.unwrap(), admin, "it checks too often");
    tokio::time::pause();
    tokio::time::advance(files::CHECK).await;
    tokio::time::resume();
    assert_eq!(whoami(&client).await.unwrap(), "bob");
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
    let message = whoami(&folder.clients(plane, &json!({}), &user).plain("test"))
        .await
        .unwrap_err();
    assert!(
        message.starts_with("the API server does not accept our credentials (401 Unauthorized)"),
        "{message}"
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
    let client = folder.clients(plane, &json!({}), &user).plain("test");
    assert_eq!(
        whoami(&client).await.unwrap_err(),
        "the credential plugin of the kubeconfig failed with exit status: 3: please log in"
    );
}

/// As in Go: a login or a mount that is late does not require a restart.
#[tokio::test]
async fn a_credential_plugin_that_fails_is_run_again_with_later_requests() {
    let plane = ControlPlane::shared();
    let folder = Folder::new();
    let (name, token) = robot(plane).await;
    let script = "echo >> runs; token=$(cat token) && \
        echo '{\"kind\": \"ExecCredential\", \"apiVersion\": \"client.authentication.k8s.io/v1\", \"status\": {\"token\": \"'$token'\"}}'";
    let script = format!("cd {} && {script}", folder.0.display());
    let user =
        json!({"exec": {"command": "sh", "args": ["-c", script], "apiVersion": "client.authentication.k8s.io/v1"}});
    let clients = folder.clients(plane, &json!({}), &user);
    let client = clients.plain("test");
    let runs = || std::fs::read_to_string(folder.path("runs")).unwrap().lines().count();

    folder.write("token", token);
    let before = runs();
    assert!(whoami(&client).await.is_err());
    assert_eq!(runs(), before, "it is run too often");
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(10)).await;
    tokio::time::resume();
    assert_eq!(whoami(&client).await, Ok(name));
}

#[rstest]
#[case::good(
    &["-c", r#"echo '{"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1", "status": {"token": "t"}}'"#],
    r#"rest_client_exec_plugin_call_total{call_status="no_error",code="0"} 1"#
)]
#[case::failing(
    &["-c", "exit 3"],
    r#"rest_client_exec_plugin_call_total{call_status="plugin_execution_error",code="3"} 1"#
)]
#[case::talking_nonsense(
    &["-c", "echo nonsense"],
    r#"rest_client_exec_plugin_call_total{call_status="client_internal_error",code="1"} 1"#
)]
#[tokio::test]
async fn runs_of_a_credential_plugin_are_counted(#[case] args: &[&str], #[case] expected: &str) {
    let plane = ControlPlane::shared();
    let folder = Folder::new();
    let user = json!({"exec": {"command": "sh", "args": args, "apiVersion": "client.authentication.k8s.io/v1"}});
    let registry = Registry::new();
    let metrics = Metrics::register(&registry).unwrap();
    let _clients = Builder::new(folder.config(plane, &json!({}), &user))
        .metrics(metrics)
        .build()
        .unwrap();
    let page = TextEncoder::new().encode_to_string(&registry.gather()).unwrap();
    assert!(page.contains(expected), "{page}");
    assert!(page.contains("rest_client_transport_cache_entries 1\n"), "{page}");
}
