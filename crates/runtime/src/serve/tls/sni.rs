//! Selection of a certificate by server name: the format of `--tls-sni-cert-key`, and the precedence of several pairs.

use std::{collections::HashMap, path::PathBuf, str::FromStr};
use x509_parser::{extensions::GeneralName, prelude::X509Certificate};

/// Why the value of `--tls-sni-cert-key` is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SniError {
    /// The list of names is empty.
    #[error("empty names list is not allowed")]
    NoNames,
    /// Not two paths.
    #[error("expected comma separated certificate and key file paths")]
    NotAPair,
}

/// A certificate and its key for certain names: `cert,key` or `cert,key:name1,name2`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SniPair {
    /// The certificate chain.
    pub cert: PathBuf,
    /// The key.
    pub key: PathBuf,
    /// The names it is served for; empty means those in the certificate.
    pub names: Vec<String>,
}

impl FromStr for SniPair {
    type Err = SniError;

    fn from_str(value: &str) -> Result<Self, SniError> {
        let (files, names) = match value.split_once(':') {
            Some((_, names)) if names.trim().is_empty() => return Err(SniError::NoNames),
            Some((files, names)) => (files, names.split(',').map(|name| name.trim().to_owned()).collect()),
            None => (value, Vec::new()),
        };
        match files.split(',').map(str::trim).collect::<Vec<_>>()[..] {
            [cert, key] => Ok(Self {
                cert: cert.into(),
                key: key.into(),
                names,
            }),
            _ => Err(SniError::NotAPair),
        }
    }
}

/// The server names of a certificate, without its addresses.
pub(super) fn names_in(certificate: &X509Certificate<'_>) -> Vec<String> {
    let common = certificate
        .subject()
        .iter_common_name()
        .filter_map(|name| name.as_str().ok())
        .last();
    let common = common.filter(|name| is_name(name)).map(str::to_owned);
    let alternatives = certificate.subject_alternative_name().ok().flatten();
    let alternatives = alternatives
        .into_iter()
        .flat_map(|extension| &extension.value.general_names);
    let alternatives = alternatives.filter_map(|name| match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        _ => None,
    });
    common.into_iter().chain(alternatives).collect()
}

/// The pair for each name: explicit names take precedence over names of certificates, earlier pairs over later ones.
pub(super) fn table<'a>(pairs: impl IntoIterator<Item = (&'a [String], Vec<String>)>) -> HashMap<String, usize> {
    let mut explicit = HashMap::new();
    let mut found = HashMap::new();
    for (at, (given, in_certificate)) in pairs.into_iter().enumerate() {
        let (names, into) = if given.is_empty() {
            (in_certificate, &mut found)
        } else {
            (given.to_vec(), &mut explicit)
        };
        for name in names {
            into.entry(name.to_lowercase()).or_insert(at);
        }
    }
    found.extend(explicit);
    found
}

/// The pair for a name: an exact match takes precedence over a wildcard, which stands for one label.
pub(super) fn find(table: &HashMap<String, usize>, name: &str) -> Option<usize> {
    let name = name.to_lowercase();
    let wildcard = || match name.split_once('.') {
        Some((_, rest)) => table.get(&format!("*.{rest}")),
        None => table.get("*"),
    };
    table.get(&name).or_else(wildcard).copied()
}

