//! `ecr-credential-provider`: the kubelet's protocol on standard input and output, beside the Go program.

use lab::aws::{Account, Aws};
use serde_json::{Value, json};
use std::{
    io::Write,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::fixture::Folder;

/// What a plugin ended with.
#[derive(Debug)]
struct Answer {
    ok: bool,
    out: String,
    error: String,
}

fn request(version: &str, image: &str) -> Value {
    json!({"kind": "CredentialProviderRequest", "apiVersion": format!("credentialprovider.kubelet.k8s.io/{version}"), "image": image})
}

async fn account() -> Account<'static> {
    let server = tokio::task::spawn_blocking(Aws::shared).await.unwrap();
    server.account()
}

async fn run(mut command: Command, request: &Value) -> Answer {
    let input = request.to_string();
    let output = tokio::task::spawn_blocking(move || {
        let piped = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    })
    .await
    .unwrap();
    Answer {
        ok: output.status.success(),
        out: String::from_utf8(output.stdout).unwrap(),
        error: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A plugin in the environment of a node with these credentials.
fn plugin(program: &Path, account: &Account<'_>) -> Command {
    let mut command = Command::new(program);
    command.env_clear().envs(account.environment());
    command.env("AWS_ENDPOINT_URL", account.server().url());
    command
}

/// Our program under the name of the other.
fn ours(folder: &Folder) -> PathBuf {
    let path = folder.path().join("ecr-credential-provider");
    symlink(env!("CARGO_BIN_EXE_outrigger"), &path).unwrap();
    path
}

async fn theirs() -> PathBuf {
    tokio::task::spawn_blocking(lab::peer::ecr).await.unwrap().unwrap()
}

#[tokio::test]
async fn answers_as_the_go_program_does() {
    let (account, folder) = (account().await, Folder::new(&lab::unique("ecr")));
    let (ours, theirs) = (ours(&folder), theirs().await);
    let private = format!("{}.dkr.ecr.eu-west-1.amazonaws.com", account.number());
    for host in [private.as_str(), "public.ecr.aws", "mirror.example.com"] {
        let request = request("v1", &format!("{host}/team/app:1.0"));
        let ours = run(plugin(&ours, &account), &request).await;
        let theirs = run(plugin(&theirs, &account), &request).await;
        assert!(ours.ok && theirs.ok, "{host}: {ours:?} {theirs:?}");
        let (mut ours, mut theirs): (Value, Value) = (
            serde_json::from_str(&ours.out).unwrap(),
            serde_json::from_str(&theirs.out).unwrap(),
        );
        // Half of twelve hours, less the seconds that have passed.
        for answer in [&mut ours, &mut theirs] {
            let duration = answer["cacheDuration"].take();
            let text = duration.as_str().unwrap();
            assert!(text == "6h0m0s" || text.starts_with("5h59m5"), "{host}: {text}");
        }
        assert_eq!(ours, theirs, "{host}");
        assert_eq!(ours["auth"][host]["username"], json!("AWS"), "{host}");
    }
    assert_eq!(account.problems().await.unwrap(), [""; 0]);
}

#[tokio::test]
async fn runs_as_a_subcommand_and_ignores_arguments() {
    let (account, folder) = (account().await, Folder::new(&lab::unique("ecr")));
    let request = request("v1", "public.ecr.aws/a/b");
    let mut subcommand = plugin(Path::new(env!("CARGO_BIN_EXE_outrigger")), &account);
    subcommand.args(["credential-provider", "ecr"]);
    let mut named = plugin(&ours(&folder), &account);
    named.arg("get-credentials");
    for command in [subcommand, named] {
        let answer = run(command, &request).await;
        assert!(
            answer.ok && answer.out.contains(r#""auth":{"public.ecr.aws":{"username":"AWS""#),
            "{answer:?}"
        );
    }
}

#[tokio::test]
async fn another_version_is_refused_in_one_sentence() {
    let (account, folder) = (account().await, Folder::new(&lab::unique("ecr")));
    let answer = run(
        plugin(&ours(&folder), &account),
        &request("v1beta1", "public.ecr.aws/a"),
    )
    .await;
    assert!(!answer.ok && answer.out.is_empty(), "{answer:?}");
    assert_eq!(
        answer.error,
        "Error: apiVersion \"credentialprovider.kubelet.k8s.io/v1beta1\" is not supported: set credentialprovider.kubelet.k8s.io/v1 in the kubelet's \
         CredentialProviderConfig\n"
    );
}

#[tokio::test]
async fn a_service_account_assumes_its_role() {
    let (account, folder) = (account().await, Folder::new(&lab::unique("ecr")));
    let (ours, theirs) = (ours(&folder), theirs().await);
    let role = format!("arn:aws:iam::{}:role/puller", account.number());
    let mut request = request(
        "v1",
        &format!("{}.dkr.ecr.us-west-2.amazonaws.com/app", account.number()),
    );
    request["serviceAccountToken"] = json!("a-token-of-the-service-account");
    for program in [ours, theirs] {
        let mark = account.mark().unwrap();
        let mut by_annotation = request.clone();
        by_annotation["serviceAccountAnnotations"] = json!({"eks.amazonaws.com/ecr-role-arn": role});
        let annotated = run(plugin(&program, &account), &by_annotation).await;
        assert!(annotated.ok, "{annotated:?}");
        let mut by_variable = plugin(&program, &account);
        by_variable.env("AWS_ECR_ROLE_ARN", &role);
        let configured = run(by_variable, &request).await;
        assert!(configured.ok, "{configured:?}");
        let calls = account.calls_since(mark).unwrap();
        let actions: Vec<_> = calls.iter().map(|call| call.action.as_str()).collect();
        let pair = ["AssumeRoleWithWebIdentity", "GetAuthorizationToken"];
        assert_eq!(actions, [pair, pair].concat(), "{}", program.display());
        for call in calls.iter().filter(|call| call.action == pair[0]) {
            assert_eq!(call.params["RoleArn"], json!(role));
            assert_eq!(call.params["RoleSessionName"], json!("ecr-credential-provider"));
        }
    }
    assert_eq!(account.problems().await.unwrap(), [""; 0]);
}

#[tokio::test]
async fn an_error_names_what_ecr_refused_and_no_secret() {
    let (account, folder) = (account().await, Folder::new(&lab::unique("ecr")));
    let mut command = plugin(&ours(&folder), &account);
    command.env("AWS_SECRET_ACCESS_KEY", "an0ther-s3cret");
    let answer = run(command, &request("v1", "public.ecr.aws/a/b")).await;
    assert!(!answer.ok && answer.out.is_empty(), "{answer:?}");
    assert!(answer.error.contains("SignatureDoesNotMatch"), "{answer:?}");
    assert!(!answer.error.contains("an0ther-s3cret"), "{answer:?}");
}
