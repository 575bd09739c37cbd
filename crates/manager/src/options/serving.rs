//! The secure port and the webhooks' port.

use runtime::{
    flags::{Numbers, Port, Section, Strings, Switch, Value},
    serve::tls::{SniError, SniPair},
};
use std::net::{IpAddr, Ipv4Addr};

/// The settings of an HTTPS port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Serving {
    /// The address to listen on.
    pub bind_address: IpAddr,
    /// The port to listen on; 0 serves nothing.
    pub port: Port,
    /// The folder of generated certificates if no files are given; empty for in memory.
    pub cert_dir: String,
    /// The certificate's file; empty for a self-signed one.
    pub cert_file: String,
    /// The key's file.
    pub key_file: String,
    /// Further certificates by server name.
    pub sni_certs: SniPairs,
    /// The lowest version of TLS, by Go's name; empty for 1.2.
    pub min_version: String,
    /// The cipher suites to offer, by their IANA names; empty for the defaults.
    pub cipher_suites: Strings,
    /// The key exchanges to offer, by their IANA numbers; empty for the defaults.
    pub curves: Numbers,
    /// Whether HTTP/2 is disabled.
    pub disable_http2: Switch,
}

/// The section "Secure serving flags".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecureServing {
    /// The port.
    pub serving: Serving,
    /// Concurrent requests on an HTTP/2 connection; 0 for the default.
    pub http2_max_streams: i64,
    /// Whether several processes may listen on the port.
    pub permit_port_sharing: Switch,
    /// Whether the address may be reused while old connections are closing.
    pub permit_address_sharing: Switch,
}

/// The sections "Webhook flags" and "Webhook serving flags".
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    /// Which webhooks to serve.
    pub webhooks: Strings,
    /// The port.
    pub serving: Serving,
}

/// Certificates by server name, one per flag.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SniPairs {
    written: Vec<String>,
    pairs: Vec<SniPair>,
}

impl SniPairs {
    /// The pairs, in the order they were given.
    pub fn pairs(&self) -> &[SniPair] {
        &self.pairs
    }
}

impl Value for SniPairs {
    fn kind(&self) -> &'static str {
        "namedCertKey"
    }

    fn set(&mut self, given: &[String]) -> Result<(), String> {
        let pairs = given.iter().map(|text| text.parse()).collect::<Result<_, SniError>>();
        self.pairs = pairs.map_err(|error| error.to_string())?;
        self.written = given.to_vec();
        Ok(())
    }

    fn print(&self) -> String {
        format!("[{}]", self.written.join(";"))
    }
}

impl Serving {
    /// The default settings of a port.
    #[must_use]
    pub fn on(port: u16) -> Self {
        Self {
            bind_address: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            port: Port(port),
            cert_dir: String::new(),
            cert_file: String::new(),
            key_file: String::new(),
            sni_certs: SniPairs::default(),
            min_version: String::new(),
            cipher_suites: Strings::default(),
            curves: Numbers::default(),
            disable_http2: Switch::Off,
        }
    }
}

impl Default for SecureServing {
    fn default() -> Self {
        Self {
            serving: Serving::on(10258),
            http2_max_streams: 0,
            permit_port_sharing: Switch::Off,
            permit_address_sharing: Switch::Off,
        }
    }
}

impl Default for Webhook {
    fn default() -> Self {
        Self {
            webhooks: Strings::default(),
            serving: Serving::on(10260),
        }
    }
}

const ADDRESS: &str = "IP address to listen on; 0.0.0.0 or :: for all interfaces.";
const CERT_DIR: &str =
    "Folder where a self-signed certificate is kept if no certificate file is given. Empty for in memory.";
const CERT: &str = "File with the server's certificate and its intermediate certificates. Empty for a self-signed one.";
const KEY: &str = "File with the private key of the certificate.";
const CIPHERS: &str = "Cipher suites for TLS 1.2, by their IANA names. Those without forward secrecy or authenticated \
                       encryption are accepted and left out; those of TLS 1.3 are always on.";
