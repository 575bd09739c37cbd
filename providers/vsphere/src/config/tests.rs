use super::*;
use cloud::LiveData;
use cloud_http::Trust;
use provider_kit::live_config::{Disk, Files};
use rstest::rstest;
use std::{collections::BTreeMap, io};

/// Files in memory.
struct Given(BTreeMap<&'static str, &'static str>);

impl Files for Given {
    fn read(&self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        let content = path.to_str().and_then(|path| self.0.get(path));
        Ok(content.map(|content| content.as_bytes().to_vec()))
    }
}

fn loaded(text: &str, variables: &str, data: &LiveData) -> (Result<Loaded<Config>, String>, Vec<String>) {
    let files = Given(BTreeMap::from([
        ("/ca.pem", "PEM"),
        ("/secrets/vc1.username", "from-a-file\n"),
        ("/secrets/vc1.password", "p\n"),
    ]));
    let file = (!text.is_empty()).then_some(File {
        name: "vsphere.yaml",
        content: text.as_bytes(),
    });
    let sources = Sources {
        file,
        data,
        files: &files,
    };
    let pairs = variables.split_whitespace().filter_map(|pair| pair.split_once('='));
    let mut warnings = Vec::new();
    (load(&sources, &pairs.collect(), &mut warnings), warnings)
}

fn config(text: &str, variables: &str) -> Config {
    let (loaded, warnings) = loaded(text, variables, &LiveData::default());
    assert_eq!(warnings, Vec::<String>::new());
    loaded.unwrap().config
}

const YAML: &str = "
global:
  user: admin
  password: 0777
  port: 8443
  insecureFlag: true
  secretsDirectory: /none
  datacenters: [DC0, DC1]
vcenter:
  vc1:
    server: vc1.example.com
    datacenters: [DC2]
  vc2:
labels:
  zone: k8s-zone
  region: k8s-region
nodes:
  internalNetworkSubnetCidr: 10.0.0.0/16, 10.1.2.3/16
  externalVmNetworkName: VM Network
";

const INI: &str = "
[Global]
user = admin
password = 0777
port = 8443
insecure-flag = 1
secrets-directory = /none
datacenters = DC0, DC1
[VirtualCenter \"vc1\"]
server = vc1.example.com
datacenters = DC2
[VirtualCenter \"vc2\"]
[Labels]
zone = k8s-zone
region = k8s-region
[Nodes]
internal-network-subnet-cidr = 10.0.0.0/16, 10.1.2.3/16
external-vm-network-name = VM Network
";

#[rstest]
#[case::yaml(YAML)]
#[case::ini(INI)]
fn both_notations_are_read(#[case] text: &str) {
    let config = config(text, "");
    let [first, second] = &config.vcenters[..] else {
        panic!("{:?}", config.vcenters)
    };
    assert_eq!((first.name.as_str(), first.server.as_str()), ("vc1", "vc1.example.com"));
    assert_eq!((second.name.as_str(), second.server.as_str()), ("vc2", "vc2"));
    assert_eq!((first.port, second.port, first.attempts), (8443, 8443, 3));
    assert_eq!(
        (&first.trust, &first.families[..]),
        (&Trust::Anything, &[Family::V4][..])
    );
    assert_eq!(
        (first.datacenters.join(" "), second.datacenters.join(" ")),
        ("DC2".into(), "DC0 DC1".into())
    );
    assert_eq!(second.credentials.key(), ("admin", "0777"));
    let categories = Categories {
        zone: "k8s-zone".into(),
        region: "k8s-region".into(),
    };
    assert_eq!((config.zones, config.deletion), (Some(categories), Deletion::Allowed));
    let Networks { internal, external } = config.networks;
    let ranges: Vec<String> = internal.ranges.iter().map(ToString::to_string).collect();
    assert_eq!(ranges, ["10.0.0.0/16", "10.1.0.0/16"]);
    assert_eq!(external.name.as_deref(), Some("VM Network"));
}

#[test]
fn variables_win_over_the_file_and_are_enough() {
    let config = config(
        "",
        "VSPHERE_VCENTER=vc1 VSPHERE_VCENTER_PORT=1443 VSPHERE_USER=u VSPHERE_PASSWORD=p VSPHERE_DATACENTER=a,b VSPHERE_INSECURE=1 \
         VSPHERE_ROUNDTRIP_COUNT=5 VSPHERE_LABEL_ZONE=z VSPHERE_LABEL_REGION=r VSPHERE_SECRETS_DIRECTORY=/none SKIP_NODE_DELETION=x \
         VSPHERE_NODES_INTERNAL_VM_NETWORK_NAME=net",
    );
    let [vcenter] = &config.vcenters[..] else {
        panic!("one vCenter")
    };
    assert_eq!(
        (vcenter.server.as_str(), vcenter.port, vcenter.attempts),
        ("vc1", 1443, 5)
    );
    assert_eq!(
        (vcenter.credentials.key(), &vcenter.trust),
        (("u", "p"), &Trust::Anything)
    );
    assert_eq!(vcenter.datacenters, ["a", "b"]);
    assert_eq!((config.zones.is_some(), config.deletion), (true, Deletion::Skipped));
    assert_eq!(config.networks.internal.name.as_deref(), Some("net"));
    assert_eq!(
        self::config(YAML, "VSPHERE_USER=other").vcenters[0].credentials.user(),
        "other"
    );
}

#[test]
fn variables_name_further_vcenters() {
    let config = config(
        YAML,
        "VSPHERE_VCENTER_A=vc3 VCENTER_A_SERVER=vc3.example.com VCENTER_A_USERNAME=u3 VCENTER_A_PASSWORD=p3 VCENTER_A_PORT=3443 \
         VCENTER_A_IP_FAMILY=ipv6",
    );
    let vcenter = config.vcenters.iter().find(|vcenter| vcenter.name == "vc3").unwrap();
    assert_eq!((vcenter.server.as_str(), vcenter.port), ("vc3.example.com", 3443));
    assert_eq!(
        (vcenter.credentials.key(), &vcenter.families[..]),
        (("u3", "p3"), &[Family::V6][..])
    );
    assert_eq!(config.vcenters.len(), 3);
}

fn secret(namespace: &str, name: &str, keys: &[(&str, &str)]) -> (ObjectRef, BTreeMap<String, Vec<u8>>) {
    let keys = keys
        .iter()
        .map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec()));
    (ObjectRef::new(namespace, name), keys.collect())
}

