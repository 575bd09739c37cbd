//! Properties of every platform.

use super::*;
use rstest::rstest;
use serde_json::json;

/// Every platform, with its rendered objects.
fn everywhere(check: impl Fn(&str, &str, &[Object])) {
    for topology in [Topology::Single, Topology::HighlyAvailable] {
        for (platform, deployment) in PLATFORMS {
            let mut setting = setting(platform, topology);
            setting.proxy.https_proxy = "http://proxy.test:3128".to_owned();
            check(platform, deployment, &resources(&setting).unwrap());
        }
    }
}

fn workloads(objects: &[Object]) -> Vec<&Value> {
    [of_kind(objects, "Deployment"), of_kind(objects, "DaemonSet")].concat()
}

fn containers<'a>(workload: &'a Value, key: &str) -> Vec<&'a Value> {
    let spec = at(workload, "/spec/template/spec");
    spec[key].as_array().into_iter().flatten().collect()
}

fn tolerations(workload: &Value) -> Vec<String> {
    let tolerations = at(workload, "/spec/template/spec/tolerations").as_array().unwrap();
    let text = |toleration: &Value, key: &str| toleration[key].as_str().unwrap_or("*").to_owned();
    tolerations
        .iter()
        .map(|toleration| {
            assert_eq!(toleration["operator"], "Exists");
            let seconds = toleration["tolerationSeconds"]
                .as_u64()
                .map(|seconds| format!(" {seconds}s"));
            format!(
                "{}:{}{}",
                text(toleration, "key"),
                text(toleration, "effect"),
                seconds.unwrap_or_default()
            )
        })
        .collect()
}

#[test]
fn tolerates() {
    let (master, uninitialized) = (
        "node-role.kubernetes.io/master",
        "node.cloudprovider.kubernetes.io/uninitialized",
    );
    let (unreachable, not_ready) = ("node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready");
    let five = [
        format!("{master}:NoSchedule"),
        format!("{unreachable}:NoExecute 120s"),
        format!("{not_ready}:NoExecute 120s"),
        format!("{uninitialized}:NoSchedule"),
        format!("{not_ready}:NoSchedule"),
    ];
    let four = [
        "CriticalAddonsOnly:*".to_owned(),
        format!("{master}:NoSchedule"),
        format!("{uninitialized}:NoSchedule"),
        format!("{not_ready}:NoSchedule"),
    ];
    let nodes = [
        "*:NoSchedule".to_owned(),
        "node-role.kubernetes.io/infra:NoExecute".to_owned(),
        format!("{unreachable}:NoExecute 120s"),
        format!("{not_ready}:NoExecute 120s"),
    ];
    everywhere(|platform, _, objects| {
        let expected: &[String] = if platform == "OpenStack" { &four } else { &five };
        assert_eq!(tolerations(of_kind(objects, "Deployment")[0]), expected, "{platform}");
        for daemon_set in of_kind(objects, "DaemonSet") {
            assert_eq!(tolerations(daemon_set), nodes, "{platform}");
        }
    });
}

#[test]
fn workloads_run_where_they_must() {
    everywhere(|platform, _, objects| {
        for workload in workloads(objects) {
            let spec = at(workload, "/spec/template/spec");
            assert_eq!(spec["hostNetwork"], true, "{platform}");
            assert_eq!(spec.get("dnsPolicy"), None, "{platform}");
            let placed = ["serviceAccountName", "priorityClassName", "nodeSelector"].map(|key| spec[key].clone());
            let expected = match workload["kind"].as_str().unwrap() {
                "Deployment" => [
                    json!("cloud-controller-manager"),
                    json!("system-cluster-critical"),
                    json!({"node-role.kubernetes.io/master": ""}),
                ],
                _ => [
                    json!("cloud-node-manager"),
                    json!("system-node-critical"),
                    json!({"kubernetes.io/os": "linux"}),
                ],
            };
            assert_eq!(placed, expected, "{platform}");
        }
    });
}

