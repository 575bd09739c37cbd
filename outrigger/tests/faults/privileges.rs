//! Least privilege: with exactly the permissions of `deploy/manager` everything works, and none of them is unused.

use crate::{
    fixture::{Credentials, Entry, Fixture, Mark, is_initialised},
    replica::Replica,
};
use cloud::Power;
use k8s_openapi::{
    NamespaceResourceScope,
    api::{
        core::v1::Node,
        rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding},
    },
};
use kube::{Api, Resource, ResourceExt, api::PostParams};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::{collections::BTreeSet, fmt::Debug};

const FILE: &str = include_str!("../../../deploy/manager/rbac.yaml");

/// The names of the two locks in the file, and their names here.
const LOCKS: [(&str, &str); 2] = [
    ("cloud-controller-manager", "main"),
    ("cloud-provider-extraction-migration", "migration"),
];

const SYSTEM: &str = "kube-system";

/// Permissions that are not used here, each with the reason why it is needed nevertheless.
const IDLE: [(&str, &str); 0] = [];

/// The objects of the file, for another user and under other names.
struct Grants {
    fixture: String,
    user: String,
    objects: Vec<Value>,
}

impl Grants {
    fn read(fixture: &Fixture, user: &str) -> Self {
        let objects = serde_saphyr::from_multiple(FILE).unwrap();
        Self {
            fixture: fixture.name.clone(),
            user: user.to_owned(),
            objects,
        }
    }

    /// Creates them, and waits until they take effect.
    async fn apply(&self, fixture: &Fixture) {
        let client = || fixture.client.clone();
        for object in &self.objects {
            match object["kind"].as_str().unwrap() {
                "ClusterRole" => create(Api::<ClusterRole>::all(client()), self.renamed(object)).await,
                "ClusterRoleBinding" => create(Api::<ClusterRoleBinding>::all(client()), self.bound(object)).await,
                "Role" => create(namespaced::<Role>(fixture, object), self.renamed(object)).await,
                "RoleBinding" => create(namespaced::<RoleBinding>(fixture, object), self.bound(object)).await,
                kind => assert_eq!(kind, "ServiceAccount", "it is not known what this grants"),
            }
        }
        let authorities = "extension-apiserver-authentication";
        let last = [
            json!({"verb": "list", "resource": "nodes"}),
            json!({"verb": "get", "group": "coordination.k8s.io", "resource": "leases", "namespace": SYSTEM,
                   "name": fixture.named("main")}),
            json!({"verb": "get", "resource": "configmaps", "namespace": SYSTEM, "name": authorities}),
        ];
        for attributes in last {
            fixture
                .allowed(&self.user, &json!({ "resourceAttributes": attributes }))
                .await;
        }
    }

    fn renamed(&self, object: &Value) -> Value {
        let mut object = object.clone();
        object["metadata"]["name"] = json!(format!(
            "{}:{}",
            self.fixture,
            object["metadata"]["name"].as_str().unwrap()
        ));
        for rule in object["rules"].as_array_mut().into_iter().flatten() {
            for name in rule["resourceNames"].as_array_mut().into_iter().flatten() {
                let (_, here) = LOCKS
                    .iter()
                    .find(|(there, _)| name == there)
                    .expect("a name that is known");
                *name = json!(format!("{}-{here}", self.fixture));
            }
        }
        object
    }

