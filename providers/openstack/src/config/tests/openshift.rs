//! The configurations that `OpenShift`'s operator writes.

use super::*;

// upstream: openstack 14
#[test]
fn operator_output() {
    let text = "[Global]\nuse-clouds  = true\nclouds-file = /etc/openstack/secret/clouds.yaml\ncloud       = openstack\n\n\
                [LoadBalancer]\nmax-shared-lb          = 1\nmanage-security-groups = true\n";
    let yaml = "clouds:
  openstack:
    auth:
      auth_url: https://10.0.0.1:13000
      application_credential_id: i
      application_credential_secret: s
    cacert: /etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem
    region_name: regionOne
    interface: public
    auth_type: v3applicationcredential
    verify: true
";
    let files = Shelf::default().with("/etc/openstack/secret/clouds.yaml", yaml).with(
        "/etc/kubernetes/static-pod-resources/configmaps/cloud-config/ca-bundle.pem",
        "-----BEGIN CERTIFICATE-----\n",
    );
    let loaded = read(text, &files, &environment(), None).expect("OpenShift operator output");
    let Config {
        global, load_balancer, ..
    } = &loaded.config;
    assert_eq!(login(global), "credential id i with secret s");
    assert_eq!(
        (global.auth_url.as_str(), global.region.as_str()),
        ("https://10.0.0.1:13000", "regionOne")
    );
    assert_eq!(
        (load_balancer.max_shared_lb, load_balancer.manage_security_groups),
        (1, true)
    );
    assert_eq!(loaded.warnings, Vec::<String>::new());
    assert_eq!(loaded.files.len(), 2);
}
