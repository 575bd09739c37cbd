use super::*;
use cloud::{Detail, NodeRef, Power};
use rstest::rstest;

#[rstest]
#[case::unknown_key(
    "autoCreate: true\nautoCrate: true\n",
    "m.yaml, line 2: there is no key autoCrate, only endpoint, timeout, autoCreate, instances, latency, lbDelay"
)]
#[case::unknown_key_of_an_instance(
    "instances:\n- name: a\n  size: 3\n",
    "m.yaml, line 3: there is no key size, only name, providerID, instanceType, zone, region, addresses, labels, power, readiness"
)]
#[case::key_twice("latency: 1s\nlatency: 2s\n", "m.yaml, line 2: the key latency is there twice")]
#[case::no_name("instances:\n- zone: a\n", "m.yaml: instances[0] has no name")]
#[case::name_twice("instances:\n- name: a\n- name: a\n", "m.yaml: instances has a twice")]
#[case::duration("latency: soon\n", "m.yaml, line 1: soon is not a duration like 250ms or 1m30s")]
#[case::endpoint_and_instances(
    "endpoint: http://x\ninstances: [{name: a}]\n",
    "m.yaml: instances cannot be set with endpoint: it is a setting of the server"
)]
#[case::endpoint_and_delay(
    "endpoint: http://x\nlbDelay: 1s\n",
    "m.yaml: lbDelay cannot be set with endpoint: it is a setting of the server"
)]
#[case::timeout_alone("timeout: 1s\n", "m.yaml: timeout needs endpoint")]
fn refuses(#[case] text: &str, #[case] sentence: &str) {
    assert_eq!(Config::parse(text, "m.yaml").unwrap_err().to_string(), sentence);
}

#[rstest]
#[case::not_a_mapping("[1, 2]")]
#[case::not_yaml("a: [")]
#[case::no_boolean("autoCreate: perhaps")]
#[case::two_documents("latency: 1s\n---\nlatency: 2s\n")]
fn refuses_in_one_line(#[case] text: &str) {
    let sentence = Config::parse(text, "m.yaml").unwrap_err().to_string();
    assert!(
        sentence.starts_with("m.yaml, line ") && !sentence.contains('\n'),
        "{sentence}"
    );
}

#[rstest]
#[case::empty("", AutoCreate::On, 0)]
#[case::only_a_comment("# nothing\n", AutoCreate::On, 0)]
#[case::asked("autoCreate: true\ninstances: [{name: a}]\n", AutoCreate::On, 1)]
#[case::listed("instances: [{name: a}, {name: b}]\n", AutoCreate::Off, 2)]
#[case::refused("autoCreate: false\n", AutoCreate::Off, 0)]
fn describes_a_cloud(#[case] text: &str, #[case] auto: AutoCreate, #[case] machines: usize) {
    let state = Config::parse(text, "m.yaml").expect("it is valid").state();
    assert_eq!(
        (state.settings.auto_create, state.machines.all().count()),
        (auto, machines)
    );
}

#[test]
fn describes_machines() {
    let text = "
lbDelay: 3s
latency: 20ms
instances:
- name: a
- name: b
  providerID: memory://mine
  instanceType: huge
  zone: z2
  region: ''
  addresses: [{type: ExternalIP, address: 192.0.2.1}]
  labels: {colour: red}
  power: 'off'
";
    let config = Config::parse(text, "m.yaml").expect("it is valid");
    let state = config.state();
    let typical = crate::Machine::typical("a").provider_id("memory://a");
    assert_eq!(state.machines.find("a"), Some(&typical));
    let expected = crate::Machine::named("b")
        .provider_id("memory://mine")
        .instance_type("huge")
        .zone("z2")
        .address(cloud::AddressKind::ExternalIP, "192.0.2.1")
        .label("colour", "red")
        .power(Power::Off);
    assert_eq!(state.machines.find("b"), Some(&expected));
    assert_eq!(state.settings.provisioning, Duration::from_secs(3));
    assert_eq!(config.latency.map(|time| time.0), Some(Duration::from_millis(20)));
}

fn open() -> Gate {
    Arc::new(|| Ok(()))
}

#[test]
fn names_a_file_that_cannot_be_read() {
    let error = provider(Some(Path::new("/no/such/file")), open(), &prometheus::Registry::new())
        .err()
        .expect("no file");
    assert_eq!(
        error.report(),
        "cannot read /no/such/file: No such file or directory (os error 2)"
    );
}

#[test]
fn names_an_endpoint_that_is_none() {
    let config = Config::parse("endpoint: nowhere", "m.yaml").expect("it is valid");
    let error = config
        .remote("nowhere", open(), &prometheus::Registry::new())
        .expect_err("no URL");
    assert_eq!(
        error.report(),
        "cannot talk to nowhere: invalid endpoint: nowhere is not an http URL"
    );
}

/// Replicas do not share their embedded clouds, but must agree.
#[tokio::test]
async fn without_a_file_every_node_has_a_machine_and_replicas_agree() {
    let registry = prometheus::Registry::new();
    let replicas = [provider(None, open(), &registry), provider(None, open(), &registry)]
        .map(|provider| provider.expect("no file"));
    let mut answers = Vec::new();
    for replica in &replicas {
        let answer = replica
            .instances()
            .describe(&[NodeRef::named("node-1")], Detail::Full)
            .await
            .remove(0);
        answers.push(answer.expect("no error").found().expect("it is created"));
    }
    assert_eq!(answers[0], answers[1]);
    assert_eq!(
        answers[0].provider_id.as_ref().map(cloud::ProviderId::as_str),
        Some("memory://node-1")
    );
}
