//! The demo tells its whole story, and says so when something is wrong.

use std::process::Command;

const OUTRIGGER: &str = env!("CARGO_BIN_EXE_outrigger");

#[test]
fn tells_its_story_in_plain_lines_when_nobody_watches() {
    let output = Command::new(OUTRIGGER).args(["demo", "--pause", "0"]).output().unwrap();
    let (said, errors) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{said}\n{errors}");
    assert!(!said.contains('\u{1b}'), "colours without a terminal: {said:?}");
    let steps: Vec<_> = said.lines().filter(|line| line.starts_with('✓')).collect();
    for (step, part) in steps.iter().zip([
        "etcd and kube-apiserver are up",
        "leads, two stand by",
        "three machines joined",
        "initialised: taint gone",
        "Service web has the address",
        "a fourth machine joined, was initialised and is a backend",
        "the cloud a route to it",
        "has the shutdown taint",
        "the node, its backend and its route are gone",
        "it released the lease",
        "the lease ran out",
        "nothing is left of it in the cloud",
    ]) {
        assert!(step.contains(part), "{step:?} does not say {part:?}");
    }
    assert_eq!(steps.len(), 12, "{said}");
}

#[test]
fn a_wrong_outcome_is_an_error() {
    let nothing = std::env::temp_dir().join(lab::unique("no-assets"));
    std::fs::create_dir_all(&nothing).unwrap();
    let output = Command::new(OUTRIGGER)
        .args(["demo", "--pause", "0"])
        .env("KUBEBUILDER_ASSETS", &nothing)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(errors.contains("KUBEBUILDER_ASSETS has no etcd"), "{errors}");
    assert!(!errors.contains("backtrace"), "{errors}");
    std::fs::remove_dir_all(nothing).unwrap();
}
