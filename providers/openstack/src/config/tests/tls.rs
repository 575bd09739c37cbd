//! Certificates.

use super::*;
use rstest::rstest;

const CA: &str = "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n";

fn shelf() -> Shelf {
    Shelf::default()
        .with("/ca.pem", CA)
        .with("/empty.pem", "nothing")
        .with("/c.pem", "certificate")
        .with("/k.pem", "hidden")
        .with_unreadable("/locked.pem")
}

fn tls(lines: &str) -> Result<Tls, String> {
    let loaded = read(&format!("[Global]\n{LOGIN}{lines}"), &shelf(), &environment(), None)?;
    assert_eq!(loaded.files, loaded.config.global.tls.files);
    Ok(loaded.config.global.tls)
}

#[test]
fn files_are_read() {
    let tls =
        tls("ca-file=/ca.pem\ncert-file=/c.pem\nkey-file=/k.pem\ncafilecontents=ignored\ntls-insecure=true").unwrap();
    assert_eq!(tls.authorities.as_deref(), Some(CA.as_bytes()));
    let identity = tls.identity.as_ref().unwrap();
    assert_eq!(identity.certificate, b"certificate");
    assert_eq!(identity.key.expose_secret(), "hidden");
    assert_eq!(tls.verification, Verification::Off);
    assert_eq!(tls.files, ["/ca.pem", "/c.pem", "/k.pem"].map(PathBuf::from));
    assert!(!format!("{tls:?}").contains("hidden"));
}

#[test]
fn authorities_in_the_file_itself() {
    let tls = tls(&format!("cafilecontents=\"{}\"", CA.replace('\n', "\\n"))).unwrap();
    assert_eq!(tls.authorities.as_deref(), Some(CA.as_bytes()));
    assert_eq!(tls.files, Vec::<PathBuf>::new());
}

#[rstest]
#[case(
    "ca-file=/none.pem",
    "ca-file: /none.pem is not there: correct the path or mount the file"
)]
#[case("ca-file=/locked.pem", "ca-file: /locked.pem cannot be read: correct its rights")]
#[case(
    "ca-file=/empty.pem",
    "ca-file: /empty.pem has no certificate: it must be in PEM, with -----BEGIN CERTIFICATE-----"
)]
#[case(
    "cafilecontents=x",
    "cafilecontents has no certificate: it must be in PEM, with -----BEGIN CERTIFICATE-----"
)]
#[case(
    "cert-file=/c.pem\nkey-file=/none.pem",
    "key-file: /none.pem is not there: correct the path or mount the file"
)]
fn refused(#[case] lines: &str, #[case] error: &str) {
    assert_eq!(tls(lines).unwrap_err(), error);
}
