use super::*;
use rstest::rstest;

fn machines() -> Machines {
    let mut machines = Machines::default();
    machines.create(Machine::typical("a"), ProviderIds::Given);
    machines.create(Machine::named("b").provider_id("fake://12345"), ProviderIds::Given);
    machines.create(Machine::typical("off").power(Power::Off), ProviderIds::Given);
    machines.create(Machine::named("young").not_yet(), ProviderIds::Given);
    machines.create(Machine::named("bare"), ProviderIds::None);
    machines
}

/// `name` or `name=provider ID`.
fn node(text: &str) -> NodeRef {
    match text.split_once('=') {
        Some((name, id)) => NodeRef::named(name).with_provider_id(id),
        None => NodeRef::named(text),
    }
}

fn shown(answer: &Result<Answer>) -> String {
    match answer {
        Ok(Answer::Found(instance)) => {
            let id = instance.provider_id.as_ref().map_or("no ID", ProviderId::as_str);
            format!("{id} {:?}", instance.power)
        }
        Ok(answer) => format!("{answer:?}"),
        Err(error) => error.report(),
    }
}

#[rstest]
#[case::by_name("a", "memory://i-00000001 On")]
#[case::by_id("x=memory://i-00000001", "memory://i-00000001 On")]
#[case::id_before_name("a=fake://12345", "fake://12345 On")]
#[case::given_id("b", "fake://12345 On")]
#[case::off("off", "memory://i-00000003 Off")]
#[case::not_yet("young", "NotYet")]
#[case::without_id("bare", "no ID On")]
#[case::unknown_name("c", "Missing")]
#[case::unknown_id("a=memory://i-99", "Missing")]
#[case::foreign_id(
    "a=aws:///x/i-1",
    "invalid spec.providerID: aws:///x/i-1 does not have the form memory://<id>"
)]
#[case::no_id(
    "a=memory://",
    "invalid spec.providerID: memory:// does not have the form memory://<id>"
)]
#[case::no_scheme("a=i-1", "invalid spec.providerID: i-1 does not have the form memory://<id>")]
fn describes(#[case] asked: &str, #[case] expected: &str) {
    let answers = machines().describe(&[node(asked)], Detail::Liveness);
    assert_eq!(shown(&answers[0]), expected);
}

#[test]
fn liveness_tells_no_more_than_it_should() {
    let answers = machines().describe(&[node("a")], Detail::Liveness);
    let instance = answers
        .into_iter()
        .next()
        .expect("an answer")
        .expect("no error")
        .found()
        .expect("a machine");
    let expected = Instance {
        provider_id: ProviderId::parse("memory://i-00000001"),
        power: Power::On,
        ..Instance::default()
    };
    assert_eq!(instance, expected);
}

#[test]
fn a_new_machine_of_an_old_name_has_another_id() {
    let mut machines = machines();
    machines.delete("a").expect("it was there");
    assert_eq!(machines.delete("a"), None);
    let node = machines.create(Machine::typical("a"), ProviderIds::Given);
    assert_eq!(node.provider_id, ProviderId::parse("memory://i-00000006"));
}

#[rstest]
#[case::by_name("n", "memory://n On")]
#[case::from_an_earlier_life("n=memory://i-77", "memory://i-77 On")]
#[case::foreign(
    "n=aws:///x/i-1",
    "invalid spec.providerID: aws:///x/i-1 does not have the form memory://<id>"
)]
#[case::known("a", "memory://i-00000001 On")]
#[case::name_of_another("a=memory://i-77", "Missing")]
#[case::deleted("off", "Missing")]
fn creates_machines_for_unknown_nodes(#[case] asked: &str, #[case] expected: &str) {
    let mut machines = machines();
    machines.delete("off");
    let node = node(asked);
    machines.auto_create(&node);
    assert_eq!(shown(&machines.describe(&[node], Detail::Full)[0]), expected);
}

#[rstest]
#[case::one("192.0.2.7", &["Hostname n", "InternalIP 192.0.2.7"])]
#[case::two("192.0.2.7, 2001:db8::7", &["Hostname n", "InternalIP 192.0.2.7", "InternalIP 2001:db8::7"])]
fn uses_the_address_given_to_the_kubelet(#[case] annotation: &str, #[case] expected: &[&str]) {
    let mut machines = Machines::default();
    let annotations = [(PROVIDED_IP.to_owned(), annotation.to_owned())].into();
    machines.auto_create(&NodeRef {
        annotations,
        ..NodeRef::named("n")
    });
    let machine = machines.find("n").expect("it was made");
    let addresses: Vec<_> = machine
        .addresses
        .iter()
        .map(|a| format!("{} {}", a.kind, a.address))
        .collect();
    assert_eq!(addresses, expected);
}

#[test]
fn no_two_machines_share_an_address() {
    let mut machines = Machines::default();
    for number in 0..2000 {
        let machine = machines.typical(&format!("node-{number}"));
        machines.create(machine, ProviderIds::Given);
    }
    let ips: HashSet<_> = machines
        .all()
        .map(|machine| machine.addresses[1].address.clone())
        .collect();
    assert_eq!(ips.len(), 2000);
    assert!(ips.iter().all(|ip| ip.starts_with("10.")));
}
