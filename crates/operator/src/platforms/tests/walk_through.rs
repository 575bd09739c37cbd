//! Follows `docs/adding-a-platform.md`: the folder `acme` has the files of the page, and the results are those that the page shows.

use super::{acme::PLATFORM, *};
use crate::cloud_config;
use k8s_openapi::api::core::v1::ConfigMap;
use operator_api::Infrastructure;
use rstest::rstest;
use serde_json::json;
use std::collections::BTreeMap;

const PAGE: &str = include_str!("../../../../../docs/adding-a-platform.md");

/// The block of the page with this title.
fn block(title: &str) -> String {
    let mut lines = PAGE
        .lines()
        .skip_while(|line| !(line.starts_with("```") && line.ends_with(title)));
    lines.next().unwrap_or_else(|| panic!("the page has no block {title}"));
    lines
        .take_while(|line| *line != "```")
        .flat_map(|line| [line, "\n"])
        .collect()
}

fn mars() -> Setting {
    Setting {
        infrastructure_name: "mars-x7k2p".to_owned(),
        images: Images::parse(r#"{"cloudControllerManagerAcme": "example.test/acme:1"}"#).unwrap(),
        tls: tls::Settings {
            min_version: "VersionTLS13".to_owned(),
            cipher_suites: Vec::new(),
        },
        ..setting("Acme", Topology::HighlyAvailable)
    }
}

#[rstest]
#[case("acme/deployment.yaml", include_str!("acme/deployment.yaml"))]
#[case("acme/roles.yaml", include_str!("acme/roles.yaml"))]
#[case("acme/bootstrap.yaml", include_str!("acme/bootstrap.yaml"))]
#[case("acme.rs", include_str!("acme.rs"))]
fn the_page_shows_the_files(#[case] title: &str, #[case] file: &str) {
    assert_eq!(block(title), file, "{title} differs");
}

#[test]
fn the_documentation_matches_the_rendered_objects() {
    let objects = PLATFORM.resources(&mars()).unwrap();
    assert_eq!(names(&objects).join("\n") + "\n", block("text result"));
    let container = at(objects[0].value(), "/spec/template/spec/containers/0");
    assert_eq!(container["command"][2], block("text script"));
    assert_eq!(container["image"], "example.test/acme:1");
    let binding = objects[2].value();
    assert_eq!(at(binding, "/subjects/0/namespace"), NAMESPACE);
}

/// Step 4 is one row. With it the platform is found, is external, and all its objects exist, with the
/// configuration that its Pods mount.
#[test]
fn the_page_leaves_only_the_row_to_write() {
    let row = block("text row");
    assert!(
        include_str!("../../platforms.rs").contains(&row.trim().replace("acme", "tests::acme")),
        "{row}"
    );
    let infrastructure: Infrastructure = serde_json::from_value(json!({
        "metadata": {"name": "cluster"},
        "spec": {"cloudConfig": {"name": "acme", "key": "config"}},
        "status": {"infrastructureName": "mars-x7k2p", "platformStatus": {"type": "Acme"}},
    }))
    .unwrap();
    let status = infrastructure.status.platform_status.as_ref();
    assert_eq!(
        external::provisioning(status, &BTreeMap::new()),
        Ok(external::Provisioning::Provision)
    );
    assert!(external::is_external(status.unwrap()));

    let referenced: ConfigMap = serde_json::from_value(json!({"data": {"config": "planet: mars"}})).unwrap();
    let decision = cloud_config::decide(&cloud_config::World {
        infrastructure: &infrastructure,
        network: None,
        gates: None,
        managed: None,
        referenced: Some(&referenced),
    });
    let written = decision.unwrap().cloud_conf.expect("a cloud configuration");
    assert_eq!(written.data["cloud.conf"], "planet: mars");

    let setting = Setting {
        platform: status.unwrap().clone(),
        ..mars()
    };
    let objects = resources(&setting).unwrap();
    assert_eq!(names(&objects).join("\n") + "\n", block("text result"));
    let mounted = config_hash::references(objects[0].value());
    let mounted: Vec<_> = mounted.iter().map(|reference| reference.key(NAMESPACE)).collect();
    let synced = written.object(NAMESPACE, cloud_config::NAME);
    assert!(mounted.contains(synced.key()), "{mounted:?}");
}

#[test]
fn so_does_the_static_pod() {
    let pods = PLATFORM.bootstrap_resources(&mars()).unwrap();
    assert_eq!(names(&pods), ["Pod kube-system/acme-cloud-controller-manager"]);
    let args = at(pods[0].value(), "/spec/containers/0/args").to_string();
    assert!(
        args.contains("--controllers=cloud-node") && args.contains("--cloud-provider=acme"),
        "{args}"
    );
    assert!(!args.contains("--cloud-config"), "there is none: {args}");
}

#[test]
fn a_condition_that_is_not_met_leaves_a_flag_out() {
    let setting = Setting {
        infrastructure_name: "somewhere".to_owned(),
        ..mars()
    };
    let objects = PLATFORM.resources(&setting).unwrap();
    assert!(!objects[0].value().to_string().contains("--region"));
}

/// Mistakes of a new platform are reported.
#[rstest]
#[case::placeholder(
    "metadata: {name: a}\nkind: Service\nspec: ${nope}",
    "placeholder ${nope} is not known"
)]
#[case::kind("apiVersion: v1\nmetadata: {name: a}\nkind: Lease", "kind \"Lease\" is not known")]
#[case::no_name("apiVersion: v1\nkind: Service", "metadata.name is missing")]
#[case::not_yaml("a: b: c", "mapping values are not allowed in this context at line 1, column 5")]
#[case::no_binary(
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}",
    "run.binary is missing"
)]
#[case::no_image(
    "kind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: other}]}",
    "container \"other\" has no image, and the platform names none for it"
)]
fn mistakes_are_reported(#[case] file: &'static str, #[case] reason: &str) {
    let manifests: &'static [&'static str] = Box::leak(Box::new([file]));
    let platform = Platform { manifests, ..PLATFORM };
    let error = platform.resources(&mars()).unwrap_err().to_string();
    assert!(
        error.starts_with("the manifests of platform Acme are wrong: "),
        "{error}"
    );
    assert!(error.contains(reason), "{error}");
}
