use super::*;
use crate::client::explain;
use base64::{Engine, prelude::BASE64_STANDARD};
use kube::config::AuthInfo;
use rstest::rstest;
use secrecy::ExposeSecret;

/// A folder with a CA, a client certificate and a token in it.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let folder = Self(std::env::temp_dir().join(format!("kubeconfig-{}", uuid::Uuid::new_v4())));
        std::fs::create_dir_all(folder.0.join("pki")).unwrap();
        let pair = rcgen::generate_simple_self_signed(["test".to_owned()]).unwrap();
        folder.write("pki/ca.crt", &pair.cert.pem());
        folder.write("pki/client.crt", &pair.cert.pem());
        folder.write("pki/client.key", &pair.signing_key.serialize_pem());
        folder.write("pki/garbage", "no PEM");
        folder.write("token", "from-a-file\n");
        folder
    }

    fn write(&self, name: &str, content: &str) {
        std::fs::write(self.0.join(name), content).unwrap();
    }

    fn base64(&self, name: &str) -> String {
        BASE64_STANDARD.encode(std::fs::read(self.0.join(name)).unwrap())
    }

    /// Loads a kubeconfig with this cluster and this user; `<file>` stands for the file in base64.
    fn load(&self, cluster: &str, user: &str, master: Option<&str>) -> Result<Config, ConfigError> {
        let fill = |text: &str| {
            ["pki/ca.crt", "pki/client.crt", "pki/client.key"]
                .iter()
                .fold(text.to_owned(), |text, file| {
                    text.replace(&format!("<{file}>"), &self.base64(file))
                })
        };
        let (cluster, user) = (fill(cluster), fill(user));
        self.load_text(
            &format!(
                "current-context: c\n\
                 contexts: [{{name: c, context: {{cluster: k, user: u, namespace: n}}}}]\n\
                 clusters: [{{name: k, cluster: {{{cluster}}}}}]\n\
                 users: [{{name: u, user: {{{user}}}}}]\n"
            ),
            master,
        )
    }

    fn load_text(&self, text: &str, master: Option<&str>) -> Result<Config, ConfigError> {
        self.write("config", text);
        Source {
            kubeconfig: Some(self.0.join("config")),
            master: master.map(Into::into),
        }
        .load()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const SERVER: &str = "server: 'https://api.example:6443', certificate-authority: pki/ca.crt";

#[test]
fn reads_files_relative_to_the_kubeconfig() {
    let folder = Folder::new();
    let user = "client-certificate: pki/client.crt, client-key: pki/client.key, tokenFile: token";
    let config = folder.load(SERVER, user, None).unwrap();
    assert_eq!(config.cluster_url, "https://api.example:6443/");
    assert_eq!(config.default_namespace, "n");
    assert_eq!(
        config.root_cert_file,
        Some(folder.0.join("pki/ca.crt")),
        "so that a new CA is noticed"
    );
    assert_eq!(config.root_cert.map(|roots| roots.len()), Some(1));
    assert_eq!(
        config.auth_info.token_file,
        Some(folder.0.join("token").display().to_string())
    );
    assert_eq!(
        config.auth_info.client_certificate,
        Some(folder.0.join("pki/client.crt").display().to_string())
    );
    assert!(!config.default_retry);
}

#[test]
fn reads_inline_data_which_wins_over_files() {
    let folder = Folder::new();
    let cluster = "server: 'https://api', certificate-authority-data: <pki/ca.crt>, certificate-authority: /missing";
    let user =
        "client-certificate-data: <pki/client.crt>, client-key-data: <pki/client.key>, client-key: /missing, token: t";
    let config = folder.load(cluster, user, None).unwrap();
    assert_eq!(
        (config.root_cert.map(|roots| roots.len()), config.root_cert_file),
        (Some(1), None)
    );
    assert_eq!(config.auth_info.token.unwrap().expose_secret(), "t");
}

/// A certificate with invalid base64, and one that is not a certificate.
const UNREADABLE: [&str; 2] = ["%%%%", "AAAA"];

#[rstest]
#[case::before(&[0, 2], Ok(1))]
#[case::between(&[2, 0, 1, 2], Ok(2))]
#[case::after(&[2, 1], Ok(1))]
#[case::nothing_else(&[1, 1], Err(()))]
fn skips_unreadable_authorities(#[case] bundle: &[usize], #[case] expected: Result<usize, ()>) {
    let folder = Folder::new();
    let authority = std::fs::read_to_string(folder.0.join("pki/ca.crt")).unwrap();
    let pem = |which: &usize| match UNREADABLE.get(*which) {
        Some(body) => format!("-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n"),
        None => authority.clone(),
    };
    let bundle: String = bundle.iter().map(pem).collect();
    folder.write("pki/ca.crt", &bundle);
    let config = folder.load(SERVER, "", None);
    assert_eq!(
        config.map(|config| config.root_cert.unwrap().len()).map_err(drop),
        expected
    );
}

/// As `base64` prints it, and as Go reads it.
#[test]
fn reads_inline_data_that_is_wrapped() {
    let folder = Folder::new();
    let wrapped = |name: &str| {
        let data = folder.base64(name).into_bytes();
        let lines: Vec<_> = data.chunks(76).map(String::from_utf8_lossy).collect();
        format!("\"{}\\n\"", lines.join("\\r\\n"))
    };
    let cluster = format!(
        "server: 'https://api', certificate-authority-data: {}",
        wrapped("pki/ca.crt")
    );
    let user = format!(
        "client-certificate-data: {}, client-key-data: {}",
        wrapped("pki/client.crt"),
        wrapped("pki/client.key")
    );
    let config = folder.load(&cluster, &user, None).unwrap();
    let AuthInfo {
        client_certificate_data,
        client_key_data,
        ..
    } = config.auth_info;
    assert_eq!(config.root_cert.map(|roots| roots.len()), Some(1));
    assert_eq!(client_certificate_data, Some(folder.base64("pki/client.crt")));
    assert_eq!(
        client_key_data.unwrap().expose_secret(),
        folder.base64("pki/client.key")
    );
}

#[test]
fn empty_values_count_as_absent() {
    let cluster = "server: 'https://api', certificate-authority: '', certificate-authority-data: '', proxy-url: ''";
    let user = "client-certificate: '', client-key: '', client-certificate-data: '', token: '', tokenFile: ''";
    let config = Folder::new().load(cluster, user, None).unwrap();
    let AuthInfo {
        client_certificate,
        client_key,
        token,
        token_file,
        ..
    } = config.auth_info;
    assert!(config.root_cert.is_none() && config.root_cert_file.is_none());
    assert!(client_certificate.is_none() && client_key.is_none() && token.is_none() && token_file.is_none());
}

#[test]
fn reads_how_to_trust_the_server() {
    let folder = Folder::new();
    let cluster =
        "server: 'https://api', insecure-skip-tls-verify: true, tls-server-name: other, proxy-url: 'http://p:3128'";
    let config = folder.load(cluster, "", None).unwrap();
    assert!(config.accept_invalid_certs);
    assert_eq!(config.tls_server_name.as_deref(), Some("other"));
    assert_eq!(config.proxy_url.unwrap(), "http://p:3128/");
}

#[rstest]
#[case::replaces_the_address(SERVER, "https://other:1", "https://other:1/")]
#[case::keeps_tls_when_the_cluster_has_it(SERVER, "other:1", "https://other:1/")]
#[case::is_plain_otherwise("server: 'http://api'", "other:1", "http://other:1/")]
fn master_with_kubeconfig(#[case] cluster: &str, #[case] master: &str, #[case] expected: &str) {
    let cluster = format!("{cluster}, tls-server-name: name");
    let config = Folder::new().load(&cluster, "", Some(master)).unwrap();
    assert_eq!(config.cluster_url, expected);
    assert_eq!(config.tls_server_name, None, "the name is that of the other server");
}

#[rstest]
#[case::url("https://api.example:6443", Ok("https://api.example:6443/"))]
#[case::plain_url("http://127.0.0.1:8080", Ok("http://127.0.0.1:8080/"))]
#[case::host_and_port("127.0.0.1:8080", Ok("http://127.0.0.1:8080/"))]
#[case::host("localhost", Ok("http://localhost/"))]
#[case::path("https://rancher/k8s/clusters/c", Ok("https://rancher/k8s/clusters/c"))]
#[case::other_scheme(
    "ftp://api",
    Err(r#"--master="ftp://api" is not the URL of an API server: the scheme must be http or https"#)
)]
#[case::host_and_path(
    "api/path",
    Err(r#"--master="api/path" is not the URL of an API server: not a URL and not host:port"#)
)]
fn master_alone(#[case] master: &str, #[case] expected: Result<&str, &str>) {
    let config = Source {
        kubeconfig: None,
        master: Some(master.into()),
    }
    .load();
    let url = config
        .map(|config| config.cluster_url.to_string())
        .map_err(|error| explain(&error));
    assert_eq!(url.as_deref().map_err(String::as_str), expected);
}

