use super::*;
use proptest::prelude::*;
use rstest::rstest;

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn uids(count: usize) -> Vec<String> {
    (0..count).map(|index| format!("n{index}")).collect()
}

fn none() -> HashSet<String> {
    HashSet::new()
}

/// Makes one pass and deletes what is allowed: how many were deleted, and how many were held.
fn pass(limit: &mut DeletionLimit, missing: &[String], nodes: usize, now: Instant) -> (usize, usize) {
    let verdict = limit.admit(missing, &none(), nodes, now);
    for uid in &verdict.allowed {
        limit.deleted(uid, now);
    }
    (verdict.allowed.len(), verdict.held.len())
}

#[rstest]
#[case(0, 1)]
#[case(1, 1)]
#[case(2, 1)]
#[case(3, 1)]
#[case(4, 2)]
#[case(20, 10)]
#[case(50, 10)]
#[case(100, 20)]
#[case(1000, 200)]
fn allowance(#[case] nodes: usize, #[case] expected: usize) {
    assert_eq!(Limits::default().allowance(nodes), expected);
}

/// The user's fraction is obeyed even in a small cluster.
#[rstest]
#[case(0.05, 1, 1)]
#[case(0.05, 19, 1)]
#[case(0.05, 40, 2)]
#[case(0.05, 100, 5)]
#[case(0.5, 4, 2)]
#[case(1.0, 3, 3)]
fn allowance_without_a_floor(#[case] fraction: f64, #[case] nodes: usize, #[case] expected: usize) {
    let limits = Limits {
        fraction,
        floor: 0,
        ..Limits::default()
    };
    assert_eq!(limits.allowance(nodes), expected);
}

#[rstest]
#[case::one_of_one(1, 1, (1, 0))]
#[case::one_of_three(1, 3, (1, 0))]
#[case::two_of_three(2, 3, (0, 2))]
#[case::all_of_three(3, 3, (0, 3))]
#[case::half_of_four(2, 4, (2, 0))]
#[case::a_fifth_of_many(200, 1000, (200, 0))]
#[case::more_of_many(201, 1000, (0, 201))]
fn first_pass(#[case] missing: usize, #[case] nodes: usize, #[case] expected: (usize, usize)) {
    let mut limit = DeletionLimit::new(Limits::default());
    assert_eq!(pass(&mut limit, &uids(missing), nodes, Instant::now()), expected);
}

#[test]
fn lasting_absence_deletes_slowly() {
    let (start, limits) = (Instant::now(), Limits::default());
    let mut limit = DeletionLimit::new(limits);
    let mut missing = uids(100);
    let mut deleted = Vec::new();
    for second in (0..4 * 3600).step_by(5) {
        let verdict = limit.admit(&missing, &none(), missing.len(), start + seconds(second));
        missing.retain(|uid| !verdict.allowed.contains(uid));
        for uid in &verdict.allowed {
            limit.deleted(uid, start + seconds(second));
            deleted.push(second);
        }
    }
    assert_eq!(deleted.first(), Some(&120), "nothing is deleted before it is confirmed");
    assert_eq!(
        deleted.iter().filter(|second| **second < 720).count(),
        20,
        "a fifth in the first window"
    );
    assert_eq!(
        deleted.len(),
        100,
        "all are deleted in the end: {} are left",
        missing.len()
    );
}

#[test]
fn the_limit_can_be_disabled() {
    let mut limit = DeletionLimit::new(Limits {
        fraction: 1.0,
        ..Limits::default()
    });
    assert_eq!(pass(&mut limit, &uids(100), 100, Instant::now()), (100, 0));
}

#[test]
fn deletions_one_by_one_count_as_well() {
    let start = Instant::now();
    let mut limit = DeletionLimit::new(Limits::default());
    let deleted: Vec<_> = (0..5)
        .map(|index| {
            pass(
                &mut limit,
                &[format!("n{index}")],
                8 - index,
                start + seconds(5 * index as u64),
            )
            .0
        })
        .collect();
    assert_eq!(deleted, [1, 1, 1, 1, 0]);
}

#[test]
fn an_instance_that_reappears_starts_again() {
    let start = Instant::now();
    let mut limit = DeletionLimit::new(Limits::default());
    assert_eq!(pass(&mut limit, &uids(10), 10, start), (0, 10));
    assert_eq!(pass(&mut limit, &[], 10, start + seconds(200)), (0, 0));
    assert_eq!(pass(&mut limit, &uids(10), 10, start + seconds(300)), (0, 10));
    assert_eq!(pass(&mut limit, &uids(10), 10, start + seconds(419)), (0, 10));
    assert_eq!(pass(&mut limit, &uids(10), 10, start + seconds(420)), (5, 5));
}

#[test]
fn after_the_limit_was_exceeded_single_deletions_are_held_too() {
    let start = Instant::now();
    let mut limit = DeletionLimit::new(Limits::default());
    assert_eq!(pass(&mut limit, &uids(10), 10, start), (0, 10));
    assert_eq!(pass(&mut limit, &uids(1), 10, start + seconds(5)), (0, 1));
    assert_eq!(pass(&mut limit, &uids(1), 10, start + seconds(300)), (1, 0));
}

#[test]
fn a_failed_pass_neither_confirms_nor_clears() {
    let start = Instant::now();
    let mut limit = DeletionLimit::new(Limits::default());
    let missing = uids(10);
    assert_eq!(limit.admit(&missing, &none(), 10, start).held.len(), 10);
    let unknown = missing.iter().cloned().collect();
    assert_eq!(limit.admit(&[], &unknown, 10, start + seconds(150)), Verdict::default());
    assert_eq!(
        limit.admit(&missing, &none(), 10, start + seconds(300)).allowed.len(),
        5
    );
}

proptest! {
    /// Whatever the cloud reports, no window has more deletions than the allowance.
    #[test]
    fn deletions_in_a_window_are_limited(
        nodes in 1_usize..200,
        reports in prop::collection::vec((0_u64..120, 0_usize..200), 1..60),
    ) {
        let (start, limits) = (Instant::now(), Limits::default());
        let mut limit = DeletionLimit::new(limits.clone());
        let mut left = uids(nodes);
        let mut deleted: Vec<Instant> = Vec::new();
        let mut now = start;
        for (wait, count) in reports {
            now += seconds(wait);
            let missing = left[..count.min(left.len())].to_vec();
            let verdict = limit.admit(&missing, &none(), left.len(), now);
            let before = left.len();
            left.retain(|uid| !verdict.allowed.contains(uid));
            for uid in &verdict.allowed {
                limit.deleted(uid, now);
                deleted.push(now);
            }
            let recent = deleted.iter().filter(|at| now.saturating_duration_since(**at) < limits.window).count();
            let then = before + recent - verdict.allowed.len();
            prop_assert!(recent <= limits.allowance(then), "{recent} of {then} deleted within a window");
        }
    }
}
