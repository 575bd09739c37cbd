use super::*;
use rstest::rstest;
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt};

const PLATFORMS: [&str; 8] = [
    "AWS",
    "Azure",
    "GCP",
    "IBMCloud",
    "Nutanix",
    "OpenStack",
    "PowerVS",
    "VSphere",
];

fn infrastructure(platform: &str) -> String {
    format!(
        "apiVersion: config.openshift.io/v1\nkind: Infrastructure\nmetadata:\n  name: cluster\nspec:\n  cloudConfig:\n    \
         name: cloud-provider-config\n    key: config\nstatus:\n  infrastructureName: lab-x7k2p\n  platformStatus:\n    \
         type: {platform}\n"
    )
}

fn images() -> String {
    let keys = [
        "Operator",
        "AWS",
        "Azure",
        "GCP",
        "IBM",
        "Nutanix",
        "OpenStack",
        "PowerVS",
        "VSphere",
    ];
    let mut images: Value = keys
        .iter()
        .map(|key| (format!("cloudControllerManager{key}"), format!("example.test/{key}:1")))
        .collect();
    images["cloudNodeManagerAzure"] = "example.test/node:1".into();
    config_map("images.json", &images.to_string())
}

fn config_map(key: &str, value: &str) -> String {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "any"}, "data": {key: value}}).to_string()
}

fn inputs(infrastructure: &str, images: &str, cloud_config: Option<&str>) -> Inputs {
    let document = |name: &str, text: &str| Document {
        path: name.into(),
        text: text.to_owned(),
    };
    Inputs {
        infrastructure: document("infra.yaml", infrastructure),
        images: document("images.yaml", images),
        cloud_config: cloud_config.map(|text| document("config.yaml", text)),
    }
}

