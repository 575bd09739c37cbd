//! TLS versions, cipher suites and curves: the values of the flags, as Go names them, and their rustls counterparts.

use rustls::{
    CipherSuite, NamedGroup, SupportedCipherSuite, SupportedProtocolVersion,
    crypto::{CryptoProvider, ring},
    version::{TLS12, TLS13},
};
use std::sync::Arc;

/// The values of `--tls-min-version`.
pub const VERSIONS: [&str; 4] = ["VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13"];

/// The values of `--tls-cipher-suites` that are not known to be weak.
pub const PREFERRED_CIPHERS: [&str; 15] = [
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
];

/// The values of `--tls-cipher-suites` that are known to be weak.
pub const INSECURE_CIPHERS: [&str; 12] = [
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA",
    "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_RSA_WITH_RC4_128_SHA",
    "TLS_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_RSA_WITH_AES_256_CBC_SHA",
    "TLS_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_RSA_WITH_RC4_128_SHA",
];

/// The values of `--tls-curve-preferences`, with their names in Go.
pub const CURVES: [(i32, &str); 7] = [
    (23, "CurveP256"),
    (24, "CurveP384"),
    (25, "CurveP521"),
    (29, "X25519"),
    (4587, "SecP256r1MLKEM768"),
    (4588, "X25519MLKEM768"),
    (4589, "SecP384r1MLKEM1024"),
];

/// Why a TLS flag is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// Not a TLS version.
    #[error("unknown tls version {0:?}, possible values: {list}", list = VERSIONS.join(", "))]
    Version(String),
    /// Not a cipher suite.
    #[error("cipher suite {0:?} is not supported or does not exist, possible values: {list}", list = all_ciphers())]
    Cipher(String),
    /// Only cipher suites that this program does not have.
    #[error("none of the cipher suites {0} is available, available are: {list}", list = our_ciphers())]
    NoCipher(String),
    /// Not a curve.
    #[error("unknown curve {0}, possible values: {list}", list = all_curves())]
    Curve(i32),
    /// A curve that is listed twice.
    #[error("curve {0} is listed more than once")]
    DuplicateCurve(i32),
    /// Only curves that this program does not have.
    #[error("none of the curves {0} is available, available are: 23 (CurveP256), 24 (CurveP384), 29 (X25519)")]
    NoCurve(String),
}

/// TLS versions, cipher suites and curves.
#[derive(Debug, Clone)]
pub struct Profile {
    pub(super) provider: Arc<CryptoProvider>,
    pub(super) versions: Vec<&'static SupportedProtocolVersion>,
    /// Settings that are not applied as requested, for the log.
    pub warnings: Vec<String>,
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            provider: Arc::new(ring::default_provider()),
            versions: vec![&TLS13, &TLS12],
            warnings: Vec::new(),
        }
    }
}

impl Profile {
    /// Parses `--tls-min-version`, `--tls-cipher-suites` and `--tls-curve-preferences`; empty means the default.
    ///
    /// As in Go, the suites of TLS 1.3 are always on, and the list chooses among those of TLS 1.2.
    ///
    /// # Errors
    /// All problems of the values.
    pub fn parse(min_version: &str, ciphers: &[String], curves: &[i32]) -> Result<Self, Vec<ProfileError>> {
        let mut profile = Self::default();
        let mut errors = Vec::new();
        errors.extend(profile.set_version(min_version).err());
        errors.extend(profile.set_ciphers(ciphers).err().unwrap_or_default());
        errors.extend(profile.set_curves(curves).err().unwrap_or_default());
        if errors.is_empty() { Ok(profile) } else { Err(errors) }
    }

    fn set_version(&mut self, name: &str) -> Result<(), ProfileError> {
        match name {
            "" | "VersionTLS12" => {}
            "VersionTLS13" => self.versions.retain(|version| *version == &TLS13),
            "VersionTLS10" | "VersionTLS11" => {
                self.warnings
                    .push(format!("{name} is too old to be served, the minimum is VersionTLS12"));
            }
            other => return Err(ProfileError::Version(other.to_owned())),
        }
        Ok(())
    }

