use super::*;
use rstest::rstest;
use std::path::{Path, PathBuf};

const ALIASES: [(&str, &str); 6] = [
    ("cloud-node", "cloud-node-controller"),
    ("cloud-node-lifecycle", "cloud-node-lifecycle-controller"),
    ("service", "service-lb-controller"),
    ("service-controller", "service-lb-controller"),
    ("route", "node-route-controller"),
    ("route-controller", "node-route-controller"),
];

fn config(lock: &str, name: &str, leaders: &[(&str, &str)]) -> Config {
    let leader = |(name, component): &(&str, &str)| ControllerLeader {
        name: (*name).into(),
        component: (*component).into(),
    };
    Config {
        leader_name: name.into(),
        resource_lock: lock.into(),
        controller_leaders: leaders.iter().map(leader).collect(),
    }
}

fn file(version: &str, rest: &str) -> String {
    format!("apiVersion: controllermanager.config.k8s.io/{version}\nkind: LeaderMigrationConfiguration\n{rest}")
}

const TO_121: &str = "migration-120-to-121";

// upstream: TestReadLeaderMigrationConfiguration
#[rstest]
#[case("empty", "", Err("is not a LeaderMigrationConfiguration"))]
#[case(
    "wrong kind",
    "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n",
    Err(r#"kind "KubeletConfiguration" of "kubelet.config.k8s.io/v1beta1" is not a LeaderMigrationConfiguration"#)
)]
#[case(
    "basic",
    &file("v1alpha1", "leaderName: migration-120-to-121\nresourceLock: leases\ncontrollerLeaders: []\n"),
    Ok(config("leases", TO_121, &[]))
)]
#[case(
    "endpoints",
    &file("v1alpha1", "leaderName: migration-120-to-121\nresourceLock: endpoints\ncontrollerLeaders: []\n"),
    Ok(config("endpoints", TO_121, &[]))
)]
#[case(
    "unknown field",
    &file("v1alpha1", "leaderName: migration-120-to-121\nresourceLock: endpoints\nfoo: bar\ncontrollerLeaders: []\n"),
    Err("line 5")
)]
#[case(
    "duplicate field",
    &file("v1alpha1", "leaderName: m\nresourceLock: endpoints\nresourceLock: endpoints1\ncontrollerLeaders: []\n"),
    Err("line 5")
)]
#[case(
    "with leaders",
    &file(
        "v1alpha1",
        "leaderName: migration-120-to-121
resourceLock: endpoints
controllerLeaders:
  - name: route-controller
    component: kube-controller-manager
  - name: service-controller
    component: kube-controller-manager
",
    ),
    Ok(config(
        "endpoints",
        TO_121,
        &[("route-controller", "kube-controller-manager"), ("service-controller", "kube-controller-manager")],
    ))
)]
fn reads(#[case] name: &str, #[case] text: &str, #[case] expected: Result<Config, &str>) {
    parses(name, text, expected);
}

#[rstest]
#[case("JSON", r#"{"apiVersion":"controllermanager.config.k8s.io/v1","kind":"LeaderMigrationConfiguration","leaderName":"a"}"#, Ok(config("leases", "a", &[])))]
#[case("no list", &file("v1beta1", "leaderName: a\nresourceLock: leases\ncontrollerLeaders:\n"), Ok(config("leases", "a", &[])))]
#[case("lock in v1", &file("v1", "leaderName: a\nresourceLock: leases\n"), Err("resourceLock"))]
#[case("unknown version", &file("v2", "leaderName: a\n"), Err("/v2\" is not a LeaderMigrationConfiguration"))]
#[case(
    "other group",
    "apiVersion: controllermanager.config.k8s.iov1\nkind: LeaderMigrationConfiguration\n",
    Err("is not a")
)]
#[case("unknown field of a leader", &file("v1", "controllerLeaders:\n- name: a\n  komponent: b\n"), Err("line 5"))]
#[case("a number", &file("v1", "leaderName: 121\n"), Err("line 3"))]
#[case("not YAML", "{", Err("line 1"))]
#[case("a list", "- a\n", Err("line 1"))]
fn reads_also(#[case] name: &str, #[case] text: &str, #[case] expected: Result<Config, &str>) {
    parses(name, text, expected);
}

fn parses(name: &str, text: &str, expected: Result<Config, &str>) {
    match (Config::parse(text).map_err(|error| error.to_string()), expected) {
        (Ok(config), Ok(expected)) => assert_eq!(config, expected, "{name}"),
        (Err(error), Err(part)) => {
            assert!(error.contains(part), "{name}: {error:?} does not contain {part:?}");
            assert!(!error.contains('\n'), "{name}: more than a sentence: {error}");
        }
        (got, expected) => panic!("{name}: expected {expected:?}, got {got:?}"),
    }
}

