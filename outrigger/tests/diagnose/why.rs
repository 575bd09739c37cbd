//! `outrigger why`.

use crate::{
    administrator, command,
    fixture::{Exit, Fixture, Launch, Manager},
    user,
};
use serde_json::json;
use std::{path::Path, time::Duration};

const LONG: Duration = Duration::from_hours(1);

async fn why(fixture: &Fixture, kubeconfig: &Path, object: &str) -> Exit {
    let lease = format!("--lease=kube-system/{}", fixture.name);
    command(fixture, kubeconfig, &["why", object, "--namespace=default", &lease]).await
}

/// A Service whose load balancer the cloud does not finish, and its name.
async fn waiting(fixture: &Fixture) -> (Manager, String) {
    fixture.cloud.configure(|settings| settings.provisioning = LONG);
    let manager = fixture.manager().start();
    let service = fixture.create(fixture.balanced("web")).await;
    let name = service.metadata.name.unwrap();
    let services = fixture.services();
    let reported = async || {
        let service = services.get(&name).await.map_err(|error| error.to_string())?;
        let status = service.status.unwrap_or_default();
        status
            .conditions
            .filter(|all| !all.is_empty())
            .map(drop)
            .ok_or("it has no condition".to_owned())
    };
    manager.until("a condition", reported).await;
    (manager, name)
}

#[tokio::test]
async fn explains_a_service_that_waits_for_the_cloud() {
    let fixture = Fixture::shared().await;
    let (_manager, name) = waiting(&fixture).await;
    let exit = why(&fixture, &administrator(&fixture), &format!("service/{name}")).await;
    assert_eq!(exit.code, 1, "{exit:?}");
    for part in [
        &*format!("Service default/{name} waits for a load balancer, since "),
        "The manager reports Provisioning: ",
        "Whose turn:  the cloud's",
        &*format!("kube-system/{} is held by ", fixture.name),
        "Normal EnsuringLoadBalancer",
        "cloud    it has the load balancer ",
    ] {
        assert!(exit.stdout.contains(part), "{part} is not in {}", exit.stdout);
    }
    assert!(!exit.stdout.contains("Not known"), "{}", exit.stdout);
}

#[tokio::test]
async fn names_missing_rights_and_explains_the_rest() {
    let fixture = Fixture::shared().await;
    let (_manager, name) = waiting(&fixture).await;
    let rules = json!([{"apiGroups": [""], "resources": ["services"], "verbs": ["get"]}]);
    let exit = why(&fixture, &user(&fixture, rules).await, &format!("svc/{name}")).await;
    assert_eq!(exit.code, 1, "{exit:?}");
    assert!(
        exit.stdout.contains("The manager reports Provisioning: "),
        "{}",
        exit.stdout
    );
    let (_, unknown) = exit.stdout.split_once("Not known:\n").unwrap();
    for part in [
        "events in namespace default: ",
        "Lease kube-system/",
        "Pods in namespace kube-system: ",
    ] {
        assert!(unknown.contains(part), "{part} is not in {unknown}");
    }

    let (_, nobody) = fixture.stranger("nobody");
    let exit = why(&fixture, &nobody, &format!("svc/{name}")).await;
    assert_eq!(exit.code, 2, "{exit:?}");
    let expected = format!("outrigger why: cannot read Service default/{name}: ");
    assert!(exit.stderr.starts_with(&expected), "{}", exit.stderr);
}

#[tokio::test]
async fn explains_a_node_without_a_machine() {
    let fixture = Fixture::shared().await;
    let manager = fixture.manager().start();
    let name = fixture.register("lost", "tainted ready:True").await;
    let reported = |node: &k8s_openapi::api::core::v1::Node| {
        let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
        conditions.is_some_and(|all| all.iter().any(|one| one.type_ == "CloudProviderInitialized"))
    };
    fixture.node_until(&manager, &name, "explained", reported).await;
    let exit = why(&fixture, &administrator(&fixture), &format!("node/{name}")).await;
    assert_eq!(exit.code, 1, "{exit:?}");
    for part in [
        "The condition CloudProviderInitialized has MachineNotFound: ",
        "--hostname-override",
        "cloud    it has no machine with the name",
    ] {
        assert!(exit.stdout.contains(part), "{part} is not in {}", exit.stdout);
    }
}

/// As `kubectl outrigger why …` runs it.
#[tokio::test]
async fn a_plugin_of_kubectl_reads_kubeconfig() {
    let fixture = Fixture::shared().await;
    let plugin = fixture.folder.path().join("kubectl-outrigger");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_outrigger"), &plugin).unwrap();
    let kubeconfig = administrator(&fixture);
    let launch = Launch::new(fixture.folder.path()).program(&plugin);
    let launch = launch
        .arg("why")
        .arg("service/nothing")
        .env("KUBECONFIG", kubeconfig.to_str().unwrap());
    let exit = launch.start().exited().await;
    assert_eq!(exit.code, 0, "{exit:?}");
    assert!(
        exit.stdout.starts_with("Service default/nothing does not exist.\n"),
        "{}",
        exit.stdout
    );
}
