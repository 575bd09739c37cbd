use super::*;
use std::fmt;

#[derive(Debug, Clone, PartialEq)]
struct Change(&'static str);

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Step for Change {
    fn target(&self) -> Option<String> {
        Some("pool".into())
    }
}

type Memory = State<&'static str, Change>;

fn service() -> Spec {
    Spec {
        cluster: "c".into(),
        service: ServiceRef {
            uid: "u".into(),
            ..ServiceRef::default()
        },
        ..Spec::default()
    }
}

#[tokio::test(start_paused = true)]
async fn polls_with_increasing_intervals() {
    let state = Memory::default();
    let mut polls = Vec::new();
    for _ in 0..40 {
        let wait = state.poll("lb");
        polls.push(wait);
        tokio::time::advance(wait).await;
    }
    assert!(polls.is_sorted(), "{polls:?}");
    assert_eq!(
        (polls[0], polls[5], polls.last()),
        (FIRST_POLL, FIRST_POLL, Some(&LAST_POLL))
    );
    state.ready("lb");
    assert_eq!(state.poll("lb"), FIRST_POLL);
}

/// Load balancers whose creation began at different times are polled together soon.
#[tokio::test(start_paused = true)]
async fn polls_together() {
    let (state, start) = (Memory::default(), Instant::now());
    let mut due: Vec<_> = (0..10)
        .map(|number| start + Duration::from_millis(130 * number))
        .collect();
    let mut polls = Vec::new();
    while start.elapsed() < Duration::from_secs(30) {
        tokio::time::sleep_until(*due.iter().min().unwrap()).await;
        polls.push(start.elapsed());
        for (number, due) in due.iter_mut().enumerate().filter(|(_, due)| **due <= Instant::now()) {
            *due = Instant::now() + state.poll(&number.to_string());
        }
    }
    polls.retain(|poll| *poll > Duration::from_secs(4));
    assert!(polls.len() < 15, "{polls:?}");
}

#[tokio::test(start_paused = true)]
async fn one_poll_is_no_reason_for_a_list() {
    let state = Memory::default();
    state.poll("a");
    assert_eq!((state.polls("a"), state.polls("b")), (Polls::One, Polls::One));
    state.poll("b");
    assert_eq!((state.polls("a"), state.polls("b")), (Polls::Many, Polls::Many));
    state.ready("b");
    assert_eq!((state.polls("a"), state.polls("b")), (Polls::One, Polls::One));
    state.poll("b");
    tokio::time::advance(FIRST_POLL + FORGOTTEN).await;
    state.poll("a");
    assert_eq!(state.polls("a"), Polls::One, "b is not polled any more");
}

#[tokio::test(start_paused = true)]
async fn polls_a_stuck_load_balancer_rarely() {
    let state = Memory::default();
    assert_eq!((state.poll("lb"), state.is_stuck("lb")), (FIRST_POLL, false));
    tokio::time::advance(STUCK).await;
    assert_eq!((state.poll("lb"), state.is_stuck("lb")), (LAST_POLL, false));
    tokio::time::advance(FIRST_POLL).await;
    assert_eq!((state.poll("lb"), state.is_stuck("lb")), (STUCK_POLL, true));
    state.ready("lb");
    assert!(!state.is_stuck("lb"));
}

#[test]
fn a_load_balancer_is_claimed_once() {
    let state = Memory::default();
    let claim = state.claim("lb");
    assert!(claim.is_some() && state.claim("lb").is_none() && state.claim("other").is_some());
    drop(claim);
    assert!(state.claim("lb").is_some());
}

#[tokio::test(start_paused = true)]
async fn backs_off_after_a_failed_creation() {
    let (state, service) = (Memory::default(), service());
    assert_eq!(state.too_early(&service), None);
    state.failed(&service);
    assert_eq!(state.too_early(&service), Some(1));
    tokio::time::advance(FIRST_RETRY).await;
    assert_eq!(state.too_early(&service), None);
    state.failed(&service);
    tokio::time::advance(FIRST_RETRY).await;
    assert_eq!(state.too_early(&service), Some(2));
    state.succeeded(&service);
    assert_eq!(state.too_early(&service), None);
}

#[test]
fn a_read_is_cached_for_its_version() {
    let state = Memory::default();
    state.read("lb", "1".into(), Arc::new("content"));
    assert!(state.observed("lb", "1").is_some() && state.observed("lb", "2").is_none());
    state.changed("lb", Arc::new("content"));
    assert_eq!(state.observed("lb", "2").map(|(basis, _)| basis), Some(Basis::Assumed));
    state.invalidate("lb");
    assert!(state.observed("lb", "2").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_change_without_effect_is_applied_twice() {
    let (state, change) = (Memory::default(), Change("members"));
    state.made(&change);
    assert!(!state.is_futile(&change));
    state.made(&change);
    assert!(state.is_futile(&change) && !state.is_futile(&Change("other members")));
    tokio::time::advance(LAST_RETRY).await;
    assert!(!state.is_futile(&change), "it is tried again later");
    state.made(&change);
    state.effective(|target| target == "pool");
    assert!(!state.is_futile(&change));
}

#[tokio::test(start_paused = true)]
async fn an_unanswered_creation_is_waited_for() {
    let (state, service) = (Memory::default(), service());
    state.unanswered(&service, Duration::from_secs(9));
    tokio::time::advance(Duration::from_secs(4)).await;
    assert_eq!(state.may_appear(&service), Some(Duration::from_secs(5)));
    tokio::time::advance(Duration::from_secs(5)).await;
    assert_eq!(state.may_appear(&service), None);
}

#[test]
fn a_service_in_another_cluster_is_another_service() {
    let (state, service) = (Memory::default(), service());
    state.creating(&service, "lb");
    let other = Spec {
        cluster: "d".into(),
        ..service.clone()
    };
    assert_eq!(
        (state.created(&service).as_deref(), state.created(&other)),
        (Some("lb"), None)
    );
    state.released(&service, "another");
    assert!(state.created(&service).is_some());
    state.released(&service, "lb");
    assert_eq!(state.created(&service), None);
}

#[tokio::test(start_paused = true)]
async fn the_state_of_a_missing_object_is_dropped_after_a_while() {
    let state = Memory::default();
    state.gone("lb");
    let deleted = Instant::now();
    assert_eq!(state.changed_at("lb"), Some(deleted), "older lists may show it");
    tokio::time::advance(FORGOTTEN).await;
    state.touched("created again");
    state.gone("another");
    assert_eq!(state.changed_at("lb"), None);
    assert!(state.changed_at("created again").is_some());
}
