//! Changes of security groups, on the simulation and on the real services.

use super::super::{port_edits::Edit, *};
use crate::load_balancers::tests::neutron::{Neutron, Simulated, post, scenarios, simulated};
use cloud::{Port as ServicePort, Protocol, TrafficPolicy};
use futures::future::join_all;
use openstack_sim::Fault;
use rstest::rstest;
use serde_json::{Value, json};

fn spec(name: &str, node_ports: &[u16]) -> Spec {
    let port = |node_port: &u16| ServicePort {
        name: String::new(),
        protocol: Protocol::Tcp,
        port: 80,
        node_port: Some(*node_port),
        app_protocol: None,
    };
    Spec {
        cluster: "kubernetes".to_owned(),
        service: ServiceRef {
            namespace: "ns".to_owned(),
            name: name.to_owned(),
            uid: name.to_owned(),
        },
        ports: node_ports.iter().map(port).collect(),
        ..Spec::default()
    }
}

struct Fixture<'a> {
    neutron: &'a Neutron,
    networks: Networks,
    groups: SecurityGroups,
    subnets: Vec<String>,
}

impl<'a> Fixture<'a> {
    fn new(neutron: &'a Neutron) -> Self {
        Self {
            neutron,
            networks: Networks::default(),
            groups: SecurityGroups::default(),
            subnets: vec![neutron.subnet.clone()],
        }
    }

    async fn ensure(&self, spec: &Spec, hosts: &[&Arc<Host>]) -> Result<(), Halt> {
        let desired = DesiredGroup {
            spec,
            hosts,
            families: &[],
            vips: &[],
            subnets: &self.subnets,
            sources: Sources::Balancer,
        };
        self.groups.ensure(&self.neutron.api, &self.networks, &desired).await
    }

    /// Deletes the group, with as many retries as necessary.
    async fn remove(&self, spec: &Spec) -> Result<(), Halt> {
        for _ in 0..50 {
            match self.groups.remove(&self.neutron.api, &spec.service).await {
                Err(Halt::Pending { poll_after, .. }) => tokio::time::sleep(poll_after / 10).await,
                done => return done,
            }
        }
        Err(Error::unusable("the group", "it is always in use").into())
    }

    async fn there(&self, spec: &Spec) -> Vec<SecurityGroup> {
        security_groups::security_groups(&self.neutron.api, &[&name(&spec.service)])
            .await
            .unwrap()
    }

    async fn rules(&self, spec: &Spec) -> Vec<String> {
        let group = self.there(spec).await.pop().expect("a group");
        let text = |rule: SecurityGroupRule| {
            let port = rule
                .port_range_min
                .map_or_else(|| "any".to_owned(), |port| port.to_string());
            format!(
                "{} {} {}",
                rule.direction,
                port,
                rule.remote_ip_prefix.unwrap_or_default()
            )
        };
        let mut rules: Vec<String> = group.rules.into_iter().map(text).collect();
        rules.sort_unstable();
        rules
    }

    /// The number of security groups of a port.
    async fn count(&self, port: &str) -> usize {
        let port = self.neutron.get(&["ports", port]).await;
        port["port"]["security_groups"].as_array().expect("a list").len()
    }
}

fn none() -> Value {
    json!({})
}