    fn set_ciphers(&mut self, names: &[String]) -> Result<(), Vec<ProfileError>> {
        if names.is_empty() {
            return Ok(());
        }
        let unknown = names
            .iter()
            .filter(|name| !is_cipher(name))
            .cloned()
            .map(ProfileError::Cipher);
        let unknown: Vec<_> = unknown.collect();
        if !unknown.is_empty() {
            return Err(unknown);
        }
        let ours = names.iter().filter_map(|name| find_cipher(name));
        let chosen: Vec<_> = ours.map(|suite| suite.suite()).collect();
        if chosen.is_empty() {
            return Err(vec![ProfileError::NoCipher(names.join(", "))]);
        }
        for name in names.iter().filter(|name| find_cipher(name).is_none()) {
            self.warnings
                .push(format!("cipher suite {name} is not available and left out"));
        }
        self.choose_suites(&chosen);
        Ok(())
    }

    fn choose_suites(&mut self, chosen: &[CipherSuite]) {
        let is_13 = |suite: &SupportedCipherSuite| matches!(suite, SupportedCipherSuite::Tls13(_));
        let suites = &mut Arc::make_mut(&mut self.provider).cipher_suites;
        suites.retain(|suite| is_13(suite) || chosen.contains(&suite.suite()));
        if suites.iter().all(is_13) {
            self.versions.retain(|version| *version == &TLS13);
        }
    }

