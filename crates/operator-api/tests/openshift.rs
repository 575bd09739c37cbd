//! The API server checks our types against the real definitions of `OpenShift`: whatever we model is known there, by that name and
//! type. Every field is given, so that a field we add is checked too.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use k8s_openapi::{
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time},
    jiff::Timestamp,
};
use kube::{
    Api, Client, Resource,
    api::{Patch, PatchParams},
};
use lab::{
    ControlPlane,
    openshift::{self, Variant},
};
use operator_api::{
    ApiServer, ClusterOperator, ClusterVersion, FeatureGate, Infrastructure, Network, Proxy, api_server,
    cluster_operator, cluster_version, feature_gate, infrastructure,
    infrastructure::{ServiceEndpoint, platform_spec, platform_status},
    network, proxy,
};
use rstest::rstest;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use std::fmt::Debug;

#[rstest]
#[case::of_production_clusters(Variant::Default)]
#[case::with_every_gate(Variant::CustomNoUpgrade)]
#[tokio::test]
async fn the_real_definitions_know_all_we_model(#[case] variant: Variant) {
    let plane = ControlPlane::start().unwrap();
    plane.install_crds(&openshift::crds(variant).unwrap()).await.unwrap();
    let client = plane.client();

    let object = infrastructure();
    let read = written(&client, &object, Status::Apart, |_| {}).await;
    assert_eq!((&read.spec, &read.status), (&object.spec, &object.status));

    let object = proxy();
    let read = written(&client, &object, Status::Apart, |_| {}).await;
    assert_eq!((&read.spec, &read.status), (&object.spec, &object.status));

    let object = network();
    let read = written(&client, &object, Status::Inside, |_| {}).await;
    assert_eq!((&read.spec, &read.status), (&object.spec, &object.status));

    let object = feature_gate();
    let read = written(&client, &object, Status::Apart, |_| {}).await;
    assert_eq!((&read.spec, &read.status), (&object.spec, &object.status));

    let object = api_server(variant);
    let read = written(&client, &object, Status::Apart, |_| {}).await;
    assert_eq!((&read.spec, &read.status), (&object.spec, &object.status));

    let object = cluster_version();
    let read = written(&client, &object, Status::Apart, complete_cluster_version).await;
    assert_eq!((&read.spec, &read.status), (&object.spec, &object.status));

    let object = cluster_operator();
    let read = written(&client, &object, Status::Apart, |_| {}).await;
    assert_eq!((&read.spec, &read.status), (&object.spec, &object.status));
}

/// Where a kind's status is written.
#[derive(PartialEq)]
enum Status {
    Apart,
    Inside,
}

/// What the API server has after this was written with nothing unknown allowed. `complete` adds what the server asks for and we do not model.
async fn written<K>(client: &Client, object: &K, status: Status, complete: fn(&mut Value)) -> K
where
    K: Resource<DynamicType = ()> + Serialize + DeserializeOwned + Clone + Debug,
{
    let api = Api::<K>::all(client.clone());
    let (kind, name) = (K::kind(&()), object.meta().name.clone().unwrap());
    let mut given = serde_json::to_value(object).unwrap();
    complete(&mut given);
    let params = PatchParams::apply("test").validation_strict();
    api.patch(&name, &params, &Patch::Apply(&given))
        .await
        .unwrap_or_else(|error| panic!("{kind}: {error}"));
    if status == Status::Apart {
        given.as_object_mut().unwrap().remove("spec");
        given.as_object_mut().unwrap().remove("metadata");
        api.patch_status(&name, &params, &Patch::Apply(&given))
            .await
            .unwrap_or_else(|error| panic!("the status of {kind}: {error}"));
    }
    api.get(&name).await.unwrap()
}

fn named(name: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        ..ObjectMeta::default()
    }
}

fn texts<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.map(str::to_owned).to_vec()
}

