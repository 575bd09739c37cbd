//! Quotas, full subnets, extensions, and other clients.

use crate::fixture::Fixture;
use openstack_sim::{Service, Settings};
use rstest::rstest;
use serde_json::{Value, json};

#[rstest]
#[case::port("port", "/v2.0/ports", "port")]
#[case::floating_ip("floatingip", "/v2.0/floatingips", "floatingip")]
#[case::group("security_group", "/v2.0/security-groups", "security_group")]
#[case::rule("security_group_rule", "/v2.0/security-group-rules", "security_group_rule")]
#[tokio::test]
async fn a_quota_is_named(#[case] resource: &str, #[case] path: &str, #[case] one: &str) {
    let mut settings = Settings::default();
    settings.quotas.insert(resource.to_owned(), 0);
    let fixture = Fixture::with(settings).await;
    let net = fixture.cloud.create_network("n", "10.1.0.0/24");
    let group = fixture.cloud.create_security_group("g");
    let body = match one {
        "port" => json!({"network_id": net.network}),
        "floatingip" => json!({"floating_network_id": fixture.cloud.public_network().unwrap()}),
        "security_group" => json!({"name": "x"}),
        _ => json!({"security_group_id": group, "direction": "ingress"}),
    };
    let (status, body) = fixture.post(Service::Neutron, path, json!({one: body})).await;
    assert_eq!((status, &body["NeutronError"]["type"]), (409, &json!("OverQuota")));
    assert_eq!(
        body["NeutronError"]["message"],
        format!("Quota exceeded for resources: ['{resource}'].")
    );
}

#[tokio::test]
async fn a_full_subnet_is_skipped_for_the_next_one() {
    let fixture = Fixture::new().await;
    let (network, first) = fixture.cloud.create_external_network("ext", "198.51.100.0/24");
    let second = fixture.cloud.create_subnet(network, "198.51.101.0/24");
    fixture.cloud.exhaust_subnet(first);
    let ask = |subnet: Value| {
        fixture.post(
            Service::Neutron,
            "/v2.0/floatingips",
            json!({"floatingip": {"floating_network_id": network, "subnet_id": subnet}}),
        )
    };
    let (status, body) = ask(json!(first)).await;
    assert_eq!(
        (status, &body["NeutronError"]["type"]),
        (409, &json!("IpAddressGenerationFailure"))
    );
    let (status, body) = ask(json!(second)).await;
    assert_eq!(status, 201);
    assert!(
        body["floatingip"]["floating_ip_address"]
            .as_str()
            .unwrap()
            .starts_with("198.51.101.")
    );
    assert_eq!(ask(Value::Null).await.0, 201);
}

#[rstest]
#[case::atomic_routes("extraroute-atomic", "PUT", "/v2.0/routers/ROUTER/add_extraroutes", json!({"router": {"routes": []}}), 404)]
#[case::address_pairs("allowed-address-pairs", "PUT", "/v2.0/ports/PORT", json!({"port": {"allowed_address_pairs": []}}), 400)]
#[case::tags("standard-attr-tag", "PUT", "/v2.0/ports/PORT/tags/x", Value::Null, 404)]
#[case::trunks("trunk", "GET", "/v2.0/trunks", Value::Null, 404)]
#[tokio::test]
async fn an_extension_can_be_off(
    #[case] name: &str,
    #[case] method: &str,
    #[case] path: &str,
    #[case] body: Value,
    #[case] status: u16,
) {
    let fixture = Fixture::new().await;
    let net = fixture.cloud.create_network("n", "10.1.0.0/24");
    let port = fixture.cloud.create_port(net.network, "p", None).unwrap();
    let path = path
        .replace("ROUTER", &net.router.to_string())
        .replace("PORT", &port.to_string());
    let ask = || fixture.ask(method, Service::Neutron, &path, Some(&body));
    assert!(ask().await.0 < 300);
    fixture.cloud.configure(|settings| {
        settings.extensions_off.insert(name.to_owned());
    });
    assert_eq!(ask().await.0, status);
    let (_, listed) = fixture.get(Service::Neutron, "/v2.0/extensions").await;
    assert!(
        !listed["extensions"]
            .as_array()
            .unwrap()
            .iter()
            .any(|extension| extension["alias"] == name)
    );
}

