use super::*;
use rstest::rstest;

/// Services that ask every time something happens, in the order of their numbers.
struct Fixture {
    admission: Admission<usize>,
    now: Instant,
}

impl Fixture {
    fn new() -> Self {
        Self {
            admission: Admission::default(),
            now: Instant::now(),
        }
    }

    fn ask(&mut self, service: usize) -> Verdict {
        self.admission.resume(&service, self.now);
        let verdict = self.admission.ask(service, self.now);
        if let Verdict::Wait(again) = verdict {
            self.admission.keep(&service, self.now + again);
        }
        verdict
    }

    /// The Services that have begun, once all of forty that wait were reconciled.
    fn begun(&mut self) -> Vec<usize> {
        let has_begun = |fixture: &Self, service: usize| {
            let entry = fixture.admission.services.get(&service);
            entry.is_some_and(|entry| entry.phase != Phase::Waiting)
        };
        (0..40)
            .filter(|service| has_begun(self, *service) || self.ask(*service) == Verdict::Begin)
            .collect()
    }

    /// `create 100`, `refuse 100`: a call that was sent now is answered after this many milliseconds.
    fn event(&mut self, event: &str) {
        let outcome = match event.split_once(' ').unwrap().0 {
            "create" => Outcome::Created,
            "refuse" => Outcome::Refused,
            other => panic!("{other}?"),
        };
        let sent = self.now;
        self.now += Duration::from_millis(event[7..].parse().unwrap());
        self.admission.answered(outcome, sent, self.now);
    }

    /// These Services are pending, without calls to the cloud.
    fn pause(&mut self, services: impl IntoIterator<Item = usize>) {
        let due = self.now + POLL;
        services
            .into_iter()
            .for_each(|service| self.admission.keep(&service, due));
    }
}

#[rstest]
#[case::at_first_one(&[], 1)]
#[case::each_fast_answer_lets_one_more_begin(&["create 100", "create 110", "create 400"], 4)]
#[case::neither_fast_nor_slow(&["create 100", "create 401", "create 600"], 2)]
#[case::slow(&["create 100", "create 100", "create 601"], 1)]
#[case::slow_once(&["create 100", "create 100", "create 601", "create 100"], 2)]
#[case::one_more_when_all_of_the_window_was_fast(
    &["create 100", "create 100", "create 100", "create 601", "create 100", "create 100"],
    3
)]
#[case::a_refusal_is_not_the_fastest(&["refuse 1", "create 900", "create 900"], 3)]
#[case::a_refusal_may_be_slow(&["create 100", "refuse 900"], 1)]
fn window(#[case] events: &[&str], #[case] expected: u32) {
    let mut fixture = Fixture::new();
    fixture.begun();
    for event in events {
        fixture.event(event);
    }
    assert_eq!(fixture.admission.window, expected, "{:?}", fixture.admission);
}

/// A cloud that is slow at creating, but not at answering: all begin after a few answers, and none has to be finished for that.
#[test]
fn pending_load_balancers_do_not_hold_up_others() {
    let (mut fixture, mut rounds) = (Fixture::new(), Vec::new());
    while rounds.last() != Some(&40) {
        let begun = fixture.begun();
        let before = rounds.last().copied().unwrap_or_default();
        for _ in before..begun.len() {
            fixture.event("create 20");
        }
        rounds.push(begun.len());
        fixture.pause(begun);
        fixture.now += Duration::from_millis(60);
    }
    assert_eq!(rounds, [1, 3, 7, 15, 31, 40]);
}

/// An API that is slow because of what was begun: nothing begins while anything of that is under way.
#[test]
fn slow_answers_let_those_finish_that_were_begun() {
    let mut fixture = Fixture::new();
    fixture.begun();
    fixture.event("create 100");
    fixture.event("create 100");
    assert_eq!(fixture.begun(), [0], "the first has a head start");
    fixture.now += Duration::from_millis(300);
    assert_eq!(fixture.begun(), [0, 1, 2]);
    fixture.event("create 1000");
    for finished in 0..3 {
        assert_eq!(fixture.begun().len(), 3 - finished);
        fixture.admission.leave(&finished);
        fixture.admission.ask(40 + finished, fixture.now);
    }
    assert_eq!(fixture.ask(3), Verdict::Begin, "one may always be under way");
}