// upstream: TestValidateLeaderMigrationConfiguration
#[rstest]
#[case("empty name", config("leases", "", &[]), &["leaderName must be set"])]
#[case("invalid resourceLock", config("invalid", "test", &[]), &[r#"resourceLock "invalid" must be "leases""#])]
#[case("empty controllerLeaders (valid)", config("leases", "test", &[]), &[])]
// Upstream accepts it here and dies when it makes the lock.
#[case(
    "endpoints",
    config("endpoints", TO_121, &[("route-controller", "kube-controller-manager")]),
    &[r#"resourceLock "endpoints" no longer exists in Kubernetes: use "leases""#]
)]
fn validates(#[case] name: &str, #[case] config: Config, #[case] problems: &[&str]) {
    assert_eq!(config.validate(), problems, "{name}");
}

#[test]
fn all_problems_are_listed_together() {
    let problems = config("", "", &[("a", ""), ("", "")]).validate();
    let expected = [
        "leaderName must be set",
        "resourceLock \"\" must be \"leases\"",
        "controllerLeaders[0].component must be set",
        "controllerLeaders[1].name must be set",
        "controllerLeaders[1].component must be set",
    ];
    assert_eq!(problems, expected);
    assert_eq!(
        Error::Invalid(problems[..2].to_vec()).to_string(),
        "invalid leader migration configuration: leaderName must be set; resourceLock \"\" must be \"leases\""
    );
}

const KCM: &str = "kube-controller-manager";
const CCM: &str = "cloud-controller-manager";
const MIGRATING: [&str; 3] = [
    "route-controller",
    "service-controller",
    "cloud-node-lifecycle-controller",
];

// upstream: TestLeaderMigratorFilterFunc
#[rstest]
#[case("from config, kcm", KCM, KCM, Ownership::Migrated)]
#[case("from config, ccm", KCM, CCM, Ownership::Unowned)]
#[case("to config, kcm", CCM, KCM, Ownership::Unowned)]
#[case("to config, ccm", CCM, CCM, Ownership::Migrated)]
#[case("wildcard config, kcm", "*", KCM, Ownership::Migrated)]
#[case("wildcard config, ccm", "*", CCM, Ownership::Migrated)]
fn filters(#[case] name: &str, #[case] listed: &str, #[case] component: &str, #[case] expected: Ownership) {
    let config = config(
        "leases",
        "cloud-provider-extraction-migration",
        &MIGRATING.map(|name| (name, listed)),
    );
    let literal = Classifier::new(&config, component, [("", ""); 0]);
    let resolving = Classifier::new(&config, component, ALIASES);
    for classifier in [&literal, &resolving] {
        for controller in MIGRATING {
            assert_eq!(classifier.classify(controller), expected, "{name}: {controller}");
        }
        for controller in ["deployment-controller", "cloud-node-controller", "cloud-node"] {
            assert_eq!(
                classifier.classify(controller),
                Ownership::NonMigrated,
                "{name}: {controller}"
            );
        }
    }
}

#[rstest]
#[case::canonical("node-route-controller")]
#[case::alias("route")]
#[case::historic("route-controller")]
fn a_controller_is_known_by_all_its_names(#[case] listed: &str) {
    let classifier = Classifier::new(&config("leases", "m", &[(listed, "*")]), CCM, ALIASES);
    for name in ["node-route-controller", "route", "route-controller"] {
        assert_eq!(classifier.classify(name), Ownership::Migrated, "{name}");
    }
    assert_eq!(classifier.classify("service-lb-controller"), Ownership::NonMigrated);
}

#[test]
fn the_default_migrates_all_three_controllers() {
    let classifier = Classifier::new(&Config::default(), CCM, ALIASES);
    for name in [
        "node-route-controller",
        "service-lb-controller",
        "cloud-node-lifecycle-controller",
    ] {
        assert_eq!(classifier.classify(name), Ownership::Migrated, "{name}");
    }
    assert_eq!(classifier.classify("cloud-node-controller"), Ownership::NonMigrated);
}

#[test]
fn the_last_entry_for_a_controller_counts() {
    let config = config("leases", "m", &[("route", CCM), ("route-controller", KCM)]);
    assert_eq!(
        Classifier::new(&config, CCM, ALIASES).classify("node-route-controller"),
        Ownership::Unowned
    );
}

/// A file that is deleted after the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("leader-migration-{}.yaml", uuid::Uuid::new_v4()));
        std::fs::write(&path, text).unwrap();
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