#[rstest]
#[case::alone("", true)]
#[case::empty_token("token: ''", true)]
#[case::key_without_certificate("client-key: pki/client.key", true)]
#[case::token("token: t", false)]
#[case::token_file("tokenFile: token", false)]
#[case::password("username: me, password: p", false)]
#[case::certificate("client-certificate: pki/client.crt, client-key: pki/client.key", false)]
#[case::inline_certificate(
    "client-certificate-data: <pki/client.crt>, client-key-data: <pki/client.key>",
    false
)]
fn a_plugin_is_used_only_without_other_credentials(#[case] beside: &str, #[case] run: bool) {
    let user = format!("exec: {{command: c, apiVersion: client.authentication.k8s.io/v1}}, {beside}");
    let config = Folder::new().load(SERVER, &user, None).unwrap();
    assert_eq!(config.auth_info.exec.is_some(), run);
}

#[test]
fn sends_no_credentials_in_the_clear() {
    let config = Folder::new()
        .load("server: 'http://api'", "token: t, tokenFile: token", None)
        .unwrap();
    assert!(config.auth_info.token.is_none() && config.auth_info.token_file.is_none());
}

#[rstest]
#[case::no_server("", "", r#"has no server in its cluster "k""#)]
#[case::bad_server(
    "server: 'ftp://x'",
    "",
    r#"has a server in its cluster "k" that is not a URL: "ftp://x": the scheme must be http or https"#
)]
#[case::ca_missing(
    "server: 'https://api', certificate-authority: missing.crt",
    "",
    r#"cannot read the certificate-authority of cluster "k" in --kubeconfig=<folder>/config: <folder>/missing.crt: No such file or directory (os error 2)"#
)]
#[case::ca_garbage(
    "server: 'https://api', certificate-authority: pki/garbage",
    "",
    r#"has an unusable certificate-authority (<folder>/pki/garbage) in its cluster "k": there is no certificate in it"#
)]
#[case::ca_is_a_key(
    "server: 'https://api', certificate-authority: pki/client.key",
    "",
    r#"has an unusable certificate-authority (<folder>/pki/client.key) in its cluster "k": there is no certificate in it"#
)]
#[case::ca_data_garbage(
    "server: 'https://api', certificate-authority-data: '%%%'",
    "",
    r#"has a certificate-authority of cluster "k" whose data is not base64: Invalid symbol 37, offset 0."#
)]
#[case::insecure_with_ca(
    "server: 'https://api', certificate-authority: pki/ca.crt, insecure-skip-tls-verify: true",
    "",
    r#"has both insecure-skip-tls-verify and a certificate authority in its cluster "k": remove one"#
)]
#[case::proxy(
    "server: 'https://api', proxy-url: 'ftp://p'",
    "",
    r#"has a proxy-url in its cluster "k" that cannot be used: it must start with http://, https:// or socks5://"#
)]
#[case::token_file_missing(
    SERVER,
    "tokenFile: missing",
    r#"cannot read the tokenFile of user "u" in --kubeconfig=<folder>/config: <folder>/missing: No such file or directory (os error 2)"#
)]
#[case::certificate_without_key(
    SERVER,
    "client-certificate: pki/client.crt",
    r#"has a client-certificate but no client-key of user "u""#
)]
#[case::certificate_garbage(
    SERVER,
    "client-certificate: pki/garbage, client-key: pki/client.key",
    r#"has a client-certificate (<folder>/pki/garbage) of user "u" that is not valid PEM"#
)]
#[case::key_garbage(
    SERVER,
    "client-certificate: pki/client.crt, client-key: pki/garbage",
    r#"has a client-key (<folder>/pki/garbage) of user "u" that is not valid PEM"#
)]
#[case::exec_without_command(
    SERVER,
    "exec: {apiVersion: client.authentication.k8s.io/v1}",
    r#"has a user "u" whose exec needs both command and apiVersion"#
)]
fn names_the_invalid_key(#[case] cluster: &str, #[case] user: &str, #[case] expected: &str) {
    let folder = Folder::new();
    let error = explain(&folder.load(cluster, user, None).unwrap_err());
    let path = folder.0.display().to_string();
    let message = error.replace(&path, "<folder>");
    let message = message
        .strip_prefix("--kubeconfig=<folder>/config ")
        .unwrap_or(&message);
    assert_eq!(message, expected);
}

