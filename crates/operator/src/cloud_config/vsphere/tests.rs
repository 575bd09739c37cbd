//! The configuration of vSphere.

use super::{Cluster, Invalid, transform};
use operator_api::infrastructure::{platform_spec::VSphere, platform_status::VirtualIps};
use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

const INI: &str = r#"
[Global]
secret-name = "vsphere-creds"
secret-namespace = "kube-system"
insecure-flag = "1"

[Workspace]
server = "test-server"
datacenter = "DC1"
default-datastore = "Datastore"
folder = "/DC1/vm/F1"

[Disk]
scsicontrollertype = pvscsi

[VirtualCenter "test-server"]
datacenters = "DC1"
"#;

const YAML: &str = "
global:
  insecureFlag: true
  secretName: vsphere-creds
  secretNamespace: kube-system
vcenter:
  test-server:
    datacenters:
    - DC1
    server: test-server
";

/// Three failure domains, the last in a datacenter that the vCenter does not name.
fn zones() -> Value {
    let domain = |name: &str, datacenter: &str| json!({ "name": name, "server": "test-server", "topology": { "datacenter": datacenter } });
    json!({
        "vcenters": [{ "server": "test-server", "port": 443, "datacenters": ["DC1", "DC2"] }],
        "failureDomains": [domain("east-1a", "DC1"), domain("east-2a", "DC2"), domain("west-1a", "DC3")],
    })
}

fn networking(external: [&str; 2], internal: [&str; 2]) -> Value {
    let network = |name: &str, [ranges, excluded]: [&str; 2]| {
        let list = |text: &str| text.split(',').map(str::to_owned).collect::<Vec<_>>();
        json!({ "network": name, "networkSubnetCidr": list(ranges), "excludeNetworkSubnetCidr": list(excluded) })
    };
    json!({
        "vcenters": [{ "server": "test-server", "datacenters": ["DC1"] }],
        "nodeNetworking": {
            "external": network("external-network", external),
            "internal": network("internal-network", internal),
        },
    })
}

fn dual_stack_networking() -> Value {
    networking(
        ["198.51.100.0/24,fe80::3/128", "192.1.2.0/24,fe80::2/128"],
        ["192.0.3.0/24,fe80::4/128", "192.0.2.0/24,fe80::1/128"],
    )
}

fn apply(text: &str, spec: &Value, addresses: &[&str], services: &[&str]) -> Result<String, Invalid> {
    let spec: VSphere = serde_json::from_value(spec.clone()).expect("spec");
    let services: Vec<String> = services.iter().map(|&range| range.to_owned()).collect();
    let (api, ingress) = addresses.split_at(addresses.len() / 2);
    let owned = |ips: &[&str]| ips.iter().map(|&ip| ip.to_owned()).collect();
    let addresses = VirtualIps {
        api_server_internal_ips: owned(api),
        ingress_ips: owned(ingress),
    };
    let cluster = Cluster {
        spec: &spec,
        addresses: Some(&addresses),
        services: &services,
    };
    let once = transform(text, Some(&cluster))?;
    assert_eq!(
        transform(&once, Some(&cluster)).as_deref(),
        Ok(once.as_str()),
        "applied again"
    );
    Ok(once)
}

/// The settings of a text.
fn settings(yaml: &str) -> Value {
    serde_saphyr::from_str(yaml).expect("YAML")
}

/// The names of the rows are those of upstream's cases.
#[rstest]
#[case::without_a_spec(None, YAML)]
#[case::with_zones(
    Some(zones()),
    "{global: {insecureFlag: true, secretName: vsphere-creds, secretNamespace: kube-system},
      vcenter: {test-server: {server: test-server, port: 443, datacenters: [DC1, DC2, DC3]}},
      labels: {zone: openshift-zone, region: openshift-region}}"
)]
#[case::with_networking(
    Some(dual_stack_networking()),
    "{global: {insecureFlag: true, secretName: vsphere-creds, secretNamespace: kube-system},
      vcenter: {test-server: {server: test-server, datacenters: [DC1]}},
      nodes: {internalNetworkSubnetCidr: '192.0.3.0/24,fe80::4/128',
              externalNetworkSubnetCidr: '198.51.100.0/24,fe80::3/128',
              internalVmNetworkName: internal-network, externalVmNetworkName: external-network,
              excludeInternalNetworkSubnetCidr: '192.0.2.0/24,fe80::1/128',
              excludeExternalNetworkSubnetCidr: '192.1.2.0/24,fe80::2/128'}}"
)]
fn ini_and_yaml_are_equivalent(#[case] spec: Option<Value>, #[case] expected: &str) {
    for text in [INI, YAML] {
        let done = match &spec {
            Some(spec) => apply(text, spec, &[], &["172.30.0.0/16"]),
            None => transform(text, None),
        };
        assert_eq!(settings(&done.expect("transform")), settings(expected), "from {text}");
    }
}

