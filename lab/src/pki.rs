//! The certificates of a control plane.

use anyhow::{Context, Result};
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose,
};
use std::{fs, path::Path};

/// Writes a whole set: `ca`, `front-proxy-ca`, `apiserver`, `admin`, `front-proxy-client` (each `.crt` and `.key`) and
/// `sa.key`, `sa.pub`. The API server has this address, beside those it always has.
pub(crate) fn create(folder: &Path, address: &str) -> Result<()> {
    fs::create_dir_all(folder)?;
    for ca in ["ca", "front-proxy-ca"] {
        let key = KeyPair::generate()?;
        write(folder, ca, &ca_params(ca).self_signed(&key)?, &key)?;
    }
    let key = KeyPair::generate()?;
    fs::write(folder.join("sa.key"), key.serialize_pem())?;
    fs::write(folder.join("sa.pub"), key.public_key_pem())?;

    let names = [
        "localhost",
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "127.0.0.1",
        "10.96.0.1",
    ];
    let mut names = names.to_vec();
    if !names.contains(&address) {
        names.push(address);
    }
    let names: Vec<_> = names.into_iter().map(str::to_owned).collect();
    let mut server = CertificateParams::new(names)?;
    server.distinguished_name = subject("kube-apiserver", &[]);
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    issue(folder, "ca", "apiserver", &server)?;
    client(folder, "ca", "admin", "outrigger-lab-admin", &["system:masters"])?;
    client(
        folder,
        "front-proxy-ca",
        "front-proxy-client",
        "front-proxy-client",
        &[],
    )
}

/// Writes `<file>.crt` and `<file>.key` of a client, signed by `ca`.
pub(crate) fn client(folder: &Path, ca: &str, file: &str, user: &str, groups: &[&str]) -> Result<()> {
    let mut params = CertificateParams::default();
    params.distinguished_name = subject(user, groups);
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    issue(folder, ca, file, &params)
}

fn issue(folder: &Path, ca: &str, file: &str, params: &CertificateParams) -> Result<()> {
    let pem = fs::read_to_string(folder.join(format!("{ca}.key"))).with_context(|| format!("no {ca}.key"))?;
    let issuer = Issuer::new(ca_params(ca), KeyPair::from_pem(&pem)?);
    let key = KeyPair::generate()?;
    write(folder, file, &params.signed_by(&key, &issuer)?, &key)
}

fn write(folder: &Path, file: &str, certificate: &Certificate, key: &KeyPair) -> Result<()> {
    fs::write(folder.join(format!("{file}.crt")), certificate.pem())?;
    fs::write(folder.join(format!("{file}.key")), key.serialize_pem())?;
    Ok(())
}

fn ca_params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = subject(&format!("outrigger-lab-{name}"), &[]);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::CrlSign,
        KeyUsagePurpose::DigitalSignature,
    ];
    params
}

fn subject(user: &str, groups: &[&str]) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, user);
    for group in groups {
        name.push(DnType::OrganizationName, *group);
    }
    name
}
