//! The cloud starts, does what tests ask of it, and leaves nothing behind.

#![expect(clippy::unwrap_used, reason = "it is a test")]

use http::Method;
use lab::{
    openstack::{OpenStack, Project, Region, Server, Service, Spoilt},
    unique,
};
use serde_json::{Value, json};
use std::{
    path::Path,
    time::{Duration, Instant},
};

const BALANCERS: &str = "/v2.0/lbaas/loadbalancers";

#[tokio::test]
#[ignore = "takes the lab: make test-openstack runs it"]
async fn a_project_has_servers_that_stop_start_multiply_and_go() {
    let project = OpenStack::shared().project(&unique("servers")).await.unwrap();
    let server = project.boot("node-0").await.unwrap();
    assert_eq!(status(&project, &server).await, "ACTIVE");
    project.stop_server(&server.id).await.unwrap();
    assert_eq!(status(&project, &server).await, "SHUTOFF");
    project.start_server(&server.id).await.unwrap();
    let copies = project.clone_servers(&server, 1000, "copy-").unwrap();
    assert_eq!((copies.len(), copies[999].name.as_str()), (1000, "copy-999"));
    project.delete_server(&copies[0].id).await.unwrap();
    let listed = project
        .call(Service::Nova, Method::GET, "/v2.1/servers", None)
        .await
        .unwrap();
    assert_eq!(listed["servers"].as_array().unwrap().len(), 1000, "one and 999 copies");
    let ports = format!("/v2.0/ports?device_id={}", copies[1].id);
    let ports = project.call(Service::Neutron, Method::GET, &ports, None).await.unwrap();
    assert_eq!(
        ports["ports"][0]["fixed_ips"][0]["ip_address"],
        json!(copies[1].address)
    );
    assert_eq!(ports["ports"][0]["status"], "ACTIVE");
}

#[tokio::test]
#[ignore = "takes the lab: make test-openstack runs it"]
async fn a_load_balancer_takes_as_long_as_asked_and_fails_when_asked() {
    let cloud = OpenStack::shared();
    let project = cloud.project(&unique("balancers")).await.unwrap();
    let name = unique("balancer");
    cloud.set_lb_delay_of(&name, Duration::from_secs(2)).unwrap();
    let start = Instant::now();
    let id = create(&project, &name).await;
    assert_eq!(settled(&project, &id).await.as_deref(), Some("ACTIVE"));
    assert!(start.elapsed() >= Duration::from_secs(2), "only {:?}", start.elapsed());

    cloud.set_lb_delay_of(&name, Duration::ZERO).unwrap();
    cloud.fail_next_lb(&name).unwrap();
    let (path, renamed) = (
        format!("{BALANCERS}/{id}"),
        json!({"loadbalancer": {"description": "changed"}}),
    );
    project
        .call(Service::Octavia, Method::PUT, &path, Some(renamed))
        .await
        .unwrap();
    assert_eq!(settled(&project, &id).await.as_deref(), Some("ERROR"));
    let all = format!("{path}?cascade=true");
    project
        .call(Service::Octavia, Method::DELETE, &all, None)
        .await
        .unwrap();
    assert_eq!(settled(&project, &id).await, None, "deleted");
}

#[tokio::test]
#[ignore = "takes the lab: make test-openstack runs it"]
async fn the_region_with_tls_answers_clients_that_trust_its_ca() {
    let cloud = OpenStack::shared();
    let credential = cloud
        .demo()
        .application_credential(&unique("credential"))
        .await
        .unwrap();
    let identity = json!({"id": credential.id, "secret": credential.secret});
    let identity = json!({"methods": ["application_credential"], "application_credential": identity});
    let url = format!("{}/auth/tokens", cloud.keystone(Region::Tls));
    let ca = std::fs::read(cloud.ca_file()).unwrap();
    let ca = reqwest::Certificate::from_pem(&ca).unwrap();
    let ask = async |builder: reqwest::ClientBuilder| {
        let client = builder.no_proxy().build().unwrap();
        client
            .post(&url)
            .json(&json!({"auth": {"identity": identity}}))
            .send()
            .await
    };
    let answer = ask(reqwest::Client::builder().tls_certs_only([ca])).await.unwrap();
    assert_eq!(answer.status(), 201);
    let token: Value = answer.json().await.unwrap();
    let catalog = token["token"]["catalog"].to_string();
    assert!(catalog.contains(&cloud.url(Service::Octavia, Region::Tls)), "{catalog}");
    assert!(
        ask(reqwest::Client::builder().tls_certs_only([]))
            .await
            .unwrap_err()
            .is_connect()
    );
}