#[rstest]
#[case::ipv4("172.30.0.0/16", None, "192.0.2.0/24,fe80::1/128")]
#[case::ipv4_first(
    "172.30.0.0/16 fd65:172:16::/112",
    Some(["ipv4", "ipv6"].as_slice()),
    "192.0.2.0/24,fe80::1/128,192.168.96.3/32,fd65:a1a8:60ad:271c::200/128,192.168.96.4/32,fd65:a1a8:60ad:271c::201/128,fd69::2/128"
)]
#[case::ipv6_first(
    "fd65:172:16::/112 172.30.0.0/16",
    Some(["ipv6", "ipv4"].as_slice()),
    "192.0.2.0/24,fe80::1/128,192.168.96.3/32,fd65:a1a8:60ad:271c::200/128,192.168.96.4/32,fd65:a1a8:60ad:271c::201/128,fd69::2/128"
)]
#[case::ipv6(
    "fd65:172:16::/112",
    Some(["ipv6"].as_slice()),
    "192.0.2.0/24,fe80::1/128,192.168.96.3/32,fd65:a1a8:60ad:271c::200/128,192.168.96.4/32,fd65:a1a8:60ad:271c::201/128,fd69::2/128"
)]
#[case::no_network("", None, "192.0.2.0/24,fe80::1/128")]
fn address_families(#[case] services: &str, #[case] families: Option<&[&str]>, #[case] excluded: &str) {
    let addresses = [
        "192.168.96.3",
        "fd65:a1a8:60ad:271c::200",
        "192.168.96.4",
        "fd65:a1a8:60ad:271c::201",
    ];
    let services: Vec<&str> = services.split_whitespace().collect();
    let done = apply(YAML, &dual_stack_networking(), &addresses, &services).expect("transform");
    let found = settings(&done);
    assert_eq!(
        found.pointer("/global/ipFamily"),
        families.map(|names| json!(names)).as_ref()
    );
    assert_eq!(
        found.pointer("/nodes/excludeInternalNetworkSubnetCidr"),
        Some(&json!(excluded))
    );
    let external = excluded.replace("192.0.2.0/24,fe80::1/128", "192.1.2.0/24,fe80::2/128");
    assert_eq!(
        found.pointer("/nodes/excludeExternalNetworkSubnetCidr"),
        Some(&json!(external))
    );
}

#[test]
fn removed_vcenters_are_deleted() {
    let text = format!("{YAML}  old-server-1:\n    server: old-server-1\n    datacenters:\n    - OLD\n");
    let done = apply(&text, &zones(), &[], &["172.30.0.0/16"]).expect("transform");
    let vcenters = settings(&done)["vcenter"]
        .as_object()
        .expect("map")
        .keys()
        .cloned()
        .collect::<Vec<_>>();
    assert_eq!(vcenters, ["test-server"]);
}

// The Go operator rebuilds the map with three keys (W15).
#[test]
fn w15_further_keys_of_a_vcenter_are_kept() {
    let text = "
# by hand
vcenter:
  prod:
    server: test-server   # an alias for it
    port: 8443
    insecureFlag: yes
    thumbprint: AA:BB
    caFile: /ca
    secretName: s
    secretNamespace: n
    password: 0777
    tomorrow: {a: [1]}
    datacenters: [X]
";
    let spec = json!({ "vcenters": [{ "server": "test-server", "datacenters": ["DC1"] }] });
    let done = apply(text, &spec, &[], &["172.30.0.0/16"]).expect("transform");
    let expected = "global: {}
vcenter:
  test-server:
    caFile: /ca
    datacenters:
    - DC1
    insecureFlag: true
    password: \"0777\"
    port: 8443
    secretName: s
    secretNamespace: \"n\"
    server: test-server
    thumbprint: AA:BB
    tomorrow:
      a:
      - 1
";
    assert_eq!(done, expected);
}

