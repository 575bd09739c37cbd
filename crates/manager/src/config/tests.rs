use super::*;
use crate::options::Outrigger;
use runtime::{flags::Strings, leader_migration};

/// What a Go program (`k8s.io/cloud-provider` v0.37.2) shows when nothing but the cloud is set, with the one field
/// that 1.36 has elsewhere.
const UPSTREAM: &str = r#"{"kind":"CloudControllerManagerConfiguration","apiVersion":"cloudcontrollermanager.config.k8s.io/v1alpha1","Generic":{"Port":0,"Address":"0.0.0.0","MinResyncPeriod":"12h0m0s","ClientConnection":{"kubeconfig":"","acceptContentTypes":"","contentType":"application/vnd.kubernetes.protobuf","qps":20,"burst":30},"ControllerStartInterval":"0s","LeaderElection":{"leaderElect":true,"leaseDuration":"15s","renewDeadline":"10s","retryPeriod":"2s","resourceLock":"leases","resourceName":"cloud-controller-manager","resourceNamespace":"kube-system"},"Controllers":["*"],"Debugging":{"enableProfiling":true,"enableContentionProfiling":false},"LeaderMigrationEnabled":false,"LeaderMigration":{"leaderName":"","resourceLock":"","controllerLeaders":null}},"KubeCloudShared":{"CloudProvider":{"Name":"","CloudConfigFile":""},"ExternalCloudVolumePlugin":"","UseServiceAccountCredentials":false,"AllowUntaggedCloud":false,"RouteReconciliationPeriod":"10s","NodeMonitorPeriod":"5s","ClusterName":"kubernetes","ClusterCIDR":"","AllocateNodeCIDRs":false,"CIDRAllocatorType":"RangeAllocator","ConfigureCloudRoutes":true,"NodeSyncPeriod":"0s"},"NodeController":{"ConcurrentNodeSyncs":1,"ConcurrentNodeStatusUpdates":1},"NodeLifecycleController":{"NodeMonitorPeriod":"5s","ConcurrentNodeLifecycleSyncs":1},"ServiceController":{"ConcurrentServiceSyncs":1},"NodeStatusUpdateFrequency":"5m0s","Webhook":{"Webhooks":null}"#;

#[test]
fn upstream_json_is_identical_and_our_fields_follow() {
    let json = serde_json::to_string(&CloudControllerManagerConfiguration::default()).unwrap();
    let (upstream, ours) = json.split_once(",\"Outrigger\":").unwrap();
    assert_eq!(upstream, UPSTREAM);
    let expected = r#"{"KubeAPIQPS":"auto","KubeAPIBurst":"auto","ConcurrentNodeSyncs":"auto","ConcurrentNodeStatusUpdates":"auto","ConcurrentNodeLifecycleSyncs":"auto","ConcurrentServiceSyncs":"auto","LoadBalancerClasses":[],"LoadBalancerWithoutClass":true,"LoadBalancerOrphans":"ignore","LoadBalancerOrphanPeriod":"10m0s","LoadBalancerResyncPeriod":"0s","NodeSelector":"","ProviderIDSchemes":[],"NodeDeletionGracePeriod":"30s","NodeDeletionMaxFraction":0.2,"NodeDeletionWindow":"10m0s","NodeDeletionConfirmation":"2m0s","NodeLabelSync":true,"ShutdownGracePeriod":"20s","FeatureGates":""}}"#;
    assert_eq!(ours, expected);
}

// upstream: TestCloudControllerManagerDefaultsRoundTrip
#[test]
fn defaults_survive_a_round_trip() {
    let case = "defaults survive a JSON round trip";
    let config = CloudControllerManagerConfiguration::default();
    let json = serde_json::to_string(&config).unwrap();
    assert_eq!(
        serde_json::from_str::<CloudControllerManagerConfiguration>(&json).unwrap(),
        config,
        "{case}"
    );
}

#[test]
fn whatever_is_set_survives_a_round_trip() {
    let mut options = Options::default();
    let args = "--kube-api-qps=0.5 --kube-api-burst=7 --concurrent-service-syncs=3 --webhooks=a --controllers=service";
    options.parsed = options.set("ccm", Vec::new()).parse(args.split_whitespace()).unwrap();
    options.migration = Some(leader_migration::Config::default());
    options.outrigger = Outrigger {
        load_balancer_class: Strings::from(["example.com/a"]),
        ..options.outrigger
    };
    let config = CloudControllerManagerConfiguration::new(&options);
    let json = serde_json::to_value(&config).unwrap();
    assert_eq!(json["Generic"]["ClientConnection"]["qps"], 0.5);
    assert_eq!(json["Generic"]["Controllers"][0], "service-lb-controller");
    assert_eq!(
        json["Generic"]["LeaderMigration"]["controllerLeaders"][0]["component"],
        "*"
    );
    assert_eq!(
        (
            &json["Outrigger"]["KubeAPIQPS"],
            &json["Outrigger"]["ConcurrentServiceSyncs"]
        ),
        (&"0.5".into(), &"3".into())
    );
    assert_eq!(
        serde_json::from_value::<CloudControllerManagerConfiguration>(json).unwrap(),
        config
    );
}