#[test]
fn labels_select() {
    everywhere(|platform, name, objects| {
        let deployment = of_kind(objects, "Deployment")[0];
        let type_ = status(platform).type_;
        let labels = json!({
            "k8s-app": name,
            "infrastructure.openshift.io/cloud-controller-manager": type_,
        });
        assert_eq!(at(deployment, "/metadata/name"), name);
        for pointer in [
            "/metadata/labels",
            "/spec/selector/matchLabels",
            "/spec/template/metadata/labels",
        ] {
            assert_eq!(at(deployment, pointer), &labels, "{platform} {pointer}");
        }
        let required = at(deployment, "/spec/template/spec/affinity/podAntiAffinity");
        let expected = json!({"requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": labels}}
        ]});
        assert_eq!(required, &expected, "{platform}");

        let selector = json!({"infrastructure.openshift.io/cloud-controller-manager": type_});
        assert_eq!(
            at(of_kind(objects, "Service")[0], "/spec/selector"),
            &selector,
            "{platform}"
        );
        for budget in of_kind(objects, "PodDisruptionBudget") {
            let spec = json!({
                "minAvailable": 1,
                "unhealthyPodEvictionPolicy": "AlwaysAllow",
                "selector": {"matchLabels": selector},
            });
            assert_eq!(budget["spec"], spec, "{platform}");
        }
        for daemon_set in of_kind(objects, "DaemonSet") {
            let selector = json!({
                "k8s-app": "azure-cloud-node-manager",
                "infrastructure.openshift.io/cloud-node-manager": "Azure",
            });
            for pointer in ["/spec/selector/matchLabels", "/spec/template/metadata/labels"] {
                assert_eq!(at(daemon_set, pointer), &selector, "{platform} {pointer}");
            }
            let labels = at(daemon_set, "/metadata/labels");
            assert_eq!(labels["component"], "azure-cloud-node-manager");
            assert_eq!(labels["kubernetes.io/cluster-service"], "true");
        }
    });
}

#[test]
fn service_names_the_port() {
    everywhere(|platform, _, objects| {
        let service = of_kind(objects, "Service")[0];
        let name = format!("{}-cloud-controller-manager", status(platform).type_.to_lowercase());
        assert_eq!(at(service, "/metadata/name"), name.as_str());
        assert_eq!(at(service, "/metadata/labels"), &json!({"k8s-app": name}));
        assert_eq!(at(service, "/spec/type"), "ClusterIP");
        let port = json!({"name": "https", "port": 10258, "protocol": "TCP", "targetPort": "https"});
        assert_eq!(at(service, "/spec/ports"), &json!([port]));
    });
}

#[rstest]
#[case(Topology::Single, 1)]
#[case(Topology::HighlyAvailable, 2)]
fn replicas(#[case] topology: Topology, #[case] expected: u8) {
    for (platform, _) in PLATFORMS {
        let deployment = deployment(&setting(platform, topology));
        assert_eq!(at(&deployment, "/spec/replicas"), expected, "{platform}");
        assert_eq!(
            at(&deployment, "/spec/strategy"),
            &json!({"type": "Recreate"}),
            "{platform}"
        );
    }
}

#[test]
fn opens_its_own_port_only() {
    everywhere(|platform, _, objects| {
        for workload in workloads(objects) {
            let expected = match workload["kind"].as_str().unwrap() {
                "Deployment" => 10258,
                _ => 10263,
            };
            for container in containers(workload, "containers") {
                let ports = json!([{"name": "https", "containerPort": expected, "protocol": "TCP"}]);
                assert_eq!(container["ports"], ports, "{platform}");
            }
            for container in containers(workload, "initContainers") {
                assert_eq!(container.get("ports"), None, "{platform}");
            }
        }
    });
}

