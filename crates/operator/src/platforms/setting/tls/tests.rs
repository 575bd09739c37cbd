use super::*;
use rstest::rstest;

// The suites of the default profile.
const NINE: &str = "TLS_AES_128_GCM_SHA256,TLS_AES_256_GCM_SHA384,TLS_CHACHA20_POLY1305_SHA256,\
                    TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,\
                    TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,\
                    TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256";
const TWELVE_MORE: &str = "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256,TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256,\
                           TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA,TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA,\
                           TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA,TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA,\
                           TLS_RSA_WITH_AES_128_GCM_SHA256,TLS_RSA_WITH_AES_256_GCM_SHA384,\
                           TLS_RSA_WITH_AES_128_CBC_SHA256,TLS_RSA_WITH_AES_128_CBC_SHA,\
                           TLS_RSA_WITH_AES_256_CBC_SHA,TLS_RSA_WITH_3DES_EDE_CBC_SHA";

fn cluster(adherence: &str, profile: Option<TlsSecurityProfile>) -> api_server::Spec {
    api_server::Spec {
        tls_security_profile: profile,
        tls_adherence: adherence.to_owned(),
    }
}

fn profile(type_: &str) -> TlsSecurityProfile {
    TlsSecurityProfile {
        type_: type_.to_owned(),
        custom: None,
    }
}

fn custom(min_tls_version: &str, ciphers: &[&str]) -> TlsSecurityProfile {
    let custom = CustomTlsProfile {
        ciphers: ciphers.iter().map(|&name| name.to_owned()).collect(),
        min_tls_version: min_tls_version.to_owned(),
    };
    TlsSecurityProfile {
        custom: Some(custom),
        ..profile("Custom")
    }
}

#[rstest]
#[case::strict_without_a_profile("StrictAllComponents", None, "VersionTLS12", NINE)]
#[case::strict_intermediate("StrictAllComponents", Some(profile("Intermediate")), "VersionTLS12", NINE)]
#[case::strict_empty("StrictAllComponents", Some(profile("")), "VersionTLS12", NINE)]
#[case::strict_unknown("StrictAllComponents", Some(profile("Future")), "VersionTLS12", NINE)]
#[case::strict_modern("StrictAllComponents", Some(profile("Modern")), "VersionTLS13", "")]
#[case::strict_old("StrictAllComponents", Some(profile("Old")), "VersionTLS10", &format!("{NINE},{TWELVE_MORE}"))]
#[case::no_opinion("", Some(profile("Modern")), "VersionTLS12", NINE)]
#[case::legacy("LegacyAdheringComponentsOnly", Some(profile("Old")), "VersionTLS12", NINE)]
#[case::adherence_of_tomorrow("Tomorrow", Some(profile("Modern")), "VersionTLS13", "")]
#[case::custom(
    "StrictAllComponents",
    Some(custom("VersionTLS11", &["ECDHE-RSA-AES256-GCM-SHA384", "TLS_AES_128_GCM_SHA256", "AES128-SHA"])),
    "VersionTLS11",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,TLS_AES_128_GCM_SHA256,TLS_RSA_WITH_AES_128_CBC_SHA"
)]
#[case::custom_twice_the_same(
    "StrictAllComponents",
    Some(custom("VersionTLS12", &["AES128-SHA", "TLS_RSA_WITH_AES_128_CBC_SHA"])),
    "VersionTLS12",
    "TLS_RSA_WITH_AES_128_CBC_SHA"
)]
#[case::custom_newest("StrictAllComponents", Some(custom("VersionTLS13", &["AES128-SHA"])), "VersionTLS13", "")]
fn follows_the_cluster(
    #[case] adherence: &str,
    #[case] profile: Option<TlsSecurityProfile>,
    #[case] min_version: &str,
    #[case] cipher_suites: &str,
) {
    let resolved = resolve("", &[], Some(&cluster(adherence, profile))).unwrap();
    let Settings {
        min_version: version,
        cipher_suites: suites,
    } = resolved.settings;
    assert_eq!(
        (version.as_str(), suites.join(",").as_str()),
        (min_version, cipher_suites)
    );
    assert_eq!((resolved.source, resolved.warnings), (Source::Cluster, Vec::new()));
}

#[test]
fn without_an_api_server_it_is_intermediate() {
    let resolved = resolve("", &[], None).unwrap();
    assert_eq!(resolved.settings, Settings::default());
    assert_eq!(resolved.settings.cipher_suites.join(","), NINE);
}

#[rstest]
#[case::unsupported_ciphers(
    custom("VersionTLS12", &["DHE-RSA-AES128-GCM-SHA256", "AES128-SHA"]),
    "TLS_RSA_WITH_AES_128_CBC_SHA",
    "APIServer cluster: cipher DHE-RSA-AES128-GCM-SHA256 is not supported, left out"
)]
#[case::unknown_version(custom("TLS9", &[]), "", "APIServer cluster: \"TLS9\" is not a version of TLS, using VersionTLS12")]
#[case::no_body(
    profile("Custom"),
    NINE,
    "APIServer cluster: the TLS profile Custom has no body, using Intermediate"
)]
fn reports_unsupported_settings(
    #[case] profile: TlsSecurityProfile,
    #[case] cipher_suites: &str,
    #[case] warning: &str,
) {
    let resolved = resolve("", &[], Some(&cluster("StrictAllComponents", Some(profile)))).unwrap();
    assert_eq!(resolved.settings.min_version, "VersionTLS12");
    assert_eq!(resolved.settings.cipher_suites.join(","), cipher_suites);
    assert_eq!(resolved.warnings, [warning]);
}

#[rstest]
#[case::version("VersionTLS11", &[], Ok(("VersionTLS11", "")))]
#[case::ciphers("", &["TLS_AES_128_GCM_SHA256"], Ok(("VersionTLS12", "TLS_AES_128_GCM_SHA256")))]
#[case::newest_has_no_ciphers("VersionTLS13", &["TLS_RSA_WITH_AES_128_CBC_SHA"], Ok(("VersionTLS13", "")))]
#[case::bad_version("1.2", &[], Err("--tls-min-version: \"1.2\" is not a version"))]
#[case::bad_cipher("", &["AES128-SHA"], Err("--tls-cipher-suites: \"AES128-SHA\" is not a cipher suite"))]
fn flags_win(#[case] min_version: &str, #[case] ciphers: &[&str], #[case] expected: Result<(&str, &str), &str>) {
    let ciphers: Vec<_> = ciphers.iter().map(|&name| name.to_owned()).collect();
    let cluster = cluster("StrictAllComponents", Some(profile("Old")));
    match (resolve(min_version, &ciphers, Some(&cluster)), expected) {
        (Ok(resolved), expected) => {
            let suites = resolved.settings.cipher_suites.join(",");
            assert_eq!(Ok((resolved.settings.min_version.as_str(), suites.as_str())), expected);
            assert_eq!(resolved.source, Source::Flags);
        }
        (Err(error), Err(part)) => assert!(error.to_string().starts_with(part), "{error}"),
        (error, expected) => panic!("{error:?} instead of {expected:?}"),
    }
}
