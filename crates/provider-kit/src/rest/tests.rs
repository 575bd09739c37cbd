use super::*;
use cloud_http::{Config, Metrics};
use fakecloud::{Api, Cloud, Fault, Now, Outcome, Page, Server, json};
use std::collections::BTreeMap;

#[derive(Default)]
struct Disks(BTreeMap<String, Value>);

impl Api for Disks {
    fn answer(&mut self, request: &fakecloud::Request, _: Now) -> Outcome {
        use fakecloud::Response;
        let (method, path) = request.route();
        let missing = || Response::json(404, json!({"error": "not found"}));
        match (method, path.as_slice()) {
            ("GET", ["v1", "disks"]) => {
                let named = |disk: &&Value| request.query.get("name").is_none_or(|name| disk["name"] == name);
                let all: Vec<_> = self.0.values().filter(named).cloned().collect();
                let page = Page::numbered(
                    all,
                    request.query.number("page").unwrap_or(1),
                    request.query.number("size").unwrap_or(1),
                );
                let next = page.links(request, "page").next;
                Ok(Response::ok(json!({"disks": page.items, "next": next})))
            }
            ("POST", ["v1", "disks"]) => {
                let mut disk = request.json().unwrap();
                let id = (self.0.len() + 1).to_string();
                disk["id"] = id.as_str().into();
                self.0.insert(id, disk.clone());
                Ok(Response::json(201, json!({"disk": disk})))
            }
            ("GET", ["v1", "disks", id]) => self
                .0
                .get(*id)
                .map(|disk| Response::ok(json!({"disk": disk})))
                .ok_or_else(missing),
            ("PUT", ["v1", "disks", id]) => {
                let disk = self.0.get_mut(*id).ok_or_else(missing)?;
                disk["name"] = request.json().unwrap()["name"].clone();
                Ok(Response::ok(json!({"disk": disk})))
            }
            ("DELETE", ["v1", "disks", id]) => self.0.remove(*id).map(|_| Response::empty(204)).ok_or_else(missing),
            _ => Err(Response::unknown(request)),
        }
    }
}

#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
struct Disk {
    id: String,
    name: String,
}

fn disk(id: &str, name: &str) -> Disk {
    Disk {
        id: id.to_owned(),
        name: name.to_owned(),
    }
}

async fn fixture() -> (Cloud<Disks>, Server, Collection<Disk>) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let cloud = Cloud::new(Disks::default());
    let server = Server::start(&cloud).await.unwrap();
    let metrics = Metrics::register(&prometheus::Registry::new()).unwrap();
    let rest = Arc::new(Rest {
        client: Client::new(&Config::default(), Arc::new(|| Ok(())), &metrics).unwrap(),
        url: server.url().parse().unwrap(),
        version: "v1",
        page_size: ("size", "2"),
        next: |page| page.get("next")?.as_str().map(|link| Next::Link(link.to_owned())),
    });
    (cloud, server, Collection::new(&rest, crate::names!("disk")))
}

#[tokio::test]
async fn objects_are_created_found_updated_and_deleted() {
    let (cloud, _server, disks) = fixture().await;
    assert_eq!(disks.create(&json!({"name": "a"})).await.unwrap(), disk("1", "a"));
    assert_eq!(disks.find("1").await.unwrap(), Some(disk("1", "a")));
    assert_eq!(
        disks.update("1", &json!({"name": "b"})).await.unwrap(),
        Some(disk("1", "b"))
    );
    disks.delete("1").await.unwrap();
    disks.delete("1").await.unwrap();
    assert_eq!(disks.find("1").await.unwrap(), None);
    assert_eq!(disks.update("1", &json!({"name": "b"})).await.unwrap(), None);
    assert_eq!(cloud.unknown(), Vec::<String>::new());
}

#[tokio::test]
async fn lists_have_all_pages_and_may_be_filtered() {
    let (cloud, _server, disks) = fixture().await;
    for name in ["a", "b", "c", "c", "d"] {
        disks.create(&json!({"name": name})).await.unwrap();
    }
    let mark = cloud.mark();
    let names: Vec<_> = disks
        .list(None)
        .await
        .unwrap()
        .into_iter()
        .map(|disk| disk.name)
        .collect();
    assert_eq!(
        (names.join(" ").as_str(), cloud.calls_since(mark).len()),
        ("a b c c d", 3)
    );
    assert_eq!(
        disks.list(Some(("name", "c"))).await.unwrap(),
        [disk("3", "c"), disk("4", "c")]
    );
}

#[tokio::test]
async fn an_answer_without_the_object_or_the_list_is_an_error() {
    let (cloud, _server, disks) = fixture().await;
    disks.create(&json!({"name": "a"})).await.unwrap();
    cloud.inject(Fault::replace_body("{}"));
    let one = disks.find("1").await.unwrap_err();
    let list = disks.list(None).await.unwrap_err();
    assert!(one.report().contains("the field disk is missing"), "{}", one.report());
    assert!(
        list.report().contains("the field disks is missing"),
        "{}",
        list.report()
    );
}
