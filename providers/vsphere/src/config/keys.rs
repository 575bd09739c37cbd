//! The keys of the configuration, and the environment variables.
//!
//! The table has the names of the INI notation; those of YAML follow from them.

use provider_kit::keys::{
    Key,
    Kind::{Boolean, List, Path, Secret, Text, Uint},
    Section, Table,
};
use provider_kit::variables;
use std::fmt::Write;

/// The names of sections in both notations.
const SECTIONS: [(&str, &str); 8] = [
    ("Global", "global"),
    ("VirtualCenter", "vcenter"),
    ("Labels", "labels"),
    ("Nodes", "nodes"),
    ("LoadBalancer", "loadBalancer"),
    ("LoadBalancerClass", "loadBalancerClass"),
    ("NSXT", "nsxt"),
    ("Route", "route"),
];

/// Sections of NSX-T, in YAML: no key of them has an effect.
const NSX: [&str; 4] = ["loadBalancer", "loadBalancerClass", "nsxt", "route"];

/// The names of the Go program: a section in YAML and a key a line, or `variable` and a variable.
const UPSTREAM: &str = include_str!("upstream.txt");

/// The keys, as the Go program names them in the INI notation.
#[rustfmt::skip]
pub const KEYS: Table = Table(&[
    Section::new("Global", &[
        Key::new("user", Text, "", "the user at every vCenter that names none; better in a Secret"),
        Key::new("password", Secret, "", "the password of `user`"),
        Key::new("server", Text, "", "the only vCenter, if no other section names one"),
        Key::new("port", Uint, "443", "the port of vCenters"),
        Key::new("insecure-flag", Boolean, "false", "trust any certificate"),
        Key::new("datacenters", List, "", "names or inventory paths of the datacenters to search, comma-separated in INI; by default all"),
        Key::new("soap-roundtrip-count", Uint, "3", "how often a call is tried"),
        Key::new("ca-file", Path, "", "the certificate authorities to trust, in PEM"),
        Key::new("thumbprint", Text, "", "the SHA-1 of a server certificate to trust, `AA:BB:…`"),
        Key::new("secret-name", Text, "", "the Secret with `<server>.username` and `<server>.password`"),
        Key::new("secret-namespace", Text, "", "the namespace of that Secret"),
        Key::new("secrets-directory", Path, "/etc/cloud/secrets", "a directory with files named as the keys of that Secret"),
        Key::new("api-disable", Boolean, "", "there is no gRPC server").obsolete(),
        Key::new("api-binding", Text, "", "there is no gRPC server").obsolete(),
        Key::new("ip-family", List, "ipv4", "`ipv4` or `ipv6`; two, in the order of addresses, need the variable `ENABLE_ALPHA_DUAL_STACK`"),
    ]),
    Section::new("VirtualCenter", &[
        Key::new("user", Text, "", "as in the global section, for this vCenter"),
        Key::new("password", Secret, "", "the password of `user`"),
        Key::new("server", Text, "", "the host; by default the name of the section"),
        Key::new("port", Uint, "", "the port"),
        Key::new("insecure-flag", Boolean, "", "trust any certificate"),
        Key::new("datacenters", List, "", "the datacenters to search"),
        Key::new("soap-roundtrip-count", Uint, "", "how often a call is tried"),
        Key::new("ca-file", Path, "", "the certificate authorities to trust"),
        Key::new("thumbprint", Text, "", "the server certificate to trust"),
        Key::new("secret-name", Text, "", "the Secret with the credentials of this vCenter"),
        Key::new("secret-namespace", Text, "", "the namespace of that Secret"),
        Key::new("ip-family", List, "", "the families of node addresses"),
    ])
    .with_subsections(),
    Section::new("Labels", &[
        Key::new("zone", Text, "", "the tag category of zones; needs `region`"),
        Key::new("region", Text, "", "the tag category of regions; needs `zone`"),
    ]),
    Section::new("Nodes", &[
        Key::new("internal-network-subnet-cidr", Text, "", "internal addresses are in these networks, comma-separated"),
        Key::new("external-network-subnet-cidr", Text, "", "external addresses are in these networks"),
        Key::new("internal-vm-network-name", Text, "", "internal addresses are on this vSphere network"),
        Key::new("external-vm-network-name", Text, "", "external addresses are on this vSphere network"),
        Key::new("exclude-internal-network-subnet-cidr", Text, "", "internal addresses are not in these networks"),
        Key::new("exclude-external-network-subnet-cidr", Text, "", "external addresses are not in these networks"),
    ]),
    Section::new("LoadBalancer", &[
        Key::new("size", Text, "", "the size of the NSX-T load-balancer service"),
        Key::new("lb-service-id", Text, "", "an existing load-balancer service"),
        Key::new("tier1-gateway-path", Text, "", "the tier-1 gateway of a new load-balancer service"),
        Key::new("snat-disabled", Boolean, "", "members see the addresses of clients"),
        Key::new("tags", Text, "", "further tags; JSON in INI, a map in YAML"),
        Key::new("ip-pool-name", Text, "", "the IP pool of the class `default`"),
        Key::new("ip-pool-id", Text, "", "the IP pool of the class `default`"),
        Key::new("tcp-app-profile-name", Text, "", "the application profile of TCP ports"),
        Key::new("tcp-app-profile-path", Text, "", "the application profile of TCP ports"),
        Key::new("udp-app-profile-name", Text, "", "the application profile of UDP ports"),
        Key::new("udp-app-profile-path", Text, "", "the application profile of UDP ports"),
    ]),
    Section::new("LoadBalancerClass", &[
        Key::new("ip-pool-name", Text, "", "the IP pool of this class").foreign(),
        Key::new("ip-pool-id", Text, "", "the IP pool of this class").foreign(),
        Key::new("tcp-app-profile-name", Text, "", "the application profile of TCP ports").foreign(),
        Key::new("tcp-app-profile-path", Text, "", "the application profile of TCP ports").foreign(),
        Key::new("udp-app-profile-name", Text, "", "the application profile of UDP ports").foreign(),
        Key::new("udp-app-profile-path", Text, "", "the application profile of UDP ports").foreign(),
    ])
    .with_subsections(),
    Section::new("NSXT", &[
        Key::new("user", Text, "", "the user at the NSX manager").foreign(),
        Key::new("password", Secret, "", "the password of `user`").foreign(),
        Key::new("host", Text, "", "the NSX manager").foreign(),
        Key::new("insecure-flag", Boolean, "", "trust any certificate").foreign(),
        Key::new("remote-auth", Boolean, "", "the user is that of an identity manager").foreign(),
        Key::new("vmc-access-token", Secret, "", "the token of VMware Cloud").foreign(),
        Key::new("vmc-auth-host", Text, "", "where that token is exchanged").foreign(),
        Key::new("client-auth-cert-file", Path, "", "a client certificate").foreign(),
        Key::new("client-auth-key-file", Path, "", "the key of the client certificate").foreign(),
        Key::new("ca-file", Path, "", "the certificate authorities to trust").foreign(),
        Key::new("secret-name", Text, "", "the Secret with `username` and `password`").foreign(),
        Key::new("secret-namespace", Text, "", "the namespace of that Secret").foreign(),
    ]),
    Section::new("Route", &[
        Key::new("router-path", Text, "", "the tier-1 gateway of routes to pods"),
    ]),
]);