#[tokio::test]
async fn a_trunk_shows_its_subports() {
    let fixture = Fixture::new().await;
    let (one, two) = (
        fixture.cloud.create_network("one", "10.1.0.0/24"),
        fixture.cloud.create_network("two", "10.2.0.0/24"),
    );
    let server = fixture.cloud.boot("node");
    let sub = fixture.cloud.create_port(two.network, "sub", None).unwrap();
    fixture.cloud.attach_port(server.id, one.network).unwrap();
    fixture.cloud.create_trunk(server.ports[0], &[sub]);
    let (_, body) = fixture
        .get(Service::Neutron, &format!("/v2.0/ports?device_id={}", server.id))
        .await;
    let trunks: Vec<&Value> = body["ports"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|port| port.get("trunk_details"))
        .collect();
    assert_eq!(trunks.len(), 1);
    assert_eq!(trunks[0]["sub_ports"][0]["port_id"], json!(sub));
    let (_, listed) = fixture
        .get(Service::Neutron, "/v2.0/ports?device_owner=trunk:subport&fields=id")
        .await;
    assert_eq!(listed["ports"], json!([{"id": sub}]));
}

#[tokio::test]
async fn a_floating_ip_can_be_stolen() {
    let fixture = Fixture::new().await;
    let (one, two) = (fixture.cloud.boot("one"), fixture.cloud.boot("two"));
    let floating = fixture
        .cloud
        .create_floating_ip(fixture.cloud.public_network().unwrap(), None, "mine")
        .unwrap();
    assert!(fixture.cloud.move_floating_ip(floating.id, Some(one.ports[0])));
    assert!(fixture.cloud.move_floating_ip(floating.id, Some(two.ports[0])));
    let of = |port| format!("/v2.0/floatingips?port_id={port}");
    assert_eq!(
        fixture.get(Service::Neutron, &of(one.ports[0])).await.1["floatingips"],
        json!([])
    );
    let (_, body) = fixture.get(Service::Neutron, &of(two.ports[0])).await;
    assert_eq!(body["floatingips"][0]["floating_ip_address"], json!(floating.address));
    let (_, body) = fixture.get(Service::Nova, &format!("/v2.1/servers/{}", two.id)).await;
    assert_eq!(body["server"]["addresses"]["private"][1]["OS-EXT-IPS:type"], "floating");
    fixture.cloud.delete_floating_ip(floating.id);
    assert_eq!(fixture.cloud.floating_ips(), []);
}

#[tokio::test]
async fn a_server_is_created_changed_and_deleted() {
    let fixture = Fixture::new().await;
    let server = fixture.cloud.boot("node");
    let path = format!("/v2.1/servers/{}", server.id);
    fixture.cloud.stop_server(server.id);
    fixture.cloud.rename_server(server.id, "other");
    let (_, body) = fixture.get(Service::Nova, &path).await;
    assert_eq!(
        (&body["server"]["status"], &body["server"]["name"]),
        (&json!("SHUTOFF"), &json!("other"))
    );
    fixture.cloud.delete_server(server.id);
    assert_eq!(fixture.get(Service::Nova, &path).await.0, 404);
    assert_eq!(
        fixture.get(Service::Nova, "/v2.1/servers").await.1["servers"],
        json!([])
    );
    let (_, changed) = fixture
        .get(Service::Nova, "/v2.1/servers/detail?changes-since=2020-01-01T00:00:00Z")
        .await;
    assert_eq!(changed["servers"][0]["status"], "DELETED");
    assert!(fixture.cloud.port(server.ports[0]).is_none());
}

#[tokio::test]
async fn projects_do_not_see_each_other() {
    let fixture = Fixture::new().await;
    let project = fixture.cloud.add_project("other", "default");
    fixture.cloud.add_user("other", "secret", "default", &project);
    fixture.cloud.boot("mine");
    let token = crate::fixture::login(
        &fixture.http,
        &fixture.sim.auth_url(),
        &crate::fixture::password("other", "secret"),
    )
    .await
    .unwrap();
    let other = Fixture {
        token,
        cloud: fixture.cloud.clone(),
        http: fixture.http.clone(),
        sim: fixture.sim,
    };
    assert_eq!(other.get(Service::Nova, "/v2.1/servers").await.1["servers"], json!([]));
    assert_eq!(other.get(Service::Neutron, "/v2.0/ports").await.1["ports"], json!([]));
    let (_, networks) = other.get(Service::Neutron, "/v2.0/networks?fields=name").await;
    assert_eq!(networks["networks"], json!([{"name": "public"}]));
}

#[rstest]
#[case::there("secrets", true, 200)]
#[case::container("containers", true, 200)]
#[case::not_there("secrets", false, 404)]
#[tokio::test]
async fn barbican_has_secrets_and_containers(#[case] kind: &str, #[case] there: bool, #[case] status: u16) {
    let fixture = Fixture::new().await;
    let id = if kind == "secrets" {
        fixture.cloud.add_secret("s")
    } else {
        fixture.cloud.add_container("c")
    };
    let id = if there { id } else { openstack_sim::Uuid::nil() };
    assert_eq!(
        fixture.get(Service::Barbican, &format!("/v1/{kind}/{id}")).await.0,
        status
    );
}
