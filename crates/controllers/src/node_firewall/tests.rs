use super::*;
use cloud::Error;
use rstest::rstest;
use serde_json::{Value, json};

/// `web NodePort 80:30080`: a Service of this name and type with ports and node ports.
fn service(text: &str) -> Service {
    let mut words = text.split_whitespace();
    let (name, kind) = (words.next().unwrap(), words.next().unwrap());
    let port = |word: &str| {
        let (port, node_port) = word.split_once(':').unwrap();
        json!({"name": word.replace(':', "-"), "port": number(port), "nodePort": number(node_port), "protocol": "TCP"})
    };
    let ports: Vec<Value> = words.map(port).collect();
    let metadata = json!({"name": name, "namespace": "default", "uid": name});
    serde_json::from_value(
        json!({"metadata": metadata, "spec": {"type": kind, "ports": ports, "clusterIP": "10.0.0.1"}}),
    )
    .unwrap()
}

fn number(text: &str) -> u16 {
    text.parse().unwrap()
}

fn told(services: Vec<Service>) -> String {
    let exposed = exposed(&Store::of(services), "kubernetes");
    let told = |one: &Exposed| {
        let ports: Vec<String> = one.spec.ports.iter().map(|port| port.port.to_string()).collect();
        format!("{} {:?} {}", one.spec.service.name, one.exposure, ports.join(" "))
    };
    let mut told: Vec<String> = exposed.iter().map(told).collect();
    told.sort_unstable();
    told.join(", ")
}

#[test]
fn services_that_are_reachable_from_outside_are_exposed() {
    let services = [
        "a NodePort 80:30080 81:30081",
        "b LoadBalancer 443:30443",
        "c ClusterIP",
        "d ExternalName",
    ];
    let expected = "a NodePort 80 81, b LoadBalancer 443";
    assert_eq!(told(services.map(service).into()), expected);
}

#[test]
fn services_that_are_being_deleted_or_cannot_be_understood_stay_closed() {
    let mut deleted = service("a NodePort 80:30080");
    deleted.metadata.deletion_timestamp = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
    let mut strange = service("b LoadBalancer 80:30080");
    strange.spec.as_mut().unwrap().load_balancer_source_ranges = Some(vec!["everywhere".into()]);
    assert_eq!(told(vec![deleted, strange]), "");
}

#[rstest]
#[case::ports("a NodePort 80:30080", "a NodePort 81:30080", true)]
#[case::kind("a NodePort 80:30080", "a ClusterIP 80:30080", true)]
#[case::nothing("a NodePort 80:30080", "a NodePort 80:30080", false)]
#[case::closed("a ClusterIP 80:30080", "a ClusterIP 81:30080", false)]
fn changes_that_matter(#[case] old: &str, #[case] new: &str, #[case] expected: bool) {
    let (old, new) = (Arc::new(service(old)), Arc::new(service(new)));
    assert_eq!(matters(&Change::Updated { old, new }), expected);
}

#[test]
fn annotations_matter_and_the_status_does_not() {
    let old = Arc::new(service("a NodePort 80:30080"));
    let mut annotated = service("a NodePort 80:30080");
    annotated.metadata.annotations = Some([("a".to_owned(), "b".to_owned())].into());
    assert!(matters(&Change::Updated {
        old: Arc::clone(&old),
        new: Arc::new(annotated)
    }));
    let mut served = service("a NodePort 80:30080");
    served.status = serde_json::from_value(json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}})).unwrap();
    assert!(!matters(&Change::Updated {
        old: Arc::clone(&old),
        new: Arc::new(served)
    }));
    assert!(matters(&Change::Added(Arc::clone(&old))) && matters(&Change::Deleted(old)));
    assert!(!matters(&Change::Added(Arc::new(service("a ClusterIP")))));
}

#[rstest]
#[case::done(Ok(()), Next::Poll(PERIOD))]
#[case::refused(Err(Error::invalid("tags", "they do not exist")), Next::Poll(PERIOD))]
#[case::down(Err(Error::unavailable("call", "down")), Next::Retry)]
fn looks_again(#[case] answer: cloud::Result<()>, #[case] expected: Next) {
    assert_eq!(
        format!("{:?}", next(answer, &Pulse::default())),
        format!("{expected:?}")
    );
}
