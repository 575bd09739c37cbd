//! The configuration of every process, written for one folder and one set of ports.

use super::{
    PASSWORD,
    catalog::{Ports, Region, Service},
    content::Amphora,
    processes::Place,
    writes,
};
use anyhow::{Context, Result, bail};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

/// Sockets have names of at most 107 bytes, and ours of at most 24.
const LONGEST_FOLDER: usize = 80;

const COMMON: &str = include_str!("../../openstack/etc/common.conf");
const CLIENT: &str = include_str!("../../openstack/etc/client.conf");
const SERVER: &str = include_str!("../../openstack/etc/nginx-server.conf");
const SERVICES: [(&str, &str); 6] = [
    ("keystone.conf", include_str!("../../openstack/etc/keystone.conf")),
    ("nova.conf", include_str!("../../openstack/etc/nova.conf")),
    ("neutron.conf", include_str!("../../openstack/etc/neutron.conf")),
    ("placement.conf", include_str!("../../openstack/etc/placement.conf")),
    ("glance-api.conf", include_str!("../../openstack/etc/glance-api.conf")),
    ("octavia.conf", include_str!("../../openstack/etc/octavia.conf")),
];
const OTHERS: [(&str, &str); 3] = [
    ("etc/nginx.conf", include_str!("../../openstack/etc/nginx.conf")),
    ("etc/rabbitmq.conf", include_str!("../../openstack/etc/rabbitmq.conf")),
    ("clouds.yaml", include_str!("../../openstack/etc/clouds.yaml")),
];
/// Creates the folder, for this user only: its database needs no password.
pub(super) fn make_folder(folder: &Path) -> Result<PathBuf> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
    let folder = folder.canonicalize()?;
    if folder.as_os_str().len() > LONGEST_FOLDER {
        bail!(
            "{} is too long a name for the sockets in it: set TMPDIR to a shorter one",
            folder.display()
        );
    }
    Ok(folder)
}

/// Writes everything that the processes of one start read.
pub(super) fn write(place: Place<'_>, ports: &Ports, amphora: &Amphora) -> Result<()> {
    let Place { folder, venv, .. } = place;
    let path = folder.display().to_string();
    let (venv, amqp, memcached) = (
        venv.display().to_string(),
        ports.amqp.to_string(),
        ports.memcached.to_string(),
    );
    let keystone = |region| format!("{}/v3", ports.url(Service::Keystone, region));
    let (plain, tls, servers) = (keystone(Region::Plain), keystone(Region::Tls), servers(ports, &path)?);
    let client = render(CLIENT, &[("keystone", &plain), ("password", PASSWORD)])?;
    let values = [
        ("folder", path.as_str()),
        ("venv", &venv),
        ("amqp", &amqp),
        ("memcached", &memcached),
        ("keystone", &plain),
        ("keystone_tls", &tls),
        ("password", PASSWORD),
        ("client", &client),
        ("servers", &servers),
        ("amphora_flavor", &amphora.flavor),
        ("amphora_network", &amphora.network),
        ("amphora_security_group", &amphora.security_group),
        ("amphora_image_owner", &amphora.image_owner),
    ];
    for made in [
        "etc",
        "lock",
        "nginx",
        "balancers/delays",
        "balancers/failures",
        writes::FOLDER,
        "rabbit",
        "data/nova",
    ] {
        fs::create_dir_all(folder.join(made))?;
    }
    for (name, text) in SERVICES {
        fs::write(
            folder.join("etc").join(name),
            render(&format!("{COMMON}{text}"), &values)?,
        )?;
    }
    for (name, text) in OTHERS {
        fs::write(folder.join(name), render(text, &values)?)?;
    }
    write_certificates(&folder.join("pki"))
}

/// The doors of every service.
fn servers(ports: &Ports, folder: &str) -> Result<String> {
    let server = |service: &Service| {
        let port = |region| ports.of(*service, region).to_string();
        let (plain, tls) = (port(Region::Plain), port(Region::Tls));
        let socket = |process: &&str| format!("    server unix:{folder}/{process}.sock;\n");
        let sockets: String = service.processes().iter().map(socket).collect();
        let values = [
            ("sockets", sockets.as_str()),
            ("name", service.name()),
            ("plain", &plain),
            ("tls", &tls),
        ];
        render(SERVER, &values)
    };
    Service::ALL.iter().map(server).collect()
}

fn write_certificates(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    let mut ca = CertificateParams::default();
    ca.distinguished_name
        .push(DnType::CommonName, "outrigger-lab-openstack-ca");
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    ca.key_usages = vec![
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::CrlSign,
        KeyUsagePurpose::DigitalSignature,
    ];
    let ca_key = KeyPair::generate()?;
    fs::write(folder.join("ca.crt"), ca.self_signed(&ca_key)?.pem())?;
    fs::write(folder.join("ca.key"), ca_key.serialize_pem())?;
    let server = CertificateParams::new(vec!["localhost".to_owned(), "127.0.0.1".to_owned()])?;
    let key = KeyPair::generate()?;
    let certificate = server.signed_by(&key, &Issuer::new(ca, ca_key))?.pem();
    fs::write(
        folder.join("server.pem"),
        format!("{certificate}{}", key.serialize_pem()),
    )?;
    fs::write(folder.join("server.crt"), certificate)?;
    fs::write(folder.join("server.key"), key.serialize_pem())?;
    Ok(())
}

/// Puts the values in for `@name@`.
fn render(text: &str, values: &[(&str, &str)]) -> Result<String> {
    let filled = values.iter().fold(text.to_owned(), |text, (name, value)| {
        text.replace(&format!("@{name}@"), value)
    });
    let mut words = filled.split(|letter: char| letter.is_whitespace() || "/:;\"".contains(letter));
    match words.find(|word| word.len() > 2 && word.starts_with('@') && word.ends_with('@')) {
        Some(word) => bail!("a configuration file of the lab has the unknown {word}"),
        None => Ok(filled),
    }
}

/// The configuration of the client that creates the first objects.
pub(super) fn sources() -> impl Iterator<Item = &'static str> {
    SERVICES.iter().map(|(_, text)| *text).chain([COMMON, CLIENT])
}
