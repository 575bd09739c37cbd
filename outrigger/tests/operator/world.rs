//! A cluster of `OpenShift` as far as the operator sees it.
//!
//! What the operator reads has one name in a cluster, so each world has a control plane for itself while it lasts; planes
//! are used again, and what an earlier world left behind is removed first.

use crate::{
    objects,
    rig::{Entry, Folder, Launch, Manager, Mark},
    workloads, writes,
};
use kube::{
    Api, Client,
    api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams},
};
use lab::ControlPlane;
use objects::look_of;
pub use objects::{config_map, deployment, kind};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    net::TcpListener,
    sync::{Condvar, LazyLock, Mutex},
    time::{Duration, Instant},
};

/// The version that is rolled out.
pub const RELEASE: &str = "5.0.0-lab";
/// Where the operator lives.
pub const OPERATOR_NAMESPACE: &str = "openshift-cloud-controller-manager-operator";
/// How many control planes there are at most.
const PLANES: usize = 2;

/// A cluster, and what the operator needs to start in it.
pub struct World {
    plane: Option<ControlPlane>,
    origin: Origin,
    /// An administrator's client.
    pub client: Client,
    /// The operands' namespace.
    pub namespace: String,
    /// For the files of the operator.
    pub folder: Folder,
}

/// Where a control plane comes from, and goes to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// It is used again.
    Pool,
    /// It is for one world, which waits more than it works.
    Own,
}

/// The certificates of the system are the same in all worlds.
static SYSTEM: LazyLock<String> = LazyLock::new(|| certificate("system"));

static IDLE: Mutex<(usize, Vec<ControlPlane>)> = Mutex::new((0, Vec::new()));
static RETURNED: Condvar = Condvar::new();

fn take_plane() -> ControlPlane {
    let mut idle = IDLE.lock().unwrap();
    loop {
        if let Some(plane) = idle.1.pop() {
            return plane;
        }
        if idle.0 < PLANES {
            idle.0 += 1;
            drop(idle);
            return ControlPlane::start().unwrap();
        }
        idle = RETURNED.wait(idle).unwrap();
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if self.origin == Origin::Own {
            return;
        }
        let mut idle = IDLE.lock().unwrap();
        // What a failed test leaves behind may be anything.
        if std::thread::panicking() {
            idle.0 -= 1;
            self.plane = None;
        }
        idle.1.extend(self.plane.take());
        RETURNED.notify_one();
    }
}

/// A kind of `OpenShift`'s configuration.
pub fn config(name: &str, plural: &str) -> ApiResource {
    kind("config.openshift.io", "v1", name, plural)
}

/// The kind of the Infrastructure.
pub fn infrastructure() -> ApiResource {
    config("Infrastructure", "infrastructures")
}

/// The kind of the `APIServer`.
pub fn api_server() -> ApiResource {
    config("APIServer", "apiservers")
}

/// The kind of the Proxy.
pub fn proxy() -> ApiResource {
    config("Proxy", "proxies")
}

impl World {
    /// A cluster on this platform with everything the operator reads, and nothing of the operator.
    pub async fn new(platform: &str) -> Self {
        let world = Self::without_infrastructure().await;
        world.set_platform(platform).await;
        world
    }

    /// A cluster before the installer has said where it is.
    pub async fn without_infrastructure() -> Self {
        Self::in_namespace(&lab::unique("ccm")).await
    }

    /// The same, with the operands in this namespace.
    pub async fn in_namespace(namespace: &str) -> Self {
        let plane = tokio::task::spawn_blocking(take_plane).await.unwrap();
        Self::on(plane, Origin::Pool, namespace).await
    }

    /// The same, for a test that waits more than it works: it does not keep others from working.
    pub async fn apart(namespace: &str) -> Self {
        let plane = tokio::task::spawn_blocking(ControlPlane::start).await.unwrap().unwrap();
        Self::on(plane, Origin::Own, namespace).await
    }

    /// A cluster that is not one of `OpenShift` yet: with namespaces, and these definitions.
    pub async fn before(definitions: &[String]) -> Self {
        let plane = tokio::task::spawn_blocking(ControlPlane::start).await.unwrap().unwrap();
        plane.install_crds(definitions).await.unwrap();
        let world = Self::unfurnished(plane, Origin::Own, &lab::unique("ccm"));
        world.make_room().await;
        world
    }