#[rstest]
#[case::empty("", "has no current-context: set it with kubectl config use-context")]
#[case::no_context("current-context: c", r#"has no context "c", which is its current-context"#)]
#[case::no_cluster(
    "{current-context: c, contexts: [{name: c, context: {cluster: k}}]}",
    r#"has no cluster "k", which its current context names"#
)]
#[case::no_user(
    "{current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}], \
      clusters: [{name: k, cluster: {server: 'https://api'}}]}",
    r#"has no user "u", which its current context names"#
)]
fn names_what_is_missing(#[case] text: &str, #[case] expected: &str) {
    let folder = Folder::new();
    let error = folder.load_text(text, None).unwrap_err().to_string();
    assert_eq!(error, format!("--kubeconfig={}/config {expected}", folder.0.display()));
}

#[rstest]
#[case::bad_indentation("users:\n- name: a\n   user: b", 3)]
#[case::wrong_type("users:\n  token: s3cret", 2)]
#[case::wrong_type_with_a_value("clusters: s3cret", 1)]
fn names_the_position_of_malformed_yaml_without_quoting_it(#[case] text: &str, #[case] line: u32) {
    let error = explain(&Folder::new().load_text(text, None).unwrap_err());
    assert!(
        error.contains(&format!("is malformed at line {line}, column ")),
        "{error}"
    );
    assert!(!error.contains("s3cret"), "{error}");
}

