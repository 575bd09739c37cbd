//! Who may use the secure port.

use runtime::flags::{GoDuration, Section, Strings, Switch};

/// The section "Authentication flags".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authentication {
    /// Kubeconfig for token reviews and looking up the rest; empty for the process's own identity in a cluster.
    pub kubeconfig: String,
    /// Whether nothing is looked up in the cluster.
    pub skip_lookup: Switch,
    /// Whether a failed look-up is accepted.
    pub tolerate_lookup_failure: Switch,
    /// How long the answer to a token review is remembered.
    pub cache_ttl: GoDuration,
    /// Authorities of client certificates; empty for those in the cluster.
    pub client_ca_file: String,
    /// Which proxies may say who the user is.
    pub request_header: RequestHeader,
}

/// Which proxies may say who the user is, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestHeader {
    /// Authorities of the proxies' certificates; empty for those in the cluster.
    pub client_ca_file: String,
    /// The names proxies' certificates may have; empty for any.
    pub allowed_names: Strings,
    /// Headers with the user's name.
    pub username_headers: Strings,
    /// Headers with the user's UID.
    pub uid_headers: Strings,
    /// Headers with the user's groups.
    pub group_headers: Strings,
    /// Prefixes of headers with more about the user.
    pub extra_headers_prefix: Strings,
}

/// The section "Authorization flags".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authorization {
    /// Kubeconfig for access reviews; empty for the process's own identity in a cluster.
    pub kubeconfig: String,
    /// Paths that everybody may read; a trailing `*` covers what follows.
    pub always_allow_paths: Strings,
    /// How long "yes" is remembered.
    pub allow_cache_ttl: GoDuration,
    /// How long "no" is remembered.
    pub deny_cache_ttl: GoDuration,
}

impl Default for Authentication {
    fn default() -> Self {
        Self {
            kubeconfig: String::new(),
            skip_lookup: Switch::Off,
            tolerate_lookup_failure: Switch::Off,
            cache_ttl: GoDuration::from_secs(10),
            client_ca_file: String::new(),
            request_header: RequestHeader::default(),
        }
    }
}

impl Default for RequestHeader {
    fn default() -> Self {
        Self {
            client_ca_file: String::new(),
            allowed_names: Strings::default(),
            username_headers: Strings::from(["x-remote-user"]),
            uid_headers: Strings::default(),
            group_headers: Strings::from(["x-remote-group"]),
            extra_headers_prefix: Strings::from(["x-remote-extra-"]),
        }
    }
}

impl Default for Authorization {
    fn default() -> Self {
        Self {
            kubeconfig: String::new(),
            always_allow_paths: Strings::from(["/healthz", "/readyz", "/livez"]),
            allow_cache_ttl: GoDuration::from_secs(10),
            deny_cache_ttl: GoDuration::from_secs(10),
        }
    }
}

const SECTION: &str = "authentication";

impl Authentication {
    pub(super) fn sections(&mut self) -> [Section<'_>; 2] {
        let Self {
            kubeconfig,
            skip_lookup,
            tolerate_lookup_failure,
            cache_ttl,
            client_ca_file,
            request_header,
        } = self;
        let own = Section::new(SECTION)
            .flag(
                "authentication-kubeconfig",
                kubeconfig,
                "Kubeconfig with the right to create tokenreviews.authentication.k8s.io. Optional: \
                 without it and outside of a cluster, tokens are anonymous and no client CA is looked up.",
            )
            .flag(
                "authentication-skip-lookup",
                skip_lookup,
                "Do not look up missing authentication settings in the cluster.",
            )
            .flag(
                "authentication-tolerate-lookup-failure",
                tolerate_lookup_failure,
                "Go on if missing authentication settings cannot be looked up in the cluster; every \
                 request may then be anonymous.",
            )
            .flag(
                "authentication-token-webhook-cache-ttl",
                cache_ttl,
                "How long the answer to a token review is remembered.",
            )
            .flag(
                "client-ca-file",
                client_ca_file,
                "Authorities of client certificates; the common name of a certificate they signed is the \
                 user's name.",
            );
        [own, request_header.section()]
    }
}

impl RequestHeader {
    fn section(&mut self) -> Section<'_> {
        Section::new(SECTION)
            .flag(
                "requestheader-client-ca-file",
                &mut self.client_ca_file,
                "Authorities of the certificates of proxies that may say who the user is.",
            )
            .flag(
                "requestheader-allowed-names",
                &mut self.allowed_names,
                "Common names such a proxy's certificate may have. Empty for any.",
            )
            .flag(
                "requestheader-username-headers",
                &mut self.username_headers,
                "Headers that may hold the user's name.",
            )
            .flag(
                "requestheader-uid-headers",
                &mut self.uid_headers,
                "Headers that may hold the user's UID; X-Remote-Uid must be among them. Needs the feature \
                 gate RemoteRequestHeaderUID.",
            )
            .flag(
                "requestheader-group-headers",
                &mut self.group_headers,
                "Headers that may hold the user's groups.",
            )
            .flag(
                "requestheader-extra-headers-prefix",
                &mut self.extra_headers_prefix,
                "Prefixes of headers that may hold more about the user.",
            )
    }
}

impl Authorization {
    pub(super) fn section(&mut self) -> Section<'_> {
        Section::new("authorization")
            .flag(
                "authorization-kubeconfig",
                &mut self.kubeconfig,
                "Kubeconfig with the right to create subjectaccessreviews.authorization.k8s.io. Optional: \
                 without it and outside of a cluster, what is not always allowed is forbidden.",
            )
            .flag(
                "authorization-always-allow-paths",
                &mut self.always_allow_paths,
                "Paths that are allowed without asking the API server.",
            )
            .flag(
                "authorization-webhook-cache-authorized-ttl",
                &mut self.allow_cache_ttl,
                "How long an allowing answer is remembered.",
            )
            .flag(
                "authorization-webhook-cache-unauthorized-ttl",
                &mut self.deny_cache_ttl,
                "How long a refusing answer is remembered.",
            )
    }
}