/// A folder that is deleted when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let path = std::env::temp_dir().join(lab::unique("render"));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// Options with valid inputs.
    fn options(&self) -> Options {
        Options {
            dest_dir: self.0.join("dest"),
            infrastructure: self.file("infra.yaml", &infrastructure("OpenStack")),
            images: self.file("images.yaml", &images()),
            cloud_config: Some(self.file("config.yaml", &config_map("config", "[Global]\n"))),
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn messages(problems: &[Problem]) -> Vec<String> {
    problems.iter().map(|problem| chain(problem).to_string()).collect()
}

#[rstest]
fn renders_every_platform(#[values(0, 1, 2, 3, 4, 5, 6, 7)] platform: usize) {
    let platform = PLATFORMS[platform];
    let inputs = inputs(
        &infrastructure(platform),
        &images(),
        Some(&config_map("cloud.conf", "secret = 1")),
    );
    let files = render(&inputs).unwrap().files;
    let [(pod_path, pod), (config_path, config)] = files.as_slice() else {
        panic!("{platform}: {files:?}");
    };
    let prefix = platform.to_lowercase().replace("ibmcloud", "ibm");
    assert_eq!(
        pod_path,
        &PathBuf::from(format!("bootstrap/{prefix}-cloud-controller-manager-pod.yaml"))
    );
    assert_eq!(
        (config_path.as_path(), config.as_str()),
        (Path::new("config/cloud.conf"), "secret = 1")
    );

    let pod: Value = serde_saphyr::from_str(pod).unwrap();
    assert_eq!(
        (&pod["kind"], &pod["metadata"]["namespace"]),
        (&json!("Pod"), &json!("kube-system"))
    );
    assert_eq!(pod["spec"]["hostNetwork"], true);
    let container = &pod["spec"]["containers"][0];
    let image = platform.replace("IBMCloud", "IBM");
    assert_eq!(container["image"], format!("example.test/{image}:1"));
    let args: Vec<_> = container["args"]
        .as_array()
        .unwrap()
        .iter()
        .map(|arg| arg.as_str().unwrap())
        .collect();
    for arg in [
        "--controllers=cloud-node",
        "--leader-elect=false",
        "--use-service-account-credentials=false",
        "--kubeconfig=/etc/kubernetes/secrets/kubeconfig",
        "--cloud-config=/etc/kubernetes/configs/cloud.conf",
        "--secure-port=10267",
    ] {
        assert!(args.contains(&arg), "{platform}: no {arg} in {args:?}");
    }
    let probe = json!({"host": "127.0.0.1", "path": "/healthz", "port": 10267, "scheme": "HTTPS"});
    assert_eq!(container["livenessProbe"]["httpGet"], probe);
    let paths: Vec<_> = pod["spec"]["volumes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|volume| &volume["hostPath"]["path"])
        .collect();
    assert_eq!(
        paths[..2],
        ["/etc/kubernetes/bootstrap-secrets", "/etc/kubernetes/bootstrap-configs"]
    );
}

/// The static Pod of a platform has the environment variables of its operands.
#[rstest]
#[case::vsphere("VSphere", &["VSPHERE_SECRET_NAMESPACE", "VSPHERE_SECRET_NAME", "ENABLE_ALPHA_DUAL_STACK"])]
#[case::nutanix("Nutanix", &["NUTANIX_SECRET_NAMESPACE", "NUTANIX_SECRET_NAME", "POD_NAMESPACE"])]
#[case::ibm("IBMCloud", &["VPCCTL_CLOUD_CONFIG", "VPCCTL_PUBLIC_ENDPOINT"])]
#[case::powervs("PowerVS", &["VPCCTL_CLOUD_CONFIG", "ENABLE_VPC_PUBLIC_ENDPOINT"])]
fn has_the_environment(#[case] platform: &str, #[case] expected: &[&str]) {
    let config = config_map("cloud.conf", "a");
    let files = render(&inputs(&infrastructure(platform), &images(), Some(&config)))
        .unwrap()
        .files;
    let pod: Value = serde_saphyr::from_str(&files[0].1).unwrap();
    let env = pod["spec"]["containers"][0]["env"].as_array().unwrap().iter();
    let names: Vec<_> = env.map(|variable| variable["name"].as_str().unwrap()).collect();
    assert_eq!(names, expected);
}

#[test]
fn vsphere_labels_its_nodes() {
    let files = render(&inputs(&infrastructure("VSphere"), &images(), None))
        .unwrap()
        .files;
    assert!(
        files[0]
            .1
            .contains("--node-labels=node.openshift.io/platform-type=vsphere"),
        "{}",
        files[0].1
    );
}

/// The certificates that the installer's configuration refers to are written beside it, and mounted at the expected path.
#[test]
fn openstack_has_its_ca_file() {
    let config = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "any"},
        "data": {"config": "[Global]\n", "ca-bundle.pem": "certificates"},
    });
    let files = render(&inputs(
        &infrastructure("OpenStack"),
        &images(),
        Some(&config.to_string()),
    ))
    .unwrap()
    .files;
    let names: Vec<_> = files.iter().map(|(path, _)| path.display().to_string()).collect();
    assert_eq!(names[1..], ["config/ca-bundle.pem", "config/cloud.conf"]);
    let pod: Value = serde_saphyr::from_str(&files[0].1).unwrap();
    let mount = json!({"name": "ca-file", "readOnly": true,
                       "mountPath": "/etc/kubernetes/static-pod-resources/configmaps/cloud-config"});
    let mounts = pod["spec"]["containers"][0]["volumeMounts"].as_array().unwrap();
    assert!(mounts.contains(&mount), "{mounts:?}");
}

/// Only this project's manager reads the Secret that the installer's configuration names.
#[test]
fn openstack_needs_credentials_that_its_image_reads() {
    let config = config_map("config", "[Global]\nsecret-name = openstack-credentials\n");
    let problems = render(&inputs(&infrastructure("OpenStack"), &images(), Some(&config))).unwrap_err();
    assert_eq!(
        messages(&problems),
        [
            "config.yaml: cloud.conf names its credentials by secret-name, which the image example.test/OpenStack:1 does not read: \
          remove cloudControllerManagerOpenStack from images.json, or write the credentials into cloud.conf"
        ]
    );
    let own = config_map(
        "images.json",
        r#"{"cloudControllerManagerOperator": "example.test/outrigger:1"}"#,
    );
    assert!(render(&inputs(&infrastructure("OpenStack"), &own, Some(&config))).is_ok());
}

