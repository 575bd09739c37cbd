//! The most important scenarios, on the real services.

use crate::{
    fixture::{annotation, red},
    process_fixture::{Fixture, Manager, service_address},
};
use http::Method;
use k8s_openapi::api::core::v1::Event;
use kube::{
    Api, ResourceExt,
    api::{ListParams, Patch, PatchParams},
};
use lab::openstack::{OpenStack, Project, Region, Service};
use serde_json::{Value, json};

/// What is in the project, by its path.
pub async fn list(project: &Project<'_>, service: Service, path: &str) -> Vec<Value> {
    let answer = project.call(service, Method::GET, path, None).await.unwrap();
    let mut lists = answer.as_object().unwrap().values();
    lists.find_map(Value::as_array).cloned().unwrap_or_default()
}

/// Its load balancers.
pub async fn balancers(project: &Project<'_>) -> Vec<Value> {
    list(project, Service::Octavia, "/v2/lbaas/loadbalancers").await
}

/// Its floating IPs.
pub async fn floating_ips(project: &Project<'_>) -> Vec<Value> {
    let path = format!("/v2.0/floatingips?project_id={}", project.tenant().project);
    list(project, Service::Neutron, &path).await
}

/// The names of the members of each pool.
pub async fn pools(project: &Project<'_>) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for pool in list(project, Service::Octavia, "/v2/lbaas/pools").await {
        let path = format!("/v2/lbaas/pools/{}/members", pool["id"].as_str().unwrap());
        let members = list(project, Service::Octavia, &path).await;
        let name = |member: &Value| member["name"].as_str().unwrap().to_owned();
        all.push(members.iter().map(name).collect());
    }
    all
}

/// The names of the members of all pools.
async fn members(project: &Project<'_>) -> Vec<String> {
    let mut names = pools(project).await.concat();
    names.sort();
    names
}

async fn members_are(project: &Project<'_>, manager: &Manager, nodes: &[&str]) {
    let look = async || {
        let names = members(project).await;
        if names == nodes {
            Ok(())
        } else {
            Err(format!("they are {names:?}"))
        }
    };
    manager.until(&format!("the members {nodes:?}"), look).await;
}

fn start(fixture: &Fixture, cloud: &OpenStack, project: &Project<'_>, global: &str) -> Manager {
    let config = format!(
        "{global}\n[LoadBalancer]\nlb-provider=lab\nsubnet-id={}\nfloating-network-id={}\n",
        project.tenant().subnet,
        cloud.external_network()
    );
    let path = fixture.folder.write("cloud.conf", &config);
    fixture
        .manager()
        .flag("--cloud-provider=openstack")
        .flag(&format!("--cloud-config={}", path.display()))
        .flag("--node-monitor-period=500ms")
        .flag("--node-deletion-grace-period=0s")
        .flag("--node-deletion-max-fraction=1")
        .flag("--leader-elect=false")
        .flag("--authorization-always-allow-paths=/healthz,/readyz,/readyz/*")
        .flag(&format!("--user-agent={}", project.tenant().name))
        .start()
}

/// Waits for an event with this reason about the Service, and returns its message.
async fn event(fixture: &Fixture, manager: &Manager, service: &str, reason: &str) -> String {
    let events: Api<Event> = Api::all(fixture.client.clone());
    let about = ListParams::default().fields(&format!("involvedObject.name={service},reason={reason}"));
    let look = async || {
        let found = events.list(&about).await.unwrap().items.pop();
        found.and_then(|event| event.message).ok_or("there is none".to_owned())
    };
    manager.until(&format!("an event {reason}"), look).await
}