#[test]
fn every_command_is_a_script() {
    everywhere(|platform, _, objects| {
        for workload in workloads(objects) {
            for container in containers(workload, "containers") {
                let command = container["command"].as_array().unwrap();
                assert_eq!(command.len(), 3, "{platform}");
                assert_eq!(
                    (&command[0], &command[1]),
                    (&json!("/bin/bash"), &json!("-c")),
                    "{platform}"
                );
                let script = command[2].as_str().unwrap();
                assert!(script.starts_with(manifest::script::PREFIX), "{platform}: {script}");
                assert!(!script.contains("${"), "{platform}: {script}");
                assert_eq!(container.get("args"), None, "{platform}");
                assert_eq!(container.get("run"), None, "{platform}");
            }
        }
    });
}

#[test]
fn containers_report_their_end_and_have_no_limits() {
    everywhere(|platform, _, objects| {
        for workload in workloads(objects) {
            for container in [
                containers(workload, "initContainers"),
                containers(workload, "containers"),
            ]
            .concat()
            {
                assert_eq!(
                    container["terminationMessagePolicy"], "FallbackToLogsOnError",
                    "{platform}"
                );
                assert_eq!(container["imagePullPolicy"], "IfNotPresent", "{platform}");
                assert_eq!(container["resources"].get("limits"), None, "{platform}");
            }
            for container in containers(workload, "containers") {
                let requests = container["resources"]["requests"].as_object().unwrap();
                assert_eq!(requests.keys().collect::<Vec<_>>(), ["cpu", "memory"], "{platform}");
            }
        }
    });
}

/// The name of a container selects its image.
#[test]
fn names_select_images() {
    everywhere(|platform, _, objects| {
        let type_ = status(platform).type_.replace("IBMCloud", "IBM");
        for workload in workloads(objects) {
            for container in [
                containers(workload, "initContainers"),
                containers(workload, "containers"),
            ]
            .concat()
            {
                let key = match container["name"].as_str().unwrap() {
                    "cloud-controller-manager" => format!("cloudControllerManager{type_}"),
                    "cloud-node-manager" => format!("cloudNodeManager{type_}"),
                    "azure-inject-credentials" => "cloudControllerManagerOperator".to_owned(),
                    name => panic!("{platform}: {name}"),
                };
                assert_eq!(container["image"], format!("example.test/{key}:1"), "{platform}");
            }
        }
    });
}

#[test]
fn flags_that_all_managers_get() {
    let tls = tls::Settings::default();
    let flags = [
        "--use-service-account-credentials=true".to_owned(),
        "--configure-cloud-routes=false".to_owned(),
        "--leader-elect=true".to_owned(),
        "--leader-elect-lease-duration=137s".to_owned(),
        "--leader-elect-renew-deadline=107s".to_owned(),
        "--leader-elect-retry-period=26s".to_owned(),
        format!("--leader-elect-resource-namespace={NAMESPACE}"),
        "--tls-min-version=VersionTLS12".to_owned(),
        format!("--tls-cipher-suites={}", tls.cipher_suites.join(",")),
    ];
    everywhere(|platform, _, objects| {
        let script = at(
            of_kind(objects, "Deployment")[0],
            "/spec/template/spec/containers/0/command/2",
        );
        let script = script.as_str().unwrap();
        for flag in &flags {
            assert!(
                script.contains(&format!("\n{flag} \\\n")),
                "{platform}: no {flag} in {script}"
            );
        }
        let closed = script.contains("\n--secure-port=0 \\\n");
        assert_eq!(closed, !matches!(platform, "IBMCloud" | "PowerVS"), "{platform}");
    });
}

#[test]
fn no_ciphers_can_be_chosen_for_the_newest_tls() {
    for (platform, _) in PLATFORMS {
        let mut setting = setting(platform, Topology::HighlyAvailable);
        setting.tls.min_version = "VersionTLS13".to_owned();
        setting.tls.cipher_suites.clear();
        let script = at(&deployment(&setting), "/spec/template/spec/containers/0/command/2").to_string();
        assert!(script.contains("--tls-min-version=VersionTLS13"), "{platform}");
        assert!(!script.contains("--tls-cipher-suites"), "{platform}");
    }
}

