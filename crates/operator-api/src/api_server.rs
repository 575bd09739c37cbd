//! The configuration of the API server: here, the TLS profile of the cluster's servers.

use serde::{Deserialize, Serialize};

kind! {
    /// The configuration of the API server. The operator reads the one named `cluster`.
    ApiServer = "APIServer", "apiservers" { spec: Spec, status: Status }
}

/// The spec.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Spec {
    /// The TLS versions and ciphers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls_security_profile: Option<TlsSecurityProfile>,
    /// Which components have to follow the profile: `StrictAllComponents`, `LegacyAdheringComponentsOnly`, or empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub tls_adherence: String,
}

/// TLS versions and ciphers, by name or one by one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TlsSecurityProfile {
    /// `Old`, `Intermediate`, `Modern` or `Custom`.
    #[serde(rename = "type", skip_serializing_if = "String::is_empty")]
    pub type_: String,
    /// For `Custom`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub custom: Option<CustomTlsProfile>,
}

/// TLS version and ciphers, one by one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CustomTlsProfile {
    /// OpenSSL's or IANA's names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ciphers: Vec<String>,
    /// `VersionTLS12` and the like.
    #[serde(rename = "minTLSVersion", skip_serializing_if = "String::is_empty")]
    pub min_tls_version: String,
}

/// No field that the operator reads.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {}
