//! Which registry an image is in.

use regex_lite::Regex;
use std::sync::LazyLock;

/// The hosts of the public registry.
const PUBLIC: [&str; 2] = ["public.ecr.aws", "ecr-public.aws.com"];

/// The host of a private registry: account, form, region and the suffix of the partition.
static PRIVATE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let suffixes = r"amazonaws\.(com(\.cn)?|eu)|on\.(aws|amazonwebservices\.com\.cn)|sc2s\.sgov\.gov|c2s\.ic\.gov|cloud\.adc-e\.uk|csp\.hci\.ic\.gov";
    let host = format!(r"^\d{{12}}\.dkr[.-]ecr(-fips)?\.([a-zA-Z0-9][a-zA-Z0-9_-]*)\.({suffixes})$");
    Regex::new(&host).ok()
});

/// A registry that AWS gives credentials for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Registry {
    /// The public one, which is in one region only.
    Public,
    /// A private one in the region that its host names. A mirror with a name of its own names none.
    Private(Option<String>),
}

impl Registry {
    /// The registry at this host.
    pub fn at(host: &str) -> Self {
        if PUBLIC.contains(&host) {
            return Self::Public;
        }
        let parts = PRIVATE.as_ref().and_then(|pattern| pattern.captures(host));
        Self::Private(parts.and_then(|parts| Some(parts.get(2)?.as_str().to_owned())))
    }
}

/// The host of an image, without the port.
///
/// # Errors
/// One sentence, if the image has none.
pub fn host(image: &str) -> Result<&str, String> {
    let refuse = |why| Err(format!("the image {image:?} {why}"));
    let rest = image.split_once("://").map_or(image, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let server = authority.rsplit_once('@').map_or(authority, |(_, server)| server);
    let (host, port) = server.split_once(':').unwrap_or((server, ""));
    if !port.chars().all(|digit| digit.is_ascii_digit()) {
        return refuse("has no port after the colon of its host");
    }
    let is_allowed = |letter: char| letter.is_alphanumeric() || "-._~%".contains(letter);
    if host.is_empty() || !host.chars().all(is_allowed) {
        return refuse("does not begin with the host of a registry");
    }
    Ok(host)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(
        "123456789123.dkr.ecr.us-west-2.amazonaws.com/foo/bar:1.0",
        "123456789123.dkr.ecr.us-west-2.amazonaws.com"
    )]
    #[case("public.ecr.aws/a/b@sha256:0123", "public.ecr.aws")]
    #[case("http://foobar", "foobar")]
    #[case("mirror.example.com:5000/a:b", "mirror.example.com")]
    #[case("foobar", "foobar")]
    #[case("Mirror.example.com/a", "Mirror.example.com")]
    fn hosts(#[case] image: &str, #[case] expected: &str) {
        assert_eq!(host(image), Ok(expected));
    }

    #[rstest]
    #[case("", "the image \"\" does not begin with the host of a registry")]
    #[case("foobar  ", "the image \"foobar  \" does not begin with the host of a registry")]
    #[case("/a/b", "the image \"/a/b\" does not begin with the host of a registry")]
    #[case("nginx:latest", "the image \"nginx:latest\" has no port after the colon of its host")]
    fn images_without_a_host(#[case] image: &str, #[case] expected: &str) {
        assert_eq!(host(image), Err(expected.to_owned()));
    }

    #[rstest]
    #[case("public.ecr.aws", "public")]
    #[case("ecr-public.aws.com", "public")]
    #[case("123456789123.dkr.ecr.us-west-2.amazonaws.com", "us-west-2")]
    #[case::china("123456789123.dkr.ecr.cn-north-1.amazonaws.com.cn", "cn-north-1")]
    #[case::gov_cloud("123456789123.dkr.ecr.us-gov-east-1.amazonaws.com", "us-gov-east-1")]
    #[case::iso("123456789123.dkr.ecr.us-iso-east-1.c2s.ic.gov", "us-iso-east-1")]
    #[case::iso_b("123456789012.dkr.ecr.us-isob-east-1.sc2s.sgov.gov", "us-isob-east-1")]
    #[case::iso_e("123456789012.dkr.ecr.eu-isoe-west-1.cloud.adc-e.uk", "eu-isoe-west-1")]
    #[case::iso_f("123456789012.dkr.ecr.us-isof-east-1.csp.hci.ic.gov", "us-isof-east-1")]
    #[case::sovereign("123456789123.dkr.ecr.eusc-de-east-1.amazonaws.eu", "eusc-de-east-1")]
    #[case::fips("123456789012.dkr.ecr-fips.lala-land-1.amazonaws.com", "lala-land-1")]
    #[case::dual_stack("123456789123.dkr-ecr.us-west-2.on.aws", "us-west-2")]
    #[case::dual_stack_fips("123456789123.dkr-ecr-fips.us-gov-east-1.on.aws", "us-gov-east-1")]
    #[case::dual_stack_china("123456789123.dkr-ecr.cn-north-1.on.amazonwebservices.com.cn", "cn-north-1")]
    #[case::mirror("mirror.example.com", "none")]
    #[case::account_too_long("1234567890123.dkr.ecr.lala-land-1.amazonaws.com", "none")]
    #[case::account_too_short("12345678901.dkr.ecr.lala-land-1.amazonaws.com", "none")]
    #[case::no_account("12345678901A.dkr.ecr.lala-land-1.amazonaws.com", "none")]
    #[case::no_region("123456789012.dkr.ecr.lala-land-1!.amazonaws.com", "none")]
    #[case::another_start("123456789012.dkr.ecr.#lala-land-1.amazonaws.com", "none")]
    #[case::another_domain("123456789012.dkr.ecr.lala-land-1.amazonaws.hacker.com", "none")]
    #[case::another_suffix("123456789012.dkr.ecr.us-iso-east-1.amazonaws.gov", "none")]
    #[case::another_service("123456789012.dog.ecr.lala-land-1.amazonaws.com", "none")]
    #[case::too_short("123456789012.lala-land-1.amazonaws.com", "none")]
    #[case::a_prefix("x.123456789012.dkr.ecr.lala-land-1.amazonaws.com", "none")]
    fn registries(#[case] host: &str, #[case] expected: &str) {
        let found = match Registry::at(host) {
            Registry::Public => "public".to_owned(),
            Registry::Private(region) => region.unwrap_or_else(|| "none".to_owned()),
        };
        assert_eq!(found, expected);
    }
}
