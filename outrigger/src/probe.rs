//! `outrigger probe`: asks a health endpoint once, for tests of an installation in images that have no other program.

#![expect(clippy::print_stderr, reason = "it is a command")]

use clap::{Arg, ArgMatches, Command};
use kube::{Client, Config};
use runtime::program;
use std::{process::ExitCode, time::Duration};

/// How long the endpoint may take to answer.
const WITHIN: Duration = Duration::from_secs(30);

/// The subcommand.
pub fn command() -> Command {
    Command::new("probe")
        .about("Ask a health endpoint once, and fail unless it is well")
        .long_about(
            "Ask a health endpoint once, and fail unless its answer is 200. The certificate is not checked: the managers of a Helm \
             release sign theirs themselves, and no secret is sent.",
        )
        .arg(Arg::new("url").required(true).help("For example https://127.0.0.1:10258/readyz"))
}

/// Asks, and prints the answer.
pub fn run(matches: &ArgMatches) -> ExitCode {
    let Some(url) = matches.get_one::<String>("url") else {
        return ExitCode::FAILURE;
    };
    let url = url.clone();
    match program::block_on(async move { Ok(ask(&url).await) }) {
        Ok(Ok(answer)) => program::print(&format!("{}\n", answer.trim_end())),
        Ok(Err(problem)) => {
            eprintln!("outrigger probe: {problem}");
            ExitCode::FAILURE
        }
        Err(code) => code,
    }
}

async fn ask(url: &str) -> Result<String, String> {
    let failed = |reason: &dyn std::fmt::Display| format!("{url} is not well: {reason}");
    let address: http::Uri = url.parse().map_err(|error| failed(&error))?;
    let path = address
        .path_and_query()
        .map_or("/", http::uri::PathAndQuery::as_str)
        .to_owned();
    let mut base = address.into_parts();
    base.path_and_query = Some(http::uri::PathAndQuery::from_static("/"));
    let base = http::Uri::from_parts(base).map_err(|error| failed(&error))?;
    let mut config = Config::new(base);
    config.accept_invalid_certs = true;
    config.proxy_url = None;
    let client = Client::try_from(config).map_err(|error| failed(&error))?;
    let request = http::Request::get(path)
        .body(Vec::new())
        .map_err(|error| failed(&error))?;
    let answer = tokio::time::timeout(WITHIN, client.request_text(request)).await;
    let answer = answer.map_err(|_| failed(&format_args!("no answer within {} s", WITHIN.as_secs())))?;
    answer.map_err(|error| failed(&runtime::client::explain(&error)))
}