// upstream: openstack 63
async fn opens_node_ports_on_the_nodes(neutron: &Neutron) {
    let fixture = Fixture::new(neutron);
    let (a, port_a) = neutron.node("a", none()).await;
    let (b, port_b) = neutron.node("b", none()).await;
    let (off, port_off) = neutron
        .node("off", json!({"port_security_enabled": false, "security_groups": []}))
        .await;
    let mut spec = spec("opens", &[30_001, 30_002]);
    spec.traffic = TrafficPolicy::Local {
        health_check_port: Some(32_000),
    };
    let before = [fixture.count(&port_a).await, fixture.count(&port_b).await];

    fixture.ensure(&spec, &[&a, &b, &off]).await.unwrap();
    let expected = [
        "ingress 30001 10.77.0.0/24",
        "ingress 30002 10.77.0.0/24",
        "ingress 32000 10.77.0.0/24",
    ];
    assert_eq!(fixture.rules(&spec).await, expected, "and nothing lets anything out");
    let carried = [
        fixture.count(&port_a).await,
        fixture.count(&port_b).await,
        fixture.count(&port_off).await,
    ];
    assert_eq!(carried, [before[0] + 1, before[1] + 1, 0], "port_security off skipped");

    spec.ports.remove(0);
    fixture.ensure(&spec, &[&a, &off]).await.unwrap();
    assert_eq!(fixture.rules(&spec).await, expected[1..]);
    assert_eq!(
        [fixture.count(&port_a).await, fixture.count(&port_b).await],
        [before[0] + 1, before[1]],
        "node leaving the selector loses the SG"
    );

    fixture.ensure(&spec, &[]).await.unwrap();
    assert_eq!(fixture.count(&port_a).await, before[0], "the last node left");
    fixture.remove(&spec).await.unwrap();
    assert_eq!(fixture.there(&spec).await, []);
    fixture.remove(&spec).await.unwrap();
}

// upstream: openstack 63
async fn continues_after_a_missing_rule(neutron: &Neutron) {
    let fixture = Fixture::new(neutron);
    let (a, port_a) = neutron.node("a", none()).await;
    let spec = spec("rules", &[30_001]);
    fixture.ensure(&spec, &[]).await.unwrap();
    let group = fixture.there(&spec).await.remove(0);
    let stale = |id: &str, port| SecurityGroupRule {
        id: id.to_owned(),
        direction: "ingress".to_owned(),
        port_range_min: Some(port),
        ..SecurityGroupRule::default()
    };
    // The cached group has two rules that do not exist, and lacks one that exists.
    let assumed = SecurityGroup {
        rules: vec![
            stale("11111111-2222-3333-4444-555555555555", 1),
            stale("21111111-2222-3333-4444-555555555555", 2),
        ],
        ..group.clone()
    };
    let wanted = [30_001, 30_002].map(|port| Rule {
        protocol: Protocol::Tcp,
        port,
        source: "10.77.0.0/24".parse().unwrap(),
    });
    let steps = plan_rules(&assumed, &wanted.into());
    fixture.groups.apply(&neutron.api, &assumed, steps).await.unwrap();
    assert_eq!(
        fixture.rules(&spec).await,
        ["ingress 30001 10.77.0.0/24", "ingress 30002 10.77.0.0/24"]
    );
    fixture.ensure(&spec, &[&a]).await.unwrap();
    let why = "404 on a rule delete does not stop the rest";
    assert_eq!(fixture.rules(&spec).await, ["ingress 30001 10.77.0.0/24"], "{why}");
    assert_eq!(fixture.count(&port_a).await, 2, "{why}");
    fixture.remove(&spec).await.unwrap();
}

async fn nothing_is_lost_or_leaked_in_parallel(neutron: &Neutron) {
    let fixture = Fixture::new(neutron);
    let (a, port_a) = neutron.node("a", none()).await;
    let (b, port_b) = neutron.node("b", none()).await;
    let before = [fixture.count(&port_a).await, fixture.count(&port_b).await];
    let specs: Vec<Spec> = (0..6_u16)
        .map(|index| spec(&format!("parallel-{index}"), &[30_010 + index]))
        .collect();

    let hosts = [&a, &b];
    let ensured = join_all(specs.iter().map(|spec| fixture.ensure(spec, &hosts))).await;
    ensured.into_iter().for_each(Result::unwrap);
    assert_eq!(
        [fixture.count(&port_a).await, fixture.count(&port_b).await],
        [before[0] + 6, before[1] + 6]
    );

    let removed = join_all(specs.iter().map(|spec| fixture.remove(spec))).await;
    removed.into_iter().for_each(Result::unwrap);
    assert_eq!([fixture.count(&port_a).await, fixture.count(&port_b).await], before);
    for spec in &specs {
        assert_eq!(fixture.there(spec).await, [], "no group is left behind");
    }
}

