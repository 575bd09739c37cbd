//! W22,

use super::{Credentials, Flags, Invocation, Login, ManagedIdentity, Used, WorkloadIdentity, inject, run};
use rstest::rstest;
use runtime::flags::Switch;
use secrecy::ExposeSecret;
use std::{collections::BTreeMap, fs, os::unix::fs::PermissionsExt, path::PathBuf};

/// A folder that is deleted when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let path = std::env::temp_dir().join(lab::unique("injector"));
        fs::create_dir_all(&path).expect("folder");
        Self(path)
    }

    /// With the configuration and one file per credential: `azure_client_id=x azure_tenant_id=y`.
    fn with(config: &str, credentials: &str) -> Self {
        let folder = Self::new();
        fs::write(folder.0.join("in"), config).expect("file");
        for (name, value) in credentials.split_whitespace().filter_map(|pair| pair.split_once('=')) {
            fs::write(folder.0.join(name), value.replace('_', "\n")).expect("file");
        }
        folder
    }

    fn run(&self, more: &[&str]) -> Result<String, String> {
        let path = |name: &str| self.0.join(name).display().to_string();
        let mut args = vec![
            format!("--cloud-config-file-path={}", path("in")),
            format!("--output-file-path={}", path("out")),
            format!("--creds-path={}", self.0.display()),
        ];
        args.extend(more.iter().map(|&arg| arg.to_owned()));
        main(args).map_err(|error| error.replace(&format!("{}/", self.0.display()), ""))?;
        Ok(fs::read_to_string(self.0.join("out")).expect("output"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

/// The program without its log. Returns what it prints.
fn main<A: Into<String>>(args: impl IntoIterator<Item = A>) -> Result<Option<String>, String> {
    match Flags::parse(args).map_err(|problems| problems.to_string())? {
        Invocation::Print(text) => Ok(Some(text)),
        Invocation::Run(flags) => run(&flags).map(|()| None),
    }
}

const SECRET: &str = "azure_client_id=id azure_client_secret=s3cret";
const TOKEN: &str = "azure_client_id=id azure_federated_token_file=/var/token azure_tenant_id=tenant";

#[rstest]
#[case::bare("{}", SECRET, &[], r#"{"aadClientId":"id","aadClientSecret":"s3cret"}"#)]
#[case::overwritten(
    r#"{"aadClientSecret":"old","bar": "baz","aadClientId":"old"}"#, SECRET, &[],
    r#"{"aadClientId":"id","aadClientSecret":"s3cret","bar":"baz"}"#
)]
#[case::numbers_are_exact(
    r#"{"n":12345678901234567890,"z":1,"a":2}"#, SECRET, &[],
    r#"{"a":2,"aadClientId":"id","aadClientSecret":"s3cret","n":12345678901234567890,"z":1}"#
)]
#[case::machine_identity_stays(
    r#"{"useManagedIdentityExtension":true}"#, SECRET, &[],
    r#"{"aadClientId":"id","aadClientSecret":"s3cret","useManagedIdentityExtension":true}"#
)]
#[case::machine_identity_off(
    r#"{"useManagedIdentityExtension":true}"#, SECRET, &["--disable-identity-extension-auth"],
    r#"{"aadClientId":"id","aadClientSecret":"s3cret","useManagedIdentityExtension":false}"#
)]
#[case::machine_identity_of_another_kind(
    r#"{"useManagedIdentityExtension":"true"}"#, SECRET, &["--disable-identity-extension-auth"],
    r#"{"aadClientId":"id","aadClientSecret":"s3cret","useManagedIdentityExtension":false}"#
)]
#[case::no_machine_identity("{}", SECRET, &["--disable-identity-extension-auth"], r#"{"aadClientId":"id","aadClientSecret":"s3cret"}"#)]
#[case::token(
    r#"{"tenantId":"old","aadClientId":"old"}"#, TOKEN, &["--enable-azure-workload-identity=true"],
    r#"{"aadClientId":"id","aadFederatedTokenFile":"/var/token","tenantId":"tenant","useFederatedWorkloadIdentityExtension":true}"#
)]
#[case::token_without_the_flag(
    "{}", TOKEN, &[],
    r#"{"aadClientId":"id","aadFederatedTokenFile":"/var/token","tenantId":"tenant","useFederatedWorkloadIdentityExtension":true}"#
)]
#[case::no_token("{}", SECRET, &["--enable-azure-workload-identity", "true"], r#"{"aadClientId":"id","aadClientSecret":"s3cret"}"#)]
// The Go program ignores the flag (W22).
#[case::w22_token_not_allowed(
    r#"{"useFederatedWorkloadIdentityExtension":true}"#,
    "azure_client_id=id azure_client_secret=s3cret azure_federated_token_file=/var/token azure_tenant_id=tenant",
    &["--enable-azure-workload-identity=false"],
    r#"{"aadClientId":"id","aadClientSecret":"s3cret","useFederatedWorkloadIdentityExtension":false}"#
)]
// `_` stands for a line end
#[case::w22_line_ends_are_cut("{}", "azure_client_id=id_ azure_client_secret=_s3cret_", &[], r#"{"aadClientId":"id","aadClientSecret":"s3cret"}"#)]
fn writes(#[case] config: &str, #[case] credentials: &str, #[case] args: &[&str], #[case] expected: &str) {
    assert_eq!(Folder::with(config, credentials).run(args).as_deref(), Ok(expected));
}

