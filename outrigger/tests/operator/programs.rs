//! The names and flags of the programs that the operator replaces.

use crate::{
    process_fixture::{Launch, Manager, free_port},
    repair::{define_adherence, set_profile},
    world::{OPERATOR_NAMESPACE, RELEASE, World, config_map, kind},
};
use serde_json::{Value, json};
use std::{fs, net::SocketAddr, path::PathBuf};

const OPERATOR: &str = "cluster-controller-manager-operator";
const CONFIG_SYNC: &str = "config-sync-controllers";
const OPERANDS: &str = "openshift-cloud-controller-manager";

/// The flags of both containers of the original's Deployment.
fn election(launch: Launch) -> Launch {
    launch
        .flag("--leader-elect=true")
        .flag("--leader-elect-lease-duration=137s")
        .flag("--leader-elect-renew-deadline=107s")
        .flag("--leader-elect-retry-period=26s")
        .flag(&format!("--leader-elect-resource-namespace={OPERATOR_NAMESPACE}"))
}

/// The first container: ports and files are those of this machine.
fn operator(world: &World) -> Launch {
    let path = |name: &str| world.folder.path().join(name).display().to_string();
    election(world.program(OPERATOR))
        .flag(&format!("--images-json={}", path("images.json")))
        .flag("--webhook-port=9443")
        .flag(&format!("--metrics-bind-address={}", free_port()))
        .flag(&format!("--health-addr={}", free_port()))
        .flag(&format!("--system-ca-bundle={}", path("bundle.pem")))
}

/// The second container.
fn config_sync(world: &World) -> Launch {
    let bundle = world.folder.path().join("bundle.pem");
    election(world.program(CONFIG_SYNC))
        .flag(&format!("--health-addr={}", free_port()))
        .flag(&format!("--system-ca-bundle={}", bundle.display()))
}

async fn world(platform: &str) -> World {
    let world = World::in_namespace(OPERANDS).await;
    world.set_platform(platform).await;
    world
}

/// The programs that have written `cloud-conf`.
fn writers(world: &World, mark: crate::process_fixture::Mark) -> Vec<String> {
    let writes = world.requests_since(mark).into_iter();
    let mut writers: Vec<_> = writes
        .filter(|entry| entry.is_write() && entry.name == "cloud-conf")
        .map(|entry| entry.agent.split('/').next().unwrap_or_default().to_owned())
        .collect();
    writers.sort();
    writers.dedup();
    writers
}

/// Both containers of the original's Deployment at once: one of them writes the configuration, and there is no conflict.
#[rstest::rstest]
#[case::operator_first(OPERATOR)]
#[case::config_sync_first(CONFIG_SYNC)]
#[tokio::test]
async fn side_by_side(#[case] first: &str) {
    let world = world("AWS").await;
    let mark = world.mark();
    let (operator, _sync) = if first == OPERATOR {
        let operator = operator(&world).start();
        (operator, config_sync(&world).start())
    } else {
        let sync = config_sync(&world).start();
        sync.leading().await;
        (operator(&world).start(), sync)
    };
    world.runs(&operator, "aws").await;
    world.settled().await;
    assert_eq!(writers(&world, mark).len(), 1, "{:?}", writers(&world, mark));
    // A release creates the ClusterOperator; if none did, both may try to create it, and one of them is second.
    let second = |entry: &crate::process_fixture::Entry| {
        entry.verb == "create" && entry.resource == "clusteroperators" && entry.code == 409
    };
    let refused: Vec<_> = world
        .requests_since(mark)
        .into_iter()
        .filter(|entry| entry.is_write() && entry.code >= 400 && !second(entry))
        .collect();
    assert!(refused.is_empty(), "{refused:#?}");
    assert_eq!(world.operands().await.len(), 7);
}

/// The configuration is still written after the process that wrote it has stopped.
#[tokio::test]
async fn config_sync_is_deleted() {
    let world = world("AWS").await;
    let sync = config_sync(&world).start();
    sync.leading().await;
    let operator = operator(&world).start();
    world.runs(&operator, "aws").await;
    sync.signal("TERM");
    assert_eq!(sync.exited().await.code, 0);
    world.set_source("[Global]\nZone = another\n").await;
    let look = async || {
        let found = world
            .get(&config_map(), OPERANDS, "cloud-conf")
            .await
            .unwrap_or_default();
        let text = found["data"]["cloud.conf"].as_str().unwrap_or_default().to_owned();
        if text.contains("another") { Ok(()) } else { Err(text) }
    };
    operator.until("the new configuration", look).await;
}

