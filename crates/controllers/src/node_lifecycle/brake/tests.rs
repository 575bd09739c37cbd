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

/// Looks once; what is released goes. How many went, and how many were held.
fn look(brake: &mut Brake, missing: &[String], nodes: usize, now: Instant) -> (usize, usize) {
    let verdict = brake.admit(missing, &none(), nodes, now);
    for uid in &verdict.release {
        brake.went(uid, now);
    }
    (verdict.release.len(), verdict.hold.len())
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

/// What the user says is obeyed, however few there are.
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
fn first_look(#[case] missing: usize, #[case] nodes: usize, #[case] expected: (usize, usize)) {
    let mut brake = Brake::new(Limits::default());
    assert_eq!(look(&mut brake, &uids(missing), nodes, Instant::now()), expected);
}

#[test]
fn what_stays_missing_goes_after_all_but_slowly() {
    let (start, limits) = (Instant::now(), Limits::default());
    let mut brake = Brake::new(limits);
    let mut missing = uids(100);
    let mut went = Vec::new();
    for second in (0..4 * 3600).step_by(5) {
        let verdict = brake.admit(&missing, &none(), missing.len(), start + seconds(second));
        missing.retain(|uid| !verdict.release.contains(uid));
        for uid in &verdict.release {
            brake.went(uid, start + seconds(second));
            went.push(second);
        }
    }
    assert_eq!(went.first(), Some(&120), "nothing goes before it is confirmed");
    assert_eq!(
        went.iter().filter(|second| **second < 720).count(),
        20,
        "a fifth in the first window"
    );
    assert_eq!(went.len(), 100, "all of it goes in the end: {} are left", missing.len());
}

#[test]
fn the_brake_can_be_released_for_good() {
    let mut brake = Brake::new(Limits {
        fraction: 1.0,
        ..Limits::default()
    });
    assert_eq!(look(&mut brake, &uids(100), 100, Instant::now()), (100, 0));
}

#[test]
fn one_after_the_other_is_a_sudden_disappearance_too() {
    let start = Instant::now();
    let mut brake = Brake::new(Limits::default());
    let went: Vec<_> = (0..5)
        .map(|index| {
            look(
                &mut brake,
                &[format!("n{index}")],
                8 - index,
                start + seconds(5 * index as u64),
            )
            .0
        })
        .collect();
    assert_eq!(went, [1, 1, 1, 1, 0]);
}

#[test]
fn a_machine_that_comes_back_begins_anew() {
    let start = Instant::now();
    let mut brake = Brake::new(Limits::default());
    assert_eq!(look(&mut brake, &uids(10), 10, start), (0, 10));
    assert_eq!(look(&mut brake, &[], 10, start + seconds(200)), (0, 0));
    assert_eq!(look(&mut brake, &uids(10), 10, start + seconds(300)), (0, 10));
    assert_eq!(look(&mut brake, &uids(10), 10, start + seconds(419)), (0, 10));
    assert_eq!(look(&mut brake, &uids(10), 10, start + seconds(420)), (5, 5));
}

#[test]
fn a_cloud_that_was_wrong_lately_is_not_believed_about_one_machine_either() {
    let start = Instant::now();
    let mut brake = Brake::new(Limits::default());
    assert_eq!(look(&mut brake, &uids(10), 10, start), (0, 10));
    assert_eq!(look(&mut brake, &uids(1), 10, start + seconds(5)), (0, 1));
    assert_eq!(look(&mut brake, &uids(1), 10, start + seconds(300)), (1, 0));
}

#[test]
fn a_look_that_failed_neither_confirms_nor_clears() {
    let start = Instant::now();
    let mut brake = Brake::new(Limits::default());
    let missing = uids(10);
    assert_eq!(brake.admit(&missing, &none(), 10, start).hold.len(), 10);
    let unknown = missing.iter().cloned().collect();
    assert_eq!(brake.admit(&[], &unknown, 10, start + seconds(150)), Verdict::default());
    assert_eq!(
        brake.admit(&missing, &none(), 10, start + seconds(300)).release.len(),
        5
    );
}

proptest! {
    /// However the cloud lies, no window sees more Nodes go than the allowance of what there was.
    #[test]
    fn never_too_many_in_a_window(
        nodes in 1_usize..200,
        lies in prop::collection::vec((0_u64..120, 0_usize..200), 1..60),
    ) {
        let (start, limits) = (Instant::now(), Limits::default());
        let mut brake = Brake::new(limits.clone());
        let mut left = uids(nodes);
        let mut went: Vec<Instant> = Vec::new();
        let mut now = start;
        for (wait, count) in lies {
            now += seconds(wait);
            let missing = left[..count.min(left.len())].to_vec();
            let verdict = brake.admit(&missing, &none(), left.len(), now);
            let before = left.len();
            left.retain(|uid| !verdict.release.contains(uid));
            for uid in &verdict.release {
                brake.went(uid, now);
                went.push(now);
            }
            let recent = went.iter().filter(|at| now.saturating_duration_since(**at) < limits.window).count();
            let then = before + recent - verdict.release.len();
            prop_assert!(recent <= limits.allowance(then), "{recent} of {then} went within a window");
        }
    }
}