/// The variables of one value. They win over the file.
#[rustfmt::skip]
pub const VARIABLES: &[Key] = &[
    Key::new("VSPHERE_VCENTER", Text, "", "`global.server`"),
    Key::new("VSPHERE_VCENTER_PORT", Uint, "", "`global.port`"),
    Key::new("VSPHERE_USER", Text, "", "`global.user`"),
    Key::new("VSPHERE_PASSWORD", Secret, "", "`global.password`"),
    Key::new("VSPHERE_DATACENTER", List, "", "`global.datacenters`, comma-separated"),
    Key::new("VSPHERE_SECRET_NAME", Text, "", "`global.secretName`"),
    Key::new("VSPHERE_SECRET_NAMESPACE", Text, "", "`global.secretNamespace`"),
    Key::new("VSPHERE_ROUNDTRIP_COUNT", Uint, "", "`global.soapRoundtripCount`"),
    Key::new("VSPHERE_INSECURE", Boolean, "", "`global.insecureFlag`"),
    Key::new("VSPHERE_CAFILE", Path, "", "`global.caFile`"),
    Key::new("VSPHERE_THUMBPRINT", Text, "", "`global.thumbprint`"),
    Key::new("VSPHERE_SECRETS_DIRECTORY", Path, "", "`global.secretsDirectory`"),
    Key::new("VSPHERE_LABEL_REGION", Text, "", "`labels.region`"),
    Key::new("VSPHERE_LABEL_ZONE", Text, "", "`labels.zone`"),
    Key::new("VSPHERE_NODES_INTERNAL_NETWORK_SUBNET_CIDR", Text, "", "`nodes.internalNetworkSubnetCidr`"),
    Key::new("VSPHERE_NODES_EXTERNAL_NETWORK_SUBNET_CIDR", Text, "", "`nodes.externalNetworkSubnetCidr`"),
    Key::new("VSPHERE_NODES_INTERNAL_VM_NETWORK_NAME", Text, "", "`nodes.internalVmNetworkName`"),
    Key::new("VSPHERE_NODES_EXTERNAL_VM_NETWORK_NAME", Text, "", "`nodes.externalVmNetworkName`"),
    Key::new("ENABLE_ALPHA_DUAL_STACK", Text, "", "with any value, `ipFamily` may have two families"),
    Key::new("SKIP_NODE_DELETION", Text, "", "with any value, no Node is deleted because its virtual machine does not exist"),
];

/// The name of a section in YAML.
pub fn yaml_section(section: &str) -> &'static str {
    let known = SECTIONS.iter().find(|(ini, _)| *ini == section);
    known.map_or("", |(_, yaml)| yaml)
}