async fn no_change_of_a_port_is_lost(neutron: &Neutron) {
    let fixture = Fixture::new(neutron);
    let (_, id) = neutron.node("a", none()).await;
    let stale = ports::port(&neutron.api, &id).await.unwrap().expect("a port");
    let made = async |name: &str| {
        let group = json!({"security_group": {"name": name}});
        post(&neutron.api, "security-groups", group).await["security_group"]["id"]
            .as_str()
            .expect("an ID")
            .to_owned()
    };
    let (theirs, ours) = (made("theirs").await, made("ours").await);
    let mut groups = stale.security_groups.clone();
    groups.push(theirs.clone());
    neutron
        .put(&["ports", &id], json!({"port": {"security_groups": groups}}))
        .await;

    fixture
        .groups
        .edits
        .apply(&neutron.api, &stale, Edit::Attach(ours.clone()))
        .await
        .unwrap();
    let now = ports::port(&neutron.api, &id)
        .await
        .unwrap()
        .expect("a port")
        .security_groups;
    assert!(now.contains(&theirs) && now.contains(&ours), "{now:?}");

    neutron.delete(&["ports", &id]).await;
    fixture
        .groups
        .edits
        .apply(&neutron.api, &stale, Edit::Detach(ours))
        .await
        .unwrap();
}

async fn two_of_a_name_are_an_error(neutron: &Neutron) {
    let fixture = Fixture::new(neutron);
    let (a, _) = neutron.node("a", none()).await;
    let spec = spec("twice", &[30_001]);
    for _ in 0..2 {
        post(
            &neutron.api,
            "security-groups",
            json!({"security_group": {"name": name(&spec.service)}}),
        )
        .await;
    }
    let error = fixture.ensure(&spec, &[&a]).await.unwrap_err().report();
    assert!(
        error.starts_with("security group lb-sg-twice-ns-twice cannot be used: there are 2 of that name ("),
        "{error}"
    );
    fixture.remove(&spec).await.unwrap();
    assert_eq!(fixture.there(&spec).await, []);
}

async fn many_services_share_their_questions(neutron: &Neutron) {
    let fixture = Fixture::new(neutron);
    let (a, port) = neutron.node("a", none()).await;
    let specs: Vec<Spec> = (0..12_u16)
        .map(|index| spec(&format!("many-{index}"), &[30_100 + index]))
        .collect();
    for spec in &specs {
        fixture.ensure(spec, &[&a]).await.unwrap();
    }
    let count = fixture.count(&port).await;
    for spec in &specs {
        fixture.ensure(spec, &[&a]).await.unwrap();
    }
    assert_eq!(fixture.count(&port).await, count);
    for spec in &specs {
        assert_eq!(fixture.rules(spec).await.len(), 1);
        fixture.remove(spec).await.unwrap();
    }
}

scenarios! {
    opens_node_ports_on_the_nodes
    continues_after_a_missing_rule
    nothing_is_lost_or_leaked_in_parallel
    no_change_of_a_port_is_lost
    two_of_a_name_are_an_error
    many_services_share_their_questions
}

#[tokio::test]
async fn a_group_in_use_is_not_deleted() {
    let Simulated { neutron, cloud, .. } = &simulated().await;
    let fixture = Fixture::new(neutron);
    let spec = spec("used", &[30_001]);
    fixture.ensure(&spec, &[]).await.unwrap();
    let body = r#"{"NeutronError": {"type": "SecurityGroupInUse", "message": "in use", "detail": ""}}"#;
    cloud.inject(Fault::answer(409, body).operation("security_group_delete").times(1));
    let pending = fixture.groups.remove(&neutron.api, &spec.service).await;
    assert!(matches!(pending, Err(Halt::Pending { .. })), "{pending:?}");
    assert_eq!(fixture.there(&spec).await.len(), 1);
    fixture.groups.remove(&neutron.api, &spec.service).await.unwrap();
}