#[test]
fn mounts_the_host_and_what_it_trusts() {
    everywhere(|platform, _, objects| {
        for workload in workloads(objects) {
            let volumes = at(workload, "/spec/template/spec/volumes").as_array().unwrap();
            let trusted = json!({"name": "trusted-ca", "configMap": {
                "name": "ccm-trusted-ca",
                "items": [{"key": "ca-bundle.crt", "path": "tls-ca-bundle.pem"}],
            }});
            // A Pod on every machine mounts nothing of the machine except the address of the API server.
            let (host, path, type_) = match workload["kind"].as_str() {
                Some("DaemonSet") => ("apiserver-url", "/etc/kubernetes/apiserver-url.env", "FileOrCreate"),
                _ => ("host-etc-kube", "/etc/kubernetes", "Directory"),
            };
            let of_host = volumes.iter().filter(|volume| volume.get("hostPath").is_some());
            assert_eq!(of_host.count(), 1, "{platform}: {volumes:#?}");
            let mounted = json!({"name": host, "mountPath": path, "readOnly": true});
            let host = json!({"name": host, "hostPath": {"path": path, "type": type_}});
            assert!(volumes.contains(&trusted) && volumes.contains(&host), "{platform}");

            let mounts = containers(workload, "containers")[0]["volumeMounts"]
                .as_array()
                .unwrap();
            let trusted =
                json!({"name": "trusted-ca", "mountPath": "/etc/pki/ca-trust/extracted/pem", "readOnly": true});
            assert!(
                mounts.contains(&trusted) && mounts.contains(&mounted),
                "{platform}: {mounts:#?}"
            );
        }
    });
}

/// The API server rejects a mount without a volume; a volume without a mount is a mistake, with one exception.
#[test]
fn mounts_are_volumes() {
    everywhere(|platform, _, objects| {
        for workload in workloads(objects) {
            let all = [
                containers(workload, "initContainers"),
                containers(workload, "containers"),
            ]
            .concat();
            let mounted = all
                .iter()
                .flat_map(|container| container["volumeMounts"].as_array().unwrap());
            let mounted: std::collections::BTreeSet<_> = mounted
                .map(|mount| mount["name"].as_str().unwrap())
                .chain((platform == "VSphere").then_some("secret-vccm"))
                .collect();
            let volumes = at(workload, "/spec/template/spec/volumes").as_array().unwrap();
            let volumes: std::collections::BTreeSet<_> =
                volumes.iter().map(|volume| volume["name"].as_str().unwrap()).collect();
            assert_eq!(mounted, volumes, "{platform}");
        }
    });
}