    /// Makes it one, apart from definitions with this in their text.
    pub async fn become_openshift(&self, without: &str) {
        let mut definitions = lab::openshift_crds().unwrap();
        definitions.retain(|text| without.is_empty() || !text.contains(without));
        self.plane().install_crds(&definitions).await.unwrap();
    }

    async fn on(plane: ControlPlane, origin: Origin, namespace: &str) -> Self {
        plane.install_openshift_crds().await.unwrap();
        let world = Self::unfurnished(plane, origin, namespace);
        world.clean().await;
        world.make_room().await;
        world.furnish().await;
        world
    }

    fn unfurnished(plane: ControlPlane, origin: Origin, namespace: &str) -> Self {
        Self {
            client: plane.client(),
            namespace: namespace.to_owned(),
            folder: Folder::new(&lab::unique("operator")),
            plane: Some(plane),
            origin,
        }
    }

    /// The control plane.
    pub fn plane(&self) -> &ControlPlane {
        self.plane.as_ref().unwrap()
    }

    async fn clean(&self) {
        let all = [
            (config("ClusterOperator", "clusteroperators"), ""),
            (config("Infrastructure", "infrastructures"), ""),
            (config("Network", "networks"), ""),
            (config("Proxy", "proxies"), ""),
            (config("FeatureGate", "featuregates"), ""),
            (config("APIServer", "apiservers"), ""),
            (
                kind(
                    "admissionregistration.k8s.io",
                    "v1",
                    "ValidatingAdmissionPolicy",
                    "validatingadmissionpolicies",
                ),
                "",
            ),
            (
                kind(
                    "admissionregistration.k8s.io",
                    "v1",
                    "ValidatingAdmissionPolicyBinding",
                    "validatingadmissionpolicybindings",
                ),
                "",
            ),
            (kind("coordination.k8s.io", "v1", "Lease", "leases"), OPERATOR_NAMESPACE),
            (kind("", "v1", "ConfigMap", "configmaps"), "openshift-config"),
            (kind("", "v1", "ConfigMap", "configmaps"), "openshift-config-managed"),
        ];
        let operands = self.kinds();
        let operands = operands
            .iter()
            .filter(|(_, namespace)| *namespace == self.namespace)
            .map(|(resource, namespace)| (resource.clone(), namespace.as_str()));
        for (resource, namespace) in all.into_iter().chain(operands) {
            let api = self.api(&resource, namespace);
            let deleted = api
                .delete_collection(&DeleteParams::default(), &ListParams::default())
                .await;
            if let Err(error) = deleted {
                panic!("cannot remove {}: {error}", resource.plural);
            }
        }
        self.remove_roles().await;
    }

    async fn remove_roles(&self) {
        let all = [
            ("ClusterRole", "clusterroles", ""),
            ("ClusterRoleBinding", "clusterrolebindings", ""),
            ("Role", "roles", "kube-system"),
            ("RoleBinding", "rolebindings", "kube-system"),
        ];
        for (name, plural, namespace) in all {
            let api = self.api(&kind("rbac.authorization.k8s.io", "v1", name, plural), namespace);
            for role in api.list(&ListParams::default()).await.unwrap() {
                if is_ours(&role) {
                    api.delete(&role.metadata.name.unwrap(), &DeleteParams::default())
                        .await
                        .unwrap();
                }
            }
        }
    }

    /// The namespaces, and the operator's own files.
    async fn make_room(&self) {
        self.folder.write("images.json", &images().to_string());
        self.folder.write("bundle.pem", &SYSTEM);
        for name in [
            "openshift-config",
            "openshift-config-managed",
            OPERATOR_NAMESPACE,
            &self.namespace,
        ] {
            self.apply(&kind("", "v1", "Namespace", "namespaces"), "", name, json!({}))
                .await;
        }
    }

    /// What the installer writes.
    pub async fn furnish(&self) {
        self.furnish_without_proxy().await;
        let proxy_ = json!({"spec": {"trustedCA": {"name": ""}}});
        self.apply(&proxy(), "", "cluster", proxy_).await;
    }

