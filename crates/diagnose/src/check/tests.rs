use super::{
    machines, report,
    report::{Outcome, Report},
    rights,
};
use cloud::{Answer, Instance};
use manager::Options;
use rstest::rstest;
use std::{collections::BTreeSet, sync::Arc};

/// The rules of the cluster role and of the lease, as `verb resource`.
fn granted() -> BTreeSet<String> {
    let text = include_str!("../../../../deploy/manager/rbac.yaml");
    let mut resources = "";
    let mut all = BTreeSet::new();
    for line in text.lines() {
        let list = |key: &str| line.split_once(key).map(|(_, rest)| rest.trim_matches(['[', ']', ' ']));
        if let Some(found) = list("  resources: ") {
            resources = found;
        } else if let Some(verbs) = list("  verbs: ") {
            all.extend(verbs.split(", ").map(|verb| format!("{verb} {resources}")));
        }
    }
    all
}

#[test]
fn the_permissions_are_those_of_the_manifest() {
    let mut options = Options::default();
    options.authentication.skip_lookup = runtime::flags::Switch::On;
    let needed = rights::needed(&options);
    let needed: BTreeSet<_> = needed
        .iter()
        .map(|right| format!("{} {}", right.verb, right.resource))
        .collect();
    assert_eq!(needed, granted());
}

#[test]
fn permissions_are_named_with_their_objects() {
    let needed = rights::needed(&Options::default());
    let texts: Vec<_> = needed.iter().map(ToString::to_string).collect();
    for expected in [
        "patch nodes/status",
        "create leases in kube-system",
        "update leases kube-system/cloud-controller-manager",
        "get configmaps kube-system/extension-apiserver-authentication",
    ] {
        assert!(
            texts.iter().any(|text| text == expected),
            "{expected} is not in {texts:?}"
        );
    }
}

fn unavailable() -> cloud::Error {
    cloud::Error::Unavailable {
        call: "list servers".to_owned(),
        source: "down".into(),
    }
}

fn found() -> Answer {
    Answer::Found(Box::<Instance>::default())
}

#[rstest]
#[case::no_nodes(vec![], "passed 0 of 0 nodes have one")]
#[case::all(vec![Ok(found()), Ok(found())], "passed 2 of 2 nodes have one")]
#[case::one_missing(vec![Ok(found()), Ok(Answer::Missing)], "failed the cloud has no machine with the name or provider ID of node-1, passed 1 of 2 nodes have one")]
#[case::one_unknown(vec![Ok(found()), Err(unavailable())], "warning node-1: list servers is unavailable: down, passed 1 of 2 nodes have one")]
#[case::outage(vec![Err(unavailable()), Err(unavailable())], "failed list servers is unavailable: down")]
#[case::many(vec![Ok(Answer::Missing); 12], "failed the cloud has no machine with the name or provider ID of node-0, node-1, node-2, node-3, node-4, node-5, node-6, node-7, node-8, node-9 and 2 more")]
fn nodes_without_machines(#[case] answers: Vec<cloud::Result<Answer>>, #[case] expected: &str) {
    let nodes = (0..answers.len()).map(|index| Arc::new(testkit::node::node(&format!("node-{index}"), "")));
    let mut report = Report::default();
    machines::summarise(&nodes.collect::<Vec<_>>(), &answers, "name", &mut report);
    let text = |row: &report::Row| format!("{} {}", format!("{:?}", row.outcome).to_lowercase(), row.detail);
    let rows: Vec<_> = report.checks.iter().map(text).collect();
    assert_eq!(rows.join(", "), expected);
}

#[test]
fn the_table_and_json_have_all_of_it() {
    let mut report = Report::default();
    report.passed("flags", "3 given".to_owned());
    report.failed("cloud config", "refused".to_owned(), "correct it");
    report.not_tried("routes", "the flags disable them");
    let table = "CHECK          RESULT      DETAIL\n\
                 flags          passed      3 given\n\
                 cloud config   failed      refused; correct it\n\
                 routes         not tried   the flags disable them\n";
    assert_eq!(report.table(), table);
    assert!(report.has_failed());
    let json: serde_json::Value = serde_json::from_str(&report.json().unwrap()).unwrap();
    assert_eq!(json["checks"][1]["outcome"], "failed");
    assert_eq!(json["checks"][1]["advice"], "correct it");
    assert_eq!(
        json["checks"][2]["outcome"],
        serde_json::to_value(Outcome::NotTried).unwrap()
    );
}