    fn bound(&self, object: &Value) -> Value {
        let mut object = self.renamed(object);
        object["subjects"] = json!([{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": self.user}]);
        let role = object["roleRef"]["name"].clone();
        if self
            .objects
            .iter()
            .any(|other| other["metadata"]["name"] == role && other["kind"] == object["roleRef"]["kind"])
        {
            object["roleRef"]["name"] = json!(format!("{}:{}", self.fixture, role.as_str().unwrap()));
        }
        object
    }

    /// All granted permissions, as `verb resource`.
    fn all(&self) -> BTreeSet<String> {
        let rules = self
            .objects
            .iter()
            .flat_map(|object| object["rules"].as_array().cloned().unwrap_or_default());
        let rules = rules.map(|rule| serde_json::from_value::<PolicyRule>(rule).unwrap());
        rules.flat_map(|rule| grants(&rule)).collect()
    }
}

fn grants(rule: &PolicyRule) -> Vec<String> {
    let resources = rule.resources.iter().flatten();
    resources
        .flat_map(|resource| rule.verbs.iter().map(move |verb| format!("{verb} {resource}")))
        .collect()
}

fn namespaced<K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>>(
    fixture: &Fixture,
    object: &Value,
) -> Api<K> {
    Api::namespaced(
        fixture.client.clone(),
        object["metadata"]["namespace"].as_str().unwrap(),
    )
}

async fn create<K: DeserializeOwned + Serialize + Clone + Debug>(api: Api<K>, object: Value) {
    let object = serde_json::from_value(object).unwrap();
    api.create(&PostParams::default(), &object).await.unwrap();
}

fn has_taint(node: &Node, key: &str) -> bool {
    node.spec
        .iter()
        .flat_map(|spec| spec.taints.iter().flatten())
        .any(|taint| taint.key == key)
}

/// Everything that a manager does.
async fn work(fixture: &Fixture, manager: &Replica) {
    let (stays, off, gone) = (
        fixture.join("stays").await,
        fixture.join("off").await,
        fixture.join("gone").await,
    );
    for name in [&stays, &off, &gone] {
        fixture
            .node_until(manager, name, "initialised and routed", |node| {
                let routed = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
                is_initialised(node)
                    && routed
                        .into_iter()
                        .any(|one| one.type_ == "NetworkUnavailable" && one.status == "False")
            })
            .await;
    }
    let shutdown = "node.cloudprovider.kubernetes.io/shutdown";
    fixture.cloud.set_power(&off, Power::Off);
    fixture.set_ready(&off, "Unknown").await;
    fixture
        .node_until(manager, &off, "tainted", |node| has_taint(node, shutdown))
        .await;
    fixture.cloud.set_power(&off, Power::On);
    fixture.set_ready(&off, "True").await;
    fixture
        .node_until(manager, &off, "untainted", |node| !has_taint(node, shutdown))
        .await;
    fixture.cloud.delete_machine(&gone);
    fixture.set_ready(&gone, "Unknown").await;
    fixture.node_gone(manager, &gone).await;

    let service = fixture.create(fixture.balanced("web")).await.name_any();
    fixture.served(manager, &service).await;
    for port in [81, 82] {
        fixture.set_port(&service, port).await;
        fixture.has_port(port).await;
    }
    fixture.delete_service(&service).await;
    fixture.no_services().await;
    let (_, token) = fixture.service_account().await;
    assert_eq!(
        manager.port_as(&Credentials::Token(token)).get("/metrics").await.status,
        403
    );
}

fn flags(fixture: &Fixture, kubeconfig: &str) -> Vec<String> {
    let migration = json!({
        "apiVersion": "controllermanager.config.k8s.io/v1", "kind": "LeaderMigrationConfiguration",
        "leaderName": fixture.named("migration"), "controllerLeaders": [{"name": "service-controller", "component": "*"}],
    });
    vec![
        format!("--kubeconfig={kubeconfig}"),
        format!("--authentication-kubeconfig={kubeconfig}"),
        format!("--authorization-kubeconfig={kubeconfig}"),
        format!("--leader-elect-resource-name={}", fixture.named("main")),
        "--enable-leader-migration".to_owned(),
        format!(
            "--leader-migration-config={}",
            fixture.folder.write("migration.yaml", &migration.to_string()).display()
        ),
        "--controllers=*,node-ipam-controller".to_owned(),
        "--allocate-node-cidrs".to_owned(),
        "--cluster-cidr=10.244.0.0/16".to_owned(),
        "--node-deletion-grace-period=0s".to_owned(),
    ]
}

#[tokio::test]
async fn the_permissions_of_the_manifest_are_enough_and_none_is_idle() {
    let fixture = Fixture::shared().await;
    let (user, kubeconfig) = fixture.stranger("manager");
    let grants = Grants::read(&fixture, &user);
    grants.apply(&fixture).await;
    let flags = flags(&fixture, &kubeconfig.display().to_string());
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let manager = Replica::start(&fixture, &flags).await;
    manager.leading().await;
    let standby = Replica::start(&fixture, &flags).await;
    standby.stands_by().await;
    work(&fixture, &manager).await;
    manager.signal("TERM");
    assert_eq!(manager.exited().await.code, 0, "{}", manager.log_tail());
    standby.leading().await;

    fixture.audited().await;
    let requests = fixture.requests_of(&user, Mark::default());
    let refused = requests.iter().filter(|entry| entry.code == 403);
    let refused: BTreeSet<_> = refused
        .map(|entry| format!("{} {}", entry.what(), entry.name))
        .collect();
    assert_eq!(refused, BTreeSet::new(), "the manifest grants too little");
    let needed: BTreeSet<_> = requests.iter().map(Entry::what).collect();
    let idle: Vec<_> = grants.all().difference(&needed).cloned().collect();
    assert_eq!(idle, IDLE.map(|(grant, _)| grant), "the manifest grants too much");
}