    /// The same in a cluster that has no Proxy.
    pub async fn furnish_without_proxy(&self) {
        let gates = json!({"spec": {}});
        self.apply(&config("FeatureGate", "featuregates"), "", "cluster", gates)
            .await;
        self.set_gates(&[]).await;
        let network = json!({"spec": {"serviceNetwork": ["172.30.0.0/16"], "clusterNetwork": [], "networkType": "OVNKubernetes"}});
        self.apply(&config("Network", "networks"), "", "cluster", network).await;
        self.apply(&api_server(), "", "cluster", json!({"spec": {}})).await;
    }

    /// Says which features are on.
    pub async fn set_gates(&self, on: &[&str]) {
        let on: Vec<_> = on.iter().map(|name| json!({"name": name})).collect();
        let status = json!({"featureGates": [{"version": RELEASE, "enabled": on, "disabled": []}]});
        self.set_status(&config("FeatureGate", "featuregates"), "cluster", status)
            .await;
    }

    /// Gives the cluster another cloud configuration.
    pub async fn set_source(&self, text: &str) {
        let data = json!({"data": {"cloud.conf": text, "endpoints": "{}"}});
        self.apply(&config_map(), "openshift-config", "cloud-provider-config", data)
            .await;
    }

    /// Says where the cluster is: `AWS`, or `AWS SingleReplica`; with the cloud configuration that such a cluster has.
    pub async fn set_platform(&self, platform: &str) {
        let (type_, topology) = platform.split_once(' ').unwrap_or((platform, "HighlyAvailable"));
        let (type_, cloud) = type_.split_once('/').unwrap_or((type_, ""));
        let source = source(type_, cloud);
        if let Some(text) = &source {
            self.set_source(text).await;
        }
        let reference = if source.is_some() { "cloud-provider-config" } else { "" };
        let spec = json!({"spec": {"cloudConfig": {"name": reference, "key": ""}, "platformSpec": {"type": type_}}});
        self.apply(&config("Infrastructure", "infrastructures"), "", "cluster", spec)
            .await;
        let mut status = json!({
            "infrastructureName": "lab-x7k2p", "controlPlaneTopology": topology, "infrastructureTopology": topology,
            "apiServerURL": "https://api.lab:6443", "apiServerInternalURI": "https://api-int.lab:6443", "etcdDiscoveryDomain": "",
            "platform": type_, "platformStatus": {"type": type_}, "cpuPartitioning": "None",
        });
        if type_ == "Azure" {
            let cloud = if cloud.is_empty() { "AzurePublicCloud" } else { cloud };
            status["platformStatus"]["azure"] = json!({"cloudName": cloud, "resourceGroupName": "lab"});
        }
        if type_ == "AWS" {
            status["platformStatus"]["aws"] = json!({"region": "eu-lab-1"});
        }
        self.set_status(&config("Infrastructure", "infrastructures"), "cluster", status)
            .await;
    }

    /// Lets the cloud be managed by our own program where there is one.
    pub fn prefer_our_own(&self) {
        let mut images = images();
        images
            .as_object_mut()
            .unwrap()
            .remove("cloudControllerManagerOpenStack");
        self.folder.write("images.json", &images.to_string());
    }

    /// The objects of a kind.
    pub fn api(&self, resource: &ApiResource, namespace: &str) -> Api<DynamicObject> {
        objects::api(&self.client, resource, namespace)
    }

    /// Creates an object, or changes it to be like this.
    pub async fn apply(&self, resource: &ApiResource, namespace: &str, name: &str, content: Value) -> DynamicObject {
        objects::apply(&self.api(resource, namespace), resource, name, content).await
    }

    /// Replaces the status of an object of the cluster.
    pub async fn set_status(&self, resource: &ApiResource, name: &str, status: Value) {
        let patch = json!({"status": status});
        let api = self.api(resource, "");
        let patched = api
            .patch_status(name, &PatchParams::default(), &Patch::Merge(&patch))
            .await;
        patched.unwrap_or_else(|error| panic!("cannot set the status of {} {name}: {error}", resource.kind));
    }