#[test]
fn a_missing_configuration_is_reported() {
    let rendered = render(&inputs(&infrastructure("AWS"), &images(), None)).unwrap();
    assert_eq!(
        rendered.warnings,
        [
            "the Infrastructure names the cloud configuration \"cloud-provider-config\", but there is no --cloud-config-file: \
          the static Pod has none"
        ]
    );
}

fn stack_hub() -> String {
    let mut infrastructure: Value = serde_saphyr::from_str(&infrastructure("Azure")).unwrap();
    infrastructure["status"]["platformStatus"]["azure"] = json!({"cloudName": "AzureStackCloud"});
    infrastructure.to_string()
}

/// The endpoints of Azure Stack Hub are only beside its configuration.
#[test]
fn stack_hub_has_its_endpoints() {
    let config = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "any"},
        "data": {"cloud.conf": "{}", "endpoints": "{\"name\": \"hub\"}"},
    });
    let files = render(&inputs(&stack_hub(), &images(), Some(&config.to_string())))
        .unwrap()
        .files;
    let [(_, pod), (_, _), (path, endpoints)] = files.as_slice() else {
        panic!("{files:?}");
    };
    assert_eq!(
        (path.as_path(), endpoints.as_str()),
        (Path::new("config/endpoints.conf"), "{\"name\": \"hub\"}")
    );
    let pod: Value = serde_saphyr::from_str(pod).unwrap();
    let env = json!([{"name": "AZURE_ENVIRONMENT_FILEPATH", "value": "/etc/kubernetes/configs/endpoints.conf"}]);
    assert_eq!(pod["spec"]["containers"][0]["env"], env);

    let without = inputs(&stack_hub(), &images(), Some(&config_map("cloud.conf", "{}")));
    let problems = render(&without).unwrap_err();
    let [problem] = problems.as_slice() else {
        panic!("{problems:?}");
    };
    assert!(problem.to_string().contains("no key endpoints"), "{problem}");
}

/// As in the Go program: empty folders and a warning.
#[rstest]
fn a_platform_without_operands_has_no_pod(#[values("None", "BareMetal", "External", "KubeVirt")] platform: &str) {
    let infrastructure = infrastructure(platform).replace("name: cloud-provider-config", "name: \"\"");
    let rendered = render(&inputs(&infrastructure, &images(), None)).unwrap();
    let warning = "the platform has no cloud controller manager, so there is no static Pod for it";
    assert_eq!(
        (rendered.files, rendered.warnings),
        (Vec::new(), vec![warning.to_owned()])
    );
}

#[test]
fn without_an_image_it_is_our_own() {
    let images = config_map(
        "images.json",
        r#"{"cloudControllerManagerOperator": "example.test/outrigger:1"}"#,
    );
    let files = render(&inputs(&infrastructure("OpenStack"), &images, None))
        .unwrap()
        .files;
    assert!(files[0].1.contains("image: example.test/outrigger:1"), "{}", files[0].1);
}

#[rstest]
#[case::usual_key(config_map("cloud.conf", "a"), Some("a"))]
#[case::named_key(config_map("config", "b"), Some("b"))]
#[case::empty(config_map("cloud.conf", ""), None)]
fn finds_the_configuration(#[case] config: String, #[case] expected: Option<&str>) {
    let files = render(&inputs(&infrastructure("AWS"), &images(), Some(&config)))
        .unwrap()
        .files;
    let config = files.iter().find(|(path, _)| path == Path::new("config/cloud.conf"));
    assert_eq!(config.map(|(_, text)| text.as_str()), expected);
    assert_eq!(files[0].1.contains("--cloud-config"), expected.is_some());
}

/// Go writes missing lists like this.
#[test]
fn null_is_not_rendered() {
    let nulls =
        "    type: VSphere\n    aws: null\n    vsphere:\n      apiServerInternalIPs: null\n      ingressIPs: ~\n";
    let nulls = infrastructure("VSphere").replace("    type: VSphere\n", nulls);
    let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "any", "labels": null},
                        "data": {"cloud.conf": "a"}, "binaryData": null, "immutable": null});
    let with = |infrastructure: &str| render(&inputs(infrastructure, &images(), Some(&config.to_string()))).unwrap();
    assert_eq!(with(&nulls), with(&infrastructure("VSphere")));
}