/// W1: the process for the configuration alone reports no version, and creates and reports no operands.
#[tokio::test]
async fn w1_config_sync_alone() {
    let world = world("AWS").await;
    let sync = config_sync(&world).start();
    let both = [
        "CloudConfigControllerAvailable=True",
        "CloudConfigControllerDegraded=False",
        "TrustedCABundleControllerControllerAvailable=True",
        "TrustedCABundleControllerControllerDegraded=False",
    ];
    let conditions = world.reports(&sync, &both).await;
    world.settled().await;
    assert_eq!(conditions.lines().count(), 4, "{conditions}");
    assert_eq!(world.cluster_operator().await["status"]["versions"], Value::Null);
    assert_eq!(
        world.operands().await,
        ["ConfigMap ccm-trusted-ca", "ConfigMap cloud-conf"]
    );
    // A failure reports no version either.
    world.set_source("[Global\n").await;
    world.reports(&sync, &["CloudConfigControllerDegraded=True"]).await;
    assert_eq!(world.cluster_operator().await["status"]["versions"], Value::Null);
}

/// Without the configuration operands wait; the report of the other process is enough to begin.
#[tokio::test]
async fn operator_waits_for_config_sync() {
    let world = world("AWS").await;
    world.set_source("[Global\n").await;
    let sync = config_sync(&world).start();
    sync.leading().await;
    let operator = operator(&world).start();
    world.reports(&operator, &["CloudConfigControllerDegraded=True"]).await;
    operator.logged("CloudConfigControllerDegraded").await;
    world.settled().await;
    assert_eq!(world.operands().await, ["ConfigMap ccm-trusted-ca"]);
    world.set_source("[Global]\n").await;
    world.runs(&operator, "aws").await;
}

const UPSTREAM: &str = include_str!("../../../crates/operator/tests/release/upstream-deployment.yaml");

/// The containers of the Go operator's Deployment, each started with its own command and environment; only paths are moved, from the
/// image's root to a folder. Both become ready, and work: their version is not that of a release, so the version of the cluster is used.
#[tokio::test]
async fn upstreams_deployment() {
    let world = world("GCP").await;
    let root = world.folder.path().display().to_string();
    for program in ["bash", OPERATOR, CONFIG_SYNC] {
        drop(world.program(program));
    }
    let etc = world.folder.path().join("etc");
    for folder in ["kubernetes", "cloud-controller-manager-config"] {
        fs::create_dir_all(etc.join(folder)).unwrap();
    }
    let images = crate::world::images().to_string();
    world
        .folder
        .write("etc/cloud-controller-manager-config/images.json", &images);
    let (host, port) = world.plane().url().rsplit_once(':').unwrap();
    let host = host.trim_start_matches("https://");
    let variables = format!("KUBERNETES_SERVICE_HOST={host}\nKUBERNETES_SERVICE_PORT={port}\n");
    world.folder.write("etc/kubernetes/apiserver-url.env", &variables);
    set_version(&world).await;

    let deployment: Value = serde_saphyr::from_str(UPSTREAM).unwrap();
    let containers = deployment["spec"]["template"]["spec"]["containers"].as_array().unwrap();
    let mut started = Vec::new();
    for container in containers {
        let command = container["command"].as_array().unwrap();
        let [shell, option, script] = command.as_slice() else {
            panic!("{command:?}");
        };
        assert_eq!(
            (shell, option, &container["args"]),
            (&json!("/bin/bash"), &json!("-c"), &Value::Null)
        );
        let script = script.as_str().unwrap();
        let script = ["/etc/", "/cluster-controller-", "/config-sync-"]
            .iter()
            .fold(script.to_owned(), |script, path| {
                script.replace(path, &format!("{root}{path}"))
            });
        // In the image this file has a path that no flag of the manifest names.
        let script = format!("{} --system-ca-bundle={root}/bundle.pem\n", script.trim_end());
        let mut launch = world.program("bash").arg("-c").arg(&script);
        for variable in container["env"].as_array().unwrap() {
            let text = |key: &str| variable[key].as_str().unwrap();
            launch = launch.env(text("name"), text("value"));
        }
        let port = container["ports"]
            .as_array()
            .unwrap()
            .iter()
            .find(|port| port["name"] == "healthz");
        started.push((launch.start(), port.unwrap()["containerPort"].clone()));
    }
    for (process, port) in &started {
        for path in ["healthz", "readyz"] {
            let look = async || {
                let answer = reqwest::get(format!("http://127.0.0.1:{port}/{path}")).await;
                let answer = answer.map_err(|error| error.to_string())?;
                match answer.status().as_u16() {
                    200 => Ok(()),
                    status => Err(format!("{status} {}", answer.text().await.unwrap_or_default())),
                }
            };
            process.until(&format!("{path} at {port}"), look).await;
        }
    }
    let (operator, _) = &started[0];
    let expected = [
        "CloudConfigControllerAvailable=True",
        "CloudConfigControllerDegraded=False",
        "TrustedCABundleControllerControllerAvailable=True",
    ];
    world.reports(operator, &expected).await;
    assert!(world.get(&config_map(), OPERANDS, "cloud-conf").await.is_some());
    world.runs(operator, "gcp").await;
    for (process, _) in &started {
        process.signal("TERM");
        assert_eq!(process.exited().await.code, 0, "{}", process.log_tail());
    }
}