    /// Changes an object as somebody would with `kubectl edit`.
    pub async fn edit(&self, resource: &ApiResource, namespace: &str, name: &str, patch: Value) {
        let params = PatchParams {
            field_manager: Some("kubectl-edit".to_owned()),
            ..PatchParams::default()
        };
        let edited = self
            .api(resource, namespace)
            .patch(name, &params, &Patch::Merge(&patch))
            .await;
        edited.unwrap_or_else(|error| panic!("cannot edit {} {name}: {error}", resource.kind));
    }

    /// An object as JSON.
    pub async fn get(&self, resource: &ApiResource, namespace: &str, name: &str) -> Option<Value> {
        let found = self.api(resource, namespace).get_opt(name).await.unwrap();
        found.map(|object| serde_json::to_value(object).unwrap())
    }

    /// The operator's word: `Available=True …`, one condition a line, sorted.
    pub async fn conditions(&self) -> String {
        objects::conditions(&self.cluster_operator().await).join("\n")
    }

    /// The `ClusterOperator`; null if there is none.
    pub async fn cluster_operator(&self) -> Value {
        let found = self
            .get(
                &config("ClusterOperator", "clusteroperators"),
                "",
                "cloud-controller-manager",
            )
            .await;
        found.unwrap_or_default()
    }