#[test]
fn annotates_pods() {
    everywhere(|platform, _, objects| {
        for workload in workloads(objects) {
            let annotations = at(workload, "/spec/template/metadata/annotations");
            let management = &annotations["target.workload.openshift.io/management"];
            assert_eq!(management, r#"{"effect": "PreferredDuringScheduling"}"#, "{platform}");
            assert_eq!(
                annotations[config_hash::ANNOTATION].as_str().unwrap().len(),
                64,
                "{platform}"
            );
            let autoscaler = annotations.get("cluster-autoscaler.kubernetes.io/daemonset-pod");
            let expected = (workload["kind"] == "DaemonSet").then(|| json!("true"));
            assert_eq!(autoscaler, expected.as_ref(), "{platform}");
        }
    });
}

#[test]
fn proxy_is_for_containers_that_stay() {
    everywhere(|platform, _, objects| {
        for workload in workloads(objects) {
            for container in containers(workload, "containers") {
                let last = container["env"].as_array().unwrap().last().unwrap();
                assert_eq!(
                    last,
                    &json!({"name": "HTTPS_PROXY", "value": "http://proxy.test:3128"}),
                    "{platform}"
                );
            }
            for container in containers(workload, "initContainers") {
                assert_eq!(container.get("env"), None, "{platform}");
            }
        }
    });
}

/// Each object that a platform's Pods read rolls them when it is created and when it changes.
#[rstest]
#[case::aws("AWS", "cloud-conf ccm-trusted-ca", "")]
#[case::azure("Azure", "cloud-conf ccm-trusted-ca", "azure-cloud-credentials")]
#[case::gcp("GCP", "cloud-conf ccm-trusted-ca", "gcp-ccm-cloud-credentials")]
#[case::ibm("IBMCloud", "cloud-conf ccm-trusted-ca", "ibm-cloud-credentials")]
#[case::openstack("OpenStack", "cloud-conf ccm-trusted-ca", "openstack-cloud-credentials")]
#[case::vsphere("VSphere", "cloud-conf ccm-trusted-ca", "vsphere-cloud-credentials")]
#[case::w16_nutanix("Nutanix", "cloud-conf ccm-trusted-ca", "nutanix-credentials")]
fn objects_that_pods_read_roll_them(#[case] platform: &str, #[case] config_maps: &str, #[case] secrets: &str) {
    let mut setting = setting(platform, Topology::HighlyAvailable);
    let hash = |setting: &Setting| {
        let deployment = deployment(setting);
        at(&deployment, "/spec/template/metadata/annotations")[config_hash::ANNOTATION].clone()
    };
    let mut seen = vec![hash(&setting)];
    for (name, value) in config_maps
        .split_whitespace()
        .flat_map(|name| [(name, "1"), (name, "2")])
    {
        let data = [("key".to_owned(), value.to_owned())].into();
        let content = ConfigMapContent {
            data,
            ..ConfigMapContent::default()
        };
        setting.sources.config_maps.insert(name.to_owned(), content);
        seen.push(hash(&setting));
    }
    for (name, value) in secrets.split_whitespace().flat_map(|name| [(name, "1"), (name, "2")]) {
        let data = [("key".to_owned(), k8s_openapi::ByteString(value.into()))].into();
        setting.sources.secrets.insert(name.to_owned(), data);
        seen.push(hash(&setting));
    }
    setting
        .sources
        .secrets
        .insert("of-another-program".to_owned(), SecretContent::default());
    assert_eq!(seen.last(), Some(&hash(&setting)));
    let all = seen.len();
    seen.sort_by_key(Value::to_string);
    seen.dedup();
    assert_eq!(seen.len(), all);
}

/// A platform with a cloud configuration has Pods that read it, and no other platform has: no program would write it.
#[test]
fn readers_of_a_cloud_configuration_have_one() {
    for platform in ALL {
        let files = platform.manifests.concat();
        let reads = files.contains("name: cloud-conf\n");
        assert_eq!(
            reads,
            platform.cloud_config != CloudConfig::None,
            "{}: {:?}",
            platform.type_,
            platform.cloud_config
        );
    }
}

/// W24: a node manager that uses the machine's metadata service needs no Secret, so it gets none.
#[test]
fn w24_no_secret_of_the_cloud_on_every_machine() {
    let objects = resources(&setting("Azure", Topology::HighlyAvailable)).unwrap();
    let daemon_set = of_kind(&objects, "DaemonSet")[0];
    let text = daemon_set.to_string();
    for part in ["--cloud-config", "--use-instance-metadata=false"] {
        assert!(!text.contains(part), "{part}: it would need credentials");
    }
    assert_eq!(at(daemon_set, "/spec/template/spec").get("initContainers"), None);
    for volume in at(daemon_set, "/spec/template/spec/volumes").as_array().unwrap() {
        assert_eq!(volume.get("secret"), None, "{volume}");
        assert_eq!(volume.get("projected"), None, "{volume}");
    }
}

/// Azure Stack Hub has no such service: the node manager sends requests to the hub, and only the init container reads the
/// Secret itself.
#[test]
fn w24_a_hub_needs_credentials() {
    let objects = resources(&setting("AzureStackHub", Topology::HighlyAvailable)).unwrap();
    let daemon_set = of_kind(&objects, "DaemonSet")[0];
    assert!(daemon_set.to_string().contains("--use-instance-metadata=false"));
    let sees = |kind: &str| {
        let mounts = containers(daemon_set, kind)[0]["volumeMounts"].as_array().unwrap();
        mounts.iter().any(|mount| mount["name"] == "cloud-sa-volume")
    };
    assert!(!sees("containers") && sees("initContainers"));
}