#[tokio::test]
#[ignore = "takes the lab: make test-openstack runs it"]
async fn requests_are_written_down_and_tokens_can_be_revoked() {
    let cloud = OpenStack::shared();
    let project = cloud.project(&unique("requests")).await.unwrap();
    let mark = cloud.mark().await.unwrap();
    let path = format!("/v2.0/ports?name={}", unique("nobody"));
    let ours = async || {
        let requests = cloud.requests_since(mark).await.unwrap();
        let ours = requests.into_iter().filter(|request| request.path == path);
        ours.map(|request| (request.service, request.method, request.status))
            .collect::<Vec<_>>()
    };
    let token = project.token().await.unwrap();
    let url = format!("{}{path}", cloud.url(Service::Neutron, Region::Plain));
    let ask = async || {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        client
            .get(&url)
            .header("X-Auth-Token", &token)
            .send()
            .await
            .unwrap()
            .status()
    };
    assert_eq!(ask().await, 200);
    project.revoke_tokens().await.unwrap();
    assert_eq!(ask().await, 401);
    let expected = [200, 401].map(|status| (Service::Neutron, "GET".to_owned(), status));
    assert_eq!(ours().await, expected);
    project.call(Service::Neutron, Method::GET, &path, None).await.unwrap();
}

#[tokio::test]
#[ignore = "takes the lab: make test-openstack runs it"]
async fn an_injected_write_fault_strikes_once() {
    let cloud = OpenStack::shared();
    let project = cloud.project(&unique("writes")).await.unwrap();
    let (token, word) = (project.token().await.unwrap(), unique("writer"));
    let client = reqwest::Client::builder().no_proxy().user_agent(format!("test {word}"));
    let client = client.build().unwrap();
    let url = format!("{}/v2.0/security-groups", cloud.url(Service::Neutron, Region::Plain));
    let write = async |name: &str| {
        let body = json!({"security_group": {"name": name}});
        let request = client.post(&url).header("X-Auth-Token", &token).json(&body);
        request.send().await.map(|answer| answer.status().as_u16())
    };
    let made = async |name: &str| {
        let path = format!("/v2.0/security-groups?name={name}");
        let found = project.call(Service::Neutron, Method::GET, &path, None).await.unwrap();
        found["security_groups"].as_array().unwrap().len()
    };
    cloud.spoil_next_write(&word, Spoilt::Refused).unwrap();
    assert_eq!((made("refused").await, write("refused").await.unwrap()), (0, 501));
    assert_eq!(made("refused").await, 0);
    cloud.spoil_next_write(&word, Spoilt::AnswerLost).unwrap();
    let lost = write("lost").await.unwrap_err();
    assert!(lost.is_request(), "{lost:?}");
    assert_eq!(made("lost").await, 1);
    assert_eq!((write("fine").await.unwrap(), made("fine").await), (201, 1));
}

#[tokio::test]
#[ignore = "takes the lab: make test-openstack runs it"]
async fn two_run_side_by_side_and_leave_no_process() {
    let shared = OpenStack::shared();
    let own = OpenStack::start().unwrap();
    assert_ne!(shared.keystone(Region::Plain), own.keystone(Region::Plain));
    own.demo().boot("only-here").await.unwrap();
    let (folder, name) = (own.dir().to_owned(), own.dir().display().to_string());
    assert!(!processes_of(&name).is_empty());
    drop(own);
    let start = Instant::now();
    while start.elapsed() < Duration::from_mins(2) && !processes_of(&name).is_empty() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(processes_of(&name), Vec::<String>::new());
    assert!(!folder.exists());
}

async fn status(project: &Project<'_>, server: &Server) -> String {
    let path = format!("/v2.1/servers/{}", server.id);
    let server = project.call(Service::Nova, Method::GET, &path, None).await.unwrap();
    server["server"]["status"].as_str().unwrap().to_owned()
}

async fn create(project: &Project<'_>, name: &str) -> String {
    let balancer = json!({"loadbalancer": {"name": name, "vip_subnet_id": project.tenant().subnet, "provider": "lab"}});
    let made = project
        .call(Service::Octavia, Method::POST, BALANCERS, Some(balancer))
        .await
        .unwrap();
    assert_eq!(made["loadbalancer"]["provisioning_status"], "PENDING_CREATE");
    made["loadbalancer"]["id"].as_str().unwrap().to_owned()
}

/// The status of a load balancer when it is pending no more, `None` if it is gone.
async fn settled(project: &Project<'_>, id: &str) -> Option<String> {
    let start = Instant::now();
    loop {
        let list = project
            .call(Service::Octavia, Method::GET, &format!("{BALANCERS}?id={id}"), None)
            .await
            .unwrap();
        let status = list["loadbalancers"][0]["provisioning_status"]
            .as_str()
            .map(str::to_owned);
        if !status.as_deref().is_some_and(|status| status.starts_with("PENDING")) {
            return status.filter(|status| status != "DELETED");
        }
        assert!(
            start.elapsed() < Duration::from_mins(4),
            "load balancer {id} stays {status:?}"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The command lines of processes that were started with this folder.
fn processes_of(folder: &str) -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let about = |process: &Path, file: &str| {
        let bytes = std::fs::read(process.join(file)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).replace('\0', " ")
    };
    processes
        .map(|process| process.path())
        .filter(|process| about(process, "environ").contains(folder) || about(process, "cmdline").contains(folder))
        .map(|process| about(&process, "cmdline"))
        .collect()
}