/// The answer need not come for that.
#[test]
fn a_call_that_is_not_answered_is_slow() {
    let mut fixture = Fixture::new();
    fixture.begun();
    fixture.event("create 100");
    fixture.pause([0]);
    fixture.now += Duration::from_millis(300);
    assert_eq!(fixture.ask(1), Verdict::Begin);
    fixture.now += Duration::from_millis(601);
    assert_eq!(fixture.ask(2), Verdict::Wait(POLL));
    fixture.now += HUNG;
    assert_eq!(
        fixture.ask(2),
        Verdict::Begin,
        "one call does not hold up others for ever"
    );
}

#[rstest]
#[case::until_it_is_finished(100, 0, true)]
#[case::for_a_while(100, 300, false)]
#[case::not_for_ever(60_000, 5_000, false)]
#[case::not_yet(60_000, 4_999, true)]
fn other_creations_wait_for_the_first_one(#[case] creation: u64, #[case] later: u64, #[case] waits: bool) {
    let mut fixture = Fixture::new();
    fixture.begun();
    fixture.event(&format!("create {creation}"));
    fixture.pause([0]);
    fixture.now += Duration::from_millis(later);
    assert_eq!(fixture.ask(1) != Verdict::Begin, waits, "{:?}", fixture.admission);
    fixture.admission.leave(&0);
    assert_eq!(fixture.ask(1), Verdict::Begin, "it is finished");
}

#[test]
fn a_paused_creation_frees_its_slot() {
    let mut fixture = Fixture::new();
    fixture.event("create 100");
    fixture.event("create 900");
    for service in 0..10 {
        assert_eq!(fixture.ask(service), Verdict::Begin);
        assert_eq!(fixture.ask(service + 1), Verdict::Wait(POLL));
        fixture.pause([service]);
    }
}

#[test]
fn one_overload_halves_once() {
    let mut fixture = Fixture::new();
    fixture.begun();
    for _ in 0..7 {
        fixture.event("create 100");
    }
    assert_eq!(fixture.admission.window, 8);
    let sent = fixture.now;
    fixture.now += Duration::from_secs(1);
    for _ in 0..8 {
        let now = fixture.now;
        fixture.admission.answered(Outcome::Created, sent, now);
    }
    assert_eq!(fixture.admission.window, 4, "all of these calls were sent before");
    fixture.event("create 1000");
    assert_eq!(fixture.admission.window, 2);
}

/// The cloud is slower than it was, whatever we do: that is what is fast from now on.
#[test]
fn a_cloud_that_has_become_slower_is_not_limited_for_ever() {
    let mut fixture = Fixture::new();
    fixture.event("create 100");
    fixture.begun();
    for window in [1, 1, 1, 1, 2, 2, 3, 3, 3, 4] {
        fixture.event("create 900");
        assert_eq!(fixture.admission.window, window, "{:?}", fixture.admission);
    }
    fixture.event("create 100");
    fixture.event("create 900");
    assert_eq!(
        fixture.admission.pace,
        Pace::Slow,
        "the fastest counts again once it is seen"
    );
}

#[test]
fn first_come_first_served() {
    let mut fixture = Fixture::new();
    assert_eq!(fixture.begun(), [0]);
    fixture.admission.leave(&0);
    let asked = [4, 3, 2, 1].map(|service| fixture.ask(service));
    assert_eq!(asked[..3], [Verdict::Wait(POLL); 3]);
    assert_eq!(asked[3], Verdict::Begin);
}

/// A Service that is not reconciled any more neither holds up those behind it nor is it remembered.
#[test]
fn a_service_that_does_not_come_back_is_forgotten() {
    let mut fixture = Fixture::new();
    assert_eq!(
        [0, 1, 2].map(|service| fixture.ask(service) == Verdict::Begin),
        [true, false, false]
    );
    fixture.admission.leave(&0);
    assert_eq!(fixture.ask(2), Verdict::Wait(POLL), "1 comes first");
    fixture.now += POLL + LATE + Duration::from_millis(1);
    assert_eq!(fixture.ask(2), Verdict::Begin);
    fixture.pause([2]);
    fixture.now += LOST + POLL;
    fixture.ask(3);
    assert!(!fixture.admission.services.contains_key(&1), "{:?}", fixture.admission);
}

#[rstest]
#[case::next(0, 1, 100)]
#[case::far_behind(40, 1, 1100)]
#[case::soon(40, 16, 100)]
#[case::a_thousand(1000, 1, 5000)]
fn callers_at_the_end_of_the_queue_poll_less_often(#[case] ahead: u32, #[case] window: u32, #[case] millis: u64) {
    assert_eq!(wait(ahead, window), Duration::from_millis(millis));
}
