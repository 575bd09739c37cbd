//! Self-signed certificates, if the user provides none.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use secrecy::SecretString;
use std::net::IpAddr;

/// The validity of a self-signed certificate.
pub(super) const VALID_DAYS: i64 = 365;

/// A certificate with the authority that signed it, and its key, in PEM.
pub(super) struct Generated {
    pub(super) cert: String,
    pub(super) key: SecretString,
}

/// Creates a certificate for `localhost`, `127.0.0.1` and the listen address. The key of its authority is not kept.
///
/// # Errors
/// If the random source fails.
pub(super) fn generate(address: IpAddr) -> Result<Generated, rcgen::Error> {
    let authority = CertifiedIssuer::self_signed(authority()?, KeyPair::generate()?)?;
    let key = KeyPair::generate()?;
    let leaf = leaf(address)?.signed_by(&key, &authority)?;
    Ok(Generated {
        cert: leaf.pem() + &authority.pem(),
        key: key.serialize_pem().into(),
    })
}

fn authority() -> Result<CertificateParams, rcgen::Error> {
    let mut params = params(Vec::new(), "localhost-ca")?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    Ok(params)
}

fn leaf(address: IpAddr) -> Result<CertificateParams, rcgen::Error> {
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
    if !address.is_unspecified() && !names.contains(&address.to_string()) {
        names.push(address.to_string());
    }
    let mut params = params(names, "localhost")?;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyEncipherment];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    Ok(params)
}

fn params(names: Vec<String>, common: &str) -> Result<CertificateParams, rcgen::Error> {
    let now = jiff::Timestamp::now();
    let mut params = CertificateParams::new(names)?;
    // Unique, because clients confuse authorities of the same name.
    params
        .distinguished_name
        .push(DnType::CommonName, format!("{common}@{}", now.as_second()));
    let ((year, month, day), (end_year, end_month, end_day)) = (date(now, -1), date(now, VALID_DAYS));
    params.not_before = rcgen::date_time_ymd(year, month, day);
    params.not_after = rcgen::date_time_ymd(end_year, end_month, end_day);
    Ok(params)
}

fn date(now: jiff::Timestamp, days: i64) -> (i32, u8, u8) {
    let at = jiff::Timestamp::from_second(now.as_second() + days * 24 * 60 * 60).unwrap_or(now);
    let date = at.to_zoned(jiff::tz::TimeZone::UTC).date();
    let number = |value: i8| u8::try_from(value).unwrap_or(1);
    (date.year().into(), number(date.month()), number(date.day()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use rustls::pki_types::{CertificateDer, pem::PemObject};
    use x509_parser::prelude::GeneralName;

    #[rstest]
    #[case::all_addresses("0.0.0.0", "localhost 127.0.0.1")]
    #[case::loopback("127.0.0.1", "localhost 127.0.0.1")]
    #[case::one_address("10.1.2.3", "localhost 127.0.0.1 10.1.2.3")]
    #[case::six("2001:db8::1", "localhost 127.0.0.1 2001:db8::1")]
    fn is_made_for(#[case] address: &str, #[case] names: &str) {
        let generated = generate(address.parse().unwrap()).unwrap();
        let ders: Vec<_> = CertificateDer::pem_slice_iter(generated.cert.as_bytes())
            .map(Result::unwrap)
            .collect();
        let (leaf, authority) = (parse(&ders[0]), parse(&ders[1]));
        let alternatives = leaf
            .subject_alternative_name()
            .unwrap()
            .unwrap()
            .value
            .general_names
            .iter();
        let shown: Vec<_> = alternatives.map(show).collect();
        assert_eq!(shown.join(" "), names);
        assert!(authority.is_ca() && !leaf.is_ca());
        assert!(leaf.validity().is_valid() && authority.validity().is_valid());
        let days = (leaf.validity().not_after.timestamp() - leaf.validity().not_before.timestamp()) / 86400;
        assert_eq!(days, VALID_DAYS + 1);
    }

    fn parse<'a>(der: &'a CertificateDer<'_>) -> x509_parser::prelude::X509Certificate<'a> {
        x509_parser::parse_x509_certificate(der).unwrap().1
    }

    fn show(name: &GeneralName<'_>) -> String {
        match name {
            GeneralName::DNSName(name) => (*name).to_owned(),
            GeneralName::IPAddress(bytes) => match <[u8; 4]>::try_from(*bytes) {
                Ok(four) => IpAddr::from(four).to_string(),
                Err(_) => IpAddr::from(<[u8; 16]>::try_from(*bytes).unwrap()).to_string(),
            },
            other => format!("{other:?}"),
        }
    }
}