#[test]
fn w15_a_spec_without_vcenters_does_not_take_them_away() {
    let spec = json!({ "failureDomains": [
        { "name": "a", "server": "test-server", "topology": { "datacenter": "DC1" } },
        { "name": "b", "server": "test-server", "topology": { "datacenter": "DC2" } },
    ]});
    let done = apply(YAML, &spec, &[], &["172.30.0.0/16"]).expect("transform");
    assert_eq!(
        settings(&done)["vcenter"],
        json!({ "test-server": { "server": "test-server", "datacenters": ["DC1", "DC2"] } })
    );
    assert_eq!(
        apply(YAML, &json!({}), &[], &["172.30.0.0/16"]).as_deref(),
        Ok(YAML.trim_start())
    );
}

// The Go operator panics here, again and again, without a word in the status (W3).
#[rstest]
#[case::among_vcenters(
    json!([{ "server": "a", "datacenters": ["A"] }, { "server": "b", "datacenters": ["B"] }]),
    "the failure domain \"west\" of the Infrastructure is in the vCenter \"c\", which is not in \
     spec.platformSpec.vsphere.vcenters: add it there or correct the failure domain; there is a, b"
)]
#[case::in_the_file(
    json!([]),
    "the failure domain \"west\" of the Infrastructure is in the vCenter \"c\", which is not in cloud.conf: add it \
     there or correct the failure domain; there is test-server"
)]
fn w3_a_failure_domain_in_an_unknown_vcenter(#[case] vcenters: Value, #[case] problem: &str) {
    let spec = json!({ "vcenters": vcenters, "failureDomains": [{ "name": "west", "server": "c" }] });
    assert_eq!(
        apply(YAML, &spec, &[], &["172.30.0.0/16"]),
        Err(Invalid(problem.to_owned()))
    );
}

#[test]
fn one_failure_domain_has_no_labels() {
    let spec = json!({
        "vcenters": [{ "server": "test-server", "datacenters": ["DC1"] }],
        "failureDomains": [{ "name": "a", "server": "test-server", "topology": { "datacenter": "DC9" } }],
    });
    let found = settings(&apply(YAML, &spec, &[], &["172.30.0.0/16"]).expect("transform"));
    assert_eq!(
        (found.get("labels"), &found["vcenter"]["test-server"]["datacenters"]),
        (None, &json!(["DC1", "DC9"]))
    );
}

#[test]
fn networks_of_the_file_are_overwritten_also_by_nothing() {
    let text = format!("{YAML}nodes:\n  externalVmNetworkName: old\n  tomorrow: 1\n");
    let found = settings(&apply(&text, &zones(), &[], &["172.30.0.0/16"]).expect("transform"));
    assert_eq!(found["nodes"], json!({ "tomorrow": 1 }));
}

#[test]
fn a_generated_configuration_matches_the_infrastructure() {
    let done = apply("global: {}\nvcenter: {}\n", &zones(), &[], &["172.30.0.0/16"]).expect("transform");
    let expected = "global: {}\nlabels:\n  region: openshift-region\n  zone: openshift-zone\nvcenter:\n  test-server:\n    \
                    datacenters:\n    - DC1\n    - DC2\n    - DC3\n    port: 443\n    server: test-server\n";
    assert_eq!(done, expected);
}