/// A server starts, and its Node joins.
async fn join(
    fixture: &Fixture,
    project: &Project<'_>,
    manager: &Manager,
    name: &str,
) -> (String, lab::openstack::Server) {
    let server = project.boot(&fixture.named(name)).await.unwrap();
    let words = format!("tainted ready:True Hostname={name}");
    let name = fixture.register(name, &words).await;
    let node = fixture.initialised(manager, &name).await;
    let id = node.spec.as_ref().unwrap().provider_id.clone().unwrap();
    assert_eq!(id, format!("openstack:///{}", server.id));
    let addresses = node.status.as_ref().unwrap().addresses.as_ref().unwrap();
    let internal = addresses.iter().find(|address| address.type_ == "InternalIP");
    assert_eq!(
        internal.map(|found| found.address.as_str()),
        Some(server.address.as_str())
    );
    (name, server)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes the lab: make test-openstack runs it"]
async fn nodes_and_a_service_on_the_real_services() {
    let cloud = tokio::task::spawn_blocking(OpenStack::shared).await.unwrap();
    let project = cloud.project(&lab::unique("e2e")).await.unwrap();
    let fixture = Fixture::shared().await;
    let manager = start(&fixture, cloud, &project, &project.cloud_conf(Region::Plain));
    manager.working().await;
    let (first, _) = join(&fixture, &project, &manager, "first").await;

    let service = fixture.create(fixture.balanced("web")).await.name_any();
    let served = fixture.served(&manager, &service).await;
    let (balancer, floating) = (balancers(&project).await, floating_ips(&project).await);
    assert_eq!((balancer.len(), floating.len()), (1, 1));
    assert_eq!(
        service_address(&served).as_deref(),
        floating[0]["floating_ip_address"].as_str()
    );
    assert_eq!(
        annotation(&served, "load-balancer-id").as_deref(),
        balancer[0]["id"].as_str()
    );
    assert_eq!(balancer[0]["provisioning_status"], "ACTIVE");
    members_are(&project, &manager, &[&first]).await;

    let (second, server) = join(&fixture, &project, &manager, "second").await;
    members_are(&project, &manager, &[&first, &second]).await;

    let ports = json!({"spec": {"ports": [{"port": 81, "protocol": "TCP"}]}});
    let params = PatchParams::default();
    fixture
        .services()
        .patch(&service, &params, &Patch::Merge(ports))
        .await
        .unwrap();
    let look = async || {
        let listeners = list(&project, Service::Octavia, "/v2/lbaas/listeners").await;
        let ports: Vec<_> = listeners.iter().map(|one| one["protocol_port"].clone()).collect();
        if ports == [json!(81)] {
            Ok(())
        } else {
            Err(format!("{ports:?}"))
        }
    };
    manager.until("the other port", look).await;
    members_are(&project, &manager, &[&first, &second]).await;

    let local = Patch::Merge(json!({"spec": {"externalTrafficPolicy": "Local"}}));
    fixture.services().patch(&service, &params, &local).await.unwrap();
    let message = event(&fixture, &manager, &service, "LoadBalancerHealthMonitorMissing").await;
    assert!(message.contains("enable-health-monitor"), "{message}");

    project.delete_server(&server.id).await.unwrap();
    fixture.set_ready(&second, "Unknown").await;
    fixture.node_gone(&manager, &second).await;
    members_are(&project, &manager, &[&first]).await;

    fixture.end(&manager, &service).await;
    assert_eq!(floating_ips(&project).await, [Value::Null; 0]);
    let gone = async || {
        let left = balancers(&project).await;
        if left.is_empty() {
            Ok(())
        } else {
            Err(json!(left).to_string())
        }
    };
    manager.until("the end of the load balancer", gone).await;
}

/// With certificates of an authority of its own, and a login without a password.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes the lab: make test-openstack runs it"]
async fn by_tls_with_an_application_credential() {
    let cloud = tokio::task::spawn_blocking(OpenStack::shared).await.unwrap();
    let project = cloud.project(&lab::unique("e2e")).await.unwrap();
    let credential = project.application_credential("outrigger").await.unwrap();
    let global = format!(
        "[Global]\nauth-url = {}\napplication-credential-id = {}\napplication-credential-secret = {}\nregion = {}\n",
        cloud.keystone(Region::Tls),
        credential.id,
        credential.secret,
        Region::Tls.name()
    );
    let fixture = Fixture::shared().await;
    // Without the certificate authority the connection is refused, and that is reported.
    let stranger = start(&fixture, cloud, &project, &global);
    red(
        &stranger,
        &["invalid peer certificate", "a CA of your own must be named"],
    )
    .await;
    drop(stranger);

    let mark = cloud.mark().await.unwrap();
    let ca = cloud.ca_file();
    let manager = start(
        &fixture,
        cloud,
        &project,
        &format!("{global}ca-file = {}\n", ca.display()),
    );
    manager.working().await;
    let (node, _) = join(&fixture, &project, &manager, "first").await;
    let service = fixture.create(fixture.balanced("web")).await.name_any();
    fixture.served(&manager, &service).await;
    members_are(&project, &manager, &[&node]).await;
    fixture.end(&manager, &service).await;
    let mut requests = cloud.requests_since(mark).await.unwrap();
    requests.retain(|request| request.agent.contains(&project.tenant().name));
    let services = [Service::Keystone, Service::Nova, Service::Neutron, Service::Octavia];
    for service in services {
        let mut asked = requests.iter().filter(|request| request.service == service).peekable();
        assert!(asked.peek().is_some(), "{service:?} was not asked");
        assert!(asked.all(|request| request.region == Region::Tls), "{requests:#?}");
    }
}
