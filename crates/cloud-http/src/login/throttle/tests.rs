use super::*;
use futures::future::join_all;
use rstest::rstest;
use std::cell::Cell;

fn denied() -> Error {
    Error::Denied {
        call: "authentication".to_owned(),
        source: "wrong password".into(),
    }
}

fn throttled() -> Error {
    Error::Throttled {
        call: "token create".to_owned(),
        retry_after: Some(Duration::from_secs(30)),
    }
}

fn down() -> Error {
    Error::unavailable("token create", "connection refused")
}

/// Wants to log in once a second, and returns the seconds in which it did.
async fn seconds_of_logins(throttle: &LoginThrottle, error: fn() -> Error, seconds: u64) -> Vec<u64> {
    let mut logins = Vec::new();
    for second in 0..seconds {
        let log_in = async {
            logins.push(second);
            Err(error())
        };
        let answer = throttle.log_in(|| false, log_in).await.unwrap_err();
        assert_eq!(answer.report(), error().report());
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    logins
}

#[rstest]
#[case::refused(denied, 200, &[0, 1, 3, 7, 15, 31, 63, 123, 183])]
#[case::throttled(throttled, 70, &[0, 30, 60])]
#[case::down(down, 4, &[0, 1, 2, 3])]
#[tokio::test(start_paused = true)]
async fn backs_off(#[case] error: fn() -> Error, #[case] seconds: u64, #[case] logins: &[u64]) {
    assert_eq!(
        seconds_of_logins(&LoginThrottle::default(), error, seconds).await,
        logins
    );
}

#[tokio::test(start_paused = true)]
async fn a_success_resets_the_backoff() {
    let throttle = LoginThrottle::default();
    seconds_of_logins(&throttle, denied, 31).await;
    throttle.log_in(|| false, async { Ok(()) }).await.unwrap();
    assert_eq!(seconds_of_logins(&throttle, denied, 3).await, [0, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_throttled_caller_gets_the_time_that_is_left() {
    let throttle = LoginThrottle::default();
    throttle.log_in(|| false, async { Err(throttled()) }).await.unwrap_err();
    tokio::time::sleep(Duration::from_secs(10)).await;
    let answer = throttle.log_in(|| false, async { Ok(()) }).await.unwrap_err();
    let left = Some(Duration::from_secs(20));
    assert!(
        matches!(answer, Error::Throttled { retry_after, .. } if retry_after == left),
        "{answer:?}"
    );
}

/// Callers also wait for a cloud that hangs once, and not one after the other.
#[rstest]
#[case::refused(denied)]
#[case::down(down)]
#[tokio::test(start_paused = true)]
async fn all_callers_get_the_answer_of_one_login(#[case] error: fn() -> Error) {
    let (throttle, logins) = (LoginThrottle::default(), Cell::new(0));
    let log_in = || async {
        logins.set(logins.get() + 1);
        tokio::time::sleep(Duration::from_secs(30)).await;
        Err(error())
    };
    let answers = join_all((0..50).map(|_| throttle.log_in(|| false, log_in()))).await;
    assert!(answers.iter().all(Result::is_err));
    assert_eq!(logins.get(), 1);
}

/// A caller that is cancelled does not end the login of another one.
#[tokio::test(start_paused = true)]
async fn a_caller_that_gives_up_passes_its_turn_on() {
    let throttle = LoginThrottle::default();
    let hopeless = throttle.log_in(|| false, std::future::pending());
    let patience = tokio::time::timeout(Duration::from_secs(1), hopeless);
    let (gave_up, next) = tokio::join!(patience, throttle.log_in(|| false, async { Ok(()) }));
    assert!(gave_up.is_err() && next.is_ok());
}

#[test]
fn the_same_credentials_have_the_same_throttle() {
    let throttles = LoginThrottles::default();
    let is_same = |one: &str, other: &str| Arc::ptr_eq(&throttles.of(one), &throttles.of(other));
    assert!(is_same("a", "a"));
    assert!(!is_same("a", "b"));
    let first = throttles.of("a");
    for other in 0..KEPT {
        throttles.of(other);
    }
    assert!(!Arc::ptr_eq(&first, &throttles.of("a")), "only some are kept");
}
