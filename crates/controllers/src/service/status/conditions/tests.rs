use super::*;
use rstest::rstest;
use testkit::service::{Builder, load_balancer};

const THEN: Timestamp = Timestamp::UNIX_EPOCH;

fn now() -> Timestamp {
    Timestamp::from_second(60).unwrap()
}

fn reporting(readiness: &Readiness) -> Builder {
    let service = load_balancer("a");
    let conditions = with(&service.clone().build(), Some(readiness), THEN);
    service.with(|service| service.status.get_or_insert_default().conditions = Some(conditions))
}

#[rstest]
#[case::ready_from_the_start(load_balancer("a"), Readiness::ready(), false)]
#[case::still_ready(reporting(&Readiness::ready()), Readiness::ready(), false)]
#[case::begins(load_balancer("a"), Readiness::provisioning("a port"), true)]
#[case::still_waiting(reporting(&Readiness::provisioning("a port")), Readiness::provisioning("a port"), false)]
#[case::waits_for_another_object(reporting(&Readiness::provisioning("a port")), Readiness::provisioning("an address"), true)]
#[case::done(reporting(&Readiness::provisioning("a port")), Readiness::ready(), true)]
#[case::fails(reporting(&Readiness::ready()), Readiness::failed("Denied", "no"), true)]
#[case::other_hosts(reporting(&Readiness::ready()), Readiness::hosts_outdated("no"), true)]
fn only_changes_are_written(#[case] service: Builder, #[case] readiness: Readiness, #[case] expected: bool) {
    assert_eq!(worth_writing(&service.build(), &readiness), expected);
}

#[rstest]
#[case::another_status(Readiness::ready(), now())]
#[case::another_reason(Readiness::failed("Denied", "no"), THEN)]
fn the_transition_time_is_that_of_the_status(#[case] readiness: Readiness, #[case] expected: Timestamp) {
    let service = reporting(&Readiness::provisioning("a port")).build();
    assert_eq!(
        with(&service, Some(&readiness), now())[0].last_transition_time.0,
        expected
    );
}

#[test]
fn other_conditions_are_kept() {
    let other = Condition {
        last_transition_time: Time(THEN),
        message: String::new(),
        observed_generation: None,
        reason: "Other".into(),
        status: "True".into(),
        type_: "example.com/Other".into(),
    };
    let service = reporting(&Readiness::ready())
        .with(|service| {
            service
                .status
                .get_or_insert_default()
                .conditions
                .get_or_insert_default()
                .push(other.clone());
        })
        .build();
    let types = |conditions: Vec<Condition>| conditions.into_iter().map(|one| one.type_).collect::<Vec<_>>();
    assert_eq!(
        types(with(&service, Some(&Readiness::provisioning("x")), now())),
        [READY, "example.com/Other"]
    );
    assert_eq!(types(with(&service, None, now())), ["example.com/Other"]);
}

#[test]
fn a_long_message_is_truncated() {
    let readiness = Readiness::failed("Denied", &"ü".repeat(5000));
    assert_eq!(readiness.message.chars().count(), MESSAGE_LIMIT);
}