fn infrastructure() -> Infrastructure {
    Infrastructure {
        metadata: named("cluster"),
        spec: infrastructure::Spec {
            cloud_config: infrastructure::CloudConfig {
                name: "cloud-provider-config".to_owned(),
                key: "config".to_owned(),
            },
            platform_spec: platform_spec::PlatformSpec {
                type_: "VSphere".to_owned(),
                vsphere: Some(vsphere()),
            },
        },
        status: infrastructure::Status {
            infrastructure_name: "ocp-x7k2p".to_owned(),
            control_plane_topology: "SingleReplica".to_owned(),
            platform_status: Some(platform_status()),
        },
        ..Infrastructure::default()
    }
}

fn vsphere() -> platform_spec::VSphere {
    let network = |name: &str| platform_spec::NodeNetwork {
        network: name.to_owned(),
        network_subnet_cidr: texts(["10.0.0.0/16"]),
        exclude_network_subnet_cidr: texts(["10.0.1.0/24"]),
    };
    platform_spec::VSphere {
        vcenters: vec![platform_spec::VCenter {
            server: "vc.example.com".to_owned(),
            port: Some(8443),
            datacenters: texts(["dc"]),
        }],
        failure_domains: vec![platform_spec::FailureDomain {
            name: "one".to_owned(),
            region: "eu".to_owned(),
            zone: "a".to_owned(),
            server: "vc.example.com".to_owned(),
            topology: platform_spec::Topology {
                datacenter: "dc".to_owned(),
                compute_cluster: "/dc/host/cluster".to_owned(),
                datastore: "/dc/datastore/disks".to_owned(),
                networks: texts(["machines"]),
            },
        }],
        node_networking: platform_spec::NodeNetworking {
            external: network("outside"),
            internal: network("inside"),
        },
        api_server_internal_ips: texts(["10.0.0.2"]),
        ingress_ips: texts(["10.0.0.3"]),
    }
}

fn platform_status() -> platform_status::PlatformStatus {
    let ips = || platform_status::VirtualIps {
        api_server_internal_ips: texts(["10.0.0.2", "fd00::2"]),
        ingress_ips: texts(["10.0.0.3", "fd00::3"]),
    };
    let endpoint = |name: &str| {
        vec![ServiceEndpoint {
            name: name.to_owned(),
            url: "https://iam.example.com".to_owned(),
        }]
    };
    platform_status::PlatformStatus {
        type_: "VSphere".to_owned(),
        aws: Some(platform_status::Aws {
            region: "eu-central-1".to_owned(),
            service_endpoints: endpoint("ec2"),
        }),
        azure: Some(platform_status::Azure {
            cloud_name: "AzureStackCloud".to_owned(),
            resource_group_name: "machines".to_owned(),
            network_resource_group_name: "network".to_owned(),
            arm_endpoint: "https://management.local.azurestack.external".to_owned(),
        }),
        external: Some(platform_status::External {
            cloud_controller_manager: platform_status::ExternalManager {
                state: "External".to_owned(),
            },
        }),
        gcp: Some(platform_status::Gcp {
            project_id: "project".to_owned(),
            region: "europe-west3".to_owned(),
        }),
        ibmcloud: Some(platform_status::IbmCloud {
            location: "eu-de".to_owned(),
            resource_group_name: "machines".to_owned(),
            provider_type: "VPC".to_owned(),
            service_endpoints: endpoint("IAM"),
        }),
        nutanix: Some(ips()),
        openstack: Some(platform_status::OpenStack {
            cloud_name: "openstack".to_owned(),
            api_server_internal_ips: texts(["10.0.0.2"]),
            ingress_ips: texts(["10.0.0.3"]),
        }),
        powervs: Some(platform_status::PowerVs {
            region: "dal".to_owned(),
            zone: "dal10".to_owned(),
            resource_group: "machines".to_owned(),
            service_endpoints: endpoint("IAM"),
        }),
        vsphere: Some(ips()),
    }
}

