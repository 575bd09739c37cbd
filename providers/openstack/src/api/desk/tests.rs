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

/// Asks once a second, and says in which seconds Keystone was asked.
async fn seconds_of_asking(desk: &Desk, error: fn() -> Error, seconds: u64) -> Vec<u64> {
    let mut asked = Vec::new();
    for second in 0..seconds {
        let ask = async {
            asked.push(second);
            Err(error())
        };
        let answer = desk.log_in(|| false, ask).await.unwrap_err();
        assert_eq!(answer.report(), error().report());
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    asked
}

#[rstest]
#[case::refused(denied, 200, &[0, 1, 3, 7, 15, 31, 63, 123, 183])]
#[case::throttled(throttled, 70, &[0, 30, 60])]
#[case::down(down, 4, &[0, 1, 2, 3])]
#[tokio::test(start_paused = true)]
async fn asks_less_and_less_often(#[case] error: fn() -> Error, #[case] seconds: u64, #[case] asked: &[u64]) {
    assert_eq!(seconds_of_asking(&Desk::default(), error, seconds).await, asked);
}

#[tokio::test(start_paused = true)]
async fn begins_anew_after_a_success() {
    let desk = Desk::default();
    seconds_of_asking(&desk, denied, 31).await;
    desk.log_in(|| false, async { Ok(()) }).await.unwrap();
    assert_eq!(seconds_of_asking(&desk, denied, 3).await, [0, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_throttled_caller_is_told_what_is_left() {
    let desk = Desk::default();
    desk.log_in(|| false, async { Err(throttled()) }).await.unwrap_err();
    tokio::time::sleep(Duration::from_secs(10)).await;
    let answer = desk.log_in(|| false, async { Ok(()) }).await.unwrap_err();
    let left = Some(Duration::from_secs(20));
    assert!(
        matches!(answer, Error::Throttled { retry_after, .. } if retry_after == left),
        "{answer:?}"
    );
}

/// Also a Keystone that hangs is waited for once, and not by one caller after the other.
#[rstest]
#[case::refused(denied)]
#[case::down(down)]
#[tokio::test(start_paused = true)]
async fn what_one_gets_all_get(#[case] error: fn() -> Error) {
    let (desk, asked) = (Desk::default(), Cell::new(0));
    let ask = || async {
        asked.set(asked.get() + 1);
        tokio::time::sleep(Duration::from_secs(30)).await;
        Err(error())
    };
    let answers = join_all((0..50).map(|_| desk.log_in(|| false, ask()))).await;
    assert!(answers.iter().all(Result::is_err));
    assert_eq!(asked.get(), 1);
}

/// Whoever gives up takes nobody else's login with him.
#[tokio::test(start_paused = true)]
async fn one_who_gives_up_leaves_the_turn_to_the_next() {
    let desk = Desk::default();
    let hopeless = desk.log_in(|| false, std::future::pending());
    let patience = tokio::time::timeout(Duration::from_secs(1), hopeless);
    let (gave_up, next) = tokio::join!(patience, desk.log_in(|| false, async { Ok(()) }));
    assert!(gave_up.is_err() && next.is_ok());
}

#[test]
fn the_same_credentials_have_the_same_desk() {
    let desks = Desks::default();
    let global = |password: &str| Global {
        auth_url: "https://keystone.example/v3".to_owned(),
        method: crate::config::Method::Password {
            user: crate::config::User::Id("u".to_owned()),
            password: password.into(),
        },
        ..Global::default()
    };
    let is_same = |one: &Global, other: &Global| Arc::ptr_eq(&desks.of(one), &desks.of(other));
    assert!(is_same(&global("a"), &global("a")));
    assert!(!is_same(&global("a"), &global("b")));
    let elsewhere = Global {
        auth_url: "https://another.example/v3".to_owned(),
        ..global("a")
    };
    assert!(!is_same(&global("a"), &elsewhere));
    let mut bearing = global("a");
    bearing.tls.identity = Some(Identity {
        certificate: b"certificate".to_vec(),
        key: "key".into(),
    });
    assert!(!is_same(&global("a"), &bearing));
}