const CURVES: &str = "Key exchanges to offer, by number: 23 P-256, 24 P-384, 29 X25519. 25, 4587, 4588 and 4589 are \
                      accepted and left out.";
const VERSION: &str = "Lowest version of TLS: VersionTLS12 (as if empty) or VersionTLS13. VersionTLS10 and \
                       VersionTLS11 are accepted and mean VersionTLS12.";
const SNI: &str = "Additional certificate and key for some server names: cert.pem,key.pem or \
                   cert.pem,key.pem:*.example.com,example.com. Without names those in the certificate are used. \
                   Exact names win over wildcards, names given here over those in certificates. Repeatable.";
const HTTP2: &str = "Serve HTTP/1.1 only.";
/// In the Go framework a provider may have webhooks; our providers have none.
const NO_WEBHOOKS: &str = "(No effect: this program has no webhooks.)";

impl SecureServing {
    pub(super) fn section(&mut self) -> Section<'_> {
        let Self {
            serving,
            http2_max_streams,
            permit_port_sharing,
            permit_address_sharing,
        } = self;
        Section::new("secure serving")
            .flag("bind-address", &mut serving.bind_address, ADDRESS)
            .flag(
                "secure-port",
                &mut serving.port,
                "Port to serve HTTPS on, with authentication and authorization. If 0, nothing is served.",
            )
            .flag("cert-dir", &mut serving.cert_dir, CERT_DIR)
            .flag("tls-cert-file", &mut serving.cert_file, CERT)
            .flag("tls-private-key-file", &mut serving.key_file, KEY)
            .flag("tls-sni-cert-key", &mut serving.sni_certs, SNI)
            .flag("tls-min-version", &mut serving.min_version, VERSION)
            .flag("tls-cipher-suites", &mut serving.cipher_suites, CIPHERS)
            .flag("tls-curve-preferences", &mut serving.curves, CURVES)
            .flag("disable-http2-serving", &mut serving.disable_http2, HTTP2)
            .flag(
                "http2-max-streams-per-connection",
                http2_max_streams,
                "Maximum number of concurrent requests on an HTTP/2 connection. If 0, 100.",
            )
            .flag(
                "permit-port-sharing",
                permit_port_sharing,
                "Let several processes listen on the port (SO_REUSEPORT).",
            )
            .flag(
                "permit-address-sharing",
                permit_address_sharing,
                "(No effect: the address is always reused, even while old connections are closing.)",
            )
    }
}

impl Webhook {
    pub(super) fn sections(&mut self) -> [Section<'_>; 2] {
        let Self { webhooks, serving } = self;
        let inert = |help: &str| format!("{help} {NO_WEBHOOKS}");
        let help = format!("{NO_WEBHOOKS} {}", crate::controllers_flag::webhooks().help());
        let names = Section::new("webhook").flag("webhooks", webhooks, help);
        let port = "Port to serve webhooks on. If 0, no webhooks are served.";
        let serving = Section::new("webhook serving")
            .flag("webhook-bind-address", &mut serving.bind_address, inert(ADDRESS))
            .flag("webhook-secure-port", &mut serving.port, inert(port))
            .flag("webhook-cert-dir", &mut serving.cert_dir, inert(CERT_DIR))
            .flag("webhook-tls-cert-file", &mut serving.cert_file, inert(CERT))
            .flag("webhook-tls-private-key-file", &mut serving.key_file, inert(KEY))
            .flag("webhook-tls-sni-cert-key", &mut serving.sni_certs, inert(SNI))
            .flag("webhook-tls-min-version", &mut serving.min_version, inert(VERSION))
            .flag("webhook-tls-cipher-suites", &mut serving.cipher_suites, inert(CIPHERS))
            .flag("webhook-tls-curve-preferences", &mut serving.curves, inert(CURVES))
            .flag(
                "webhook-disable-http2-serving",
                &mut serving.disable_http2,
                inert(HTTP2),
            );
        [names, serving]
    }
}