    /// Waits until a failure that lasts is told, as long as that may take; after how long, and what is told.
    pub async fn degraded(&self, operator: &Manager) -> (Duration, String) {
        let since = Instant::now();
        loop {
            let conditions = self.conditions().await;
            if conditions.contains("\nDegraded=True") {
                return (since.elapsed(), conditions);
            }
            assert!(
                since.elapsed() < Duration::from_mins(4),
                "{conditions}{}",
                operator.told()
            );
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    /// Waits until the conditions have all of these beginnings.
    pub async fn says(&self, operator: &Manager, beginnings: &[&str]) -> String {
        let missing = |conditions: &str| {
            let there = |beginning: &&&str| !conditions.lines().any(|line| line.starts_with(**beginning));
            beginnings.iter().filter(there).copied().collect::<Vec<_>>().join(", ")
        };
        let look = async || {
            let conditions = self.conditions().await;
            match missing(&conditions).as_str() {
                "" => Ok(conditions),
                missing => Err(format!("{missing} is missing in\n{conditions}")),
            }
        };
        operator.until("the conditions", look).await
    }

    /// What the operands are, by kind and name, sorted: everything that our field manager has written.
    pub async fn operands(&self) -> Vec<String> {
        let mut found = Vec::new();
        for (resource, namespace) in self.kinds() {
            for object in self
                .api(&resource, &namespace)
                .list(&ListParams::default())
                .await
                .unwrap()
            {
                if is_ours(&object) {
                    found.push(format!(
                        "{} {}",
                        resource.kind,
                        object.metadata.name.unwrap_or_default()
                    ));
                }
            }
        }
        found.sort();
        found
    }

    /// Every kind of operand, and where it is.
    pub fn kinds(&self) -> Vec<(ApiResource, String)> {
        let here = self.namespace.clone();
        let rbac = |name, plural| kind("rbac.authorization.k8s.io", "v1", name, plural);
        let admission = |name, plural| kind("admissionregistration.k8s.io", "v1", name, plural);
        vec![
            (kind("", "v1", "ConfigMap", "configmaps"), here.clone()),
            (kind("", "v1", "Secret", "secrets"), here.clone()),
            (kind("", "v1", "Service", "services"), here.clone()),
            (kind("apps", "v1", "Deployment", "deployments"), here.clone()),
            (kind("apps", "v1", "DaemonSet", "daemonsets"), here.clone()),
            (
                kind("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets"),
                here.clone(),
            ),
            (rbac("Role", "roles"), here.clone()),
            (rbac("RoleBinding", "rolebindings"), here),
            (rbac("Role", "roles"), "kube-system".to_owned()),
            (rbac("RoleBinding", "rolebindings"), "kube-system".to_owned()),
            (rbac("ClusterRole", "clusterroles"), String::new()),
            (rbac("ClusterRoleBinding", "clusterrolebindings"), String::new()),
            (
                admission("ValidatingAdmissionPolicy", "validatingadmissionpolicies"),
                String::new(),
            ),
            (
                admission("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings"),
                String::new(),
            ),
        ]
    }

    /// Says of every workload what its controller would: so many of its Pods are available.
    pub async fn roll_out(&self, available: i64) {
        workloads::roll_out(&self.client, &self.namespace, available).await;
    }

    /// Waits until this operand is there, and lets the Pods of all of them run.
    pub async fn roll_out_until(&self, operator: &Manager, operand: &str) {
        let look = async || {
            self.collect_garbage().await;
            match self.operands().await {
                found if found.iter().any(|each| each == operand) => Ok(()),
                found => Err(format!("{found:#?}")),
            }
        };
        operator.until(operand, look).await;
        let look = async || {
            self.collect_garbage().await;
            self.roll_out(9).await;
            let conditions = self.conditions().await;
            let done = conditions.contains("Available=True") && conditions.contains("Progressing=False");
            if done { Ok(()) } else { Err(conditions) }
        };
        operator.until("the roll-out", look).await;
    }

    /// What the garbage collector does with what is deleted together with its Pods.
    pub async fn collect_garbage(&self) {
        workloads::collect_garbage(&self.client, &self.namespace).await;
    }

    /// Waits until no operand has this in its kind or name.
    pub async fn gone(&self, operator: &Manager, text: &str) {
        let look = async || {
            self.collect_garbage().await;
            match self.operands().await {
                found if found.iter().any(|each| each.contains(text)) => Err(format!("{found:#?}")),
                _ => Ok(()),
            }
        };
        operator.until(&format!("the end of {text}"), look).await;
    }

    /// The operator's command line.
    pub fn operator(&self) -> Launch {
        self.launch()
            .arg("operator")
            .flag(&format!(
                "--images-json={}",
                self.folder.path().join("images.json").display()
            ))
            .flag("--metrics-bind-address=0")
    }

    /// The program under one of its other names, without arguments.
    pub fn program(&self, name: &str) -> Launch {
        let link = self.folder.path().join(name);
        if !link.exists() {
            std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_outrigger"), &link).unwrap();
        }
        self.launch().program(&link)
    }

    fn launch(&self) -> Launch {
        Launch::new(self.folder.path())
            .env("RELEASE_VERSION", RELEASE)
            .env("KUBECONFIG", &self.plane().kubeconfig().display().to_string())
    }

    /// The operator, on its way.
    pub fn start(&self) -> Manager {
        self.common(self.operator()).start()
    }

    /// An operator was here, installed this, and has ended.
    pub async fn left_behind(&self, operand: &str) {
        let operator = self.start();
        self.roll_out_until(&operator, operand).await;
        operator.signal("TERM");
        operator.exited().await;
    }

    /// Says in the `ClusterOperator` that these are the operator's objects.
    pub async fn set_related(&self, related: Value) {
        let operators = config("ClusterOperator", "clusteroperators");
        let status = json!({"relatedObjects": related});
        self.set_status(&operators, "cloud-controller-manager", status).await;
    }

    /// With the flags that every program of the operator has.
    pub fn common(&self, launch: Launch) -> Launch {
        let bundle = self.folder.path().join("bundle.pem");
        launch
            .flag(&format!("--namespace={}", self.namespace))
            .flag(&format!("--leader-elect-resource-namespace={OPERATOR_NAMESPACE}"))
            .flag(&format!("--system-ca-bundle={}", bundle.display()))
            .flag(&format!("--health-addr=127.0.0.1:{}", free_port()))
            .flag("-v=2")
    }

    /// The end of the audit log as of now.
    pub fn mark(&self) -> Mark {
        Mark::end_of(&self.plane().audit_log())
    }

    /// What the operator asked since then, apart from Leases and Events.
    pub fn requests_since(&self, mark: Mark) -> Vec<Entry> {
        writes::requests_since(self.plane(), mark)
    }

    /// What the operator wrote since then, apart from Leases and Events: `verb resource name`.
    pub fn writes_since(&self, mark: Mark) -> Vec<String> {
        writes::writes_since(self.plane(), mark)
    }

    /// How often the operator has reported since then.
    pub fn reports_since(&self, mark: Mark) -> usize {
        let all = self.writes_since(mark);
        all.iter().filter(|write| write.contains("clusteroperators")).count()
    }

    /// Waits until there are so many operands.
    pub async fn installed(&self, operator: &Manager, operands: usize) {
        let look = async || match self.operands().await {
            found if found.len() == operands => Ok(()),
            found => Err(format!("{found:#?}")),
        };
        operator.until("all operands", look).await;
    }

    /// Everything as somebody sees it who does not look at versions and times: every operand by kind and name, the conditions
    /// and what the operator says is its own.
    pub async fn portrait(&self) -> BTreeMap<String, Value> {
        let mut all = BTreeMap::new();
        for (resource, namespace) in self.kinds() {
            for object in self
                .api(&resource, &namespace)
                .list(&ListParams::default())
                .await
                .unwrap()
            {
                if is_ours(&object) {
                    let name = object.metadata.name.clone().unwrap_or_default();
                    let object = look_of(serde_json::to_value(object).unwrap());
                    all.insert(format!("{} {name}", resource.kind), object);
                }
            }
        }
        let operator = self.cluster_operator().await;
        all.insert("conditions".to_owned(), json!(self.conditions().await));
        for part in ["versions", "relatedObjects"] {
            all.insert(part.to_owned(), operator["status"][part].clone());
        }
        let text = json!(all).to_string().replace(&self.namespace, "NAMESPACE");
        serde_json::from_str(&text).unwrap()
    }

    /// Waits until the operator has not written anything for a while, and has had the time to.
    pub async fn settled(&self) {
        self.quiet(writes::A_WHILE).await;
    }

    /// Waits until the operator has not written anything for this time.
    pub async fn quiet(&self, time: Duration) {
        writes::quiet(self.plane(), time).await;
    }
}

/// Whether the operator has written it.
fn is_ours(object: &DynamicObject) -> bool {
    let fields = object.metadata.managed_fields.iter().flatten();
    fields
        .filter_map(|each| each.manager.as_deref())
        .any(|manager| manager == "outrigger-operator")
}

/// `images.json` with every image.
pub fn images() -> Value {
    json!({
        "cloudControllerManagerOperator": "registry.lab/operator:1",
        "cloudControllerManagerAWS": "registry.lab/aws:1",
        "cloudControllerManagerAzure": "registry.lab/azure:1",
        "cloudNodeManagerAzure": "registry.lab/azure-node:1",
        "cloudControllerManagerGCP": "registry.lab/gcp:1",
        "cloudControllerManagerIBM": "registry.lab/ibm:1",
        "cloudControllerManagerOpenStack": "registry.lab/openstack:1",
        "cloudControllerManagerVSphere": "registry.lab/vsphere:1",
        "cloudControllerManagerPowerVS": "registry.lab/powervs:1",
        "cloudControllerManagerNutanix": "registry.lab/nutanix:1",
    })
}

/// The cloud configuration that a cluster on this platform has.
fn source(platform: &str, cloud: &str) -> Option<String> {
    Some(match (platform, cloud) {
        ("AWS", _) => "[Global]\nZone = eu-lab-1a\n".to_owned(),
        ("Azure", "AzureStackCloud") => r#"{"cloud": "AzureStackCloud", "tenantId": "t"}"#.to_owned(),
        ("Azure", _) => r#"{"cloud": "AzurePublicCloud", "tenantId": "t"}"#.to_owned(),
        ("GCP", _) => "[global]\nproject-id = lab\n".to_owned(),
        ("OpenStack", _) => {
            "[Global]\nsecret-name = openstack-credentials\nsecret-namespace = kube-system\n".to_owned()
        }
        ("VSphere", _) => "global:\n  user: u\nvcenter:\n  vc:\n    server: vc.lab\n    datacenters: [dc]\n".to_owned(),
        ("IBMCloud" | "PowerVS", _) => "[global]\nversion = 1.1.0\n".to_owned(),
        ("Nutanix", _) => "{}".to_owned(),
        _ => return None,
    })
}

/// A certificate authority in PEM.
pub fn certificate(name: &str) -> String {
    let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let key = rcgen::KeyPair::generate().unwrap();
    params.self_signed(&key).unwrap().pem()
}

/// A port that was free a moment ago.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