/// Sets the version of the cluster.
async fn set_version(world: &World) {
    let versions = kind("ClusterVersion");
    let spec = json!({"spec": {"clusterID": "2c0a1d5e-7f0b-4a55-9f57-6f3c1b0d8e11"}});
    world.apply(&versions, "", "version", spec).await;
    let status = json!({
        "desired": {"version": RELEASE, "image": "registry.lab/release:1"}, "history": [], "observedGeneration": 1,
        "versionHash": "x", "availableUpdates": [],
    });
    world.set_status(&versions, "version", status).await;
}

/// The third program, in the init containers of Azure.
#[tokio::test]
async fn injector_by_its_name() {
    let folder = crate::process_fixture::Folder::new(&lab::unique("injector"));
    let link = folder.path().join("azure-config-credentials-injector");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_outrigger"), &link).unwrap();
    let input = folder.write("in.json", r#"{"tenantId": "t", "unknown": 12345678901234567890}"#);
    fs::create_dir(folder.path().join("creds")).unwrap();
    folder.write("creds/azure_client_id", "id\n");
    folder.write("creds/azure_client_secret", "s3cret\n");
    let output = folder.path().join("out.json");
    let launch = |config: &str| {
        Launch::new(folder.path())
            .program(&link)
            .flag(&format!("--cloud-config-file-path={config}"))
            .flag(&format!("--output-file-path={}", output.display()))
            .flag(&format!("--creds-path={}", folder.path().join("creds").display()))
            .flag("--disable-identity-extension-auth")
            .flag("--enable-azure-workload-identity=true")
            .flag("-v=4")
            .start()
    };
    let exit = launch(&input.display().to_string()).exited().await;
    assert_eq!(exit.code, 0, "{exit:#?}");
    let written = fs::read_to_string(&output).unwrap();
    let parsed: Value = serde_json::from_str(&written).unwrap();
    assert_eq!(parsed["aadClientId"], "id");
    assert_eq!(parsed["aadClientSecret"], "s3cret");
    assert!(written.contains("12345678901234567890"), "{written}");
    assert!(!exit.stderr.contains("s3cret"));

    let exit = launch("/nowhere/cloud.conf").exited().await;
    assert_eq!(exit.code, 255, "that of the original");
    assert!(exit.stderr.contains("/nowhere/cloud.conf"), "{}", exit.stderr);
}

/// Health is served without TLS and without authentication, from the start.
#[tokio::test]
async fn health_port() {
    let world = World::new("AWS").await;
    let address = free_port();
    let operator = world
        .common(world.operator())
        .flag(&format!("--health-addr={address}"))
        .start();
    operator.leading().await;
    // The last two are the names of the original's checks.
    for path in ["healthz", "readyz", "healthz/health", "readyz/check"] {
        let look = async || {
            let url = format!("http://{address}/{path}");
            let answer = reqwest::get(&url).await.map_err(|error| error.to_string())?;
            let (status, body) = (answer.status().as_u16(), answer.text().await.unwrap_or_default());
            if status == 200 {
                Ok(())
            } else {
                Err(format!("{status} {body}"))
            }
        };
        operator.until(path, look).await;
    }
}

/// A port that is in use is reported with its flag; the Go program hangs.
#[tokio::test]
async fn health_port_is_taken() {
    let world = World::new("AWS").await;
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let operator = world
        .common(world.operator())
        .flag(&format!("--health-addr={address}"))
        .start();
    let exit = operator.exited().await;
    assert_eq!(exit.code, 1);
    let sentence = exit.sentence();
    assert!(
        sentence.contains(&address.to_string()) && sentence.contains("--health-addr"),
        "{sentence}"
    );
}

/// The operator with a port for its metrics, and a folder for that port's certificate, which does not exist.
fn with_metrics(world: &World) -> (Manager, SocketAddr, PathBuf) {
    let address = free_port();
    let folder = world.folder.path().join("certs");
    let operator = world
        .common(world.operator())
        .flag(&format!("--metrics-bind-address={address}"))
        .flag(&format!("--metrics-cert-dir={}", folder.display()))
        .start();
    (operator, address, folder)
}

/// Requests metrics anonymously and is refused; the component that refuses shows which certificate is served.
async fn refused(operator: &Manager, what: &str, client: &reqwest::Client, address: SocketAddr) {
    let look = async || {
        let answer = client.get(format!("https://{address}/metrics")).send().await;
        match answer.map(|answer| answer.status().as_u16()) {
            Ok(401 | 403) => Ok(()),
            other => Err(format!("{other:?}")),
        }
    };
    operator.until(what, look).await;
}

fn client(change: impl FnOnce(reqwest::ClientBuilder) -> reqwest::ClientBuilder) -> reqwest::Client {
    lab::install_crypto();
    let builder = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0);
    change(builder).build().unwrap()
}

