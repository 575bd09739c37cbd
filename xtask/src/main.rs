//! Checks and builds of the repository: `target/debug/xtask check` runs all checks, once the workspace is built.

mod book;
mod cases;
mod dependencies;
mod examples;
mod generated;
mod image;
mod licences;
mod lines;
mod metadata;
mod reasons;
mod release;
mod suite;
mod summary;
mod unused;
mod workflows;
mod yanked;

use anyhow::Result;
use clap::{Parser, Subcommand};
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

#[derive(Parser)]
#[command(about = "Checks and builds of the repository")]
struct Args {
    #[command(subcommand)]
    command: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Run all checks; write nothing.
    Check,
    /// Write the documents that are generated.
    Docs,
    /// Pack the static binary into an image.
    Image(image::Options),
    /// Write everything of a release into one folder.
    Release(release::Options),
    BookLinks(book::Options),
    Test(suite::Options),
    Summary(summary::Options),
}

fn main() -> ExitCode {
    let root = root();
    let done = match Args::parse().command {
        Verb::Check => check(&root),
        Verb::Docs => generated::write(&root),
        Verb::Image(options) => image::write(&root, &options),
        Verb::Release(options) => release::write(&root, &options),
        Verb::BookLinks(options) => book::preprocess(&options),
        Verb::Test(options) => suite::run(&root, &options),
        Verb::Summary(options) => summary::print(&options),
    };
    if let Err(error) = done {
        eprintln!("xtask: {error:#}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

fn check(root: &Path) -> Result<()> {
    let metadata = metadata::read(root)?;
    let mut problems = dependencies::problems(&metadata);
    problems.extend(unused::problems(&metadata)?);
    problems.extend(licences::problems(&metadata));
    problems.extend(licences::drift(&std::fs::read_to_string(root.join("deny.toml"))?));
    problems.extend(workflows::problems(root)?);
    problems.extend(yanked::problems(&metadata));
    problems.extend(cases::problems(root)?);
    problems.extend(reasons::problems(root)?);
    problems.extend(examples::problems(root)?);
    problems.extend(lines::problems(root)?);
    problems.extend(generated::problems(root)?);
    problems.extend(book::problems(root)?);
    if problems.is_empty() {
        println!(
            "no problems: dependencies, licences, sources, yanked crates, workflows, upstream cases, reasons, examples, lines, generated documents, book"
        );
        return Ok(());
    }
    anyhow::bail!("{} problems:\n  {}", problems.len(), problems.join("\n  "))
}

/// The folder of the workspace: the parent of this crate's.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .map(Path::to_owned)
        .unwrap_or_default()
}
