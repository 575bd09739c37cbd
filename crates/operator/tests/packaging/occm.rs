//! Our chart accepts the values of openstack-cloud-controller-manager's chart, and those in its README. They are read from its module,
//! at the version that Outrigger replaces.

use crate::tools::{documents, one, root, run, template};
use rstest::rstest;
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

/// Values that docs/helm.md adds.
const ADDED: [&str; 2] = [
    "--set=mode=manager,provider=openstack,kind=DaemonSet",
    "--set=image.repository=registry.example.com/outrigger,image.tag=1.2.3",
];

/// Their chart, with a stand-in for the library of templates that it depends on, which no registry of modules has.
pub static CHART: LazyLock<PathBuf> = LazyLock::new(|| {
    let module = "k8s.io/cloud-provider-openstack";
    let told = Command::new("go")
        .args(["mod", "download", "-json", module])
        .current_dir(root().join("bench/occm"))
        .output()
        .unwrap();
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    let source = Path::new(told["Dir"].as_str().unwrap()).join("charts/openstack-cloud-controller-manager");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("occm-chart-{}", std::process::id()));
    fs::create_dir_all(target.join("templates")).unwrap();
    for folder in ["", "templates"] {
        for entry in fs::read_dir(source.join(folder)).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_file() && entry.file_name() != "Chart.lock" {
                fs::write(
                    target.join(folder).join(entry.file_name()),
                    fs::read(entry.path()).unwrap(),
                )
                .unwrap();
            }
        }
    }
    let chart = fs::read_to_string(target.join("Chart.yaml")).unwrap();
    let (chart, _) = chart.split_once("dependencies:").expect("it has dependencies");
    fs::write(target.join("Chart.yaml"), chart).unwrap();
    let library = "{{- define \"common.labels.standard\" -}}\napp.kubernetes.io/name: {{ .Chart.Name }}\n{{- end -}}\n";
    fs::write(target.join("templates/_common.tpl"), library).unwrap();
    target
});

/// The same with our own program.
fn ours(args: &[&str]) -> Vec<Value> {
    documents(&template(&[args, &ADDED].concat()).printed())
}

fn theirs(args: &[&str]) -> Vec<Value> {
    let all = ["template", "occm", CHART.to_str().unwrap(), "--namespace=kube-system"];
    documents(&run(&lab::peer::helm().unwrap(), &[&all, args].concat(), &[]).printed())
}

#[test]
fn added_values_are_documented() {
    let docs = crate::tools::read("docs/helm.md");
    for set in [
        "mode=manager",
        "provider=openstack",
        "kind=DaemonSet",
        "image.repository=",
        "image.tag=",
    ] {
        assert!(docs.contains(&format!("--set {set}")), "{set}");
    }
}

/// Every value of their chart is one of ours, and is in the table of the documentation.
#[test]
fn every_value_is_known() {
    let values = fs::read_to_string(CHART.join("values.yaml")).unwrap();
    let schema: Value = serde_json::from_str(&crate::tools::read("charts/outrigger/values.schema.json")).unwrap();
    let docs = crate::tools::read("docs/helm.md");
    let theirs = documents(&values).remove(0);
    assert!(theirs.as_object().unwrap().len() > 20);
    for name in theirs.as_object().unwrap().keys() {
        assert!(schema["properties"].get(name).is_some(), "{name}");
        assert!(docs.contains(&format!("`{name}")), "{name} is not in docs/helm.md");
    }
}

fn pod(objects: &[Value]) -> Value {
    one(objects, "DaemonSet")["spec"]["template"]["spec"].clone()
}

fn flags(pod: &Value) -> Vec<String> {
    let args: Vec<String> = serde_json::from_value(pod["containers"][0]["args"].clone()).unwrap();
    let ours_alone = [
        "--secure-port=10258",
        "--leader-elect",
        "--use-service-account-credentials=false",
        "--bind-address=",
    ];
    let mut flags: Vec<_> = args
        .into_iter()
        .filter(|arg| arg.starts_with("--") && !ours_alone.iter().any(|own| arg.starts_with(own)))
        .map(|arg| {
            arg.replace("$(CLOUD_CONFIG)", "/etc/config/cloud.conf")
                .replace("$(CLUSTER_NAME)", "kubernetes")
                .replace("/etc/outrigger/config", "/etc/config")
        })
        .collect();
    flags.sort();
    flags
}

