use super::*;
use crate::{Provide, controllers_flag::NODE_IPAM, options::Generic};
use rstest::rstest;
use runtime::flags::{Section, Switch, Texts};
use std::sync::Arc;

/// A cloud with a flag, and with defaults of its own.
#[derive(Default)]
struct Nimbus {
    tags: Texts,
}

impl Setup for Nimbus {
    fn sections(&mut self) -> Vec<Section<'_>> {
        vec![Section::new("nimbus").flag("nimbus-tag", &mut self.tags, "A tag of every instance.")]
    }

    fn provider(&self, _: &Provide<'_>) -> Result<Arc<dyn cloud::Provider>, String> {
        Err(self.tags.0.join(" "))
    }
}

fn cirrus(_: &Provide<'_>) -> Result<Arc<dyn cloud::Provider>, String> {
    Err("cirrus".to_owned())
}

fn nimbus_defaults(options: &mut Options) {
    options.generic.leader_election.resource_name = "ccm".to_owned();
    let known = &mut options.generic.known_controllers;
    known.aliases.push(("ipam", NODE_IPAM.name));
    known.off_by_default.clear();
}

const CIRRUS: Registration = Registration::new("cirrus", || Box::new(cirrus));
const NIMBUS: Registration = Registration {
    programs: &["nimbus-cloud-controller-manager"],
    defaults: nimbus_defaults,
    ..Registration::new("nimbus", || Box::<Nimbus>::default())
};

fn parsed(registered: &[Registration], name: &str, flags: &str) -> Result<Task, String> {
    let flags = format!("--master=http://127.0.0.1:1 {flags}");
    let args = flags.split_whitespace().map(str::to_owned).collect();
    parse(registered, name, args, Vec::new()).map_err(|problems| problems.iter().collect::<Vec<_>>().join("; "))
}

fn options(registered: &[Registration], name: &str, flags: &str) -> Options {
    match parsed(registered, name, flags) {
        Ok(Task::Run(options, _)) => *options,
        Ok(Task::Print(text)) => panic!("{text}"),
        Err(problems) => panic!("{problems}"),
    }
}

/// The provider, the lease, and whether `*` includes the node-ipam-controller.
#[rstest]
#[case::by_flag("outrigger ccm", "--cloud-provider=nimbus", "nimbus ccm true")]
#[case::by_program("nimbus-cloud-controller-manager", "", "nimbus ccm true")]
#[case::flag_wins(
    "nimbus-cloud-controller-manager",
    "--cloud-provider=cirrus",
    "cirrus cloud-controller-manager false"
)]
#[case::without_defaults("outrigger ccm", "--cloud-provider=cirrus", "cirrus cloud-controller-manager false")]
#[case::users_lease(
    "outrigger ccm",
    "--cloud-provider=nimbus --leader-elect-resource-name=mine",
    "nimbus mine true"
)]
#[case::alias("outrigger ccm", "--cloud-provider=nimbus --controllers=ipam", "nimbus ccm true")]
#[case::switched_off("outrigger ccm", "--cloud-provider=nimbus --controllers=*,-ipam", "nimbus ccm false")]
fn the_provider_decides_the_defaults(#[case] program: &str, #[case] flags: &str, #[case] expected: &str) {
    let options = options(&[CIRRUS, NIMBUS], program, flags);
    let Generic {
        cloud, leader_election, ..
    } = &options.generic;
    let found = format!(
        "{} {} {}",
        cloud.provider,
        leader_election.resource_name,
        options.wants(NODE_IPAM.name)
    );
    assert_eq!(found, expected);
}

#[test]
fn a_program_with_one_provider_needs_no_flag_to_select_it() {
    assert_eq!(options(&[CIRRUS], "anything", "").generic.cloud.provider, "cirrus");
}

#[rstest]
#[case::none_selected("", "--cloud-provider cannot be empty, set it to the name of a cloud provider")]
#[case::unknown(
    "--cloud-provider=stratus",
    r#"unknown cloud provider "stratus": this program knows cirrus and nimbus"#
)]
#[case::external(
    "--cloud-provider=external",
    "--cloud-provider=external is for kubelets and the other controllers: name a cloud here"
)]
#[case::flag_of_another(
    "--cloud-provider=cirrus --nimbus-tag=a",
    "--nimbus-tag is a flag of the cloud provider nimbus, not of cirrus: remove it, or set --cloud-provider=nimbus"
)]
#[case::alias_of_another(
    "--cloud-provider=cirrus --controllers=ipam",
    r#""ipam" is not in the list of known controllers (--controllers)"#
)]
fn rejects(#[case] flags: &str, #[case] expected: &str) {
    let found = parsed(&[CIRRUS, NIMBUS], "outrigger ccm", flags).err();
    assert_eq!(found.as_deref(), Some(expected));
}

#[rstest]
#[case::none(&[], "no provider")]
#[case::one(&[CIRRUS], "cirrus")]
fn names_what_it_knows(#[case] registered: &[Registration], #[case] known: &str) {
    let found = parsed(registered, "outrigger ccm", "--cloud-provider=stratus").err();
    let expected = format!(r#"unknown cloud provider "stratus": this program knows {known}"#);
    assert_eq!(found, Some(expected));
}

#[test]
fn the_selected_provider_has_the_values_of_its_flags() {
    let flags = "--cloud-provider=nimbus --nimbus-tag=a --nimbus-tag=b";
    let Ok(Task::Run(_, setup)) = parsed(&[CIRRUS, NIMBUS], "outrigger ccm", flags) else {
        panic!("it does not run")
    };
    let registry = prometheus::Registry::new();
    let start = Provide {
        name: "nimbus",
        config: "",
        allow_untagged_cloud: Switch::Off,
        gate: Arc::new(|| Ok(())),
        registry: &registry,
    };
    assert_eq!(setup.provider(&start).err().as_deref(), Some("a b"));
}

#[rstest]
#[case::no_provider("", "(default \"cloud-controller-manager\")")]
#[case::a_provider("--cloud-provider=nimbus", "(default \"ccm\")")]
fn the_help_has_the_flags_of_all_providers_and_the_defaults_of_the_selected_one(
    #[case] flags: &str,
    #[case] default: &str,
) {
    let Ok(Task::Print(help)) = parsed(&[CIRRUS, NIMBUS], "outrigger ccm", &format!("{flags} --help")) else {
        panic!("it runs")
    };
    assert!(
        help.contains("Nimbus flags:") && help.contains("--nimbus-tag"),
        "{help}"
    );
    let after = help.split_once("--leader-elect-resource-name").map(|(_, after)| after);
    let lease: String = after.unwrap_or_default().lines().take(2).collect();
    assert!(lease.contains(default), "{lease}");
}
