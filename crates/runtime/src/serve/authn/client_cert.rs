//! Authentication by client certificate: the common name is the user, the organizations are the groups.

use super::rejection::Rejection;
use crate::serve::{hash, trust::Authority, user::User};
use prometheus::Histogram;
use rustls::pki_types::CertificateDer;
use std::fmt::Write as _;
use x509_parser::{
    oid_registry::Oid,
    prelude::{AttributeTypeAndValue, X509Certificate},
};

/// The attribute of a subject that is the UID of a user in Kubernetes: 1.3.6.1.4.1.57683.2.
const UID: &[u64] = &[1, 3, 6, 1, 4, 1, 57683, 2];
/// The key of the extra value that identifies the certificate.
const CREDENTIAL_ID: &str = "authentication.kubernetes.io/credential-id";

/// The user of the client certificate, if there is one; records its remaining lifetime.
pub(super) fn authenticate(
    authority: &Authority,
    chain: &[CertificateDer<'_>],
    lifetimes: &Histogram,
) -> Result<Option<User>, Rejection> {
    let Some(leaf) = chain.first() else { return Ok(None) };
    authority.verify(chain).map_err(Rejection::Certificate)?;
    if let Some(left) = parse(leaf)?.validity().time_to_expiration() {
        lifetimes.observe(left.as_seconds_f64());
    }
    user(leaf)
}

/// The user that a certificate names.
fn user(der: &CertificateDer<'_>) -> Result<Option<User>, Rejection> {
    let certificate = parse(der)?;
    let Some(name) = common_name_of(&certificate) else {
        return Ok(None);
    };
    let groups = certificate
        .subject()
        .iter_organization()
        .filter_map(|group| group.as_str().ok());
    Ok(Some(User {
        name,
        uid: uid(&certificate)?,
        groups: groups.map(str::to_owned).collect(),
        extra: [(CREDENTIAL_ID.to_owned(), vec![fingerprint(der)])].into(),
    }))
}

/// The common name of a certificate, which may be empty.
pub(super) fn common_name(der: &CertificateDer<'_>) -> Result<String, Rejection> {
    Ok(common_name_of(&parse(der)?).unwrap_or_default())
}

fn parse<'a>(der: &'a CertificateDer<'_>) -> Result<X509Certificate<'a>, Rejection> {
    let parsed = x509_parser::parse_x509_certificate(der);
    parsed.map(|(_, certificate)| certificate).map_err(Rejection::Malformed)
}

/// The last one counts, as in Go.
fn common_name_of(certificate: &X509Certificate<'_>) -> Option<String> {
    let names = certificate
        .subject()
        .iter_common_name()
        .filter_map(|name| name.as_str().ok());
    names.last().filter(|name| !name.is_empty()).map(str::to_owned)
}

fn uid(certificate: &X509Certificate<'_>) -> Result<String, Rejection> {
    let Ok(oid) = Oid::from(UID) else {
        return Ok(String::new());
    };
    let uids: Vec<_> = certificate
        .subject()
        .iter_by_oid(&oid)
        .map(AttributeTypeAndValue::as_str)
        .collect();
    match uids[..] {
        [] => Ok(String::new()),
        [Ok("")] => Err(Rejection::Uid("the UID in the client certificate is empty")),
        [Ok(uid)] => Ok(uid.to_owned()),
        [Err(_)] => Err(Rejection::Uid("the UID in the client certificate is not text")),
        _ => Err(Rejection::Uid("there is more than one UID in the client certificate")),
    }
}

fn fingerprint(der: &[u8]) -> String {
    hash::sha256(der)
        .iter()
        .fold("X509SHA256=".to_owned(), |mut text, byte| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
    use rstest::rstest;

    fn certificate(subject: &[(&str, &str)]) -> CertificateDer<'static> {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        for (kind, value) in subject {
            let kind = match *kind {
                "CN" => DnType::CommonName,
                "O" => DnType::OrganizationName,
                _ => DnType::CustomDnType(UID.to_vec()),
            };
            params.distinguished_name.push(kind, *value);
        }
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().clone()
    }

    #[rstest]
    #[case::name(&[("CN", "bob")], "bob uid= []")]
    #[case::group(&[("CN", "bob"), ("O", "dev")], "bob uid= [\"dev\"]")]
    #[case::uid(&[("CN", "bob"), ("UID", "7")], "bob uid=7 []")]
    #[case::empty_uid(&[("CN", "bob"), ("UID", "")], "the UID in the client certificate is empty")]
    #[case::no_name(&[("O", "dev")], "no user")]
    fn reads_the_user(#[case] subject: &[(&str, &str)], #[case] expected: &str) {
        let shown = match user(&certificate(subject)) {
            Ok(Some(User { name, uid, groups, .. })) => format!("{name} uid={uid} {groups:?}"),
            Ok(None) => "no user".into(),
            Err(rejection) => rejection.to_string(),
        };
        assert_eq!(shown, expected);
    }

    #[test]
    fn records_the_fingerprint_of_the_certificate() {
        let der = certificate(&[("CN", "bob")]);
        let user = user(&der).unwrap().unwrap();
        let id = &user.extra["authentication.kubernetes.io/credential-id"][0];
        assert_eq!(id.len(), "X509SHA256=".len() + 64);
        assert!(id.starts_with("X509SHA256="));
    }

    #[test]
    fn rejects_garbage() {
        assert!(user(&CertificateDer::from(vec![1, 2, 3])).is_err());
    }
}
