//! The operator: how fast operands follow the Infrastructure, with how many writes, and what it costs when nothing happens.
//!
//! The Go operator cannot be built from the module registry, so it has no column: what was measured of it stands in
//! `docs/operator.md`.

use crate::{
    audit::Mark,
    fixture::binary,
    replica::Program,
    table::{Promise, Table},
};
use anyhow::{Context, Result, ensure};
use kube::{
    Api,
    api::{ApiResource, DynamicObject, Patch, PatchParams},
    core::GroupVersionKind,
};
use lab::{ControlPlane, Guarded};
use serde_json::{Value, json};
use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

const RELEASE: &str = "5.0.0-bench";
const OPERANDS: &str = "openshift-cloud-controller-manager";
const OPERATOR: &str = "openshift-cloud-controller-manager-operator";
const WITHIN: Duration = Duration::from_mins(1);

/// The platforms that were measured of the original, and how many objects each has.
const PLATFORMS: [(&str, u64, &str); 3] = [
    ("AWS", 5, "[Global]\nZone = lab-1a\n"),
    ("Azure", 12, r#"{"cloud": "AzurePublicCloud", "tenantId": "t"}"#),
    (
        "VSphere",
        9,
        "global: {}\nvcenter:\n  vc:\n    server: vc.lab\n    datacenters: [dc]\n",
    ),
];

struct Bench {
    plane: ControlPlane,
    user: String,
    process: Guarded,
}

/// Measures, row by row.
pub async fn measure(ours: Option<&Path>, idle: u64, table: &mut Table) -> Result<()> {
    for (platform, objects, config) in PLATFORMS {
        let bench = Bench::start(ours).await?;
        bench.install(platform, objects, config, table).await?;
        if platform == "Azure" {
            bench.idle(idle, table).await?;
        }
    }
    Ok(())
}

impl Bench {
    /// An operator in a cluster that has no platform yet.
    async fn start(ours: Option<&Path>) -> Result<Self> {
        let plane = tokio::task::spawn_blocking(ControlPlane::start).await??;
        plane.install_openshift_crds().await?;
        let folder = plane.dir().to_owned();
        let user = lab::unique("bench");
        let kubeconfig = plane.kubeconfig_for(&user, &["system:masters"]);
        fs::write(folder.join("images.json"), images().to_string())?;
        fs::write(folder.join("bundle.pem"), fs::read(plane.ca_file())?)?;
        for name in [OPERANDS, OPERATOR, "openshift-config", "openshift-config-managed"] {
            apply(&plane, &core("Namespace", "namespaces"), "", name, json!({})).await?;
        }
        create_objects(&plane).await?;
        let args = [
            "operator".to_owned(),
            format!("--kubeconfig={}", kubeconfig.display()),
            format!("--images-json={}", folder.join("images.json").display()),
            format!("--system-ca-bundle={}", folder.join("bundle.pem").display()),
            format!("--leader-elect-resource-namespace={OPERATOR}"),
            "--metrics-bind-address=0".to_owned(),
            "--health-addr=0".to_owned(),
        ];
        let program = binary(ours)?;
        let variables = [("RELEASE_VERSION", RELEASE)];
        let process = Guarded::spawn_with_env(&folder, &user, &program, &args, &variables)?;
        let bench = Self { plane, user, process };
        bench
            .until("the operator is available", async || {
                Ok(bench.condition("Available").await? == "True")
            })
            .await?;
        Ok(bench)
    }

    async fn install(&self, platform: &str, objects: u64, config: &str, table: &mut Table) -> Result<()> {
        let map = json!({"data": {"cloud.conf": config}});
        apply(
            &self.plane,
            &core("ConfigMap", "configmaps"),
            "openshift-config",
            "cloud-provider-config",
            map,
        )
        .await?;
        let spec = json!({"spec": {"cloudConfig": {"name": "cloud-provider-config", "key": ""}, "platformSpec": {"type": platform}}});
        apply(
            &self.plane,
            &config_kind("Infrastructure", "infrastructures"),
            "",
            "cluster",
            spec,
        )
        .await?;
        // It reports that the Infrastructure has no platform yet.
        self.until("a word on the platform", async || {
            Ok(self.condition("CloudConfigControllerDegraded").await? == "True")
        })
        .await?;
        let mark = Mark::now(&self.plane.audit_log())?;
        let started = Instant::now();
        set_status(
            &self.plane,
            "Infrastructure",
            "infrastructures",
            infrastructure(platform),
        )
        .await?;
        // Those that run Pods come last, together.
        let manager = format!("{}-cloud-controller-manager", platform.to_lowercase());
        self.until("the last operand", async || {
            Ok(self.is_there("Deployment", &manager).await?
                && (platform != "Azure" || self.is_there("DaemonSet", "azure-cloud-node-manager").await?))
        })
        .await?;
        let took = started.elapsed();
        self.until("a quiet operator", async || {
            Ok(self.condition("Progressing").await? == "True")
        })
        .await?;
        tokio::time::sleep(Duration::from_secs(2)).await;
        let counts = mark.since(&self.user)?;
        let of = |what: &dyn Fn(&str) -> bool| -> u64 {
            counts
                .iter()
                .filter(|(name, _)| what(name))
                .map(|(_, count)| *count)
                .sum()
        };
        let is_write = |name: &str| !matches!(name.split(' ').next(), Some("get" | "list" | "watch"));
        let is_noise = |name: &str| name.ends_with(" leases") || name.ends_with(" events");
        let status = of(&|name| name == "update clusteroperators/status");
        let writes = of(&|name| is_write(name) && !is_noise(name)) - status;
        let conflicts = mark.conflicts(&self.user)?;
        let row = |what: &str| format!("{platform}: {what}");
        table.put(
            &row("Infrastructure written to last operand applied"),
            Program::Ours,
            format!("{:.2} s", took.as_secs_f64()),
        );
        for (what, count, promise) in [
            (
                format!("writes, {objects} operands and cloud-conf"),
                writes,
                Promise::exactly(writes, objects + 1).in_words("one an object"),
            ),
            (
                "writes of the ClusterOperator's status".to_owned(),
                status,
                Promise::at_most(status, 2),
            ),
            ("conflicts".to_owned(), conflicts, Promise::exactly(conflicts, 0)),
        ] {
            table.put_promised(&row(&what), Program::Ours, count, promise);
        }
        Ok(())
    }

    /// Nothing happens, and then a thousand `ConfigMaps` of others.
    async fn idle(&self, seconds: u64, table: &mut Table) -> Result<()> {
        let mark = Mark::now(&self.plane.audit_log())?;
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        let requests = self.requests(&mark)?;
        table.put_promised(
            "idle: requests apart from leases and events",
            Program::Ours,
            requests,
            Promise::exactly(requests, 0),
        );
        table.put(
            "idle: resident memory",
            Program::Ours,
            crate::replica::resident(&self.process)?,
        );
        let mark = Mark::now(&self.plane.audit_log())?;
        for number in 0..1000 {
            let name = format!("unrelated-{number}");
            apply(
                &self.plane,
                &core("ConfigMap", "configmaps"),
                OPERANDS,
                &name,
                json!({"data": {"a": "b"}}),
            )
            .await?;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        let requests = self.requests(&mark)?;
        table.put_promised(
            "1,000 unrelated ConfigMaps: requests",
            Program::Ours,
            requests,
            Promise::exactly(requests, 0),
        );
        Ok(())
    }

    fn requests(&self, mark: &Mark) -> Result<u64> {
        let counts = mark.since(&self.user)?.into_iter();
        let work = counts.filter(|(name, _)| !name.ends_with(" leases") && !name.ends_with(" events"));
        // A watch that ends is begun again, every few minutes.
        Ok(work
            .filter(|(name, _)| !name.starts_with("watch "))
            .map(|(_, count)| count)
            .sum())
    }

    async fn is_there(&self, kind: &str, name: &str) -> Result<bool> {
        let workloads = resource("apps", "v1", kind, &format!("{}s", kind.to_lowercase()));
        let api: Api<DynamicObject> = Api::namespaced_with(self.plane.client(), OPERANDS, &workloads);
        Ok(api.get_opt(name).await?.is_some())
    }

    async fn condition(&self, type_: &str) -> Result<String> {
        let api: Api<DynamicObject> =
            Api::all_with(self.plane.client(), &config_kind("ClusterOperator", "clusteroperators"));
        let Some(operator) = api.get_opt("cloud-controller-manager").await? else {
            return Ok(String::new());
        };
        let conditions = operator.data["status"]["conditions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let found = conditions.into_iter().find(|condition| condition["type"] == type_);
        Ok(found
            .and_then(|condition| condition["status"].as_str().map(str::to_owned))
            .unwrap_or_default())
    }

    async fn until(&self, what: &str, mut look: impl AsyncFnMut() -> Result<bool>) -> Result<()> {
        let started = Instant::now();
        while !look().await? {
            ensure!(
                self.process.is_running(),
                "the operator ended:\n{}",
                self.process.log_tail(10)
            );
            ensure!(
                started.elapsed() < WITHIN,
                "not in time: {what}\n{}",
                self.process.log_tail(10)
            );
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        Ok(())
    }
}

async fn create_objects(plane: &ControlPlane) -> Result<()> {
    for (kind, plural, spec) in [
        ("FeatureGate", "featuregates", json!({})),
        ("Proxy", "proxies", json!({"trustedCA": {"name": ""}})),
        ("APIServer", "apiservers", json!({})),
        (
            "Network",
            "networks",
            json!({"serviceNetwork": ["172.30.0.0/16"], "clusterNetwork": [], "networkType": "OVNKubernetes"}),
        ),
    ] {
        apply(plane, &config_kind(kind, plural), "", "cluster", json!({"spec": spec})).await?;
    }
    let gates = json!({"featureGates": [{"version": RELEASE, "enabled": [], "disabled": []}]});
    set_status(plane, "FeatureGate", "featuregates", gates).await
}

fn infrastructure(platform: &str) -> Value {
    let mut status = json!({
        "infrastructureName": "bench", "controlPlaneTopology": "HighlyAvailable", "infrastructureTopology": "HighlyAvailable",
        "apiServerURL": "https://api.lab:6443", "apiServerInternalURI": "https://api-int.lab:6443", "etcdDiscoveryDomain": "",
        "platform": platform, "platformStatus": {"type": platform}, "cpuPartitioning": "None",
    });
    if platform == "Azure" {
        status["platformStatus"]["azure"] = json!({"cloudName": "AzurePublicCloud", "resourceGroupName": "lab"});
    }
    status
}

fn images() -> Value {
    let names = ["Operator", "AWS", "Azure", "VSphere"];
    let mut images: Value = names
        .map(|name| (format!("cloudControllerManager{name}"), json!("registry.lab/image:1")))
        .into_iter()
        .collect::<serde_json::Map<_, _>>()
        .into();
    images["cloudNodeManagerAzure"] = json!("registry.lab/image:1");
    images
}

fn resource(group: &str, version: &str, kind: &str, plural: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
}

fn core(kind: &str, plural: &str) -> ApiResource {
    resource("", "v1", kind, plural)
}

fn config_kind(kind: &str, plural: &str) -> ApiResource {
    resource("config.openshift.io", "v1", kind, plural)
}

async fn apply(plane: &ControlPlane, kind: &ApiResource, namespace: &str, name: &str, mut object: Value) -> Result<()> {
    object["apiVersion"] = json!(kind.api_version);
    object["kind"] = json!(kind.kind);
    object["metadata"] = json!({"name": name});
    let api: Api<DynamicObject> = match namespace {
        "" => Api::all_with(plane.client(), kind),
        namespace => Api::namespaced_with(plane.client(), namespace, kind),
    };
    let applied = api
        .patch(name, &PatchParams::apply("bench").force(), &Patch::Apply(&object))
        .await;
    applied
        .map(drop)
        .with_context(|| format!("cannot apply {} {name}", kind.kind))
}

async fn set_status(plane: &ControlPlane, kind: &str, plural: &str, status: Value) -> Result<()> {
    let api: Api<DynamicObject> = Api::all_with(plane.client(), &config_kind(kind, plural));
    let patch = json!({ "status": status });
    let patched = api
        .patch_status("cluster", &PatchParams::default(), &Patch::Merge(&patch))
        .await;
    patched
        .map(drop)
        .with_context(|| format!("cannot set the status of {kind}"))
}