#[test]
fn configuration_that_nothing_refers_to_is_not_read() {
    let infrastructure = infrastructure("AWS").replace("name: cloud-provider-config", "name: \"\"");
    let files = render(&inputs(&infrastructure, &images(), Some("{{{"))).unwrap().files;
    assert_eq!(files.len(), 1);
}

// Each input malformed, platform status absent.
#[rstest]
#[case::infrastructure("{{{", &images(), "", &["infra.yaml: not YAML"])]
#[case::another_kind(&images(), &images(), "", &["infra.yaml: not a manifest of kind Infrastructure in config.openshift.io/v1"])]
#[case::a_list("[]", &images(), "", &["infra.yaml: not a manifest of kind Infrastructure"])]
#[case::wrong_type("{apiVersion: config.openshift.io/v1, kind: Infrastructure, status: 1}", &images(), "",
    &["infra.yaml: does not fit kind Infrastructure: invalid type"])]
#[case::a_key_twice("{apiVersion: v1, apiVersion: v1}", &images(), "", &["infra.yaml: not YAML"])]
#[case::no_platform("{apiVersion: config.openshift.io/v1, kind: Infrastructure}", &images(), "",
    &["infra.yaml: the platform is not known: status.platformStatus of the Infrastructure is not set"])]
#[case::unknown_platform(&infrastructure("aws"), &images(), "",
    &["infra.yaml: status.platformStatus.type is \"aws\", which is not a platform"])]
#[case::unknown_field(&(infrastructure("AWS") + "statuss: {}\n"), &images(), "",
    &["infra.yaml: kind Infrastructure has no field statuss"])]
#[case::images(&infrastructure("AWS"), "a: b: c", "", &["images.yaml: not YAML"])]
#[case::images_key(&infrastructure("AWS"), &config_map("other", "{}"), "",
    &["images.yaml: the ConfigMap has no key images.json"])]
#[case::images_json(&infrastructure("AWS"), &config_map("images.json", "{bad}"), "",
    &["images.yaml: the images cannot be read: images.json is not a JSON object (line 1, column 2): key must be a string"])]
#[case::image(&infrastructure("AWS"), &config_map("images.json", "{}"), "",
    &["images.json names no image for platform AWS: missing cloudControllerManagerAWS"])]
#[case::config(&infrastructure("AWS"), &images(), "{{{", &["config.yaml: not YAML"])]
#[case::config_key(&infrastructure("AWS"), &images(), &config_map("other", "x"),
    &["config.yaml: the ConfigMap has neither the key cloud.conf nor config"])]
#[case::all_at_once("{{{", "{{{", "", &["infra.yaml: not YAML", "images.yaml: not YAML"])]
fn refuses(#[case] infrastructure: &str, #[case] images: &str, #[case] config: &str, #[case] expected: &[&str]) {
    let config = Some(config).filter(|config| !config.is_empty());
    let problems = messages(&render(&inputs(infrastructure, images, config)).unwrap_err());
    assert_eq!(problems.len(), expected.len(), "{problems:?}");
    for (problem, start) in problems.iter().zip(expected) {
        assert!(problem.starts_with(start), "{problem}");
    }
}

#[test]
fn writes_files() {
    let folder = Folder::new();
    let options = folder.options();
    run(&options).unwrap();
    let mode = |path: &str| fs::metadata(options.dest_dir.join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("config/cloud.conf"), 0o600, "it may hold credentials");
    assert_eq!(mode("bootstrap/openstack-cloud-controller-manager-pod.yaml"), 0o644);
    assert_eq!(
        fs::read_to_string(options.dest_dir.join("config/cloud.conf")).unwrap(),
        "[Global]\n"
    );

    fs::write(
        &options.infrastructure,
        infrastructure("None").replace("name: cloud-provider-config", "name: \"\""),
    )
    .unwrap();
    let again = Options {
        dest_dir: folder.0.join("again"),
        ..options
    };
    run(&again).unwrap();
    let count = |name: &str| fs::read_dir(again.dest_dir.join(name)).unwrap().count();
    assert_eq!((count("bootstrap"), count("config")), (0, 0), "both folders are there");
}

