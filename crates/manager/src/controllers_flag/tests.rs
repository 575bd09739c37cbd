use super::*;
use rstest::rstest;

fn list(items: &str) -> Vec<String> {
    items.split_whitespace().map(str::to_owned).collect()
}

// upstream: TestIsControllerEnabled
#[rstest]
#[case("on by name", "bravo", "alpha bravo -charlie", true)]
#[case("off by name", "charlie", "alpha bravo -charlie", false)]
#[case("on by default", "alpha", "*", true)]
#[case("off by default", "delta", "*", false)]
#[case("on by star, not off by name", "alpha", "* -charlie", true)]
#[case("off by name with star", "charlie", "* -charlie", false)]
#[case("off by default implicit, no star", "foxtrot", "alpha bravo -charlie", false)]
fn wants(#[case] case: &str, #[case] name: &str, #[case] items: &str, #[case] expected: bool) {
    let names = Names {
        off_by_default: vec!["delta", "echo"],
        ..Names::default()
    };
    assert_eq!(names.wants(&list(items), name), expected, "{case}");
}

#[rstest]
#[case("on first", "a -a", true)]
#[case("off first", "-a a", false)]
#[case("star does not come before a name", "* -a", false)]
fn the_first_mention_decides(#[case] case: &str, #[case] items: &str, #[case] expected: bool) {
    assert_eq!(Names::default().wants(&list(items), "a"), expected, "{case}");
}

#[test]
fn an_explicit_name_overrides_the_default() {
    let names = controllers();
    assert!(!names.wants(&list("*"), NODE_IPAM.name));
    assert!(names.wants(&names.resolve(&list("* nodeipam")), NODE_IPAM.name));
}

/// Upstream's colours.
fn colours(known: &'static str, aliases: &'static str) -> Names<'static> {
    Names {
        what: "controllers",
        known: known.split_whitespace().collect(),
        aliases: aliases
            .split_whitespace()
            .map(|pair| pair.split_once('=').unwrap())
            .collect(),
        off_by_default: vec!["green-controller"],
    }
}

const ALL: &str = "red-controller green-controller blue-controller";
const ALIASES: &str =
    "crimson-controller=red-controller pink-controller=red-controller ultramarine-controller=blue-controller";

// upstream: TestValidateGenericControllerManagerConfigurationOptions
#[rstest]
#[case("no controllers defined", "", "", "*", "")]
#[case("recognizes empty controllers", ALL, ALIASES, "", "")]
#[case("recognizes controllers without any aliases", ALL, "", "blue-controller", "")]
#[case(
    "recognizes valid controllers",
    ALL,
    ALIASES,
    "* -red-controller blue-controller",
    ""
)]
#[case("recognizes disabled controller", ALL, ALIASES, "green-controller", "")]
#[case(
    "recognized aliased controller",
    ALL,
    ALIASES,
    "ultramarine-controller -pink-controller",
    ""
)]
#[case(
    "does not recognize controller",
    "",
    "",
    "red-controller",
    "\"red-controller\" is not in the list of known controllers"
)]
#[case(
    "does not recognize controller with aliases",
    ALL,
    ALIASES,
    "crimson-controller grey-controller",
    "\"grey-controller\" is not in the list of known controllers, did you mean green-controller?"
)]
fn unknown(
    #[case] case: &str,
    #[case] known: &'static str,
    #[case] aliases: &'static str,
    #[case] items: &str,
    #[case] problem: &str,
) {
    assert_eq!(
        colours(known, aliases).unknown(&list(items)).join("; "),
        problem,
        "{case}"
    );
}

// upstream: TestApplyToGenericControllerManagerConfigurationOptions
#[rstest]
#[case("no controllers defined", "", "", "*", "*")]
#[case("empty aliases", ALL, "", "-blue-controller", "-blue-controller")]
#[case(
    "applies valid controllers",
    ALL,
    ALIASES,
    "* green-controller -red-controller blue-controller",
    "* green-controller -red-controller blue-controller"
)]
#[case(
    "resolves aliases",
    ALL,
    ALIASES,
    "green-controller -crimson-controller ultramarine-controller -pink-controller",
    "green-controller -red-controller blue-controller -red-controller"
)]
fn resolve(
    #[case] case: &str,
    #[case] known: &'static str,
    #[case] aliases: &'static str,
    #[case] items: &str,
    #[case] expected: &str,
) {
    assert_eq!(colours(known, aliases).resolve(&list(items)), list(expected), "{case}");
}

// upstream: TestCloudControllerManagerAliases
#[test]
fn aliases_are_resolved_in_place() {
    let case = "service-controller,-service,route,-cloud-node-lifecycle-controller";
    let names = Names {
        what: "controllers",
        known: vec![
            "cloud-node-controller",
            "service-controller",
            "route-controller",
            "cloud-node-lifecycle-controller",
        ],
        aliases: vec![
            ("cloud-node", "cloud-node-controller"),
            ("service", "service-controller"),
            ("route", "route-controller"),
            ("cloud-node-lifecycle", "cloud-node-lifecycle-controller"),
        ],
        off_by_default: vec![],
    };
    let items: Vec<String> = case.split(',').map(str::to_owned).collect();
    assert_eq!(names.unknown(&items), Vec::<String>::new());
    let expected = "service-controller -service-controller route-controller -cloud-node-lifecycle-controller";
    assert_eq!(names.resolve(&items), list(expected));
}

// upstream: TestCloudControllerNamesConsistency
#[rstest]
#[case("cloud-node-controller")]
#[case("cloud-node-lifecycle-controller")]
#[case("node-route-controller")]
#[case("service-lb-controller")]
#[case("node-ipam-controller")]
fn names_are_consistent(#[case] name: &str) {
    assert!(CONTROLLERS.iter().any(|known| known.name == name), "{name} is declared");
    assert!(name.ends_with("-controller") && name.starts_with(|letter: char| letter.is_ascii_lowercase()));
    assert!(name.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-'));
}

// upstream: TestCloudControllerNamesDeclaration
#[test]
fn all_default_controllers_are_declared() {
    let case = "all default controllers declared";
    let on: Vec<_> = CONTROLLERS
        .iter()
        .filter(|known| known.default.is_on() && *known != &NODE_FIREWALL)
        .map(|known| known.name)
        .collect();
    let expected = "cloud-node-controller cloud-node-lifecycle-controller node-route-controller service-lb-controller";
    assert_eq!(on.join(" "), expected, "{case}");
}

#[rstest]
#[case::alias("service", "service-lb-controller")]
#[case::historic("service-controller", "service-lb-controller")]
#[case::historic_route("route-controller", "node-route-controller")]
#[case::present("node-route-controller", "node-route-controller")]
#[case::nodeipam("nodeipam", "node-ipam-controller")]
#[case::unknown("kube-scheduler", "kube-scheduler")]
fn migration_files_may_use_older_names(#[case] name: &str, #[case] present: &str) {
    assert_eq!(canonical(name), present);
}

#[test]
fn all_names_are_unique() {
    let mut names: Vec<&str> = CONTROLLERS.iter().flat_map(|known| [known.name, known.alias]).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}