fn is_name(name: &str) -> bool {
    let labels = name.strip_prefix("*.").unwrap_or(name);
    let is_label = |label: &str| {
        let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let bytes = label.as_bytes();
        let ends = bytes.first().is_some_and(|byte| inner(*byte)) && bytes.last().is_some_and(|byte| inner(*byte));
        ends && bytes.iter().all(|byte| inner(*byte) || *byte == b'-')
    };
    name == "*" || (name.parse::<std::net::IpAddr>().is_err() && labels.split('.').all(is_label))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    // upstream: TestNamedCertKeyArrayFlag
    #[rstest]
    #[case("a pair", "foo.crt,foo.key", Ok("foo.crt foo.key []"))]
    #[case("a pair with spaces", "  foo.crt , foo.key    ", Ok("foo.crt foo.key []"))]
    #[case("one name", "foo.crt,foo.key:abc", Ok("foo.crt foo.key [abc]"))]
    #[case("one name with spaces", "foo.crt,foo.key: abc  ", Ok("foo.crt foo.key [abc]"))]
    #[case("no names", "foo.crt,foo.key:", Err("empty names list is not allowed"))]
    #[case("empty", "", Err("expected comma separated certificate and key file paths"))]
    #[case("blank", "   ", Err("expected comma separated certificate and key file paths"))]
    #[case(
        "three paths",
        "a,b,c",
        Err("expected comma separated certificate and key file paths")
    )]
    #[case("three names", "foo.crt,foo.key:abc,def,ghi", Ok("foo.crt foo.key [abc def ghi]"))]
    #[case("wildcards", "foo.crt,foo.key:*.*.*", Ok("foo.crt foo.key [*.*.*]"))]
    fn reads(#[case] name: &str, #[case] value: &str, #[case] expected: Result<&str, &str>) {
        let read = value.parse::<SniPair>();
        let shown = read
            .map(|pair| {
                format!(
                    "{} {} [{}]",
                    pair.cert.display(),
                    pair.key.display(),
                    pair.names.join(" ")
                )
            })
            .map_err(|error| error.to_string());
        assert_eq!(shown.as_deref().map_err(String::as_str), expected, "{name}");
    }

    /// A row is the pairs, `common name/alternative names:explicit names`, and then the table, as `name=pair`.
    // upstream: TestBuiltNamedCertificates
    #[rstest]
    #[case("empty certs", &[], "")]
    #[case("only one cert", &["test.com/"], "test.com=0")]
    #[case("ip as cns are ignored", &["1.2.3.4/test.com"], "test.com=0")]
    #[case("ips are ignored", &["test.com/1.2.3.4"], "test.com=0")]
    #[case("two certs with the same name", &["test.com/", "test.com/"], "test.com=0")]
    #[case("two certs with different names", &["test2.com/", "test1.com/"], "test1.com=1 test2.com=0")]
    #[case("two certs with the same name, explicit trumps", &["test.com/", "test.com/:test.com"], "test.com=1")]
    #[case("certs with partial overlap; ips are ignored", &["a/a.test.com,test.com", "b/b.test.com,test.com"],
        "a=0 a.test.com=0 b=1 b.test.com=1 test.com=0")]
    #[case("wildcards", &["a/a.test.com,test.com:*.test.com,test.com", "b/b.test.com,test.com:dev.test.com,test.com"],
        "*.test.com=0 dev.test.com=1 test.com=0")]
    fn maps(#[case] name: &str, #[case] pairs: &[&str], #[case] expected: &str) {
        let words = |text: &str| {
            text.split(',')
                .filter(|word| !word.is_empty())
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let pairs: Vec<_> = pairs
            .iter()
            .map(|pair| {
                let (certificate, explicit) = pair.split_once(':').unwrap_or((pair, ""));
                let (common, alternatives) = certificate.split_once('/').unwrap();
                let der = certificate_for(common, &words(alternatives));
                (
                    words(explicit),
                    names_in(&x509_parser::parse_x509_certificate(&der).unwrap().1),
                )
            })
            .collect();
        let table = table(
            pairs
                .iter()
                .map(|(explicit, names)| (explicit.as_slice(), names.clone())),
        );
        let mut shown: Vec<_> = table.iter().map(|(name, pair)| format!("{name}={pair}")).collect();
        shown.sort_by_key(|entry| entry.replace('=', "\0"));
        assert_eq!(shown.join(" "), expected, "{name}");
    }

    #[test]
    fn names_are_not_case_sensitive() {
        let names = ["WWW.test.com".to_owned()];
        assert_eq!(
            table([(&names[..], Vec::new())]),
            [("www.test.com".to_owned(), 0)].into()
        );
    }

    fn certificate_for(common: &str, alternatives: &[String]) -> Vec<u8> {
        let mut params = rcgen::CertificateParams::new(alternatives).unwrap();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(rcgen::DnType::CommonName, common);
        params
            .self_signed(&rcgen::KeyPair::generate().unwrap())
            .unwrap()
            .der()
            .to_vec()
    }

    #[rstest]
    #[case::exact("a.test.com", Some(0))]
    #[case::exact_beats_wildcard("dev.test.com", Some(2))]
    #[case::wildcard("x.test.com", Some(1))]
    #[case::any_case("X.Test.COM", Some(1))]
    #[case::one_label_only("a.b.test.com", None)]
    #[case::nothing("test.com", None)]
    #[case::no_name("", None)]
    fn finds(#[case] name: &str, #[case] expected: Option<usize>) {
        let names = [("a.test.com", 0), ("*.test.com", 1), ("dev.test.com", 2)];
        let table = names.map(|(name, pair)| (name.to_owned(), pair)).into();
        assert_eq!(find(&table, name), expected);
    }
}