fn proxy() -> Proxy {
    Proxy {
        metadata: named("cluster"),
        spec: proxy::Spec {
            trusted_ca: proxy::ConfigMapName {
                name: "user-ca-bundle".to_owned(),
            },
        },
        status: proxy::Status {
            http_proxy: "http://proxy:3128".to_owned(),
            https_proxy: "http://proxy:3129".to_owned(),
            no_proxy: ".svc,10.0.0.0/16".to_owned(),
        },
        ..Proxy::default()
    }
}

fn network() -> Network {
    let ranges = || network::Ranges {
        service_network: texts(["172.30.0.0/16", "fd02::/112"]),
    };
    Network {
        metadata: named("cluster"),
        spec: ranges(),
        status: ranges(),
        ..Network::default()
    }
}

fn feature_gate() -> FeatureGate {
    let gate = |name: &str| vec![feature_gate::Gate { name: name.to_owned() }];
    FeatureGate {
        metadata: named("cluster"),
        spec: feature_gate::Spec {
            feature_set: "TechPreviewNoUpgrade".to_owned(),
        },
        status: feature_gate::Status {
            feature_gates: vec![feature_gate::Details {
                version: "4.21.3".to_owned(),
                enabled: gate("CloudControllerManagerWebhook"),
                disabled: gate("VSphereMixedNodeEnv"),
            }],
        },
        ..FeatureGate::default()
    }
}

/// Production clusters do not have `tlsAdherence` yet.
fn api_server(variant: Variant) -> ApiServer {
    let adherence = match variant {
        Variant::Default => "",
        _ => "StrictAllComponents",
    };
    ApiServer {
        metadata: named("cluster"),
        spec: api_server::Spec {
            tls_security_profile: Some(api_server::TlsSecurityProfile {
                type_: "Custom".to_owned(),
                custom: Some(api_server::CustomTlsProfile {
                    ciphers: texts(["ECDHE-ECDSA-AES128-GCM-SHA256"]),
                    min_tls_version: "VersionTLS12".to_owned(),
                }),
            }),
            tls_adherence: adherence.to_owned(),
        },
        status: api_server::Status {},
        ..ApiServer::default()
    }
}

fn cluster_version() -> ClusterVersion {
    ClusterVersion {
        metadata: named("version"),
        spec: cluster_version::Spec {
            cluster_id: "5f2b1c9e-8f0e-4b0c-9a53-2d7d6c3a1b00".to_owned(),
        },
        status: cluster_version::Status {
            desired: cluster_version::Release {
                version: "4.21.3".to_owned(),
                image: "example.com/release:4.21.3".to_owned(),
            },
            history: vec![cluster_version::Update {
                state: "Partial".to_owned(),
                version: "4.21.3".to_owned(),
            }],
        },
        ..ClusterVersion::default()
    }
}

fn complete_cluster_version(object: &mut Value) {
    let status = &mut object["status"];
    status["availableUpdates"] = Value::Null;
    status["observedGeneration"] = json!(1);
    status["versionHash"] = json!("h");
    let update = &mut status["history"][0];
    update["completionTime"] = Value::Null;
    update["startedTime"] = json!("2026-01-01T00:00:00Z");
    update["image"] = json!("example.com/release:4.21.3");
    update["verified"] = json!(true);
}

fn cluster_operator() -> ClusterOperator {
    ClusterOperator {
        metadata: named("cloud-controller-manager"),
        spec: cluster_operator::Spec {},
        status: cluster_operator::Status {
            conditions: vec![cluster_operator::Condition {
                type_: "Available".to_owned(),
                status: "True".to_owned(),
                reason: "AsExpected".to_owned(),
                message: "it is".to_owned(),
                last_transition_time: Time(Timestamp::UNIX_EPOCH),
            }],
            versions: vec![cluster_operator::OperandVersion {
                name: "operator".to_owned(),
                version: "4.21.3".to_owned(),
            }],
            related_objects: vec![cluster_operator::ObjectReference {
                group: String::new(),
                resource: "namespaces".to_owned(),
                namespace: "none".to_owned(),
                name: "openshift-cloud-controller-manager".to_owned(),
            }],
            extension: Some(json!({"kept": ["by", "somebody"]})),
        },
        ..ClusterOperator::default()
    }
}