#[rstest]
#[case::no_client("{}", "", &[], "azure_client_id is missing: put the value there")]
#[case::no_secret("{}", "azure_client_id=id", &[], "azure_client_secret is missing: put the value there")]
#[case::empty_client("{}", "azure_client_id=", &[], "azure_client_id is empty: put the value there")]
#[case::empty_secret("{}", "azure_client_id=id azure_client_secret=_", &[], "azure_client_secret is empty: put the value there")]
#[case::no_tenant(
    "{}", "azure_client_id=id azure_federated_token_file=/t", &[],
    "azure_tenant_id is missing: put the value there"
)]
#[case::both(
    "{}", "azure_client_id=id azure_federated_token_file=/t azure_client_secret=s", &["--enable-azure-workload-identity=true"],
    "azure_client_secret and azure_federated_token_file are both there: remove one"
)]
// The Go program accepts an empty secret (W22).
#[case::w22_empty_token(
    "{}", "azure_client_id=id azure_federated_token_file= azure_tenant_id=t", &[],
    "azure_federated_token_file is empty: put the value there"
)]
#[case::w22_token_only_and_not_allowed(
    "{}", TOKEN, &["--enable-azure-workload-identity=false"],
    "azure_client_secret is missing; there is a federated token file, but --enable-azure-workload-identity=false: \
     write true, or provide the secret"
)]
#[case::not_json("{*&(&#@!}", SECRET, &[], "in:1:2: this is not JSON: correct it there")]
#[case::not_an_object("[1]", SECRET, &[], "in is not a JSON object: write one, {…}")]
#[case::empty("", SECRET, &[], "in is empty: write a JSON object")]
fn fails(#[case] config: &str, #[case] credentials: &str, #[case] args: &[&str], #[case] problem: &str) {
    let folder = Folder::with(config, credentials);
    assert_eq!(folder.run(args), Err(problem.to_owned()));
    assert!(!folder.0.join("out").exists());
}

#[test]
fn a_missing_configuration_is_named_before_anything_else() {
    let folder = Folder::new();
    assert_eq!(
        folder.run(&[]),
        Err("cannot read in: No such file or directory (os error 2)".to_owned())
    );
}

#[rstest]
#[case::a_word("--enable-azure-workload-identity=maybe", "neither true nor false")]
#[case::unknown("--creds-pth=x", "--creds-path")]
#[case::argument("x", "x")]
fn flags_are_checked(#[case] arg: &str, #[case] part: &str) {
    let error = main([arg]).expect_err("refused");
    // One sentence, and not the whole help text
    assert!(error.contains(part) && !error.contains('\n'), "{error}");
}

#[test]
fn flags_are_those_of_the_go_program() {
    let Ok(Invocation::Run(flags)) = Flags::parse::<&str>([]) else {
        panic!("run")
    };
    assert_eq!(*flags, Flags::default());
    let paths = [
        &flags.cloud_config_file_path,
        &flags.output_file_path,
        &flags.creds_path,
    ];
    assert_eq!(
        paths,
        [
            "/tmp/cloud-config/cloud.conf",
            "/tmp/merged-cloud-config/cloud.conf",
            "/etc/azure/credentials"
        ]
    );
    assert_eq!(flags.disable_identity_extension_auth, Switch::Off);

    // Upstream's Deployment
    let args = [
        "--cloud-config-file-path=/etc/cloud-config/cloud.conf",
        "--output-file-path=/etc/merged-cloud-config/cloud.conf",
        "--disable-identity-extension-auth",
        "--enable-azure-workload-identity=true",
        "--creds-path=/etc/azure/credentials",
    ];
    let Ok(Invocation::Run(flags)) = Flags::parse(args) else {
        panic!("run")
    };
    assert_eq!(flags.managed_identity(), ManagedIdentity::Disabled);
    assert_eq!(
        (flags.workload_identity, flags.cloud_config_file_path.as_str()),
        (WorkloadIdentity::Allowed, "/etc/cloud-config/cloud.conf")
    );
}

