//! Ten thousand servers.

use crate::fixture::Fixture;
use openstack_sim::{Service, Uuid};
use serde_json::Value;
use std::collections::BTreeSet;

const COUNT: usize = 10_000;

fn path_of(link: &str) -> String {
    let at = link.find("/v2.1").unwrap();
    link[at..].to_owned()
}

#[tokio::test]
async fn ten_thousand_servers_are_listed_in_pages_with_their_ports() {
    let fixture = Fixture::new().await;
    let net = fixture.cloud.create_network("big", "10.0.0.0/16");
    let ids = fixture.cloud.boot_many("node-", COUNT, &net);
    assert_eq!(ids.len(), COUNT);

    let (mut next, mut pages, mut seen) = (Some("/v2.1/servers".to_owned()), 0, BTreeSet::new());
    while let Some(path) = next {
        let (status, body) = fixture.get(Service::Nova, &path).await;
        assert_eq!(status, 200);
        seen.extend(
            body["servers"]
                .as_array()
                .unwrap()
                .iter()
                .map(|server| server["id"].as_str().unwrap().to_owned()),
        );
        next = body["servers_links"][0]["href"].as_str().map(path_of);
        pages += 1;
    }
    assert_eq!((seen.len(), pages), (COUNT, 11));

    let query: Vec<String> = ids[..100].iter().map(|id: &Uuid| format!("device_id={id}")).collect();
    let (_, body) = fixture
        .get(Service::Neutron, &format!("/v2.0/ports?{}", query.join("&")))
        .await;
    let devices: BTreeSet<&str> = body["ports"]
        .as_array()
        .unwrap()
        .iter()
        .map(|port| port["device_id"].as_str().unwrap())
        .collect();
    assert_eq!(devices.len(), 100);
}

#[tokio::test]
async fn pages_of_neutron_have_the_configured_length() {
    let fixture = Fixture::new().await;
    let net = fixture.cloud.create_network("n", "10.0.0.0/24");
    fixture.cloud.boot_many("node-", 25, &net);
    fixture.cloud.configure(|settings| settings.neutron_page = Some(10));
    let (mut next, mut counts) = (Some("/v2.0/ports?device_owner=compute:nova".to_owned()), Vec::new());
    while let Some(path) = next {
        let (_, body) = fixture.get(Service::Neutron, &path).await;
        counts.push(body["ports"].as_array().unwrap().len());
        let links = body["ports_links"].as_array().unwrap();
        let href = |link: &Value| {
            link["href"]
                .as_str()
                .unwrap()
                .split_once("/network")
                .unwrap()
                .1
                .to_owned()
        };
        next = links.iter().find(|link| link["rel"] == "next").map(href);
    }
    assert_eq!(counts, [10, 10, 5]);
}