#[test]
fn every_key_of_the_ini_has_its_place() {
    let text = r#"
[Global]
user = u
password = "p;#"
server = s
port = 443
insecure-flag = true
datacenters = "A, B,,C"
soap-roundtrip-count = 3
ca-file = /ca
thumbprint = t
secret-name = n
secret-namespace = ns
secrets-directory = /d
api-disable = true
api-binding = :43001
ip-family = ipv6
[VirtualCenter "v"]
server = 10.0.0.1
port = 0
insecure-flag = false
ip-family = ipv4
[Labels]
zone = z
region = r
[Nodes]
internal-network-subnet-cidr = 10.0.0.0/8
external-network-subnet-cidr = 11.0.0.0/8
internal-vm-network-name = i
external-vm-network-name = e
exclude-internal-network-subnet-cidr = 12.0.0.0/8
exclude-external-network-subnet-cidr = 13.0.0.0/8
"#;
    let expected = json!({
        "global": {
            "user": "u", "password": "p;#", "server": "s", "port": 443, "insecureFlag": true,
            "datacenters": ["A", "B", "C"], "soapRoundtripCount": 3, "caFile": "/ca", "thumbprint": "t",
            "secretName": "n", "secretNamespace": "ns", "secretsDirectory": "/d", "apiDisable": true,
            "apiBinding": ":43001", "ipFamily": ["ipv6"],
        },
        "vcenter": { "v": { "server": "10.0.0.1", "ipFamily": ["ipv4"] } },
        "labels": { "zone": "z", "region": "r" },
        "nodes": {
            "internalNetworkSubnetCidr": "10.0.0.0/8", "externalNetworkSubnetCidr": "11.0.0.0/8",
            "internalVmNetworkName": "i", "externalVmNetworkName": "e",
            "excludeInternalNetworkSubnetCidr": "12.0.0.0/8", "excludeExternalNetworkSubnetCidr": "13.0.0.0/8",
        },
    });
    assert_eq!(settings(&transform(text, None).expect("transform")), expected);
}

#[rstest]
#[case::empty("", "cloud.conf is empty: write the vCenters into it")]
#[case::blank(" \n", "cloud.conf is empty: write the vCenters into it")]
#[case::neither(":\n- [", "cloud.conf: ")]
#[case::a_text("just words", "cloud.conf: ")]
#[case::yaml_indentation(
    "global:\n  a: 1\n b: 2\n",
    "cloud.conf: while parsing a block mapping, did not find expected key at line 3, column 2"
)]
#[case::twice(
    "global:\n  port: 1\n  port: 2\n",
    "cloud.conf: global: duplicate mapping key: port at line 3, column 3"
)]
#[case::two_documents(
    "global: {}\n---\nglobal: {}\n",
    "cloud.conf: multiple YAML documents detected at line 3, column 1"
)]
#[case::ini(
    "[Global]\nport = many\n",
    "cloud.conf:2:8: port is not a whole number: write one, such as 443"
)]
#[case::ini_negative("[Global]\nport = -1\n", "cloud.conf:2:8: port is not a whole number")]
#[case::ini_truth(
    "[VirtualCenter \"v\"]\ninsecure-flag = maybe\n",
    "cloud.conf:2:17: insecure-flag is neither true nor false"
)]
#[case::ini_nameless("[VirtualCenter]\nserver = s\n", "cloud.conf:2:10: [VirtualCenter] has no name")]
#[case::ini_header("[Global\n", "cloud.conf:1:")]
#[case::global("global: 1\n", "cloud.conf: global: ")]
#[case::vcenter("vcenter:\n- a\n", "cloud.conf: vcenter: ")]
#[case::a_vcenter("vcenter:\n  a: b\n", "cloud.conf: vcenter: a: ")]
#[case::port(
    "vcenter:\n  a:\n    port: https\n",
    "cloud.conf: vcenter: a: port: not a whole number: "
)]
#[case::negative("global:\n  port: -1\n", "cloud.conf: global: port: not a whole number: ")]
#[case::truth(
    "global:\n  insecureFlag: 2\n",
    "cloud.conf: global: insecureFlag: not true or false: "
)]
#[case::list(
    "global:\n  datacenters: DC1\n",
    "cloud.conf: global: datacenters: not a list of texts: "
)]
#[case::text("labels:\n  zone: [z]\n", "cloud.conf: labels: zone: not a text: ")]
fn problems_are_named(#[case] text: &str, #[case] problem: &str) {
    let error = transform(text, None).expect_err("refused").to_string();
    assert!(error.starts_with(problem), "{error}");
}

#[test]
fn notations_of_values() {
    let text = "global:\n  port: 0x1BB\n  soapRoundtripCount: 1_0\n  insecureFlag: Off\n  user: 12\n  caFile:\n  ipFamily: []\n";
    let expected = "global:\n  port: 443\n  soapRoundtripCount: 10\n  user: \"12\"\n";
    assert_eq!(transform(text, None).as_deref(), Ok(expected));
}

