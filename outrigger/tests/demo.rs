//! The demo tells its whole story, and says so when something is wrong.

use rstest::rstest;
use std::{
    process::Command,
    sync::{Mutex, PoisonError},
};

const OUTRIGGER: &str = env!("CARGO_BIN_EXE_outrigger");

/// A demo measures how fast a standby leads, which another one beside it would disturb.
static TURN: Mutex<()> = Mutex::new(());

/// What is told, whatever the cloud.
const STORY: [&str; 11] = [
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
];

#[rstest]
#[case::on_the_memory_cloud("memory", None)]
#[case::on_openstack("openstack", Some("Keystone, Nova, Neutron and Octavia, simulated, are up"))]
fn tells_its_story_in_plain_lines_when_nobody_watches(#[case] cloud: &str, #[case] before: Option<&str>) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let output = Command::new(OUTRIGGER)
        .args(["demo", "--pause", "0", "--cloud", cloud])
        .output()
        .unwrap();
    let (said, errors) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{said}\n{errors}");
    assert!(!said.contains('\u{1b}'), "colours without a terminal: {said:?}");
    let parts: Vec<_> = ["etcd and kube-apiserver are up"]
        .into_iter()
        .chain(before)
        .chain(STORY)
        .collect();
    let steps: Vec<_> = said.lines().filter(|line| line.starts_with('✓')).collect();
    assert_eq!(steps.len(), parts.len(), "{said}");
    for (step, part) in steps.iter().zip(parts) {
        assert!(step.contains(part), "{step:?} does not say {part:?}");
    }
}

#[test]
fn is_on_the_memory_cloud_unless_told_otherwise() {
    let output = Command::new(OUTRIGGER).args(["demo", "--help"]).output().unwrap();
    let help = String::from_utf8_lossy(&output.stdout);
    assert!(help.contains("[default: memory]"), "{help}");
}

#[rstest]
#[case::of_memory(&["--real"], "--real is for --cloud openstack")]
#[case::of_an_unknown_cloud(&["--cloud", "azure"], "possible values: memory, openstack")]
fn there_is_no_such_demo(#[case] args: &[&str], #[case] why: &str) {
    let output = Command::new(OUTRIGGER).arg("demo").args(args).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains(why), "{errors}");
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