const EMPTY_LIST: &str = "leaderName: test-leader-migration\ncontrollerLeaders: []\n";
const WITH_LOCK: &str = "leaderName: test-leader-migration\nresourceLock: leases\ncontrollerLeaders: []\n";

fn leaders(list: &[(&str, &str)]) -> String {
    let entry = |(name, component): &(&str, &str)| format!("  - name: {name}\n    component: \"{component}\"\n");
    let list: String = list.iter().map(entry).collect();
    format!("leaderName: test-leader-migration\ncontrollerLeaders:\n{list}")
}

const WILDCARD: [(&str, &str); 4] = [
    ("route-controller", "*"),
    ("service-controller", "*"),
    ("cloud-node-lifecycle-controller", "*"),
    ("node-ipam-controller", "*"),
];
const PLACED: [(&str, &str); 4] = [
    ("route-controller", CCM),
    ("service-controller", CCM),
    ("cloud-node-lifecycle-controller", CCM),
    ("node-ipam-controller", KCM),
];

// upstream: TestLeaderMigrationOptions
#[rstest]
#[case("enabled, with default configuration", None, &Config::default())]
#[case(
    "enabled, with custom configuration file",
    Some(file("v1alpha1", WITH_LOCK)),
    &config("leases", "test-leader-migration", &[])
)]
#[case(
    "enabled, with custom configuration file (version v1beta1)",
    Some(file("v1beta1", WITH_LOCK)),
    &config("leases", "test-leader-migration", &[])
)]
#[case(
    "enabled, with custom configuration file (version v1)",
    Some(file("v1", EMPTY_LIST)),
    &config("leases", "test-leader-migration", &[])
)]
#[case(
    "enabled, with populated controllerLeaders (version v1)",
    Some(file("v1", &leaders(&WILDCARD))),
    &config("leases", "test-leader-migration", &WILDCARD)
)]
#[case(
    "enabled, with non-wildcard controllerLeaders (version v1)",
    Some(file("v1", &leaders(&PLACED))),
    &config("leases", "test-leader-migration", &PLACED)
)]
fn options(#[case] name: &str, #[case] text: Option<String>, #[case] expected: &Config) {
    let scratch = text.map(|text| Scratch::new(&text));
    let path = scratch.as_ref().map(|scratch| scratch.0.as_path());
    let resolved = resolve(Election::Enabled, Migration::Enabled, path).unwrap();
    assert_eq!(
        resolved,
        Resolved {
            config: Some(expected.clone()),
            warnings: vec![]
        },
        "{name}"
    );
}

#[test]
fn questionable_flags_are_reported_but_the_program_starts() {
    let warned = |election, migration, file: &str| {
        let resolved = resolve(election, migration, Some(Path::new(file))).unwrap();
        assert_eq!(resolved.config, None);
        resolved.warnings
    };
    assert_eq!(warned(Election::Enabled, Migration::Disabled, ""), Vec::<String>::new());
    assert_eq!(
        warned(Election::Enabled, Migration::Disabled, "/nowhere"),
        ["--leader-migration-config has no effect without --enable-leader-migration"]
    );
    assert_eq!(
        warned(Election::Disabled, Migration::Enabled, ""),
        ["--enable-leader-migration has no effect without --leader-elect"]
    );
}

#[test]
fn a_bad_file_is_an_error_that_names_it() {
    let error = |path: &Path| resolve(Election::Enabled, Migration::Enabled, Some(path)).unwrap_err();
    let missing = error(Path::new("/nowhere/at/all"));
    assert_eq!(
        missing.to_string(),
        "cannot read the leader migration configuration \"/nowhere/at/all\""
    );
    let scratch = Scratch::new(&file("v1", "foo: bar\n"));
    let parse = error(&scratch.0).to_string();
    assert!(
        parse.starts_with(&format!("{}: ", scratch.0.display())) && parse.contains("line 3"),
        "{parse}"
    );
    let scratch = Scratch::new(&file("v1beta1", "leaderName: a\nresourceLock: endpoints\n"));
    let invalid = error(&scratch.0).to_string();
    assert!(invalid.contains("\"endpoints\" no longer exists"), "{invalid}");
}

#[rstest]
fn reads_the_file_that_it_writes(#[values(FileVersion::V1, FileVersion::V1Beta1)] version: FileVersion) {
    let leaders = [("route", "kube-controller-manager"), ("service", "*")];
    let config = Config {
        controller_leaders: leaders
            .map(|(name, component)| ControllerLeader {
                name: name.to_owned(),
                component: component.to_owned(),
            })
            .into(),
        ..Config::default()
    };
    assert_eq!(Config::parse(&config.document(version)).unwrap(), config);
}