/// The name of a key in YAML: `caFile` for `ca-file`.
pub fn yaml_key(key: &str) -> String {
    let mut words = key.split('-');
    let mut name = words.next().unwrap_or_default().to_owned();
    for word in words {
        let (first, rest) = word.split_at(1.min(word.len()));
        name += &first.to_ascii_uppercase();
        name += rest;
    }
    name
}

/// The names of the Go program in a section, or its variables.
fn upstream(section: &str) -> Vec<&'static str> {
    let lines = UPSTREAM.lines().filter_map(|line| line.split_once(' '));
    lines.filter(|(of, _)| *of == section).map(|(_, name)| name).collect()
}

/// How many names of the Go program there are, and how many of these have an effect here.
fn counts() -> String {
    let mut table = "| names | of the Go program | of these here |\n|---|---|---|\n".to_owned();
    for (ini, yaml) in SECTIONS {
        let here: Vec<String> = KEYS
            .keys()
            .filter(|(section, _)| *section == ini && !NSX.contains(&yaml))
            .map(|(_, key)| yaml_key(key.name))
            .collect();
        let all = upstream(yaml);
        let known = all.iter().filter(|name| here.iter().any(|key| key == *name)).count();
        let _ = writeln!(table, "| keys of `{yaml}` | {} | {known} |", all.len());
    }
    let all = upstream("variable");
    let known = all
        .iter()
        .filter(|name| VARIABLES.iter().any(|key| key.name == **name))
        .count();
    let _ = writeln!(table, "| variables | {} | {known} |", all.len());
    table
}

/// The page of the reference about the keys and the variables.
#[must_use]
pub fn reference_page() -> String {
    let title = "# Configuration file for vSphere\n";
    let mut page = format!(
        "{title}\nThe names of `vsphere-cloud-controller-manager` 1.36.0, from its source. Those of NSX-T are not supported.\n\n{}",
        counts()
    );
    page += KEYS.page("Configuration file for vSphere").trim_start_matches(title);
    page += "\n## The same in YAML\n\nIn a file that does not begin with a section header, the sections and keys have these names:\n\n";
    page += "| INI | YAML |\n|---|---|\n";
    for (ini, yaml) in SECTIONS {
        let keys = KEYS.keys().filter(|(section, _)| *section == ini);
        let keys: Vec<String> = keys.map(|(_, key)| format!("`{}`", yaml_key(key.name))).collect();
        let _ = writeln!(page, "| `[{ini}]` | `{yaml}`: {} |", keys.join(", "));
    }
    let variables = variables::page("", VARIABLES);
    page += "\n## Environment variables\n\nThey win over the file. `VSPHERE_VCENTER_<id>` names a further vCenter; `VCENTER_<id>_SERVER`, \
             `_PORT`, `_USERNAME`, `_PASSWORD`, `_INSECURE`, `_DATACENTERS`, `_ROUNDTRIP`, `_CAFILE`, `_THUMBPRINT`, `_SECRET_NAME`, \
             `_SECRET_NAMESPACE` and `_IP_FAMILY` are its keys.\n";
    page += variables.trim_start_matches("# \n");
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use std::collections::BTreeSet;

    #[rstest]
    #[case("user", "user")]
    #[case("insecure-flag", "insecureFlag")]
    #[case("tier1-gateway-path", "tier1GatewayPath")]
    #[case("exclude-internal-network-subnet-cidr", "excludeInternalNetworkSubnetCidr")]
    fn names_in_yaml(#[case] ini: &str, #[case] yaml: &str) {
        assert_eq!(yaml_key(ini), yaml);
    }

    #[test]
    fn no_key_of_the_go_program_is_missing_and_none_was_invented() {
        for (ini, yaml) in SECTIONS {
            let keys = KEYS.keys().filter(|(section, _)| *section == ini);
            let ours: BTreeSet<String> = keys.map(|(_, key)| yaml_key(key.name)).collect();
            let theirs: BTreeSet<String> = upstream(yaml).into_iter().map(str::to_owned).collect();
            assert_eq!(ours, theirs, "{yaml}");
        }
        let mut missing = upstream("variable")
            .into_iter()
            .filter(|name| VARIABLES.iter().all(|key| key.name != *name));
        assert!(missing.all(|name| name.starts_with("NSXT_")));
    }

    #[test]
    fn names_are_counted() {
        let counts = counts();
        assert!(counts.contains("| keys of `vcenter` | 12 | 12 |"), "{counts}");
        assert!(counts.contains("| keys of `nsxt` | 12 | 0 |"), "{counts}");
        assert!(counts.contains("| variables | 29 | 20 |"), "{counts}");
    }

    #[test]
    fn every_section_has_a_name_in_yaml() {
        for section in KEYS.0 {
            assert_ne!(yaml_section(section.name), "", "{}", section.name);
        }
        assert_eq!(KEYS.0.len(), SECTIONS.len());
    }
}