    fn set_curves(&mut self, ids: &[i32]) -> Result<(), Vec<ProfileError>> {
        if ids.is_empty() {
            return Ok(());
        }
        let mut errors = Vec::new();
        for (at, id) in ids.iter().enumerate() {
            if CURVES.iter().all(|(known, _)| known != id) {
                errors.push(ProfileError::Curve(*id));
            } else if ids[..at].contains(id) {
                errors.push(ProfileError::DuplicateCurve(*id));
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let groups: Vec<_> = ids.iter().filter_map(|id| find_curve(*id)).collect();
        if groups.is_empty() {
            let listed: Vec<_> = ids.iter().map(ToString::to_string).collect();
            return Err(vec![ProfileError::NoCurve(listed.join(", "))]);
        }
        for id in ids.iter().filter(|id| find_curve(**id).is_none()) {
            self.warnings.push(format!("curve {id} is not available and left out"));
        }
        Arc::make_mut(&mut self.provider).kx_groups = groups;
        Ok(())
    }
}

fn is_cipher(name: &str) -> bool {
    PREFERRED_CIPHERS.contains(&name) || INSECURE_CIPHERS.contains(&name)
}

/// The cipher suite of that name: rustls calls the suites of TLS 1.3 `TLS13_…`, and Kubernetes has two names for `ChaCha20`.
fn find_cipher(name: &str) -> Option<SupportedCipherSuite> {
    let sought = if name.ends_with("_CHACHA20_POLY1305") {
        format!("{name}_SHA256")
    } else {
        name.to_owned()
    };
    ring::ALL_CIPHER_SUITES
        .iter()
        .copied()
        .find(|suite| cipher_name(*suite) == sought)
}

fn cipher_name(suite: SupportedCipherSuite) -> String {
    format!("{:?}", suite.suite()).replace("TLS13_", "TLS_")
}

fn find_curve(id: i32) -> Option<&'static dyn rustls::crypto::SupportedKxGroup> {
    let sought = NamedGroup::from(u16::try_from(id).ok()?);
    ring::ALL_KX_GROUPS.iter().copied().find(|group| group.name() == sought)
}

fn all_ciphers() -> String {
    let mut names: Vec<_> = PREFERRED_CIPHERS.into_iter().chain(INSECURE_CIPHERS).collect();
    names.sort_unstable();
    names.join(", ")
}

fn our_ciphers() -> String {
    let names: Vec<_> = ring::ALL_CIPHER_SUITES
        .iter()
        .map(|suite| cipher_name(*suite))
        .collect();
    names.join(", ")
}

fn all_curves() -> String {
    CURVES.map(|(id, name)| format!("{id} ({name})")).join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    /// Versions, suites and curves in one line; the suites of TLS 1.3, which are always on, are left out.
    fn show(profile: &Profile) -> String {
        let versions: Vec<_> = profile
            .versions
            .iter()
            .map(|version| format!("{:?}", version.version))
            .collect();
        let suites = profile
            .provider
            .cipher_suites
            .iter()
            .filter(|suite| suite.version() == &TLS12);
        let suites: Vec<_> = suites.map(|suite| cipher_name(*suite)).collect();
        let curves: Vec<_> = profile
            .provider
            .kx_groups
            .iter()
            .map(|group| format!("{:?}", group.name()))
            .collect();
        format!("{} | {} | {}", versions.join(" "), suites.join(" "), curves.join(" "))
    }

    fn list(names: &str) -> Vec<String> {
        names.split_whitespace().map(str::to_owned).collect()
    }

    const RSA_128: &str = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256";
    const CHACHA: &str = "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305";

    #[rstest]
    #[case::twelve("VersionTLS12", "", &[], "TLSv1_3 TLSv1_2", "")]
    #[case::thirteen("VersionTLS13", "", &[], "TLSv1_3 |", "")]
    #[case::ten("VersionTLS10", "", &[], "TLSv1_3 TLSv1_2", "VersionTLS10 is too old to be served, the minimum is VersionTLS12")]
    #[case::eleven("VersionTLS11", "", &[], "TLSv1_3 TLSv1_2", "VersionTLS11 is too old to be served, the minimum is VersionTLS12")]
    #[case::one_suite("", RSA_128, &[], "TLSv1_3 TLSv1_2 | TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 |", "")]
    #[case::legacy_name("", CHACHA, &[], "TLSv1_3 TLSv1_2 | TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 |", "")]
    #[case::one_left_out("", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 TLS_RSA_WITH_RC4_128_SHA", &[],
        "| TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 |", "cipher suite TLS_RSA_WITH_RC4_128_SHA is not available and left out")]
    #[case::only_13("", "TLS_AES_128_GCM_SHA256", &[], "TLSv1_3 |", "")]
    #[case::curves_in_order("", "", &[24, 29], "| secp384r1 X25519", "")]
    #[case::curve_left_out("", "", &[4588, 23], "| secp256r1", "curve 4588 is not available and left out")]
    fn takes(
        #[case] version: &str,
        #[case] ciphers: &str,
        #[case] curves: &[i32],
        #[case] shown: &str,
        #[case] warning: &str,
    ) {
        let profile = Profile::parse(version, &list(ciphers), curves).unwrap();
        assert!(
            show(&profile).contains(shown),
            "{shown:?} is not in {:?}",
            show(&profile)
        );
        assert_eq!(profile.warnings.join("; "), warning);
    }

    #[rstest]
    #[case::version("TLS12", "", &[], "unknown tls version \"TLS12\", possible values: VersionTLS10,")]
    #[case::cipher("", "NONE", &[], "cipher suite \"NONE\" is not supported or does not exist, possible values: TLS_AES_128_GCM_SHA256,")]
    #[case::none_left("", "TLS_RSA_WITH_RC4_128_SHA", &[], "none of the cipher suites TLS_RSA_WITH_RC4_128_SHA is available, available are:")]
    #[case::curve_unknown("", "", &[22], "unknown curve 22, possible values: 23 (CurveP256),")]
    #[case::curve_negative("", "", &[-1], "unknown curve -1,")]
    #[case::curve_too_big("", "", &[65559], "unknown curve 65559,")]
    #[case::curve_twice("", "", &[23, 24, 23], "curve 23 is listed more than once")]
    #[case::no_curve_left("", "", &[25, 4588], "none of the curves 25, 4588 is available")]
    #[case::all_at_once("x", "y", &[0], "unknown tls version \"x\", possible values: VersionTLS10, VersionTLS11, VersionTLS12, VersionTLS13; cipher suite \"y\"")]
    fn refuses(#[case] version: &str, #[case] ciphers: &str, #[case] curves: &[i32], #[case] message: &str) {
        let errors = Profile::parse(version, &list(ciphers), curves).unwrap_err();
        let text: Vec<_> = errors.iter().map(ToString::to_string).collect();
        assert!(text.join("; ").starts_with(message), "{text:?}");
    }

    #[test]
    fn accepts_every_name_of_go() {
        let names: Vec<_> = PREFERRED_CIPHERS
            .into_iter()
            .chain(INSECURE_CIPHERS)
            .map(str::to_owned)
            .collect();
        let profile = Profile::parse("", &names, &CURVES.map(|(id, _)| id)).unwrap();
        assert_eq!(profile.provider.cipher_suites.len(), ring::ALL_CIPHER_SUITES.len());
        // There are eleven names for the nine suites of rustls, because two of them have two names.
        assert_eq!(profile.warnings.len(), names.len() - 11 + 4);
    }
}