/// Their values.yaml, unchanged.
#[test]
fn all_of_their_values_mean_the_same() {
    let file = CHART.join("values.yaml");
    let values = format!("--values={}", file.display());
    let (ours, theirs) = (pod(&ours(&[&values])), pod(&theirs(&[&values])));
    assert_eq!(flags(&ours), flags(&theirs));
    for (label, value) in theirs["nodeSelector"].as_object().unwrap() {
        assert_eq!(&ours["nodeSelector"][label], value);
    }
    let all = |pod: &Value, field: &str| pod[field].as_array().cloned().unwrap_or_default();
    for toleration in all(&theirs, "tolerations") {
        assert!(all(&ours, "tolerations").contains(&toleration), "{toleration}");
    }
    for volume in all(&theirs, "volumes")
        .iter()
        .filter(|volume| volume.get("hostPath").is_some())
    {
        assert!(all(&ours, "volumes").contains(volume), "{volume}");
    }
    assert_eq!(
        (&ours["dnsPolicy"], &ours["hostNetwork"]),
        (&theirs["dnsPolicy"], &theirs["hostNetwork"])
    );
    assert_eq!(ours["serviceAccountName"], theirs["serviceAccountName"]);
}

/// The examples in the comments of their values, and in their README.
#[rstest]
#[case::password(json!({"cloudConfig": {"global": {"auth-url": "https://keystone.example.com", "username": "u", "password": "p#\"1"},
                                        "loadBalancer": {"floating-network-id": "0123", "create-monitor": true}}}))]
#[case::application_credential(json!({"cloudConfig": {"global": {"auth-url": "https://keystone.example.com", "application-credential-id": "a",
                                                     "application-credential-secret": "b"},
                                          "loadBalancer": {"floating-subnet-id": "0123"}, "route": {"router-id": "r"}, "metadata": {"search-order": "configDrive,metadataService"}}}))]
fn configuration_is_theirs(#[case] values: Value) {
    let file = std::env::temp_dir().join(format!(
        "outrigger-occm-{}-{}.json",
        std::process::id(),
        values.to_string().len()
    ));
    fs::write(&file, values.to_string()).unwrap();
    let argument = format!("--values={}", file.display());
    let conf = |objects: Vec<Value>| {
        let secret = one(&objects, "Secret").clone();
        let text = secret["stringData"]["cloud.conf"].as_str().map(str::to_owned);
        let encoded = secret["data"]["cloud.conf"].as_str().map(|data| {
            String::from_utf8(base64::Engine::decode(&base64::engine::general_purpose::STANDARD, data).unwrap())
                .unwrap()
        });
        let text = text.or(encoded).unwrap();
        let mut section = String::new();
        let mut lines = Vec::new();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if line.starts_with('[') {
                line.clone_into(&mut section);
            } else {
                lines.push(format!("{section} {line}"));
            }
        }
        lines.sort();
        lines
    };
    let expected = conf(theirs(&[&argument]));
    assert!(expected.len() >= 4, "{expected:?}");
    assert_eq!(conf(ours(&[&argument, "--set=cluster.name=kubernetes"])), expected);
    fs::remove_file(file).unwrap();
}

#[rstest]
#[case::external_secret(json!({"secret": {"enabled": true, "name": "cloud-config", "create": false}}), "/spec/template/spec/volumes/0/secret/secretName", json!("cloud-config"))]
#[case::workers_only(json!({"tolerations": [{"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule"}]}),
                     "/spec/template/spec/tolerations/8/value", json!("true"))]
#[case::extra_args(json!({"controllerExtraArgs": "- --cluster-name=my-cluster"}), "/spec/template/spec/containers/0/args/9", json!("--cluster-name=my-cluster"))]
#[case::resources(json!({"resources": {"requests": {"cpu": "200m"}}}), "/spec/template/spec/containers/0/resources", json!({"requests": {"cpu": "200m"}}))]
#[case::probe(json!({"livenessProbe": {"httpGet": {"path": "/metrics", "port": 10258}}}), "/spec/template/spec/containers/0/livenessProbe/httpGet/path", json!("/metrics"))]
#[case::empty_list_for_a_map(json!({"nodeSelector": []}), "/spec/template/spec/nodeSelector", json!({"kubernetes.io/os": "linux"}))]
#[case::empty_map_for_a_list(json!({"controllerExtraArgs": {}}), "/spec/template/spec/containers/0/args/0", json!("ccm"))]
fn examples_are_understood(#[case] values: Value, #[case] pointer: &str, #[case] expected: Value) {
    let file = std::env::temp_dir().join(format!(
        "outrigger-occm-example-{}-{}.json",
        std::process::id(),
        values.to_string().len()
    ));
    fs::write(&file, values.to_string()).unwrap();
    let objects = ours(&[&format!("--values={}", file.display()), "--set=cluster.name=kubernetes"]);
    let found = one(&objects, "DaemonSet");
    assert_eq!(found.pointer(pointer), Some(&expected), "{found:#}");
    fs::remove_file(file).unwrap();
}

#[test]
fn a_service_monitor_is_one_here_too() {
    let objects =
        ours(&["--set=serviceMonitor.enabled=true,serviceMonitor.additionalLabels.release=x,cluster.name=kubernetes"]);
    assert_eq!(one(&objects, "ServiceMonitor")["metadata"]["labels"]["release"], "x");
}