const TWO: &str = "
global: {secretName: all, secretNamespace: kube-system, user: inline, password: inline, secretsDirectory: /secrets}
vcenter:
  vc1: {}
  vc2: {secretName: own, secretNamespace: ns}
  vc3: {}
";

#[test]
fn credentials_come_from_secrets_or_files_or_the_file() {
    let data = LiveData {
        secrets: BTreeMap::from([
            secret(
                "kube-system",
                "all",
                &[("vc3.username", "u3"), ("vc3.password", "p3\n")],
            ),
            secret(
                "ns",
                "own",
                &[
                    ("server_a", "vc2"),
                    ("username_a", "u2"),
                    ("password_a", "p2"),
                    ("server_b", "vc9"),
                ],
            ),
        ]),
        ..LiveData::default()
    };
    let (loaded, _) = loaded(TWO, "", &data);
    let Loaded { config, files, sources } = loaded.unwrap();
    let keys: Vec<_> = config
        .vcenters
        .iter()
        .map(|vcenter| vcenter.credentials.key())
        .collect();
    assert_eq!(keys, [("from-a-file", "p"), ("u2", "p2"), ("u3", "p3")]);
    let named = [ObjectRef::new("kube-system", "all"), ObjectRef::new("ns", "own")];
    assert_eq!(sources, named.map(LiveSource::Secret));
    assert_eq!(files.len(), 2, "{files:?}");
    assert!(!format!("{config:?}").contains("p3"));
}

#[test]
fn a_shared_session_is_read() {
    let keys = [
        ("vc1.vc-session-manager-url", "https://m/"),
        ("vc1.vc-session-manager-token", "t"),
    ];
    let data = LiveData {
        secrets: BTreeMap::from([secret("a", "b", &keys)]),
        ..LiveData::default()
    };
    let (loaded, _) = loaded("vcenter: {vc1: {secretName: b, secretNamespace: a}}", "", &data);
    let credentials = loaded.unwrap().config.vcenters.remove(0).credentials;
    assert!(
        matches!(&credentials, Credentials::Shared { url, .. } if url == "https://m/"),
        "{credentials:?}"
    );
}

#[test]
fn a_secret_that_is_not_read_yet_is_named() {
    let (loaded, _) = loaded(
        "vcenter: {vc1: {secretName: b, secretNamespace: a}}",
        "",
        &LiveData::default(),
    );
    let Loaded { config, sources, .. } = loaded.unwrap();
    assert_eq!(sources, [LiveSource::Secret(ObjectRef::new("a", "b"))]);
    let Credentials::Missing(why) = &config.vcenters[0].credentials else {
        panic!("there are no credentials")
    };
    assert_eq!(why, "the Secret a/b has no keys vc1.username and vc1.password");
}

