//! Names, subcommands, versions, completions, the man page.

use crate::fixture::{Folder, Launch, run};
use rstest::rstest;
use std::{
    ffi::OsStr,
    os::unix::{ffi::OsStrExt, fs::symlink},
    process::Command,
};

const VERSION: &str = concat!("Outrigger v", env!("CARGO_PKG_VERSION"), "\n");

#[rstest]
#[case::of_the_manager(&["ccm", "--version"], VERSION)]
#[case::with_underscores(&["ccm", "--cloud_provider=memory", "--leader_elect=false", "--version"], VERSION)]
#[case::of_the_program(&["version"], VERSION)]
fn prints_its_version(#[case] args: &[&str], #[case] text: &str) {
    let exit = run(args);
    assert_eq!((exit.code, exit.stdout.as_str(), exit.stderr.as_str()), (0, text, ""));
}

/// As in `outrigger ccm --help | head -1`.
#[rstest]
#[case::help(&["ccm", "--help"])]
#[case::of_the_operator(&["operator", "--help"])]
#[case::of_render(&["render", "--help"])]
#[case::of_the_program(&["--help"])]
#[case::version(&["version"])]
#[case::completion(&["completion", "bash"])]
#[case::man(&["man"])]
fn the_output_may_be_closed_early(#[case] args: &[&str]) {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = Command::new(env!("CARGO_BIN_EXE_outrigger"));
    let output = command.args(args).stdout(writer).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &*stderr), (Some(0), ""));
}

#[test]
fn an_argument_that_is_not_text_is_named() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_outrigger"));
    let output = command
        .args([OsStr::new("ccm"), OsStr::from_bytes(b"--v=\xff")])
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        (output.status.code(), &*stderr),
        (
            Some(1),
            "Error: the argument \"--v=\\xFF\" is not UTF-8: write it in that encoding\n"
        )
    );
}

#[test]
fn prints_all_version_fields() {
    let exit = run(&["ccm", "--version=raw"]);
    assert_eq!(exit.code, 0);
    for field in [
        concat!("GitVersion:\"v", env!("CARGO_PKG_VERSION")),
        "Platform:\"linux/",
    ] {
        assert!(exit.stdout.contains(field), "{}", exit.stdout);
    }
}

#[rstest]
#[case::upstream("cloud-controller-manager")]
#[case::openstack("openstack-cloud-controller-manager")]
fn is_the_manager_by_another_name(#[case] name: &str) {
    let folder = Folder::new(&lab::unique("link"));
    let link = folder.path().join(name);
    symlink(env!("CARGO_BIN_EXE_outrigger"), &link).unwrap();
    let launch = Launch::new(folder.path()).program(&link);
    let help = launch.clone().arg("--help").start().wait();
    assert_eq!(help.code, 0, "{}", help.stderr);
    assert!(
        help.stdout.contains(&format!("Usage:\n  {name} [flags]\n")),
        "{}",
        help.stdout
    );
    let wrong = launch.arg("--cloud-provider=memory").arg("go").start().wait();
    let sentence = format!("Error: \"{name}\" does not take any arguments, got \"go\"\n");
    assert_eq!((wrong.code, wrong.stderr), (1, sentence));
}

/// As in the DaemonSet of aws-cloud-controller-manager, whose image has the manager as its entrypoint.
#[rstest]
#[case::known(&["--v=2", "--cloud-provider=memory", "go"], "\"outrigger ccm\" does not take any arguments, got \"go\"")]
#[case::short(&["-v=2", "go"], "\"outrigger ccm\" does not take any arguments, got \"go\"")]
#[case::unknown(&["--no-such-flag"], "unknown flag: --no-such-flag")]
fn flags_without_a_subcommand_are_the_managers(#[case] args: &[&str], #[case] problem: &str) {
    let exit = run(args);
    assert_eq!(exit.code, 1);
    assert!(exit.stderr.contains(problem), "{}", exit.stderr);
}

#[rstest]
#[case::bash("bash", "complete -F _outrigger")]
#[case::zsh("zsh", "#compdef outrigger")]
#[case::fish("fish", "complete -c outrigger")]
fn completes(#[case] shell: &str, #[case] start: &str) {
    let exit = run(&["completion", shell]);
    assert_eq!((exit.code, exit.stderr.as_str()), (0, ""));
    for text in [start, "ccm", "leader-elect-lease-duration", "node-selector"] {
        assert!(exit.stdout.contains(text), "{text} is missing");
    }
}

#[test]
fn has_a_man_page() {
    let exit = run(&["man"]);
    assert_eq!((exit.code, exit.stderr.as_str()), (0, ""));
    for text in [".TH outrigger", "leader\\-elect\\-lease\\-duration", "operator"] {
        assert!(exit.stdout.contains(text), "{text} is missing");
    }
}

#[rstest]
#[case::unknown_subcommand(&["frobnicate"], "error: unrecognized subcommand 'frobnicate'")]
#[case::unknown_shell(&["completion", "cmd"], "error: invalid value 'cmd' for '<shell>'")]
#[case::nothing(&[], "Usage: outrigger <COMMAND>")]
fn prints_its_usage(#[case] args: &[&str], #[case] text: &str) {
    let exit = run(args);
    assert_eq!((exit.code, exit.stdout.as_str()), (1, ""));
    assert!(exit.stderr.contains(text), "{}", exit.stderr);
}
