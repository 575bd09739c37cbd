//! A list of conditions, one a type.

use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Time, jiff::Timestamp};
use operator_api::cluster_operator::Condition;

/// Sets a condition. The time of its transition moves only when its status does.
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
    message.clone_into(&mut condition.message);
}

/// The API server keeps whole seconds.
fn seconds(now: Timestamp) -> Timestamp {
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}