#[rstest]
#[case("security_group", "the quota for security groups is exceeded")]
#[case("security_group_rule", "the quota for security group rules is exceeded")]
#[tokio::test]
async fn the_exceeded_quota_is_named(#[case] resource: &str, #[case] expected: &str) {
    let Simulated { neutron, cloud, .. } = &simulated().await;
    let fixture = Fixture::new(neutron);
    let node_ports: Vec<u16> = (30_000..30_020).collect();
    // Neutron creates a group with two rules.
    let allowed = if resource == "security_group" { 1 } else { 6 };
    cloud.configure(|settings| {
        settings.quotas.insert(resource.to_owned(), allowed);
    });
    let error = fixture.ensure(&spec("quota", &node_ports), &[]).await.unwrap_err();
    assert!(matches!(error, Halt::Failed(Error::Quota { .. })), "{}", error.report());
    assert_eq!(error.to_string(), expected);
}

#[tokio::test]
async fn unchanged_services_cost_a_few_reads_in_all() {
    let Simulated { neutron, cloud, .. } = &simulated().await;
    let fixture = Fixture::new(neutron);
    let (a, _) = neutron.node("a", none()).await;
    let (b, _) = neutron.node("b", none()).await;
    let specs: Vec<Spec> = (0..20_u16)
        .map(|index| spec(&format!("s{index}"), &[30_000 + index]))
        .collect();
    for spec in &specs {
        fixture.ensure(spec, &[&a, &b]).await.unwrap();
    }
    let restarted = Fixture::new(neutron);
    let mark = cloud.mark();
    for spec in &specs {
        restarted.ensure(spec, &[&a, &b]).await.unwrap();
    }
    assert_eq!(cloud.writes_since(mark).len(), 0);
    let reads = cloud.calls_since(mark).len();
    assert!(reads <= 12, "{reads} reads");

    let (c, port) = neutron.node("c", none()).await;
    let before = fixture.count(&port).await;
    let mark = cloud.mark();
    let hosts = [&a, &b, &c];
    let joined = join_all(specs.iter().map(|spec| restarted.ensure(spec, &hosts))).await;
    joined.into_iter().for_each(Result::unwrap);
    assert_eq!(fixture.count(&port).await, before + specs.len());
    let writes = cloud.writes_since(mark).len();
    assert!(writes <= 5, "{writes} writes to one port");
}

#[rstest]
#[tokio::test]
async fn any_call_may_fail_once(
    #[values(
        "subnet_get",
        "security_group_list",
        "security_group_create",
        "security_group_rule_create",
        "security_group_rule_delete",
        "port_list",
        "port_update"
    )]
    operation: &str,
    #[values("500", "lost", "reset", "truncated")] how: &str,
) {
    let Simulated { neutron, cloud, .. } = &simulated().await;
    let fixture = Fixture::new(neutron);
    let (a, port) = neutron.node("a", none()).await;
    let before = fixture.count(&port).await;
    let spec = spec("faulty", &[30_001, 30_002]);
    let fault = match how {
        "500" => Fault::status(500),
        "lost" => Fault::lose_answer(),
        "reset" => Fault::reset(),
        _ => Fault::truncate(),
    };
    cloud.inject(fault.operation(operation).times(1));
    // Its result does not matter: the next one must succeed.
    let _ = fixture.ensure(&spec, &[&a]).await;
    cloud.withdraw_all();
    fixture.ensure(&spec, &[&a]).await.unwrap();
    assert_eq!(fixture.there(&spec).await.len(), 1, "nothing is doubled");
    assert_eq!(
        fixture.rules(&spec).await,
        ["ingress 30001 10.77.0.0/24", "ingress 30002 10.77.0.0/24"]
    );
    assert_eq!(fixture.count(&port).await, before + 1);
    fixture.remove(&spec).await.unwrap();
    assert_eq!(fixture.count(&port).await, before, "nothing is leaked");
    assert_eq!(fixture.there(&spec).await, []);
}
