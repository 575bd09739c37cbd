use super::*;
use rstest::rstest;
use testkit::service::{Builder, load_balancer};

const THEN: Timestamp = Timestamp::UNIX_EPOCH;

fn now() -> Timestamp {
    Timestamp::from_second(60).unwrap()
}

fn saying(say: &Say) -> Builder {
    let service = load_balancer("a");
    let conditions = with(&service.clone().build(), Some(say), THEN);
    service.with(|service| service.status.get_or_insert_default().conditions = Some(conditions))
}

#[rstest]
#[case::well_from_the_start(load_balancer("a"), Say::ready(), false)]
#[case::still_well(saying(&Say::ready()), Say::ready(), false)]
#[case::begins(load_balancer("a"), Say::provisioning("a port"), true)]
#[case::still_waiting(saying(&Say::provisioning("a port")), Say::provisioning("a port"), false)]
#[case::waits_for_something_else(saying(&Say::provisioning("a port")), Say::provisioning("an address"), true)]
#[case::done(saying(&Say::provisioning("a port")), Say::ready(), true)]
#[case::fails(saying(&Say::ready()), Say::failed("Denied", "no"), true)]
#[case::other_hosts(saying(&Say::ready()), Say::hosts_outdated("no"), true)]
fn only_news_is_written(#[case] service: Builder, #[case] say: Say, #[case] expected: bool) {
    assert_eq!(worth_writing(&service.build(), &say), expected);
}

#[rstest]
#[case::another_status(Say::ready(), now())]
#[case::another_reason(Say::failed("Denied", "no"), THEN)]
fn the_time_is_that_of_the_status(#[case] say: Say, #[case] expected: Timestamp) {
    let service = saying(&Say::provisioning("a port")).build();
    assert_eq!(with(&service, Some(&say), now())[0].last_transition_time.0, expected);
}

#[test]
fn conditions_of_others_stay() {
    let other = Condition {
        last_transition_time: Time(THEN),
        message: String::new(),
        observed_generation: None,
        reason: "Other".into(),
        status: "True".into(),
        type_: "example.com/Other".into(),
    };
    let service = saying(&Say::ready())
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
        types(with(&service, Some(&Say::provisioning("x")), now())),
        [READY, "example.com/Other"]
    );
    assert_eq!(types(with(&service, None, now())), ["example.com/Other"]);
}

#[test]
fn a_long_story_is_cut() {
    let say = Say::failed("Denied", &"ü".repeat(5000));
    assert_eq!(say.message.chars().count(), MESSAGE_LIMIT);
}