#[test]
fn reports_a_missing_kubeconfig() {
    let source = Source {
        kubeconfig: Some("/does/not/exist".into()),
        master: None,
    };
    let error = explain(&source.load().unwrap_err());
    assert_eq!(
        error,
        "cannot read --kubeconfig=/does/not/exist: No such file or directory (os error 2)"
    );
}

mod in_a_pod {
    use super::*;
    use crate::client::in_cluster::{Environment, load};

    fn pod(folder: &Folder, host: &str) -> Environment {
        Environment {
            host: Some(host.into()),
            port: Some("6443".into()),
            account: folder.0.clone(),
        }
    }

    #[rstest]
    #[case::address("10.0.0.1", "https://10.0.0.1:6443/")]
    #[case::address_v6("fd00::1", "https://[fd00::1]:6443/")]
    #[case::name("kubernetes", "https://kubernetes:6443/")]
    fn uses_the_service_account(#[case] host: &str, #[case] url: &str) {
        let folder = Folder::new();
        std::fs::copy(folder.0.join("pki/ca.crt"), folder.0.join("ca.crt")).unwrap();
        folder.write("namespace", "kube-system\n");
        let config = load(&pod(&folder, host)).unwrap();
        assert_eq!(config.cluster_url, url);
        assert_eq!(config.default_namespace, "kube-system");
        assert_eq!(config.root_cert_file, Some(folder.0.join("ca.crt")));
        assert_eq!(
            config.auth_info.token_file,
            Some(folder.0.join("token").display().to_string())
        );
    }

    #[test]
    fn trusts_the_system_without_a_ca_and_needs_no_namespace() {
        let config = load(&pod(&Folder::new(), "10.0.0.1")).unwrap();
        assert_eq!((config.root_cert, config.root_cert_file), (None, None));
        assert_eq!(config.default_namespace, "default");
    }

    #[test]
    fn reports_a_missing_token() {
        let folder = Folder::new();
        std::fs::remove_file(folder.0.join("token")).unwrap();
        let error = explain(&load(&pod(&folder, "10.0.0.1")).unwrap_err());
        assert!(
            error.contains("the token of this pod's service account (is automountServiceAccountToken off?)"),
            "{error}"
        );
    }

    #[test]
    fn reports_a_missing_environment() {
        let environment = Environment {
            host: None,
            port: Some("443".into()),
            account: "/".into(),
        };
        let error = load(&environment).unwrap_err().to_string();
        assert!(
            error.starts_with("neither --kubeconfig nor --master is given and this is not a pod"),
            "{error}"
        );
    }
}
