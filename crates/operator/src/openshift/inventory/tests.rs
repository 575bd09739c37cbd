use super::*;

#[test]
fn every_platform_is_searched() {
    let candidates = candidates("ns");
    let has = |kind: &str, name: &str| candidates.iter().any(|key| key.kind == kind && key.name == name);
    for name in [
        "aws",
        "azure",
        "gcp",
        "ibm",
        "nutanix",
        "openstack",
        "powervs",
        "vsphere",
    ] {
        assert!(has("Deployment", &format!("{name}-cloud-controller-manager")), "{name}");
    }
    assert!(has("DaemonSet", "azure-cloud-node-manager"));
    // W18: an object that a cluster with one machine does not have.
    assert!(has("PodDisruptionBudget", "ibmcloud-cloud-controller-manager"));
    assert!(has("Role", "azure-cloud-provider"));
    assert!(has("Secret", certificates::CA_SECRET));
    let namespaces: BTreeSet<_> = candidates.iter().filter_map(|key| key.namespace.as_deref()).collect();
    assert_eq!(namespaces, ["kube-system", "ns"].into());
}

#[test]
fn every_platform_has_objects() {
    for platform in platforms::ALL {
        let images: Value = platform
            .images
            .iter()
            .map(|(_, key)| ((*key).to_owned(), "any"))
            .collect();
        let setting = Setting {
            namespace: "ns".to_owned(),
            infrastructure_name: "any".to_owned(),
            images: Images::parse(&images.to_string()).unwrap(),
            ..Setting::default()
        };
        assert!(!objects(platform, &setting).is_empty(), "{}", platform.type_);
    }
}

#[test]
fn the_inventory_is_what_is_related() {
    let key = |kind: &str, api_version: &str, namespace: Option<&str>| Key {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        namespace: namespace.map(str::to_owned),
        name: "x".to_owned(),
    };
    let keys = [
        key("Deployment", "apps/v1", Some("ns")),
        key("ClusterRole", "rbac.authorization.k8s.io/v1", None),
        key("ConfigMap", "v1", Some("ns")),
    ];
    let related = related("ns", &keys);
    let names: Vec<_> = related[..3]
        .iter()
        .map(|each| format!("{}/{}", each.resource, each.name))
        .collect();
    assert_eq!(
        names,
        [
            "namespaces/openshift-cloud-controller-manager-operator",
            "clusteroperators/cloud-controller-manager",
            "namespaces/ns"
        ]
    );
    let status = Status {
        related_objects: related,
        ..Status::default()
    };
    assert_eq!(listed(&status), keys);
}
