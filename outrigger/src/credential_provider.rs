//! `outrigger credential-provider`: the kubelet's plugin for image credentials, `credentialprovider.kubelet.k8s.io/v1` on standard input
//! and output.

#![expect(clippy::print_stderr, reason = "it is a command")]
#![cfg_attr(
    not(feature = "aws"),
    allow(dead_code, reason = "a build with few clouds uses only a part of this")
)]

use clap::{Arg, ArgMatches, Command};
use runtime::{flags::GoDuration, program};
#[cfg(feature = "aws")]
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    io::Read,
    process::ExitCode,
    time::{Duration, SystemTime},
};

const API_VERSION: &str = "credentialprovider.kubelet.k8s.io/v1";
const REQUEST: &str = "CredentialProviderRequest";
const RESPONSE: &str = "CredentialProviderResponse";
/// The longest request that is read: a token and its annotations are far below it.
const LONGEST_REQUEST: u64 = 1 << 20;

/// The registries that this binary has credentials for.
const PLUGINS: &[Plugin] = &[
    #[cfg(feature = "aws")]
    Plugin {
        name: "ecr",
        program: "ecr-credential-provider",
        about: "Credentials for Amazon ECR, private and public",
        find: ecr,
    },
];

/// The plugin of one kind of registry.
struct Plugin {
    /// The subcommand.
    name: &'static str,
    /// The program that it replaces.
    program: &'static str,
    about: &'static str,
    find: fn(&Request) -> Result<Found, String>,
}

/// What the kubelet asks for.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    #[serde(default)]
    image: String,
    #[serde(default)]
    service_account_token: String,
    #[serde(default)]
    service_account_annotations: BTreeMap<String, String>,
}

/// Credentials for one host.
struct Found {
    host: String,
    username: String,
    password: String,
    expires_at: Option<SystemTime>,
}

/// What every object of the API begins with.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TypeMeta {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Response {
    kind: &'static str,
    api_version: &'static str,
    cache_key_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_duration: Option<GoDuration>,
    auth: BTreeMap<String, AuthConfig>,
}

#[derive(Serialize)]
struct AuthConfig {
    username: String,
    password: String,
}

/// The subcommand, for completions and the man page.
pub fn command() -> Command {
    let plugin = |plugin: &Plugin| subcommand(plugin.name).about(plugin.about);
    Command::new("credential-provider")
        .about("The kubelet's plugin for image credentials; reads a request from standard input")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(PLUGINS.iter().map(plugin))
}

/// Runs the plugin that the subcommand names.
pub fn run(matches: &ArgMatches) -> ExitCode {
    let name = matches.subcommand_name().unwrap_or_default();
    let plugin = PLUGINS.iter().find(|plugin| plugin.name == name);
    plugin.map_or(ExitCode::FAILURE, answer)
}

/// Runs the plugin that replaces the program of this name.
pub fn by_name(name: &str, args: &[String]) -> Option<ExitCode> {
    let plugin = PLUGINS.iter().find(|plugin| plugin.program == name)?;
    let words = std::iter::once(name.to_owned()).chain(args.iter().cloned());
    let version = runtime::version::Info::current().to_string();
    let command = subcommand(plugin.program).about(plugin.about).version(version);
    Some(match command.try_get_matches_from(words) {
        Ok(_) => answer(plugin),
        Err(error) => crate::command::show(&error),
    })
}

/// The kubelet's configuration often has an argument such as `get-credentials`, which the Go program ignores, too.
fn subcommand(name: &'static str) -> Command {
    Command::new(name).arg(Arg::new("ignored").num_args(0..).hide(true))
}

#[cfg(feature = "aws")]
fn ecr(request: &Request) -> Result<Found, String> {
    use aws::{config::Variables, ecr};
    let token = Some(request.service_account_token.clone()).filter(|token| !token.is_empty());
    let pull = ecr::Pull {
        image: request.image.clone(),
        service_account_token: token.map(Into::into),
        service_account_annotations: request.service_account_annotations.clone(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot start: {error}"))?;
    let login = runtime.block_on(ecr::log_in(&pull, Variables::of_process()));
    let login = login.map_err(|error| error.report())?;
    Ok(Found {
        host: login.host,
        username: login.username,
        password: login.password.expose_secret().to_owned(),
        expires_at: login.expires_at,
    })
}

fn answer(plugin: &Plugin) -> ExitCode {
    let mut text = Vec::new();
    let read = std::io::stdin().lock().take(LONGEST_REQUEST).read_to_end(&mut text);
    let response = read
        .map_err(|error| format!("cannot read the request: {error}"))
        .and_then(|_| parse(&text))
        .and_then(|request| (plugin.find)(&request))
        .and_then(|found| response(found, SystemTime::now()));
    match response {
        Ok(text) => program::print(&text),
        Err(problem) => {
            eprintln!("Error: {problem}");
            ExitCode::FAILURE
        }
    }
}

/// Reads a request. No error has a part of it: it may have a token.
fn parse(text: &[u8]) -> Result<Request, String> {
    let broken = |error: serde_json::Error| {
        let (line, column) = (error.line(), error.column());
        format!("standard input has no {REQUEST} in JSON: see line {line}, column {column}")
    };
    let TypeMeta { api_version, kind } = serde_json::from_slice(text).map_err(broken)?;
    if api_version != API_VERSION {
        return Err(format!(
            "apiVersion {api_version:?} is not supported: set {API_VERSION} in the kubelet's CredentialProviderConfig"
        ));
    }
    if kind != REQUEST {
        return Err(format!("kind {kind:?} is not {REQUEST}"));
    }
    let request: Request = serde_json::from_slice(text).map_err(broken)?;
    if request.image.is_empty() {
        return Err("the request has no image".to_owned());
    }
    Ok(request)
}

fn response(found: Found, now: SystemTime) -> Result<String, String> {
    let Found {
        host,
        username,
        password,
        expires_at,
    } = found;
    let response = Response {
        kind: RESPONSE,
        api_version: API_VERSION,
        cache_key_type: "Registry",
        cache_duration: cache_duration(expires_at, now).map(GoDuration::from),
        auth: [(host, AuthConfig { username, password })].into(),
    };
    let text = serde_json::to_string(&response).map_err(|error| format!("cannot write the response: {error}"))?;
    Ok(format!("{text}\n"))
}

/// Half of the time that the credentials are valid for, so that none expires between its creation and its use. Without an end the kubelet must not cache them;
/// for credentials that have expired it uses its own default.
fn cache_duration(expires_at: Option<SystemTime>, now: SystemTime) -> Option<Duration> {
    let Some(end) = expires_at else {
        return Some(Duration::ZERO);
    };
    let seconds = |time: SystemTime| {
        time.duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |since| since.as_secs())
    };
    let half = seconds(end).saturating_sub(seconds(now)) / 2;
    (half > 0).then(|| Duration::from_secs(half))
}

#[cfg(test)]
mod tests;