#[test]
fn writes_again() {
    let folder = Folder::new();
    let options = folder.options();
    run(&options).unwrap();
    fs::write(
        options.dest_dir.join("config/cloud.tmp"),
        "left behind by one that was killed",
    )
    .unwrap();
    fs::write(options.cloud_config.as_ref().unwrap(), config_map("config", "new")).unwrap();
    run(&options).unwrap();
    assert_eq!(
        fs::read_to_string(options.dest_dir.join("config/cloud.conf")).unwrap(),
        "new"
    );
    assert_eq!(fs::read_dir(options.dest_dir.join("config")).unwrap().count(), 1);
}

// Each input missing; all of them are named, and nothing is written.
#[test]
fn names_every_file_that_cannot_be_used() {
    let folder = Folder::new();
    let options = Options {
        infrastructure: folder.0.join("nothing.yaml"),
        images: folder.0.clone(),
        cloud_config: Some(folder.file("empty.yaml", "")),
        ..folder.options()
    };
    let problems = messages(&run(&options).unwrap_err());
    let at = folder.0.display();
    assert_eq!(problems.len(), 3, "{problems:?}");
    assert!(
        problems[0].starts_with(&format!(
            "--cluster-infrastructure-file: {at}/nothing.yaml: No such file"
        )),
        "{problems:?}"
    );
    assert_eq!(problems[1], format!("--images-file: {at}: not a regular file"));
    assert_eq!(
        problems[2],
        format!("--cloud-config-file: {at}/empty.yaml: the file is empty")
    );
    assert!(!options.dest_dir.exists());
}

#[test]
fn writes_nothing_if_anything_is_wrong() {
    let folder = Folder::new();
    let options = folder.options();
    fs::write(&options.images, config_map("images.json", "{}")).unwrap();
    run(&options).unwrap_err();
    assert!(!options.dest_dir.exists());
}

#[rstest]
#[case::a_file("infra.yaml", "not a folder")]
#[case::below_a_file("infra.yaml/dest", "Not a directory")]
fn destination_has_to_be_a_folder(#[case] path: &str, #[case] reason: &str) {
    let folder = Folder::new();
    let options = Options {
        dest_dir: folder.0.join(path),
        ..folder.options()
    };
    let problems = messages(&run(&options).unwrap_err());
    let expected = format!("--dest-dir: {}: {reason}", options.dest_dir.display());
    assert!(problems[0].starts_with(&expected), "{problems:?}");
}

#[test]
fn destination_has_to_be_writable() {
    let folder = Folder::new();
    let options = folder.options();
    fs::create_dir_all(&options.dest_dir).unwrap();
    // Root may write everywhere, so a file with the name of the folder causes the failure.
    fs::write(options.dest_dir.join("bootstrap"), "in the way").unwrap();
    let problems = messages(&run(&options).unwrap_err());
    assert!(
        problems[0].starts_with(&format!("--dest-dir: {}/bootstrap: ", options.dest_dir.display())),
        "{problems:?}"
    );
}

#[rstest]
#[case::nothing(
    "",
    "--dest-dir is required; --cluster-infrastructure-file is required; --images-file is required"
)]
#[case::one("--dest-dir=/d --images-file=/i", "--cluster-infrastructure-file is required")]
#[case::unknown("--dest-dirr=/d", "unknown flag: --dest-dirr")]
fn refuses_flags(#[case] args: &str, #[case] expected: &str) {
    let args = args.split_whitespace().map(str::to_owned).collect();
    let problems = Options::parse("render", args).unwrap_err();
    let text = problems.iter().collect::<Vec<_>>().join("; ");
    assert!(text.starts_with(expected), "{text}");
}

#[test]
fn reads_flags() {
    let args = [
        "--dest-dir=/d",
        "--cluster-infrastructure-file",
        "/f",
        "--images-file=/i",
    ]
    .map(str::to_owned)
    .into();
    let expected = Options {
        dest_dir: "/d".into(),
        infrastructure: "/f".into(),
        images: "/i".into(),
        cloud_config: None,
    };
    assert_eq!(Options::parse("render", args).unwrap(), Invocation::Run(expected));
}

#[test]
fn debug_output_has_no_values() {
    let printed = format!("{:?}", inputs("top", "secret", Some("password")));
    assert!(
        !printed.contains("secret") && !printed.contains("password"),
        "{printed}"
    );
}
