//! Versions of Kubernetes.

use std::fmt;

/// A version of Kubernetes. Only the numbers are compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// 1 of 1.25.
    pub major: u32,
    /// 25 of 1.25.
    pub minor: u32,
    text: String,
}

impl Version {
    /// Reads `v1.25.15`, `1.25`, `v1.25.15+build` and the like.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().trim_start_matches('v');
        let mut numbers = text.split(['.', '+', '-']);
        let major = numbers.next()?.parse().ok()?;
        let minor = numbers.next()?.parse().ok()?;
        let text = text.to_owned();
        Some(Self { major, minor, text })
    }

    /// The version in the tag of an image, if the tag is one.
    #[must_use]
    pub fn of_image(image: &str) -> Option<Self> {
        let without_digest = image.split('@').next()?;
        let (_, tag) = without_digest.rsplit_once(':')?;
        Self::parse(tag)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("v1.25.15", Some((1, 25)))]
    #[case("1.30", Some((1, 30)))]
    #[case("v1.24.0+9546431", Some((1, 24)))]
    #[case("v1.31-rc", Some((1, 31)))]
    #[case("latest", None)]
    #[case("", None)]
    fn reads(#[case] text: &str, #[case] expected: Option<(u32, u32)>) {
        let read = Version::parse(text).map(|version| (version.major, version.minor));
        assert_eq!(read, expected);
    }

    #[rstest]
    #[case("registry.k8s.io/kube-controller-manager:v1.25.15", Some("1.25.15"))]
    #[case("registry.example.com:5000/kcm:v1.25.3@sha256:0123", Some("1.25.3"))]
    #[case("quay.io/openshift-release-dev/ocp@sha256:0123", None)]
    #[case("registry.example.com:5000/kcm", None)]
    fn reads_the_tag_of_an_image(#[case] image: &str, #[case] expected: Option<&str>) {
        let read = Version::of_image(image).map(|version| version.to_string());
        assert_eq!(read.as_deref(), expected);
    }
}
