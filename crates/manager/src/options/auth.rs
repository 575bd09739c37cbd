//! Authentication and authorization on the secure port.

use runtime::flags::{GoDuration, Section, Strings, Switch};

/// The section "Authentication flags".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authentication {
    /// Kubeconfig for token reviews and the client CA configuration; if empty, the in-cluster configuration is used.
    pub kubeconfig: String,
    /// Whether missing settings are not read from the cluster.
    pub skip_lookup: Switch,
    /// Whether a failure to read them is tolerated.
    pub tolerate_lookup_failure: Switch,
    /// How long a token review is cached.
    pub cache_ttl: GoDuration,
    /// Certificate authorities of client certificates; if empty, those of the cluster are used.
    pub client_ca_file: String,
    /// The proxies that may authenticate users.
    pub request_header: RequestHeader,
}

/// The proxies that may authenticate users, and their headers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestHeader {
    /// Certificate authorities of the proxies; if empty, those of the cluster are used.
    pub client_ca_file: String,
    /// The common names of the proxies; empty for any.
    pub allowed_names: Strings,
    /// Headers with the user's name.
    pub username_headers: Strings,
    /// Headers with the user's UID.
    pub uid_headers: Strings,
    /// Headers with the user's groups.
    pub group_headers: Strings,
    /// Prefixes of headers with extra values of the user.
    pub extra_headers_prefix: Strings,
}

/// The section "Authorization flags".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authorization {
    /// Kubeconfig for access reviews; if empty, the in-cluster configuration is used.
    pub kubeconfig: String,
    /// Paths that are always allowed; a trailing `*` matches any suffix.
    pub always_allow_paths: Strings,
    /// How long an allowed request is cached.
    pub allow_cache_ttl: GoDuration,
    /// How long a denied request is cached.
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
                 without it and outside of a cluster, bearer tokens are anonymous and no client CA is read from the cluster.",
            )
            .flag(
                "authentication-skip-lookup",
                skip_lookup,
                "Do not read missing authentication settings from the cluster.",
            )
            .flag(
                "authentication-tolerate-lookup-failure",
                tolerate_lookup_failure,
                "Continue if missing authentication settings cannot be read from the cluster; all requests may \
                 then be anonymous.",
            )
            .flag(
                "authentication-token-webhook-cache-ttl",
                cache_ttl,
                "How long a token review is cached.",
            )
            .flag(
                "client-ca-file",
                client_ca_file,
                "File with the certificate authorities of client certificates; the common name of a client \
                 certificate is the user's name.",
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
                "File with the certificate authorities of proxies that may authenticate users.",
            )
            .flag(
                "requestheader-allowed-names",
                &mut self.allowed_names,
                "Allowed common names of the certificates of these proxies. Empty for any.",
            )
            .flag(
                "requestheader-username-headers",
                &mut self.username_headers,
                "Headers that may contain the user's name.",
            )
            .flag(
                "requestheader-uid-headers",
                &mut self.uid_headers,
                "Headers that may contain the user's UID; X-Remote-Uid must be among them. Needs the feature \
                 gate RemoteRequestHeaderUID.",
            )
            .flag(
                "requestheader-group-headers",
                &mut self.group_headers,
                "Headers that may contain the user's groups.",
            )
            .flag(
                "requestheader-extra-headers-prefix",
                &mut self.extra_headers_prefix,
                "Prefixes of headers that may contain extra values of the user.",
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
                 without it and outside of a cluster, every path that is not always allowed is forbidden.",
            )
            .flag(
                "authorization-always-allow-paths",
                &mut self.always_allow_paths,
                "Paths that are allowed without an access review by the API server.",
            )
            .flag(
                "authorization-webhook-cache-authorized-ttl",
                &mut self.allow_cache_ttl,
                "How long an allowed request is cached.",
            )
            .flag(
                "authorization-webhook-cache-unauthorized-ttl",
                &mut self.deny_cache_ttl,
                "How long a denied request is cached.",
            )
    }
}
