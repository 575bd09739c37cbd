//! A list of conditions, one per type.

use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};
use operator_api::cluster_operator::Condition;

/// The longest message, in bytes. An API server accepts eight times as much, but a truncated message is still reported.
const LONGEST: usize = 4096;

/// Sets a condition. The time of its transition changes only with its status.
pub fn set(conditions: &mut Vec<Condition>, type_: &str, status: &str, reason: &str, message: &str, now: Timestamp) {
    let index = conditions.iter().position(|condition| condition.type_ == type_);
    let index = index.unwrap_or_else(|| {
        conditions.push(Condition {
            type_: type_.to_owned(),
            ..Condition::default()
        });
        conditions.len() - 1
    });
    let condition = &mut conditions[index];
    if condition.status != status {
        status.clone_into(&mut condition.status);
        condition.last_transition_time = Time(seconds(now));
    }
    reason.clone_into(&mut condition.reason);
    condition.message = limited(message);
}

/// A message, truncated to the length that a condition may have.
pub(crate) fn limited(message: &str) -> String {
    const CUT: &str = "…";
    if message.len() <= LONGEST {
        return message.to_owned();
    }
    let end = message.floor_char_boundary(LONGEST - CUT.len());
    format!("{}{CUT}", &message[..end])
}

/// The API server stores whole seconds.
fn seconds(now: Timestamp) -> Timestamp {
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::short("x", 10, 10)]
    #[case::as_long_as_may_be("x", 4096, 4096)]
    #[case::too_long("x", 4097, 4096)]
    #[case::far_too_long("x", 1_000_000, 4096)]
    #[case::between_two_letters("€", 2000, 4095)]
    fn a_long_message_is_truncated(#[case] letter: &str, #[case] times: usize, #[case] length: usize) {
        let message = letter.repeat(times);
        let mut conditions = Vec::new();
        set(
            &mut conditions,
            "Available",
            "False",
            "R",
            &message,
            Timestamp::UNIX_EPOCH,
        );
        let limited = &conditions[0].message;
        assert_eq!(limited.len(), length);
        assert_eq!(limited.ends_with('…'), message.len() > LONGEST);
    }
}