/// W21: metrics are served with a self-signed certificate until the configured one exists, and then with that one; and never
/// to anonymous clients.
#[tokio::test]
async fn w21_metrics() {
    let world = World::new("AWS").await;
    let (operator, address, folder) = with_metrics(&world);
    operator.leading().await;
    let untrusting = client(|builder| builder.tls_danger_accept_invalid_certs(true));
    refused(&operator, "a certificate of our own", &untrusting, address).await;

    let key = rcgen::KeyPair::generate().unwrap();
    let params = rcgen::CertificateParams::new(vec![address.ip().to_string()]).unwrap();
    let certificate = params.self_signed(&key).unwrap().pem();
    let root = reqwest::Certificate::from_pem(certificate.as_bytes()).unwrap();
    let careful = client(|builder| builder.tls_certs_only([root]));
    let answer = careful.get(format!("https://{address}/metrics")).send().await;
    assert!(answer.is_err(), "{answer:?}");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("tls.key"), key.serialize_pem()).unwrap();
    fs::write(folder.join("tls.crt"), &certificate).unwrap();
    refused(&operator, "the certificate of the folder", &careful, address).await;
    assert!(operator.ended().is_none());
}

/// Our own port follows the profile of the cluster. The original restarts.
#[tokio::test]
async fn tls_profile_changes() {
    let world = World::apart(&lab::unique("ccm")).await;
    world.set_platform("AWS").await;
    define_adherence(&world).await;
    let (operator, address, _) = with_metrics(&world);
    let old = client(|builder| {
        let builder = builder.tls_danger_accept_invalid_certs(true);
        builder.max_tls_version(reqwest::tls::Version::TLS_1_2)
    });
    let new = client(|builder| builder.tls_danger_accept_invalid_certs(true));
    refused(&operator, "TLS 1.2", &old, address).await;
    set_profile(&world, json!({"type": "Modern", "modern": {}})).await;
    let look = async || match old.get(format!("https://{address}/metrics")).send().await {
        Ok(answer) => Err(format!("TLS 1.2 is still spoken: {}", answer.status())),
        Err(error) if error.is_connect() => Ok(()),
        Err(error) => Err(format!("{error:?}")),
    };
    operator.until("the end of TLS 1.2", look).await;
    refused(&operator, "TLS 1.3", &new, address).await;

    // If this program supports no cipher suite of a profile, the newest version remains, which all clients support.
    let ciphers = ["AES128-SHA"];
    let custom =
        json!({"type": "Custom", "modern": null, "custom": {"minTLSVersion": "VersionTLS12", "ciphers": ciphers}});
    set_profile(&world, custom).await;
    let line = operator.logged("serving TLS 1.3 only").await;
    assert!(line.contains("TLS_RSA_WITH_AES_128_CBC_SHA"), "{line}");
    refused(&operator, "TLS 1.3 again", &new, address).await;
    assert!(operator.ended().is_none());
}

/// The help lists every flag of the original.
#[test]
fn help() {
    let exit = crate::process_fixture::run(&["operator", "--help"]);
    assert_eq!(exit.code, 0);
    let flags = [
        "metrics-bind-address",
        "webhook-port",
        "health-addr",
        "namespace",
        "images-json",
        "tls-min-version",
        "tls-cipher-suites",
        "leader-elect",
        "leader-elect-lease-duration",
        "leader-elect-renew-deadline",
        "leader-elect-retry-period",
        "leader-elect-resource-lock",
        "leader-elect-resource-name",
        "leader-elect-resource-namespace",
        "kubeconfig",
        "dry-run",
        "system-ca-bundle",
    ];
    for flag in flags {
        assert!(
            exit.stdout.contains(&format!("--{flag}")),
            "--{flag} is not in the help"
        );
    }
}

/// It also stops while it waits.
#[tokio::test]
async fn stops_while_it_waits() {
    let world = World::new("AWS").await;
    let first = world.start();
    first.leading().await;
    let second: Manager = world.start();
    second.logged("attempting to acquire").await;
    second.signal("TERM");
    assert_eq!(second.exited().await.code, 0);
}
