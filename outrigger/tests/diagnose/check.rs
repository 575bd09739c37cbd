//! `outrigger check`.

use crate::{
    administrator, command,
    fixture::{Exit, Fixture, LABEL},
};
use rstest::rstest;
use serde_json::Value;
use std::path::Path;

/// The report about a manager that would manage only the Nodes of the fixture.
async fn check(fixture: &Fixture, kubeconfig: &Path, flags: &[&str]) -> Exit {
    let selector = format!("--node-selector={LABEL}={}", fixture.name);
    let words: Vec<_> = ["check", "-o", "json", &selector]
        .into_iter()
        .chain(flags.iter().copied())
        .collect();
    command(fixture, kubeconfig, &words).await
}

/// `outcome detail` of the rows of a check.
fn rows(exit: &Exit, check: &str) -> Vec<String> {
    let report: Value = serde_json::from_str(&exit.stdout).unwrap_or_else(|error| panic!("{error}: {exit:?}"));
    let checks = report["checks"].as_array().unwrap();
    let ours = checks.iter().filter(|row| row["check"] == check);
    let text = |row: &Value| {
        format!(
            "{} {}",
            row["outcome"].as_str().unwrap(),
            row["detail"].as_str().unwrap()
        )
    };
    ours.map(text).collect()
}

#[tokio::test]
async fn passes_where_a_manager_works() {
    let fixture = Fixture::shared().await;
    fixture.join("a").await;
    let exit = check(&fixture, &administrator(&fixture), &[]).await;
    assert_eq!(exit.code, 0, "{exit:?}");
    assert_eq!(rows(&exit, "machines"), ["passed 1 of 1 nodes have one"]);
    assert_eq!(rows(&exit, "cloud config"), ["passed memory accepts it"]);
    assert!(rows(&exit, "API server")[0].starts_with("passed v1."), "{exit:?}");
    assert!(
        rows(&exit, "load balancers")[0].starts_with("passed can be listed"),
        "{exit:?}"
    );
    assert_eq!(fixture.cloud.writes(), [], "nothing is changed");
}

/// The manager's own account has what its manifest grants, and a stranger has nothing.
#[tokio::test]
async fn names_the_permissions_that_are_missing() {
    let fixture = Fixture::shared().await;
    let lease = format!("--leader-elect-resource-name={}", fixture.name);
    let exit = check(&fixture, fixture.kubeconfig(), &[&lease]).await;
    assert!(rows(&exit, "permissions")[0].starts_with("passed all "), "{exit:?}");

    let (_, stranger) = fixture.stranger("checker");
    let exit = check(&fixture, &stranger, &[]).await;
    assert_eq!(exit.code, 1, "{exit:?}");
    let missing = rows(&exit, "permissions").join("");
    assert!(
        missing.contains("failed not granted: ") && missing.contains("patch services/status"),
        "{missing}"
    );
}

#[tokio::test]
async fn names_nodes_without_a_machine() {
    let fixture = Fixture::shared().await;
    fixture.join("a").await;
    let lost = fixture.register("lost", "tainted ready:True").await;
    let exit = check(&fixture, &administrator(&fixture), &[]).await;
    assert_eq!(exit.code, 1, "{exit:?}");
    let expected = format!("failed the cloud has no machine with the name or provider ID of {lost}");
    assert_eq!(
        rows(&exit, "machines"),
        [expected.as_str(), "passed 1 of 2 nodes have one"]
    );
}

#[rstest]
#[case::unknown_flag(&["--nope"], "flags", "failed unknown flag: --nope")]
#[case::no_file(&["--cloud-config=/nope"], "flags", "failed --cloud-config: cannot read /nope: ")]
#[tokio::test]
async fn mistakes_are_rows_of_the_report(#[case] flags: &[&str], #[case] name: &str, #[case] expected: &str) {
    let fixture = Fixture::shared().await;
    let mut words = vec!["check", "-o", "json", "--cloud-provider=memory"];
    words.extend(flags);
    let kubeconfig = format!("--kubeconfig={}", administrator(&fixture).display());
    words.push(&kubeconfig);
    let launch = words
        .iter()
        .fold(crate::Launch::new(fixture.folder.path()), |launch, word| {
            launch.arg(word)
        });
    let exit = launch.start().exited().await;
    assert_eq!(exit.code, 1, "{exit:?}");
    assert!(
        rows(&exit, name).iter().any(|row| row.starts_with(expected)),
        "{exit:?}"
    );
}

#[tokio::test]
async fn an_unknown_format_is_rejected() {
    let exit = tokio::task::spawn_blocking(|| crate::fixture::run(&["check", "--output=xml"]))
        .await
        .unwrap();
    assert_eq!(exit.code, 2, "{exit:?}");
    assert_eq!(exit.sentence(), "--output=xml is not a format: write table or json");
}