/// The Go program accepts the flags of its log library: a manifest that sets them must not keep Pods from starting.
#[rstest]
#[case::verbosity("-v=4")]
#[case::verbosity_in_two_words("-v 4")]
#[case::long_verbosity("--v=4")]
#[case::module("--vmodule=main=4")]
#[case::stderr("--logtostderr")]
#[case::no_stderr("--logtostderr=false")]
#[case::also_stderr("--alsologtostderr=true")]
#[case::threshold("--stderrthreshold=INFO")]
#[case::file("--log_file=/dev/null")]
#[case::folder("--log_dir=/tmp")]
#[case::size("--log_file_max_size=10")]
#[case::headers("--skip_headers --skip_log_headers --add_dir_header --one_output")]
#[case::trace("--log_backtrace_at=main.go:1")]
fn flags_of_the_log_library_are_taken(#[case] flags: &str) {
    let folder = Folder::with("{}", SECRET);
    let args: Vec<_> = flags.split_whitespace().collect();
    assert_eq!(
        folder.run(&args).as_deref(),
        Ok(r#"{"aadClientId":"id","aadClientSecret":"s3cret"}"#)
    );
}

#[test]
fn help_lists_the_flags() {
    let help = main(["--help"]).expect("help").expect("text");
    for flag in [
        "cloud-config-file-path",
        "output-file-path",
        "disable-identity-extension-auth",
        "enable-azure-workload-identity",
        "creds-path",
    ] {
        assert!(help.contains(&format!("--{flag}")), "{help}");
    }
}

// The Go program lets all users read the secret (W22).
#[test]
fn w22_the_result_is_not_world_readable() {
    let folder = Folder::with("{}", SECRET);
    fs::write(folder.0.join("out"), "what was there").expect("file");
    fs::set_permissions(folder.0.join("out"), fs::Permissions::from_mode(0o644)).expect("mode");
    folder.run(&[]).expect("run");
    let mode = fs::metadata(folder.0.join("out")).expect("file").permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
}

#[test]
fn a_failed_write_leaves_nothing_behind() {
    let folder = Folder::with("{}", SECRET);
    fs::create_dir(folder.0.join("out")).expect("folder");
    let error = folder.run(&[]).expect_err("refused");
    assert!(error.starts_with("cannot write out: "), "{error}");
    let mut left: Vec<_> = fs::read_dir(&folder.0)
        .expect("folder")
        .map(|entry| entry.expect("entry").file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["azure_client_id", "azure_client_secret", "in", "out"]);
}

#[test]
fn nothing_of_the_secret_is_printed() {
    let credentials = Credentials {
        client_id: "id".to_owned(),
        login: Login::Secret("hunter2".to_owned().into()),
    };
    let merged = inject("file", "{}", &credentials, ManagedIdentity::AsConfigured).expect("merged");
    assert!(merged.config.expose_secret().contains("hunter2"));
    assert!(!format!("{credentials:?} {merged:?}").contains("hunter2"));
}

#[test]
fn injection_is_idempotent() {
    let token = Login::Token {
        file: "/t".to_owned(),
        tenant: "t".to_owned(),
    };
    for login in [Login::Secret("s".to_owned().into()), token] {
        let credentials = Credentials {
            client_id: "id".to_owned(),
            login,
        };
        let once = inject("file", r#"{"a":1.50}"#, &credentials, ManagedIdentity::Disabled).expect("once");
        let twice = inject(
            "file",
            once.config.expose_secret(),
            &credentials,
            ManagedIdentity::Disabled,
        )
        .expect("twice");
        assert_eq!(once.config.expose_secret(), twice.config.expose_secret());
        let keys: BTreeMap<String, serde_json::Value> =
            serde_json::from_str(once.config.expose_secret()).expect("JSON");
        assert!(keys.contains_key("a"));
    }
}

#[rstest]
#[case::on(
    r#"{"useManagedIdentityExtension":true}"#,
    ManagedIdentity::AsConfigured,
    Used::ManagedIdentity
)]
#[case::switched_off(
    r#"{"useManagedIdentityExtension":true}"#,
    ManagedIdentity::Disabled,
    Used::Credentials
)]
#[case::off(
    r#"{"useManagedIdentityExtension":false}"#,
    ManagedIdentity::AsConfigured,
    Used::Credentials
)]
#[case::not_set("{}", ManagedIdentity::AsConfigured, Used::Credentials)]
fn a_managed_identity_that_takes_precedence_is_reported(
    #[case] config: &str,
    #[case] machine: ManagedIdentity,
    #[case] used: Used,
) {
    let credentials = Credentials {
        client_id: "id".to_owned(),
        login: Login::Secret("s".to_owned().into()),
    };
    assert_eq!(
        inject("file", config, &credentials, machine).expect("injected").used,
        used
    );
}