#[test]
fn triples_in_a_directory_are_read() {
    let folder = std::env::temp_dir().join(format!("outrigger-vsphere-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (name, content) in [("server_x", "vc1"), ("username_x", "u\n"), ("password_x", "p\n")] {
        std::fs::write(folder.join(name), content).unwrap();
    }
    let text = format!(
        "global: {{secretsDirectory: {}}}\nvcenter: {{vc1: {{}}}}\n",
        folder.display()
    );
    let sources = Sources {
        file: Some(File {
            name: "vsphere.yaml",
            content: text.as_bytes(),
        }),
        data: &LiveData::default(),
        files: &Disk,
    };
    let loaded = load(&sources, &Variables::default(), &mut Vec::new()).unwrap();
    std::fs::remove_dir_all(folder).unwrap();
    assert_eq!(loaded.config.vcenters[0].credentials.key(), ("u", "p"));
    assert_eq!(loaded.files.len(), 3);
}

#[test]
fn trust_is_read() {
    let of = |keys: &str| {
        config(&format!("vcenter: {{vc1: {{{keys}}}}}"), "")
            .vcenters
            .remove(0)
            .trust
    };
    let thumbprint = "A9:99:3E:36:47:06:81:6A:BA:3E:25:71:78:50:C2:6C:9C:D0:D8:9D";
    let parsed = Thumbprint::parse(thumbprint).unwrap();
    assert_eq!(of(""), Trust::System);
    assert_eq!(of("caFile: /ca.pem"), Trust::Only("PEM".into()));
    assert_eq!(
        of(&format!("thumbprint: \"{thumbprint}\"")),
        Trust::Pinned(parsed, None)
    );
    assert_eq!(
        of(&format!("thumbprint: \"{thumbprint}\", caFile: /ca.pem")),
        Trust::Pinned(parsed, Some("PEM".into()))
    );
}

#[test]
fn two_families_need_the_variable() {
    let text = "global: {ipFamily: [ipv6, ipv4]}\nvcenter: {vc1: {}}\n";
    assert_eq!(
        config(text, "ENABLE_ALPHA_DUAL_STACK=1").vcenters[0].families,
        [Family::V6, Family::V4]
    );
    let (refused, _) = loaded(text, "", &LiveData::default());
    assert!(refused.err().unwrap().contains("ENABLE_ALPHA_DUAL_STACK"));
}

#[rstest]
#[case::no_vcenter("global: {user: a}", "there is no vCenter")]
#[case::no_map("- a", "vsphere.yaml: ")]
#[case::port(
    "vcenter: {vc1: {port: many}}",
    "vsphere.yaml: vcenter.vc1.port: \"many\" is not a number"
)]
#[case::big_port("vcenter: {vc1: {port: 70000}}", "70000 is not a port")]
#[case::boolean(
    "global: {insecureFlag: perhaps, server: a}",
    "global.insecureFlag: \"perhaps\" is not a boolean"
)]
#[case::family("global: {server: a, ipFamily: [ipv5]}", "\"ipv5\" is not ipv4 or ipv6")]
#[case::same_family("global: {server: a, ipFamily: [ipv4, ipv4]}", "both once")]
#[case::range(
    "global: {server: a}\nnodes: {internalNetworkSubnetCidr: 10.0.0.0}",
    "nodes.internalNetworkSubnetCidr: \"10.0.0.0\" is not a network"
)]
#[case::thumbprint("global: {server: a, thumbprint: abc}", "is not the SHA-1 of a certificate")]
#[case::ca("global: {server: a, caFile: /none.pem}", "caFile /none.pem does not exist")]
#[case::load_balancers(
    "global: {server: a}\nloadBalancer: {size: SMALL}",
    "loadBalancer.size: load balancers of NSX-T are not supported"
)]
#[case::routes("[Global]\nserver=a\n[Route]\nrouter-path=/x", "routes of NSX-T are not supported")]
fn refuses(#[case] text: &str, #[case] why: &str) {
    let (refused, _) = loaded(text, "", &LiveData::default());
    let error = refused.err().unwrap();
    assert!(error.contains(why), "{error}");
}

#[rstest]
#[case::spelling(
    "global: {server: a, insecure-flag: true}",
    "the key global.insecure-flag (is it insecureFlag?) is unknown and has no effect"
)]
#[case::unknown(
    "global: {server: a, colour: red}",
    "the key global.colour is unknown and has no effect"
)]
#[case::section(
    "global: {server: a}\nworkspace: {}",
    "the section workspace is unknown and has no effect"
)]
#[case::zone_only("global: {server: a}\nlabels: {zone: z}", "set both zone and region, or neither")]
fn warns(#[case] text: &str, #[case] what: &str) {
    let (loaded, warnings) = loaded(text, "", &LiveData::default());
    assert!(loaded.is_ok());
    assert!(matches!(&warnings[..], [one] if one.contains(what)), "{warnings:?}");
}

#[test]
fn no_secret_is_in_an_error() {
    let (refused, warnings) = loaded(
        "global:\n  password: hunter2\n  server: [hunter2\n",
        "",
        &LiveData::default(),
    );
    let text = format!("{:?} {warnings:?}", refused.err());
    assert!(!text.contains("hunter2"), "{text}");
}