/// What the Go operator writes, byte for byte.
#[rstest]
#[case::ini(INI, None, YAML.trim_start())]
#[case::yaml(YAML, None, YAML.trim_start())]
#[case::the_installers(
    "global:
  user: \"\"
  password: \"\"
  server: \"\"
  port: 0
  insecureFlag: true
  datacenters: []
  soapRoundtripCount: 0
  secretName: \"vsphere-creds\"
  secretNamespace: kube-system
  apiDisable: false
  ipFamily: []
labels:
  zone: \"\"
  region: \"\"
vcenter:
  test-server:
    datacenters:
    - 'DC1'
    server: test-server
",
    None,
    YAML.trim_start()
)]
#[case::zones(
    INI,
    Some(zones()),
    "global:
  insecureFlag: true
  secretName: vsphere-creds
  secretNamespace: kube-system
labels:
  region: openshift-region
  zone: openshift-zone
vcenter:
  test-server:
    datacenters:
    - DC1
    - DC2
    - DC3
    port: 443
    server: test-server
"
)]
#[case::networking(
    YAML,
    Some(dual_stack_networking()),
    "global:
  insecureFlag: true
  secretName: vsphere-creds
  secretNamespace: kube-system
nodes:
  excludeExternalNetworkSubnetCidr: 192.1.2.0/24,fe80::2/128
  excludeInternalNetworkSubnetCidr: 192.0.2.0/24,fe80::1/128
  externalNetworkSubnetCidr: 198.51.100.0/24,fe80::3/128
  externalVmNetworkName: external-network
  internalNetworkSubnetCidr: 192.0.3.0/24,fe80::4/128
  internalVmNetworkName: internal-network
vcenter:
  test-server:
    datacenters:
    - DC1
    server: test-server
"
)]
#[case::several(
    "global: {}\nvcenter: {}\n",
    Some(json!({ "vcenters": [
        { "server": "vcenter.two", "datacenters": ["Data Center 2"] },
        { "server": "10.0.0.1", "port": 8443, "datacenters": ["12", "/a/b"] },
    ]})),
    "global: {}
vcenter:
  10.0.0.1:
    datacenters:
    - \"12\"
    - /a/b
    port: 8443
    server: 10.0.0.1
  vcenter.two:
    datacenters:
    - Data Center 2
    server: vcenter.two
"
)]
fn is_what_the_go_operator_writes(#[case] text: &str, #[case] spec: Option<Value>, #[case] expected: &str) {
    let done = match &spec {
        Some(spec) => apply(text, spec, &[], &["172.30.0.0/16"]),
        None => transform(text, None),
    };
    assert_eq!(done.as_deref(), Ok(expected));
}

#[rstest]
#[case::range(&[], &["moon"], "spec.serviceNetwork of the Network \"cluster\" has \"moon\", which is no range")]
#[case::address(
    &["moon", "::1"], &["fd65:172:16::/112"],
    "status.platformStatus.vsphere of the Infrastructure has \"moon\", which is no address"
)]
fn bad_addresses_are_named(#[case] addresses: &[&str], #[case] services: &[&str], #[case] problem: &str) {
    assert_eq!(
        apply(YAML, &json!({}), addresses, services),
        Err(Invalid(problem.to_owned()))
    );
}

proptest! {
    /// `apply` checks that applying it again changes nothing.
    #[test]
    fn unknown_keys_survive(keys in prop::collection::btree_map("x[a-z]{0,6}", "[a-z0-9 ]{0,8}", 0..5)) {
        let block = |indent: &str| {
            let lines: Vec<_> = keys.iter().map(|(key, text)| format!("{indent}{key}: '{text}'\n")).collect();
            lines.concat()
        };
        let text = format!(
            "{}global:\n  user: u\n{}vcenter:\n  test-server:\n    user: u\n{}nodes:\n  internalVmNetworkName: n\n{}",
            block(""), block("  "), block("    "), block("  "),
        );
        let found = settings(&apply(&text, &zones(), &["10.0.0.1", "::1"], &["fd65:172:16::/112"]).expect("transform"));
        for (key, text) in &keys {
            for place in ["", "/global", "/vcenter/test-server", "/nodes"] {
                prop_assert_eq!(found.pointer(&format!("{place}/{key}")), Some(&json!(text)));
            }
        }
    }
}
