//! The contents of the image.

use base64::{Engine, engine::general_purpose::STANDARD};
use std::{collections::BTreeMap, path::Path};

const LINKS: &str = concat!(
    include_str!("../../../deploy/image/links"),
    include_str!("../../../deploy/image/provider-links")
);
const PASSWD: &str = include_str!("../../../deploy/image/passwd");
const GROUP: &str = include_str!("../../../deploy/image/group");

/// Where the binary is.
pub(super) const BINARY: &str = "/outrigger";

/// Where `OpenShift` mounts the bundle of a cluster. The other places lead here, so that there is only one.
pub(super) const ROOTS: &str = "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem";
const ROOT_LINKS: &[&str] = &["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"];

/// Files by path, in the order in which they are packed.
pub(super) type Layer<'a> = BTreeMap<String, Entry<'a>>;

/// One file of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Entry<'a> {
    Folder { mode: u32 },
    File { content: &'a [u8], mode: u32 },
    Link { to: &'static str },
}

/// What rarely changes, and the binary.
pub(super) fn layers<'a>(program: &'a [u8], roots: &'a str) -> Vec<Layer<'a>> {
    let file = |content: &'a str| Entry::File {
        content: content.as_bytes(),
        mode: 0o644,
    };
    let mut base = Layer::new();
    add(&mut base, "/etc/passwd", file(PASSWD));
    add(&mut base, "/etc/group", file(GROUP));
    add(&mut base, ROOTS, file(roots));
    for link in ROOT_LINKS {
        add(&mut base, link, Entry::Link { to: ROOTS });
    }
    add(&mut base, "/tmp", Entry::Folder { mode: 0o1777 });

    let mut ours = Layer::new();
    let binary = Entry::File {
        content: program,
        mode: 0o755,
    };
    add(&mut ours, BINARY, binary);
    for link in links() {
        add(&mut ours, link, Entry::Link { to: BINARY });
    }
    vec![base, ours]
}

/// The names of the binary.
pub(super) fn links() -> impl Iterator<Item = &'static str> {
    LINKS.lines().map(str::trim).filter(|line| line.starts_with('/'))
}

/// The roots that Mozilla trusts, in PEM: not those of this machine.
pub(super) fn mozilla_roots() -> String {
    let certificates = webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter();
    certificates.map(|certificate| pem(certificate)).collect()
}

fn pem(certificate: &[u8]) -> String {
    let encoded = STANDARD.encode(certificate);
    let mut text = "-----BEGIN CERTIFICATE-----\n".to_owned();
    let mut rest = encoded.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(rest.len().min(64));
        text.push_str(line);
        text.push('\n');
        rest = after;
    }
    text + "-----END CERTIFICATE-----\n"
}

/// Together with the folders that lead to it.
fn add<'a>(layer: &mut Layer<'a>, path: &str, entry: Entry<'a>) {
    let parents = Path::new(path).ancestors().skip(1).filter_map(Path::to_str);
    for parent in parents.filter(|parent| *parent != "/") {
        layer.entry(parent.to_owned()).or_insert(Entry::Folder { mode: 0o755 });
    }
    layer.insert(path.to_owned(), entry);
}
